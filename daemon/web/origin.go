package mcp

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// OriginCheck knows the names of a server.
type OriginCheck struct {
	PublicURL *url.URL // where users reach the server; nil means that it has no name but those of its machine
	Origins   []string // whose scripts may call, beside those of PublicURL and of this machine
}

// Admits returns nil if a request that names host, sent by a script of origin or by none (""), may come in, else the error to answer with.
func (d OriginCheck) Admits(host, origin string) error {
	if !d.knowsHost(host) {
		return api.Errorf(api.ReasonCrossOrigin, "this server is not called %q", host).WithHint("use its public URL, or its address")
	}
	if origin != "" && !d.knowsOrigin(origin, host) {
		return api.Errorf(api.ReasonCrossOrigin, "scripts of %q may not call this server", origin).WithHint("have the operator add it to mcp.origins")
	}
	return nil
}

// knowsHost reports whether requests may name host: the public name, names of this machine, and addresses, which no foreign name server
// can point elsewhere.
func (d OriginCheck) knowsHost(host string) bool {
	name := hostname(host)
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" {
		return true
	}
	return d.PublicURL != nil && strings.EqualFold(name, d.PublicURL.Hostname())
}

// knowsOrigin reports whether scripts of origin may call a server that they call host.
func (d OriginCheck) knowsOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return slices.Contains(d.Origins, origin)
	}
	name := hostname(u.Host)
	addr, err := netip.ParseAddr(name)
	public := d.PublicURL
	switch {
	case name == "localhost", err == nil && addr.IsLoopback(), strings.EqualFold(u.Host, host):
		return true
	case public != nil && u.Scheme == public.Scheme && strings.EqualFold(u.Host, public.Host):
		return true
	}
	return slices.Contains(d.Origins, origin)
}

// hostname is host without its port and, for IPv6, its brackets, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}
