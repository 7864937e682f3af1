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

func (c *slowChain) Claimed(ctx context.Context, hash [32]byte) ([]billing.Transfer, error) {
	return c.In(ctx, hash)
}

// sells is what sells credits in o on chain.
func (o *office) sells(chain billing.Chain) *billing.Deposits {
	return billing.NewDeposits(billing.DepositsConfig{Store: o.store, Chain: chain, Meter: o.meter, Now: o.clock,
		TierRaised: func(string, api.Tier) {}, NewID: func() string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", serial.Add(1)) }})
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

// TestDepositsGoToKeysThatStay: a key that is being replaced gets no credits any more, not even those of a deposit that names it.
func TestDepositsGoToKeysThatStay(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	chain := &slowChain{newest: 10, at: o.clock()}
	sells := o.sells(chain)
	old := o.issue("buyer", api.TierFree)
	d, err := sells.Open(t.Context(), "buyer", api.CreditStarter, old.KeyID, func() error { return nil })
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
