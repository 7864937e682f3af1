package web_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/web"
)

// hall is a server with bounded connections, to which clients come from any address.
type hall struct {
	t        *testing.T
	set      *web.Connections
	arriving chan net.Conn
	release  chan struct{} // ends every answer that waits
}

// newHall makes one that takes most connections, perOne of a client. It is for a bubble.
func newHall(t *testing.T, most, perOne int) *hall {
	h := &hall{t: t, arriving: make(chan net.Conn), release: make(chan struct{})}
	h.set = web.NewConnections(most, web.NewProxies([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}), time.Now)
	h.set.SetPerClient(perOne)
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/wait", func(http.ResponseWriter, *http.Request) { <-h.release })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) })
	mux.HandleFunc("/body", func(w http.ResponseWriter, r *http.Request) {
		if _, err := web.ReadText(w, r, 8<<20); err != nil {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		done, err := web.Held(r.Context())
		if err != nil {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		defer done()
		if r.URL.Query().Has("large") {
			_, _ = w.Write(make([]byte, 1<<20))
		}
		<-h.release
	})
	server := &http.Server{Handler: web.Answering(mux), ConnContext: web.InContext, ReadTimeout: 24 * time.Hour}
	go func() { _ = server.Serve(h.set.Bound(h)) }()
	t.Cleanup(func() {
		close(h.release)
		_ = server.Close()
	})
	return h
}

// Accept is that of a listener, as are Close and Addr.
func (h *hall) Accept() (net.Conn, error) {
	c, ok := <-h.arriving
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (h *hall) Close() error {
	close(h.arriving)
	return nil
}

func (h *hall) Addr() net.Addr { return &net.TCPAddr{} }

// arrival is a connection from an address.
type arrival struct {
	net.Conn
	addr netip.Addr
}

func (f arrival) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.AddrPortFrom(f.addr, 5)) }

// guest is a client of a hall.
type guest struct {
	h        *hall
	conn     net.Conn
	closed   atomic.Bool
	statuses chan int
}

// come connects from an address, and sends requests, for each path one, whose answers it does not wait for.
func (h *hall) come(addr string, paths ...string) *guest {
	h.t.Helper()
	mine, theirs := net.Pipe()
	h.arriving <- arrival{theirs, netip.MustParseAddr(addr)}
	g := &guest{h: h, conn: mine, statuses: make(chan int, 10)}
	h.t.Cleanup(func() { _ = mine.Close() })
	if len(paths) > 0 && strings.HasSuffix(paths[0], "large") { // which nobody reads
		g.send(paths[0], "")
		return g
	}
	go func() {
		in := bufio.NewReader(mine)
		for {
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				g.closed.Store(true)
				return
			}
			g.statuses <- res.StatusCode
		}
	}()
	for _, path := range paths {
		g.send(path, "")
	}
	synctest.Wait()
	return g
}

// send sends a request and, if there is one, a part of its body of 8 MB.
func (g *guest) send(path, body string) {
	head := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
	if body != "" {
		head = fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", path, 8<<20, body)
	}
	_, _ = g.conn.Write([]byte(head)) // it may be closed already
	synctest.Wait()
}

// standing says who of guests is still connected: + for those who are.
func standing(guests []*guest) string {
	var b strings.Builder
	for _, g := range guests {
		if g.closed.Load() {
			b.WriteByte('-')
		} else {
			b.WriteByte('+')
		}
	}
	return b.String()
}

// TestConnections: where one connection is too many, the one that has waited for longest is closed, of the client or of all, and never one
// that is being answered or that holds a stream. Each case has 16 in all and 3 of a client, and so 8 of a /48.
func TestConnections(t *testing.T) {
	t.Parallel()
	type visit struct {
		addr string
		path string        // "" asks nothing
		wait time.Duration // before it
	}
	times := func(n int, v func(i int) visit) (list []visit) {
		for i := range n {
			list = append(list, v(i))
		}
		return list
	}
	others := func(n int, path string) []visit {
		return times(n, func(i int) visit { return visit{addr: fmt.Sprintf("192.0.2.%d", 100+i), path: path} })
	}
	one := func(n int, path string) []visit {
		return times(n, func(int) visit { return visit{addr: "192.0.2.1", path: path} })
	}
	site := func(n int) []visit {
		return times(n, func(i int) visit { return visit{addr: fmt.Sprintf("2001:db8:1:%x::1", i), path: "/"} })
	}
	for _, c := range []struct {
		name   string
		visits []visit
		want   string
	}{
		{"as many as a client may have", one(3, "/"), "+++"},
		{"one more of a client", append(others(1, "/"), one(4, "/")...), "+-+++"},
		{"two more of a client", one(5, ""), "--+++"},
		{"more of a client that are answered", one(4, "/wait"), "+++-"},
		{"an answered one is passed over", append(one(1, "/wait"), one(3, "/")...), "+-++"},
		{"streams do not count", append(one(3, "/stream"), one(3, "/")...), "++++++"},
		{"IPv4 in IPv6 is IPv4", append(one(2, "/"), visit{addr: "::ffff:192.0.2.1"}, visit{addr: "::ffff:192.0.2.1"}), "-+++"},
		{"as many as a site may have", site(8), "++++++++"},
		{"one more of a site", site(9), "-++++++++"},
		{"a network of a site", append(times(3, func(int) visit { return visit{addr: "2001:db8::1"} }), visit{addr: "2001:db8::2"}), "-+++"},
		{"a proxy", times(12, func(int) visit { return visit{addr: "10.0.0.1"} }), "++++++++++++"},
		{"as many as may be", others(16, "/"), "++++++++++++++++"},
		{"one more", others(17, "/"), "-++++++++++++++++"},
		{"one more beside those that are answered", append(others(15, "/wait"), visit{addr: "192.0.2.1"}, visit{addr: "192.0.2.2"}), "+++++++++++++++-+"},
		{"one more where all are answered", append(others(16, "/wait"), visit{addr: "192.0.2.1"}), "++++++++++++++++-"},
		{"not crowded", append(others(11, "/"), visit{addr: "192.0.2.1", wait: time.Hour}), "++++++++++++"},
		{"crowded", append(others(12, "/"), visit{addr: "192.0.2.1", wait: 10 * time.Second}), "-++++++++++++"},
		{"crowded, but not for long", append(others(12, "/"), visit{addr: "192.0.2.1", wait: 9999 * time.Millisecond}), "+++++++++++++"},
		{"streams leave a quarter", append(others(13, "/stream"), others(3, "/")...), "++++++++++++++++"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHall(t, 16, 3)
				var guests []*guest
				for _, v := range c.visits {
					time.Sleep(v.wait)
					var paths []string
					if v.path != "" {
						paths = []string{v.path}
					}
					guests = append(guests, h.come(v.addr, paths...))
				}
				if got := standing(guests); got != c.want {
					t.Errorf("%s, want %s: %+v", got, c.want, h.set.Stats())
				}
				if got := h.set.Stats(); got.Open != strings.Count(c.want, "+") || got.Streams > 12 {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// TestShareOfAClient: however many a client may have, it is a quarter of all, and of a crowd that waits some go with every one that comes.
func TestShareOfAClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 64, 512)
		for range 17 {
			h.come("192.0.2.1", "/")
		}
		if got := h.set.Stats(); got.Open != 16 || got.Client != 1 {
			t.Errorf("of one client: %+v", got)
		}
		for n := range 48 {
			h.come(fmt.Sprintf("192.0.2.%d", 100+n), "/")
		}
		if got := h.set.Stats(); got.Open != 64 || got.Crowded != 0 {
			t.Errorf("of all: %+v", got)
		}
		time.Sleep(10 * time.Second)
		h.come("192.0.2.2", "/")
		if got := h.set.Stats(); got.Open != 56 || got.Full != 1 || got.Crowded != 8 {
			t.Errorf("when they have waited: %+v", got)
		}
	})
}

// TestReleased: what a connection counted as is free again when it has ended, and one that was a stream's counts again after it.
func TestReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 16, 3)
		for range 10 {
			g := h.come("2001:db8::1", "/")
			if n := h.set.Known(); n != 2 {
				t.Errorf("%d clients and sites are known", n)
			}
			_ = g.conn.Close()
			synctest.Wait()
		}
		if n := h.set.Known(); n != 0 {
			t.Errorf("%d clients and sites that have left are known", n)
		}
		held := h.come("192.0.2.1", "/stream")
		if got := h.set.Stats(); got.Open != 1 || got.Streams != 1 || got.Client != 0 {
			t.Fatalf("%+v", got)
		}
		h.release <- struct{}{}
		synctest.Wait()
		guests := []*guest{held, h.come("192.0.2.1", "/"), h.come("192.0.2.1", "/"), h.come("192.0.2.1", "/")}
		if got := standing(guests); got != "-+++" {
			t.Errorf("after its stream it is not counted: %s", got)
		}
		if got := h.set.Stats(); got.Open != 3 || got.Streams != 0 || got.Client != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// TestBegun: who has sent the head of a request waits anew.
func TestBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 16, 3)
		guests := []*guest{h.come("192.0.2.1"), h.come("192.0.2.1"), h.come("192.0.2.1")}
		guests[0].send("/body", "x")
		if guests = append(guests, h.come("192.0.2.1")); standing(guests) != "+-++" {
			t.Error(standing(guests))
		}
	})
}

// TestUnread: who does not take an answer waits as who does not send a request, but for a stream, which has a bound of its own for that.
func TestUnread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 16, 3)
		for range 4 {
			h.come("192.0.2.1", "/large")
		}
		if got := h.set.Stats(); got.Open != 3 || got.Client != 1 || got.Refused != 0 {
			t.Errorf("%+v", got)
		}
		h.come("192.0.2.2", "/stream?large")
		for n := range 16 {
			h.come(fmt.Sprintf("192.0.2.%d", 100+n), "/")
		}
		if got := h.set.Stats(); got.Open != 16 || got.Streams != 1 || got.Full != 4 {
			t.Errorf("beside a stream: %+v", got)
		}
	})
}

// TestHalfSentBodies: of bodies that have arrived in part, the first are given up where those of a client, or of all, are too many bytes.
func TestHalfSentBodies(t *testing.T) {
	t.Parallel()
	const each = 256 << 10
	for _, c := range []struct {
		name       string
		bodies     int
		addr       func(i int) string
		extra      string // that the last one sends besides
		slow, held int64  // given up, and bytes that are left
	}{
		{"as much as a client may send", 16, func(int) string { return "192.0.2.1" }, "", 0, 16 * each},
		{"a byte more", 16, func(int) string { return "192.0.2.1" }, "x", 1, 15*each + 1},
		{"of a site", 17, func(i int) string { return fmt.Sprintf("2001:db8:1:%x::1", i) }, "", 1, 16 * each},
		{"of a proxy", 20, func(int) string { return "10.0.0.1" }, "", 0, 20 * each},
		{"as much as all may send", 128, func(i int) string { return fmt.Sprintf("192.0.2.%d", i) }, "", 0, 128 * each},
		{"more", 130, func(i int) string { return fmt.Sprintf("192.0.2.%d", i) }, "", 2, 128 * each},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHall(t, 1_000, 100)
				var guests []*guest
				for i := range c.bodies {
					g := h.come(c.addr(i))
					g.send("/body", strings.Repeat("x", each))
					guests = append(guests, g)
				}
				if c.extra != "" {
					_, _ = guests[len(guests)-1].conn.Write([]byte(c.extra))
					synctest.Wait()
				}
				if got := h.set.Stats(); got.Slow != c.slow || int64(got.Bytes) != c.held {
					t.Errorf("%+v, want %d given up and %d bytes", got, c.slow, c.held)
				}
				for i, g := range guests {
					if first := int64(i) < c.slow; first != (len(g.statuses) == 1 && <-g.statuses == http.StatusTooManyRequests) {
						t.Errorf("body %d is answered: %t, want %t", i, !first, first)
					}
				}
			})
		})
	}
}

// TestHeldElsewhere: a request that came on no bounded connection may have a stream.
func TestHeldElsewhere(t *testing.T) {
	t.Parallel()
	done, err := web.Held(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	done()
}
