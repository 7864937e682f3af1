// Package outbound makes connections to where strangers say: to addresses of the public network alone, whatever name leads there. It is
// checked when a connection is made, so that no answer of a name server comes between the check and the connection.
package outbound

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// PrivateError says that a host is no part of the public network.
type PrivateError struct {
	Host string
	At   string // the address that it was found at; "" where its name alone says so
}

// Error says where the host is.
func (e *PrivateError) Error() string {
	if e.At != "" && e.At != e.Host {
		return fmt.Sprintf("%s is at %s, a private address", e.Host, e.At)
	}
	return e.Host + " is a private address"
}

// Allowed reports whether an address, host:port, is on a list of hosts, and hosts with a port.
func Allowed(list []string, address string) bool {
	host, _, _ := net.SplitHostPort(address)
	return slices.ContainsFunc(list, func(name string) bool {
		return strings.EqualFold(name, host) || strings.EqualFold(name, address)
	})
}

// NewTransport makes a transport that connects to public addresses, and those of allowed hosts, alone. It takes no proxy, since a proxy
// would connect in its place.
func NewTransport(allowed []string) *http.Transport {
	t := &http.Transport{
		ForceAttemptHTTP2: true, MaxIdleConns: 64, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 10 * time.Second, MaxResponseHeaderBytes: 16 << 10,
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return Dialer(allowed, address).DialContext(ctx, network, address)
	}
	return t
}

// Dialer connects to an address, host:port, where that is public or allowed.
func Dialer(allowed []string, address string) *net.Dialer {
	d := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	if !Allowed(allowed, address) {
		host, _, _ := net.SplitHostPort(address)
		d.Control = func(_, found string, _ syscall.RawConn) error { return Public(host, found) }
	}
	return d
}

// Public fails unless the address that a host was found at is one of the public network.
func Public(host, found string) error {
	at, err := netip.ParseAddrPort(found)
	if err != nil {
		return fmt.Errorf("read address %q: %w", found, err)
	}
	if Special(at.Addr()) {
		return &PrivateError{host, at.Addr().String()}
	}
	return nil
}

// numeric is the end of a host that is an address, in whatever notation: 127.1 and 0x7f000001 are 127.0.0.1 to many programs.
var numeric = regexp.MustCompile(`(?i)(^|\.)(\d+|0x[\da-f]*)\.?$`)

// Local reports whether a host is not of the public network by its name alone.
func Local(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return Special(ip)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") ||
		strings.HasSuffix(host, ".internal") || numeric.MatchString(host)
}

// Special reports whether ip is anything but an address of the public network.
func Special(ip netip.Addr) bool {
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
