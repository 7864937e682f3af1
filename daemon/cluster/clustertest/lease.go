package clustertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/cluster"
	"github.com/contextd/contextd/daemon/store/database"
)

// Leases makes the leases of nodes on one database.
type Leases struct {
	Join    func(t *testing.T, node string) cluster.Lease
	Silence func(t *testing.T, since time.Duration) // lets the last beat be as old as after that time without one
}

// take has a lease taken, or not.
func take(t *testing.T, l cluster.Lease, want bool) context.Context {
	t.Helper()
	term, err := l.Take(t.Context())
	if err != nil || (term != nil) != want || l.Leads() != want {
		t.Fatalf("take: term %v, %v, leads %v; want %v", term, err, l.Leads(), want)
	}
	return term
}

// expired is the age of a beat at which others may take the lease.
const expired = database.LeaseLasts + time.Second

// TestLease tests what nodes rely on. open makes a database without nodes.
func TestLease(t *testing.T, open func(t *testing.T) Leases) {
	for name, test := range map[string]func(t *testing.T, l Leases, a, b cluster.Lease){
		"one leads": func(t *testing.T, _ Leases, a, b cluster.Lease) {
			take(t, a, true)
			take(t, b, false)
			if err := b.Beat(t.Context()); !errors.Is(err, database.ErrFenced) {
				t.Errorf("a follower beats: %v", err)
			}
			if err := a.Beat(t.Context()); err != nil || a.Epoch() != 1 || b.Epoch() != 0 {
				t.Errorf("the leader beats: %v, epochs %d and %d", err, a.Epoch(), b.Epoch())
			}
		},
		"it is given up": func(t *testing.T, _ Leases, a, b cluster.Lease) {
			term := take(t, a, true)
			if err := errors.Join(b.Free(t.Context()), a.Free(t.Context())); err != nil || a.Leads() || term.Err() == nil {
				t.Errorf("given up: %v, leads %v, term %v", err, a.Leads(), term.Err())
			}
			if err := a.Beat(t.Context()); !errors.Is(err, database.ErrFenced) {
				t.Errorf("beats after that: %v", err)
			}
			take(t, b, true)
			if b.Epoch() != 2 {
				t.Errorf("epoch %d", b.Epoch())
			}
		},
		"its holder is silent": func(t *testing.T, l Leases, a, b cluster.Lease) {
			term := take(t, a, true)
			l.Silence(t, expired)
			take(t, b, true)
			if err := a.Beat(t.Context()); !errors.Is(err, database.ErrFenced) || a.Leads() || term.Err() == nil {
				t.Errorf("it beats on: %v, leads %v, term %v", err, a.Leads(), term.Err())
			}
			if err := b.Beat(t.Context()); err != nil || b.Epoch() != 2 {
				t.Errorf("the other: %v, epoch %d", err, b.Epoch())
			}
		},
		"it is renewed after all": func(t *testing.T, l Leases, a, b cluster.Lease) {
			term := take(t, a, true)
			l.Silence(t, expired)
			if err := a.Beat(t.Context()); err != nil || term.Err() != nil {
				t.Errorf("nobody has taken it: %v, term %v", err, term.Err())
			}
			take(t, b, false)
		},
		"its holder takes it again": func(t *testing.T, _ Leases, a, _ cluster.Lease) {
			first := take(t, a, true) // the answer to which may have been lost
			second := take(t, a, true)
			if first.Err() == nil || second.Err() != nil || a.Epoch() != 2 {
				t.Errorf("terms %v and %v, epoch %d", first.Err(), second.Err(), a.Epoch())
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t)
			test(t, l, l.Join(t, "a"), l.Join(t, "b"))
		})
	}
}
