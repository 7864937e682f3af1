package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// Payers reads the credentials of requests. Proofs are counted per client, since each may cost a call to the chain.
type Payers struct {
	Proofs  *Limiter
	Trusted *Proxies // whose X-Forwarded-For is believed; nil means nobody's
}

// NewPayers makes Payers with the usual bound.
func NewPayers(trusted *Proxies, now func() time.Time) *Payers {
	return &Payers{Proofs: NewLimiter(maxProofs, time.Minute/maxProofs, now), Trusted: trusted}
}

// maxProofs is how many payment proofs a client may present in a minute.
const maxProofs = 60

// subject is what the call r of op with the given parameters is to a payment.
func subject(r *http.Request, op api.Op, asked parameters) x402.Subject {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return x402.Subject{
		Op: op, Fingerprint: x402.Fingerprint(method, r.URL.Path, asked.canonical),
		Spelled: x402.Fingerprint(method, r.URL.Path, asked.spelled),
	}
}

// Credentials are those that r carries, for a call of subject.
func (p *Payers) Credentials(r *http.Request, subject x402.Subject) (gate.Credentials, error) {
	who := gate.Credentials{Subject: subject}
	if values, ok := r.Header["Authorization"]; ok {
		who.HasBearer, who.Client = true, p.Trusted.FreeClientOf(r)
		// A header of no known form is of no key.
		if scheme, key, _ := strings.Cut(values[0], " "); len(values) == 1 && strings.EqualFold(scheme, "Bearer") {
			who.Bearer = strings.TrimSpace(key)
		}
		return who, nil
	}
	header, alias := r.Header.Values(api.HeaderPayment), r.Header.Values(api.HeaderPaymentAlias)
	if len(header)+len(alias) == 0 {
		return who, nil
	}
	if err := p.Proofs.Allow(p.Trusted.ClientOf(r)); err != nil {
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
