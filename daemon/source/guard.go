package source

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// guard is a transport for sources that strangers declare: it connects to no private, local or otherwise special address, whatever name
// leads there and after whatever redirect, but for the allowed hosts. A transport that was given, as that of recorded data, is left as it is.
func guard(given http.RoundTripper, allowed []string) http.RoundTripper {
	if given != nil {
		return given
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	open := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	closed := *open
	closed.Control = func(_, address string, _ syscall.RawConn) error { return public(address) }
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(address)
		if slices.Contains(allowed, strings.ToLower(host)) || proxied(address) {
			return open.DialContext(ctx, network, address)
		}
		return closed.DialContext(ctx, network, address)
	}
	t.Proxy = func(req *http.Request) (*url.URL, error) {
		proxy, err := http.ProxyFromEnvironment(req)
		if proxy == nil || err != nil || slices.Contains(allowed, strings.ToLower(req.URL.Hostname())) {
			return proxy, err
		}
		// The proxy connects in our place: only what the name itself tells can be refused.
		if ip, err := netip.ParseAddr(req.URL.Hostname()); err == nil && special(ip) || local(req.URL.Hostname()) {
			return nil, errPrivate(req.URL.Hostname())
		}
		return proxy, nil
	}
	return t
}

// proxied reports whether an address is that of a proxy, which the operator has chosen.
func proxied(address string) bool {
	for _, scheme := range [...]string{"http", "https"} {
		proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: scheme, Host: "example.org"}})
		if err != nil || proxy == nil {
			continue
		}
		port := proxy.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443", "socks5": "1080"}[proxy.Scheme]
		}
		if net.JoinHostPort(proxy.Hostname(), port) == address {
			return true
		}
	}
	return false
}

// public fails for an address that is not of the public network.
func public(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("read address %q: %w", address, err)
	}
	if special(at.Addr()) {
		return errPrivate(at.Addr().String())
	}
	return nil
}

func errPrivate(host string) error {
	return fail(ClassForbidden, "%s is a private address: allow it in packs.private_hosts", host)
}

// local reports whether a name is that of this machine by its form.
func local(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal")
}

// special reports whether ip is anything but an address of the public network. What embeds an IPv4 address is judged by that too.
func special(ip netip.Addr) bool {
	ip = ip.Unmap()
	if !ip.IsValid() || !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
		return true
	}
	return slices.ContainsFunc(specialNets(), func(p netip.Prefix) bool { return p.Contains(ip) })
}

// specialNets are those of the registries of special addresses that netip does not know of.
func specialNets() []netip.Prefix {
	var list []netip.Prefix
	for _, text := range [...]string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10",
	} {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}
