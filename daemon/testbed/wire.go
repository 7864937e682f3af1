package testbed

import (
	"bytes"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Wire is what lies between a daemon and its database. It can be cut without either end being told.
type Wire struct {
	listener net.Listener
	to       string

	mu      sync.Mutex    // guards what follows
	cut     chan struct{} // nil while nothing is held back; closed when it is mended
	refuses bool
	loses   string     // what it does not pass, but refuses from then on: an "answer", or a "question"
	with    []byte     // in what it loses
	once    bool       // it ends the one connection in place of refusing
	ends    []net.Conn // to be closed where it refuses
}

// WireTo is a wire to the server of a URL by Postgres, and the URL of that way.
func WireTo(t testing.TB, place string) (w *Wire, by string) {
	t.Helper()
	u, err := url.Parse(place)
	if err != nil {
		t.Fatal(err)
	}
	w = NewWire(t, u.Query().Get("host")+"/.s.PGSQL.5432")
	return w, "postgres://contextd@" + w.Address() + "/postgres?sslmode=disable&schema=" + u.Query().Get("schema")
}

// NewWire begins a wire to an address, or a Unix socket, which ends with the test.
func NewWire(t testing.TB, to string) *Wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{listener: l, to: to}
	go w.run()
	t.Cleanup(func() { _ = l.Close(); w.Mend() })
	return w
}

// Address is where the wire begins, such as 127.0.0.1:5432.
func (w *Wire) Address() string { return w.listener.Addr().String() }

func (w *Wire) run() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			w.wait()
			network := "tcp"
			if strings.HasPrefix(w.to, "/") {
				network = "unix"
			}
			far, err := net.Dial(network, w.to)
			if err != nil || !w.track(near, far) {
				_ = near.Close()
				return
			}
			go w.pass(near, far, "answer")
			w.pass(far, near, "question")
		}()
	}
}

// track notes both ends of a connection, or reports that it is refused.
func (w *Wire) track(near, far net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuses {
		_ = far.Close()
		return false
	}
	w.ends = append(w.ends, near, far)
	return true
}

// pass copies from one end to the other, nothing while the wire is cut.
func (w *Wire) pass(to, from net.Conn, what string) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		w.wait()
		w.mu.Lock()
		lost, once := w.loses == what && bytes.Contains(b[:n], w.with), w.once
		if lost {
			w.loses = ""
		}
		w.mu.Unlock()
		switch {
		case lost && once:
			return
		case lost:
			w.Refuse()
			return
		}
		if n > 0 {
			if _, failed := to.Write(b[:n]); failed != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (w *Wire) wait() {
	w.mu.Lock()
	cut := w.cut
	w.mu.Unlock()
	if cut != nil {
		<-cut
	}
}

// Silence cuts the wire: nothing passes, and neither end is told.
func (w *Wire) Silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut == nil {
		w.cut = make(chan struct{})
	}
}

// Refuse ends all connections, and takes no others.
func (w *Wire) Refuse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuses = true
	for _, c := range w.ends {
		_ = c.Close()
	}
	w.ends = nil
}

// LoseCommit has it Refuse when the answer to the next commit comes, or end that connection alone: it is made, and nobody hears of it.
func (w *Wire) LoseCommit(alone bool) { w.lose("answer", "COMMIT\x00", alone) }

// LoseQuestion has it Refuse when the next words to the server with some text come, which it does not hear.
func (w *Wire) LoseQuestion(with string) { w.lose("question", with, false) }

func (w *Wire) lose(what, with string, once bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loses, w.with, w.once = what, []byte(with), once
}

// Mend mends it: what was sent meanwhile arrives.
func (w *Wire) Mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuses, w.loses = false, ""
	if w.cut != nil {
		close(w.cut)
		w.cut = nil
	}
}
