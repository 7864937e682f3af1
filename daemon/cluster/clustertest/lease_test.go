package clustertest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/cluster"
	"github.com/contextd/contextd/daemon/cluster/clustertest"
)

// TestLease tests the lease in memory as the real one is tested.
func TestLease(t *testing.T) {
	t.Parallel()
	clustertest.TestLease(t, func(t *testing.T) clustertest.Leases {
		db := clustertest.New(func() time.Time { return time.Unix(1, 0) })
		return clustertest.Leases{
			Join:    func(_ *testing.T, node string) cluster.Lease { return db.Connect(node) },
			Silence: func(_ *testing.T, since time.Duration) { db.Silence(since) },
		}
	})
}

// TestSilent: a node that hears nothing of the database no longer leads after 4 s, and another can after 5.
func TestSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := clustertest.New(time.Now)
		a, b := db.Connect("a"), db.Connect("b")
		term, err := a.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(4*time.Second - time.Nanosecond)
		synctest.Wait()
		if term.Err() != nil {
			t.Error("the term has ended before 4 s")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if term.Err() == nil || a.Leads() {
			t.Error("it leads on without a beat")
		}
		time.Sleep(time.Second)
		if term, err := b.Take(t.Context()); term != nil || err != nil {
			t.Errorf("taken after 5 s: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if term, err := b.Take(t.Context()); term == nil || err != nil {
			t.Errorf("not taken after more than 5 s: %v", err)
		}
	})
}
