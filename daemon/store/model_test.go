package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
)

// modelled is what the books have to say of a key.
type modelled struct{ credits, calls, free int64 }

// TestModel charges, moves slices, reads and moves credits, fails to write and gets killed in any order, and compares with sums.
func TestModel(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, opened())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	const keys, steps = 4, 120
	var want [keys]modelled
	var traces int64
	one := func(n int) billing.Call { // two keys of each owner
		c := chargedKey(n)
		c.OwnerID = fmt.Sprintf("owner-%d", n/2)
		return c
	}
	for n := range want {
		want[n].credits = 50
		grant(t, s, one(n), 50)
	}
	used := map[string]time.Time{} // of no keys there are: those of debits go in a later slice
	for n := range 1500 {
		used[fmt.Sprintf("none-%d", n)] = opened()
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for step := range steps {
		n := random.IntN(keys)
		c := one(n)
		switch what := random.IntN(14); what {
		default:
			next, refused := want, false
			b := billing.Batch{Debits: map[string]int64{}, Usage: map[billing.UsageKey]billing.Count{}, Free: map[string]billing.Stamp{}}
			for i := range want {
				if c, calls := one(i), random.Int64N(4); calls > 0 && (i == n || random.IntN(2) == 0) {
					b.Debits[c.KeyID] = calls
					b.Usage[billing.UsageKey{KeyID: c.KeyID, Hour: opened().Unix()/3600 + random.Int64N(2), Op: c.Op}] = billing.Count{Paid: calls - 1, Free: 1}
					b.Usage[billing.UsageKey{KeyID: c.KeyID, Hour: opened().Unix()/3600 + 2, Op: c.Op}] = billing.Count{Paid: 1}
					b.Free[c.KeyID] = billing.Stamp{At: opened(), Calls: 1}
					refused = refused || next[i].credits < calls
					next[i] = modelled{next[i].credits - calls, next[i].calls + calls + 1, next[i].free + 1}
				}
			}
			for range random.IntN(500) {
				b.Traces = append(b.Traces, billing.Trace{KeyID: c.KeyID, At: opened(), Op: c.Op, Pack: "ai"})
			}
			if err := s.Charge(t.Context(), b.Whole); refused != errors.Is(err, billing.ErrConflict) || !refused && err != nil {
				t.Fatalf("step %d: charging %v of %v: %v", step, b.Debits, want, err)
			}
			if !refused {
				want, traces = next, traces+int64(len(b.Traces))
			}
		case 0, 1, 2, 3:
			if err := s.TouchKeys(&oneSlice{Context: t.Context()}, used); err != nil && !errors.Is(err, errSlice) {
				t.Fatal(err)
			}
		case 4, 5:
			have, _, err := s.Balance(t.Context(), c.OwnerID, c.KeyID)
			if err != nil || have != want[n].credits {
				t.Fatalf("step %d: key %d has %d credits, %v; want %d", step, n, have, err, want[n].credits)
			}
		case 6:
			var have int64
			list, err := s.FreeCalls(t.Context(), c.OwnerID, opened().Add(-time.Hour))
			for _, stamp := range list {
				have += stamp.Calls
			}
			if sum := want[n].free + want[n^1].free; err != nil || have != sum {
				t.Fatalf("step %d: owner of key %d has %d free calls, %v; want %d", step, n, have, err, sum)
			}
		case 7:
			amount := random.Int64N(40) - 10
			pool, err := s.Move(t.Context(), billing.Entry{KeyID: c.KeyID, Amount: amount, Kind: billing.KindAdjust, Reason: "x", At: opened()})
			if short := want[n].credits+amount < 0; short != (err != nil) {
				t.Fatalf("step %d: moving %d on %d: %v", step, amount, want[n].credits, err)
			} else if !short {
				want[n].credits += amount
				if sum := want[n].credits + want[n^1].credits; pool != sum {
					t.Fatalf("step %d: the pool is %d, want %d", step, pool, sum)
				}
			}
		case 8: // a write that fails, and then reading what there is
			for range 2 {
				if err := s.Charge(over, billing.Batch{Debits: map[string]int64{c.KeyID: 1}}.Whole); err == nil {
					t.Fatal("charged for nobody")
				}
			}
		case 9:
			left := t.TempDir()
			for _, name := range []string{store.File, store.File + "-wal"} {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err == nil {
					err = os.WriteFile(filepath.Join(left, name), text, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			dir = left
			read, err := store.OpenRead(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if findings, err := read.Audit(t.Context()); err != nil || len(findings) > 0 {
				t.Fatalf("step %d: the audit of what a kill leaves finds %v, %v", step, findings, err)
			}
			if err := read.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err = store.Open(t.Context(), dir, opened()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n, w := range want {
		agree(t, s, dir, one(n), w.credits, w.calls+want[n^1].calls)
	}
	if have := sumUp(t, dir); have.traces != traces {
		t.Errorf("there are %d traces, want %d", have.traces, traces)
	}
}
