package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/cluster"
	"github.com/contextd/contextd/daemon/cluster/clustertest"
	"github.com/contextd/contextd/daemon/testbed"
)

// book notes what was done, a line each. The zero book is empty; it is safe for concurrent use.
type book struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the book.
func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *book) note(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }

// take returns what was noted since it was called before.
func (b *book) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.text.Reset()
	return strings.Fields(b.text.String())
}

// work notes what a node does.
type work struct {
	pack string
	did  *book
	fail func() error // of CatchUp; nil for none
}

func (w *work) PackID() string { return w.pack }

func (w *work) CatchUp(context.Context) error {
	w.did.note("catch-up:%s", w.pack)
	if w.fail != nil {
		return w.fail()
	}
	return nil
}

func (w *work) Lead(ctx context.Context)   { w.during(ctx, "lead") }
func (w *work) Follow(ctx context.Context) { w.during(ctx, "follow") }

func (w *work) during(ctx context.Context, what string) {
	w.did.note("%s:%s", what, w.pack)
	<-ctx.Done()
	w.did.note("end-%s:%s", what, w.pack)
}

// node is one of a cluster in memory.
type node struct {
	*cluster.Node
	conn    *clustertest.Connection
	members *cluster.Membership
	log     testbed.Log
	did     book
	work    *work

	stopping chan struct{} // closed when it is asked to stop
	end      context.CancelFunc
	ended    sync.WaitGroup
}

// join makes a node of db, with work for one pack, which does not run.
func join(t *testing.T, db *clustertest.Database, id string) *node {
	t.Helper()
	n := &node{conn: db.Connect(id), stopping: make(chan struct{})}
	var err error
	n.Node, err = cluster.Join(t.Context(), cluster.Config{
		ID: id, Lease: n.conn, Registry: n.conn, Now: time.Now, Logger: n.log.Logger(), Stopping: func() bool {
			select {
			case <-n.stopping:
				return true
			default:
				return false
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.members = &cluster.Membership{
		Node: n.Node, URL: "http://" + id, Version: "1", States: func() map[string]time.Time { return nil },
	}
	n.work = &work{pack: "p", did: &n.did}
	n.Add(n.work, nil)
	return n
}

// run runs the node as a daemon does.
func (n *node) run(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	n.end = end
	n.ended.Go(func() { n.Run(ctx, n.stopping) })
	n.ended.Go(func() { n.members.Run(ctx) })
	synctest.Wait()
}

// stop asks the node to stop, lets it drain, and ends it.
func (n *node) stop(drain time.Duration) {
	close(n.stopping)
	time.Sleep(drain)
	n.end()
	n.ended.Wait()
	n.Leave()
}

// has checks what the node has done since it was asked before.
func (n *node) has(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := n.did.take(); !slices.Equal(got, want) {
		t.Errorf("it has done %v, want %v", got, want)
	}
}

// acts tries what only a leader does.
func (n *node) acts(t *testing.T) error {
	t.Helper()
	did := false
	err := n.AsLeader(t.Context(), func(context.Context) error { did = true; return nil })
	if did != (err == nil) {
		t.Errorf("done %v, and the error is %v", did, err)
	}
	return err
}

var errBroken = errors.New("broken")
