package outbound_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/contextd/contextd/internal/outbound"
)

// TestTransport: a connection to a private address is refused when it is made, whatever named it, but for allowed hosts; no proxy comes
// between.
func TestTransport(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "http://")
	host, port, _ := strings.Cut(address, ":")
	for _, c := range []struct {
		allowed []string
		url     string
		reaches bool
	}{
		{nil, server.URL, false},
		{nil, "http://localhost:" + port, false},
		{[]string{"localhost"}, server.URL, false},
		{[]string{host + ":1"}, server.URL, false},
		{[]string{host}, server.URL, true},
		{[]string{address}, server.URL, true},
		{[]string{"LOCALHOST:" + port}, "http://localhost:" + port, true},
	} {
		transport := outbound.NewTransport(c.allowed)
		if transport.Proxy != nil {
			t.Fatal("there is a proxy")
		}
		res, err := (&http.Client{Transport: transport}).Get(c.url)
		if err == nil {
			_ = res.Body.Close()
		}
		private := new(outbound.PrivateError)
		if (err == nil) != c.reaches || !c.reaches && !errors.As(err, &private) {
			t.Errorf("%s, allowed %q: %v", c.url, c.allowed, err)
		}
		transport.CloseIdleConnections()
	}
}

// names is a server of names on this machine that says one address after the other.
type names struct {
	conn  net.PacketConn
	asked atomic.Int32
	says  []string
}

// serve answers until the connection is closed.
func (n *names) serve() {
	buf := make([]byte, 1<<10)
	for {
		size, from, err := n.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:size]) != nil {
			continue
		}
		m.Response, m.Additionals = true, nil
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			at := netip.MustParseAddr(n.says[min(int(n.asked.Add(1))-1, len(n.says)-1)])
			m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body: &dnsmessage.AResource{A: at.As4()}}}
		}
		if text, err := m.Pack(); err == nil {
			_, _ = n.conn.WriteTo(text, from)
		}
	}
}

// TestRebinding: a name that leads to the public network when it is checked, and to this machine when it is connected to, is refused.
func TestRebinding(t *testing.T) {
	t.Parallel()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	n := &names{conn: conn, says: []string{"93.184.216.34", "127.0.0.1"}}
	go n.serve()
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	const host = "rebinds.example."
	found, err := resolver.LookupNetIP(t.Context(), "ip4", host)
	if err != nil || len(found) != 1 || outbound.Special(found[0]) || outbound.Local(host) {
		t.Fatalf("when it is checked: %v, %v", found, err)
	}
	for allowed, reaches := range map[string]bool{"": false, host: true} { // the other way round, to see that the address is there
		d := outbound.Dialer([]string{allowed}, host+":"+port)
		d.Resolver = resolver
		c, err := d.DialContext(t.Context(), "tcp4", host+":"+port)
		private := new(outbound.PrivateError)
		if (err == nil) != reaches || !reaches && (!errors.As(err, &private) || private.At != "127.0.0.1") {
			t.Errorf("allowed %q: %v", allowed, err)
		}
		if err == nil {
			_ = c.Close()
		}
	}
}
