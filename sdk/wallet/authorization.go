package wallet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// skew is how much later than its end an authorization is taken for over: clocks differ.
const skew = time.Minute

// lapsed reports whether what e authorizes cannot be settled any more.
func (e entry) lapsed(now time.Time) bool { return now.Unix() > e.Until+int64(skew/time.Second) }

// held reports whether e may be sent again: it is live or, as nothing has ended it, was refused.
func (e entry) held(now time.Time) bool {
	return e.Exact != nil && (e.live() || e.State == stateRefused && !e.lapsed(now))
}

type way struct {
	accept sdk.Accept
	asset  Asset
	amount usdg.Amount
	payTo  string // in the spelling of EIP-55
}

// judgeExact chooses the cheapest way to pay q, and says whether it may be paid now, after what the journal has.
func (p *Payer) judgeExact(ctx context.Context, q sdk.Quote, past []entry) (way, error) {
	w, err := p.choose(q)
	if err == nil {
		err = checkExtensions(q.Exact.Extensions)
	}
	if err == nil {
		err = checkOffers(q.Exact, w.accept)
	}
	if err == nil {
		err = checkStopped(q.Service, past)
	}
	if err == nil {
		err = p.allowExact(q, w.amount, past)
	}
	if err == nil {
		err = p.affordExact(ctx, w)
	}
	return w, err
}

// allowExact says whether amount may be paid now: for a pack of credits what it costs, for a call what the policy allows.
func (p *Payer) allowExact(q sdk.Quote, amount usdg.Amount, past []entry) error {
	if q.Pack == "" {
		return p.cfg.Policy.allow(amount, usdg.Amount(q.Price), past, p.cfg.Now())
	}
	if offer, ok := q.Pack.Offer(); !ok || amount != usdg.Amount(offer.PriceMicros) {
		return fmt.Errorf("%w: the service wants %s for the package %s, which costs %s", ErrPolicy, amount, quote(string(q.Pack)),
			usdg.Amount(offer.PriceMicros))
	}
	return nil
}

// choose is the cheapest way of q that the wallet can pay by. Tokens are dollars, so their amounts compare.
func (p *Payer) choose(q sdk.Quote) (way, error) {
	var ways []way
	var whyNot []string
	for _, accept := range q.Exact.Accepts {
		w, err := p.read(accept)
		if err == nil {
			ways = append(ways, w)
		} else if text := err.Error(); !slices.Contains(whyNot, text) {
			whyNot = append(whyNot, text)
		}
	}
	if len(ways) == 0 {
		const told = 4
		return way{}, fmt.Errorf("%w: the wallet can make none of the accepted payments: %s", ErrPolicy,
			strings.Join(whyNot[:min(len(whyNot), told)], "; "))
	}
	return slices.MinFunc(ways, func(x, y way) int { return int(min(max(x.amount-y.amount, -1), 1)) }), nil
}

// read is a way to pay, or why the wallet does not go it.
func (p *Payer) read(accept sdk.Accept) (way, error) {
	w := way{accept: accept}
	chain, ok := chainOf(accept.Network)
	if accept.Scheme != api.SchemeExact {
		return w, fmt.Errorf("the scheme is %s, not exact", quote(accept.Scheme))
	}
	if !ok || !isAddress(accept.Asset) {
		return w, fmt.Errorf("the network %s or the asset %s is not of an EVM chain", quote(accept.Network), quote(accept.Asset))
	}
	i := slices.IndexFunc(p.cfg.Assets, func(known Asset) bool { return known.is(chain, accept.Asset) })
	if i < 0 {
		return w, fmt.Errorf("%s on %s is not among the assets of the settings", quote(accept.Asset), accept.Network)
	}
	w.asset = p.cfg.Assets[i]
	var err error
	if w.payTo, err = p.checkRest(accept, w.asset); err != nil {
		return w, err
	}
	if w.amount, ok = micro(accept.Amount); !ok {
		return w, fmt.Errorf("the amount %s is not a whole number above 0 of the token's smallest unit", quote(accept.Amount))
	}
	return w, nil
}

// quote is somebody else's text in an error.
func quote(text string) string {
	const address = 42
	return fmt.Sprintf("%q", human.Short(text, address))
}

// checkRest looks at what a way to pay says besides amount and asset, and returns where it is paid.
func (p *Payer) checkRest(accept sdk.Accept, asset Asset) (payTo string, err error) {
	x := accept.Extra
	switch {
	case x.PaymentFlow != "" && x.PaymentFlow != sdk.FlowAuthorization:
		return "", fmt.Errorf("it is to be paid in the flow %s, not %s", quote(x.PaymentFlow), sdk.FlowAuthorization)
	case x.AssetTransferMethod != "" && x.AssetTransferMethod != "eip3009":
		return "", fmt.Errorf("it is to be paid by %s, not by authorization (eip3009)", quote(x.AssetTransferMethod))
	case x.Name != "" && x.Name != asset.Name || x.Version != "" && x.Version != asset.Version:
		return "", fmt.Errorf("it names the signing domain %s, version %s, and that of %s is %q, version %q",
			quote(x.Name), quote(x.Version), asset.Symbol, asset.Name, asset.Version)
	case accept.MaxTimeoutSeconds < 0:
		return "", fmt.Errorf("it gives the payment %d seconds", accept.MaxTimeoutSeconds)
	case !isAddress(accept.PayTo):
		return "", fmt.Errorf("the recipient %s is not an address", quote(accept.PayTo))
	}
	payTo = common.HexToAddress(accept.PayTo).Hex()
	if to := common.HexToAddress(payTo); to == (common.Address{}) || to == common.HexToAddress(asset.Token) || payTo == p.address {
		return "", fmt.Errorf("the recipient %s is the zero address, the token or the wallet itself", payTo)
	}
	return payTo, nil
}

// patience is how long a node is asked that nothing depends on.
const patience = 3 * time.Second

// affordExact says that the wallet has not enough, where a node can tell. A node that does not answer keeps nobody from paying.
func (p *Payer) affordExact(ctx context.Context, w way) error {
	if p.chain == nil || p.cfg.ChainID != w.asset.ChainID {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	have, err := p.tokens(ctx, common.HexToAddress(w.asset.Token), common.HexToAddress(p.address))
	if err != nil || have.Cmp(big.NewInt(int64(w.amount))) >= 0 {
		return nil
	}
	return fmt.Errorf("%w: %s has %s %s on %s, the call costs %s", ErrNoFunds, p.address, usdg.Amount(have.Int64()), w.asset.Symbol,
		w.asset.Network(), w.amount)
}

// How long an authorization holds: as long as the service asks for, within these.
const (
	shortestHold = 30
	longestHold  = 15 * 60
)

// signExact judges the authorization that q asks for, after what the journal has, and signs it.
func (p *Payer) signExact(ctx context.Context, q sdk.Quote, past []entry) (_ entry, notice string, err error) {
	w, err := p.judgeExact(ctx, q, past)
	if err != nil {
		return entry{}, "", err
	}
	if _, err := p.journal.recipient(ctx, q.Service, w.payTo); err != nil {
		return entry{}, "", err
	}
	now := p.cfg.Now()
	m := authorization{From: p.address, To: w.payTo, Value: w.amount,
		Before: now.Unix() + min(max(w.accept.MaxTimeoutSeconds, shortestHold), longestHold)}
	if _, err := rand.Read(m.Nonce[:]); err != nil {
		return entry{}, "", fmt.Errorf("sign authorization: %w", err)
	}
	signature, err := p.cfg.Key.authorize(w.asset, m)
	if err != nil {
		return entry{}, "", err
	}
	nonce := hexutil.Encode(m.Nonce[:])
	var wire wirePayment
	wire.X402Version, wire.Resource, wire.Accepted = api.X402Version, q.Exact.Resource, w.accept.Raw
	wire.Extensions = repeated(q.Exact.Extensions)
	wire.Payload.Signature = hexutil.Encode(signature)
	wire.Payload.Authorization = wireAuthorization{m.From, m.To, fmt.Sprint(int64(m.Value)), "0", fmt.Sprint(m.Before), nonce}
	payload, err := json.Marshal(wire)
	if err != nil {
		return entry{}, "", errors.New("sign authorization: what the service says cannot be repeated to it")
	}
	notice = fmt.Sprintf("authorizing %s %s on %s to %s, until %s", w.amount, w.asset.Symbol, w.asset.Network(), w.payTo,
		time.Unix(m.Before, 0).UTC().Format(time.TimeOnly)+" UTC")
	return entry{
		ID: fmt.Sprintf("%020d-%x", now.UnixNano(), m.Nonce[:4]), At: now.UTC(), Service: q.Service, Request: q.Request,
		Amount: w.amount, Recipient: w.payTo, Payer: p.address, ChainID: w.asset.ChainID, Token: w.asset.Token, Until: m.Before,
		State: stateSigned, Purchase: q.Pack != "",
		Exact: &exact{Asset: w.asset.Symbol, Nonce: nonce, Payload: payload, Bare: q.Bare},
	}, notice, nil
}

// goOnExact says whether an authorization is over, as the chain knows that it was not settled, where there is a node that can tell.
func (p *Payer) goOnExact(ctx context.Context, e *entry) (over bool, err error) {
	if e.lapsed(p.cfg.Now()) && e.State == stateSigned {
		if used, known := p.authorized(ctx, *e); known && !used {
			return true, p.journal.advance(e, stateDropped)
		} else if known {
			return false, p.journal.advance(e, stateMined)
		}
	}
	p.cfg.Notify("sending authorization " + e.Exact.Nonce + " again, for the same request")
	return false, nil
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
	Extensions map[string]json.RawMessage `json:"extensions,omitempty"`
}

type wireAuthorization struct {
	From        string `json:"from"`
	To          string `json:"to"`
	Value       string `json:"value"`
	ValidAfter  string `json:"validAfter"`
	ValidBefore string `json:"validBefore"`
	Nonce       string `json:"nonce"`
}

// maxExtensions bounds what a payment repeats of a service's extensions, in bytes: a header of more is taken nowhere.
const maxExtensions = 12 << 10

// checkExtensions refuses what cannot be repeated.
func checkExtensions(offered map[string]json.RawMessage) error {
	n := 0
	for name, value := range offered {
		n += len(name) + len(value)
	}
	if n > maxExtensions {
		return fmt.Errorf("%w: the service wants extensions of %d bytes repeated, over %d", ErrPolicy, n, maxExtensions)
	}
	return nil
}

// repeated are the extensions that a payment has: those of the service, as there are such that compare them, and in the one for it a name
// for the payment alone, which is not on the chain. By that a service knows who asks again.
func repeated(offered map[string]json.RawMessage) map[string]json.RawMessage {
	const name = "payment-identifier"
	all := maps.Clone(offered)
	var e, info map[string]json.RawMessage
	if json.Unmarshal(offered[name], &e) != nil || json.Unmarshal(e["info"], &info) != nil || info == nil {
		return all
	}
	info["id"] = json.RawMessage(strconv.Quote("ctx_" + rand.Text()))
	e["info"], _ = json.Marshal(info) // which is from JSON, as e is
	all[name], _ = json.Marshal(e)
	return all
}

// authorized reports whether the token of e says that it was settled. That it was not is known once there is a block after its end.
func (p *Payer) authorized(ctx context.Context, e entry) (used, known bool) {
	if p.chain == nil || p.cfg.ChainID != e.ChainID {
		return false, false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if p.CheckChain(ctx) != nil {
		return false, false
	}
	head, err := p.chain.HeaderByNumber(ctx, nil)
	if err != nil {
		return false, false
	}
	token := common.HexToAddress(e.Token)
	// authorizationState(address,bytes32)
	data := append(hexutil.MustDecode("0xe94a0102"), addressWord(e.Payer)...)
	answer, err := p.chain.CallContract(ctx, ethereum.CallMsg{To: &token, Data: append(data, common.FromHex(e.Exact.Nonce)...)}, nil)
	if err != nil || len(answer) != common.HashLength {
		return false, false
	}
	used = new(big.Int).SetBytes(answer).Sign() != 0
	return used, used || int64(head.Time) > e.Until
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
