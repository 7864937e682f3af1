package billing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// rail is the one that is sold on.
const rail = "l2chain"

// node is a chain that shows what it is told to.
type node struct {
	err          error // why it does not answer
	newest, safe uint64
	at           time.Time // of the newest block
	list         []billing.Transfer
	treasury     int64
}

func (n *node) Newest(context.Context) (uint64, time.Time, error) { return n.newest, n.at, n.err }

func (n *node) Safe(context.Context) (uint64, error) { return n.safe, nil }

func (n *node) Balance(context.Context) (int64, error) { return n.treasury, nil }

func (n *node) Between(ctx context.Context, first, last uint64, stored billing.Stored) (list []billing.Transfer, _ error) {
	for _, a := range n.list {
		if a.Block < first || last < a.Block {
			continue
		}
		if stored != nil { // as the real one does
			if n, err := stored(ctx, a.TxHash, a.BlockHash); err != nil || n == 1 {
				continue
			}
		}
		list = append(list, a)
	}
	return list, nil
}

func (n *node) In(_ context.Context, hash [32]byte) (list []billing.Transfer, err error) {
	if n.err != nil {
		return nil, n.err
	}
	err = billing.ErrNotShown
	for _, a := range n.list {
		if a.TxHash == hash {
			list, err = append(list, a), nil
		}
	}
	return list, err
}

func (n *node) Claimed(ctx context.Context, hash [32]byte) ([]billing.Transfer, error) {
	return n.In(ctx, hash)
}

// sale sells credits on real books.
type sale struct {
	*office
	*billing.Deposits
	node *node
}

func newSale(t *testing.T) *sale {
	t.Helper()
	s := &sale{office: newOffice(t), node: &node{newest: 100}}
	s.node.at = s.clock()
	keys, err := account.OpenKeys(t.Context(), account.Config{Store: s.store, Now: s.clock})
	if err != nil {
		t.Fatal(err)
	}
	s.Deposits = billing.NewDeposits(billing.DepositsConfig{
		Store: s.store, Rails: []billing.Rail{{ID: rail, Chain: s.node}}, Meter: s.meter, Keys: keys, Now: s.clock,
	})
	return s
}

func (s *sale) scan() {
	s.t.Helper()
	if _, err := s.Scan(s.t.Context(), rail); err != nil {
		s.t.Fatal(err)
	}
}

// buy begins a purchase.
func (s *sale) buy(owner string, pack api.CreditPack) billing.Deposit {
	s.t.Helper()
	d, err := s.Open(s.t.Context(), owner, billing.Order{Pack: pack}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// pay puts a transfer into the next block.
func (s *sale) pay(amount usdg.Amount, note []byte) billing.Transfer {
	n := s.node
	n.newest++
	n.at = s.clock()
	a := billing.Transfer{Rail: rail, TxHash: [32]byte{0xaa, byte(serial.Add(1))}, Sender: "0x1", Amount: amount, Block: n.newest, BlockHash: [32]byte{byte(n.newest)}, At: n.at, Note: note}
	n.list = append(n.list, a)
	n.treasury += int64(amount)
	return a
}

// status is how a deposit stands.
func (s *sale) status(d billing.Deposit) api.DepositStatus {
	s.t.Helper()
	now, err := s.Deposit(s.t.Context(), d.OwnerID, d.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return now.Status
}

// TestCreditsOfAnEndingKey: a deposit that names a key which is about to end is credited to the one that replaces it.
func TestCreditsOfAnEndingKey(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	old := s.issue("buyer", api.TierFree)
	d, err := s.Open(t.Context(), old.OwnerID, billing.Order{Pack: api.CreditStarter, KeyID: old.KeyID}, nil)
	if err != nil {
		t.Fatal(err)
	}
	next, err := s.rotate(old, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	s.pay(d.Amount, nil)
	s.scan()
	if now, err := s.Deposit(t.Context(), d.OwnerID, d.ID); err != nil || now.Credited != next.KeyID {
		t.Errorf("%+v, %v, want the credits on %s", now, err, next.KeyID)
	}
}

// TestVanishedIsNotAssigned: a transfer that has vanished from the chain buys nothing, also by hand.
func TestVanishedIsNotAssigned(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	d := s.buy(s.issue("buyer", api.TierFree).OwnerID, api.CreditStarter)
	stray := s.pay(d.Amount-1, nil)
	s.scan()
	if err := s.store.Finalize(t.Context(), rail, stray.TxHash, true); err != nil {
		t.Fatal(err)
	}
	if now, err := s.Assign(t.Context(), rail, stray.TxHash, stray.LogIndex, d.ID); err == nil || s.status(d) != api.DepositPending {
		t.Errorf("%+v, %v", now, err)
	}
}

// TestExpiryOfLateBlocks: where blocks count late, nothing ends before one of a later time was seen, however long that takes.
func TestExpiryOfLateBlocks(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	s.Deposits = billing.NewDeposits(billing.DepositsConfig{
		Store: s.store, Rails: []billing.Rail{{ID: rail, Chain: s.node, Late: true}}, Meter: s.meter, Now: s.clock,
	})
	d := s.buy(s.issue("slow", api.TierFree).OwnerID, api.CreditStarter)
	s.advance(d.ExpiresAt.Sub(s.clock()) + time.Hour)
	if s.scan(); s.status(d) != api.DepositPending {
		t.Error("it has ended, and its transfer may be in a block that does not count yet")
	}
	s.node.at = d.ExpiresAt.Add(time.Second)
	if s.scan(); s.status(d) != api.DepositExpired {
		t.Error("it has not ended with a later block")
	}
}

// TestExpiryLeavesTheChainsClockAMargin: while no block comes, a deposit ends two minutes after its time, as the chain's clock may be behind;
// with a block, when that is later.
func TestExpiryLeavesTheChainsClockAMargin(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	c := s.issue("slow", api.TierFree)
	d := s.buy(c.OwnerID, api.CreditStarter)
	s.advance(d.ExpiresAt.Sub(s.clock()) + 2*time.Minute)
	if s.scan(); s.status(d) != api.DepositPending {
		t.Error("it has ended before the margin was over")
	}
	s.advance(time.Millisecond)
	if s.scan(); s.status(d) != api.DepositExpired {
		t.Error("it has not ended after the margin")
	}
	d = s.buy(c.OwnerID, api.CreditStarter)
	s.node.at = d.ExpiresAt // a chain whose clock is ahead
	if s.scan(); s.status(d) != api.DepositPending {
		t.Error("it has ended with a block of its last second")
	}
	s.node.at = d.ExpiresAt.Add(time.Second)
	if s.scan(); s.status(d) != api.DepositExpired {
		t.Error("it has not ended with a later block")
	}
}

// TestBigPackMovesToAnUnsafeBlock: the block of a transfer is safe by its number, but the transfer is in a later one by now: it waits on.
func TestBigPackMovesToAnUnsafeBlock(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	c := s.issue("big", api.TierFree)
	d := s.buy(c.OwnerID, api.CreditPro)
	a := s.pay(d.Amount, nil)
	if s.scan(); s.status(d) != api.DepositPending {
		t.Fatal("it did not wait")
	}
	s.node.safe = a.Block
	s.node.list[0].Block, s.node.list[0].BlockHash = a.Block+1, [32]byte{0xff}
	if s.scan(); s.status(d) != api.DepositPending {
		t.Error("verified in a block that is not safe")
	}
	s.node.newest, s.node.safe = a.Block+1, a.Block+1
	if s.scan(); s.status(d) != api.DepositVerified || s.balance(c) != 100_000 {
		t.Error("not verified in a safe block")
	}
}

// TestReconcileSeesBothSides: a treasury with less than arrived is a finding, and one with more is too.
func TestReconcileSeesBothSides(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	d := s.buy(s.issue("exact", api.TierFree).OwnerID, api.CreditStarter)
	s.pay(d.Amount, nil)
	for more, want := range map[int64]string{0: "", 1: "1 micro-USDG more", -1: "1 micro-USDG less"} {
		s.node.treasury = int64(d.Amount) + more
		r, err := s.Reconcile(t.Context())
		if err != nil || (want == "") != (len(r.Findings) == 0) || want != "" && !strings.Contains(r.Findings[0], ": "+want) {
			t.Errorf("%d more: %q, %v", more, r.Findings, err)
		}
	}
	if s.balance(billing.Call{OwnerID: "exact"}) != 1_000 {
		t.Error("it was not verified")
	}
}

// TestBackAgainIsMatchedOnce: a transfer that has paid for a deposit, has vanished and is back pays for no second one; one that has paid for
// nothing is matched when it is back, and while it is there is not matched again.
func TestBackAgainIsMatchedOnce(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	c := s.issue("back", api.TierFree)
	first := s.buy(c.OwnerID, api.CreditStarter)
	paid := s.pay(first.Amount, nil)
	s.scan()
	vanish := func(a billing.Transfer) {
		t.Helper()
		if err := s.store.Finalize(t.Context(), rail, a.TxHash, true); err != nil {
			t.Fatal(err)
		}
	}
	vanish(paid)
	// The slot is held for a day, so that only its nonce can make another deposit of the same transfer's.
	second := s.buy(c.OwnerID, api.CreditStarter)
	s.node.list[0].Amount, s.node.list[0].Note = second.Amount, second.Nonce[:]
	s.scan()
	if s.status(second) != api.DepositPending || s.balance(c) != 1_000 {
		t.Errorf("one transfer has paid for two deposits: %d credits", s.balance(c))
	}
	if r, err := s.store.Totals(t.Context(), ""); err != nil || r.Vanished != 0 || r.Deposits != first.Amount {
		t.Errorf("%+v, %v", r, err)
	}
	// One that fitted nothing, and whose deposit is there when the chain shows it again in the same block.
	stray := s.pay(second.Amount+7, nil)
	s.scan()
	s.node.list[1].Amount, s.node.list[1].Note = second.Amount, second.Nonce[:]
	if s.scan(); s.status(second) != api.DepositPending {
		t.Error("what was there all the time was matched a second time")
	}
	vanish(stray)
	if s.scan(); s.status(second) != api.DepositVerified || s.balance(c) != 2_000 {
		t.Errorf("back again it has paid for nothing: %d credits", s.balance(c))
	}
}

// TestHalfOfTheSlots: when half of a pack's amounts are held, who never paid gets deposits that their nonce names, who has paid gets the
// other half, and when there is none left nobody is sent away.
func TestHalfOfTheSlots(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	payer, crowd := s.issue("payer", api.TierFree), s.issue("crowd", api.TierFree)
	d := s.buy(payer.OwnerID, api.CreditStarter)
	s.pay(d.Amount, nil)
	s.scan()
	open := func(c billing.Call, want usdg.Amount, named bool) billing.Deposit {
		t.Helper()
		n := serial.Add(1)
		d, err := s.store.OpenDeposit(t.Context(), billing.Deposit{
			ID: fmt.Sprintf("deposit-%d", n), Rail: rail, OwnerID: c.OwnerID, Pack: api.CreditStarter, Credits: 1_000, Amount: 1_000_000, Nonce: [32]byte{9, byte(n >> 8), byte(n)},
			Status: api.DepositPending, CreatedAt: s.clock(), ExpiresAt: s.clock().Add(api.DepositWindow),
		}, billing.DepositBounds{Slots: 6, Pending: 99, Unpaid: 99})
		if err != nil || d.Amount != want || d.Named != named {
			t.Fatalf("%+v, %v, want %d, %v", d, err, want, named)
		}
		return d
	}
	open(crowd, 1_000_001, false)
	open(crowd, 1_000_002, false) // with the first, three of six
	named := open(crowd, 1_000_000, true)
	for slot := range usdg.Amount(3) {
		open(payer, 1_000_003+slot, false)
	}
	last := open(payer, 1_000_000, true)
	s.pay(1_000_000, nil)
	if s.scan(); s.status(named) != api.DepositPending || s.status(last) != api.DepositPending {
		t.Error("paid without a nonce")
	}
	s.pay(1_000_000, named.Nonce[:])
	s.pay(1_000_000, last.Nonce[:])
	s.scan()
	if s.status(named) != api.DepositVerified || s.status(last) != api.DepositVerified || s.balance(crowd) != 1_000 || s.balance(payer) != 2_000 {
		t.Errorf("by their nonces: %s, %s", s.status(named), s.status(last))
	}
	if now, err := s.Deposit(t.Context(), crowd.OwnerID, named.ID); err != nil || !now.Named || !now.ToAPI().NonceRequired {
		t.Errorf("%+v, %v", now, err)
	}
	open(crowd, 1_000_000, true) // those that were paid hold their slots for a day too
}

// TestSlotsAreHeldForADay after the end of a deposit, whether it was paid or not, and not a moment less.
func TestSlotsAreHeldForADay(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	c := s.issue("held", api.TierFree)
	paid, unpaid := s.buy(c.OwnerID, api.CreditStarter), s.buy(c.OwnerID, api.CreditStarter)
	s.pay(paid.Amount, nil)
	s.scan()
	s.advance(unpaid.ExpiresAt.Sub(s.clock()) + api.DepositGrace)
	s.scan()
	if third := s.buy(c.OwnerID, api.CreditStarter); third.Amount != 1_000_002 {
		t.Errorf("an amount was used again before its day was over: %s", third.Amount)
	}
	s.advance(time.Millisecond)
	s.scan()
	for _, want := range []usdg.Amount{1_000_000, 1_000_001} {
		if d := s.buy(c.OwnerID, api.CreditStarter); d.Amount != want {
			t.Errorf("after the day the amount is %s, want %s", d.Amount, want)
		}
	}
}

// TestUnpaidDepositsAreBounded by owner, on disk; what was paid, or waits for a safe block, does not count, and who never paid is asked about.
func TestUnpaidDepositsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	c, honest := s.issue("crowd", api.TierFree), s.issue("honest", api.TierFree)
	for range 15 { // paid at once, each
		d := s.buy(honest.OwnerID, api.CreditStarter)
		s.pay(d.Amount, nil)
		s.scan()
	}
	for range 4 { // paid, in blocks that are not safe
		d := s.buy(honest.OwnerID, api.CreditPro)
		s.pay(d.Amount, nil)
		s.scan()
	}
	begun := 0
	for range 60 {
		if _, err := s.Open(t.Context(), c.OwnerID, billing.Order{Pack: api.CreditStarter}, nil); err == nil {
			begun++
		} else if !errors.Is(err, &api.Error{Reason: api.ReasonRateLimited}) {
			t.Fatal(err)
		}
		s.advance(15 * time.Minute)
		s.scan()
	}
	if begun != api.MaxUnpaidDeposits {
		t.Errorf("in %s %d unpaid purchases were begun", 15*time.Hour, begun)
	}
	closed := errors.New("sign-up is closed")
	if _, err := s.Open(t.Context(), s.issue("new", api.TierFree).OwnerID, billing.Order{Pack: api.CreditStarter}, func() error { return closed }); !errors.Is(err, closed) {
		t.Errorf("who never paid: %v", err)
	}
	if _, err := s.Open(t.Context(), honest.OwnerID, billing.Order{Pack: api.CreditStarter}, func() error { return closed }); err != nil {
		t.Errorf("who has paid: %v", err)
	}
}

// TestVerifyTellsWhy a transaction that the chain shows does not pay for a deposit.
func TestVerifyTellsWhy(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	ada, eve := s.issue("ada", api.TierFree), s.issue("eve", api.TierFree)
	first, second := s.buy(ada.OwnerID, api.CreditStarter), s.buy(eve.OwnerID, api.CreditStarter)
	right, odd := s.pay(first.Amount, nil), s.pay(first.Amount-1, nil)
	for n, test := range []struct {
		d      billing.Deposit
		hash   [32]byte
		status api.DepositStatus
		want   api.Reason
	}{
		{second, [32]byte{1}, api.DepositPending, ""}, // not shown yet
		{second, odd.TxHash, api.DepositPending, api.ReasonAmountMismatch},
		{second, right.TxHash, api.DepositPending, api.ReasonAlreadyUsed}, // for the first
		{first, odd.TxHash, api.DepositVerified, ""},
	} {
		now, refused, err := s.Verify(t.Context(), test.d.OwnerID, test.d.ID, test.hash)
		if err != nil || now.Status != test.status || (refused == nil) != (test.want == "") || refused != nil && refused.Reason != test.want {
			t.Errorf("%d: %s, %v, %v", n, now.Status, refused, err)
		}
	}
}

// TestCallsAroundADeposit spends the last credit, is refused, buys more and spends those, while no charge is in a table yet.
func TestCallsAroundADeposit(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	c := s.issue("spender", api.TierHobby)
	c.Pack = "ai" // so that nothing is free
	s.grant(c, 1)
	d := s.buy(c.OwnerID, api.CreditStarter)
	for _, want := range []api.Reason{"", api.ReasonInsufficient} {
		if reason, _ := s.charge(c); reason != want {
			t.Errorf("a call came to %q, want %q", reason, want)
		}
	}
	s.pay(d.Amount, nil)
	s.scan()
	for range 2 {
		if reason, _ := s.charge(c); reason != "" {
			t.Errorf("a call after the deposit came to %s", reason)
		}
	}
	if have := s.balance(c); have != d.Credits-2 {
		t.Errorf("%d credits are left of %d, want all but 2", have, d.Credits)
	}
	if findings, err := s.store.Audit(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("the audit finds %v, %v", findings, err)
	}
}

// TestDepositsGoToKeysThatStay: a key that is being replaced gets no credits any more, not even those of a deposit that names it.
func TestDepositsGoToKeysThatStay(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	old := s.issue("buyer", api.TierFree)
	d, err := s.Open(t.Context(), "buyer", billing.Order{Pack: api.CreditStarter, KeyID: old.KeyID}, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	next, err := s.rotate(old, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	s.pay(d.Amount, nil)
	if s.scan(); s.status(d) != api.DepositVerified {
		t.Fatal(s.status(d))
	}
	for id, want := range map[string]int64{old.KeyID: 0, next.KeyID: d.Credits} {
		if b, err := s.books.Balance(t.Context(), "buyer", id); err != nil || b.Balance != want {
			t.Errorf("key %s has %d credits, %v; want %d", id, b.Balance, err, want)
		}
	}
}

// TestSpentOnADeposit: a transfer that has paid for a deposit pays for no call; one that has paid for nothing does, once.
func TestSpentOnADeposit(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	d := s.buy(s.issue("spends", api.TierFree).OwnerID, api.CreditStarter)
	paid, stray := s.pay(d.Amount, nil), s.pay(7, nil)
	s.scan()
	for n, c := range []struct {
		of   billing.Transfer
		want error
	}{{paid, x402.ErrSpent}, {stray, nil}, {stray, x402.ErrSpent}} {
		r := x402.Receipt{Rail: rail, Transfer: x402.Transfer{LogIndex: c.of.LogIndex, From: c.of.Sender, Amount: uint64(c.of.Amount)}, Op: api.OpFresh}
		r.Hash, r.At, r.Payment.Block, r.Payment.BlockHash, r.Payment.At = c.of.TxHash, s.clock(), c.of.Block, c.of.BlockHash, c.of.At
		if err := s.store.SpendOnCall(t.Context(), r); !errors.Is(err, c.want) {
			t.Errorf("%d: %v, want %v", n, err, c.want)
		}
	}
	if r, err := s.store.Totals(t.Context(), ""); err != nil || r.Deposits != d.Amount || r.Calls != 7 {
		t.Errorf("%+v, %v", r, err)
	}
}
