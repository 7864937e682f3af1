package daemon

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/metrics"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

var (
	_ x402.Store              = (*store.Store)(nil)
	_ x402.Chain              = (*chain.Client)(nil)
	_ gate.Payments           = (*x402.Payments)(nil)
	_ web.Exact               = x402.Settlers(nil)
	_ x402.SettlementStore    = (*store.Store)(nil)
	_ gate.Observer           = (*metrics.Metrics)(nil)
	_ billing.DepositStore    = (*store.Store)(nil)
	_ billing.DepositObserver = (*metrics.Metrics)(nil)
	_ billing.Chain           = (*chain.Client)(nil)
)

// rail is a chain and token that is paid with, and what works there.
type rail struct {
	Chain
	client  *chain.Client
	settler *x402.Settler // nil without a key that pays the gas, or a facilitator
	foreign int           // settlements by others that were logged; the job settle's
}

// Rails are where payments are made, with their defaults filled in, the first one first.
func (p Pay) Rails() []Chain {
	if p.Chain == nil {
		return nil
	}
	list := append([]Chain{*p.Chain}, p.More...)
	list[0].ID, list[0].ChainID = cmp.Or(list[0].ID, api.NetworkL2), cmp.Or(list[0].ChainID, p.ChainID)
	for i, c := range list {
		list[i].ChainID = cmp.Or(c.ChainID, api.ChainIDTest)
		list[i].Domain = cmp.Or(c.Domain, x402.Domain{Name: DefaultTokenName, Version: DefaultTokenVersion})
	}
	return list
}

// checkRails says which rails cannot stand beside each other.
func (p Pay) checkRails() error {
	list := p.Rails()
	for i, c := range list {
		if err := chain.CheckURL(c.RPCURL); err != nil {
			return fmt.Errorf("rail %s: %w", c.ID, err)
		}
		for _, other := range list[:i] {
			sameChain := other.ChainID == c.ChainID
			switch {
			case other.ID == c.ID:
				return fmt.Errorf("there are two rails %q: give each another id", c.ID)
			case sameChain && usdg.SameAddress(other.Token, c.Token):
				return fmt.Errorf("the rails %s and %s are the same token on the same chain: take one away", other.ID, c.ID)
			case sameChain && c.SettleKey != "" && c.SettleKey == other.SettleKey:
				return fmt.Errorf("the rails %s and %s settle on the same chain with the same key: give each its own", other.ID, c.ID)
			}
		}
	}
	return nil
}

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
	d.chainFails.log, d.chainFails.now = d.cfg.Logger, d.cfg.Now
	d.deposits = billing.NewDeposits(billing.DepositsConfig{ // without a rail, for what arrived while there was one
		Store: d.store, Rails: d.purchases(), Meter: d.meter, Keys: d.keys, Observer: d.metrics, Logger: d.cfg.Logger, Now: d.cfg.Now,
	})
	if len(d.rails) == 0 {
		return d.logLeft(ctx)
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
	d.payments.Settlers = d.settlers()
	return d.logLeft(ctx)
}

func (d *Daemon) openRail(ctx context.Context, c Chain) error {
	client, err := chain.New(ctx, chain.Config{
		Rail: c.Rail, Wait: c.Wait,
		OnCall: d.metrics.Asked, // the chain's clock is compared with that of the machine
	})
	if err != nil {
		return err
	}
	r := &rail{Chain: c, client: client}
	d.rails = append(d.rails, r) // Close ends it
	if err := client.Check(ctx); errors.Is(err, chain.ErrNoAnswer) {
		d.cfg.Logger.Error("chain does not answer; payments wait", "rail", c.ID, "error", err)
	} else if err != nil {
		return fmt.Errorf("rail %s: %w", c.ID, err)
	}
	return d.checkBooks(ctx, r)
}

// openSettlers makes what takes payments of standard x402 on the rails that have a key or a facilitator to settle them with, and goes on
// with those that were begun.
func (d *Daemon) openSettlers(ctx context.Context) error {
	var sells *account.Shop
	for _, r := range d.rails {
		if r.SettleKey == "" && r.Settle.FacilitatorURL == "" {
			continue
		}
		var err error
		if sells == nil {
			sells, err = d.shop(ctx)
		}
		if err == nil {
			err = d.openSettler(ctx, r, sells)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Daemon) openSettler(ctx context.Context, r *rail, sells *account.Shop) error {
	sender, host, err := newSender(r.client, r.SettleKey, r.Settle.FacilitatorURL)
	if err != nil {
		return err
	}
	r.settler = x402.NewSettler(x402.SettlerConfig{
		Rail:   r.Rail,
		Sender: sender, Facilitator: host, Gas: d.cfg.Gas.policy((&etherPrice{feed: d.feed}).Micros), Observer: d.metrics,
		Store: d.store, Shop: sells, Deposits: d.deposits, Wait: cmp.Or(r.Wait, chain.DefaultWait), Now: d.cfg.Now,
	})
	d.metrics.Settles(r.ID)
	if !d.node.Leads() {
		return nil
	}
	if err := r.settler.Resume(ctx); err != nil {
		d.cfg.Logger.Error("standard x402 cannot settle; pending payments wait",
			"rail", r.ID, "by", sender.Address(), "error", err)
	}
	return nil
}

// purchaseKeyFile is the name, in the data directory, of the file with the secrets that keys come from which wallets buy: as quoteKeyFile.
// With it and a purchase its key can be made. Without it, a bought key works, but is never shown again.
const purchaseKeyFile = "purchase.keys"

// receiptKeyFile is the name, in the data directory, of the file with the keys that sign offers and receipts: as quoteKeyFile. They sign
// nothing else, and move nothing.
const receiptKeyFile = "receipt.keys"

// notaries are what signs offers and receipts, and what has signed them before.
func (d *Daemon) notaries(ctx context.Context) (list []*chain.Notary, err error) {
	keys, err := d.secrets.keys(ctx, receiptKeyFile, "receipts", nil)
	if err == nil && len(keys) == 0 {
		err = errors.New("there is no key")
	}
	for _, key := range keys {
		n, bad := chain.NewNotary(key)
		list, err = append(list, n), errors.Join(err, bad)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.secrets.place(receiptKeyFile), err)
	}
	return list, nil
}

// shop is what sells packs of credits for payments of standard x402.
func (d *Daemon) shop(ctx context.Context) (*account.Shop, error) {
	secrets, err := d.secrets.keys(ctx, purchaseKeyFile, "purchases", nil)
	if err != nil {
		return nil, err
	}
	if len(secrets) == 0 || len(secrets[0]) < secretKeySize {
		return nil, fmt.Errorf("the first line of %s is no key of %d bytes", d.secrets.place(purchaseKeyFile), secretKeySize)
	}
	return &account.Shop{
		Keys: d.keys, Secrets: secrets, SignupOpen: d.signIn.Open, Checksum: chain.Checksum, NewID: uuid.NewString,
	}, nil
}

// checkBooks refuses a chain that is another than the one that the books of a rail are of, whose transfers would be mixed up with those,
// and a rail that has another name than the books have for it: all that has paid for something there could do so again.
func (d *Daemon) checkBooks(ctx context.Context, r *rail) error {
	genesis, err := r.client.BlockHash(ctx, 0)
	if errors.Is(err, chain.ErrNoAnswer) {
		return nil // Check has logged that
	}
	if err != nil {
		return err
	}
	known, err := d.store.Chains(ctx)
	if err != nil {
		return err
	}
	configured := d.cfg.Rails()
	for id, first := range known {
		isRail := func(c Chain) bool { return c.ID == id }
		if _, old := known[r.ID]; !old && first == genesis && !slices.ContainsFunc(configured, isRail) {
			return fmt.Errorf("the books in %s know the chain of rail %s as %s: call it so, or use another data directory",
				d.cfg.DataDir, r.ID, id)
		}
	}
	of, err := d.store.RememberChain(ctx, r.ID, genesis)
	if err == nil && of != genesis {
		err = fmt.Errorf("the books of rail %s in %s are of the chain that begins with block %x, not %x: "+
			"use its node, or another data directory", r.ID, d.cfg.DataDir, of, genesis)
	}
	return err
}

// settlers are those of the rails where payments of standard x402 are settled.
func (d *Daemon) settlers() (list x402.Settlers) {
	for _, r := range d.rails {
		if r.settler != nil {
			list = append(list, r.settler)
		}
	}
	return list
}

func (d *Daemon) purchases() (list []billing.Rail) {
	for _, r := range d.rails {
		list = append(list, billing.Rail{
			ID: r.ID, Chain: r.client, Start: uint64(r.StartBlock), Late: r.Confirmations > 1, AtOnce: r.AtOnce,
		})
	}
	return list
}

// sale is where credits are bought, nil for nowhere.
func (d *Daemon) sale() *web.Sale {
	if len(d.rails) == 0 {
		return nil
	}
	s := &web.Sale{Deposits: d.deposits, Places: map[string]web.Place{}, Notices: func() []string { return d.reader.Notices(api.PackAll) }}
	for _, r := range d.rails {
		s.Rails = append(s.Rails, r.ID)
		s.Places[r.ID] = web.Place{ChainID: r.ChainID, Token: r.Token, Treasury: r.Treasury}
	}
	return s
}

// onRails calls act for each rail. What fails on one stops none of the others.
func (d *Daemon) onRails(ctx context.Context, act func(ctx context.Context, r *rail) error) error {
	var failed []error
	for _, r := range d.rails {
		err := act(ctx, r)
		if err != nil && len(d.rails) > 1 {
			err = fmt.Errorf("rail %s: %w", r.ID, err)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// addRailJobs adds those that ask a chain, each rail's own, so that a node that does not answer holds up no other. The first rail's have
// the bare names.
func (d *Daemon) addRailJobs() {
	add := func(name, about string, each func(ctx context.Context, r *rail) error) {
		every := scanEvery
		if name == jobSweep {
			every = sweepEvery
		}
		d.jobs.Add(name, "", about, every, func(ctx context.Context) error {
			if len(d.rails) == 0 {
				return nil
			}
			return each(ctx, d.rails[0])
		})
		for _, r := range d.rails[min(1, len(d.rails)):] {
			d.jobs.Add(name+"-"+r.ID, "", about+", on the rail "+r.ID, every,
				func(ctx context.Context) error { return each(ctx, r) })
		}
	}
	add("deposits", "look for payments of purchases on the chain", d.scan)
	add(jobSweep, "look again at payments by call that may have vanished from the chain", d.sweep)
	add("settle", "go on with payments of standard x402 that are being settled", d.settle)
}

const jobSweep = "sweep"

// Scan looks for payments of deposits now, on all rails, beside the schedule.
func (d *Daemon) Scan(ctx context.Context) error { return d.onRails(ctx, d.scan) }

func (d *Daemon) scan(ctx context.Context, r *rail) error {
	_, err := d.deposits.Scan(ctx, r.ID)
	return err
}

// Sweep looks again, on all rails and beside the schedule, at payments that may have vanished, and drops answers that are kept no longer.
func (d *Daemon) Sweep(ctx context.Context) error { return d.onRails(ctx, d.sweep) }

func (d *Daemon) sweep(ctx context.Context, r *rail) error {
	if err := d.store.PruneAnswers(ctx, d.cfg.Now().Add(-api.ProofIdempotency)); err != nil {
		return err
	}
	return x402.Sweep(ctx, r.ID, r.client, d.store, func(tx x402.MinedTx) {
		d.metrics.Vanished()
		d.cfg.Logger.Error("a payment vanished from the chain after its delivery: contextd money deposits unmatched",
			"rail", r.ID, "tx", "0x"+hex.EncodeToString(tx.Hash[:]), "block", tx.Block)
	})
}

// chainReadings are how far each rail was looked at, for the metrics.
func (d *Daemon) chainReadings() map[string]metrics.Chain {
	list := map[string]metrics.Chain{}
	for _, r := range d.rails {
		if newest, scanned := d.deposits.Progress(r.ID); newest > 0 {
			list[r.ID] = metrics.Chain{Newest: newest, Looked: scanned}
		}
	}
	return list
}
