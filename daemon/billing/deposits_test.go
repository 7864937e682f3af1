package billing_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// reasonOf is why a call of billing was refused, "" where it was not.
func reasonOf(t *testing.T, err error) api.Reason {
	t.Helper()
	var refused *api.Error
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &refused):
		t.Fatalf("%v is not for a caller", err)
	}
	return refused.Reason
}

// TestOpenRefusals is every reason for which a purchase is not begun, and that none of them leaves a deposit.
func TestOpenRefusals(t *testing.T) {
	t.Parallel()
	starter := billing.Order{Pack: api.CreditStarter}
	full := errors.New("too many strangers")
	for name, one := range map[string]struct {
		prepare func(s *sale, buyer billing.Call) // before the purchase
		order   billing.Order
		owner   string
		want    api.Reason
	}{
		"no such pack":  {order: billing.Order{Pack: "huge"}, want: api.ReasonInvalidRequest},
		"no such rail":  {order: billing.Order{Pack: api.CreditStarter, Rail: "moon"}, want: api.ReasonInvalidRequest},
		"no active key": {order: starter, owner: "nobody", want: api.ReasonInvalidRequest},
		"no such key":   {order: billing.Order{Pack: api.CreditStarter, KeyID: "cv_test_none"}, want: api.ReasonKeyNotFound},
		"a deaf node": {
			prepare: func(s *sale, _ billing.Call) { s.node.err = errors.New("no route") }, order: starter, want: api.ReasonChainUnavailable,
		},
		"three are open": {prepare: func(s *sale, buyer billing.Call) {
			for range api.MaxPendingDeposit {
				s.buy(buyer.OwnerID, api.CreditStarter)
			}
		}, order: starter, want: api.ReasonRateLimited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSale(t)
			buyer := s.issue("buyer", api.TierFree)
			if one.prepare != nil {
				one.prepare(s, buyer)
			}
			owner := buyer.OwnerID
			if one.owner != "" {
				owner = one.owner
			}
			before, err := s.Recent(t.Context(), buyer.OwnerID)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Open(t.Context(), owner, one.order, nil)
			if got := reasonOf(t, err); got != one.want {
				t.Errorf("%s: %v, want %s", got, err, one.want)
			}
			if after, err := s.Recent(t.Context(), buyer.OwnerID); err != nil || len(after) != len(before) {
				t.Errorf("%d deposits, %d before, %v", len(after), len(before), err)
			}
		})
	}
	t.Run("a stranger", func(t *testing.T) {
		t.Parallel()
		s := newSale(t)
		_, err := s.Open(t.Context(), s.issue("stranger", api.TierFree).OwnerID, starter, func() error { return full })
		if !errors.Is(err, full) {
			t.Errorf("%v, want %v", err, full)
		}
	})
}

// TestWithoutRails: what needs a chain says that there is none, and what is in the books can still be closed.
func TestWithoutRails(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	stray := s.pay(7, nil)
	s.scan()
	none := billing.NewDeposits(billing.DepositsConfig{Store: s.store, Meter: s.meter, Now: s.clock})
	for name, act := range map[string]func() error{
		"open": func() error {
			_, err := none.Open(t.Context(), "buyer", billing.Order{Pack: api.CreditStarter}, nil)
			return err
		},
		"scan":      func() error { _, err := none.Scan(t.Context(), ""); return err },
		"rescan":    func() error { _, err := none.Rescan(t.Context(), "", 1); return err },
		"newest":    func() error { _, err := none.Newest(t.Context(), 10); return err },
		"reconcile": func() error { _, err := none.Reconcile(t.Context()); return err },
		"assign":    func() error { _, err := none.Assign(t.Context(), "", stray.TxHash, 0, "d"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			if got := reasonOf(t, act()); got != api.ReasonChainUnavailable {
				t.Errorf("%q, want %s", got, api.ReasonChainUnavailable)
			}
		})
	}
	if err := none.WriteOff(t.Context(), "", stray.TxHash, stray.LogIndex, "sent back"); err != nil {
		t.Error(err)
	}
	if list, err := none.Unmatched(t.Context(), 10); err != nil || len(list) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// shelf counts what was sold.
type shelf struct{ packs []string }

func (s *shelf) Bought(pack string) { s.packs = append(s.packs, pack) }

// TestEverySale: however a deposit comes to be verified, it is credited once and reported once, its owner has the tier of the pack, and the
// next call is charged to the new credits.
func TestEverySale(t *testing.T) {
	t.Parallel()
	for name, verify := range map[string]func(t *testing.T, s *sale, d billing.Deposit){
		"by a scan": func(_ *testing.T, s *sale, d billing.Deposit) { s.pay(d.Amount, nil); s.scan() },
		"by its hash": func(t *testing.T, s *sale, d billing.Deposit) {
			now, refused, err := s.Verify(t.Context(), d.OwnerID, d.ID, s.pay(d.Amount, nil).TxHash)
			if err != nil || refused != nil || now.Status != api.DepositVerified {
				t.Errorf("%+v, %v, %v", now, refused, err)
			}
		},
		"by a rescan": func(t *testing.T, s *sale, d billing.Deposit) {
			paid := s.pay(d.Amount, nil)
			if verified, err := s.Rescan(t.Context(), "", paid.Block); err != nil || len(verified) != 1 || verified[0].ID != d.ID {
				t.Errorf("%+v, %v", verified, err)
			}
		},
		"by the operator": func(t *testing.T, s *sale, d billing.Deposit) {
			paid := s.pay(d.Amount-1, nil)
			s.scan()
			if now, err := s.Assign(t.Context(), rail, paid.TxHash, paid.LogIndex, d.ID); err != nil || now.Status != api.DepositVerified {
				t.Errorf("%+v, %v", now, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, sold := newSale(t), &shelf{}
			keys, err := account.OpenKeys(t.Context(), account.Config{Store: s.store, Now: s.clock})
			if err != nil {
				t.Fatal(err)
			}
			s.Deposits = billing.NewDeposits(billing.DepositsConfig{
				Store: s.store, Rails: []billing.Rail{{ID: rail, Chain: s.node}}, Meter: s.meter, Keys: keys, Observer: sold, Now: s.clock,
			})
			key, err := keys.Issue(t.Context(), account.NewKey{OwnerID: "buyer", Name: "k", Tier: api.TierFree})
			if err != nil {
				t.Fatal(err)
			}
			call := billing.Call{KeyID: key.KeyID, OwnerID: "buyer", Tier: api.TierFree, Op: api.OpFresh, Pack: api.PackCrypto}
			if left, err := s.meter.Charge(t.Context(), call); err != nil || !left.Free { // its books are remembered
				t.Fatalf("%+v, %v", left, err)
			}
			d := s.buy("buyer", api.CreditHobby)
			verify(t, s, d)
			s.scan()
			if left, err := s.meter.Charge(t.Context(), call); err != nil || left.Free || left.Calls != d.Credits-1 {
				t.Errorf("after it was paid %+v is left, %v, of %d", left, err, d.Credits)
			}
			if known, err := keys.Resolve(key.Key); err != nil || known.Tier != api.TierHobby {
				t.Errorf("%+v, %v", known, err)
			}
			if !slices.Equal(sold.packs, []string{string(api.CreditHobby)}) {
				t.Errorf("%q are reported", sold.packs)
			}
			if findings, err := s.books.Audit(t.Context()); err != nil || len(findings) > 0 {
				t.Errorf("%v, %v", findings, err)
			}
		})
	}
}

// TestAssign is every reason for which the operator's assignment is refused; none of them changes anything.
func TestAssign(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	buyer := s.issue("buyer", api.TierFree)
	open, paid := s.buy(buyer.OwnerID, api.CreditStarter), s.buy(buyer.OwnerID, api.CreditStarter)
	used, stray, closed := s.pay(paid.Amount, nil), s.pay(7, nil), s.pay(8, nil)
	s.scan()
	if err := s.WriteOff(t.Context(), rail, closed.TxHash, closed.LogIndex, "sent back"); err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]struct {
		rail    string
		of      billing.Transfer
		deposit string
		want    api.Reason
	}{
		"a transfer that has paid":       {rail, used, open.ID, api.ReasonNotFound},
		"a transfer that is written off": {rail, closed, open.ID, api.ReasonNotFound},
		"no such transfer":               {rail, billing.Transfer{TxHash: [32]byte{1}}, open.ID, api.ReasonNotFound},
		"a deposit that was paid":        {rail, stray, paid.ID, api.ReasonDepositNotFound},
		"no such deposit":                {rail, stray, "none", api.ReasonDepositNotFound},
		"no such rail":                   {"moon", stray, open.ID, api.ReasonInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Assign(t.Context(), one.rail, one.of.TxHash, one.of.LogIndex, one.deposit)
			if got := reasonOf(t, err); got != one.want {
				t.Errorf("%s: %v, want %s", got, err, one.want)
			}
		})
	}
	if s.status(open) != api.DepositPending {
		t.Error("the open deposit was paid")
	}
	if _, err := s.Assign(t.Context(), "", stray.TxHash, stray.LogIndex, open.ID); err != nil || s.status(open) != api.DepositVerified {
		t.Errorf("%v, %s", err, s.status(open))
	}
	_, err := s.Assign(t.Context(), "", stray.TxHash, stray.LogIndex, open.ID)
	if got := reasonOf(t, err); got != api.ReasonNotFound {
		t.Errorf("again: %v", err)
	}
	if b, err := s.books.Balance(t.Context(), buyer.OwnerID, ""); err != nil || b.Balance != open.Credits+paid.Credits {
		t.Errorf("%+v, %v", b, err)
	}
}

// TestWriteOff: a reason is needed, and a transfer is written off once.
func TestWriteOff(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	stray := s.pay(7, nil)
	s.scan()
	long := string(make([]rune, 201))
	for _, one := range []struct {
		name, reason string
		want         api.Reason
	}{
		{"without a reason", " ", api.ReasonInvalidRequest}, {"a long reason", long, api.ReasonInvalidRequest},
		{"once", "sent back", ""}, {"twice", "sent back", api.ReasonNotFound},
	} {
		t.Run(one.name, func(t *testing.T) {
			if got := reasonOf(t, s.WriteOff(t.Context(), "", stray.TxHash, stray.LogIndex, one.reason)); got != one.want {
				t.Errorf("%q, want %q", got, one.want)
			}
		})
	}
	if sum, err := s.store.Totals(t.Context(), rail); err != nil || sum.WrittenOff != 7 || sum.Unmatched != 0 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// TestDownForLong: what was paid while no scan ran is found by the next, and expiry by its own goes no further than the last scan.
func TestDownForLong(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	d := s.buy(s.issue("patient", api.TierFree).OwnerID, api.CreditStarter)
	s.scan()
	s.advance(29 * time.Minute)
	s.pay(d.Amount, nil)
	s.advance(2 * time.Hour)
	s.node.newest, s.node.at = 10_000, s.clock()
	if err := s.Expire(t.Context()); err != nil || s.status(d) != api.DepositPending {
		t.Errorf("without the chain it is %s, %v", s.status(d), err)
	}
	if s.scan(); s.status(d) != api.DepositVerified {
		t.Errorf("it is %s", s.status(d))
	}
	if newest, scanned := s.Progress(rail); newest != 10_000 || scanned != newest {
		t.Errorf("%d of %d", scanned, newest)
	}
}

// TestVerifyOfAnother: the deposit of another owner is not there, and a node that does not answer is no refusal of a transfer.
func TestVerifyOfAnother(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	d := s.buy(s.issue("buyer", api.TierFree).OwnerID, api.CreditStarter)
	paid := s.pay(d.Amount, nil)
	_, _, err := s.Verify(t.Context(), "another", d.ID, paid.TxHash)
	if got := reasonOf(t, err); got != api.ReasonDepositNotFound {
		t.Errorf("%v", err)
	}
	if now, refused, err := s.Verify(t.Context(), "buyer", d.ID, [32]byte{1}); err != nil || refused != nil || now.Status != api.DepositPending {
		t.Errorf("a hash that is in no block: %+v, %v, %v", now, refused, err)
	}
	s.node.err = errors.New("no route")
	_, refused, err := s.Verify(t.Context(), "buyer", d.ID, paid.TxHash)
	if got := reasonOf(t, err); got != api.ReasonChainUnavailable || refused != nil || !errors.Is(err, s.node.err) {
		t.Errorf("%v, %v", refused, err)
	}
	s.node.err = nil
	if now, _, err := s.Verify(t.Context(), "buyer", d.ID, paid.TxHash); err != nil || now.Status != api.DepositVerified {
		t.Errorf("%+v, %v", now, err)
	}
	if list, err := s.Newest(t.Context(), 10); err != nil || len(list) != 1 || list[0].ID != d.ID {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestReconcileWithoutNode: a rail whose node does not answer is named, with what the books say of it.
func TestReconcileWithoutNode(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	s.pay(7, nil)
	s.scan()
	down := &node{err: errors.New("no route")}
	both := billing.NewDeposits(billing.DepositsConfig{
		Store: s.store, Rails: []billing.Rail{{ID: rail, Chain: s.node}, {ID: "down", Chain: down}}, Meter: s.meter, Now: s.clock,
	})
	r, err := both.Reconcile(t.Context())
	if err != nil || !slices.Equal(r.Missing, []string{"down"}) || len(r.Findings) > 0 || r.Treasury != 7 || r.Arrived != usdg.Amount(7) {
		t.Errorf("%+v, %v", r, err)
	}
	s.node.err = down.err
	if _, err := both.Reconcile(t.Context()); !errors.Is(err, down.err) {
		t.Errorf("with no node at all: %v", err)
	}
}

// TestLock: who has left does not get the books, and calls are charged whether or not somebody sold.
func TestLock(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	c := s.issue("caller", api.TierFree)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Lock(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	books, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	charged := make(chan error, 1)
	go func() { _, err := s.meter.Charge(t.Context(), c); charged <- err }()
	select {
	case err := <-charged:
		t.Errorf("charged under the lock: %v", err)
	default:
	}
	books.Unlock()
	if err := <-charged; err != nil {
		t.Error(err)
	}
}
