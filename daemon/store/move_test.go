package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
)

// errSlice ends a move after a slice.
var errSlice = errors.New("a slice was moved")

// oneSlice is a context that is over when it is asked for the second time, which a move does between its slices.
type oneSlice struct {
	context.Context
	asked int
}

func (c *oneSlice) Err() error {
	if c.asked++; c.asked > 1 {
		return errSlice
	}
	return nil
}

// wideKeys are so many that they take several slices.
const wideKeys = 2300

// grantWide makes keys with credits, whose ids are not in the order of their records.
func grantWide(t *testing.T, s *store.Store, dir string, credits int64) {
	t.Helper()
	grant(t, s, chargedKey(0), credits)
	db := testbed.SQL(t, dir, store.File)
	const numbers = `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?1 - 1),
		k (k) AS (SELECT n * 7919 % ?1 FROM n) `
	for _, text := range []string{
		"INSERT INTO owners (id, tier, created_at) " + numbers + "SELECT 'owner-' || k, 'free', ?2 FROM k",
		`INSERT INTO keys (id, hash, owner_id, name, tier, consent, created_at, credits) ` + numbers +
			"SELECT format('cv_test_%08d', k), CAST('hash' || k AS BLOB), 'owner-' || k, 'k', 'free', 'full', 1, ?2 FROM k",
		"INSERT INTO ledger (key_id, amount, kind, reason, at) " + numbers + "SELECT format('cv_test_%08d', k), ?2, 'grant', 'x', 1 FROM k",
	} {
		if _, err := db.ExecContext(t.Context(), text, wideKeys, credits); err != nil {
			t.Fatal(err)
		}
	}
}

// wide is a call of each key.
func wide() billing.Batch {
	b := billing.Batch{Debits: map[string]int64{}, Usage: map[billing.UsageKey]billing.Count{}, Free: map[string]billing.Stamp{}}
	for n := range wideKeys {
		c := chargedKey(n)
		b.Debits[c.KeyID] = 1
		b.Usage[billing.UsageKey{KeyID: c.KeyID, Hour: opened().Unix() / 3600, Op: c.Op}] = billing.Count{Paid: 1}
	}
	return b
}

// sums are what the tables hold, and how many rows of them charges have changed.
type sums struct{ credits, calls, records, counts, free, traces, batches int64 }

func sumUp(t *testing.T, dir string) (have sums) {
	t.Helper()
	query(t, dir, `SELECT (SELECT sum(credits) FROM keys), (SELECT coalesce(sum(paid), 0) FROM usage),
		(SELECT count(*) FROM keys WHERE spent > 0 OR last_used_at > 0), (SELECT count(*) FROM usage), (SELECT count(*) FROM free_calls),
		(SELECT count(*) FROM traces), (SELECT count(*) FROM charges WHERE id <= 10)`, func(r *sql.Rows) error {
		return r.Scan(&have.credits, &have.calls, &have.records, &have.counts, &have.free, &have.traces, &have.batches)
	})
	return have
}

// TestSlices moves charges of many keys with others before, between and after: a slice changes no more rows than it may. A copy of the
// files after each is what a kill there leaves: its audit finds nothing before it is opened, and every call is in its tables, once,
// afterwards.
func TestSlices(t *testing.T) {
	if testing.Short() {
		t.Skip("many rows take their time")
	}
	t.Parallel()
	const most, credits, traces = 1000, 100, 400
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, opened())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	grantWide(t, s, dir, credits)
	var calls int64
	charge := func(b billing.Batch, n int64) {
		t.Helper()
		if err := s.Charge(t.Context(), b.Whole); err != nil {
			t.Fatal(err)
		}
		calls += n
	}
	for range 4 { // rows with so many traces that not all go at once
		b := wide()
		for range traces {
			b.Traces = append(b.Traces, billing.Trace{KeyID: chargedKey(1).KeyID, At: opened(), Op: chargedKey(1).Op, Pack: "ai"})
		}
		b.Free[chargedKey(2).KeyID] = billing.Stamp{At: opened(), Calls: 1}
		charge(b, wideKeys)
	}
	first, last, used := chargedKey(0), chargedKey(wideKeys-1), map[string]time.Time{}
	for n := range wideKeys {
		used[chargedKey(n).KeyID] = opened()
	}
	slices, before := 0, sumUp(t, dir)
	for moving := true; moving; slices++ {
		err := s.TouchKeys(&oneSlice{Context: t.Context()}, used)
		used = nil // or it begins again when it has ended
		if moving = errors.Is(err, errSlice); err != nil && !moving {
			t.Fatal(err)
		}
		now := sumUp(t, dir)
		changed := now.records - before.records + now.counts - before.counts + now.free - before.free + now.traces - before.traces +
			before.batches - now.batches
		if changed > most || changed == 0 {
			t.Errorf("slice %d changed %d rows, want 1 to %d", slices, changed, most)
		}
		for _, c := range []billing.Call{first, last} { // in the tables partly, and in both generations of the journal
			if err := take(t, s, c, 1); err != nil {
				t.Fatal(err)
			}
			calls++
		}
		if slices%2 == 1 {
			want := credits - 4 - int64(slices) - 1
			if have, _, err := s.Balance(t.Context(), first.OwnerID, ""); err != nil || have != want {
				t.Errorf("after slice %d there are %d credits, %v; want %d", slices, have, err, want)
			}
		}
		killed(t, dir, wideKeys*credits-calls, calls, 4*traces+2*int64(slices+1))
		before = sumUp(t, dir)
	}
	if want := (wideKeys*2+4*traces)/most + 1; slices < want || slices > want+3 {
		t.Errorf("%d slices moved everything, want %d or few more", slices, want)
	}
	agree(t, s, dir, last, credits-4-int64(slices), 4+int64(slices))
	if over := take(t, s, last, credits-4-int64(slices)+1); !errors.Is(over, billing.ErrConflict) {
		t.Errorf("taking more than there is: %v", over)
	}
	if n := sumUp(t, dir); n.records != wideKeys {
		t.Errorf("it is noted of %d keys that they were used, want all", n.records)
	}
}

// TestBothGenerations reads balances of keys that were charged before a move began and again while it is under way.
func TestBothGenerations(t *testing.T) {
	t.Parallel()
	const credits = 100
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, opened())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	grantWide(t, s, dir, credits)
	if err := s.Charge(t.Context(), wide().Whole); err != nil {
		t.Fatal(err)
	}
	err = s.TouchKeys(&oneSlice{Context: t.Context()}, map[string]time.Time{chargedKey(0).KeyID: opened()})
	if !errors.Is(err, errSlice) {
		t.Fatal(err)
	}
	for n := 0; n < wideKeys; n += 300 { // of some the first slice has moved the debit
		c := chargedKey(n)
		if err := take(t, s, c, 3); err != nil {
			t.Fatal(err)
		}
		if have, _, err := s.Balance(t.Context(), c.OwnerID, c.KeyID); err != nil || have != credits-4 {
			t.Errorf("key %d has %d credits, %v; want %d", n, have, err, credits-4)
		}
	}
	agree(t, s, dir, chargedKey(0), credits-4, 4)
}

// killed opens a copy of the files of dir as they are: credits and calls are those, and nothing waits.
func killed(t *testing.T, dir string, credits, calls, traces int64) {
	t.Helper()
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
	read, err := store.OpenRead(t.Context(), left)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	for _, opens := range []bool{false, true} {
		if opens {
			s, err := store.Open(t.Context(), left, opened())
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if findings, err := read.Audit(t.Context()); err != nil || len(findings) > 0 {
			t.Errorf("opened %v: the audit finds %d, the first %v, %v", opens, len(findings), findings[:min(1, len(findings))], err)
		}
	}
	if have := sumUp(t, left); have.credits != credits || have.calls != calls || have.traces != traces {
		t.Errorf("there are %+v; want %d credits, %d calls, %d traces", have, credits, calls, traces)
	}
}
