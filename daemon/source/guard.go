package source

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/outbound"
)

// guard is a transport for sources that strangers declare: it connects to no private, local or otherwise special address, whatever name
// leads there and after whatever redirect, but for the allowed hosts. A transport that was given, as that of recorded data, is left as it
// is.
func guard(given http.RoundTripper, allowed []string) http.RoundTripper {
	if given != nil {
		return given
	}
	free := func(address string) bool { return outbound.Allowed(allowed, address) }
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
		case proxy != nil && outbound.Local(host): // it connects in our place: only what the name itself tells can be refused
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
	err := outbound.Public(host, found)
	if private, ok := errors.AsType[*outbound.PrivateError](err); ok {
		return errPrivate(private.Host, private.At)
	}
	return err
}

// errPrivate is that a host is private, for the address that it was found at.
func errPrivate(host, at string) error {
	if at != "" && at != host {
		return fail(ClassForbidden, "%s is at %s, a private address: allow the host in packs.private_hosts", human.Label(host, 40), at)
	}
	return fail(ClassForbidden, "%s is a private address: allow it in packs.private_hosts", human.Label(host, 40))
}
