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

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// ExactPayer pays by the scheme exact of x402, version 2: with authorizations that the service settles. An implementation is
// *wallet.Authorizer of sdk/wallet.
type ExactPayer interface {
	// Authorize returns the payment for q if its rules allow it. For the same request it returns the same payment while that can be
	// settled, and never signs a second one meanwhile.
	Authorize(ctx context.Context, q ExactQuote) (ExactPayment, error)
	// Concluded records the outcome of a payment. A payment without an outcome may be sent again.
	Concluded(ctx context.Context, p ExactPayment, o ExactOutcome) error
}

// ExactQuote is the price that a service asks for a request.
type ExactQuote struct {
	Required

	Service string // scheme and host
	Request string // method, path and query, and what else tells the request from others
	Bare    bool   // Request says all of it

	Pack api.CreditPack // the pack to buy at its agreed price; "" for calls; only calls have bounds
}

// ExactPayment is a signed authorization. Anyone with its Payload can settle it, so send it only to its service.
type ExactPayment struct {
	ID      string // the nonce of the authorization
	Payer   string
	Asset   string // symbol of the token, such as USDC
	Amount  string // decimal
	Network string
	Until   time.Time
	Lapsed  bool            // it is over: nothing can be settled, and an answer is given again at most
	Payload json.RawMessage // as sent: base64 in a header, or in the parameters of a tool
}

// String identifies the payment without the Payload.
func (p ExactPayment) String() string {
	return fmt.Sprintf("%s %s on %s, authorization %s", p.Amount, p.Asset, p.Network, p.ID)
}

// GoString is String.
func (p ExactPayment) GoString() string { return p.String() }

// ExactOutcome is the outcome of a payment.
type ExactOutcome struct {
	Receipt *api.StandardReceipt // from the service; nil if none
	Refused error                // the refusal; nil after an answer, or a settlement without one
	Settled bool                 // settled, and not answered
}

// AuthorizedError reports an authorization sent for a call without an answer. The same call with the same ExactPayer sends the same
// authorization again.
type AuthorizedError struct {
	Payment ExactPayment
	Receipt *api.StandardReceipt // from the service; nil if none
	Refused bool                 // the service has refused it
	Err     error
}

// Error returns the payment and the cause.
func (e *AuthorizedError) Error() string {
	return fmt.Sprintf("authorized %s, not answered: %v", e.Payment, e.Err)
}

// Unwrap returns the cause.
func (e *AuthorizedError) Unwrap() error { return e.Err }

// ExactTransport is an http.RoundTripper that pays by x402, version 2, scheme exact. When Service answers 402 with PAYMENT-REQUIRED, the
// Payer authorizes the payment, and the transport repeats the request with PAYMENT-SIGNATURE. Other requests pass unchanged: it does not
// pay outside Service, for bodies without GetBody, or for requests that already carry a payment.
//
// It reads the whole answer to a paid request before it calls Concluded. An answer other than a 2xx is an *AuthorizedError.
//
// It is safe for concurrent use if the Payer is.
type ExactTransport struct {
	Payer    ExactPayer
	Service  string                                       // scheme and host, as the journal of the Payer names the service
	Base     http.RoundTripper                            // sends the requests
	Name     func(*http.Request) (name string, bare bool) // name of a request in an ExactQuote, and whether it says all of it
	Pack     api.CreditPack                               // bought by a request; "" for calls
	Patience int                                          // repetitions of a payment after a 503 or 429
	Tell     func(ExactPayment, *api.StandardReceipt)     // called for each paid answer; may be nil
}

// RoundTrip sends r, and pays for it if the service asks.
func (t *ExactTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	once := r.Body != nil && r.Body != http.NoBody && r.GetBody == nil
	paid := r.Header.Get(api.HeaderPayment) != "" || r.Header.Get(api.HeaderSignature) != ""
	resp, err := t.Base.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusPaymentRequired || once || paid || r.URL.Scheme+"://"+r.URL.Host != t.Service {
		return resp, err
	}
	required, err := requiredBy(r, resp)
	if err != nil {
		_ = resp.Body.Close() // there is nothing to write
		return nil, err
	}
	if required == nil {
		return resp, nil
	}
	_ = resp.Body.Close() // there is nothing to write
	q := ExactQuote{Required: *required, Service: t.Service, Pack: t.Pack}
	q.Request, q.Bare = t.Name(r)
	return PayExact(r.Context(), t.Payer, q, func(p ExactPayment) (*http.Response, error) { return t.show(r, p) })
}

// PayExact has a payment authorized and shown. One that has lapsed is shown in case its answer is given again, and then another is made.
func PayExact[T any](ctx context.Context, payer ExactPayer, q ExactQuote, show func(ExactPayment) (T, error)) (T, error) {
	for again := false; ; again = true {
		var none T
		p, err := payer.Authorize(ctx, q)
		if err != nil {
			return none, err
		}
		answer, err := show(p)
		var not *AuthorizedError
		if again || !p.Lapsed || !errors.As(err, &not) || !not.Refused {
			return answer, err
		}
	}
}

// show sends r with a payment until it is answered, and tells the Payer.
func (t *ExactTransport) show(r *http.Request, p ExactPayment) (*http.Response, error) {
	done := context.WithoutCancel(r.Context()) // what is known is noted
	for n := 0; ; n++ {
		resp, text, err := resend(t.Base, r, api.HeaderSignature, base64.StdEncoding.EncodeToString(p.Payload))
		if err != nil {
			return nil, t.lost(done, p, resp, err)
		}
		if n < t.Patience && passes(r.Context(), resp) {
			continue
		}
		o := ExactOutcome{Receipt: receiptOf(resp.Header)}
		switch {
		case resp.StatusCode/100 == 2:
			err = t.Payer.Concluded(done, p, o)
			if err == nil && t.Tell != nil {
				t.Tell(p, o.Receipt)
			}
			if err == nil {
				return resp, nil
			}
		case resp.StatusCode == http.StatusPaymentRequired, p.Lapsed && resp.StatusCode/100 == 4:
			o.Refused = p.refusal(resp, text, o.Receipt)
			err = errors.Join(o.Refused, t.Payer.Concluded(done, p, o))
		case o.Receipt != nil && o.Receipt.Success:
			o.Settled = true
			err = errors.Join(decodeError(resp, text), t.Payer.Concluded(done, p, o))
		default:
			err = decodeError(resp, text)
		}
		return nil, &AuthorizedError{Payment: p, Receipt: o.Receipt, Refused: o.Refused != nil, Err: err}
	}
}

// passes waits as long as a service asks for that is still settling, or busy, and reports whether it is to be asked again.
func passes(ctx context.Context, resp *http.Response) bool {
	wait := max(retryAfter(resp.Header), firstShown)
	later := resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusTooManyRequests
	return later && wait <= longestHeeded && sleep(ctx, wait) == nil
}

// lost says that err has kept the answer to p away, of which resp is the beginning, if it has come.
func (t *ExactTransport) lost(ctx context.Context, p ExactPayment, resp *http.Response, err error) error {
	not := &AuthorizedError{Payment: p, Err: err}
	if resp == nil {
		return not
	}
	if not.Receipt = receiptOf(resp.Header); not.Receipt != nil && not.Receipt.Success {
		not.Err = errors.Join(err, t.Payer.Concluded(ctx, p, ExactOutcome{Receipt: not.Receipt, Settled: true}))
	}
	return not
}

// refusal is why a service says, with an answer, that it refuses p.
func (p ExactPayment) refusal(resp *http.Response, body []byte, receipt *api.StandardReceipt) error {
	if receipt != nil && receipt.ErrorReason != "" {
		return fmt.Errorf("status %d: %s", resp.StatusCode, receipt.ErrorReason)
	}
	text, err := decode64(resp.Header.Get(api.HeaderRequired))
	if err != nil || len(text) == 0 {
		return decodeError(resp, body)
	}
	return p.Refusal(text)
}

// Refusal returns the reason in a repeated payment request with which a service refuses p.
func (p ExactPayment) Refusal(required []byte) error {
	var paid struct{ Accepted Accept }
	_ = json.Unmarshal(p.Payload, &paid) // which is ours
	asked, err := ParseRequired(required)
	if err != nil {
		return err
	}
	for _, a := range asked.Accepts {
		was := paid.Accepted
		same := a.Network == was.Network && strings.EqualFold(a.Asset, was.Asset)
		if same && (a.Amount != was.Amount || !strings.EqualFold(a.PayTo, was.PayTo)) {
			return fmt.Errorf("it now wants %s at %s, and wanted %s at %s", human.Short(a.Amount, human.Quoted),
				human.Short(a.PayTo, human.Quoted), was.Amount, was.PayTo)
		}
	}
	var said struct{ Error string }
	if _ = json.Unmarshal(required, &said); said.Error == "" {
		said.Error = "it asks for a payment again"
	}
	return errors.New(human.Short(said.Error, maxSaid))
}

// maxSaid is how much is quoted of why a service refuses a payment.
const maxSaid = 200
