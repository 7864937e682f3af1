package web

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// OriginCheck keeps out pages in browsers: one that reaches the server by a name of its own that points here, and scripts of another
// origin.
type OriginCheck struct {
	PublicURL *url.URL // where users reach the server; nil means that it has no name but those of its machine
	Names     []string // other names of the server
	Origins   []string // whose scripts may call, beside those of PublicURL and of this machine
}

// Admits returns nil if a request that names host, sent by a script of origin or by none (""), may come in, else the error to answer with.
func (c OriginCheck) Admits(host, origin string) error {
	if !c.knowsHost(host) {
		return api.Errorf(api.ReasonCrossOrigin, "the name of this server is not %q", host).
			WithHint("use its public URL or address, or ask the operator to add the name to hosts")
	}
	if origin != "" && !c.knowsOrigin(origin, host) {
		return api.Errorf(api.ReasonCrossOrigin, "scripts from %q may not call this server", origin).
			WithHint("ask the operator to add it to mcp.origins")
	}
	return nil
}

// knowsHost reports whether requests may name host: the public name, the other ones, names of this machine, and addresses, which no
// foreign name server can point elsewhere.
func (c OriginCheck) knowsHost(host string) bool {
	return LocalHost(host) || c.PublicURL != nil && strings.EqualFold(hostname(host), c.PublicURL.Hostname()) ||
		slices.ContainsFunc(c.Names, func(name string) bool { return strings.EqualFold(name, hostname(host)) })
}

// LocalHost reports whether host, with a port or without, is an address or this machine, not a name that somebody else may have given to
// it.
func LocalHost(host string) bool {
	name := hostname(host)
	_, err := netip.ParseAddr(name)
	return err == nil || name == "localhost"
}

// LoopbackHost reports whether host, with a port or without, is a loopback name or address.
func LoopbackHost(host string) bool {
	name := hostname(host)
	addr, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// knowsOrigin reports whether scripts of origin may call a server that they call host.
func (c OriginCheck) knowsOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return slices.Contains(c.Origins, origin)
	}
	public := c.PublicURL
	switch {
	case LoopbackHost(u.Host), strings.EqualFold(u.Host, host):
		return true
	case public != nil && u.Scheme == public.Scheme && strings.EqualFold(u.Host, public.Host):
		return true
	}
	return slices.Contains(c.Origins, origin)
}

// hostname is host without its port and, for IPv6, its brackets, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}
