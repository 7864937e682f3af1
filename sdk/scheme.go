package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Scheme is a way to pay for a request: how a 402 asks for it, which header shows a payment, and how the service says what became of it.
// The schemes are Transfer and Exact.
type Scheme interface {
	quote(r *http.Request, resp *http.Response) (*Quote, error) // of an answer with 402; nil if it asks for no payment of the scheme
	header() string
	receipt(resp *http.Response) *api.StandardReceipt
	refusal(p Payment, resp *http.Response, body []byte, r *api.StandardReceipt) error
}

func schemeOf(p Payment) Scheme {
	if p.Scheme == api.SchemeExact {
		return Exact{}
	}
	return Transfer{}
}

// Transfer is the scheme of context services: the Payer transfers the price with the nonce of the quote, and the request shows the hash of
// the transaction.
type Transfer struct{}

func (Transfer) header() string { return api.HeaderPayment }

func (Transfer) receipt(*http.Response) *api.StandardReceipt { return nil }

func (Transfer) quote(r *http.Request, resp *http.Response) (*Quote, error) {
	text, err := readAnswer(r, resp)
	if err != nil {
		return nil, err
	}
	asked := decodeError(resp, text).Payment
	if asked == nil {
		return nil, nil
	}
	return &Quote{PaymentRequirements: *asked}, nil
}

func (Transfer) refusal(_ Payment, resp *http.Response, body []byte, _ *api.StandardReceipt) error {
	return decodeError(resp, body)
}

// Exact is the scheme exact of x402, version 2: the Payer signs an authorization, the request carries it, and the service settles it.
type Exact struct{}

func (Exact) header() string { return api.HeaderSignature }

func (Exact) receipt(resp *http.Response) *api.StandardReceipt { return receiptOf(resp.Header) }

func (Exact) quote(r *http.Request, resp *http.Response) (*Quote, error) {
	required, err := requiredBy(r, resp)
	if err != nil || required == nil {
		return nil, err
	}
	return &Quote{Exact: required}, nil
}

func (Exact) refusal(p Payment, resp *http.Response, body []byte, receipt *api.StandardReceipt) error {
	if receipt != nil && receipt.ErrorReason != "" {
		return fmt.Errorf("status %d: %s", resp.StatusCode, reported(*receipt, decodeError(resp, body)))
	}
	text, err := decode64(resp.Header.Get(api.HeaderRequired))
	if err != nil || len(text) == 0 {
		return decodeError(resp, body)
	}
	return p.Refusal(text)
}

// reported is why a service refuses a payment: by the error of a context service, which says more, else by the word of standard x402.
func reported(receipt api.StandardReceipt, e *api.Error) string {
	if e.Reason != "" {
		return human.Short(e.Error(), maxSaid)
	}
	if meaning := receipt.ErrorReason.Meaning(); meaning != "" {
		return fmt.Sprintf("%s (%s)", meaning, receipt.ErrorReason)
	}
	return string(receipt.ErrorReason)
}

// Refusal returns the reason in a repeated payment request with which a service refuses an authorization.
func (p Payment) Refusal(required []byte) error {
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
