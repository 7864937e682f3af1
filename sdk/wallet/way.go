package wallet

import (
	"context"
	"fmt"
	"math/big"
	"slices"
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

// way is how a request is paid.
type way struct {
	accept sdk.Accept
	asset  Asset
	amount usdg.Amount
	payTo  string // in the spelling of EIP-55
}

// judge chooses the cheapest way to pay q, and says whether it may be paid now, after what the journal has.
func (a *Authorizer) judge(ctx context.Context, q sdk.ExactQuote, past []entry) (way, error) {
	w, err := a.choose(q)
	if err == nil {
		err = checkStopped(q.Service, past)
	}
	if err == nil {
		err = a.allow(q.Pack, w.amount, past)
	}
	if err == nil {
		err = a.afford(ctx, w)
	}
	return w, err
}

// allow says whether amount may be paid now: for a pack of credits what it costs, for a call what the policy allows.
func (a *Authorizer) allow(pack api.CreditPack, amount usdg.Amount, past []entry) error {
	if pack == "" {
		return a.cfg.Policy.allow(amount, 0, past, a.cfg.Now())
	}
	if offer, ok := pack.Offer(); !ok || amount != usdg.Amount(offer.PriceMicros) {
		return fmt.Errorf("%w: the service wants %s for the credit pack %s, which costs %s", ErrPolicy, amount, quote(string(pack)),
			usdg.Amount(offer.PriceMicros))
	}
	return nil
}

// choose is the cheapest way of q that the wallet can pay by. Tokens are dollars, so their amounts compare.
func (a *Authorizer) choose(q sdk.ExactQuote) (way, error) {
	var ways []way
	var whyNot []string
	for _, accept := range q.Accepts {
		w, err := a.read(accept)
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
func (a *Authorizer) read(accept sdk.Accept) (way, error) {
	w := way{accept: accept}
	chain, ok := chainOf(accept.Network)
	if accept.Scheme != api.SchemeExact {
		return w, fmt.Errorf("the scheme is %s, not exact", quote(accept.Scheme))
	}
	if !ok || !isAddress(accept.Asset) {
		return w, fmt.Errorf("the network %s or the asset %s is not of an EVM chain", quote(accept.Network), quote(accept.Asset))
	}
	i := slices.IndexFunc(a.cfg.Assets, func(known Asset) bool { return known.is(chain, accept.Asset) })
	if i < 0 {
		return w, fmt.Errorf("%s on %s is not among the assets of the settings", quote(accept.Asset), accept.Network)
	}
	w.asset = a.cfg.Assets[i]
	var err error
	if w.payTo, err = a.checkRest(accept, w.asset); err != nil {
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
func (a *Authorizer) checkRest(accept sdk.Accept, asset Asset) (payTo string, err error) {
	x := accept.Extra
	switch {
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
	if to := common.HexToAddress(payTo); to == (common.Address{}) || to == common.HexToAddress(asset.Token) || payTo == a.address {
		return "", fmt.Errorf("the recipient %s is the zero address, the token or the wallet itself", payTo)
	}
	return payTo, nil
}

// patience is how long a node is asked that nothing depends on.
const patience = 3 * time.Second

// afford says that the wallet has not enough, where a node can tell. A node that does not answer keeps nobody from paying.
func (a *Authorizer) afford(ctx context.Context, w way) error {
	if a.chain == nil || a.cfg.ChainID != w.asset.ChainID {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	have, err := a.chain.tokens(ctx, common.HexToAddress(w.asset.Token), common.HexToAddress(a.address))
	if err != nil || have.Cmp(big.NewInt(int64(w.amount))) >= 0 {
		return nil
	}
	return fmt.Errorf("%w: %s has %s %s on %s, the call costs %s", ErrNoFunds, a.address, usdg.Amount(have.Int64()), w.asset.Symbol,
		w.asset.Network(), w.amount)
}

// Preview returns the expected result of paying q. It signs nothing.
func (a *Authorizer) Preview(ctx context.Context, q sdk.ExactQuote) (ExactPreview, error) {
	past, err := a.journal.all()
	if err != nil {
		return ExactPreview{}, err
	}
	w, err := a.judge(ctx, q, past)
	v := ExactPreview{Amount: w.amount, Asset: w.asset, Recipient: w.payTo}
	if err == nil {
		var pins []Pin
		if pins, err = a.journal.pins(); err != nil {
			return v, err
		}
		if i := slices.IndexFunc(pins, func(p Pin) bool { return p.Service == q.Service }); i >= 0 {
			err = checkRecipient(q.Service, pins[i].Recipient, w.payTo)
		}
	}
	if err != nil {
		v.Refusal = err.Error()
	}
	return v, nil
}

// ExactPreview is the expected result of paying an ExactQuote.
type ExactPreview struct {
	Amount    usdg.Amount
	Asset     Asset // zero where the service takes no payment that the wallet makes
	Recipient string
	Refusal   string // why it would not be paid; "" if it would be
}

// authorized reports whether the token of e says that it was settled. That it was not is known once there is a block after its end.
func (p *Payer) authorized(ctx context.Context, e entry) (used, known bool) {
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
