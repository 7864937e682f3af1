package web

import (
	"encoding/base64"
	"errors"
	"net/http"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// Exact is what answers say to clients of standard x402; *x402.Settler is one.
type Exact interface {
	Offer(s x402.Subject) (offer api.StandardRequired, ok bool)
	Refusal(e x402.Exact, reason api.Reason) api.StandardReceipt
}

// credentials are those that r carries for a call of subject. Wallets that speak both dialects send both, and mean the standard one.
func (s *Server) credentials(r *http.Request, subject x402.Subject) (gate.Credentials, error) {
	values := r.Header.Values(api.HeaderSignature)
	bearer := r.Header["Authorization"]
	if s.cfg.Exact == nil || len(values) == 0 || len(bearer) > 0 && !isPayment(bearer) {
		return s.cfg.Payers.Credentials(r, subject)
	}
	who := gate.Credentials{Subject: subject}
	if err := s.cfg.Payers.Proofs.Allow(s.cfg.Payers.Trusted.ClientOf(r)); err != nil {
		return who, err
	}
	e, err := x402.ParseExactHeader(values)
	if refused := new(api.Error); errors.As(err, &refused) && refused.Status == http.StatusPaymentRequired {
		who.Refused = err // it can be read, and is answered with a quote
		return who, nil
	}
	who.Exact = &e
	return who, err
}

// tellStandard says beside an answer or an error what clients of standard x402 look for: how to pay, and what became of the payment.
func (s *Server) tellStandard(w http.ResponseWriter, r *http.Request, who gate.Credentials, paid *x402.Claim, err error) {
	if s.cfg.Exact == nil {
		return
	}
	if err == nil {
		if paid != nil && paid.Receipt != nil {
			setStandard(w, api.HeaderSettlement, paid.Receipt)
		}
		return
	}
	failure := api.AsError(err)
	if r.Header[http.CanonicalHeaderKey(api.HeaderSignature)] != nil && !who.HasBearer {
		e := x402.Exact{}
		if who.Exact != nil {
			e = *who.Exact
		}
		setStandard(w, api.HeaderSettlement, s.cfg.Exact.Refusal(e, failure.Reason))
	}
	if failure.Status != http.StatusPaymentRequired {
		return
	}
	if offer, ok := s.cfg.Exact.Offer(who.Subject); ok {
		offer.Resource.URL = s.resource(r)
		setStandard(w, api.HeaderRequired, offer)
	}
}

// resource is the URL that r asks for, without its parameters where they are long: proxies cut headers of several KB.
func (s *Server) resource(r *http.Request) string {
	const most = 1 << 10
	scheme, path := "http://", r.URL.RequestURI()
	if s.cfg.HTTPS {
		scheme = "https://"
	}
	if len(path) > most {
		path = r.URL.Path
	}
	if len(r.Host)+len(path) > most {
		return path[:min(len(path), most)]
	}
	return scheme + r.Host + path
}

// setStandard sets a header to base64 of v as JSON.
func setStandard(w http.ResponseWriter, name string, v any) {
	text, err := jsonx.Encode(v)
	if err != nil { // which has texts and numbers alone
		return
	}
	w.Header().Set(name, base64.StdEncoding.EncodeToString(text))
}
