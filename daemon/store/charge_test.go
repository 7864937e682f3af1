package store_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// opened is when the databases of these tests were opened.
func opened() time.Time { return time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC) }

// chargedKey is the n-th key of the tests, and its owner has no other.
func chargedKey(n int) billing.Call {
	return billing.Call{
		KeyID: fmt.Sprintf("cv_test_%08d", n), OwnerID: fmt.Sprintf("owner-%d", n), Tier: api.TierEnterprise, Consent: api.ConsentFull,
		Op: api.OpFresh, Pack: "ai", // of which nothing is free
	}
}

// grant makes the key of c with credits.
func grant(t testing.TB, s *store.Store, c billing.Call, credits int64) {
	t.Helper()
	err := s.CreateKey(t.Context(), account.Key{
		ID: c.KeyID, Hash: sha256.Sum256([]byte(c.KeyID)), OwnerID: c.OwnerID, Name: "k", Tier: c.Tier, Consent: c.Consent, CreatedAt: opened(),
	})
	if err == nil && credits != 0 {
		_, err = s.Move(t.Context(), billing.Entry{KeyID: c.KeyID, Amount: credits, Kind: billing.KindGrant, Reason: "x", At: opened()})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// take books calls of c.
func take(t testing.TB, s *store.Store, c billing.Call, calls int64) error {
	return s.Charge(t.Context(), billing.Batch{
		Debits: map[string]int64{c.KeyID: calls},
		Usage:  map[billing.UsageKey]billing.Count{{KeyID: c.KeyID, Hour: opened().Unix() / 3600, Op: c.Op}: {Paid: calls}},
		Free:   map[string]billing.Stamp{c.KeyID: {At: opened(), Calls: 1}},
		Traces: []billing.Trace{{KeyID: c.KeyID, At: opened(), Op: c.Op, Pack: `"a\ü` + "\n"}},
	}.Whole)
}

// agree checks that the credits of the key of c are those, that so many calls are counted, and that the books agree.
func agree(t testing.TB, s *store.Store, c billing.Call, credits, calls int64) {
	t.Helper()
	if findings, err := s.Audit(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("audit: %v, %v", findings, err)
	}
	if have, _, err := s.Balance(t.Context(), c.OwnerID, c.KeyID); err != nil || have != credits {
		t.Errorf("%d credits, %v; want %d", have, err, credits)
	}
	usage, err := s.Usage(t.Context(), c.OwnerID, opened())
	if err != nil {
		t.Fatal(err)
	}
	var counted int64
	for _, row := range usage {
		counted += row.Calls
	}
	if counted != calls {
		t.Errorf("%d calls, want %d", counted, calls)
	}
}

// TestChargeBounds takes what there is, in one and in two batches, and one credit more.
func TestChargeBounds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		have  int64
		take  []int64 // one after another
		taken int64
	}{
		{"one of none", 0, []int64{1}, 0},
		{"one of one", 1, []int64{1}, 1},
		{"two of one", 1, []int64{2}, 0},
		{"one of one twice", 1, []int64{1, 1}, 1},
		{"all at once", 7, []int64{7}, 7},
		{"one too many at once", 7, []int64{8}, 0},
		{"all in two", 7, []int64{3, 4}, 7},
		{"one too many in two", 7, []int64{3, 5}, 3},
		{"the rest after a refusal", 7, []int64{3, 5, 4, 1}, 7},
		{"one by one", 7, []int64{6, 1, 1}, 7},
	} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/restarts=%t", test.name, restarts), func(t *testing.T) {
				t.Parallel()
				place := testbed.Place(t)
				s := open(t, place)
				c := chargedKey(1)
				c.KeyID = `"\é` + c.KeyID
				grant(t, s, c, test.have)
				left := test.have
				for _, calls := range test.take {
					err := take(t, s, c, calls)
					if refused := calls > left; refused != errors.Is(err, billing.ErrConflict) || !refused && err != nil {
						t.Errorf("taking %d of %d: %v", calls, left, err)
					}
					if err == nil {
						left -= calls
					}
					if restarts {
						if err := s.Close(); err != nil {
							t.Fatal(err)
						}
						s = open(t, place)
					}
				}
				if taken := test.have - left; taken != test.taken {
					t.Errorf("%d were taken, want %d", taken, test.taken)
				}
				agree(t, s, c, left, test.taken)
			})
		}
	}
}

// open opens the store of a place, which is closed with the test.
func open(t *testing.T, place string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), place, opened())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestRefusedBatch: where one key of a batch cannot pay, nothing of the batch is booked, and the rest of it alone is.
func TestRefusedBatch(t *testing.T) {
	t.Parallel()
	place := testbed.Place(t)
	s, err := store.Open(t.Context(), place, opened())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pays, poor, revoked := chargedKey(1), chargedKey(2), chargedKey(3)
	grant(t, s, pays, 5)
	grant(t, s, poor, 1)
	grant(t, s, revoked, 9)
	if _, _, err := s.RevokeKey(t.Context(), revoked.KeyID, opened()); err != nil {
		t.Fatal(err)
	}
	db := testbed.SQL(t, place, store.File)
	booked := func(want string) {
		t.Helper()
		if found, err := s.Audit(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("the audit finds %v, %v", found, err)
		}
		var credits, calls, free, traces int
		if err := db.QueryRowContext(t.Context(), `SELECT (SELECT sum(credits) FROM keys), (SELECT coalesce(sum(paid), 0) FROM usage),
			(SELECT coalesce(sum(calls), 0) FROM free_calls), (SELECT count(*) FROM traces)`).Scan(&credits, &calls, &free, &traces); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%d credits, %d calls, %d free, %d traces", credits, calls, free, traces); got != want {
			t.Errorf("there are %s, want %s", got, want)
		}
	}
	b := billing.Batch{
		Debits: map[string]int64{pays.KeyID: 2},
		Usage:  map[billing.UsageKey]billing.Count{{KeyID: pays.KeyID, Hour: opened().Unix() / 3600, Op: pays.Op}: {Paid: 2}},
		Free:   map[string]billing.Stamp{pays.KeyID: {At: opened(), Calls: 1}},
		Traces: []billing.Trace{{KeyID: pays.KeyID, At: opened(), Op: pays.Op, Pack: pays.Pack}},
	}
	for id, n := range map[string]int64{poor.KeyID: 2, revoked.KeyID: 1, "cv_test_99999999": 1} {
		b.Debits[id] = n
		if err := s.Charge(t.Context(), b.Whole); !errors.Is(err, billing.ErrConflict) {
			t.Errorf("%s cannot pay %d: %v", id, n, err)
		}
		delete(b.Debits, id)
		booked("15 credits, 0 calls, 0 free, 0 traces")
	}
	if err := s.Charge(t.Context(), b.Whole); err != nil {
		t.Error(err)
	}
	booked("13 credits, 2 calls, 1 free, 1 traces")
}

// TestActsAfterCharge has each act that depends on credits follow a charge, and another charge follow that.
func TestActsAfterCharge(t *testing.T) {
	t.Parallel()
	const have, taken = 10, 4
	adjust := func(t *testing.T, s *store.Store, c billing.Call, by int64) (pool int64, err error) {
		return s.Move(t.Context(), billing.Entry{KeyID: c.KeyID, Amount: by, Kind: billing.KindAdjust, Reason: "x", At: opened()})
	}
	for _, test := range []struct {
		name   string
		act    func(*testing.T, *store.Store, billing.Call)
		left   int64 // after the act
		active bool  // the key can still pay
	}{
		{"take more than there is", func(t *testing.T, s *store.Store, c billing.Call) {
			if _, err := adjust(t, s, c, taken-have-1); reason(err) != api.ReasonInvalidRequest {
				t.Errorf("taking more than there is: %v", err)
			}
		}, have - taken, true},
		{"take all", func(t *testing.T, s *store.Store, c billing.Call) {
			if pool, err := adjust(t, s, c, taken-have); err != nil || pool != 0 {
				t.Errorf("taking all: %d, %v", pool, err)
			}
		}, 0, false},
		{"rotate", func(t *testing.T, s *store.Store, c billing.Call) {
			next := account.Key{
				ID: c.KeyID + "x", OwnerID: c.OwnerID, Hash: sha256.Sum256([]byte(c.KeyID + "x")), Tier: c.Tier, CreatedAt: opened(),
			}
			if moved, err := s.RotateKey(t.Context(), c.KeyID, next, opened().Add(time.Hour)); err != nil || moved != have-taken {
				t.Errorf("%d moved, %v", moved, err)
			}
		}, 0, false},
		{"revoke", func(t *testing.T, s *store.Store, c billing.Call) {
			if _, stranded, err := s.RevokeKey(t.Context(), c.KeyID, opened()); err != nil || stranded != have-taken {
				t.Errorf("%d stranded, %v", stranded, err)
			}
		}, have - taken, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, c := open(t, testbed.Place(t)), chargedKey(1)
			grant(t, s, c, have)
			if err := take(t, s, c, taken); err != nil {
				t.Fatal(err)
			}
			test.act(t, s, c)
			left, calls := test.left, int64(taken)
			err := take(t, s, c, 1)
			if test.active {
				left, calls = left-1, calls+1
			}
			if test.active != (err == nil) || !test.active && !errors.Is(err, billing.ErrConflict) {
				t.Errorf("a call after it: %v", err)
			}
			agree(t, s, c, left, calls)
		})
	}
}

// TestChargeOfACallerWhoLeft: nothing of it is booked, and the next charge is.
func TestChargeOfACallerWhoLeft(t *testing.T) {
	t.Parallel()
	s, c := open(t, testbed.Place(t)), chargedKey(1)
	grant(t, s, c, 10)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		if err := s.Charge(over, billing.Batch{Debits: map[string]int64{c.KeyID: 1}}.Whole); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if err := take(t, s, c, 3); err != nil {
		t.Fatal(err)
	}
	agree(t, s, c, 7, 3)
	if free, err := s.FreeCalls(t.Context(), c.OwnerID, opened().Add(-time.Hour)); err != nil || len(free) != 1 {
		t.Errorf("free calls: %v, %v; want one", free, err)
	}
}

// TestTouchKeys notes when keys were used, of more keys than one transaction takes. A time never goes back.
func TestTouchKeys(t *testing.T) {
	t.Parallel()
	s, c := open(t, testbed.Place(t)), chargedKey(1)
	grant(t, s, c, 0)
	used := map[string]time.Time{}
	for n := range 2500 {
		used[fmt.Sprintf("none-%d", n)] = opened()
	}
	for _, at := range []time.Duration{time.Hour, time.Minute} {
		used[c.KeyID] = opened().Add(at)
		if err := s.TouchKeys(t.Context(), used); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := s.Keys(t.Context(), nil)
	if err != nil || len(keys) != 1 || !keys[0].LastUsedAt.Equal(opened().Add(time.Hour)) {
		t.Errorf("%+v, %v", keys, err)
	}
}

// reason is that of an *api.Error, "" for any other error.
func reason(err error) api.Reason {
	if refused := new(api.Error); errors.As(err, &refused) {
		return refused.Reason
	}
	return ""
}
