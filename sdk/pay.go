package sdk

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Payer pays quotes. An implementation is *wallet.Payer of sdk/wallet.
type Payer interface {
	// Pay pays q if its rules allow it, and returns the proof. For the same request it returns the same payment until Settled is called: it
	// never pays twice for one request.
	Pay(ctx context.Context, q Quote) (api.PaymentProof, error)
	// Settled records the outcome of a payment: nil after the answer, or the error of a final refusal.
	Settled(p api.PaymentProof, refused error) error
}

// Quote is the price that a service asks for a request.
type Quote struct {
	api.PaymentRequirements
	Service string // base URL
	Request string // method, path and query; for a purchase, deposit and its id
	Price   int64  // published price of the request in micro-USDG; 0 for none
	// Purchase is set for a purchase of credits at the agreed price of its Pack. It is nil for calls; only calls have bounds.
	Purchase *api.DepositIntent
}

// WithPayer pays for single calls without a key. Without it, such a call fails with ErrPaymentRequired, whose Payment is the quote.
func WithPayer(p Payer) Option {
	return func(o *options) error { o.payer = p; return nil }
}

// PaidError reports a paid call without an answer. The same call with the same Payer sends the same payment again.
type PaidError struct {
	Proof api.PaymentProof
	Err   error

	answer *Response // what the service said instead, nil if nothing came
}

// Error returns the transaction and the cause.
func (e *PaidError) Error() string {
	return fmt.Sprintf("paid with %s, not answered: %v", e.Proof.TxHash, e.Err)
}

// Unwrap returns the cause.
func (e *PaidError) Unwrap() error { return e.Err }

// unpaidError says that a Payer did not pay.
type unpaidError struct {
	asked  api.PaymentRequirements
	err    error
	answer *Response // the 402
}

func (e *unpaidError) Error() string {
	return fmt.Sprintf("pay %s %s: %v", e.asked.Amount, e.asked.Asset, e.err)
}

func (e *unpaidError) Unwrap() error { return e.err }

// PayTransport is an http.RoundTripper that pays for single requests. When the service answers 402 with a quote, the Payer pays, and the
// transport repeats the request once with the proof. Other requests pass unchanged: it does not pay outside Service, or for bodies that
// cannot be sent twice (without GetBody).
//
// It reads the whole answer to a paid request before it calls Settled; the Request of the answer is the one with the proof. A lost
// connection, a redirect, a failure or another 402 is a *PaidError, distinct from the errors of unpaid requests. A payment is spent only
// after a 402: the same request again, by the caller or after a crash, gets the same proof from the Payer. A request that carries a proof
// counts as paid.
//
// It is safe for concurrent use if the Payer is.
type PayTransport struct {
	Payer   Payer             // nil pays for nothing
	Service string            // base URL, as quotes and the journal of the Payer name the service
	Base    http.RoundTripper // sends the requests; nil means http.DefaultTransport

	// Name returns the name of a request in a Quote, the same for equal requests. Nil means method, path and query.
	Name func(*http.Request) string
	// Price returns the published price of a request in micro-USDG, 0 for none. Nil means that of the operation at its path.
	Price func(*http.Request) int64
	// Answered returns an error if the body of a 2xx is not a paid answer. Nil accepts every 2xx.
	Answered func(r *http.Request, body []byte) error
	// Patience is the number of times to repeat the proof after a 503, with which a service reports that it does not see the payment yet.
	Patience int
}

// RoundTrip sends r, and pays for it if the service asks.
func (t *PayTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ours := strings.HasPrefix(r.URL.String(), strings.TrimSuffix(t.Service, "/")+"/")
	once := r.Body != nil && r.Body != http.NoBody && r.GetBody == nil
	if t.Payer == nil || !ours || once {
		return t.base().RoundTrip(r)
	}
	if header := r.Header.Get(api.HeaderPayment); header != "" {
		var proof api.PaymentProof
		if text, err := base64.StdEncoding.DecodeString(header); err == nil && json.Unmarshal(text, &proof) == nil {
			return t.show(r, proof, header)
		}
		return t.base().RoundTrip(r)
	}
	resp, err := t.base().RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusPaymentRequired {
		return resp, err
	}
	text, err := readAnswer(r, resp)
	if err != nil {
		return nil, err
	}
	asked := decodeError(resp, text).Payment
	if asked == nil {
		return resp, nil
	}
	proof, err := t.Payer.Pay(r.Context(), Quote{
		PaymentRequirements: *asked, Service: t.Service, Request: t.name(r), Price: t.price(r),
	})
	if err != nil {
		return nil, &unpaidError{*asked, err, newResponse(resp, text)}
	}
	header, err := encodeProof(proof)
	if err != nil {
		return nil, &PaidError{Proof: proof, Err: err}
	}
	return t.show(r, proof, header)
}

// show sends r with a proof until it is answered, and tells the Payer.
func (t *PayTransport) show(r *http.Request, proof api.PaymentProof, header string) (*http.Response, error) {
	for n := 0; ; n++ {
		resp, text, err := resend(t.base(), r, api.HeaderPayment, header)
		if err != nil {
			return nil, &PaidError{Proof: proof, Err: err}
		}
		unanswered := func(err error) error { return &PaidError{proof, err, newResponse(resp, text)} }
		switch {
		case resp.StatusCode/100 == 2:
			if t.Answered != nil {
				err = t.Answered(r, text)
			}
			if err == nil {
				err = t.Payer.Settled(proof, nil)
			}
			if err != nil {
				return nil, unanswered(err)
			}
			return resp, nil
		case resp.StatusCode == http.StatusPaymentRequired:
			refused := decodeError(resp, text)
			return nil, unanswered(errors.Join(refused, t.Payer.Settled(proof, refused)))
		case resp.StatusCode == http.StatusServiceUnavailable && n < t.Patience:
			if err := sleep(r.Context(), max(retryAfter(resp.Header), firstShown)); err == nil {
				continue
			}
		}
		return nil, unanswered(decodeError(resp, text))
	}
}

// firstShown is how soon a proof is shown again where the service does not say.
const firstShown = 100 * time.Millisecond

// resend sends r again with a header more, and reads the whole answer.
func resend(base http.RoundTripper, r *http.Request, name, value string) (*http.Response, []byte, error) {
	paid := r.Clone(r.Context())
	paid.Header.Set(name, value)
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, nil, fmt.Errorf("read the request again: %w", err)
		}
		paid.Body = body
	}
	resp, err := base.RoundTrip(paid)
	if err != nil {
		return nil, nil, transportError(paid, 1, err)
	}
	resp.Request = paid
	text, err := readAnswer(paid, resp)
	return resp, text, err
}

// base is what requests are sent with.
func (t *PayTransport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// name is what r is called in the journal of the Payer.
func (t *PayTransport) name(r *http.Request) string {
	if t.Name != nil {
		return t.Name(r)
	}
	return r.Method + " " + r.URL.RequestURI()
}

// price is what is published as the price of r.
func (t *PayTransport) price(r *http.Request) int64 {
	if t.Price != nil {
		return t.Price(r)
	}
	_, path, _ := strings.Cut(strings.TrimPrefix(r.URL.String(), strings.TrimSuffix(t.Service, "/")), "/")
	path, _, _ = strings.Cut(path, "?")
	op, ok := api.OpAt("/" + path)
	if !ok {
		return 0
	}
	return op.PriceMicros()
}

func encodeProof(proof api.PaymentProof) (string, error) {
	text, err := json.Marshal(proof)
	if err != nil {
		return "", fmt.Errorf("encode proof: %w", err)
	}
	return base64.StdEncoding.EncodeToString(text), nil
}
