package billing_test

import (
	"crypto/sha256"
	"errors"
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

// bounded opens books in which the key of the call has a thousand credits and may spend 50 a day, and so many Meters on them.
func bounded(t *testing.T, place string, meters int, now func() time.Time) (list []*billing.Meter, c billing.Call) {
	t.Helper()
	c = billing.Call{KeyID: "cv_test_00000001", OwnerID: "ada", Tier: api.TierPro, Consent: api.ConsentAggregated, Op: api.OpFresh,
		Pack: api.PackCrypto, Daily: 50}
	for i := range meters {
		s, err := store.Open(t.Context(), place, now())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if i == 0 {
			k := account.Key{ID: c.KeyID, Hash: sha256.Sum256([]byte(c.KeyID)), OwnerID: c.OwnerID, Name: "k", Tier: c.Tier,
				Consent: c.Consent, CreatedAt: now(), Daily: c.Daily}
			if err := s.CreateKey(t.Context(), k); err != nil {
				t.Fatal(err)
			}
			if kept, err := s.Keys(t.Context(), nil); err != nil || len(kept) != 1 || kept[0].Daily != c.Daily {
				t.Fatalf("kept %+v, %v", kept, err)
			}
			e := billing.Entry{KeyID: c.KeyID, Amount: 1000, Kind: billing.KindGrant, Reason: "x", At: now()}
			if _, err := s.Move(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		cfg := billing.Config{Store: s, Now: now}
		if meters > 1 {
			cfg.CatchUp = func() error { return nil }
		}
		list = append(list, billing.New(cfg))
	}
	return list, c
}

// TestBoundOfADayHolds: 64 connections to one node, and to two, spend what their key may in a day, and not one credit more.
func TestBoundOfADayHolds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		place  func(testing.TB) string
		meters int
	}{"one node": {testbed.Files, 1}, "two nodes": {testbed.LocalPostgres, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
			meters, c := bounded(t, test.place(t), test.meters, func() time.Time { return at })
			var answered atomic.Int64
			var all sync.WaitGroup
			for i := range 64 {
				all.Go(func() {
					for answers := 0; answers < 3; {
						switch left, err := meters[i%len(meters)].Charge(t.Context(), c); {
						case err == nil:
							answered.Add(1)
							answers++
							if left.Daily == nil || *left.Daily < 0 || *left.Daily >= 50 {
								t.Errorf("left %+v", left)
							}
						case errors.Is(err, &api.Error{Reason: api.ReasonDailySpent}):
							answers++
						case !errors.Is(err, &api.Error{Reason: api.ReasonStateUnavailable}): // which says: again
							t.Errorf("charge: %v", err)
							return
						}
					}
				})
			}
			all.Wait()
			if answered.Load() != 50 {
				t.Errorf("%d calls were answered, not 50", answered.Load())
			}
		})
	}
}

// TestBoundOfADay: the last credit, the wait, the new day, a restart, and a call that never fits.
func TestBoundOfADay(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 23, 59, 30, 0, time.UTC)
	place := testbed.Files(t)
	meters, c := bounded(t, place, 1, func() time.Time { return at })
	charge := func(units int64) (int64, error) {
		c := c
		c.Units = units
		left, err := meters[0].Charge(t.Context(), c)
		if err != nil {
			return -1, err
		}
		return *left.Daily, nil
	}
	for _, step := range []struct {
		units, left int64
		reason      api.Reason
		later       time.Duration
	}{
		{51, -1, api.ReasonInsufficient, 0}, {49, 1, "", 0}, {2, -1, api.ReasonDailySpent, 0}, {1, 0, "", 0},
		{1, -1, api.ReasonDailySpent, 0}, {1, -1, api.ReasonDailySpent, 30*time.Second - time.Millisecond},
		{50, 0, "", time.Millisecond}, {1, -1, api.ReasonDailySpent, 23 * time.Hour}, {1, 49, "", time.Hour},
	} {
		at = at.Add(step.later)
		left, err := charge(step.units)
		if left != step.left || step.reason != "" && !errors.Is(err, &api.Error{Reason: step.reason}) || step.reason == "" && err != nil {
			t.Errorf("at %s, %d credits: %d left, %v; want %d, %s", at, step.units, left, err, step.left, step.reason)
		}
		e := new(api.Error)
		midnight := at.Truncate(24 * time.Hour).Add(24 * time.Hour)
		if errors.As(err, &e) && e.Reason == api.ReasonDailySpent && e.RetryAfter != midnight.Sub(at) {
			t.Errorf("at %s wait %s", at, e.RetryAfter)
		}
	}
	again, err := store.Open(t.Context(), place, at)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	meters[0] = billing.New(billing.Config{Store: again, Now: func() time.Time { return at }})
	if left, err := charge(1); left != 48 {
		t.Errorf("after a restart %d left, %v", left, err)
	}
}
