package x402_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// together is a function that returns when so many have called it, or nobody else comes.
func together(count int) func() {
	var mu sync.Mutex
	all := make(chan struct{})
	return func() {
		mu.Lock()
		if count--; count == 0 {
			close(all)
		}
		mu.Unlock()
		select {
		case <-all:
		case <-time.After(time.Minute):
		}
	}
}

// newSettlers makes those of two nodes on one database.
func newSettlers(t *testing.T) [2]*settler {
	t.Helper()
	testbed.Postgres(t)
	one := newSettler(t)
	two := *one
	two.restart()
	return [2]*settler{one, &two}
}

// TestSettleAtTwoNodes: what two nodes sign at the same time has account nonces one after the other, so that all of it is settled.
func TestSettleAtTwoNodes(t *testing.T) {
	t.Parallel()
	nodes := newSettlers(t)
	const each = 6
	nodes[0].bank.onSimulate = together(2 * each)
	var all sync.WaitGroup
	for i := range byte(2 * each) {
		all.Go(func() {
			if _, c, err := nodes[i%2].pay(by(exact(i+1), i), fresh(), "answer"); err != nil || !c.Receipt.Success {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	all.Wait()
	if b := nodes[0].bank; len(b.sent) != 2*each || b.count != 2*each {
		t.Errorf("%d transactions were sent, and %d are in blocks, of %d", len(b.sent), b.count, 2*each)
	}
	nodes[0].booked(2 * each * 1_000)
}

// TestSameAuthorizationAtTwoNodes: it is settled once; the other node says that it is being settled, and both give the same answer then. So
// does a node that is asked when the other has just settled it.
func TestSameAuthorizationAtTwoNodes(t *testing.T) {
	t.Parallel()
	nodes := newSettlers(t)
	for round := range byte(4) {
		e := named(round + 1)
		meet := together(2)
		nodes[0].bank.onSimulate = meet
		if round == 3 { // the other node has settled it before this one tries
			nodes[0].bank.onSimulate = nil
		}
		var all sync.WaitGroup
		var errs [2]error
		for i, s := range nodes {
			all.Go(func() { _, _, errs[i] = s.pay(e, fresh(), fmt.Sprint("answer of ", i)) })
		}
		all.Wait()
		for _, err := range errs {
			if err != nil && !errors.Is(err, &api.Error{Reason: api.ReasonSettling}) {
				t.Errorf("round %d: %v", round, err)
			}
		}
		if errs[0] != nil && errs[1] != nil {
			t.Errorf("round %d: nobody has settled it: %v", round, errs)
		}
		nodes[0].bank.onSimulate = nil
		first, _, err := nodes[0].pay(e, fresh(), "another")
		second, _, errTwo := nodes[1].pay(e, fresh(), "another")
		if err != nil || errTwo != nil || first != second || first == "another" {
			t.Errorf("round %d: then they answer %q and %q, %v, %v", round, first, second, err, errTwo)
		}
		if len(nodes[0].bank.sent) != int(round)+1 {
			t.Errorf("round %d: %d transactions were sent", round, len(nodes[0].bank.sent))
		}
		nodes[0].booked((int64(round) + 1) * 1_000)
	}
}

// TestLateAtOtherNode: who finds an authorization used, because another node has settled it since it was looked up, gives the answer of
// that.
func TestLateAtOtherNode(t *testing.T) {
	t.Parallel()
	nodes := newSettlers(t)
	e := exact(1)
	nodes[0].bank.onSimulate = func() {
		nodes[0].bank.onSimulate = nil
		if _, _, err := nodes[1].pay(e, fresh(), "of the other"); err != nil {
			t.Error(err)
		}
	}
	if body, _, err := nodes[0].pay(e, fresh(), "mine"); err != nil || body != "of the other" {
		t.Errorf("%q, %v", body, err)
	}
	nodes[0].booked(1_000)
}

// TestSameProofAtTwoNodes: a payment is spent once; the other node says that it is pending, or used where that was for something else, and
// gives the same answer then.
func TestSameProofAtTwoNodes(t *testing.T) {
	t.Parallel()
	d := newPayments(t)
	other, err := x402.NewPayments(quoter(1), d.chain, d.store)
	if err != nil {
		t.Fatal(err)
	}
	proof := d.paid(t, 1)
	claim := func(p *x402.Payments) *x402.Claim {
		t.Helper()
		c, err := p.Claim(t.Context(), proof, fresh())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	one, two := claim(d.Payments), claim(other)
	if err := one.Spend(t.Context(), []byte("answer of one")); err != nil {
		t.Fatal(err)
	}
	var pending *api.Error
	if err := two.Spend(t.Context(), []byte("answer of two")); !errors.As(err, &pending) || pending.Reason != api.ReasonPaymentPending ||
		pending.RetryAfter == 0 {
		t.Errorf("the other node says %v", err)
	}
	one.Close()
	two.Close()
	if again := claim(other); again.Replay == nil || string(again.Replay.Body) != "answer of one" {
		t.Errorf("then it answers %+v", again.Replay)
	}
	if sum, err := d.store.Totals(t.Context(), ""); err != nil || sum.Calls != 1_000 {
		t.Errorf("the books say %+v, %v", sum, err)
	}
}
