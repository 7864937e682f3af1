package sdk

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/contextd/contextd/sdk/api"
)

// Payer pays quotes. *wallet.Payer of sdk/wallet is one.
type Payer interface {
	// Pay pays q, unless its own rules forbid it, and returns the proof. Asked again for the same request before Settled was called, it
	// returns the payment that it made before: it never pays twice for one request.
	Pay(ctx context.Context, q Quote) (api.PaymentProof, error)
	// Settled is told what became of a payment: nil when its call was answered, or the error that the service refused it with for good.
	Settled(p api.PaymentProof, refused error) error
}

// Quote is what a service asks for a request.
type Quote struct {
	api.PaymentRequirements
	Service  string             // base URL
	Request  string             // method, path and query; for a purchase, deposit and its id
	Purchase *api.DepositIntent // of credits, to the price of whose Pack somebody has consented; nil for calls, which alone bounds are about
}

// WithPayer lets calls without a key be paid one by one. Without it, a call that has to be paid fails with ErrPaymentRequired, whose
// Payment is the quote.
func WithPayer(p Payer) Option {
	return func(o *options) error { o.payer = p; return nil }
}

// PaidError says that a call was paid for and not answered. Asking again for the same with the same Payer sends the same payment.
type PaidError struct {
	Proof api.PaymentProof
	Err   error
}

// Error names the transaction and the cause.
func (e *PaidError) Error() string {
	return fmt.Sprintf("paid with %s, not answered: %v", e.Proof.TxHash, e.Err)
}

// Unwrap returns the cause.
func (e *PaidError) Unwrap() error { return e.Err }

// purse pays for one call, once.
type purse struct {
	payer  Payer
	client *Client
	proof  *api.PaymentProof // nil until it has paid
}

// send sends a request, pays if that is asked for, and sends it again. What was paid is sent with every further attempt.
func (p *purse) send(ctx context.Context, r Request, target *url.URL, send func(proof string) (*Response, error)) (*Response, error) {
	if p.proof == nil {
		resp, err := send("")
		var refused *api.Error
		if p.payer == nil || !errors.As(err, &refused) || refused.Payment == nil {
			return resp, err
		}
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		proof, err := p.payer.Pay(ctx, Quote{PaymentRequirements: *refused.Payment, Service: p.client.BaseURL(), Request: method + " " + target.RequestURI()})
		if err != nil {
			return resp, fmt.Errorf("pay %s %s: %w", refused.Payment.Amount, refused.Payment.Asset, err)
		}
		p.proof = &proof
	}
	text, err := json.Marshal(p.proof)
	if err != nil {
		return nil, fmt.Errorf("encode proof: %w", err)
	}
	resp, err := send(base64.StdEncoding.EncodeToString(text))
	if err == nil {
		return resp, p.payer.Settled(*p.proof, nil)
	}
	var refused *api.Error
	if errors.As(err, &refused) && refused.Status == http.StatusPaymentRequired {
		err = errors.Join(err, p.payer.Settled(*p.proof, refused))
	}
	return resp, &PaidError{Proof: *p.proof, Err: err}
}
