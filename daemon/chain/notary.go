package chain

import (
	"crypto/ecdsa"
	"fmt"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/contextd/contextd/sdk/api"
)

// Notary signs offers and receipts by EIP-712, in the domain of the extension offer-receipt. Make one with NewNotary; it is safe for
// concurrent use.
type Notary struct{ key *ecdsa.PrivateKey }

// NewNotary makes a Notary of a secret of 32 bytes, which signs nothing else.
func NewNotary(secret []byte) (*Notary, error) {
	key, err := crypto.ToECDSA(secret)
	if err != nil {
		return nil, fmt.Errorf("read the key of receipts: it is no number of the curve, of 32 bytes")
	}
	return &Notary{key}, nil
}

// Address is that of the key, in the spelling of EIP-55.
func (n *Notary) Address() string { return crypto.PubkeyToAddress(n.key.PublicKey).Hex() }

// Offer signs an offer for the accept at an index.
func (n *Notary) Offer(index int, p api.OfferPayload) (api.SignedOffer, error) {
	signature, err := n.sign("x402 offer",
		"Offer(uint256 version,string resourceUrl,string scheme,string network,string asset,string payTo,string amount,uint256 validUntil)",
		number(uint64(p.Version)), text(p.ResourceURL), text(p.Scheme), text(p.Network), text(p.Asset), text(p.PayTo), text(p.Amount),
		number(uint64(p.ValidUntil)))
	return api.SignedOffer{Format: api.FormatEIP712, AcceptIndex: index, Payload: p, Signature: signature}, err
}

// Receipt signs a receipt.
func (n *Notary) Receipt(p api.ReceiptPayload) (api.SignedReceipt, error) {
	signature, err := n.sign("x402 receipt",
		"Receipt(uint256 version,string network,string resourceUrl,string payer,uint256 issuedAt,string transaction)",
		number(uint64(p.Version)), text(p.Network), text(p.ResourceURL), text(p.Payer), number(uint64(p.IssuedAt)), text(p.Transaction))
	return api.SignedReceipt{Format: api.FormatEIP712, Payload: p, Signature: signature}, err
}

// sign signs the words of a message of a kind. The chain of the domain is always 1, whichever is paid on.
func (n *Notary) sign(name, kind string, words ...[]byte) (string, error) {
	domain := crypto.Keccak256(text("EIP712Domain(string name,string version,uint256 chainId)"), text(name), text("1"), number(1))
	message := crypto.Keccak256(append([][]byte{text(kind)}, words...)...)
	signature, err := crypto.Sign(crypto.Keccak256([]byte("\x19\x01"), domain, message), n.key)
	if err != nil {
		return "", fmt.Errorf("sign %s: %w", name, err)
	}
	signature[crypto.RecoveryIDOffset] += 27 // as wallets spell it
	return hexutil.Encode(signature), nil
}

// text is a text as a word.
func text(s string) []byte { return crypto.Keccak256([]byte(s)) }
