package x402

import (
	"cmp"
	"context"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// ServiceName is what the service is called in catalogues of x402, which allow 32 printable ASCII characters.
const ServiceName = "contextd"

// Settlers are those of a service, one for each chain and token of standard x402, in the order of the offer.
type Settlers []*Settler

// Offer returns the payment request of standard x402 for sub on all rails that can settle now, without the URL of the resource. ok is false
// if none can.
func (r Settlers) Offer(sub Subject) (offer api.StandardRequired, ok bool) {
	for _, s := range r {
		one, settles := s.Offer(sub)
		switch {
		case !settles:
		case !ok:
			offer, ok = one, true
		default:
			offer.Accepts = append(offer.Accepts, one.Accepts...)
		}
	}
	return offer, ok
}

// Refusal returns the answer of standard x402 to a payer whose payment was refused for reason.
func (r Settlers) Refusal(e Exact, reason api.Reason) api.StandardReceipt {
	s := r.of(e)
	if s == nil {
		s = r[0]
	}
	return s.Refusal(e, reason)
}

// ClaimExact claims a payment for a request, on the rail of the payer's network and token. While another request holds it, ClaimExact
// waits.
func (r Settlers) ClaimExact(ctx context.Context, e Exact, sub Subject) (*Claim, error) {
	if s := r.of(e); s != nil {
		return s.ClaimExact(ctx, e, sub)
	}
	if len(r) == 0 {
		return nil, api.Errorf(api.ReasonPaymentsDisabled, "this service settles no payments").
			WithHint("send Authorization: Bearer <API_KEY>")
	}
	var networks []string
	for _, s := range r {
		networks = append(networks, s.network())
	}
	return nil, refusedExact(api.ReasonWrongNetwork, "the payment is for %q, not %s", e.Network, strings.Join(networks, " or "))
}

// of is the rail that a payment is for: the first of its network with its token, else the first of its network, which says that the token
// is another. A payment that names no network may be for any.
func (r Settlers) of(e Exact) (near *Settler) {
	for _, s := range r {
		switch {
		case e.Network != "" && e.Network != s.network():
		case e.Asset == "" || usdg.SameAddress(e.Asset, s.cfg.Token):
			return s
		case near == nil:
			near = s
		}
	}
	return near
}

// network is how standard x402 names the chain.
func (s *Settler) network() string { return "eip155:" + strconv.FormatInt(s.cfg.ChainID, 10) }

// Offer returns the payment request of standard x402 for sub, without the URL of the resource. ok is false if nothing can be settled.
func (s *Settler) Offer(sub Subject) (offer api.StandardRequired, ok bool) {
	price := sub.Price()
	if price == 0 || s.gas.closed(price) != nil || sub.Pack != "" && s.cfg.Shop == nil {
		return offer, false
	}
	why := "Payment required"
	if sub.Pack != "" && !s.cfg.Shop.SignupOpen() {
		why = "Payment required, from a wallet that signs in to an account here: sign-up is not open"
	}
	return api.StandardRequired{
		X402Version: api.X402Version, Error: why,
		Resource: api.StandardResource{Description: sub.name(), MimeType: "application/json", ServiceName: ServiceName},
		Accepts: []api.StandardAccept{{
			Scheme: api.SchemeExact, Network: s.network(), Amount: strconv.FormatInt(price, 10), Asset: s.cfg.Token, PayTo: s.cfg.Treasury,
			MaxTimeoutSeconds: int(offeredLife / time.Second),
			Extra:             api.StandardExtra{Name: s.cfg.Domain.Name, Version: s.cfg.Domain.Version, AssetTransferMethod: "eip3009"},
		}},
		Extensions: map[string]api.StandardExtension{
			"payment-identifier": {Info: map[string]any{"required": false}, Schema: map[string]any{}},
		},
	}, true
}

// Refusal returns the answer of standard x402 to a payer whose payment was refused for reason.
func (s *Settler) Refusal(e Exact, reason api.Reason) api.StandardReceipt {
	return api.StandardReceipt{ErrorReason: cmp.Or(e.Fault, reason.Standard()), Network: s.network(), Payer: e.From}
}

// receipt is the receipt of a payment that was settled by a transaction.
func (s *Settler) receipt(payer string, hash [32]byte) *api.StandardReceipt {
	return &api.StandardReceipt{Success: true, Transaction: "0x" + hex.EncodeToString(hash[:]), Network: s.network(), Payer: payer}
}
