package x402

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Proof is the proof of a payment, checked as far as possible without the chain.
type Proof struct {
	Hash      [32]byte // of the transaction
	Payer     string   // address
	Signature string   // "" if there is none
}

// malformed is the answer to a header that holds no proof.
func malformed(format string, args ...any) *api.Error {
	return api.Errorf(api.ReasonMalformedProof, format, args...).
		WithHint(`send %s: base64 of {"scheme":"x402","network":"l2chain","txHash":"0x…","payer":"0x…"}`, api.HeaderPayment)
}

// ParseProof reads the payment header, under both names.
func ParseProof(header, alias []string) (Proof, error) {
	text := ""
	for _, value := range append(append([]string{}, header...), alias...) {
		switch {
		case len(value) > api.MaxProofBytes:
			return Proof{}, malformed("the payment header is over %d bytes", api.MaxProofBytes)
		case text != "" && value != text:
			return Proof{}, malformed("the payment headers differ")
		}
		text = value
	}
	raw, err := decode64(strings.TrimSpace(text))
	if err != nil {
		return Proof{}, malformed("the payment header is not base64")
	}
	wire, err := decodeProof(raw)
	if err != nil {
		return Proof{}, err
	}
	switch {
	case wire.Scheme != api.SchemeX402:
		return Proof{}, malformed("the scheme of the payment is not %s", api.SchemeX402)
	case wire.Network != api.NetworkL2:
		return Proof{}, api.Errorf(api.ReasonWrongNetwork, "the payment is not on network %s", api.NetworkL2).
			WithHint("pay on the chain of the quote")
	}
	p := Proof{Payer: wire.Payer, Signature: wire.Signature}
	if !usdg.ReadHex(wire.TxHash, p.Hash[:]) {
		return Proof{}, malformed("txHash is not 32 bytes in hexadecimal")
	}
	var payer [20]byte
	if !usdg.ReadHex(wire.Payer, payer[:]) {
		return Proof{}, malformed("payer is not an address")
	}
	return p, nil
}

// decode64 reads base64 of either alphabet, padded or not.
func decode64(text string) ([]byte, error) {
	text = strings.TrimRight(text, "=")
	if strings.ContainsAny(text, "-_") {
		return base64.RawURLEncoding.DecodeString(text)
	}
	return base64.RawStdEncoding.DecodeString(text)
}

// decodeProof reads the members of a proof. Members it does not know are for others; one that is there twice means two things at once.
func decodeProof(raw []byte) (api.PaymentProof, error) {
	var wire api.PaymentProof
	if err := json.Unmarshal(raw, &wire); err != nil {
		return wire, malformed("the payment header is not base64 of a JSON object")
	}
	if err := onceEach(raw); err != nil {
		return wire, malformed("the payment header has a member twice, or is not base64 of a JSON object")
	}
	return wire, nil
}
