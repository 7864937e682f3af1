package database_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/contextd/contextd/daemon/cluster"
	"github.com/contextd/contextd/daemon/cluster/clustertest"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/testbed"
)

// books is the layout of the books, and history one of numbers beside it.
func books(t *testing.T) (books, history database.Layout) {
	t.Helper()
	layout, err := store.Layout()
	if err != nil {
		t.Fatal(err)
	}
	return layout, database.Layout{Name: "history", Postgres: fstest.MapFS{
		"0001_first.sql": {Data: []byte("CREATE TABLE numbers (n BIGINT NOT NULL UNIQUE, at BIGINT)")},
	}}
}

// node is one of a cluster, with its own connections.
type node struct {
	*database.Lease
	books, history *database.DB
}

// join makes a node of the cluster at place, of which both clocks stand.
func join(t *testing.T, place, name string) node {
	t.Helper()
	first, second := books(t)
	n := node{books: openServer(t, place, first), history: openServer(t, place, second)}
	n.Lease = n.books.Lease(name)
	n.history.Use(n.Lease)
	n.SetClock(func() time.Time { return time.Unix(1, 0) }, database.ClockAt(1_000_000))
	return n
}

// take has a node lead, or not.
func (n node) take(t *testing.T, want bool) context.Context {
	t.Helper()
	term, err := n.Take(t.Context())
	if err != nil || (term != nil) != want {
		t.Fatalf("take: %v, %v; want %v", term, err, want)
	}
	return term
}

// write writes a number as the leader does.
func (n node) write(ctx context.Context, number int, then func()) error {
	return n.history.TxLeading(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO numbers (n) VALUES (?)", number)
		then()
		return err
	})
}

// silence lets the last beat be as old as after the given time without one.
func (n node) silence(t *testing.T, since time.Duration) {
	t.Helper()
	if _, err := n.books.Beats().ExecContext(t.Context(), "UPDATE leader SET beat_at = beat_at - ?", since.Milliseconds()); err != nil {
		t.Fatal(err)
	}
}

// TestLease tests the lease as that is tested which stands in for it.
func TestLease(t *testing.T) {
	t.Parallel()
	clustertest.TestLease(t, func(t *testing.T) clustertest.Leases {
		place := testbed.Postgres(t)
		first := join(t, place, "first")
		return clustertest.Leases{
			Join:    func(t *testing.T, name string) cluster.Lease { return join(t, place, name).Lease },
			Silence: first.silence,
		}
	})
}

// TestOneLeads: however many try at once, and what the others write is refused.
func TestOneLeads(t *testing.T) {
	t.Parallel()
	place := testbed.Postgres(t)
	nodes := []node{join(t, place, "a"), join(t, place, "b"), join(t, place, "c"), join(t, place, "d")}
	var all sync.WaitGroup
	terms := make([]context.Context, len(nodes))
	for i, n := range nodes {
		all.Go(func() {
			for range 5 {
				term, err := n.Take(t.Context())
				if err != nil {
					t.Error(err)
				}
				if term != nil {
					terms[i] = term
					return
				}
			}
		})
	}
	all.Wait()
	leads := -1
	for i, term := range terms {
		if term == nil {
			if err := nodes[i].write(t.Context(), i, func() {}); !errors.Is(err, database.ErrFenced) {
				t.Errorf("a follower writes: %v", err)
			}
			if nodes[i].Leads() || !errors.Is(nodes[i].Beat(t.Context()), database.ErrFenced) {
				t.Error("a follower has the lease")
			}
			continue
		}
		if leads >= 0 {
			t.Fatalf("both %d and %d lead", leads, i)
		}
		leads = i
	}
	if leads < 0 {
		t.Fatal("nobody leads")
	}
	n := nodes[leads]
	if err := n.write(t.Context(), leads, func() {}); err != nil || !n.Leads() || n.Epoch() != 1 {
		t.Errorf("the leader: %v, epoch %d", err, n.Epoch())
	}
	if got := numbers(t, n.history); len(got) != 1 || got[0] != leads {
		t.Errorf("there are %v; %d leads", got, leads)
	}
	if err := n.Free(t.Context()); err != nil || n.Leads() || terms[leads].Err() == nil {
		t.Errorf("given up: %v", err)
	}
	nodes[(leads+1)%len(nodes)].take(t, true) // at once
}

// TestPausedLeader: what it was about to write when it was paused is not written once another leads.
func TestPausedLeader(t *testing.T) {
	t.Parallel()
	place := testbed.Postgres(t)
	a, b := join(t, place, "a"), join(t, place, "b")
	term := a.take(t, true)
	b.take(t, false)
	b.silence(t, 6*time.Second)
	b.take(t, true)
	if !a.Leads() {
		t.Fatal("it cannot know yet")
	}
	if err := a.write(t.Context(), 1, func() {}); !errors.Is(err, database.ErrFenced) {
		t.Errorf("it has written: %v", err)
	}
	if err := a.books.ExecLeading(t.Context(), "DELETE FROM changes"); !errors.Is(err, database.ErrFenced) {
		t.Errorf("it has written to the books: %v", err)
	}
	if a.Leads() || term.Err() == nil {
		t.Error("it does not hear of it")
	}
	if err := b.write(t.Context(), 2, func() {}); err != nil || b.Epoch() != 2 {
		t.Errorf("the other: %v, epoch %d", err, b.Epoch())
	}
	if got := numbers(t, b.history); len(got) != 1 || got[0] != 2 {
		t.Errorf("there are %v", got)
	}
	b.silence(t, 6*time.Second) // its beats are answered again before anybody takes it
	if err := b.Beat(t.Context()); err != nil {
		t.Error(err)
	}
	a.take(t, false)
	b.silence(t, 6*time.Second)
	a.take(t, true)
	if err := b.Beat(t.Context()); !errors.Is(err, database.ErrFenced) || b.Leads() {
		t.Errorf("it beats on: %v", err)
	}
}

// TestTakeoverWaitsForWrites: nobody takes over within a write of the leader, whose beats go on meanwhile. One that hangs in it is cut off.
func TestTakeoverWaitsForWrites(t *testing.T) {
	t.Parallel()
	place := testbed.Postgres(t)
	a, b := join(t, place, "a"), join(t, place, "b")
	a.take(t, true)
	taken := make(chan error, 1)
	err := a.write(t.Context(), 1, func() {
		if err := a.Beat(t.Context()); err != nil {
			t.Errorf("a beat waits for the leader's own write: %v", err)
		}
		b.silence(t, 6*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if term, err := b.Take(ctx); err == nil {
			t.Errorf("taken over within a write: %v", term)
		}
		go func() {
			var err error
			for range 100 { // one may have been given up by now
				var term context.Context
				if term, err = b.Take(t.Context()); term != nil {
					break
				}
			}
			taken <- err
		}()
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, b.history); len(got) != 1 {
		t.Errorf("there are %v", got)
	}
	var bound string
	err = b.history.TxLeading(t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRowContext(t.Context(), "SELECT current_setting('idle_in_transaction_session_timeout')").Scan(&bound)
	})
	if err != nil || bound != "4s" {
		t.Errorf("one that hangs is cut off after %s, %v", bound, err)
	}
}

// TestLeaseBounds: both sides of each bound, and that its holder stops before another may begin.
func TestLeaseBounds(t *testing.T) {
	t.Parallel()
	place := testbed.Postgres(t)
	a, b := join(t, place, "a"), join(t, place, "b")
	var mu sync.Mutex
	mine := time.Now()
	a.SetClock(func() time.Time { mu.Lock(); defer mu.Unlock(); return mine }, "1000000")
	move := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); mine = mine.Add(d) }
	for _, c := range []struct {
		after time.Duration
		holds bool
		free  bool
	}{
		{0, true, false}, {3999 * time.Millisecond, true, false}, {4 * time.Second, false, false},
		{5 * time.Second, false, false}, {5001 * time.Millisecond, false, true},
		{-5 * time.Second, true, false}, {-5001 * time.Millisecond, true, true}, // the database's clock was set back
	} {
		if err := errors.Join(a.Free(t.Context()), b.Free(t.Context())); err != nil {
			t.Fatal(err)
		}
		term := a.take(t, true)
		move(max(c.after, 0))
		if a.Leads() != c.holds || (term.Err() == nil) != c.holds {
			t.Errorf("after %s: leads %v", c.after, a.Leads())
		}
		b.SetClock(time.Now, database.ClockAt(1_000_000+c.after.Milliseconds()))
		b.take(t, c.free)
		if _, err := b.books.Beats().ExecContext(t.Context(), "UPDATE leader SET node = ''"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSilentServer: who hears nothing of the database stops to lead by its own clock, without a call.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	place := testbed.Postgres(t)
	a := join(t, place, "a")
	a.SetClock(time.Now, database.ClockAt(1_000_000))
	term := a.take(t, true)
	select {
	case <-term.Done():
	case <-time.After(time.Minute):
		t.Fatal("it leads on without a beat")
	}
	if err := a.write(t.Context(), 1, func() {}); !errors.Is(err, database.ErrFenced) || !strings.Contains(err.Error(), "does not lead") {
		t.Errorf("it writes: %v", err)
	}
}

// TestLeaseOnSQLite: its only node leads, and pays nothing for it.
func TestLeaseOnSQLite(t *testing.T) {
	t.Parallel()
	f := open(t, filepath.Join(t.TempDir(), "numbers.db"), scripts())
	l := f.Lease("a")
	if l != nil || !l.Leads() || f.Beats() != nil {
		t.Error("there is a lease")
	}
	f.Use(l)
	if err := f.TxLeading(t.Context(), func(*sql.Tx) error { return nil }); err != nil {
		t.Error(err)
	}
}
