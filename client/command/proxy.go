package command

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// proxies returns the Proxy of a transport for an environment. Other than Go's, it fails for an address that cannot be read, in place of
// connecting without the proxy.
func proxies(env func(name string) string) func(*http.Request) (*url.URL, error) {
	either := func(name string) string { return cmp.Or(env(name), env(strings.ToLower(name))) }
	return func(r *http.Request) (*url.URL, error) {
		c := httpproxy.Config{HTTPProxy: either("HTTP_PROXY"), HTTPSProxy: either("HTTPS_PROXY"), NoProxy: either("NO_PROXY")}
		name := strings.ToUpper(r.URL.Scheme) + "_PROXY"
		if value := either(name); value == "" || readable(value) {
			return c.ProxyFunc()(r.URL)
		}
		const other = "http://proxy.invalid" // to learn whether r goes through a proxy
		c.HTTPProxy, c.HTTPSProxy = other, other
		if proxy, err := c.ProxyFunc()(r.URL); proxy == nil || err != nil {
			return nil, err
		}
		return nil, &net.OpError{Op: "proxyconnect", Err: errors.New(name + " is not the URL of a proxy")}
	}
}

// readable reports whether text is the address of a proxy, with a scheme or without.
func readable(text string) bool {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	return err == nil && u.Host != ""
}
