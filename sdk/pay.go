package sdk

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Payer pays quotes. An implementation is *wallet.Payer of sdk/wallet.
type Payer interface {
	// Pay pays q if its rules allow it, and returns the payment. For the same request it returns the same payment until Conclude is called:
	// it never pays twice for one request. An error of Unable says that another scheme may do.
	Pay(ctx context.Context, q Quote) (Payment, error)
	// Conclude records the outcome of a payment. A payment without an outcome, or with one that is Unanswered, may be sent again.
	Conclude(ctx context.Context, p Payment, o Outcome) error
}

// Quote is the price that a service asks for a request: for a transfer, which the Payer makes, or by the scheme exact of x402.
type Quote struct {
	api.PaymentRequirements           // of a transfer; zero if Exact is set
	Exact                   *Required // nil for a transfer

	Service string // base URL; of a purchase by the scheme exact, scheme and host
	Request string // method, path and query, and what else tells the request from others; for a purchase, deposit and its id
	Bare    bool   // Request says all of it
	// Canonical is the CanonicalRequest of Request, which is the same however a request is spelled; "" for other services than this one.
	Canonical string
	Price     int64 // published price of the request in micro-USDG; 0 for none

	// Purchase is set for a purchase of credits by transfer, at the agreed price of its Pack, and Pack for one by the scheme exact. Both
	// are zero for calls; only calls have bounds.
	Purchase *api.DepositIntent
	Pack     api.CreditPack
}

// Payment is a payment for a request. Anyone with the Payload of an authorization can settle it, so send it only to its service.
type Payment struct {
	Scheme  string // api.SchemeX402 for a transfer, api.SchemeExact for an authorization
	ID      string // hash of the transaction, or nonce of the authorization
	Payer   string
	Asset   string // symbol of the token, such as USDC
	Amount  string // decimal
	Network string
	Until   time.Time
	Lapsed  bool            // an authorization that is over: nothing can be settled, and an answer is given again at most
	Payload json.RawMessage // as sent: base64 in a header, or in the parameters of a tool
}

// String identifies the payment without the Payload.
func (p Payment) String() string {
	if p.Scheme == api.SchemeExact {
		return fmt.Sprintf("%s %s on %s, authorization %s", p.Amount, p.Asset, p.Network, p.ID)
	}
	return "transaction " + p.ID
}

// GoString is String.
func (p Payment) GoString() string { return p.String() }

// TransferPayment is the payment that a proof shows.
func TransferPayment(proof api.PaymentProof) Payment {
	text, _ := json.Marshal(proof) // texts can always be written
	return Payment{Scheme: api.SchemeX402, ID: proof.TxHash, Payer: proof.Payer, Network: proof.Network, Payload: text}
}

// Outcome is the outcome of a payment.
type Outcome struct {
	Receipt *api.StandardReceipt // from the service; nil if none
	Refused error                // the refusal; nil after an answer, or a settlement without one
	Settled bool                 // settled, and not answered

	Unanswered error // why no answer came, or none that can be used; nil otherwise
}

// unableError is why a quote cannot be paid by its scheme.
type unableError struct{ error }

// Unwrap returns the cause.
func (e unableError) Unwrap() error { return e.error }

// Unable is err of a Payer that cannot pay by the scheme of a quote now, and has paid nothing: another scheme may do.
func Unable(err error) error { return unableError{err} }

// IsUnable reports whether err says that another scheme may do.
func IsUnable(err error) bool {
	_, unable := errors.AsType[unableError](err)
	return unable
}

// WithPayer pays for single calls without a key: by transfer or, where the Payer cannot make one, by standard x402. Without it, such a call
// fails with ErrPaymentRequired, whose Payment is the quote.
func WithPayer(p Payer) Option {
	return func(o *options) error { o.payer = p; return nil }
}

// PaidError reports a paid call without an answer. The same call with the same Payer sends the same payment again.
type PaidError struct {
	Payment Payment
	Receipt *api.StandardReceipt // of an authorization, from the service; nil if none
	Refused bool                 // the service has refused the payment
	Err     error

	answer *Response // what the service said instead, nil if nothing came
}

// Error returns the payment and the cause.
func (e *PaidError) Error() string {
	if e.Payment.Scheme == api.SchemeExact {
		return fmt.Sprintf("authorized %s, not answered: %v", e.Payment, e.Err)
	}
	return fmt.Sprintf("paid with %s, not answered: %v", e.Payment.ID, e.Err)
}

// Unwrap returns the cause.
func (e *PaidError) Unwrap() error { return e.Err }

// unpaidError says that a Payer did not make a transfer.
type unpaidError struct {
	asked  api.PaymentRequirements
	err    error
	answer *Response // the 402
}

func (e *unpaidError) Error() string {
	return fmt.Sprintf("pay %s %s: %v", e.asked.Amount, e.asked.Asset, e.err)
}

func (e *unpaidError) Unwrap() error { return e.err }

// PayTransport is an http.RoundTripper that pays for single requests. When the service answers 402 and asks for a payment by one of the
// Schemes, the Payer pays, and the transport repeats the request once with the payment. Other requests pass unchanged: it does not pay
// outside Service, or for bodies that cannot be sent twice (without GetBody). A scheme by which the Payer is Unable to pay gives way to the
// next one that the service takes.
//
// It reads the whole answer to a paid request before it calls Conclude; the Request of the answer is the one with the payment. A lost
// connection, a redirect, a failure or another 402 is a *PaidError, distinct from the errors of unpaid requests. A payment is spent only
// after a 402: the same request again, by the caller or after a crash, gets the same payment from the Payer. A request that carries the
// proof of a transfer counts as paid; one that carries an authorization passes unchanged.
//
// It is safe for concurrent use if the Payer is.
type PayTransport struct {
	Payer   Payer             // nil pays for nothing
	Service string            // base URL, as quotes and the journal of the Payer name the service
	Base    http.RoundTripper // sends the requests; nil means http.DefaultTransport
	Schemes []Scheme          // ways to pay, the preferred first; nil means Transfer

	// Name returns the name of a request in a Quote, the same for equal requests, and whether it says all of the request. Nil means method,
	// path and query.
	Name func(*http.Request) (name string, bare bool)
	// Price returns the published price of a request in micro-USDG, 0 for none. Nil means that of the operation at its path.
	Price func(*http.Request) int64
	// Pack is bought by a request; "" for calls.
	Pack api.CreditPack
	// Answered returns an error if the body of a 2xx is not a paid answer. Nil accepts every 2xx.
	Answered func(r *http.Request, body []byte) error
	// Notify is called for each paid answer with its receipt, nil if there is none. It may be nil.
	Notify func(Payment, *api.StandardReceipt)
	// Patience is the number of times to repeat the payment after a 503, with which a service reports that it does not see the payment yet,
	// and an authorization also after a 429.
	Patience int
}

// RoundTrip sends r, and pays for it if the service asks.
func (t *PayTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	once := r.Body != nil && r.Body != http.NoBody && r.GetBody == nil
	if t.Payer == nil || !t.ours(r) || once || r.Header.Get(api.HeaderSignature) != "" {
		return t.base().RoundTrip(r)
	}
	schemes := t.Schemes
	if schemes == nil {
		schemes = []Scheme{Transfer{}}
	}
	if header := r.Header.Get(api.HeaderPayment); header != "" {
		if p, ok := shownIn(header); ok && slices.Contains(schemes, Scheme(Transfer{})) {
			return t.show(r, p)
		}
		return t.base().RoundTrip(r)
	}
	resp, err := t.base().RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusPaymentRequired {
		return resp, err
	}
	var unable error
	for _, s := range schemes {
		q, err := s.quote(r, resp)
		if err != nil {
			_ = resp.Body.Close() // there is nothing to write
			return nil, err
		}
		if q == nil {
			continue
		}
		q.Service, q.Price, q.Pack = t.Service, t.price(r), t.Pack
		if q.Request, q.Bare = t.name(r); t.Name == nil {
			q.Canonical = CanonicalRequest(t.Service, q.Request)
		}
		answer, err := t.pay(r, *q, resp)
		_, paid := errors.AsType[*PaidError](err)
		if err != nil && !paid && unable != nil {
			err = both(unable, q.scheme(), err)
		}
		if !IsUnable(err) || paid {
			return answer, err
		}
		unable = err
	}
	if unable != nil {
		return nil, unable
	}
	return resp, nil
}

// both is why a Payer pays neither by the scheme before nor by the given one.
func both(before error, scheme string, err error) error {
	first, ok := errors.AsType[*unpaidError](before)
	if !ok {
		return fmt.Errorf("%w; by the scheme %s: %w", before, scheme, err)
	}
	return &unpaidError{first.asked, fmt.Errorf("%w; by the scheme %s: %w", first.err, scheme, err), first.answer}
}

// scheme is the name of the way to pay.
func (q Quote) scheme() string {
	if q.Exact != nil {
		return api.SchemeExact
	}
	return api.SchemeX402
}

// ours reports whether r is for the service.
func (t *PayTransport) ours(r *http.Request) bool {
	return strings.HasPrefix(r.URL.String()+"/", strings.TrimSuffix(t.Service, "/")+"/")
}

func shownIn(header string) (Payment, bool) {
	var proof api.PaymentProof
	text, err := base64.StdEncoding.DecodeString(header)
	if err != nil || json.Unmarshal(text, &proof) != nil || proof.TxHash == "" {
		return Payment{}, false
	}
	p := TransferPayment(proof)
	p.Payload = text
	return p, true
}

// pay pays q, which the answer resp asks for, and shows the payment.
func (t *PayTransport) pay(r *http.Request, q Quote, resp *http.Response) (*http.Response, error) {
	var asked *Response
	if q.Exact == nil {
		text, err := readAnswer(r, resp)
		if err != nil {
			return nil, err
		}
		asked = newResponse(resp, text)
	}
	_ = resp.Body.Close() // there is nothing to write
	answer, err := PayAndShow(r.Context(), t.Payer, q, func(p Payment) (*http.Response, error) { return t.show(r, p) })
	if _, paid := errors.AsType[*PaidError](err); err != nil && !paid && asked != nil {
		err = &unpaidError{q.PaymentRequirements, err, asked}
	}
	return answer, err
}

// PayAndShow has the Payer pay q and shows the payment. An authorization that has lapsed is shown in case its answer is given again, and
// then another is made. What is shown and not answered is a *PaidError of show.
func PayAndShow[T any](ctx context.Context, payer Payer, q Quote, show func(Payment) (T, error)) (T, error) {
	for again := false; ; again = true {
		p, err := payer.Pay(ctx, q)
		if err != nil {
			var none T
			return none, err
		}
		answer, err := show(p)
		not, ok := errors.AsType[*PaidError](err)
		if again || !p.Lapsed || !ok || !not.Refused {
			return answer, err
		}
	}
}

// show sends r with a payment until it is answered, and has the Payer record the outcome.
func (t *PayTransport) show(r *http.Request, p Payment) (*http.Response, error) {
	done := context.WithoutCancel(r.Context()) // what is known is recorded
	scheme := schemeOf(p)
	for n := 0; ; n++ {
		resp, text, err := resend(t.base(), r, scheme.header(), base64.StdEncoding.EncodeToString(p.Payload))
		if err != nil {
			return nil, t.lost(done, p, resp, err)
		}
		if n < t.Patience && passes(r.Context(), p, resp) {
			continue
		}
		o := Outcome{Receipt: scheme.receipt(resp)}
		switch {
		case resp.StatusCode/100 == 2:
			if t.Answered != nil {
				err = t.Answered(r, text)
			}
			if err == nil {
				err = t.Payer.Conclude(done, p, o)
			}
			if err == nil && t.Notify != nil {
				t.Notify(p, o.Receipt)
			}
			if err == nil {
				return resp, nil
			}
		case resp.StatusCode == http.StatusPaymentRequired, p.Lapsed && resp.StatusCode/100 == 4:
			o.Refused = scheme.refusal(p, resp, text, o.Receipt)
			err = errors.Join(o.Refused, t.Payer.Conclude(done, p, o))
		case o.Receipt != nil && o.Receipt.Success:
			o.Settled = true
			err = decodeError(resp, text)
		default:
			err = decodeError(resp, text)
		}
		if o.Refused == nil {
			o.Unanswered = err
			err = errors.Join(err, t.Payer.Conclude(done, p, o))
		}
		return nil, &PaidError{Payment: p, Receipt: o.Receipt, Refused: o.Refused != nil, Err: err, answer: newResponse(resp, text)}
	}
}

// lost says that err has kept the answer to p away, of which resp is the beginning, if it has come.
func (t *PayTransport) lost(ctx context.Context, p Payment, resp *http.Response, err error) error {
	not := &PaidError{Payment: p, Err: err}
	o := Outcome{Unanswered: err}
	if resp != nil {
		o.Receipt = schemeOf(p).receipt(resp)
		o.Settled = o.Receipt != nil && o.Receipt.Success
	}
	not.Receipt, not.Err = o.Receipt, errors.Join(err, t.Payer.Conclude(ctx, p, o))
	return not
}

// firstShown is how soon a payment is shown again where the service does not say.
const firstShown = 100 * time.Millisecond

// passes waits as long as a service asks for that does not see a payment yet or, of an authorization, is busy, and reports whether it is to
// be asked again. What is on chain is worth any wait; an authorization can be shown later.
func passes(ctx context.Context, p Payment, resp *http.Response) bool {
	wait := max(retryAfter(resp.Header), firstShown)
	exact := p.Scheme == api.SchemeExact
	later := resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusTooManyRequests && exact
	return later && (!exact || wait <= longestHeeded) && sleep(ctx, wait) == nil
}

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

func (t *PayTransport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// name is what r is called in the journal of the Payer, and whether that says all of it.
func (t *PayTransport) name(r *http.Request) (name string, bare bool) {
	if t.Name != nil {
		return t.Name(r)
	}
	return r.Method + " " + r.URL.RequestURI(), r.Body == nil || r.Body == http.NoBody
}

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
