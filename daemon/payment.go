package daemon

import (
	"context"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/metrics"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
)

var (
	_ x402.Store              = (*store.Store)(nil)
	_ x402.Chain              = (*chain.Client)(nil)
	_ gate.Payments           = (*x402.Payments)(nil)
	_ web.Exact               = x402.Rails(nil)
	_ x402.SettlementStore    = (*store.Store)(nil)
	_ gate.Observer           = (*metrics.Metrics)(nil)
	_ billing.DepositStore    = (*store.Store)(nil)
	_ billing.DepositObserver = (*metrics.Metrics)(nil)
	_ billing.Chain           = (*chain.Client)(nil)
)

// quoteKeyFile is the name, in the data directory, of the file with the keys of quotes: one a line, in hexadecimal, the one that is used
// first. To rotate, put a new line before the others; quotes hold for five minutes and payments for a day, then the last line can go.
const quoteKeyFile = "quote.keys"

// openChain connects to the chains, if there are any, and makes what takes payments and sells credits on them.
func (d *Daemon) openChain(ctx context.Context) error {
	for _, c := range d.cfg.Rails() {
		if err := d.openRail(ctx, c); err != nil {
			return err
		}
	}
	d.deposits = billing.NewDeposits(billing.DepositsConfig{ // without a rail, for what arrived while there was one
		Store: d.store, Rails: d.purchases(), Meter: d.meter, Keys: d.keys, Observer: d.metrics, Logger: d.cfg.Logger, Now: d.cfg.Now,
	})
	if len(d.rails) == 0 {
		return d.tellLeft(ctx)
	}
	keys, err := d.secrets.keys(ctx, quoteKeyFile, "quotes", nil)
	if err != nil {
		return err
	}
	first := d.rails[0] // which alone has the dialect of our own
	d.payments, err = x402.NewPayments(x402.Quoter{
		Rail: first.ID, Keys: keys, ChainID: first.ChainID, Token: first.Token, Treasury: first.Treasury, Recover: chain.Recover,
		Now: d.cfg.Now,
	}, first.client, d.store)
	if err != nil {
		return err
	}
	if err := d.openSettlers(ctx); err != nil {
		return err
	}
	d.payments.Rails = d.settlers()
	return d.tellLeft(ctx)
}
