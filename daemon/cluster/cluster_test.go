package cluster_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/cluster"
	"github.com/contextd/contextd/daemon/cluster/clustertest"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// TestTakeover is the takeover of the package comment: a leader that is cut off ends its work after 4 s, another begins with it within a
// second after 5 s, and the first follows when it is connected again.
func TestTakeover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := clustertest.New(time.Now)
		a, b := join(t, db, "a"), join(t, db, "b")
		a.run(t)
		b.run(t)
		a.has(t, "catch-up:p", "lead:p")
		b.has(t, "follow:p")
		time.Sleep(time.Minute)
		a.has(t)
		b.has(t)
		a.conn.Cut()
		time.Sleep(3 * time.Second)
		a.has(t)
		time.Sleep(time.Second)
		a.has(t, "end-lead:p", "follow:p")
		b.has(t)
		if err := a.acts(t); err == nil || !strings.Contains(err.Error(), "follower") {
			t.Errorf("it acts as the leader when it is cut off: %v", err)
		}
		time.Sleep(2 * time.Second)
		b.has(t, "end-follow:p", "catch-up:p", "lead:p")
		if err := b.acts(t); err != nil {
			t.Errorf("the new leader does not act: %v", err)
		}
		a.conn.Mend()
		time.Sleep(time.Minute)
		a.has(t)
		b.has(t)
		for text, n := range map[string]int{
			"leader lease not renewed": 1, "this node no longer leads": 1, "leader unknown": 1, "node heartbeat not written": 1,
			"this node leads": 1,
		} {
			if got := a.log.Count(text); got != n {
				t.Errorf("%q is logged %d times, want %d", text, got, n)
			}
		}
		if b.log.Count("this node leads", "epoch=2") != 1 {
			t.Errorf("the takeover is not logged")
		}
		a.stop(0)
		b.stop(0)
	})
}

// TestHandOver: a leader that is asked to stop follows while it drains, and another leads within a second. When it has ended, nothing of it
// is left.
func TestHandOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := clustertest.New(time.Now)
		a, b := join(t, db, "a"), join(t, db, "b")
		a.run(t)
		b.run(t)
		a.did.take()
		b.did.take()
		close(a.stopping)
		a.has(t, "end-lead:p", "follow:p")
		if err := a.acts(t); !errors.Is(err, &api.Error{Reason: api.ReasonStateUnavailable}) {
			t.Errorf("it acts while it stops: %v", err)
		}
		time.Sleep(time.Second)
		a.has(t)
		b.has(t, "end-follow:p", "catch-up:p", "lead:p")
		b.conn.Cut() // it does not lead any more, and a must not begin again
		time.Sleep(time.Minute)
		if a.Leads() {
			t.Error("a node that is asked to stop takes the lead again")
		}
		b.conn.Mend()
		time.Sleep(time.Second)
		a.end()
		a.ended.Wait()
		a.Leave()
		c, self, err := b.members.Cluster(t.Context())
		if err != nil || self != "b" || c.Leader != "b" || len(c.Nodes) != 1 || c.Nodes[0].URL != "http://b" {
			t.Errorf("it has left: %+v, %s, %v", c, self, err)
		}
		b.stop(0)
	})
}

// TestLeaveCutOff: a node that ends while the database does not answer says so, and that it leaves twice does nothing.
func TestLeaveCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := join(t, clustertest.New(time.Now), "a")
		a.run(t)
		a.conn.Cut()
		a.stop(0)
		a.Leave()
		if a.log.Count("lead not given up") != 1 || a.log.Count("end of this node not written") != 1 {
			t.Errorf("logged: %s", a.log.String())
		}
	})
}

// TestCatchUp: a new leader begins with its work when it knows what the one before has saved, and no sooner.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := clustertest.New(time.Now)
		a := join(t, db, "a")
		var tries atomic.Int32
		a.work.fail = func() error {
			if tries.Add(1) < 4 {
				return errBroken
			}
			return nil
		}
		a.run(t)
		a.has(t, "catch-up:p")
		if err := a.acts(t); err != nil {
			t.Errorf("what Open has begun does not go on: %v", err)
		}
		time.Sleep(time.Second)
		a.has(t, "catch-up:p", "catch-up:p", "catch-up:p", "lead:p")
		if n := a.log.Count("newest state of the previous leader not read yet", "pack=p", "broken"); n != 3 {
			t.Errorf("logged %d times", n)
		}
		a.stop(0)
	})
}

// TestWork: work that is added and removed while a node has a role, and that ends by itself.
func TestWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := clustertest.New(time.Now)
		a, b := join(t, db, "a"), join(t, db, "b")
		a.run(t)
		b.run(t)
		a.did.take()
		b.did.take()
		tasks := [2]cluster.Tasks{}
		added := [2]*work{{pack: "q", did: &a.did}, {pack: "q", did: &b.did}}
		for i, n := range []*node{a, b} {
			tasks[i].Start(t.Context())
			n.Add(added[i], &tasks[i])
		}
		a.has(t, "lead:q")
		b.has(t, "follow:q")
		tasks[0].Stop()
		a.has(t, "end-lead:q")
		a.Remove(added[0])
		close(a.stopping)
		a.has(t, "end-lead:p", "follow:p")
		time.Sleep(time.Second)
		synctest.Wait()
		got := b.did.take()
		slices.Sort(got)
		if want := []string{"catch-up:p", "catch-up:q", "end-follow:p", "end-follow:q", "lead:p", "lead:q"}; !slices.Equal(got, want) {
			t.Errorf("the new leader has done %v, want %v", got, want)
		}
		tasks[1].Stop()
		b.has(t, "end-lead:q")
		a.end()
		b.end()
		a.ended.Wait()
		b.ended.Wait()
		a.Leave()
		b.Leave()
	})
}

// TestAsLeader: what only the leader does ends with its term, and a follower names the leader.
func TestAsLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := clustertest.New(time.Now)
		a, b := join(t, db, "a"), join(t, db, "b")
		a.run(t)
		b.run(t)
		refused := b.acts(t)
		if failed := api.AsError(refused); failed.Reason != api.ReasonInvalidRequest || !strings.Contains(failed.Hint, "it runs at http://a;") {
			t.Errorf("refused: %+v", failed)
		}
		if err := a.AsLeader(t.Context(), func(context.Context) error { return errBroken }); !errors.Is(err, errBroken) {
			t.Errorf("its own error: %v", err)
		}
		acted := make(chan error, 1)
		go func() {
			acted <- a.AsLeader(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		}()
		synctest.Wait()
		a.conn.Cut()
		time.Sleep(5 * time.Second)
		if failed := api.AsError(<-acted); !strings.Contains(failed.Message, "follower") || !strings.Contains(failed.Hint, "unknown") {
			t.Errorf("its term has ended: %+v", failed)
		}
		b.stop(0)
		a.conn.Mend()
		a.stop(0)
	})
}

// TestAlone: without a lease a node leads from Join to its end, and is asked to stop in vain.
func TestAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log testbed.Log
		var did book
		began := time.Now()
		n, err := cluster.Join(t.Context(), cluster.Config{
			ID: "a", Stopping: func() bool { return false }, Now: time.Now, Logger: log.Logger(),
		})
		if err != nil || !n.Alone() || !n.Leads() {
			t.Fatalf("alone: %v", err)
		}
		w := &work{pack: "p", did: &did}
		n.Add(w, nil)
		ctx, end := context.WithCancel(t.Context())
		asked := make(chan struct{})
		ended := make(chan struct{})
		go func() { n.Run(ctx, asked); close(ended) }()
		close(asked)
		time.Sleep(time.Minute)
		if got := did.take(); !slices.Equal(got, []string{"lead:p"}) {
			t.Errorf("it has done %v", got)
		}
		m := &cluster.Membership{
			Node: n, URL: "http://a", Version: "1",
			States: func() map[string]time.Time { return map[string]time.Time{"p": time.Unix(2, 0)} },
		}
		m.Run(ctx) // returns at once
		c, self, err := m.Cluster(t.Context())
		if err != nil || self != "a" || c.Leader != "a" || c.Epoch != 1 || len(c.Nodes) != 1 || !c.Nodes[0].StartedAt.Equal(began) {
			t.Errorf("%+v, %s, %v", c, self, err)
		}
		end()
		<-ended
		n.Leave()
		if got := did.take(); !slices.Equal(got, []string{"end-lead:p"}) {
			t.Errorf("it has done %v", got)
		}
	})
}

// TestMembership: nodes that work are written down with their states, and the leader drops those that have ended without a word.
func TestMembership(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := clustertest.New(time.Now)
		a, b := join(t, db, "a"), join(t, db, "b")
		a.run(t)
		b.run(t)
		b.end() // without a word
		b.ended.Wait()
		live := func() (live, known int) {
			c, _, err := a.members.Cluster(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(c.Live()), len(c.Nodes)
		}
		if live, known := live(); live != 2 || known != 2 {
			t.Errorf("%d of %d are live", live, known)
		}
		time.Sleep(15 * time.Second)
		if live, known := live(); live != 1 || known != 2 {
			t.Errorf("when one is silent, %d of %d are live", live, known)
		}
		time.Sleep(time.Minute)
		if live, known := live(); live != 1 || known != 1 {
			t.Errorf("when one has ended, %d of %d are live", live, known)
		}
		b.Leave()
		a.stop(0)
	})
}
