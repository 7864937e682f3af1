package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/contextd/contextd/daemon/web"
)

// TestClient: who calls is who connected, unless a proxy that is trusted, or one on a Unix socket, says who that is.
func TestClient(t *testing.T) {
	t.Parallel()
	proxies := web.NewProxies([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")})
	for _, c := range []struct{ remote, forwarded, client, subject string }{
		{"192.0.2.1:5", "", "192.0.2.1", "192.0.2.1"},
		{"192.0.2.1:5", "198.51.100.1", "192.0.2.1", "192.0.2.1"},
		{"10.0.0.1:5", "203.0.113.1, 198.51.100.1", "198.51.100.1", "198.51.100.1"},
		{"10.0.0.1:5", "198.51.100.1, 10.0.0.2", "198.51.100.1", "198.51.100.1"},
		{"[::1]:5", "198.51.100.1", "198.51.100.1", "198.51.100.1"},
		{"[::ffff:10.0.0.1]:5", "198.51.100.1", "198.51.100.1", "198.51.100.1"},
		{"10.0.0.1:5", "nonsense", "10.0.0.1", "10.0.0.1"},
		{"10.0.0.1:5", "10.0.0.3", "10.0.0.3", "10.0.0.3"},
		{"[2001:db8:1:2:3::4]:5", "", "2001:db8:1:2:3::4", "2001:db8:1:2::/64"},
		{"@", "198.51.100.1", "198.51.100.1", "198.51.100.1"},
		{"@", "203.0.113.1, 198.51.100.1", "198.51.100.1", "198.51.100.1"},
		{"@", "198.51.100.1, 10.0.0.2", "198.51.100.1", "198.51.100.1"},
		{"@", "", "invalid IP", "local"},
		{"", "nonsense", "invalid IP", "local"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if client, subject := proxies.Client(r).String(), proxies.ClientOf(r); client != c.client || subject != c.subject {
			t.Errorf("from %q for %q: %s as %s, want %s as %s", c.remote, c.forwarded, client, subject, c.client, c.subject)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "10.0.0.1:5"
	r.Header.Set("X-Forwarded-For", "198.51.100.1")
	if got := (*web.Proxies)(nil).Client(r).String(); got != "10.0.0.1" {
		t.Errorf("without trusted proxies: %s", got)
	}
	proxies.Set(nil)
	if got := proxies.Client(r).String(); got != "10.0.0.1" {
		t.Errorf("after trust has ended: %s", got)
	}
}

// TestSpellings: a network is trusted however it and the address that connects are written.
func TestSpellings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		network, remote string
		trusted         bool
	}{
		{"::ffff:10.0.0.0/104", "10.1.2.3:5", true},
		{"::ffff:10.0.0.0/104", "[::ffff:10.1.2.3]:5", true},
		{"::ffff:10.0.0.0/104", "11.0.0.1:5", false},
		{"::ffff:10.0.0.1/128", "10.0.0.1:5", true},
		{"::ffff:10.0.0.1/128", "10.0.0.2:5", false},
		{"::ffff:0.0.0.0/96", "10.0.0.1:5", true},
		{"::ffff:0.0.0.0/96", "[2001:db8::1]:5", false},
		{"::/0", "10.0.0.1:5", false},
		{"fe80::/10", "[fe80::1%eth0]:5", true},
		{"fe80::1/128", "[fe80::1%eth0]:5", true},
		{"fe80::1/128", "[fe80::2%eth0]:5", false},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.remote
		r.Header.Set("X-Forwarded-For", "198.51.100.1")
		proxies := web.NewProxies([]netip.Prefix{netip.MustParsePrefix(c.network)})
		if got := proxies.Client(r).String() == "198.51.100.1"; got != c.trusted {
			t.Errorf("%s in %s: %t, want %t", c.remote, c.network, got, c.trusted)
		}
	}
}
