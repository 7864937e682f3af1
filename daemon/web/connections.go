package web

import (
	"container/list"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// DefaultConnectionsPerClient is how many connections one client address may have open beside its streams.
const DefaultConnectionsPerClient = 512

const (
	connectionsPerSite = 4                // clients' worth of connections that a /48 of IPv6 may have
	crowdedIdle        = 10 * time.Second // that a connection may wait for its client where more than three quarters are open
	closedAtOnce       = 8                // such connections that make room when another comes
	bodiesInAll        = 32 << 20         // bytes of bodies that have arrived in part
	bodiesPerClient    = 4 << 20          // the same of one client, or of a /48
)

// Connections bounds the connections of a listener, in all and per client, so that descriptors are left for everything else. Make one with
// NewConnections; it is safe for concurrent use.
//
// A connection waits while its client has to act: to send a request or the rest of one, or to take an answer. Where one more is too many,
// the one that has waited for longest is closed, first among those of the client who has too many. One that is being answered is never
// closed; where all are, the new one is. A proxy's and a Unix socket's count in all alone, and so does one with a stream (see Held):
// streams have bounds of their own.
type Connections struct {
	trusted *Proxies
	now     func() time.Time

	mu      sync.Mutex // guards what follows, and the connections
	most    int
	perOne  int
	groups  map[string]*group // by client and by site
	waiting *list.List        // of *connection, the one that has waited for longest first
	bodies  *list.List        // of *incoming, the one that began first first
	stats   ConnectionStats
}

// ConnectionStats says how the connections of a listener stand, and counts what became of others since the start.
type ConnectionStats struct {
	Open    int   // now
	Most    int   // that may be
	Streams int   // those that streams hold
	Bytes   int   // of bodies that have arrived in part
	Crowded int64 // closed early, as many were open
	Full    int64 // closed for another, as many as may be were open
	Client  int64 // closed for another of the same client, or of its site
	Refused int64 // closed at once: all others were being answered
	Slow    int64 // bodies given up for others
}

// group is the connections of a client, or of a site.
type group struct {
	members int // all of them, those with streams too
	most    int // others that may be open
	open    int
	bytes   int
	waiting *list.List
}

// NewConnections makes Connections of at most so many; per client there are DefaultConnectionsPerClient, or a quarter of all where that is
// less.
func NewConnections(most int, trusted *Proxies, now func() time.Time) *Connections {
	return &Connections{
		trusted: trusted, now: now, most: most, perOne: DefaultConnectionsPerClient,
		groups: map[string]*group{}, waiting: list.New(), bodies: list.New(),
	}
}

// SetPerClient changes how many connections a client may have; 0 means DefaultConnectionsPerClient.
func (c *Connections) SetPerClient(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.perOne = n; n == 0 {
		c.perOne = DefaultConnectionsPerClient
	}
}

// Stats says how the connections stand.
func (c *Connections) Stats() ConnectionStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Most = c.most
	return s
}

// Bound is l with the bounds of c.
func (c *Connections) Bound(l net.Listener) net.Listener { return boundListener{l, c} }

type boundListener struct {
	net.Listener
	set *Connections
}

// Accept returns the next connection that there is room for.
func (l boundListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: conn, set: l.set}
		if l.set.admit(c) {
			return c, nil
		}
		_ = conn.Close() // nothing was said
	}
}

// connection is one of Connections, whose mu guards what is not the connection itself.
type connection struct {
	net.Conn
	set    *Connections
	groups []*group // that it counts in: those of its client and site, none for a proxy

	names   []string // of groups
	serving int      // requests that are being answered
	writing int      // writes under way
	held    int      // streams
	closed  bool
	since   time.Time       // when it began to wait
	places  []*list.Element // in the lists of those that wait: of all, and of groups
}

// admit makes room for one more and reports whether there is some.
func (c *Connections) admit(n *connection) bool {
	c.mu.Lock()
	out, ok := c.room(n)
	c.mu.Unlock()
	for _, one := range out {
		_ = one.Conn.Close() // the server finds out by reading
	}
	return ok
}

// room is admit, and returns what has to be closed. The caller holds mu.
func (c *Connections) room(n *connection) (out []*connection, ok bool) {
	if addr, err := netip.ParseAddrPort(n.RemoteAddr().String()); err == nil && !c.trusted.have(addr.Addr()) {
		n.names = subjectsOf(addr.Addr().Unmap())
	}
	most := min(c.perOne, max(c.most/4, 1))
	for i, name := range n.names {
		g := c.groups[name]
		if g == nil {
			g = &group{waiting: list.New()}
			c.groups[name] = g
		}
		g.most = most
		if i > 0 {
			g.most = min(connectionsPerSite*c.perOne, max(c.most/2, 1))
		}
		n.groups = append(n.groups, g)
		g.members++
		g.open++
	}
	c.stats.Open++
	for _, g := range n.groups {
		if g.open <= g.most {
			continue
		}
		if !c.push(g.waiting, &out) {
			return append(out, c.refuse(n)), false
		}
		c.stats.Client++
	}
	if c.stats.Open > c.most {
		if !c.push(c.waiting, &out) {
			return append(out, c.refuse(n)), false
		}
		c.stats.Full++
	}
	for range closedAtOnce {
		if c.stats.Open <= c.most*3/4 || c.waiting.Len() == 0 ||
			c.now().Sub(c.waiting.Front().Value.(*connection).since) < crowdedIdle {
			break
		}
		c.push(c.waiting, &out)
		c.stats.Crowded++
	}
	c.wait(n)
	return out, true
}

// push takes out who has waited for longest in a list. The caller holds mu.
func (c *Connections) push(waiting *list.List, out *[]*connection) bool {
	first := waiting.Front()
	if first == nil {
		return false
	}
	one := first.Value.(*connection)
	c.leave(one)
	*out = append(*out, one)
	return true
}

// refuse takes out n, which has come too late. The caller holds mu.
func (c *Connections) refuse(n *connection) *connection {
	c.stats.Refused++
	c.leave(n)
	return n
}

// leave takes n out. The caller holds mu.
func (c *Connections) leave(n *connection) {
	if n.closed {
		return
	}
	n.closed = true
	c.stop(n)
	c.stats.Open--
	if n.held > 0 {
		c.stats.Streams--
	} else {
		c.uncount(n)
	}
	for i, name := range n.names {
		if n.groups[i].members--; n.groups[i].members == 0 {
			delete(c.groups, name)
		}
	}
}

func (c *Connections) uncount(n *connection) {
	for _, g := range n.groups {
		g.open--
	}
}

// wait puts n last in the lists of those that wait, if it does. The caller holds mu.
func (c *Connections) wait(n *connection) {
	c.stop(n)
	if n.closed || n.held > 0 || n.serving > 0 && n.writing == 0 {
		return
	}
	n.since = c.now()
	n.places = append(n.places, c.waiting.PushBack(n))
	for _, g := range n.groups {
		n.places = append(n.places, g.waiting.PushBack(n))
	}
}

// stop takes n out of the lists of those that wait. The caller holds mu.
func (c *Connections) stop(n *connection) {
	for i, place := range n.places {
		if i == 0 {
			c.waiting.Remove(place)
		} else {
			n.groups[i-1].waiting.Remove(place)
		}
	}
	n.places = n.places[:0]
}

// change makes a change to n and puts it where it belongs after that.
func (n *connection) change(what func()) {
	n.set.mu.Lock()
	defer n.set.mu.Unlock()
	what()
	n.set.wait(n)
}

// Write writes p; meanwhile n waits for its client.
func (n *connection) Write(p []byte) (int, error) {
	n.change(func() { n.writing++ })
	defer n.change(func() { n.writing-- })
	return n.Conn.Write(p)
}

// Close closes n, which counts no more.
func (n *connection) Close() error {
	n.set.mu.Lock()
	n.set.leave(n)
	n.set.mu.Unlock()
	return n.Conn.Close()
}

// NetConn is what n is a connection of, as that of tls.Conn.
func (n *connection) NetConn() net.Conn { return n.Conn }

// CloseWrite tells the client that nothing follows: the server closes so where a request may not have been read whole.
func (n *connection) CloseWrite() error {
	if half, ok := n.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

type connectionKey struct{}

// InContext puts conn, which may be wrapped, where its requests find it. It is for http.Server.
func InContext(ctx context.Context, conn net.Conn) context.Context {
	if n := connectionOf(conn); n != nil {
		return context.WithValue(ctx, connectionKey{}, n)
	}
	return ctx
}

// connectionOf is the connection of Connections that conn is or is made of, nil for another.
func connectionOf(conn net.Conn) *connection {
	for conn != nil {
		if n, ok := conn.(*connection); ok {
			return n
		}
		outer, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		conn = outer.NetConn()
	}
	return nil
}

// Answering has the connection of a request wait no more once the request is here whole, until handler has answered it.
func Answering(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := r.Context().Value(connectionKey{}).(*connection)
		if n == nil {
			handler.ServeHTTP(w, r)
			return
		}
		if r.Body == nil || r.Body == http.NoBody {
			n.change(func() { n.serving++ })
			defer n.change(func() { n.serving-- })
			handler.ServeHTTP(w, r)
			return
		}
		body := &incoming{ReadCloser: r.Body, of: n, control: http.NewResponseController(w)}
		n.change(func() { body.place = n.set.bodies.PushBack(body) })
		defer n.change(body.done)
		r.Body = body
		handler.ServeHTTP(w, r)
	})
}

// incoming is the body of a request while it arrives.
type incoming struct {
	io.ReadCloser
	of      *connection
	control *http.ResponseController

	place    *list.Element // in the bodies; nil once it has ended. The Connections' mu guards it and what follows
	bytes    int
	complete bool
	slow     bool
}

// errSlow is what reading a body ends with that others needed the room of.
var errSlow = errors.New("the body came too slowly while many others came")

// Read reads what has arrived.
func (b *incoming) Read(p []byte) (int, error) {
	read, err := b.ReadCloser.Read(p)
	set := b.of.set
	set.mu.Lock()
	out := b.took(read, err)
	slow := b.slow
	set.mu.Unlock()
	if out != nil {
		_ = out.control.SetReadDeadline(time.Unix(1, 0)) // long past: its read ends now
	}
	if slow && err != nil {
		err = errSlow
	}
	return read, err
}

// took counts what was read, and returns a body that is too much. The caller holds mu.
func (b *incoming) took(read int, err error) *incoming {
	set := b.of.set
	if b.place == nil {
		return nil
	}
	if err != nil {
		b.end()
		if b.complete = errors.Is(err, io.EOF); b.complete {
			b.of.serving++
			set.wait(b.of)
		}
		return nil
	}
	b.count(read)
	for _, g := range b.of.groups {
		if g.bytes > bodiesPerClient {
			return set.giveUp(g)
		}
	}
	if set.stats.Bytes > bodiesInAll {
		return set.giveUp(nil)
	}
	return nil
}

// count counts n more bytes. The caller holds mu.
func (b *incoming) count(n int) {
	b.bytes += n
	b.of.set.stats.Bytes += n
	for _, g := range b.of.groups {
		g.bytes += n
	}
}

// end takes b out of the bodies: it is here whole, or nobody waits for it. The caller holds mu.
func (b *incoming) end() {
	if b.place != nil {
		b.of.set.bodies.Remove(b.place)
		b.place = nil
		b.count(-b.bytes)
	}
}

// done ends b with its request. The caller holds mu.
func (b *incoming) done() {
	if b.end(); b.complete {
		b.of.serving--
	}
}

// giveUp gives up the body that began first, of a group or, for nil, of all. The caller holds mu.
func (c *Connections) giveUp(of *group) *incoming {
	for e := c.bodies.Front(); e != nil; e = e.Next() {
		b := e.Value.(*incoming)
		if b.bytes == 0 || of != nil && !b.in(of) {
			continue
		}
		b.end()
		b.slow = true
		c.stats.Slow++
		return b
	}
	return nil
}

func (b *incoming) in(of *group) bool {
	for _, g := range b.of.groups {
		if g == of {
			return true
		}
	}
	return false
}

// Held has the connection that a request came on count in all alone until done is called, for a stream, or returns the *api.Error to answer
// with: streams leave a quarter of all connections to calls.
func Held(ctx context.Context) (done func(), err error) {
	n, _ := ctx.Value(connectionKey{}).(*connection)
	if n == nil {
		return func() {}, nil
	}
	set := n.set
	n.change(func() {
		switch {
		case n.held > 0:
			n.held++
		case set.stats.Streams >= max(set.most*3/4, 1):
			err = api.Errorf(api.ReasonRateLimited, "%d streams are open here, which is the service's limit", set.stats.Streams).
				WithHint("call from time to time instead").WithRetryAfter(streamRetry)
		case !n.closed:
			n.held++
			set.stats.Streams++
			set.uncount(n)
		}
	})
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() {
		n.change(func() {
			if n.held--; n.held > 0 || n.closed {
				return
			}
			set.stats.Streams--
			for _, g := range n.groups {
				g.open++
			}
		})
	}), nil
}
