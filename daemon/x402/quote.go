package x402

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// NonceSize is the size of a nonce in bytes.
const NonceSize = 32

// Parts of a nonce: a version, the end of the quote in seconds since 1970, randomness, a MAC over all that the quote promises.
const (
	version    = 1
	expiryAt   = 1
	randomAt   = 5
	macAt      = 12
	macSize    = NonceSize - macAt
	minKeySize = 32
)

// Subject is the subject of a payment: a call of an operation, or a pack of credits.
type Subject struct {
	Op          api.Op
	Pack        api.CreditPack // that is bought; "" for a call
	Fingerprint string         // of the request: what of it decides about the answer
	Former      string         // the fingerprint that earlier releases gave the same request; "" means the same
	Daily       bool           // who has paid for it by standard x402 may have all with its fingerprint for api.ProofIdempotency
}

// Price returns the price of s in micro-USDG; 0 if it is not for sale.
func (s Subject) Price() int64 {
	if s.Pack == "" {
		return s.Op.PriceMicros()
	}
	offer, _ := s.Pack.Offer()
	return offer.PriceMicros
}

// name is what s is called where it is offered.
func (s Subject) name() string {
	if s.Pack == "" {
		return string(s.Op)
	}
	return "credits, pack " + string(s.Pack)
}

// is reports whether a fingerprint that was noted is of s.
func (s Subject) is(noted string) bool {
	return noted == s.Fingerprint || s.Former != "" && noted == s.Former
}

// Fingerprint identifies a request: its method, path and parameters in a canonical form.
func Fingerprint(method, path, parameters string) string {
	sum := sha256.Sum256([]byte(method + "\n" + path + "\n" + parameters))
	return hex.EncodeToString(sum[:])
}

// Quoter makes and recognises quotes.
type Quoter struct {
	Rail     string   // its id
	Keys     [][]byte // MAC keys of 32 bytes or more: the one that is used, then such as were used before
	ChainID  int64
	Token    string // address
	Treasury string // address, where payments go
	// Recover returns the address whose key has signed text by EIP-191; nil means that signatures in proofs are not looked at.
	Recover func(text, signature string) (string, error)
	Now     func() time.Time
	Random  io.Reader // nil means crypto/rand
}

// Check returns an error if q is invalid.
func (q *Quoter) Check() error {
	if len(q.Keys) == 0 {
		return fmt.Errorf("no key for quotes")
	}
	for _, key := range q.Keys {
		if len(key) < minKeySize {
			return fmt.Errorf("a key for quotes has %d bytes, not %d or more", len(key), minKeySize)
		}
	}
	return nil
}

// Quote makes the quote of a call, valid for api.QuoteWindow.
func (q *Quoter) Quote(s Subject) (api.PaymentRequirements, error) {
	price := s.Price()
	if price == 0 {
		return api.PaymentRequirements{}, fmt.Errorf("operation %s has no price", s.Op)
	}
	expires := q.Now().Add(api.QuoteWindow).Unix()
	var nonce [NonceSize]byte
	nonce[0] = version
	binary.BigEndian.PutUint32(nonce[expiryAt:], uint32(expires))
	random := q.Random
	if random == nil {
		random = rand.Reader
	}
	if _, err := io.ReadFull(random, nonce[randomAt:macAt]); err != nil {
		return api.PaymentRequirements{}, fmt.Errorf("read randomness: %w", err)
	}
	copy(nonce[macAt:], q.mac(q.Keys[0], nonce, s))
	return api.PaymentRequirements{
		Scheme: api.SchemeX402, Network: api.NetworkL2, Asset: api.AssetUSDG, Amount: usdg.Amount(price).String(), Recipient: q.Treasury,
		ValidUntil: expires, Nonce: "0x" + hex.EncodeToString(nonce[:]), ChainID: q.ChainID, Token: q.Token, Decimals: usdg.Decimals,
	}, nil
}

// mac ties a nonce to what it is for. Prices that change make old quotes worthless, so the price is in it.
func (q *Quoter) mac(key []byte, nonce [NonceSize]byte, s Subject) []byte {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "contextd quote\n%x\n%d\n%s\n%s\n%d\n%s\n%s", nonce[:macAt], q.ChainID, strings.ToLower(q.Token),
		strings.ToLower(q.Treasury),
		s.Price(), s.Op, s.Fingerprint)
	return h.Sum(nil)[:macSize]
}

// Made reports whether q made nonce for s, and until when the payment had to be in a block.
func (q *Quoter) Made(nonce [NonceSize]byte, s Subject) (until time.Time, ok bool) {
	if nonce[0] != version {
		return time.Time{}, false
	}
	former := s
	former.Fingerprint = s.Former
	for _, key := range q.Keys {
		if hmac.Equal(nonce[macAt:], q.mac(key, nonce, s)) || s.Former != "" && hmac.Equal(nonce[macAt:], q.mac(key, nonce, former)) {
			return time.Unix(int64(binary.BigEndian.Uint32(nonce[expiryAt:])), 0), true
		}
	}
	return time.Time{}, false
}
