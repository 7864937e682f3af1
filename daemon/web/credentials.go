package web

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// Payers reads the credentials of requests. Proofs are counted per client, since each may cost a call to the chain.
type Payers struct {
	Proofs   *Limiter
	Misses   *Limiter  // of lookups that find nothing and cost nothing
	Trusted  *Proxies  // whose X-Forwarded-For is believed; nil means nobody's
	Standard *Standard // of payments of standard x402; nil means that none are taken

	SignIns *x402.SignIns // of wallets; nil means that none are taken
}

// NewPayers makes Payers with the usual bound.
func NewPayers(trusted *Proxies, now func() time.Time) *Payers {
	return &Payers{
		Proofs: NewLimiter(maxProofs, time.Minute/maxProofs, now), Misses: NewLimiter(maxMisses, time.Minute/maxMisses, now),
		Trusted: trusted,
	}
}

const (
	maxProofs = 60 // payment proofs that a client may present in a minute
	maxMisses = 60 // lookups that find nothing that a key, or a client without one, may make in a minute
)

// Missed counts a call of clients, as ClientsOf names them, if it found nothing and was not charged, and returns the error to answer with
// where those are too many, else err, which is what gate.Serve failed with.
func (p *Payers) Missed(clients []string, served gate.Served[reader.Answer], err error) error {
	switch {
	case errors.Is(err, &api.Error{Reason: api.ReasonNothingFound}):
		return cmp.Or(p.Misses.AllowAll(clients...), err)
	case err == nil && served.Answer.Nothing && served.Sold == nil:
		return p.Misses.take(1, "this key without a result", "key "+served.Caller.KeyID)
	}
	return err
}

// subject is what the call r, of a canonical and a former form, is to a payment.
func subject(r *http.Request, op api.Op, canonical, former string) x402.Subject {
	method := r.Method
	if method == http.MethodHead || op == api.OpQuery || op == api.OpCheck { // one request, however it is sent
		method = http.MethodGet
	}
	s := x402.Subject{Op: op, Fingerprint: x402.Fingerprint(method, r.URL.Path, canonical)}
	if former != canonical {
		s.Former = x402.Fingerprint(method, r.URL.Path, former)
	}
	return s
}

// Credentials are those that r carries, for a call of subject.
func (p *Payers) Credentials(r *http.Request, subject x402.Subject) (gate.Credentials, error) {
	who := gate.Credentials{Subject: subject}
	if values := r.Header["Authorization"]; NamesKey(r) {
		who.HasBearer, who.Client = true, p.Trusted.FreeClientOf(r)
		who.Bearer = bearerOf(values)
		return who, nil
	}
	if values := r.Header.Values(api.HeaderSignature); p.Standard != nil && len(values) > 0 { // of both dialects, wallets mean this one
		return p.exact(r, who, values)
	}
	header, alias := r.Header.Values(api.HeaderPayment), ours(r.Header.Values(api.HeaderPaymentAlias))
	if len(header)+len(alias) == 0 {
		if p.signs(r) {
			return p.signIn(r, who)
		}
		if p.Standard != nil {
			who.Refused = formerVersion(r)
		}
		return who, nil
	}
	if err := p.Proofs.AllowAll(p.Trusted.ClientsOf(r)...); err != nil {
		return who, err
	}
	proof, err := x402.ParseProof(header, alias)
	if errors.Is(err, &api.Error{Reason: api.ReasonWrongNetwork}) { // it is a proof, which has paid somebody else
		who.Refused = err
		return who, nil
	}
	who.Proof = &proof
	return who, err
}

// exact is who with the payment of standard x402 that r carries. One that is refused for what it says is there too, for the answer.
func (p *Payers) exact(r *http.Request, who gate.Credentials, values []string) (gate.Credentials, error) {
	who.Exact = &x402.Exact{}
	if err := p.Proofs.AllowAll(p.Trusted.ClientsOf(r)...); err != nil {
		return who, err
	}
	e, err := x402.ParseExactHeader(values)
	who.Exact = &e
	if err == nil {
		err = e.For(p.Standard.URL(r))
	}
	if refused := new(api.Error); errors.As(err, &refused) && refused.Status == http.StatusPaymentRequired {
		who.Refused = err // it can be read, and is answered with a quote
		return who, nil
	}
	if err == nil && p.signs(r) {
		who.Exact.SignedIn, _ = p.SignIns.Read(r.Header.Get(api.HeaderSignIn)) // beside a payment, a bad one is none
	}
	return who, err
}

// signs reports whether r has a sign-in of a wallet, where these are taken.
func (p *Payers) signs(r *http.Request) bool {
	return p.SignIns != nil && len(r.Header.Values(api.HeaderSignIn)) > 0
}

// signIn is who with the wallet that has signed in with r. One whose sign-in is refused is asked to pay, as anybody.
func (p *Payers) signIn(r *http.Request, who gate.Credentials) (gate.Credentials, error) {
	who.SignIn = true
	if err := p.Proofs.AllowAll(p.Trusted.ClientsOf(r)...); err != nil {
		return who, err
	}
	who.SignedIn, who.Refused = p.SignIns.Read(strings.Join(r.Header.Values(api.HeaderSignIn), ","))
	return who, nil
}

// NamesKey reports whether r names a key, however malformed.
func NamesKey(r *http.Request) bool {
	values, ok := r.Header["Authorization"]
	return ok && !isPayment(values)
}

// Bearer is the key that r names, "" if it names none.
func Bearer(r *http.Request) string { return bearerOf(r.Header["Authorization"]) }

// bearerOf is the key that values of Authorization name. A header of no known form is of no key.
func bearerOf(values []string) string {
	if len(values) != 1 {
		return ""
	}
	if scheme, key, _ := strings.Cut(values[0], " "); strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	return ""
}

// isPayment reports whether values of Authorization are of the scheme Payment, by which other services are paid: it names no key.
func isPayment(values []string) bool {
	scheme, _, _ := strings.Cut(values[0], " ")
	return len(values) == 1 && strings.EqualFold(scheme, "Payment")
}

// formerVersion is the answer to who pays by version 1 of standard x402 alone, nil to who does not.
func formerVersion(r *http.Request) error {
	if !slices.ContainsFunc(r.Header.Values(api.HeaderPaymentAlias), x402.IsExactHeader) {
		return nil
	}
	return api.Errorf(api.ReasonPaymentRequired,
		"%s has a payment of x402 version 1, of which nothing was taken; this service speaks version 2",
		api.HeaderPaymentAlias).
		WithHint("use a client of version 2: it reads %s and sends %s", api.HeaderRequired, api.HeaderSignature)
}

// ours are those of values that are not of version 1 of standard x402, which has the same header.
func ours(values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), x402.IsExactHeader)
}
