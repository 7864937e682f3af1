package x402_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

const gwei = 1_000_000_000

// TestGasPrice offers what is worth its gas and nothing else, on both sides of the bound, and takes nothing that is not offered.
func TestGasPrice(t *testing.T) {
	t.Parallel()
	ether := func(micros int64) func() *int64 { return func() *int64 { return &micros } }
	for _, one := range []struct {
		name           string
		policy         x402.GasPolicy
		price          *big.Int // of gas, in wei
		fresh, snapped bool
	}{ // 66,000 gas at 10 gwei and 2,000 USDG are 1.32 USDG
		{"no bound", x402.GasPolicy{Ether: ether(2_000e6)}, big.NewInt(10 * gwei), true, true},
		{"no price of ether", x402.GasPolicy{MaxPercent: 100}, big.NewInt(10 * gwei), true, true},
		{"one that is not known yet", x402.GasPolicy{MaxPercent: 100, Ether: func() *int64 { return nil }}, big.NewInt(10 * gwei), true, true},
		{"no price of gas", x402.GasPolicy{MaxPercent: 100, Ether: ether(2_000e6)}, nil, true, true},
		{"too dear for all", x402.GasPolicy{MaxPercent: 100, Ether: ether(2_000e6)}, big.NewInt(10 * gwei), false, false},
		{"too dear for fresh", x402.GasPolicy{MaxPercent: 100, Ether: ether(2_000e6)}, big.NewInt(70_000_000), false, true},
		{"all of a price", x402.GasPolicy{MaxPercent: 100, Ether: ether(1_000e6)}, big.NewInt(15_151_515), true, true}, // 999.99 micro-USDG
		{"a little more", x402.GasPolicy{MaxPercent: 100, Ether: ether(1_000e6)}, big.NewInt(15_151_516), false, true}, // 1,000.000056
		{"a tenth", x402.GasPolicy{MaxPercent: 10, Ether: ether(1_000e6)}, big.NewInt(1_515_151), true, true},
		{"more than a tenth", x402.GasPolicy{MaxPercent: 10, Ether: ether(1_000e6)}, big.NewInt(1_515_152), false, true},
	} {
		s := newSettler(t)
		s.gas, s.bank.price = one.policy, one.price
		s.restart()
		if err := s.Resume(t.Context()); err != nil {
			t.Errorf("%s: %v", one.name, err)
		}
		for op, want := range map[api.Op]bool{api.OpFresh: one.fresh, api.OpSnapshot: one.snapped} {
			if _, ok := s.Offer(x402.Subject{Op: op}); ok != want {
				t.Errorf("%s: %s is offered: %v", one.name, op, ok)
			}
		}
		_, _, err := s.pay(exact(1), fresh(), "answer")
		if one.fresh && err != nil {
			t.Errorf("%s: %v", one.name, err)
		}
		if !one.fresh {
			is(t, err, api.ReasonChainUnavailable)
			if len(s.bank.sent) > 0 || s.bank.tried > 0 {
				t.Errorf("%s: it is settled", one.name)
			}
		}
	}
}

// TestGasLost adds up what transactions cost that move nothing, for any reason, over a day. Above the budget calls are settled for customers
// alone, and packs of credits for everybody.
func TestGasLost(t *testing.T) {
	t.Parallel()
	s := newMarket(t)
	s.told, s.gas.Reverts = []string{}, big.NewInt(100_000*gwei) // that of two
	s.restart()
	if err := s.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.pay(named(9), fresh(), "answer"); err != nil {
		t.Fatal(err)
	}
	s.bank.poor = true
	for i := range byte(3) {
		if _, ok := s.Offer(fresh()); !ok {
			t.Errorf("after %d it is not offered", i)
		}
		_, _, err := s.pay(by(exact(i), i), fresh(), "answer")
		is(t, err, api.ReasonUnsettled)
	}
	s.bank.poor = false
	if st, err := s.Standing(t.Context()); err != nil || st.Lost != "150000000000000" || !st.Limited || st.Gas != 50_000 {
		t.Errorf("before the job runs again: %+v, %v", st, err)
	}
	strangers := byte(0)
	check := func(open bool) {
		t.Helper()
		if _, ok := s.Offer(fresh()); !ok {
			t.Error("it is not offered")
		}
		if err := s.Resume(t.Context()); err != nil {
			t.Error(err)
		}
		if st, err := s.Standing(t.Context()); err != nil || st.Off != "" || st.Limited == open {
			t.Errorf("%+v, %v", st, err)
		}
		strangers++
		e := by(exact(strangers+100), strangers)
		e.ValidBefore = s.now.Unix() + 60
		c, err := s.ClaimExact(t.Context(), e, fresh())
		if err == nil {
			c.Close()
		}
		if (err == nil) != open {
			t.Errorf("a stranger's call: %v, want %v", err, open)
		}
		if e.Value = 1_000_000; !open {
			is(t, err, api.ReasonChainUnavailable)
			if c, err := s.ClaimExact(t.Context(), e, pack(api.CreditStarter)); err != nil {
				t.Errorf("a stranger's purchase: %v", err)
			} else {
				c.Close()
			}
		}
		mine := exact(strangers + 100)
		mine.ValidBefore = s.now.Unix() + 60
		if c, err := s.ClaimExact(t.Context(), mine, fresh()); err != nil {
			t.Errorf("a customer's call: %v", err)
		} else {
			c.Close()
		}
	}
	check(false)
	s.restart() // which knows it from the books
	_ = s.Resume(t.Context())
	check(false)
	st, err := s.Standing(t.Context())
	if err != nil || st.Lost != "150000000000000" || st.Budget != "100000000000000" || st.Gas != 66_000 || st.Pending != 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if body, _, err := s.pay(named(9), fresh(), "x"); err != nil || body != "answer" {
		t.Errorf("what was settled: %q, %v", body, err)
	}
	s.now = s.now.Add(24*time.Hour - time.Second)
	_ = s.Resume(t.Context())
	check(false)
	s.now = s.now.Add(time.Second)
	_ = s.Resume(t.Context())
	check(true)
	want := []string{"settled", "50000 50000000000000 false", "failed", "50000 50000000000000 true"}
	for _, what := range want[2:] {
		if n := strings.Count(strings.Join(s.told, "\n"), what); n != 3 {
			t.Errorf("%q was told %d times: %v", what, n, s.told)
		}
	}
	for _, what := range want[:2] {
		if n := strings.Count(strings.Join(s.told, "\n"), what); n != 1 {
			t.Errorf("%q was told %d times: %v", what, n, s.told)
		}
	}
}

// TestGasUnknown has ours come into a block, and revert, once somebody else's has settled: what it has cost is looked for. What was replaced
// never comes into one, and is not looked for.
func TestGasUnknown(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	s.told = []string{}
	s.restart()
	s.bank.held = true
	e := exact(1)
	e.ValidBefore += 840
	_, _, err := s.pay(e, fresh(), "answer")
	is(t, err, api.ReasonSettling)
	s.now = s.now.Add(3 * time.Minute)
	if err := s.Resume(t.Context()); err != nil || len(s.bank.sent) != 2 {
		t.Fatalf("it is not replaced: %v", err)
	}
	s.now = s.now.Add(time.Minute) // for its next attempt
	s.bank.byOthers(e.Authorization)
	if err := s.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(s.told) != 1 {
		t.Errorf("%v was told", s.told)
	}
	hashes, err := s.store.UnknownGas(t.Context(), rail, s.now.Add(-time.Hour), 10)
	if err != nil || len(hashes) != 2 {
		t.Errorf("%d transactions are looked for, %v", len(hashes), err)
	}
	s.bank.mine(s.bank.sent[1])
	for range 2 {
		if err := s.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.told) != 2 || !strings.HasSuffix(s.told[1], " true") {
		t.Errorf("%v was told", s.told)
	}
	for since, want := range map[time.Duration]int{time.Hour: 0, -time.Second: 0} {
		if hashes, err := s.store.UnknownGas(t.Context(), rail, s.now.Add(-since), 10); err != nil || len(hashes) != want {
			t.Errorf("%d transactions are looked for, %v", len(hashes), err)
		}
	}
	st, err := s.Standing(t.Context())
	if err != nil || st.Lost != "50000000000000" {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestRetry replaces at once what waits, and leaves all else.
func TestRetry(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	s.bank.held = true
	_, _, err := s.pay(exact(1), fresh(), "answer")
	is(t, err, api.ReasonSettling)
	k := exact(1).Key()
	k.Rail = rail
	if row, err := s.Retry(t.Context(), k); err != nil || row.State != x402.SettlementPending || len(row.Txs) != 2 || len(s.bank.sent) != 2 {
		t.Errorf("%+v, %v", row, err)
	}
	st, err := s.Standing(t.Context())
	if err != nil || st.Pending != 1 || st.OldestAt == nil || !st.OldestAt.Equal(now()) {
		t.Errorf("%+v, %v", st, err)
	}
	s.bank.mine(s.bank.sent[1])
	for range 2 {
		if row, err := s.Retry(t.Context(), k); err != nil || row.State != x402.SettlementSettled || row.DoneAt.IsZero() || row.Txs[1].GasUsed != 50_000 {
			t.Errorf("%+v, %v", row, err)
		}
	}
	if len(s.bank.sent) != 2 {
		t.Errorf("%d were sent", len(s.bank.sent))
	}
	hash := sha256.Sum256(s.bank.sent[1])
	if noted, err := s.store.NoteGas(t.Context(), rail, hash, x402.Payment{GasUsed: 1}); noted || err != nil {
		t.Errorf("what it has cost is noted again, %v", err)
	}
	s.booked(1_000)
}

// TestFacilitates has a facilitator settle that does it, lies, fails and hangs: what the chain shows is what counts.
func TestFacilitates(t *testing.T) {
	t.Parallel()
	broken := errors.New("status 500")
	for name, one := range map[string]struct {
		says func(settle func()) error
		done bool // it has settled
	}{
		"honest":            {nil, true},
		"settles and fails": {func(settle func()) error { settle(); return broken }, true},
		"settles and hangs": {func(settle func()) error { settle(); return context.DeadlineExceeded }, true},
		"says that it has":  {func(func()) error { return nil }, false},
		"fails":             {func(func()) error { return broken }, false},
		"hangs":             {func(func()) error { return context.DeadlineExceeded }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSettler(t)
			s.facilitator, s.bank.served, s.bank.says = "facilitator.example.org", true, one.says
			s.restart()
			body, _, err := s.pay(named(1), fresh(), "answer")
			if one.done {
				if err != nil || body != "answer" {
					t.Errorf("%s: %q, %v", name, body, err)
				}
				s.booked(1_000)
				if err := s.Resume(t.Context()); err != nil || s.Foreign() != 0 {
					t.Errorf("what a facilitator settles is said to be of others: %d, %v", s.Foreign(), err)
				}
			} else {
				is(t, err, api.ReasonSettling)
				for range 2 { // nothing is taken, and nothing asked for twice
					_, _, err := s.pay(named(1), fresh(), "another")
					is(t, err, api.ReasonSettling)
				}
				s.booked(0)
				if len(s.bank.sent) != 1 {
					t.Errorf("%s: it was asked %d times by those who ask again", name, len(s.bank.sent))
				}
				s.restart() // after a kill
				if err := s.Resume(t.Context()); err != nil && !errors.Is(err, broken) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", name, err)
				}
				if len(s.bank.sent) != 2 || string(s.bank.sent[0]) != string(s.bank.sent[1]) {
					t.Errorf("%s: after a kill it is sent %d things", name, len(s.bank.sent))
				}
				s.bank.says = nil
				if err := s.Resume(t.Context()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				_ = s.Resume(t.Context())
			}
			if body, c, err := s.pay(named(1), fresh(), "x"); err != nil || body != "answer" || !c.Receipt.Success {
				t.Errorf("%s: afterwards %q, %v", name, body, err)
			}
			s.booked(1_000)
		})
	}
}

// TestFacilitatorEnds has one never settle: the payment is pending until its authorization has surely ended, for it could settle it yet,
// and it is asked no more once that is over. So is what a facilitator had that is configured no longer.
func TestFacilitatorEnds(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		s := newSettler(t)
		s.facilitator, s.bank.served, s.bank.says = "facilitator.example.org", true, func(func()) error { return nil }
		s.restart()
		_, _, err := s.pay(exact(1), fresh(), "answer")
		is(t, err, api.ReasonSettling)
		if gone {
			s.facilitator, s.bank.served = "", false
			s.restart()
		}
		for at, one := range []struct {
			after time.Duration
			sent  int
			want  api.Reason
		}{
			{59 * time.Second, 2, api.ReasonSettling}, {2 * time.Second, 2, api.ReasonSettling}, {10*time.Minute - time.Second, 2, api.ReasonSettling},
			{time.Second, 2, api.ReasonUnsettled},
		} {
			s.now = s.now.Add(one.after)
			if gone {
				one.sent = 1
			}
			if err := s.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, _, err := s.pay(exact(1), fresh(), "x")
			is(t, err, one.want)
			if len(s.bank.sent) != one.sent {
				t.Errorf("%d, gone %v: it was asked %d times, want %d", at, gone, len(s.bank.sent), one.sent)
			}
		}
	}
}

// TestFacilitatorUnready has one that does not serve the chain: nothing is offered, and what is pending is gone on with.
func TestFacilitatorUnready(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	s.facilitator, s.bank.served, s.bank.says = "facilitator.example.org", true, func(func()) error { return nil }
	s.restart()
	_, _, err := s.pay(exact(1), fresh(), "answer")
	is(t, err, api.ReasonSettling)
	s.bank.byOthers(exact(1).Authorization)
	s.bank.unserved = true
	if err := s.Resume(t.Context()); !errors.Is(err, x402.ErrUnserved) {
		t.Error(err)
	}
	if _, ok := s.Offer(fresh()); ok {
		t.Error("it is offered")
	}
	if body, _, err := s.pay(exact(1), fresh(), "x"); err != nil || body != "answer" {
		t.Errorf("%q, %v", body, err)
	}
	if list, err := s.store.PendingSettlements(t.Context(), rail, s.now, 10); err != nil || slices.ContainsFunc(list, func(x402.Settlement) bool { return true }) {
		t.Errorf("%v, %v", list, err)
	}
}
