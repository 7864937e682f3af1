package x402_test

import (
	"fmt"
	"math/big"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// TestAttempts has one payer present 50 authorizations at once. Of those that revert, three are sent; of those that the balance covers once,
// one is; and who waits for the others is settled after them.
func TestAttempts(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		prepare func(*settler)
		sent    int
		good    int
	}{
		"that revert":         {func(s *settler) { s.bank.poor = true }, 3, 0},
		"that wait":           {func(s *settler) { s.bank.held = true }, 3, 0},
		"of the price of one": {func(s *settler) { s.bank.held, s.bank.has = true, big.NewInt(1_999) }, 1, 0},
		"of the price of two": {func(s *settler) { s.bank.held, s.bank.has = true, big.NewInt(2_000) }, 2, 0},
		"that settle":         {func(s *settler) { s.wait = time.Minute }, 50, 50},
		"at a facilitator that waits": {func(s *settler) {
			s.facilitator, s.bank.served, s.bank.says = "f", true, func(func()) error { return nil }
		}, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSettler(t)
			one.prepare(s)
			s.restart()
			meet := together(3)
			var inside, most atomic.Int64 // payments that are checked and not settled yet
			s.bank.onSettled = func() { inside.Add(-1) }
			s.bank.onSimulate = func() {
				for n := inside.Add(1); ; {
					if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
						break
					}
				}
				time.Sleep(time.Millisecond)        // for others, if they may come
				if one.good == 0 && one.sent == 3 { // all that can be checked at a time are, before one is written
					meet()
				}
			}
			var all sync.WaitGroup
			var mu sync.Mutex
			good := 0
			for i := range byte(50) {
				all.Go(func() {
					if _, _, err := s.pay(exact(i), fresh(), "answer"); err == nil {
						mu.Lock()
						defer mu.Unlock()
						good++
					}
				})
			}
			all.Wait()
			for i := range byte(50) { // and one after another
				if one.good == 0 {
					_, _, err := s.pay(exact(100+i), fresh(), "answer")
					is(t, err, api.ReasonRateLimited)
					if wait := api.AsError(err).RetryAfter; (wait == time.Hour) != s.bank.poor {
						t.Errorf("it is asked to wait %s", wait)
					}
				}
			}
			if one.good > 0 && most.Load() > 3 {
				t.Errorf("%d were under way at a time", most.Load())
			}
			if len(s.bank.sent) != one.sent || good != one.good {
				t.Errorf("%d were sent, %d answered, want %d and %d", len(s.bank.sent), good, one.sent, one.good)
			}
		})
	}
}

// TestAttemptsTogether counts what is pending and what has failed together, in the transaction that begins a settlement too: of three that
// were checked at once, two are begun where one has failed before.
func TestAttemptsTogether(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	s.bank.poor = true
	_, _, err := s.pay(exact(9), fresh(), "answer")
	is(t, err, api.ReasonUnsettled)
	s.bank.poor, s.bank.held = false, true
	var claims [3]*x402.Claim
	for i := range claims {
		if claims[i], err = s.ClaimExact(t.Context(), exact(byte(i)), fresh()); err != nil {
			t.Fatal(err)
		}
		defer claims[i].Close()
	}
	for i, want := range []api.Reason{api.ReasonSettling, api.ReasonSettling, api.ReasonRateLimited} {
		is(t, claims[i].Spend(t.Context(), []byte("answer")), want)
	}
	if len(s.bank.sent) != 3 {
		t.Errorf("%d were sent", len(s.bank.sent))
	}
}

// TestStrangers bounds what is being settled for all payers together who have settled nothing: calls, and apart from them packs. Customers
// go on.
func TestStrangers(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	if _, _, err := m.pay(exact(1), fresh(), "answer"); err != nil || m.bank.customer {
		t.Fatalf("%v, as a customer: %v", err, m.bank.customer)
	}
	m.bank.held = true
	for i := range byte(17) {
		want := api.ReasonSettling
		if i == 16 {
			want = api.ReasonRateLimited
		}
		_, _, err := m.pay(by(exact(i), i), fresh(), "answer")
		is(t, err, want)
		_, err = m.buy(by(starter(i, ""), 100+i))
		is(t, err, want)
	}
	_, _, err := m.pay(exact(2), fresh(), "answer")
	if is(t, err, api.ReasonSettling); !m.bank.customer {
		t.Error("the chain is asked as for a stranger")
	}
	if len(m.bank.sent) != 1+2*16+1 {
		t.Errorf("%d were sent", len(m.bank.sent))
	}
}

// TestBackOff has settlements that never come to an end: each is tried less and less often, those that are due come before those that are
// not, however old, and all end with their authorizations.
func TestBackOff(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	s.facilitator, s.bank.served, s.bank.says = "facilitator.example.org", true, func(func()) error { return nil }
	s.restart()
	e := exact(1)
	e.ValidBefore = now().Unix() + 900
	_, _, err := s.pay(e, fresh(), "answer")
	is(t, err, api.ReasonSettling)
	for s.now.Before(now().Add(25 * time.Minute)) { // every 15 s, as the job does
		if err := s.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.now = s.now.Add(15 * time.Second)
	}
	if n := len(s.bank.sent); n < 5 || n > 25 {
		t.Errorf("the facilitator was asked %d times in a quarter of an hour", n)
	}
	late := by(exact(2), 2)
	late.ValidBefore = s.now.Unix() + 60
	_, _, err = s.pay(late, fresh(), "answer")
	is(t, err, api.ReasonSettling)
	if due, err := s.store.PendingSettlements(t.Context(), rail, s.now, 1); err != nil || len(due) != 1 || due[0].Nonce != late.Nonce {
		t.Errorf("%+v is due, %v", due, err)
	}
	s.now = s.now.Add(16 * time.Second)
	if err := s.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.pay(e, fresh(), "x")
	is(t, err, api.ReasonUnsettled)
}

// TestBackOffAfterTheEnd: a settlement whose transaction the node does not show is put off also once its authorization has surely ended.
func TestBackOffAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	s.bank.hidden = true
	e := exact(1)
	_, _, err := s.pay(e, fresh(), "answer")
	is(t, err, api.ReasonSettling)
	s.now = time.Unix(e.ValidBefore, 0).Add(11 * time.Minute)
	looks := 0
	for range 40 { // every 15 s, as the job does
		due, err := s.store.PendingSettlements(t.Context(), rail, s.now, 1)
		if err != nil {
			t.Fatal(err)
		}
		looks += len(due)
		if err := s.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.now = s.now.Add(15 * time.Second)
	}
	if looks != 5 {
		t.Errorf("it was looked for %d times in ten minutes", looks)
	}
}

// TestPurchaseStolen has the node refuse the settlement of a purchase, and whoever has seen it there present the same authorization: only
// who has the identifier that came with it first gets the key, and nobody is told that nothing can have been taken.
func TestPurchaseStolen(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef"
	for name, one := range map[string]struct {
		first, thief string
		again        api.Reason // of who was first
	}{
		"with an identifier":        {first: secret},
		"with another":              {first: secret, thief: "fedcba9876543210"},
		"with one that is guessed":  {first: "0123456789", thief: "0123456789", again: api.ReasonIDConflict},
		"without":                   {again: api.ReasonIDConflict},
		"without, the thief has it": {thief: secret, again: api.ReasonIDConflict},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t)
			m.bank.refuses = true
			_, err := m.buy(starter(1, one.first))
			if is(t, err, api.ReasonUnsettled); strings.Contains(api.AsError(err).Hint, "nothing was taken") {
				t.Errorf("the authorization is out, and the hint is %q", api.AsError(err).Hint)
			}
			m.bank.refuses = false
			m.restart() // which forgets nothing
			_, err = m.buy(starter(1, one.thief))
			is(t, err, api.ReasonIDConflict)
			key, err := m.buy(starter(1, one.first))
			switch {
			case one.again != "":
				is(t, err, one.again)
			case err != nil || key.Key == "":
				t.Errorf("who was first gets %+v, %v", key, err)
			}
			if one.again == "" {
				m.sold(1)
			}
		})
	}
}

// TestIdentifierBeforeTheNode: whose a bought key is stands in the books before the node has the authorization, which could present it at
// another node of this service.
func TestIdentifierBeforeTheNode(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef"
	m, e := newMarket(t), starter(1, secret)
	m.bank.onSimulate = func() {
		if noted, first, err := m.store.FirstIdentifier(t.Context(), e.Key(), "fedcba9876543210", now()); first || noted != secret || err != nil {
			t.Errorf("as the node tries it, the key belongs to %q, to the thief: %t, %v", noted, first, err)
		}
	}
	if key, err := m.buy(e); err != nil || key.Key == "" || m.bank.tried != 1 {
		t.Errorf("%+v, %v, tried %d times", key, err, m.bank.tried)
	}
}

// TestPoor asks for the balance alone of who has too little: nothing of the authorization goes to the node.
func TestPoor(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	s.bank.has = big.NewInt(999)
	for i := range byte(5) {
		_, _, err := s.pay(exact(i), fresh(), "answer")
		is(t, err, api.ReasonNoFunds)
	}
	if s.bank.tried != 0 || s.bank.asked != 5 {
		t.Errorf("%d were tried, %d balances asked for", s.bank.tried, s.bank.asked)
	}
}

// TestBeyondTheBalance gives the node no authorization that the balance does not cover beside those that are pending.
func TestBeyondTheBalance(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	s.bank.held, s.bank.has = true, big.NewInt(1_999)
	for i, want := range []api.Reason{api.ReasonSettling, api.ReasonRateLimited, api.ReasonRateLimited} {
		_, _, err := s.pay(exact(byte(i)), fresh(), "answer")
		is(t, err, want)
	}
	if s.bank.tried != 1 {
		t.Errorf("%d were tried", s.bank.tried)
	}
}

// TestPrunedBodies drops the answer of a settlement that has failed once nobody can submit it, and not before.
func TestPrunedBodies(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	s.bank.poor = true
	_, _, err := s.pay(exact(1), fresh(), "answer") // holds for a minute
	is(t, err, api.ReasonUnsettled)
	for _, one := range []struct { // before the scanner has seen anything
		before time.Duration
		bytes  int
	}{{time.Minute, 6}, {61 * time.Second, 0}} {
		if err := s.store.PruneAnswers(t.Context(), now().Add(one.before)); err != nil {
			t.Fatal(err)
		}
		if list, err := s.store.Settlements(t.Context(), exact(1).Key(), ""); err != nil || len(list[0].Body) != one.bytes {
			t.Errorf("with what was done %s later: %q, %v", one.before, list[0].Body, err)
		}
	}
	_, _, err = s.pay(exact(2), fresh(), "answer")
	is(t, err, api.ReasonUnsettled)
	for _, one := range []struct {
		seen  time.Duration
		bytes int
	}{{11 * time.Minute, 6}, {11*time.Minute + time.Second, 0}} {
		seen := billing.ScanCursor{Rail: rail, Next: 1, At: now().Add(one.seen)}
		if _, err := s.store.Arrive(t.Context(), nil, seen, false, now()); err != nil {
			t.Fatal(err)
		}
		if err := s.store.PruneAnswers(t.Context(), now().Add(one.seen-24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		k := exact(2).Key()
		list, err := s.store.Settlements(t.Context(), k, "")
		if err != nil || len(list) != 1 || len(list[0].Body) != one.bytes {
			t.Errorf("once the scanner was %s on: %v, %v", one.seen, fmt.Sprintf("%q", list[0].Body), err)
		}
	}
}

// TestSeats: while three payments of a payer are checked, the fourth waits, and is told to come again where that takes too long.
func TestSeats(t *testing.T) {
	t.Parallel()
	s := newSettler(t)
	s.wait = 20 * time.Millisecond
	s.restart()
	inside, release := make(chan struct{}, 3), make(chan struct{})
	s.bank.onSimulate = func() { inside <- struct{}{}; <-release }
	var all sync.WaitGroup
	for i := range byte(3) {
		all.Go(func() {
			if _, _, err := s.pay(exact(i), fresh(), "answer"); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
		<-inside
	}
	_, _, err := s.pay(exact(9), fresh(), "answer")
	is(t, err, api.ReasonRateLimited)
	close(release)
	all.Wait()
	s.booked(3_000)
}
