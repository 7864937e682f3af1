package wallet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

var _ sdk.Payer = (*Payer)(nil)

// Config configures a Payer. Chain, token and assets come from the user, never from the service.
type Config struct {
	Key     *Key   // nil makes a Payer that reads, and goes on with what was begun, and pays nothing
	Address string // of the wallet where Key is nil
	RPCURL  string // JSON-RPC over HTTP; it may hold a secret, so it reaches no error; "" for no node
	ChainID int64
	Token   string           // address of the USDG contract; "" for no node
	Dir     string           // of the journal, for the user alone
	Policy  Policy           // bounds of payments
	Assets  []Asset          // that authorizations are of
	Now     func() time.Time // nil means time.Now
	Notify  func(string)     // called with progress for people; may be nil
}

// Payer pays from a wallet: by transfers, which it brings onto the chain, and by authorizations of standard x402, which services settle and
// which take neither ether nor a node. Both share bounds, journal and recipients. It is safe for concurrent use, also across processes: an
// address makes one transfer at a time.
type Payer struct {
	cfg     Config
	address string // of the wallet, in the spelling of EIP-55
	token   common.Address
	chain   *ethclient.Client // nil without a node
	journal journal
}

// Sentinel errors, for errors.Is.
var (
	ErrNoGas      = sdk.Unable(errors.New("the wallet has no ether for the chain's fee"))
	ErrNoUSDG     = errors.New("the wallet has not enough USDG")
	ErrNoFunds    = errors.New("the wallet has not enough of what is to be paid with")
	ErrReverted   = errors.New("the token refuses the transfer")
	ErrRecipient  = errors.New("the service wants to be paid at another address than before")
	ErrWrongChain = errors.New("the node serves another chain")
	ErrNode       = sdk.Unable(errors.New("the node of the chain does not answer"))
	ErrNotBegun   = errors.New("there is no payment to go on with")

	errNoNode = fmt.Errorf("%w: none is configured", ErrNode)
)

// NewPayer makes a Payer. It does not contact the node. Without a node it makes no transfers. With one, it also checks the balance before
// an authorization of a token on the node's chain, and whether an unanswered one was settled there.
func NewPayer(ctx context.Context, cfg Config) (*Payer, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	p := &Payer{cfg: cfg, address: common.HexToAddress(cfg.Address).Hex(), journal: journal{filepath.Join(cfg.Dir, journalDir)}}
	if cfg.RPCURL == "" || cfg.Token == "" {
		return p, nil
	}
	if !common.IsHexAddress(cfg.Token) {
		return nil, fmt.Errorf("make payer: the token %q is not an address", cfg.Token)
	}
	client, err := rpc.DialContext(ctx, cfg.RPCURL)
	if err != nil {
		return nil, errors.New("make payer: the RPC URL cannot be used")
	}
	p.token, p.chain = common.HexToAddress(cfg.Token), ethclient.NewClient(client)
	return p, nil
}

// complete fills in what cfg leaves out.
func (cfg *Config) complete() error {
	if cfg.Key != nil {
		cfg.Address = cfg.Key.Address()
	}
	if !common.IsHexAddress(cfg.Address) {
		return fmt.Errorf("make payer: the wallet %q is not an address", cfg.Address)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Notify == nil {
		cfg.Notify = func(string) {}
	}
	return nil
}

// Close ends the connections.
func (p *Payer) Close() {
	if p.chain != nil {
		p.chain.Close()
	}
}

// ask is err without the URL of the node. That the caller has given up, rather than that the node fails, can be told from it.
func (p *Payer) ask(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("ask chain: %w", ended)
	}
	return fmt.Errorf("%w: %s", ErrNode, usdg.RedactRPC(err, p.cfg.RPCURL))
}

// Pay pays q within the policy, or continues an unanswered payment for the same request.
func (p *Payer) Pay(ctx context.Context, q sdk.Quote) (sdk.Payment, error) {
	return p.pay(ctx, q, true)
}

// Resume continues an unanswered payment for the request of q, of the scheme of q, whatever q asks. It never makes one: it fails with
// ErrNotBegun if there is none, or none that is unfinished. A paid purchase returns its payment.
func (p *Payer) Resume(ctx context.Context, q sdk.Quote) (sdk.Payment, error) {
	return p.pay(ctx, q, false)
}

// pay continues the payment for the request of q or, if it may begin one, begins it. A transfer that was begun and has come to an end
// without having moved anything leaves the request as good as new.
func (p *Payer) pay(ctx context.Context, q sdk.Quote, mayBegin bool) (sdk.Payment, error) {
	if q.Exact == nil { // the transactions of an address have an order
		if p.chain == nil {
			return sdk.Payment{}, errNoNode
		}
		unlock, err := p.journal.lock(ctx, p.address)
		if err != nil {
			return sdk.Payment{}, err
		}
		defer unlock()
	}
	for {
		e, begun, err := p.open(ctx, q, mayBegin)
		if err != nil {
			return sdk.Payment{}, err
		}
		if e.Exact == nil && e.live() {
			err = p.finish(ctx, e)
		}
		switch {
		case err == nil || !begun || e.live():
			return p.payment(*e), err
		case !mayBegin:
			return p.payment(*e), fmt.Errorf("%w: %w", ErrNotBegun, err)
		}
	}
}

// open is the payment for the request of q, and whether it was begun before. Else it is judged, signed and written down. Wallets share the
// journal: nobody else begins one in between.
func (p *Payer) open(ctx context.Context, q sdk.Quote, mayBegin bool) (_ *entry, begun bool, err error) {
	release, err := p.journal.hold(ctx, "journal")
	if err != nil {
		return nil, false, err
	}
	defer release()
	past, err := p.journal.all()
	if err != nil {
		return nil, false, err
	}
	if e := p.begun(past, q); e != nil {
		if over, err := p.goOn(ctx, e, past, mayBegin); err != nil || !over {
			return e, true, err
		}
	}
	if err := p.checkOther(past, q); err != nil {
		return nil, false, err
	}
	switch {
	case !mayBegin || p.cfg.Key == nil && q.Exact != nil:
		return nil, false, ErrNotBegun
	case p.cfg.Key == nil:
		return nil, false, errors.New("the wallet was not opened")
	}
	sign := p.signTransfer
	if q.Exact != nil {
		sign = p.signExact
	}
	e, notice, err := sign(ctx, q, past)
	if err == nil {
		err = p.journal.write(e) // before anybody else knows of it
	}
	if err != nil {
		return nil, false, err
	}
	p.cfg.Notify(notice)
	return &e, false, nil
}

// begun is the payment for the same request, of the same scheme, that has not come to an end, nil if there is none. For a purchase by
// transfer it is the one that has moved something or still may, from whichever wallet.
func (p *Payer) begun(past []entry, q sdk.Quote) *entry {
	for _, e := range past {
		if !e.is(q) || (e.Exact != nil) != (q.Exact != nil) {
			continue
		}
		open := e.live() && e.Payer == p.address || q.Purchase != nil && e.State != stateDropped && e.State != stateReverted
		if e.Exact != nil {
			open = e.held(p.cfg.Now())
		}
		if open {
			return &e
		}
	}
	return nil
}

// checkOther refuses a request that the other scheme pays for already.
func (p *Payer) checkOther(past []entry, q sdk.Quote) error {
	for _, e := range past {
		other := e.is(q) && (e.Exact != nil) != (q.Exact != nil)
		if other && (e.live() || e.held(p.cfg.Now())) {
			return sdk.Unable(fmt.Errorf("%s pays for the same request and is unanswered: ctx pay resume", e.by()))
		}
	}
	return nil
}

// goOn checks that e, which was begun, may be sent again. An authorization is over where the chain says that it was not settled. What may
// not have been sent yet goes to no service that is paid nothing more, but for a transfer that is resumed by hand.
func (p *Payer) goOn(ctx context.Context, e *entry, past []entry, mayBegin bool) (over bool, err error) {
	unsent := e.State == stateSigned && (mayBegin || e.Exact != nil) || e.Exact != nil && e.State == stateRefused
	if unsent {
		if err := checkRefused(e.Service, past); err != nil {
			return false, err
		}
	}
	switch {
	case e.Exact == nil && !e.live(): // a purchase, which is paid once
		return false, nil
	case e.Payer != p.address:
		return false, fmt.Errorf("the wallet %s pays for it already, with %s: ctx pay resume", e.Payer, e.by())
	case e.Exact != nil:
		return p.goOnExact(ctx, e)
	case e.ChainID != 0 && (e.ChainID != p.cfg.ChainID || e.Token != p.token.Hex()):
		return false, fmt.Errorf("%w: payment %s is of token %s on chain %d, the wallet pays with %s on %d", ErrWrongChain,
			e.TxHash, e.Token, e.ChainID, p.token, p.cfg.ChainID)
	}
	p.cfg.Notify("going on with payment " + e.TxHash + " for the same request")
	return false, nil
}

func (p *Payer) payment(e entry) sdk.Payment {
	if e.Exact == nil {
		shown := sdk.TransferPayment(api.PaymentProof{Scheme: api.SchemeX402, Network: api.NetworkL2, TxHash: e.TxHash, Payer: e.Payer,
			Signature: e.Signature})
		shown.Asset, shown.Amount, shown.Until = api.AssetUSDG, e.Amount.String(), time.Unix(e.Until, 0)
		return shown
	}
	return sdk.Payment{
		Scheme: api.SchemeExact, ID: e.Exact.Nonce, Payer: e.Payer, Asset: e.Exact.Asset, Amount: e.Amount.String(),
		Network: Asset{ChainID: e.ChainID}.Network(), Until: time.Unix(e.Until, 0),
		Lapsed: e.State == stateSigned && e.lapsed(p.cfg.Now()), Payload: e.Exact.Payload,
	}
}

// maxNote is how much the journal keeps of why a service refuses.
const maxNote = 120

// Conclude records the outcome of a payment.
func (p *Payer) Conclude(ctx context.Context, paid sdk.Payment, o sdk.Outcome) error {
	release, err := p.journal.hold(ctx, "journal")
	if err != nil {
		return err
	}
	defer release()
	past, err := p.journal.all()
	if err != nil {
		return err
	}
	for _, e := range past {
		exact := e.Exact != nil
		if e.name() != paid.ID || exact != (paid.Scheme == api.SchemeExact) || !e.live() && !(exact && e.State == stateRefused) {
			continue
		}
		if o.Receipt != nil && o.Receipt.Success && o.Receipt.Transaction != "" {
			e.TxHash = o.Receipt.Transaction
		}
		if r := e.receiptFor(o.Receipt); r != nil {
			e.Receipt = r
		}
		to := stateAnswered
		switch {
		case o.Unanswered != nil:
			e.Empty, e.Note = true, human.Short(o.Unanswered.Error(), maxNote)
			if !o.Settled {
				return p.journal.write(e)
			}
			to = stateMined
		case o.Refused == nil && o.Settled:
			to = stateMined
		case o.Refused == nil:
			e.Stops, e.Empty, e.Note = false, false, ""
		case paid.Lapsed: // as it has to be
			to = stateLapsed
		default:
			to, e.Stops, e.Note = stateRefused, true, human.Short(o.Refused.Error(), maxNote)
		}
		return p.journal.advance(&e, to)
	}
	return nil
}

// Abandon ends a lapsed payment without an answer.
func (p *Payer) Abandon(ctx context.Context, paid sdk.Payment) error {
	return p.Conclude(ctx, paid, sdk.Outcome{Refused: errors.New("it has lapsed")})
}
