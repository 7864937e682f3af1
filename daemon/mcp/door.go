package mcp

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// door lets pass what was meant for this server: a page that a user looks at must not get at it by a name that points here, nor with a
// script of another origin.
func (s *Server) door(next web.Handler) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !s.knowsHost(r.Host) {
			return api.Errorf(api.ReasonCrossOrigin, "this server is not called %q", r.Host).WithHint("use its public URL, or its address")
		}
		origin := r.Header.Get("Origin")
		if origin == "" {
			return next(w, r)
		}
		if !s.knowsOrigin(origin, r.Host) {
			return api.Errorf(api.ReasonCrossOrigin, "scripts of %s may not call this server", origin).WithHint("have the operator add it to mcp.origins")
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", exposed)
		h.Add("Vary", "Origin")
		return next(w, r)
	}
}

// Headers that scripts may read and send.
const (
	exposed = headerSession + ", " + api.HeaderRequestID + ", " + api.HeaderDataMode + ", " + api.HeaderReplayed + ", " + api.HeaderRetryAfter + ", WWW-Authenticate"
	sent    = "Authorization, Content-Type, Accept, " + headerSession + ", " + headerVersion + ", Mcp-Method, Mcp-Name, Last-Event-ID, " +
		api.HeaderPayment + ", " + api.HeaderPaymentAlias + ", " + api.HeaderPayerHint + ", " + api.HeaderRequestID
)

// preflight answers OPTIONS.
func preflight(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	h.Set("Allow", "DELETE, GET, OPTIONS, POST")
	if h.Get("Access-Control-Allow-Origin") != "" {
		h.Set("Access-Control-Allow-Methods", "DELETE, GET, POST")
		h.Set("Access-Control-Allow-Headers", sent)
		h.Set("Access-Control-Max-Age", "86400")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// knowsHost reports whether requests may name host: the public name, names of this machine, and addresses, which no foreign name server
// can point elsewhere.
func (s *Server) knowsHost(host string) bool {
	name := hostname(host)
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" {
		return true
	}
	return s.cfg.PublicURL != nil && strings.EqualFold(name, s.cfg.PublicURL.Hostname())
}

// knowsOrigin reports whether scripts of origin may call a server that they call host.
func (s *Server) knowsOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return slices.Contains(s.cfg.Origins, origin)
	}
	name := hostname(u.Host)
	addr, err := netip.ParseAddr(name)
	public := s.cfg.PublicURL
	switch {
	case name == "localhost", err == nil && addr.IsLoopback(), strings.EqualFold(u.Host, host):
		return true
	case public != nil && u.Scheme == public.Scheme && strings.EqualFold(u.Host, public.Host):
		return true
	}
	return slices.Contains(s.cfg.Origins, origin)
}

// hostname is host without its port and, for IPv6, its brackets, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}
