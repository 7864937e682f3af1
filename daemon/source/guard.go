package source

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// guard is a transport for sources that strangers declare: it connects to no private, local or otherwise special address, whatever name
// leads there and after whatever redirect, but for the allowed hosts. A transport that was given, as that of recorded data, is left as it
// is.
func guard(given http.RoundTripper, allowed []string) http.RoundTripper {
	if given != nil {
		return given
	}
	free := func(address string) bool {
		host, _, _ := net.SplitHostPort(address)
		return slices.ContainsFunc(allowed, func(name string) bool {
			return strings.EqualFold(name, host) || strings.EqualFold(name, address)
		})
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		d := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
		if host, _, _ := net.SplitHostPort(address); !free(address) && !proxied(address) {
			d.Control = func(_, found string, _ syscall.RawConn) error { return public(host, found) }
		}
		return d.DialContext(ctx, network, address)
	}
	t.Proxy = func(req *http.Request) (*url.URL, error) {
		proxy, err := http.ProxyFromEnvironment(req)
		host := req.URL.Hostname()
		switch {
		case err != nil || free(addressOf(req.URL)):
			return proxy, err
		case proxy == nil && proxied(addressOf(req.URL)): // by its own name, as if it were a source
			return nil, errPrivate(host, "")
		case proxy != nil && local(host): // it connects in our place: only what the name itself tells can be refused
			return nil, errPrivate(host, "")
		}
		return proxy, nil
	}
	return t
}

// proxied reports whether an address is that of a proxy, which the operator has chosen.
func proxied(address string) bool {
	for _, scheme := range [...]string{"http", "https"} {
		proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: scheme, Host: "example.org"}})
		if err == nil && proxy != nil && addressOf(proxy) == address {
			return true
		}
	}
	return false
}

func addressOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// public fails unless the address that a host was found at is one of the public network.
func public(host, found string) error {
	at, err := netip.ParseAddrPort(found)
	if err != nil {
		return fmt.Errorf("read address %q: %w", found, err)
	}
	if special(at.Addr()) {
		return errPrivate(host, at.Addr().String())
	}
	return nil
}

// errPrivate is that a host is private, for the address that it was found at.
func errPrivate(host, at string) error {
	if at != "" && at != host {
		return fail(ClassForbidden, "%s is at %s, a private address: allow the host in packs.private_hosts", human.Label(host, 40), at)
	}
	return fail(ClassForbidden, "%s is a private address: allow it in packs.private_hosts", human.Label(host, 40))
}

// numeric is the end of a host that is an address, in whatever notation: 127.1 and 0x7f000001 are 127.0.0.1 to many programs.
var numeric = regexp.MustCompile(`(?i)(^|\.)(\d+|0x[\da-f]*)\.?$`)

// local reports whether a host is not of the public network by its name alone.
func local(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return special(ip)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") ||
		strings.HasSuffix(host, ".internal") || numeric.MatchString(host)
}

// special reports whether ip is anything but an address of the public network.
func special(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if translated := netip.MustParsePrefix("64:ff9b::/96"); translated.Contains(ip) {
		all := ip.As16() // an address of version 4, where the network has version 6 alone
		ip = netip.AddrFrom4([4]byte(all[12:]))
	}
	if ip.Is6() && !netip.MustParsePrefix("2000::/3").Contains(ip) {
		return true // the rest is private, local, or nobody's
	}
	return !ip.IsGlobalUnicast() || ip.IsPrivate() ||
		slices.ContainsFunc(specialNets(), func(p netip.Prefix) bool { return p.Contains(ip) })
}

// specialNets are those of the registries of special addresses, within 2000::/3 and version 4, that netip does not know of, and the address
// at which each machine of Azure reaches its host.
func specialNets() []netip.Prefix {
	var list []netip.Prefix
	for _, text := range [...]string{
		"0.0.0.0/8", "100.64.0.0/10", "168.63.129.16/32", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	} {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}
