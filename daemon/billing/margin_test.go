package billing_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/sdk/api"
)

// slowChain is a chain whose blocks come when they are told to.
type slowChain struct {
	newest, safe uint64
	at           time.Time          // of the newest block
	list         []billing.Transfer // that there are
}

func (c *slowChain) Newest(context.Context) (uint64, time.Time, error) { return c.newest, c.at, nil }
func (c *slowChain) Safe(context.Context) (uint64, error)              { return c.safe, nil }
func (c *slowChain) Balance(context.Context) (int64, error)            { return 0, nil }

func (c *slowChain) Between(_ context.Context, first, last uint64) (list []billing.Transfer, err error) {
	for _, a := range c.list {
		if first <= a.Block && a.Block <= last {
			list = append(list, a)
		}
	}
	return list, nil
}

func (c *slowChain) In(_ context.Context, hash [32]byte) (list []billing.Transfer, err error) {
	for _, a := range c.list {
		if a.TxHash == hash {
			list = append(list, a)
		}
	}
	return list, nil
}

// sells is what sells credits in o on chain.
func (o *office) sells(chain billing.Chain) *billing.Deposits {
	return billing.NewDeposits(billing.DepositsConfig{Store: o.store, Chain: chain, Meter: o.meter, Now: o.clock,
		TierRaised: func(string, api.Tier) {}, NewID: func() string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", serial.Add(1)) }})
}

// bought opens a deposit for an owner with a key.
func (o *office) bought(sells *billing.Deposits, owner string, pack api.CreditPack) billing.Deposit {
	o.t.Helper()
	o.issue(owner, api.TierFree)
	d, err := sells.Open(o.t.Context(), owner, pack, "")
	if err != nil {
		o.t.Fatal(err)
	}
	return d
}

// status scans and returns the status of a deposit.
func (o *office) status(sells *billing.Deposits, d billing.Deposit) api.DepositStatus {
	o.t.Helper()
	if _, err := sells.Scan(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
	now, err := sells.Deposit(o.t.Context(), d.OwnerID, d.ID)
	if err != nil {
		o.t.Fatal(err)
	}
	return now.Status
}

// TestExpiryWaitsForTheChain: while no block comes, a deposit expires two minutes after its end, because the clock of the chain may be so
// much behind; with a block it is the block's time that counts.
func TestExpiryWaitsForTheChain(t *testing.T) {
	t.Parallel()
	const drift = 2 * time.Minute
	for _, c := range []struct {
		now, block time.Duration // after the end of the deposit
		want       api.DepositStatus
	}{
		{-time.Millisecond, -time.Hour, api.DepositPending},
		{time.Millisecond, -time.Hour, api.DepositPending},
		{drift, -time.Hour, api.DepositPending},
		{drift + time.Millisecond, -time.Hour, api.DepositExpired},
		{time.Minute, 0, api.DepositPending},
		{time.Minute, time.Second, api.DepositExpired},
	} {
		o := newOffice(t)
		chain := &slowChain{newest: 5}
		sells := o.sells(chain)
		d := o.bought(sells, "buyer", api.CreditStarter)
		o.advance(d.ExpiresAt.Add(c.now).Sub(o.clock()))
		chain.at = d.ExpiresAt.Add(c.block)
		if got := o.status(sells, d); got != c.want {
			t.Errorf("%v after its end, the newest block %v: %s, want %s", c.now, c.block, got, c.want)
		}
	}
}

// TestDearPacksWaitForASafeBlock: the block of the transfer has to be safe, that which it is in now, should it have moved.
func TestDearPacksWaitForASafeBlock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pack              api.CreditPack
		first, moved, now uint64 // blocks: of the transfer at first and later, and the newest safe one
		want              api.DepositStatus
	}{
		{api.CreditHobby, 10, 10, 0, api.DepositVerified},
		{api.CreditPro, 10, 10, 9, api.DepositPending},
		{api.CreditPro, 10, 10, 10, api.DepositVerified},
		{api.CreditPro, 10, 12, 11, api.DepositPending}, // it moved after the newest block was asked for
		{api.CreditPro, 10, 12, 12, api.DepositVerified},
	} {
		o := newOffice(t)
		chain := &slowChain{newest: 10, at: o.clock()}
		sells := o.sells(chain)
		d := o.bought(sells, "buyer", c.pack)
		paid := billing.Transfer{TxHash: [32]byte{1}, Sender: "0x1", Amount: d.Amount, Block: c.first, BlockHash: [32]byte{byte(c.first)}, At: o.clock()}
		chain.list = []billing.Transfer{paid}
		_ = o.status(sells, d)
		paid.Block, paid.BlockHash = c.moved, [32]byte{byte(c.moved)}
		chain.list, chain.safe = []billing.Transfer{paid}, c.now
		if got := o.status(sells, d); got != c.want {
			t.Errorf("%s in block %d, then %d, safe %d: %s, want %s", c.pack, c.first, c.moved, c.now, got, c.want)
		}
	}
}

// TestDepositsGoToKeysThatStay: a key that is being replaced gets no credits any more, not even those of a deposit that names it.
func TestDepositsGoToKeysThatStay(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	chain := &slowChain{newest: 10, at: o.clock()}
	sells := o.sells(chain)
	old := o.issue("buyer", api.TierFree)
	d, err := sells.Open(t.Context(), "buyer", api.CreditStarter, old.KeyID)
	if err != nil {
		t.Fatal(err)
	}
	next, err := o.rotate(old, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	chain.list = []billing.Transfer{{TxHash: [32]byte{1}, Sender: "0x1", Amount: d.Amount, Block: 10, At: o.clock()}}
	if got := o.status(sells, d); got != api.DepositVerified {
		t.Fatal(got)
	}
	for id, want := range map[string]int64{old.KeyID: 0, next.KeyID: d.Credits} {
		if b, err := o.books.Balance(t.Context(), "buyer", id); err != nil || b.Balance != want {
			t.Errorf("key %s has %d credits, %v; want %d", id, b.Balance, err, want)
		}
	}
}
