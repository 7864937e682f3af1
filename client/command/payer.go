package command

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// Pays reports whether calls are paid for one by one: by flag, or by the setting of the profile.
func (a *Factory) Pays() bool {
	c, err := a.Config()
	return a.payer != nil || err == nil && c.Get(config.Pay).Text == "true"
}

// PayWith has p, in place of the wallet, pay for the calls of this run. It is called before a client is made, and before flags are parsed
// that are those of the command around the call.
func (a *Factory) PayWith(p sdk.Payer) { a.payer, a.config = p, nil }

// walletPayer pays for calls from the wallet, which it opens when the first has to be paid. It is safe for concurrent use: the terminal
// UI makes several calls at once.
type walletPayer struct {
	app *Factory

	mu       sync.Mutex         // guards what follows
	payer    *wallet.Payer      // nil until then
	answered []api.PaymentProof // not noted yet
	closed   bool
}

// WalletPayer pays from the wallet. That a call was answered is noted when the next is paid for, or when ctx ends: until then the answer
// was not shown, and a ctx that is killed gets it again with the same payment.
func (a *Factory) WalletPayer() sdk.Payer {
	if a.walletPayer == nil {
		a.walletPayer = &walletPayer{app: a}
	}
	return a.walletPayer
}

// OpenWalletPayer opens the wallet now, for who wants to know at once whether that can be done.
func (a *Factory) OpenWalletPayer(ctx context.Context) error {
	a.WalletPayer()
	_, err := a.walletPayer.open(ctx)
	return err
}

// open opens the wallet, if it is not open, and notes what was answered.
func (p *walletPayer) open(ctx context.Context) (_ *wallet.Payer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("the wallet is closed")
	}
	if p.payer == nil {
		if p.payer, err = p.app.Payer(ctx); err != nil {
			return nil, err
		}
	}
	return p.payer, p.note()
}

// Pay pays q.
func (p *walletPayer) Pay(ctx context.Context, q sdk.Quote) (api.PaymentProof, error) {
	payer, err := p.open(ctx)
	if err != nil {
		return api.PaymentProof{}, err
	}
	return payer.Pay(ctx, q)
}

// Settled notes what became of a payment.
func (p *walletPayer) Settled(proof api.PaymentProof, refused error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if refused == nil && !p.closed {
		p.answered = append(p.answered, proof)
		return nil
	}
	return p.payer.Settled(proof, refused)
}

// note notes the payments whose calls were answered. It is called with mu held.
func (p *walletPayer) note() error {
	for len(p.answered) > 0 {
		if err := p.payer.Settled(p.answered[0], nil); err != nil {
			return err
		}
		p.answered = p.answered[1:]
	}
	return nil
}

// close notes what is left to note and ends the connections.
func (p *walletPayer) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.payer == nil {
		p.closed = true
		return
	}
	p.closed = true
	if err := p.note(); err != nil {
		p.app.Note("the payment was answered, and that could not be noted: the same command gets the same answer again\n%v", err)
	}
	p.payer.Close()
}

// payment is how payments are made by the configuration, without a wallet.
func (a *Factory) payment() (wallet.Config, error) {
	c, err := a.Config()
	if err != nil {
		return wallet.Config{}, err
	}
	if c.Get(config.RPCURL).Text == "" || c.Get(config.Token).Text == "" {
		return wallet.Config{}, cli.Invalid("to pay, ctx has to know the chain").
			WithHint("ctx config set rpc_url URL; ctx config set token ADDRESS; ctx config set chain_id ID")
	}
	chainID, _ := strconv.ParseInt(c.Get(config.ChainID).Text, 10, 64) // Load has checked it, as the amounts
	amount := func(name string) usdg.Amount {
		n, _ := usdg.ParseAmount(c.Get(name).Text)
		return n
	}
	return wallet.Config{
		RPCURL: c.Get(config.RPCURL).Text, ChainID: chainID, Token: c.Get(config.Token).Text, Dir: a.DataDir(), Now: a.Now,
		Policy: wallet.Policy{PerCall: amount(config.MaxPerCall), PerDay: amount(config.MaxPerDay), PerMonth: amount(config.MaxPerMonth)},
		Tell:   func(text string) { a.Note("%s", human.Line(text)) },
	}, nil
}

// Payer pays from the configured wallet, by the chain and the bounds of the configuration.
func (a *Factory) Payer(ctx context.Context) (*wallet.Payer, error) {
	cfg, err := a.payment()
	if err != nil {
		return nil, err
	}
	if cfg.Key, err = a.OpenWallet(ctx, "", ""); err != nil {
		return nil, err
	}
	return newPayer(ctx, cfg)
}

// ReadOnlyPayer is a Payer of the wallet with the given address that needs no passphrase: it looks, goes on with what was begun,
// and pays nothing.
func (a *Factory) ReadOnlyPayer(ctx context.Context, address string) (*wallet.Payer, error) {
	cfg, err := a.payment()
	if err != nil {
		return nil, err
	}
	cfg.Address = address
	return newPayer(ctx, cfg)
}

// newPayer makes a Payer.
func newPayer(ctx context.Context, cfg wallet.Config) (*wallet.Payer, error) {
	p, err := wallet.NewPayer(ctx, cfg)
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	return p, nil
}
