package x402

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Authorization is an EIP-3009 authorization: its holder can have the token move the value, once, until it ends.
type Authorization struct {
	Rail                    string // whose chain and token it is signed for
	From, To                string // addresses
	Value                   uint64 // of the token's smallest unit
	ValidAfter, ValidBefore int64  // seconds since 1970
	Nonce                   [32]byte
	Signature               [65]byte
}

// Exact is a payment by the scheme exact of x402, version 2, from the header PAYMENT-SIGNATURE, checked as far as possible without the
// chain.
type Exact struct {
	Authorization
	Network    string // as accepted by the client, eip155:4663; "" where it does not say
	Asset      string // likewise, the token
	Identifier string // of the payment, which nobody guesses; "" if the client chose none, or one that can be guessed
	Resource   string // URL of what the client was offered, "" if it does not say
	Payload    string // digest of the JSON as it was sent: the same payment again has the same

	SignedIn *SignedIn // who has signed in with the same request; nil for nobody

	Fault api.StandardReason // what keeps it from being read further, in the words of standard x402; "" where it is its reason alone
}

// Bounds of what is sent.
const (
	MaxExactBytes = 16 << 10
	maxIdentifier = 128 // bytes
)

// wireExact is the header as it is sent. Members that are not here are the client's.
type wireExact struct {
	X402Version int `json:"x402Version"`
	Payload     struct {
		Signature     string `json:"signature"`
		Authorization struct {
			From        string `json:"from"`
			To          string `json:"to"`
			Value       string `json:"value"`
			ValidAfter  string `json:"validAfter"`
			ValidBefore string `json:"validBefore"`
			Nonce       string `json:"nonce"`
		} `json:"authorization"`
	} `json:"payload"`
	Resource json.RawMessage `json:"resource"` // version 1 has a text here
	Accepted struct {
		Scheme  string `json:"scheme"`
		Network string `json:"network"`
		Asset   string `json:"asset"`
	} `json:"accepted"`
	Extensions struct {
		Identifier struct {
			Info struct {
				ID string `json:"id"`
			} `json:"info"`
			ID string `json:"id"`
		} `json:"payment-identifier"`
	} `json:"extensions"`
}

// IsExact reports whether a header or member shared by both protocols holds a payment of standard x402: our proofs have no version.
func IsExact(raw []byte) bool {
	var v struct {
		X402Version *json.Number `json:"x402Version"`
	}
	return json.Unmarshal(raw, &v) == nil && v.X402Version != nil
}

// IsExactHeader is IsExact for the value of a header.
func IsExactHeader(value string) bool {
	if len(value) > MaxExactBytes {
		return false
	}
	raw, err := decode64(strings.TrimSpace(value))
	return err == nil && IsExact(raw)
}

// ParseExactHeader reads the header PAYMENT-SIGNATURE.
func ParseExactHeader(values []string) (Exact, error) {
	switch {
	case len(values) != 1:
		return Exact{}, badExact("there are %d payment headers", len(values))
	case len(values[0]) > MaxExactBytes:
		return Exact{}, badExact("the payment header is over %d bytes", MaxExactBytes)
	}
	raw, err := decode64(strings.TrimSpace(values[0]))
	if err != nil {
		return Exact{}, badExact("the payment header is not base64")
	}
	return ParseExact(raw)
}

// ParseExact reads a payment by the scheme exact.
func ParseExact(raw []byte) (Exact, error) {
	var wire wireExact
	switch err := json.Unmarshal(raw, &wire); {
	case len(raw) > MaxExactBytes, err != nil && !json.Valid(raw):
		return Exact{}, badExact("the payment is not JSON, or over %d bytes", MaxExactBytes)
	case err != nil:
		return unreadable(api.StandardPayload, "the payment is not a JSON object of x402, or a member has another type")
	}
	if err := onceEach(raw, "payload", "authorization"); err != nil {
		return unreadable(api.StandardPayload, "the payment has a member twice")
	}
	if wire.X402Version != 2 {
		return unreadable(api.StandardVersion, "x402Version is %d; this service speaks version 2", wire.X402Version)
	}
	if s := wire.Accepted.Scheme; s != "" && s != api.SchemeExact {
		return unreadable(api.StandardScheme, "the scheme %s is not offered", strconv.Quote(human.Short(s, human.Quoted)))
	}
	a, e := wire.Payload.Authorization, Exact{Network: wire.Accepted.Network, Asset: wire.Accepted.Asset}
	var from, to [20]byte
	if !usdg.ReadHex(a.From, from[:]) || !usdg.ReadHex(a.To, to[:]) {
		return unreadable(api.StandardPayload, "from or to is not an address")
	}
	e.From, e.To = a.From, a.To
	if !usdg.ReadHex(a.Nonce, e.Nonce[:]) {
		return unreadable(api.StandardPayload, "the nonce is not 32 bytes in hexadecimal")
	}
	if !usdg.ReadHex(wire.Payload.Signature, e.Signature[:]) {
		return e, refusedExact(api.ReasonBadSignature,
			"the signature is not 65 bytes long; contract wallets cannot pay")
	}
	if err := e.readNumbers(a.Value, a.ValidAfter, a.ValidBefore); err != nil {
		return e, err
	}
	if id := cmp.Or(wire.Extensions.Identifier.Info.ID, wire.Extensions.Identifier.ID); isIdentifier(id) {
		e.Identifier = id
	}
	var resource struct {
		URL string `json:"url"`
	}
	_ = json.Unmarshal(wire.Resource, &resource) // which many clients leave out
	e.Resource = resource.URL
	sum := sha256.Sum256(raw)
	e.Payload = hex.EncodeToString(sum[:])
	return e, nil
}

// For refuses a payment that came with a request of asked, a URL of this service, where its client was offered something else here. URLs of
// other hosts are those of who stands between.
func (e *Exact) For(asked string) error {
	to, err := url.Parse(asked)
	named, bad := url.Parse(e.Resource)
	if err != nil || bad != nil || named.Host == "" || !strings.EqualFold(named.Host, to.Host) || named.Path == to.Path {
		return nil
	}
	e.Fault = api.StandardRequirements
	return misfit("the payment is for %s, and came with a request of %s", strconv.Quote(human.Short(named.Path, human.Quoted)), to.Path).
		WithHint("nothing was settled for this request; pay what %s offers", api.HeaderRequired)
}

// isIdentifier reports whether id is one by the extension payment-identifier. Any other counts as none.
func isIdentifier(id string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return len(id) >= leastSecretID && len(id) <= maxIdentifier && strings.Trim(id, letters) == ""
}

// readNumbers reads those of an authorization. They are signed as they are, so none may be rounded.
func (a *Authorization) readNumbers(value, after, before string) error {
	var err error
	if a.Value, err = strconv.ParseUint(value, 10, 64); errors.Is(err, strconv.ErrRange) {
		return refusedExact(api.ReasonAmountMismatch, "the authorization is of more than any price")
	} else if err != nil {
		return misfit("value is not a whole number")
	}
	for _, n := range []struct {
		name, text string
		into       *int64
	}{{"validAfter", after, &a.ValidAfter}, {"validBefore", before, &a.ValidBefore}} {
		seconds, err := strconv.ParseUint(n.text, 10, 63)
		if err != nil {
			return misfit("%s is not a number of seconds", n.name)
		}
		*n.into = int64(seconds)
	}
	return nil
}

// digest tells the authorization and its signature from all others. It was the Payload of settlements that may still be told again, or be
// pending, though all of it is on the chain.
func (a *Authorization) digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d %d %x %x", strings.ToLower(a.From), strings.ToLower(a.To), a.Value, a.ValidAfter,
		a.ValidBefore, a.Nonce, a.Signature))
	return hex.EncodeToString(sum[:])
}

// onceEach reports what a payment says twice, which would mean two things at once.
func onceEach(raw []byte, inner ...string) error {
	members, err := jsonx.Members(raw)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, m := range members {
		name := folded(m.Name)
		if seen[name] {
			return fmt.Errorf("%q is there twice", m.Name)
		}
		seen[name] = true
		if len(inner) > 0 && name == folded(inner[0]) {
			if err := onceEach(m.Raw, inner[1:]...); err != nil {
				return err
			}
		}
	}
	return nil
}

// ends is when the authorization does.
func (a Authorization) ends() time.Time {
	const farFuture = 1 << 40 // seconds with which one can reckon
	return time.Unix(min(a.ValidBefore, farFuture), 0)
}

// folded is the same for all names that the decoder takes for one.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name)
}

// Key returns the key of the authorization.
func (a Authorization) Key() Key { return Key{a.Rail, strings.ToLower(a.From), a.Nonce} }

func badExact(format string, args ...any) *api.Error {
	return api.Errorf(api.ReasonMalformedProof, format, args...).
		WithHint("send %s: base64 of an x402 payment, version 2, as its clients make it", api.HeaderSignature)
}

// misfit is the answer to a payment that can be decoded, and is none that can be settled.
func misfit(format string, args ...any) *api.Error {
	_, required := api.ReasonPaymentRequired.Answer()
	return badExact(format, args...).WithStatus(required)
}

// unreadable is a misfit, with the standard's word for how.
func unreadable(fault api.StandardReason, format string, args ...any) (Exact, error) {
	return Exact{Fault: fault}, misfit(format, args...)
}

// refusedExact is the answer to a payment that is refused, and was not settled.
func refusedExact(reason api.Reason, format string, args ...any) *api.Error {
	return api.Errorf(reason, format, args...).WithHint("nothing was settled for this request; pay what %s offers", api.HeaderRequired)
}
