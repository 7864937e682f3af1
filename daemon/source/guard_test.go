package source_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

// declaredAt is a declared source at a URL, whose rows are what its body says.
func declaredAt(url string) source.Declared {
	return source.Declared{
		ID: "mine", Interval: time.Minute, StaleAfter: time.Hour, URL: url, PerMinute: 6000,
		Decode: func(_ context.Context, answer source.Answer, _ *source.RowsDoc) (*source.RowsDoc, int, error) {
			return &source.RowsDoc{Rows: []source.DeclaredRow{{Key: string(answer.Body)}}}, 0, nil
		},
	}
}

// fetchGuarded fetches a declared source over the real network, with hosts that are allowed. The answer is its body.
func fetchGuarded(t *testing.T, d source.Declared, allowed ...string) (string, error) {
	t.Helper()
	out := source.NewFetcher(source.Config{PrivateHosts: allowed, Now: atRecording}).Fetch(t.Context(), d.Connector(), nil)
	if out.Doc == nil {
		return "", out.Err
	}
	return out.Doc.(*source.RowsDoc).Rows[0].Key, nil
}

// TestSpecialAddresses has an address at both sides of every bound of the networks that are not public.
func TestSpecialAddresses(t *testing.T) {
	t.Parallel()
	for _, line := range strings.Split(strings.TrimSpace(`
0.0.0.0 0.255.255.255 > 1.0.0.0
9.255.255.255 < 10.0.0.0 10.255.255.255 > 11.0.0.0
100.63.255.255 < 100.64.0.0 100.127.255.255 > 100.128.0.0
126.255.255.255 < 127.0.0.0 127.0.0.1 127.255.255.255 > 128.0.0.0
168.63.129.15 < 168.63.129.16 > 168.63.129.17
169.253.255.255 < 169.254.0.0 169.254.169.254 169.254.255.255 > 169.255.0.0
172.15.255.255 < 172.16.0.0 172.31.255.255 > 172.32.0.0
191.255.255.255 < 192.0.0.0 192.0.0.255 > 192.0.1.0
192.0.1.255 < 192.0.2.0 192.0.2.255 > 192.0.3.0
192.88.98.255 < 192.88.99.0 192.88.99.255 > 192.88.100.0
192.167.255.255 < 192.168.0.0 192.168.255.255 > 192.169.0.0
198.17.255.255 < 198.18.0.0 198.19.255.255 > 198.20.0.0
198.51.99.255 < 198.51.100.0 198.51.100.255 > 198.51.101.0
203.0.112.255 < 203.0.113.0 203.0.113.255 > 203.0.114.0
223.255.255.255 < 224.0.0.0 239.255.255.255 240.0.0.0 255.255.255.254 255.255.255.255
:: ::1 ::2 ::7f00:1 ::a00:1 100:: 1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff > 2000::
2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff < 2001:: 2001::1 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff > 2001:200::
2001:200:: < 2001:0:7f00:1::
2001:db7:ffff:ffff:ffff:ffff:ffff:ffff < 2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff > 2001:db9::
2001:4860:4860::8888 < 2002:: 2002:7f00:1:: 2002:808:808:: 2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff > 2003::
2606:4700::1111 < 3fff:: 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff > 3fff:1000::
3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff < 4000:: 5f00::1 fbff:: fc00:: fd12:3456::1 fe80::1 febf::1 fec0::1 ff02::1 ff0e::1
::ffff:1.1.1.1 < ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0.0.0.0
64:ff9b::1.1.1.1 < 64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::169.254.1.1 64:ff9b::224.0.0.1 64:ff9b:0:0:0:1:: 64:ff9b:1::1.1.1.1
2001:4860::1%eth0 < 2001:db8::1%eth0 fe80::1%eth0 64:ff9b::10.0.0.1%eth0
`), "\n") {
		before, rest, found := strings.Cut(line, " < ")
		if !found {
			before, rest = "", line
		}
		inside, after, _ := strings.Cut(rest, " > ")
		for _, text := range append(strings.Fields(before), strings.Fields(after)...) {
			if source.Special(netip.MustParseAddr(text)) {
				t.Errorf("%s is refused", text)
			}
		}
		for _, text := range strings.Fields(inside) {
			if !source.Special(netip.MustParseAddr(text)) {
				t.Errorf("%s is taken for public", text)
			}
		}
	}
	if !source.Special(netip.Addr{}) {
		t.Error("no address is taken for public")
	}
}

// TestLocalNames: what a proxy is not asked for.
func TestLocalNames(t *testing.T) {
	t.Parallel()
	for _, host := range strings.Fields(`localhost LOCALHOST. a.localhost nas.local vault.internal 10.0.0.1 ::1 fe80::1 127.1 2130706433 0x7f000001 0x7f.1 1.0x0 0177.0.0.01 127.0.0.1.`) {
		if !source.Local(host) {
			t.Errorf("a proxy is asked for %s", host)
		}
	}
	for _, host := range strings.Fields("example.org 1.1.1.1 2606:4700::1111 locals.example internal.example.org a1 x0x7f 1password.com 0x.tools") {
		if source.Local(host) {
			t.Errorf("%s is taken for local", host)
		}
	}
}

// TestPrivateHosts: no name and no redirect leads a declared source to a private address, unless the host is allowed by name.
func TestPrivateHosts(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("reached"))
	}))
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	const byName = "forbidden: localhost is at 127.0.0.1, a private address: allow the host in packs.private_hosts"
	const byAddress = "forbidden: 127.0.0.1 is a private address: allow it in packs.private_hosts"
	to := func(host string) string { return "/?to=" + url.QueryEscape("http://"+host+port+"/") }
	for _, c := range []struct {
		url, want string
		asked     int32
		allowed   []string
	}{
		{"http://127.0.0.1" + port, byAddress, 0, nil},
		{"http://localhost" + port, byName, 0, nil},
		{"http://localhost" + port, byName, 0, []string{"127.0.0.1"}},
		{"http://127.0.0.1" + port, byAddress, 0, []string{"localhost", "127.0.0.2"}},
		{"http://[::ffff:127.0.0.1]" + port, "forbidden: ::ffff:127.0.0.1 is at 127.0.0.1, a private address: allow the host in packs.private_hosts", 0, nil},
		{"http://127.0.0.1" + port, "reached", 1, []string{"127.0.0.1"}},
		{"http://127.0.0.1" + port, "reached", 1, []string{"127.0.0.1" + port}},
		{"http://127.0.0.1" + port, byAddress, 0, []string{"127.0.0.1:1"}},
		{"http://LocalHost" + port, "reached", 1, []string{"localHOST"}},
		{"http://localhost" + port + to("127.0.0.1"), byAddress, 1, []string{"localhost"}},
		{"http://127.0.0.1" + port + to("localhost"), "reached", 2, []string{"localhost", "127.0.0.1"}},
	} {
		asked.Store(0)
		got, err := fetchGuarded(t, declaredAt(c.url), c.allowed...)
		if err != nil {
			got = strings.Replace(err.Error(), "is at ::1", "is at 127.0.0.1", 1) // where localhost is that first
		}
		if got != c.want || asked.Load() != c.asked {
			t.Errorf("%s with %v allowed: %s after %d requests, want %s after %d", c.url, c.allowed, got, asked.Load(), c.want, c.asked)
		}
	}
}

// TestBehindProxy: a proxy, which is at a private address, is asked for public hosts and for those that are allowed, and is no source itself.
// It runs in a process of its own, because Go reads the proxy from the environment once.
func TestBehindProxy(t *testing.T) {
	const inside = "CONTEXTD_TEST_BEHIND_PROXY"
	if os.Getenv(inside) == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestBehindProxy$")
		c.Env = append(os.Environ(), inside+"=1", "GORACE=atexit_sleep_ms=0")
		if said, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		return
	}
	var seen []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Host)
		_, _ = w.Write([]byte("by proxy"))
	}))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("NO_PROXY", "")
	for host, want := range map[string]string{
		"example.org": "by proxy", "1.1.1.1": "by proxy", "10.9.8.7": "by proxy",
		"10.0.0.1": "private", "[fd00::1]": "private", "vault.internal": "private", "127.1": "private", "2130706433": "private",
		"localhost": "private", "127.0.0.1:1": "private", strings.TrimPrefix(proxy.URL, "http://"): "private",
	} {
		seen = nil
		got, err := fetchGuarded(t, declaredAt("http://"+host+"/"), "10.9.8.7")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || (want == "private") != (len(seen) == 0) {
			t.Errorf("%s: %s, and the proxy was asked for %v", host, got, seen)
		}
	}
}

// TestKeyOfDeclared: a key goes to its host alone, is read again when its file has changed, and stands in no error.
func TestKeyOfDeclared(t *testing.T) {
	t.Parallel()
	const secret = "sk-0123456789"
	key, readable := secret, true
	var seen []string
	var answer http.HandlerFunc
	transport := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("X-Asked-Host")+" "+r.Header.Get("X-Key"))
		answer(w, r)
	})
	d := declaredAt("https://one.example/data")
	d.KeyHeader, d.Key = "X-Key", func() (string, error) {
		if !readable {
			return "", fmt.Errorf("open /etc/contextd/one.key with %s", secret)
		}
		return key, nil
	}
	f := source.NewFetcher(source.Config{Transport: transport, Now: atRecording, Shift: func(string) time.Duration { return 0 }})
	try := func(with http.HandlerFunc) string {
		seen, answer = nil, with
		if out := f.Fetch(t.Context(), d.Connector(), nil); out.Err != nil {
			return out.Err.Error()
		}
		return "ok"
	}
	good := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) }
	to := func(url string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/data" {
				http.Redirect(w, r, url, http.StatusFound)
				return
			}
			good(w, r)
		}
	}
	for _, c := range []struct {
		name, want, asked string
		with              http.HandlerFunc
		before            func()
	}{
		{"the key", "ok", "one.example sk-0123456789", good, nil},
		{"a redirect on its host", "ok", "one.example sk-0123456789, one.example sk-0123456789", to("/other"), nil},
		{"a redirect to another host", "bad_content: redirect to another host, which must not see the key", "one.example sk-0123456789",
			to("https://two.example/other"), nil},
		{"a redirect to a name below", "bad_content: redirect to another host, which must not see the key", "one.example sk-0123456789",
			to("https://a.one.example/other"), nil},
		{"a redirect to another port", "bad_content: redirect to another host, which must not see the key", "one.example sk-0123456789",
			to("https://one.example:8443/other"), nil},
		{"a redirect to plain text", "bad_content: redirect to an address that is not https", "one.example sk-0123456789",
			to("http://one.example/other"), nil},
		{"a key that is refused", "auth: HTTP 401", "one.example sk-0123456789",
			func(w http.ResponseWriter, _ *http.Request) { http.Error(w, secret, http.StatusUnauthorized) }, nil},
		{"another key in the file", "ok", "one.example another", good, func() { key = "another" }},
		{"a key that is no header", "network: cannot connect", "", good, func() { key = secret + "\x00" }},
		{"a file that is gone", "auth: its key file cannot be read", "", good, func() { readable = false }},
	} {
		if c.before != nil {
			c.before()
		}
		if got := try(c.with); got != c.want || strings.Join(seen, ", ") != c.asked || strings.Contains(got, secret) {
			t.Errorf("%s: %s after %v, want %s after %s", c.name, got, seen, c.want, c.asked)
		}
	}
}
