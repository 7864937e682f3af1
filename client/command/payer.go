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

// Payments is how calls are paid for.
type Payments struct {
	io       *IO
	wallets  *Wallets
	settings *settings
	instead  sdk.Payer    // pays in place of the wallet, nil for the wallet
	shared   *walletPayer // pays from the wallet, nil until asked for
}

// On reports whether calls are paid for one by one: by flag, or by the setting of the profile.
func (p *Payments) On() bool {
	c, err := p.settings.config()
	return p.instead != nil || err == nil && c.Get(config.Pay).Text == "true"
}

// Use has payer, in place of the wallet, pay for the calls of this run. It is called before a client is made, and before flags are parsed
// that are those of the command around the call.
func (p *Payments) Use(payer sdk.Payer) {
	p.instead = payer
	p.settings.forget()
}

// caller pays for calls, nil where they are made with the key.
func (p *Payments) caller() sdk.Payer {
	switch {
	case p.instead != nil:
		return p.instead
	case p.On():
		return p.Payer()
	}
	return nil
}

// walletPayer pays for calls from the wallet, which it opens when the first has to be paid. It is safe for concurrent use: the terminal
// UI makes several calls at once.
type walletPayer struct {
	payments *Payments

	mu       sync.Mutex         // guards what follows
	payer    *wallet.Payer      // nil until then
	answered []api.PaymentProof // not noted yet
	closed   bool
}

// Payer pays from the wallet. That a call was answered is noted when the next is paid for, or when ctx ends: until then the answer
// was not shown, and a ctx that is killed gets it again with the same payment. It is safe for concurrent use.
func (p *Payments) Payer() sdk.Payer { return p.wallet() }

// wallet is the payer that all calls share.
func (p *Payments) wallet() *walletPayer {
	if p.shared == nil {
		p.shared = &walletPayer{payments: p}
	}
	return p.shared
}

// Open opens the wallet now, for who wants to know at once whether that can be done.
func (p *Payments) Open(ctx context.Context) error {
	_, err := p.wallet().open(ctx)
	return err
}

// close notes what is left to note and ends the connections.
func (p *Payments) close() {
	if p.shared != nil {
		p.shared.close()
	}
}

// open opens the wallet, if it is not open, and notes what was answered.
func (p *walletPayer) open(ctx context.Context) (_ *wallet.Payer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("the wallet is closed")
	}
	if p.payer == nil {
		if p.payer, err = p.payments.open(ctx); err != nil {
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
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.payer == nil {
		p.closed = true
		return
	}
	p.closed = true
	if err := p.note(); err != nil {
		p.payments.io.Note("the payment was answered, and that could not be noted: the same command gets the same answer again\n%v", err)
	}
	p.payer.Close()
}

// config is how payments are made by the configuration, without a wallet.
func (p *Payments) config() (wallet.Config, error) {
	c, err := p.settings.config()
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
		RPCURL: c.Get(config.RPCURL).Text, ChainID: chainID, Token: c.Get(config.Token).Text, Dir: p.wallets.DataDir(), Now: p.io.Now,
		Policy: wallet.Policy{PerCall: amount(config.MaxPerCall), PerDay: amount(config.MaxPerDay), PerMonth: amount(config.MaxPerMonth)},
		Tell:   func(text string) { p.io.Note("%s", human.Line(text)) },
	}, nil
}

// open is a payer of the configured wallet, by the chain and the bounds of the configuration.
func (p *Payments) open(ctx context.Context) (*wallet.Payer, error) {
	cfg, err := p.config()
	if err != nil {
		return nil, err
	}
	if cfg.Key, err = p.wallets.Open(ctx, "", ""); err != nil {
		return nil, err
	}
	return newPayer(ctx, cfg)
}

// ReadOnly is a Payer of the wallet with the given address that needs no passphrase: it looks, goes on with what was begun,
// and pays nothing.
func (p *Payments) ReadOnly(ctx context.Context, address string) (*wallet.Payer, error) {
	cfg, err := p.config()
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
