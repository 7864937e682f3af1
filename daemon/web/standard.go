package web

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// Exact takes payments of standard x402, and is what answers say to its clients; x402.Settlers is one.
type Exact interface {
	Offer(s x402.Subject) (offer api.StandardRequired, ok bool)
	ClaimExact(ctx context.Context, e x402.Exact, s x402.Subject) (*x402.Claim, error)
	Refusal(e x402.Exact, reason api.Reason) api.StandardReceipt
}

// Standard says beside answers and errors what clients of standard x402 look for: how to pay, and what became of a payment. The zero
// Standard says nothing.
type Standard struct {
	Exact     Exact    // nil means that no payments of standard x402 are taken
	PublicURL *url.URL // where users reach the service; nil means where their requests say
	HTTPS     bool     // they come by HTTPS
	Notary    Notary   // signs offers and receipts; nil for nobody
	Now       func() time.Time

	SignIns *x402.SignIns // of wallets; nil means that none are offered
}

// Notary signs offers and receipts; chain.Notary is one.
type Notary interface {
	Offer(index int, p api.OfferPayload) (api.SignedOffer, error)
	Receipt(p api.ReceiptPayload) (api.SignedReceipt, error)
}

// Asked is what somebody has asked for, as it is offered to clients of standard x402.
type Asked struct {
	x402.Subject
	Resource api.StandardResource   // its Description is put behind that of the subject
	Bazaar   *api.StandardExtension // for catalogues; nil for none
	SignsIn  bool                   // a wallet may sign in for it, where sign-ins are taken
	Missing  string                 // parameter that a request has to have and has not; "" for none
}

// Offer is how standard x402 is asked to pay for a. ok is false where nothing can be settled.
func (s Standard) Offer(a Asked) (offer api.StandardRequired, ok bool) {
	if s.Exact == nil {
		return offer, false
	}
	if offer, ok = s.Exact.Offer(a.Subject); !ok {
		return offer, false
	}
	r := &offer.Resource
	r.URL, r.Tags = a.Resource.URL, a.Resource.Tags
	if a.Resource.Description != "" {
		r.Description += ": " + a.Resource.Description
	}
	if a.Missing != "" {
		offer.Error += "; the parameter " + a.Missing + " is missing, and a payment without it is refused"
	}
	if a.Bazaar != nil {
		offer.Extensions[extensionBazaar] = *a.Bazaar
	}
	if s.SignIns != nil && a.SignsIn {
		if e, err := s.SignIns.Offer(); err == nil { // else it can be paid all the same
			offer.Extensions[api.ExtensionSignIn] = e
		}
	}
	s.signOffers(offer)
	return offer, true
}

// signOffers puts a signed offer for each way to pay into offer. What cannot be signed is offered all the same.
func (s Standard) signOffers(offer api.StandardRequired) {
	if s.Notary == nil {
		return
	}
	until := s.Now().Add(api.QuoteWindow).Unix()
	var signed []api.SignedOffer
	for i, a := range offer.Accepts {
		one, err := s.Notary.Offer(i, api.OfferPayload{
			Version: api.ReceiptVersion, ResourceURL: offer.Resource.URL, Scheme: a.Scheme, Network: a.Network, Asset: a.Asset,
			PayTo: a.PayTo, Amount: a.Amount, ValidUntil: until,
		})
		if err != nil {
			return
		}
		signed = append(signed, one)
	}
	offer.Extensions[api.ExtensionReceipt] = api.StandardExtension{Info: map[string]any{"offers": signed},
		Schema: map[string]any{"type": "object", "required": []string{"offers"}}}
}

// certify signs the receipt of a payment for what was asked. Without the signature it is a receipt all the same.
func (s Standard) certify(paid *x402.Claim, asked func() Asked) {
	if s.Notary == nil || asked == nil || paid.Settled.IsZero() {
		return
	}
	r := paid.Receipt
	signed, err := s.Notary.Receipt(api.ReceiptPayload{
		Version: api.ReceiptVersion, Network: r.Network, ResourceURL: asked().Resource.URL, Payer: r.Payer, IssuedAt: paid.Settled.Unix(),
		Transaction: r.Transaction,
	})
	if err == nil {
		r.Extensions.Signed.Info.Receipt = signed
	}
}

// WriteHeaders sets the headers of an answer, or of err, to who has asked. paid is the payment of the answer, nil where there is none, and
// asked says what was asked for.
func (s Standard) WriteHeaders(h http.Header, who gate.Credentials, paid *x402.Claim, err error, asked func() Asked) {
	if s.Exact == nil {
		return
	}
	if err == nil {
		if paid != nil && paid.Receipt != nil {
			s.certify(paid, asked)
			setStandard(h, api.HeaderSettlement, paid.Receipt)
		}
		return
	}
	failure := api.AsError(err)
	known := errors.As(err, new(*api.Error)) // else nobody knows what it did
	if who.Exact != nil && known && failure.Status != http.StatusInternalServerError {
		setStandard(h, api.HeaderSettlement, s.Exact.Refusal(*who.Exact, failure.Reason))
	}
	if failure.Status != http.StatusPaymentRequired {
		return
	}
	offer, ok := s.Offer(asked())
	if !ok {
		return
	}
	setStandard(h, api.HeaderRequired, offer)
	for _, spare := range []string{api.ExtensionReceipt, extensionBazaar} { // catalogues look for the second in each offer
		if len(h.Get(api.HeaderRequired)) > maxRequired {
			delete(offer.Extensions, spare)
			setStandard(h, api.HeaderRequired, offer)
		}
	}
	for len(h.Get(api.HeaderRequired)) > maxRequired && len(offer.Accepts) > 1 {
		offer.Accepts = offer.Accepts[:len(offer.Accepts)-1]
		setStandard(h, api.HeaderRequired, offer)
	}
}

const (
	extensionBazaar = "bazaar"
	maxRequired     = 3 << 10 // bytes of the header that asks for a payment: proxies cut larger ones
)

// writeStandard is Tell for an answer, or an error, to r.
func (s *Server) writeStandard(w http.ResponseWriter, r *http.Request, who gate.Credentials, paid *x402.Claim, err error) {
	s.cfg.Standard.WriteHeaders(w.Header(), who, paid, err, func() Asked {
		a := Asked{Subject: who.Subject, Resource: api.StandardResource{URL: s.cfg.Standard.URL(r), Tags: tags(r, who.Subject)}}
		if op := who.Subject.Op; op != "" {
			a.SignsIn = true
			a.Missing = missing(r, op)
		}
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		list, err := s.catalogue()
		if err != nil { // of which a test would tell
			return a
		}
		if o, ok := list.of(method, r.URL.Path); ok {
			a.Resource.Description, a.Bazaar = o.Get("summary").Text(), &o.Bazaar
		}
		return a
	})
}

// probed is err, of a request of op that cannot be read or, where it only lacks what it has to have and shows no credentials, what it would
// cost: catalogues of x402 list what answers a bare request so. There is no quote in the body: a transfer for it would pay for nothing.
func (s *Server) probed(w http.ResponseWriter, r *http.Request, op api.Op, err error) error {
	who := gate.Credentials{Subject: x402.Subject{Op: op}}
	name := missing(r, op)
	if name == "" {
		return err
	}
	if _, ok := s.cfg.Standard.Offer(Asked{Subject: who.Subject}); !ok {
		return err
	}
	refused := api.Errorf(api.ReasonPaymentRequired, "%s needs the parameter %s, and an API key or a payment", op, name).
		WithHint("%s", api.AsError(err).Hint)
	s.writeStandard(w, r, who, nil, refused)
	return refused
}

// missing is the first parameter that r, a request of op without credentials or a body, has to have and has not; "" if there is none.
func missing(r *http.Request, op api.Op) string {
	for _, name := range []string{"Authorization", api.HeaderSignature, api.HeaderPayment, api.HeaderPaymentAlias} {
		if len(r.Header.Values(name)) > 0 {
			return ""
		}
	}
	values := r.URL.Query()
	for _, p := range op.Operation().ParamsOn(api.FaceHTTP) {
		if p.Required && !values.Has(p.Name) && r.ContentLength == 0 {
			return p.Name
		}
	}
	return ""
}

const (
	tagCredits = "credits"
	longestTag = 32 // characters, by x402, all of printable ASCII
)

// tags are the words by which catalogues find what r asks for: the pack. Nobody's that is no tag.
func tags(r *http.Request, subject x402.Subject) []string {
	if subject.Pack != "" {
		return []string{tagCredits}
	}
	tag := cmp.Or(r.URL.Query().Get("pack"), api.DefaultPack)
	if len(tag) > longestTag || strings.ContainsFunc(tag, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil
	}
	return []string{tag}
}

// URL is that which r asks for, without its parameters where they are long.
func (s Standard) URL(r *http.Request) string {
	const most = 1 << 10
	base := "http://" + r.Host
	switch {
	case s.PublicURL != nil:
		base = s.PublicURL.String()
	case s.HTTPS:
		base = "https://" + r.Host
	}
	for _, text := range []string{base + r.URL.RequestURI(), base + r.URL.Path} {
		if len(text) <= most {
			return text
		}
	}
	return r.URL.Path
}

// setStandard sets a header to base64 of v as JSON.
func setStandard(h http.Header, name string, v any) {
	text, err := jsonx.Encode(v)
	if err != nil { // which has texts and numbers alone
		return
	}
	h.Set(name, base64.StdEncoding.EncodeToString(text))
}
