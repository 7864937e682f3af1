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
	Service string // base URL
	Request string // method, path and query; for a purchase, deposit and its id
	Price   int64  // what is published as the price of the request, in micro-USDG; 0 where nothing is
	// Purchase is one of credits, to the price of whose Pack somebody has consented. It is nil for calls, which alone bounds are about.
	Purchase *api.DepositIntent
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

	answer *Response // what the service said instead, nil if nothing came
}

// Error names the transaction and the cause.
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

// PayTransport is an http.RoundTripper that pays for single requests. Where the service answers 402 with a quote, it has the Payer pay and
// sends the same request again with the proof, once. Everything else passes through it untouched, and it pays for nothing outside Service,
// nor for a body that cannot be sent a second time (no GetBody).
//
// The answer to a paid request is read whole before the Payer is told that it came; its Request is the one with the proof. What is not an
// answer, such as a lost connection, a redirect, a failure or another 402, is a *PaidError, so that nobody takes it for an unpaid one. Only
// after a 402 is the payment spent: a request that is sent again, by the caller or after a crash, gets the same proof from the Payer. A
// request that carries a proof already is taken for a paid one.
//
// It is safe for concurrent use if the Payer is.
type PayTransport struct {
	Payer   Payer             // nil pays for nothing
	Service string            // base URL, as quotes and the journal of the Payer name the service
	Base    http.RoundTripper // sends the requests; nil means http.DefaultTransport

	// Name is what a request is called in a Quote, the same for the same. Nil means method, path and query.
	Name func(*http.Request) string
	// Price is what is published as the price of a request, in micro-USDG, 0 where nothing is. Nil means that of the operation at its path.
	Price func(*http.Request) int64
	// Answered says why the body of a 2xx is no answer that was paid for. Nil takes each for one.
	Answered func(r *http.Request, body []byte) error
	// Patience is how often the proof is shown again after a 503, by which a service says that it does not see the payment yet.
	Patience int
}

// RoundTrip sends r, and pays for it if the service asks for that.
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
