package wallet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// SignerOfOffer is the address, in the spelling of EIP-55, whose key has signed o. Whether that is a key of the service, the service's
// api.DIDDocument says, and whether the offer holds still, its ValidUntil.
func SignerOfOffer(o api.SignedOffer) (string, error) {
	p := o.Payload
	err := checkSigned(o.Format, p.Version, p.ValidUntil, p.ResourceURL, p.Scheme, p.Network, p.Asset, p.PayTo, p.Amount)
	if err != nil {
		return "", fmt.Errorf("no signed offer: %w", err)
	}
	return signer(offerDigest(p), o.Signature)
}

func offerDigest(p api.OfferPayload) []byte {
	return typed("x402 offer",
		"Offer(uint256 version,string resourceUrl,string scheme,string network,string asset,string payTo,string amount,uint256 validUntil)",
		word(int64(p.Version)), textWord(p.ResourceURL), textWord(p.Scheme), textWord(p.Network), textWord(p.Asset),
		textWord(p.PayTo), textWord(p.Amount), word(p.ValidUntil))
}

// SignerOfReceipt is the address, in the spelling of EIP-55, whose key has signed r. Whether that is a key of the service, the service's
// api.DIDDocument says.
func SignerOfReceipt(r api.SignedReceipt) (string, error) {
	p := r.Payload
	if err := checkSigned(r.Format, p.Version, p.IssuedAt, p.Network, p.ResourceURL, p.Payer); err != nil {
		return "", fmt.Errorf("no signed receipt: %w", err)
	}
	return signer(receiptDigest(p), r.Signature)
}

func receiptDigest(p api.ReceiptPayload) []byte {
	return typed("x402 receipt",
		"Receipt(uint256 version,string network,string resourceUrl,string payer,uint256 issuedAt,string transaction)",
		word(int64(p.Version)), textWord(p.Network), textWord(p.ResourceURL), textWord(p.Payer), word(p.IssuedAt), textWord(p.Transaction))
}

// typed is what is signed of a message of a kind, by EIP-712. The chain of the domain is always 1, whichever was paid on.
func typed(name, kind string, words ...[]byte) []byte {
	domain := crypto.Keccak256(textWord("EIP712Domain(string name,string version,uint256 chainId)"), textWord(name), textWord("1"), word(1))
	message := crypto.Keccak256(append([][]byte{textWord(kind)}, words...)...)
	return crypto.Keccak256([]byte("\x19\x01"), domain, message)
}

// checkSigned checks what is signed: its format, its version, a number that is not negative, and texts that have to be there.
func checkSigned(format string, version int, number int64, texts ...string) error {
	switch {
	case format != api.FormatEIP712:
		return fmt.Errorf("its format is %s, not %s", quote(format), api.FormatEIP712)
	case version != api.ReceiptVersion:
		return fmt.Errorf("its version is %d, not %d", version, api.ReceiptVersion)
	case number < 0:
		return errors.New("its time is negative")
	}
	for _, text := range texts {
		if text == "" {
			return errors.New("a member is missing")
		}
	}
	return nil
}

// signer is who has signed digest. Of the two signatures that can be made of one, that with the low s counts.
func signer(digest []byte, signature string) (string, error) {
	sig, err := hexutil.Decode(signature)
	if err != nil || len(sig) != crypto.SignatureLength || sig[crypto.RecoveryIDOffset] < 27 {
		return "", errors.New("the signature is not 0x and 65 bytes in hexadecimal, as wallets spell it")
	}
	sig[crypto.RecoveryIDOffset] -= 27 // wallets add 27, the curve does not
	if r, s := new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:64]); !crypto.ValidateSignatureValues(sig[64], r, s, true) {
		return "", errors.New("the signature is not a canonical one")
	}
	key, err := crypto.SigToPub(digest, sig)
	if err != nil {
		return "", errors.New("no key has made the signature")
	}
	return crypto.PubkeyToAddress(*key).Hex(), nil
}

// textWord is a text as a word.
func textWord(s string) []byte { return crypto.Keccak256([]byte(s)) }

// maxReceipt bounds a receipt that is kept, in bytes.
const maxReceipt = 4 << 10

// checkOffers refuses a way to pay for which the service has signed another offer than it makes, or one that nobody has signed. Of formats
// that ctx does not know, it knows nothing.
func checkOffers(r *sdk.Required, accept sdk.Accept) error {
	var said struct {
		Info struct {
			Offers []json.RawMessage `json:"offers"`
		} `json:"info"`
	}
	if json.Unmarshal(r.Extensions[api.ExtensionReceipt], &said) != nil {
		return nil
	}
	at := slices.IndexFunc(r.Accepts, func(a sdk.Accept) bool { return bytes.Equal(a.Raw, accept.Raw) })
	for _, text := range said.Info.Offers {
		var o api.SignedOffer
		var index struct {
			Of *int `json:"acceptIndex"`
		}
		if json.Unmarshal(text, &o) != nil || json.Unmarshal(text, &index) != nil || index.Of == nil || *index.Of != at ||
			o.Format != api.FormatEIP712 {
			continue
		}
		if _, err := SignerOfOffer(o); err != nil {
			return fmt.Errorf("%w: the service has signed its offer wrongly: %w", ErrPolicy, err)
		}
		if p := o.Payload; p.Scheme != accept.Scheme || p.Network != accept.Network || p.Amount != accept.Amount ||
			!strings.EqualFold(p.Asset, accept.Asset) || !strings.EqualFold(p.PayTo, accept.PayTo) {
			return fmt.Errorf("%w: the service has signed another offer than it makes: %s of %s to %s", ErrPolicy, quote(p.Amount),
				quote(p.Asset), quote(p.PayTo))
		}
	}
	return nil
}

// receiptFor is the signed receipt of a service in r, if it is one of the payment of e: whoever has signed it. What is none is not kept.
func (e entry) receiptFor(r *api.StandardReceipt) *api.SignedReceipt {
	if e.Exact == nil || r == nil || !r.Success {
		return nil
	}
	signed := r.Extensions.Signed.Info.Receipt
	text, err := json.Marshal(signed)
	if err != nil || len(text) > maxReceipt || strings.ContainsFunc(string(text), func(c rune) bool { return c < ' ' || c > '~' }) {
		return nil
	}
	var paid struct {
		Resource struct {
			URL string `json:"url"`
		} `json:"resource"`
	}
	p := signed.Payload
	switch _, err := SignerOfReceipt(signed); {
	case err != nil, json.Unmarshal(e.Exact.Payload, &paid) != nil, p.Network != (Asset{ChainID: e.ChainID}).Network(),
		!strings.EqualFold(p.Payer, e.Payer), p.Transaction != "" && p.Transaction != r.Transaction,
		paid.Resource.URL != "" && p.ResourceURL != paid.Resource.URL:
		return nil
	}
	return &signed
}
