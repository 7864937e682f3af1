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
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// payments is how calls are paid for.
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
	switch {
	case p.instead != nil:
		return p.instead
	case p.On():
		return p.Payer()
	}
	return nil
}

// walletPayer pays for calls from the wallet, which it opens when the first has to be paid: by transactions, and by authorizations of
// standard x402. It is safe for concurrent use: the terminal UI makes several calls at once.
type walletPayer struct {
	payments *payments

	mu       sync.Mutex         // guards what follows
	key      *wallet.Key        // nil until then
	payer    *wallet.Payer      // likewise
	exact    *wallet.Authorizer // likewise
	answered []func() error     // note that a call was answered
	closed   bool
}

// Payer pays from the wallet. That a call was answered is noted when the next is paid for, or when ctx ends: until then the answer
// was not shown, and a ctx that is killed gets it again with the same payment. It is safe for concurrent use.
func (p *payments) Payer() sdk.Payer { return p.wallet() }

// Exact pays from the wallet by standard x402, in the same way.
func (p *payments) Exact() sdk.ExactPayer {
	if instead, ok := p.instead.(sdk.ExactPayer); ok {
		return instead
	}
	return p.wallet()
}

// wallet is the payer that all calls share.
func (p *payments) wallet() *walletPayer {
	if p.shared == nil {
		p.shared = &walletPayer{payments: p}
	}
	return p.shared
}

// Open opens the wallet now, for who wants to know at once whether that can be done.
func (p *payments) Open(ctx context.Context) error {
	_, err := p.wallet().open(ctx)
	return err
}

// close notes what is left to note and ends the connections.
func (p *payments) close() {
	if p.shared != nil {
		p.shared.close()
	}
}

// errClosed is why nothing is paid once ctx ends.
var errClosed = errors.New("the wallet is closed")

// unlock opens the wallet by cfg, if it is not open. It is called with mu held.
func (p *walletPayer) unlock(ctx context.Context, cfg *wallet.Config) (err error) {
	if p.key == nil {
		p.key, err = p.payments.wallets.Open(ctx, "", "")
	}
	cfg.Key = p.key
	return err
}

// open makes what pays by transactions, if need be, and notes what was answered.
func (p *walletPayer) open(ctx context.Context) (*wallet.Payer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	if p.payer == nil {
		cfg, err := p.payments.config()
		if err == nil {
			err = p.unlock(ctx, &cfg)
		}
		if err != nil {
			return nil, err
		}
		if p.payer, err = newPayer(ctx, cfg); err != nil {
			return nil, err
		}
	}
	return p.payer, p.note()
}

// authorizer makes what pays by authorizations, likewise. That takes no chain.
func (p *walletPayer) authorizer(ctx context.Context) (*wallet.Authorizer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	if p.exact == nil {
		cfg, err := p.payments.bounds()
		if err == nil {
			err = p.unlock(ctx, &cfg)
		}
		if err != nil {
			return nil, err
		}
		if p.exact, err = newAuthorizer(ctx, cfg); err != nil {
			return nil, err
		}
	}
	return p.exact, p.note()
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
	return p.later(refused == nil, func() error { return p.payer.Settled(proof, refused) })
}

// Authorize pays q.
func (p *walletPayer) Authorize(ctx context.Context, q sdk.ExactQuote) (sdk.ExactPayment, error) {
	exact, err := p.authorizer(ctx)
	if err != nil {
		return sdk.ExactPayment{}, err
	}
	return exact.Authorize(ctx, q)
}

// Concluded notes what became of a payment.
func (p *walletPayer) Concluded(ctx context.Context, payment sdk.ExactPayment, o sdk.ExactOutcome) error {
	ctx = context.WithoutCancel(ctx)
	return p.later(o.Refused == nil && !o.Settled, func() error { return p.exact.Concluded(ctx, payment, o) })
}

// later has note called: now or, for the answer to a call, once that was shown.
func (p *walletPayer) later(answer bool, note func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if answer && !p.closed {
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
	if p.exact != nil {
		p.exact.Close()
	}
}

// config is how payments are made by the configuration on its chain, without a wallet.
func (p *payments) config() (wallet.Config, error) {
	cfg, err := p.bounds()
	if err == nil && (cfg.RPCURL == "" || cfg.Token == "") {
		err = cli.Invalid("ctx needs the settings of the chain to pay").
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
		Tell:   func(text string) { p.io.Note("%s", human.Line(text)) },
	}, nil
}

// ReadOnlyExact is an Authorizer of the wallet with the given address that needs no passphrase, as ReadOnly is a Payer.
func (p *payments) ReadOnlyExact(ctx context.Context, address string) (*wallet.Authorizer, error) {
	cfg, err := p.bounds()
	if err != nil {
		return nil, err
	}
	cfg.Address = address
	return newAuthorizer(ctx, cfg)
}

// newAuthorizer makes an Authorizer.
func newAuthorizer(ctx context.Context, cfg wallet.Config) (*wallet.Authorizer, error) {
	a, err := wallet.NewAuthorizer(ctx, cfg)
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	return a, nil
}

// ReadOnly is a Payer of the wallet with the given address that needs no passphrase: it looks, goes on with what was begun,
// and pays nothing.
func (p *payments) ReadOnly(ctx context.Context, address string) (*wallet.Payer, error) {
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
