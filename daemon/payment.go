package daemon

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/metrics"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/sdk/api"
)

var (
	_ x402.Store           = (*store.Store)(nil)
	_ x402.Chain           = (*chain.Client)(nil)
	_ gate.Payments        = (*x402.Payments)(nil)
	_ gate.Settler         = (*x402.Settler)(nil)
	_ web.Exact            = (*x402.Settler)(nil)
	_ x402.SettlementStore = (*store.Store)(nil)
	_ gate.Observer        = (*metrics.Metrics)(nil)
	_ billing.DepositStore = (*store.Store)(nil)
	_ billing.Chain        = (*chain.Client)(nil)
)

// quoteKeyFile is the name, in the data directory, of the file with the keys of quotes: one a line, in hexadecimal, the one that is used
// first. To rotate, put a new line before the others; quotes hold for five minutes and payments for a day, then the last line can go.
const quoteKeyFile = "quote.keys"

const quoteKeySize = 32

// openChain connects to the chain, if there is one, and makes what takes payments and sells credits on it.
func (d *Daemon) openChain(ctx context.Context) error {
	if d.cfg.Chain == nil {
		// For what arrived while there was one.
		d.deposits = billing.NewDeposits(billing.DepositsConfig{Rail: api.NetworkL2, Store: d.store, Now: d.cfg.Now})
		return nil
	}
	var err error
	if d.chain, err = chain.New(ctx, chain.Config{
		Rail: api.NetworkL2, URL: d.cfg.Chain.RPCURL, ChainID: d.cfg.chainID(), Token: d.cfg.Chain.Token, Treasury: d.cfg.Chain.Treasury,
		Wait: d.cfg.Chain.Wait, OnCall: d.metrics.Asked,
	}); err != nil {
		return err
	}
	if err := d.chain.Check(ctx); errors.Is(err, chain.ErrNoAnswer) {
		d.cfg.Logger.Error("the chain does not answer; payments wait until it does", "error", err)
	} else if err != nil {
		return err
	}
	if err := d.knowChain(ctx); err != nil {
		return err
	}
	keys, err := quoteKeys(d.cfg.DataDir)
	if err != nil {
		return err
	}
	d.payments, err = x402.NewPayments(x402.Quoter{
		Rail: api.NetworkL2, Keys: keys, ChainID: d.cfg.chainID(), Token: d.cfg.Chain.Token, Treasury: d.cfg.Chain.Treasury,
		Recover: chain.Recover, Now: d.cfg.Now,
	}, d.chain, d.store)
	if err != nil {
		return err
	}
	if err := d.openSettler(ctx); err != nil {
		return err
	}
	d.deposits = billing.NewDeposits(billing.DepositsConfig{
		Rail: api.NetworkL2, Store: d.store, Chain: d.chain, Meter: d.meter, TierRaised: d.keys.TierRaised, NewID: uuid.NewString,
		AtOnce: d.cfg.Chain.AtOnce, Now: d.cfg.Now,
	})
	return nil
}

// openSettler makes what takes payments of standard x402, if there is a key to settle them with, and goes on with those that were begun.
func (d *Daemon) openSettler(ctx context.Context) error {
	c := d.cfg.Chain
	if c.SettleKey == "" {
		return nil
	}
	sender, err := chain.NewSender(d.chain, c.SettleKey)
	if err != nil {
		return err
	}
	domain := chain.Domain{
		Name: cmp.Or(c.TokenName, DefaultTokenName), Version: cmp.Or(c.TokenVersion, DefaultTokenVersion),
		ChainID: d.cfg.chainID(), Token: c.Token,
	}
	d.settler = x402.NewSettler(x402.SettlerConfig{
		Rail: api.NetworkL2, ChainID: domain.ChainID, Token: c.Token, Treasury: c.Treasury, Name: domain.Name, Version: domain.Version,
		SignerOf: domain.SignerOf,
		Sender:   sender, Store: d.store, Wait: cmp.Or(c.Wait, chain.DefaultWait), Now: d.cfg.Now,
	})
	if err := d.settler.Resume(ctx); err != nil {
		d.cfg.Logger.Error("payments by standard x402 cannot be settled; those that were begun wait",
			"gas_key", sender.Address(), "error", err)
	}
	return nil
}

// settle goes on with settlements that were begun.
func (d *Daemon) settle(ctx context.Context) error {
	if d.settler == nil {
		return nil
	}
	return d.settler.Resume(ctx)
}

// Scan looks for payments of deposits now, beside the schedule.
func (d *Daemon) Scan(ctx context.Context) error {
	if d.chain == nil {
		return nil
	}
	verified, err := d.deposits.Scan(ctx)
	for _, v := range verified {
		d.metrics.Bought(string(v.Pack))
		d.cfg.Logger.Info("credits were bought", "deposit", v.ID, "pack", v.Pack, "credits", v.Credits, "key_id", v.Credited)
	}
	return err
}

// knowChain refuses a chain that is another than the one that the books are of: its transfers would be mixed up with those.
func (d *Daemon) knowChain(ctx context.Context) error {
	genesis, err := d.chain.BlockHash(ctx, 0)
	if errors.Is(err, chain.ErrNoAnswer) {
		return nil // Check has logged that
	}
	if err != nil {
		return err
	}
	known, err := d.store.RememberChain(ctx, api.NetworkL2, genesis)
	if err == nil && known != genesis {
		err = fmt.Errorf("the books in %s are of the chain that begins with block %x, not %x: use its node, or another data directory",
			d.cfg.DataDir, known, genesis)
	}
	return err
}

// quoteKeys reads the keys of quotes, and makes one where there is none.
func quoteKeys(dir string) ([][]byte, error) {
	path := filepath.Join(dir, quoteKeyFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key := make([]byte, quoteKeySize)
		if _, err := rand.Read(key); err != nil {
			return nil, fmt.Errorf("make key of quotes: %w", err)
		}
		text = []byte(hex.EncodeToString(key) + "\n")
		err = atomicfile.Write(path, text, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("read keys of quotes: %w", err)
	}
	var keys [][]byte
	for line := range strings.Lines(string(text)) {
		key, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("read keys of quotes: %s has a line that is not hexadecimal", path)
		}
		if len(key) > 0 {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// Sweep looks again, beside the schedule, at payments that may have vanished, and drops answers that are kept no longer.
func (d *Daemon) Sweep(ctx context.Context) error {
	if d.chain == nil {
		return nil
	}
	if err := d.store.PruneAnswers(ctx, d.cfg.Now().Add(-api.ProofIdempotency)); err != nil {
		return err
	}
	return d.payments.Sweep(ctx, func(tx x402.MinedTx) {
		d.metrics.Vanished()
		d.cfg.Logger.Error("a payment has vanished from the chain; what it paid for is given: contextd deposits unmatched",
			"tx", "0x"+hex.EncodeToString(tx.Hash[:]), "block", tx.Block)
	})
}
