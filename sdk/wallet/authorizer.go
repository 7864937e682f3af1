package wallet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

var _ sdk.ExactPayer = (*Authorizer)(nil)

// Authorizer pays by standard x402: it signs authorizations that services settle. It needs no ether and no node. It shares bounds, journal
// and recipients with the Payers of its directory, and is safe for concurrent use, also across processes.
type Authorizer struct {
	cfg     Config
	address string // of the wallet, in the spelling of EIP-55
	journal journal
	chain   *Payer // of the node that is configured, nil without one
}

// NewAuthorizer makes an Authorizer for the Assets of cfg. With a node, it also checks the balance on the node's chain, and whether an
// unanswered authorization was settled there.
func NewAuthorizer(ctx context.Context, cfg Config) (*Authorizer, error) {
	a := &Authorizer{cfg: cfg}
	if cfg.RPCURL != "" && cfg.Token != "" {
		chain, err := NewPayer(ctx, cfg)
		if err != nil {
			return nil, err
		}
		a.chain, a.cfg = chain, chain.cfg
	} else if err := a.cfg.complete(); err != nil {
		return nil, err
	}
	a.address = common.HexToAddress(a.cfg.Address).Hex()
	a.journal = journal{filepath.Join(cfg.Dir, journalDir)}
	return a, nil
}

// Close ends the connections.
func (a *Authorizer) Close() {
	if a.chain != nil {
		a.chain.Close()
	}
}

// skew is how much later than its end an authorization is taken for over: clocks differ.
const skew = time.Minute

// lapsed reports whether what e authorizes cannot be settled any more.
func (e entry) lapsed(now time.Time) bool { return now.Unix() > e.Until+int64(skew/time.Second) }

// held reports whether e may be sent again: it is live or, as nothing has ended it, was refused.
func (e entry) held(now time.Time) bool {
	return e.Exact != nil && (e.live() || e.State == stateRefused && !e.lapsed(now))
}

// heldFor is the authorization for a request that may be sent again, nil if there is none.
func heldFor(past []entry, service, request string, now time.Time) *entry {
	for _, e := range past {
		if e.Service == service && e.Request == request && e.held(now) {
			return &e
		}
	}
	return nil
}

// Authorize signs the payment of q within the policy, or returns the earlier one for the same request.
func (a *Authorizer) Authorize(ctx context.Context, q sdk.ExactQuote) (p sdk.ExactPayment, err error) {
	release, err := a.journal.hold(ctx, "journal")
	if err != nil {
		return p, err
	}
	defer release()
	past, err := a.journal.all()
	if err != nil {
		return p, err
	}
	if e := heldFor(past, q.Service, q.Request, a.cfg.Now()); e != nil {
		if over, err := a.goOn(ctx, e, past); err != nil {
			return p, err
		} else if !over {
			return a.payment(*e), nil
		}
	}
	if e := begunBy(past, q); e != nil {
		return p, fmt.Errorf("transaction %s pays for the same request and is unanswered: ctx pay resume", e.TxHash)
	}
	if a.cfg.Key == nil {
		return p, ErrNotBegun
	}
	w, err := a.judge(ctx, q, past)
	if err != nil {
		return p, err
	}
	if _, err := a.journal.recipient(ctx, q.Service, w.payTo); err != nil {
		return p, err
	}
	e, err := a.sign(q, w)
	if err == nil {
		err = a.journal.write(e) // before anybody else knows of it
	}
	if err != nil {
		return p, err
	}
	a.cfg.Tell(fmt.Sprintf("authorizing %s %s on %s to %s, until %s", w.amount, w.asset.Symbol, w.asset.Network(), w.payTo,
		time.Unix(e.Until, 0).UTC().Format(time.TimeOnly)+" UTC"))
	return a.payment(e), nil
}

// goOn says whether e is to be sent again. It is over where the chain says that nothing was settled.
func (a *Authorizer) goOn(ctx context.Context, e *entry, past []entry) (over bool, err error) {
	if err := checkStopped(e.Service, past); err != nil && e.State != stateMined {
		return false, err
	}
	if e.Payer != a.address {
		return false, fmt.Errorf("the wallet %s pays for it already, with authorization %s: ctx pay resume", e.Payer, e.Exact.Nonce)
	}
	if e.lapsed(a.cfg.Now()) && e.State == stateSigned {
		if used, known := a.used(ctx, *e); known && !used {
			e.State = stateDropped
			return true, a.journal.write(*e)
		} else if known {
			e.State = stateMined
			return false, a.journal.write(*e)
		}
	}
	a.cfg.Tell("sending authorization " + e.Exact.Nonce + " again, for the same request")
	return false, nil
}

// begunBy is the transaction that pays for the request of q and was not answered, nil if there is none.
func begunBy(past []entry, q sdk.ExactQuote) *entry {
	for _, e := range past {
		if e.Exact == nil && e.live() && e.Service == q.Service && e.Request == q.Request {
			return &e
		}
	}
	return nil
}

// payment is e as it is sent.
func (a *Authorizer) payment(e entry) sdk.ExactPayment {
	return sdk.ExactPayment{
		ID: e.Exact.Nonce, Payer: e.Payer, Asset: e.Exact.Asset, Amount: e.Amount.String(), Network: Asset{ChainID: e.ChainID}.Network(),
		Until: time.Unix(e.Until, 0), Lapsed: e.State == stateSigned && e.lapsed(a.cfg.Now()), Payload: e.Exact.Payload,
	}
}

// How long an authorization holds: as long as the service asks for, within these.
const (
	shortestHold = 30
	longestHold  = 15 * 60
)

// sign makes the payment of w.
func (a *Authorizer) sign(q sdk.ExactQuote, w way) (entry, error) {
	now := a.cfg.Now()
	m := authorization{From: a.address, To: w.payTo, Value: w.amount,
		Before: now.Unix() + min(max(w.accept.MaxTimeoutSeconds, shortestHold), longestHold)}
	if _, err := rand.Read(m.Nonce[:]); err != nil {
		return entry{}, fmt.Errorf("sign authorization: %w", err)
	}
	signature, err := a.cfg.Key.authorize(w.asset, m)
	if err != nil {
		return entry{}, err
	}
	nonce := hexutil.Encode(m.Nonce[:])
	var p wirePayment
	p.X402Version, p.Resource, p.Accepted, p.Extensions = api.X402Version, q.Resource, w.accept.Raw, identified(q.Extensions)
	p.Payload.Signature = hexutil.Encode(signature)
	p.Payload.Authorization = wireAuthorization{m.From, m.To, fmt.Sprint(int64(m.Value)), "0", fmt.Sprint(m.Before), nonce}
	payload, err := json.Marshal(p)
	if err != nil {
		return entry{}, errors.New("sign authorization: what the service says cannot be repeated to it")
	}
	return entry{
		ID: fmt.Sprintf("%020d-%x", now.UnixNano(), m.Nonce[:4]), At: now.UTC(), Service: q.Service, Request: q.Request,
		Amount: w.amount, Recipient: w.payTo, Payer: a.address, ChainID: w.asset.ChainID, Token: w.asset.Token, Until: m.Before,
		State: stateSigned, Purchase: q.Pack != "",
		Exact: &exact{Asset: w.asset.Symbol, Nonce: nonce, Payload: payload, Bare: q.Bare},
	}, nil
}

// wirePayment is a payment of x402, version 2, as it is sent.
type wirePayment struct {
	X402Version int             `json:"x402Version"`
	Resource    json.RawMessage `json:"resource,omitempty"`
	Accepted    json.RawMessage `json:"accepted"`
	Payload     struct {
		Signature     string            `json:"signature"`
		Authorization wireAuthorization `json:"authorization"`
	} `json:"payload"`
	Extensions map[string]any `json:"extensions,omitempty"`
}

// wireAuthorization is an authorization as it is sent.
type wireAuthorization struct {
	From        string `json:"from"`
	To          string `json:"to"`
	Value       string `json:"value"`
	ValidAfter  string `json:"validAfter"`
	ValidBefore string `json:"validBefore"`
	Nonce       string `json:"nonce"`
}

// identified are the extensions that a payment repeats: a name for it alone, which is not on the chain, where the service takes one. By
// that a service knows who asks again.
func identified(offered map[string]json.RawMessage) map[string]any {
	const name = "payment-identifier"
	var e struct {
		Info   map[string]any  `json:"info"`
		Schema json.RawMessage `json:"schema,omitempty"`
	}
	if json.Unmarshal(offered[name], &e) != nil || e.Info == nil {
		return nil
	}
	e.Info["id"] = "ctx_" + rand.Text()
	return map[string]any{name: e}
}

// Concluded records the outcome of a payment.
func (a *Authorizer) Concluded(ctx context.Context, p sdk.ExactPayment, o sdk.ExactOutcome) error {
	release, err := a.journal.hold(ctx, "journal")
	if err != nil {
		return err
	}
	defer release()
	past, err := a.journal.all()
	if err != nil {
		return err
	}
	for _, e := range past {
		if e.Exact == nil || e.Exact.Nonce != p.ID || !e.live() && e.State != stateRefused {
			continue
		}
		if o.Receipt != nil && o.Receipt.Success && o.Receipt.Transaction != "" {
			e.TxHash = o.Receipt.Transaction
		}
		switch {
		case o.Refused == nil && o.Settled:
			e.State = stateMined
		case o.Refused == nil:
			e.State, e.Stops, e.Note = stateAnswered, false, ""
		case p.Lapsed: // as it has to be
			e.State = stateLapsed
		default:
			e.State, e.Stops, e.Note = stateRefused, true, human.Short(o.Refused.Error(), maxNote)
		}
		return a.journal.write(e)
	}
	return nil
}

// maxNote is how much the journal keeps of why a service refuses.
const maxNote = 120

// Abandon ends a lapsed payment without an answer.
func (a *Authorizer) Abandon(ctx context.Context, p sdk.ExactPayment) error {
	return a.Concluded(ctx, p, sdk.ExactOutcome{Refused: errors.New("it has lapsed")})
}

// used reports whether the token says that e was settled, where there is a node that can tell.
func (a *Authorizer) used(ctx context.Context, e entry) (used, known bool) {
	if a.chain == nil || a.cfg.ChainID != e.ChainID {
		return false, false
	}
	return a.chain.authorized(ctx, e)
}

// micro is amount as text of a token with six decimals, in the smallest unit.
func micro(text string) (usdg.Amount, bool) {
	const most = 18
	if text == "" || len(text) > most || text[0] == '0' {
		return 0, false
	}
	var n usdg.Amount
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + usdg.Amount(c-'0')
	}
	return n, true
}
