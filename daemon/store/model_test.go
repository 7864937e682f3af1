package store_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/internal/chance"
)

// modelKeys is how many keys the model has: two of each owner.
const modelKeys = 4

// modelled is what the books have to say of a key.
type modelled struct{ credits, calls, free int64 }

// model is a store, and the sums of what was done to it.
type model struct {
	t      *testing.T
	dir    string
	store  *store.Store
	db     *sql.DB // beside it
	keys   [modelKeys]modelled
	traces int64
	used   time.Time // when all keys were last used
}

// TestModel does acts of the books in any order, and compares what they say with sums. Each act waits for the disk, so that it makes 15
// checks where -rapid.checks does not say how many.
func TestModel(t *testing.T) {
	t.Parallel()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set("15"); err != nil {
			t.Fatal(err)
		}
	}
	chance.Check(t, func(r *rapid.T) {
		m := &model{t: t, dir: t.TempDir(), used: opened()}
		m.open(r)
		defer m.close(r)
		for n := range m.keys {
			m.keys[n].credits = 50
			grant(t, m.store, m.call(n), 50)
		}
		r.Repeat(map[string]func(*rapid.T){
			"charge":               m.charge,
			"charge a caller gone": m.chargeCallerGone,
			"touch":                m.touch,
			"move credits":         m.move,
			"kill":                 m.kill,
			"":                     m.check,
		})
	})
}

// call is a call with the n-th key.
func (m *model) call(n int) billing.Call {
	c := chargedKey(n)
	c.OwnerID = fmt.Sprintf("owner-%d", n/2)
	return c
}

func (m *model) open(r *rapid.T) {
	var err error
	if m.store, err = store.Open(m.t.Context(), m.dir, opened()); err != nil {
		r.Fatal(err)
	}
	if m.db, err = sql.Open("sqlite3", filepath.Join(m.dir, store.File)); err != nil {
		r.Fatal(err)
	}
}

func (m *model) close(r *rapid.T) {
	if err := errors.Join(m.db.Close(), m.store.Close()); err != nil {
		r.Fatal(err)
	}
}

// charge books a batch of some of the keys, which is refused where one of them has too few credits.
func (m *model) charge(r *rapid.T) {
	next, refused := m.keys, false
	b := billing.Batch{Debits: map[string]int64{}, Usage: map[billing.UsageKey]billing.Count{}, Free: map[string]billing.Stamp{}}
	hour := opened().Unix() / 3600
	for n := range m.keys {
		c, calls := m.call(n), rapid.Int64Range(0, 9).Draw(r, "calls")
		if calls == 0 {
			continue
		}
		b.Debits[c.KeyID] = calls
		b.Usage[billing.UsageKey{KeyID: c.KeyID, Hour: hour + rapid.Int64Range(0, 1).Draw(r, "hour"), Op: c.Op}] =
			billing.Count{Paid: calls - 1, Free: 1}
		b.Usage[billing.UsageKey{KeyID: c.KeyID, Hour: hour + 2, Op: c.Op}] = billing.Count{Paid: 1}
		b.Free[c.KeyID] = billing.Stamp{At: opened(), Calls: 1}
		b.Traces = append(b.Traces, billing.Trace{KeyID: c.KeyID, At: opened(), Op: c.Op, Pack: "ai"})
		refused = refused || next[n].credits < calls
		next[n] = modelled{next[n].credits - calls, next[n].calls + calls + 1, next[n].free + 1}
	}
	err := m.store.Charge(m.t.Context(), b.Whole)
	if refused != errors.Is(err, billing.ErrConflict) || !refused && err != nil {
		r.Fatalf("charging %v of %v: %v", b.Debits, m.keys, err)
	}
	if !refused {
		m.keys, m.traces = next, m.traces+int64(len(b.Traces))
	}
}

// chargeCallerGone books nothing.
func (m *model) chargeCallerGone(r *rapid.T) {
	over, cancel := context.WithCancel(m.t.Context())
	cancel()
	if err := m.store.Charge(over, billing.Batch{Debits: map[string]int64{m.call(0).KeyID: 1}}.Whole); !errors.Is(err, context.Canceled) {
		r.Fatalf("charged for a caller who is gone: %v", err)
	}
}

func (m *model) touch(r *rapid.T) {
	at := opened().Add(time.Duration(rapid.IntRange(0, 100).Draw(r, "minute")) * time.Minute)
	used := map[string]time.Time{}
	for n := range m.keys {
		used[m.call(n).KeyID] = at
	}
	if err := m.store.TouchKeys(m.t.Context(), used); err != nil {
		r.Fatal(err)
	}
	if at.After(m.used) {
		m.used = at
	}
}

// move gives credits to a key or takes some.
func (m *model) move(r *rapid.T) {
	n, amount := rapid.IntRange(0, modelKeys-1).Draw(r, "key"), rapid.Int64Range(-20, 40).Draw(r, "amount")
	pool, err := m.store.Move(m.t.Context(), billing.Entry{
		KeyID: m.call(n).KeyID, Amount: amount, Kind: billing.KindAdjust, Reason: "x", At: opened(),
	})
	if short := m.keys[n].credits+amount < 0; short != (err != nil) {
		r.Fatalf("moving %d on %d: %v", amount, m.keys[n].credits, err)
	} else if short {
		return
	}
	m.keys[n].credits += amount
	if sum := m.keys[n].credits + m.keys[n^1].credits; pool != sum {
		r.Fatalf("pool %d, want %d", pool, sum)
	}
}

// kill goes on with what kill -9 leaves: the files as they are, while the database is open.
func (m *model) kill(r *rapid.T) {
	left := m.t.TempDir()
	for _, name := range []string{store.File, store.File + "-wal"} {
		text, err := os.ReadFile(filepath.Join(m.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(left, name), text, 0o600)
		}
		if err != nil {
			r.Fatal(err)
		}
	}
	m.close(r)
	m.dir = left
	m.open(r)
}

// check compares everything that the books say.
func (m *model) check(r *rapid.T) {
	ctx := m.t.Context()
	if findings, err := m.store.Audit(ctx); err != nil || len(findings) > 0 {
		r.Fatalf("audit: %v, %v", findings, err)
	}
	have, want := map[string]int64{}, map[string]int64{}
	for n, k := range m.keys {
		c := m.call(n)
		credits, _, err := m.store.Balance(ctx, c.OwnerID, c.KeyID)
		if err != nil {
			r.Fatal(err)
		}
		have["credits of "+c.KeyID], want["credits of "+c.KeyID] = credits, k.credits
		want["calls of "+c.OwnerID] += k.calls
		want["free calls of "+c.OwnerID] += k.free
		if n%2 == 1 {
			continue
		}
		usage, err := m.store.Usage(ctx, c.OwnerID, opened())
		if err != nil {
			r.Fatal(err)
		}
		have["calls of "+c.OwnerID] = 0
		for _, row := range usage {
			have["calls of "+c.OwnerID] += row.Calls
		}
		free, err := m.store.FreeCalls(ctx, c.OwnerID, opened().Add(-time.Hour))
		if err != nil {
			r.Fatal(err)
		}
		have["free calls of "+c.OwnerID] = 0
		for _, stamp := range free {
			have["free calls of "+c.OwnerID] += stamp.Calls
		}
	}
	if !maps.Equal(have, want) {
		r.Fatalf("%v, want %v", have, want)
	}
	var traces int64
	if err := m.db.QueryRowContext(ctx, "SELECT count(*) FROM traces").Scan(&traces); err != nil || traces != m.traces {
		r.Fatalf("%d traces, %v, want %d", traces, err, m.traces)
	}
}
