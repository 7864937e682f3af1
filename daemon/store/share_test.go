package store_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// keysOn opens the keys of a node.
func keysOn(t *testing.T, s *store.Store) *account.Keys {
	t.Helper()
	k, err := account.OpenKeys(t.Context(), account.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestFreeCallsOfTwoNodes: two nodes give no more free calls than one, to an owner and to a key of the operator, and no fewer.
func TestFreeCallsOfTwoNodes(t *testing.T) {
	t.Parallel()
	place := testbed.LocalPostgres(t)
	one, two := node(t, place, store.Seal{}), node(t, place, store.Seal{})
	keys := keysOn(t, one)
	const limit = 10
	for _, owner := range []string{"11111111-0000-4000-8000-000000000001", account.OperatorID} {
		key, err := keys.Issue(t.Context(), account.NewKey{OwnerID: owner, Name: "x", Tier: api.TierFree})
		if err != nil {
			t.Fatal(err)
		}
		call := billing.Call{KeyID: key.KeyID, OwnerID: owner, Tier: api.TierFree, Consent: api.ConsentAggregated, Op: api.OpFresh, Pack: api.PackCrypto}
		if owner == account.OperatorID {
			call.Window = key.KeyID
		}
		var given, refused atomic.Int64
		var all sync.WaitGroup
		for _, s := range []*store.Store{one, two} {
			m := billing.New(billing.Config{Store: s, FreeCalls: limit, CatchUp: func() error { return nil }})
			for range limit {
				all.Go(func() {
					_, err := m.Charge(t.Context(), call)
					switch {
					case err == nil:
						given.Add(1)
					case errors.Is(err, &api.Error{Reason: api.ReasonQuotaExhausted}):
						refused.Add(1)
					default:
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		if given.Load() != limit || refused.Load() != limit {
			t.Errorf("%s: %d were given and %d refused, of each %d", owner, given.Load(), refused.Load(), limit)
		}
	}
}

// TestChanges: what an act changes of an owner is told to the other nodes, charges are not, and who has missed changes is told so.
func TestChanges(t *testing.T) {
	t.Parallel()
	place := testbed.LocalPostgres(t)
	one, two := node(t, place, store.Seal{}), node(t, place, store.Seal{})
	keys, others := keysOn(t, one), keysOn(t, two)
	const owner = "11111111-0000-4000-8000-000000000001"
	var seen int64
	var key api.IssuedKey
	told := func(what string, act func() error, want ...string) {
		t.Helper()
		if err := act(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		owners, last, all, err := two.Changes(t.Context(), seen)
		if err != nil || all || !slices.Equal(owners, want) {
			t.Errorf("%s: %v, all %t, %v; want %v", what, owners, all, err, want)
		}
		seen = last
		if _, err := others.Reload(t.Context(), owners); len(owners) > 0 && err != nil {
			t.Error(err)
		}
	}
	resolve := func(what string, reason api.Reason, tier api.Tier) {
		t.Helper()
		got, err := others.Resolve(key.Key)
		if reason == "" && (err != nil || got.Tier != tier) || reason != "" && !errors.Is(err, &api.Error{Reason: reason}) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	told("nothing", func() error { return nil })
	told("a key", func() (err error) {
		key, err = keys.Issue(t.Context(), account.NewKey{OwnerID: owner, Name: "x"})
		return err
	}, owner)
	resolve("a key", "", api.TierFree)
	told("credits", func() error {
		_, err := one.Move(t.Context(), billing.Entry{KeyID: key.KeyID, Amount: 5, Kind: billing.KindGrant, Reason: "test", At: time.Unix(2, 0)})
		return err
	}, owner)
	told("a charge", func() error {
		return one.Charge(t.Context(), billing.Batch{Debits: map[string]int64{key.KeyID: 1}}.Whole)
	})
	told("a tier", func() error { return keys.SetTier(t.Context(), owner, api.TierPro) }, owner)
	resolve("a tier", "", api.TierPro)
	ended := others.Ended(key.KeyID)
	told("disabled", func() error { return keys.Disable(t.Context(), owner) }, owner)
	resolve("disabled", api.ReasonKeyRevoked, "")
	select {
	case <-ended:
	default:
		t.Error("what was open with the key of an owner who was disabled goes on")
	}
	told("enabled", func() error { return keys.Enable(t.Context(), owner) }, owner)
	resolve("enabled", "", api.TierPro)
	select {
	case <-others.Ended(key.KeyID):
		t.Error("nothing can be opened by who was let in again")
	default:
	}
	ended = others.Ended(key.KeyID)
	told("revoked", func() error { _, err := keys.Revoke(t.Context(), key.KeyID); return err }, owner)
	resolve("revoked", api.ReasonKeyRevoked, "")
	select {
	case <-ended:
	default:
		t.Error("what was open with a revoked key goes on")
	}
	if _, _, all, err := two.Changes(t.Context(), seen+1); err != nil || !all {
		t.Errorf("a change that is not there: all %t, %v", all, err)
	}
	db := testbed.SQL(t, place, store.File)
	if _, err := db.ExecContext(t.Context(), "UPDATE changes SET at = 0"); err != nil {
		t.Fatal(err)
	}
	if err := one.PruneChanges(t.Context()); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[int64]bool{0: true, seen - 2: true, seen - 1: false, seen: false} {
		if _, last, all, err := two.Changes(t.Context(), after); err != nil || all != want || last != seen {
			t.Errorf("after %d of %d: all %t, last %d, %v", after, seen, all, last, err)
		}
	}
}

// TestUnsettledCharge: what a batch has booked whose commit nobody heard of is taken back once that is known; what it has not is not.
func TestUnsettledCharge(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"commits", "forgets"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			direct := testbed.LocalPostgres(t)
			w, place := testbed.WireTo(t, direct)
			books, s := node(t, direct, store.Seal{}), node(t, place, store.Seal{})
			const owner, granted = "11111111-0000-4000-8000-000000000001", 10
			key, err := keysOn(t, books).Issue(t.Context(), account.NewKey{OwnerID: owner, Name: "x", Tier: api.TierFree})
			if err != nil {
				t.Fatal(err)
			}
			at := time.Unix(7200, 0)
			if _, err := books.Move(t.Context(), billing.Entry{KeyID: key.KeyID, Amount: granted, Kind: billing.KindGrant, Reason: "x", At: at}); err != nil {
				t.Fatal(err)
			}
			noted, err := books.LastChange(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			batch := billing.Batch{
				Debits: map[string]int64{key.KeyID: 3}, Free: map[string]billing.Stamp{key.KeyID: {At: at, Calls: 2}},
				Usage:  map[billing.UsageKey]billing.Count{{KeyID: key.KeyID, Hour: 2, Op: api.OpFresh}: {Paid: 3, Free: 2}},
				Traces: []billing.Trace{{KeyID: key.KeyID, At: at, Op: api.OpFresh, Pack: api.PackCrypto}},
			}
			if mode == "commits" { // and the connection alone is lost: what has become of it is told at once
				w.LoseCommit(true)
			}
			if err := s.Charge(t.Context(), batch.Whole); err != nil { // which is not taken back
				t.Fatal(err)
			}
			if mode == "commits" {
				w.LoseCommit(false)
			} else {
				w.LoseQuestion(key.KeyID)
			}
			began := time.Now()
			err = s.Charge(t.Context(), batch.Whole)
			var away interface{ Unavailable() bool }
			if !errors.As(err, &away) {
				t.Fatalf("a charge of which nobody heard: %v", err)
			}
			t.Logf("it was refused after %s", time.Since(began))
			left := func() int64 {
				credits, _, err := books.Balance(t.Context(), owner, key.KeyID)
				if err != nil {
					t.Fatal(err)
				}
				return credits
			}
			if want := map[string]int64{"commits": granted - 6, "forgets": granted - 3}[mode]; left() != want {
				t.Fatalf("%d credits are left, want %d", left(), want)
			}
			w.Mend()
			for left() != granted-3 {
				if time.Since(began) > time.Minute {
					t.Fatalf("%d credits are left", left())
				}
				time.Sleep(20 * time.Millisecond)
			}
			if err := s.Close(); err != nil { // nothing goes on
				t.Fatal(err)
			}
			free, err := books.FreeCalls(t.Context(), key.KeyID, at.Add(-time.Hour))
			if err != nil || len(free) != 1 || free[0].Calls != 2 || left() != granted-3 {
				t.Errorf("%d credits, free calls %v, %v", left(), free, err)
			}
			if found, err := books.Audit(t.Context()); err != nil || len(found) > 0 {
				t.Errorf("the audit finds %v, %v", found, err)
			}
			if owners, _, all, err := books.Changes(t.Context(), noted); err != nil || all || (len(owners) == 1) != (mode == "commits") {
				t.Errorf("told to the other nodes: %v, %v, %v", owners, all, err)
			}
		})
	}
}

// TestVolumeOfTwoNodes: what a key has called at one node counts in its volume at another: at the latest after a minute, and after five
// seconds where half of it is used up.
func TestVolumeOfTwoNodes(t *testing.T) {
	t.Parallel()
	place := testbed.LocalPostgres(t)
	one, two := node(t, place, store.Seal{}), node(t, place, store.Seal{})
	const owner, limit = "11111111-0000-4000-8000-000000000001", 20
	began := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		before int64 // at the second node
		after  time.Duration
		known  bool
	}{
		"below half, before a minute": {2, time.Minute - time.Nanosecond, false},
		"below half, a minute":        {2, time.Minute, true},
		"half, before five seconds":   {limit / 2, 5*time.Second - time.Nanosecond, false},
		"half, five seconds":          {limit / 2, 5 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			key, err := keysOn(t, one).Issue(t.Context(), account.NewKey{OwnerID: owner, Name: "x", Tier: api.TierHobby})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := one.Move(t.Context(), billing.Entry{KeyID: key.KeyID, Amount: 100, Kind: billing.KindGrant, Reason: "x", At: began}); err != nil {
				t.Fatal(err)
			}
			now := began
			meter := func(s *store.Store) func(n int64) error {
				m := billing.New(billing.Config{Store: s, CatchUp: func() error { return nil }, Now: func() time.Time { return now },
					Plans: billing.Plans{api.TierHobby: {Volume: limit}}})
				return func(n int64) error {
					for range n {
						_, err := m.Charge(t.Context(), billing.Call{KeyID: key.KeyID, OwnerID: owner, Tier: api.TierHobby, Op: api.OpFresh, Pack: api.PackCrypto})
						if err != nil {
							return err
						}
					}
					return nil
				}
			}
			first, second := meter(one), meter(two)
			if err := errors.Join(second(c.before), first(limit-c.before)); err != nil {
				t.Fatal(err)
			}
			now = now.Add(c.after)
			if err := second(1); errors.Is(err, &api.Error{Reason: api.ReasonQuotaExhausted}) != c.known || err != nil && !c.known {
				t.Errorf("a call beyond the volume: %v", err)
			}
		})
	}
}
