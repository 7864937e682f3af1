package web

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
)

// headerForwardedFor names the clients that proxies have served, the nearest proxy's client last.
const headerForwardedFor = "X-Forwarded-For"

// Proxies are the networks of proxies whose X-Forwarded-For is believed. nil are none. It is safe for concurrent use.
type Proxies struct {
	NobodyHere bool // nobody counts as this machine: a proxy on it may have brought anyone

	networks atomic.Pointer[[]netip.Prefix]
}

// NewProxies makes Proxies.
func NewProxies(networks []netip.Prefix) *Proxies {
	p := new(Proxies)
	p.Set(networks)
	return p
}

// Set replaces the networks.
func (p *Proxies) Set(networks []netip.Prefix) {
	plain := make([]netip.Prefix, len(networks))
	for i, n := range networks {
		plain[i] = unmapped(n)
	}
	p.networks.Store(&plain)
}

// unmapped is n as a network of IPv4 where all of it is IPv4 that is mapped into IPv6.
func unmapped(n netip.Prefix) netip.Prefix {
	const mapped = 96 // bits before the IPv4 address
	if n.Addr().Is4In6() && n.Bits() >= mapped {
		return netip.PrefixFrom(n.Addr().Unmap(), n.Bits()-mapped)
	}
	return n
}

// have reports whether addr is in one of the networks. No network has a zone: which link an address is on does not count.
func (p *Proxies) have(addr netip.Addr) bool {
	if p == nil {
		return false
	}
	addr = addr.Unmap().WithZone("")
	for _, n := range *p.networks.Load() {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}

// ClientOf says who sent r, as a subject of a Limiter. Of an IPv6 address only the network counts, which is what a client has of its own.
func (p *Proxies) ClientOf(r *http.Request) string { return subjectOf(p.Client(r), network) }

// ClientsOf says who sent r, as subjects of a Limiter: that of ClientOf and, for IPv6, the site, since who has a site has 65,536 networks.
func (p *Proxies) ClientsOf(r *http.Request) []string { return subjectsOf(p.Client(r)) }

// network and site are how many bits of an IPv6 address say which network, and which site, a client is in.
const network, site = 64, 48

func subjectsOf(client netip.Addr) []string {
	list := []string{subjectOf(client, network)}
	if client.Is6() {
		list = append(list, subjectOf(client, site))
	}
	return list
}

// subjectOf is the subject of a Limiter that client is with so many bits of an IPv6 address.
func subjectOf(client netip.Addr, bits int) string {
	switch {
	case !client.IsValid():
		return "local"
	case client.Is6():
		return netip.PrefixFrom(client.WithZone(""), bits).Masked().String()
	}
	return client.String()
}

// NetworkOf says which network sent r, as a subject of a Limiter: an IPv4 address, or of IPv6 the site.
func (p *Proxies) NetworkOf(r *http.Request) string { return subjectOf(p.Client(r), site) }

// FreeClientOf says whose free calls r counts against, as NetworkOf does; "" for calls of this machine and where nobody said who called.
func (p *Proxies) FreeClientOf(r *http.Request) string {
	if p.fromHere(r) {
		return ""
	}
	client := p.Client(r)
	if !client.IsValid() {
		return ""
	}
	return subjectOf(client, site)
}

// fromHere reports whether r was made on this machine: no proxy was on the way, which could have brought it from anywhere.
func (p *Proxies) fromHere(r *http.Request) bool {
	if p != nil && p.NobodyHere {
		return false
	}
	for name := range r.Header {
		if name == "Forwarded" || name == "Via" || strings.HasPrefix(name, "X-Forwarded-") {
			return false
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	peer, err := netip.ParseAddr(host)
	return err == nil && peer.Unmap().IsLoopback() && LoopbackHost(r.Host)
}

// Client is the address that sent r: the one that connected or, where that is a proxy's, the nearest one before it in X-Forwarded-For that
// is not. Who can connect to a Unix socket counts as a proxy: its mode is for nobody else. It is not valid where nobody said who called
// on one.
func (p *Proxies) Client(r *http.Request) netip.Addr {
	hops := strings.Join(r.Header[headerForwardedFor], ",")
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil { // a Unix socket
		hops, host = lastHop(hops)
	}
	client, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	for p.have(client) {
		hops, host = lastHop(hops)
		before, err := netip.ParseAddr(host)
		if err != nil {
			break // the proxy that wrote this is all that is known
		}
		client = before
	}
	return client.Unmap()
}

// lastHop is the last of hops, and those before it.
func lastHop(hops string) (before, last string) {
	i := strings.LastIndexByte(hops, ',')
	return hops[:max(i, 0)], strings.TrimSpace(hops[i+1:])
}
