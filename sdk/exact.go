package sdk

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Required is the payment request of a service by x402, version 2. It is unverified.
type Required struct {
	Accepts    []Accept
	Resource   json.RawMessage            // as received; nil if absent
	Extensions map[string]json.RawMessage // as they came
}

// Accept is one way to pay.
type Accept struct {
	Scheme            string
	Network           string // CAIP-2
	Amount            string // of the token's smallest unit
	Asset             string // address of the token
	PayTo             string
	MaxTimeoutSeconds int64
	Extra             AcceptExtra

	Raw json.RawMessage `json:"-"` // as received: a payment repeats it
}

// AcceptExtra is the service's description of the token.
type AcceptExtra struct {
	Name                string
	Version             string
	AssetTransferMethod string
	PaymentFlow         string `json:"-"` // when the service settles; "" where it does not say, which is FlowAuthorization
}

// FlowAuthorization is the flow of payment in which the service settles once it can answer. There are others, in which it settles before.
const FlowAuthorization = "authorization"

// flowOf is the flow of payment that a way to pay names: one that is not FlowAuthorization where any spelling of the member does.
func flowOf(accept json.RawMessage) (flow string) {
	var said struct{ Extra map[string]json.RawMessage }
	_ = json.Unmarshal(accept, &said) // what it is not names none
	for name, value := range said.Extra {
		var text string
		switch {
		case !strings.EqualFold(name, "paymentFlow"), string(value) == "null":
		case json.Unmarshal(value, &text) != nil:
			return string(value)
		case text != FlowAuthorization:
			return cmp.Or(text, "empty")
		default:
			flow = text
		}
	}
	return flow
}

// Bounds of what a service says of how it is paid.
const (
	MaxRequiredBytes = 64 << 10
	maxAccepts       = 32
)

// ErrRequired reports a payment request that cannot be read or is not x402, version 2.
var ErrRequired = errors.New("how the service wants to be paid cannot be read")

// ParseRequired reads the JSON of a payment request, from the header PAYMENT-REQUIRED or from the result of a tool.
func ParseRequired(text []byte) (Required, error) {
	var wire struct {
		X402Version int
		Resource    json.RawMessage
		Accepts     []json.RawMessage
		Extensions  map[string]json.RawMessage
	}
	switch err := json.Unmarshal(text, &wire); {
	case len(text) > MaxRequiredBytes:
		return Required{}, fmt.Errorf("%w: it is over %d KiB", ErrRequired, MaxRequiredBytes>>10)
	case err != nil:
		return Required{}, fmt.Errorf("%w: it is not the JSON of x402", ErrRequired)
	case wire.X402Version != api.X402Version:
		return Required{}, fmt.Errorf("%w: it speaks version %d of x402, and version %d alone is paid",
			ErrRequired, wire.X402Version, api.X402Version)
	case len(wire.Accepts) == 0 || len(wire.Accepts) > maxAccepts:
		return Required{}, fmt.Errorf("%w: it names %d ways to pay, not 1 to %d", ErrRequired, len(wire.Accepts), maxAccepts)
	}
	required := Required{Resource: wire.Resource, Extensions: wire.Extensions}
	for _, raw := range wire.Accepts {
		a := Accept{Raw: raw}
		if err := json.Unmarshal(raw, &a); err != nil { // of another scheme, with members of other types
			a = Accept{Raw: raw, Scheme: otherScheme(raw)}
		}
		a.Extra.PaymentFlow = flowOf(raw)
		required.Accepts = append(required.Accepts, a)
	}
	return required, nil
}

// otherScheme is the scheme of a way to pay whose other members are not those of the scheme exact.
func otherScheme(raw []byte) string {
	var named struct{ Scheme string }
	if json.Unmarshal(raw, &named) != nil || named.Scheme == api.SchemeExact {
		return "unreadable"
	}
	return named.Scheme
}

// requiredBy is how an answer with 402 wants to be paid by x402; nil if it does not say. It leaves the body to be read again.
func requiredBy(r *http.Request, resp *http.Response) (*Required, error) {
	values := resp.Header.Values(api.HeaderRequired)
	if len(values) == 0 {
		body, err := readAnswer(r, resp)
		if err != nil {
			return nil, err
		}
		var old struct{ X402Version int }
		if json.Unmarshal(body, &old) == nil && old.X402Version != 0 {
			return nil, fmt.Errorf("%w: it speaks version %d of x402 in the body; %s, which version %d has, is missing",
				ErrRequired, old.X402Version, api.HeaderRequired, api.X402Version)
		}
		return nil, nil
	}
	if len(values) > 1 || len(values[0]) > base64.StdEncoding.EncodedLen(MaxRequiredBytes) {
		return nil, fmt.Errorf("%w: %s is there %d times, with %d bytes", ErrRequired, api.HeaderRequired, len(values), len(values[0]))
	}
	text, err := decode64(values[0])
	if err != nil {
		return nil, fmt.Errorf("%w: %s is not base64", ErrRequired, api.HeaderRequired)
	}
	required, err := ParseRequired(text)
	return &required, err
}

// decode64 reads base64 of either alphabet, with padding or without.
func decode64(text string) ([]byte, error) {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(strings.TrimSpace(text), "="))
	return base64.RawStdEncoding.DecodeString(text)
}

// receiptOf is what an answer says became of a payment by x402; nil if it says nothing that can be read.
func receiptOf(h http.Header) *api.StandardReceipt {
	text, err := decode64(h.Get(api.HeaderSettlement))
	if err != nil || len(text) == 0 {
		return nil
	}
	return ParseReceipt(text)
}

// ParseReceipt reads a receipt of x402; nil if it is not one. It omits values other than hashes and plain text.
func ParseReceipt(text []byte) *api.StandardReceipt {
	var r api.StandardReceipt
	if json.Unmarshal(text, &r) != nil {
		return nil
	}
	const hex = "0123456789abcdefABCDEF"
	const longest = 64 // letters of a word: the longest of the standard has 53
	if digits, ok := strings.CutPrefix(r.Transaction, "0x"); !ok || len(digits) != 64 || strings.Trim(digits, hex) != "" {
		r.Transaction = ""
	}
	r.Network, r.Payer = human.Short(r.Network, human.Quoted), human.Short(r.Payer, human.Quoted)
	r.ErrorReason = api.StandardReason(human.Short(string(r.ErrorReason), longest))
	return &r
}
