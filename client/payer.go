package client

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/wallet"
)

type payments struct {
	io       *streams
	wallets  *wallets
	settings *settings
	instead  sdk.Payer    // pays in place of the wallet, nil for the wallet
	shared   *walletPayer // pays from the wallet, nil until asked for
}

// On reports whether calls are paid for one by one: by flag, or by the setting of the profile.
func (p *payments) On() bool {
	c, err := p.settings.Config()
	return p.instead != nil || err == nil && c.Get(config.Pay).Text == "true"
}

// Use has payer, in place of the wallet, pay for the calls of this run. It is called before a client is made, and before flags are parsed
// that are those of the command around the call.
func (p *payments) Use(payer sdk.Payer) {
	p.instead = payer
	p.settings.forget()
}

// caller pays for calls, nil where they are made with the key.
func (p *payments) caller() sdk.Payer {
	if !p.On() {
		return nil
	}
	return p.Payer()
}

// walletPayer pays for calls from the wallet, which it opens when the first has to be paid. It is safe for concurrent use: the terminal UI
// makes several calls at once.
type walletPayer struct {
	payments *payments

	mu       sync.Mutex     // guards what follows
	payer    *wallet.Payer  // nil until then
	answered []func() error // note that a call was answered
	closed   bool
}

// Payer pays from the wallet. That a call was answered is noted when the next is paid for, or when ctx ends: until then the answer
// was not shown, and a ctx that is killed gets it again with the same payment. It is safe for concurrent use.
func (p *payments) Payer() sdk.Payer {
	if p.instead != nil {
		return p.instead
	}
	return p.wallet()
}

func (p *payments) wallet() *walletPayer {
	if p.shared == nil {
		p.shared = &walletPayer{payments: p}
	}
	return p.shared
}

// Open opens the wallet now, for who wants to know at once whether it can transfer.
func (p *payments) Open(ctx context.Context) error {
	_, err := p.wallet().open(ctx, true)
	return err
}

// Preview is what the wallet would pay for q, and what it has.
func (p *payments) Preview(ctx context.Context, q sdk.Quote) (v wallet.Preview, b wallet.Balance, err error) {
	payer, err := p.wallet().open(ctx, true)
	if err != nil {
		return v, b, err
	}
	if v, err = payer.Preview(ctx, q); err != nil {
		return v, b, err
	}
	b, err = payer.Balance(ctx)
	return v, b, err
}

// close notes what is left to note and ends the connections.
func (p *payments) close() {
	if p.shared != nil {
		p.shared.close()
	}
}

// errClosed is why nothing is paid once ctx ends.
var errClosed = errors.New("the wallet is closed")

// open opens the wallet, if need be, and notes what was answered. A transfer takes a chain, an authorization does not.
func (p *walletPayer) open(ctx context.Context, transfer bool) (*wallet.Payer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	cfg, err := p.payments.configured(transfer)
	if err != nil {
		return nil, err
	}
	if p.payer == nil {
		if cfg.Key, err = p.payments.wallets.Open(ctx, "", ""); err != nil {
			return nil, err
		}
		if p.payer, err = newPayer(ctx, cfg); err != nil {
			return nil, err
		}
	}
	return p.payer, p.note()
}

// Pay pays q.
func (p *walletPayer) Pay(ctx context.Context, q sdk.Quote) (sdk.Payment, error) {
	payer, err := p.open(ctx, q.Exact == nil)
	if err != nil {
		return sdk.Payment{}, err
	}
	return payer.Pay(ctx, q)
}

// Conclude notes what became of a payment: now or, for the answer to a call, once that was shown.
func (p *walletPayer) Conclude(ctx context.Context, paid sdk.Payment, o sdk.Outcome) error {
	ctx = context.WithoutCancel(ctx)
	note := func() error { return p.payer.Conclude(ctx, paid, o) }
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.Refused == nil && o.Unanswered == nil && !p.closed {
		p.answered = append(p.answered, note)
		return nil
	}
	return note()
}

// note notes the payments whose calls were answered. It is called with mu held.
func (p *walletPayer) note() error {
	for len(p.answered) > 0 {
		if err := p.answered[0](); err != nil {
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
	if p.closed {
		return
	}
	p.closed = true
	if err := p.note(); err != nil {
		p.payments.io.Note("the payment was answered, and that could not be noted: the same command gets the same answer again\n%v", err)
	}
	if p.payer != nil {
		p.payer.Close()
	}
}

// configured is how payments are made by the configuration, without a wallet. For a transfer the chain has to be configured.
func (p *payments) configured(transfer bool) (wallet.Config, error) {
	cfg, err := p.bounds()
	if err == nil && transfer && (cfg.RPCURL == "" || cfg.Token == "") {
		err = cli.Invalid("%w", sdk.Unable(errors.New("ctx needs the settings of the chain to pay"))).
			WithHint("ctx config set rpc_url URL; ctx config set token ADDRESS; ctx config set chain_id ID")
	}
	return cfg, err
}

// bounds is how payments are made by the configuration, on its chain where it names one, without a wallet.
func (p *payments) bounds() (wallet.Config, error) {
	c, err := p.settings.Config()
	if err != nil {
		return wallet.Config{}, err
	}
	chainID, _ := strconv.ParseInt(c.Get(config.ChainID).Text, 10, 64) // Load has checked it, as the amounts and assets
	amount := func(name string) usdg.Amount {
		n, _ := usdg.ParseAmount(c.Get(name).Text)
		return n
	}
	token := c.Get(config.Token).Text
	var assets []wallet.Asset
	if token != "" {
		assets = append(assets, wallet.AssetAt(chainID, token))
	}
	for name := range strings.SplitSeq(c.Get(config.Assets).Text, ",") {
		if asset, err := wallet.ParseAsset(strings.TrimSpace(name)); err == nil {
			assets = append(assets, asset)
		}
	}
	return wallet.Config{
		RPCURL: c.Get(config.RPCURL).Text, ChainID: chainID, Token: token, Assets: assets, Dir: p.wallets.DataDir(), Now: p.io.Now,
		Policy: wallet.Policy{PerCall: amount(config.MaxPerCall), PerDay: amount(config.MaxPerDay), PerMonth: amount(config.MaxPerMonth)},
		Notify: func(text string) { p.io.Note("%s", human.Line(text)) },
	}, nil
}

// ReadOnly is a Payer of the wallet with the given address that needs no passphrase: it reads, goes on with what was begun, and pays
// nothing. Where it is for a transfer, the chain has to be configured.
func (p *payments) ReadOnly(ctx context.Context, address string, transfer bool) (*wallet.Payer, error) {
	cfg, err := p.configured(transfer)
	if err != nil {
		return nil, err
	}
	cfg.Address = address
	return newPayer(ctx, cfg)
}

func newPayer(ctx context.Context, cfg wallet.Config) (*wallet.Payer, error) {
	p, err := wallet.NewPayer(ctx, cfg)
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	return p, nil
}
