// Package x402 owns payment by call: quotes, and the proofs that they were paid.
//
// A quote is not stored: its nonce holds all that it promises, under a MAC. A proof names a transaction; the package compares the chain's
// data of it with the quote in its calldata. One transaction spends a payment and saves its answer, before the answer is written: after a
// kill at any moment a payment either was answered, and is answered again the same way, or can still be used. The package reads no chain
// and no database and serves no HTTP; daemon/chain and daemon/store do that.
//
// # A payment
//
// A program without a key requests GET /v1/fresh?pack=crypto. The answer is ready, but the response is 402 with a quote: an amount of USDG
// to the treasury within five minutes, with nonce 0x01…. The nonce contains a version, the end of the quote, randomness, and a MAC over
// these, the chain, the token, the treasury, the price and the fingerprint of this request. Nothing is stored.
//
// The program calls the token's transfer with the nonce after the parameters, waits for its block, and repeats the request with a proof:
// the hash of the transaction and the address of the payer. Claim reserves the hash; checks in the store that it was not spent; reads the
// transaction from the chain; finds in its calldata a nonce that this daemon made for this request; and compares token, recipient, amount,
// payer and time. Then the answer is made, Settle writes "spent on this request" and the answer in one transaction, and only then is it
// sent.
//
// If the connection breaks, the program sends the same proof again and gets the same answer, as a replay, for a day. The proof cannot buy
// another answer: for another request the MAC differs, and the hash is spent. If the chain is reorganised before the block is final, Sweep
// finds the transaction in another block, or reports that it vanished: the answer was delivered, and the operator should know.
//
// # A payment by standard x402
//
// Here the program pays nothing itself: it signs an authorization (EIP-3009), with which anyone can have the token move the price to the
// treasury, once. Settler does so. ClaimExact checks the signature and the signed values, then has the node simulate the transfer. The
// answer is made, and Settle signs the transaction, writes a row (the authorization, the request, the signed bytes, the answer), broadcasts
// the bytes, waits for the block, finds the authorized transfer in it, and spends that transfer on the row, in one transaction.
//
// A kill before the row leaves nothing: the authorization is still valid. A kill after it, before or after the broadcast, leaves a pending
// row: Resume sends the same bytes again, which the chain accepts once, and finishes the row. The same holds for a kill after the block.
// The program, without an answer, sends the same payment again and finds the row: it is asked to wait, or gets the answer. It is asked for
// another payment only if the row has failed: the chain refused the transaction, and nobody else used the authorization, which is public
// after the broadcast. Anyone may submit it: the sender of the transaction does not matter, and the scanner of deposits settles the row
// even if that is discovered late.
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
	Spelled     string         // the fingerprint that the same request had while defaults counted as it spelled them; "" means the same
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
	return noted == s.Fingerprint || s.Spelled != "" && noted == s.Spelled
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
	spelled := s
	spelled.Fingerprint = s.Spelled
	for _, key := range q.Keys {
		if hmac.Equal(nonce[macAt:], q.mac(key, nonce, s)) || s.Spelled != "" && hmac.Equal(nonce[macAt:], q.mac(key, nonce, spelled)) {
			return time.Unix(int64(binary.BigEndian.Uint32(nonce[expiryAt:])), 0), true
		}
	}
	return time.Time{}, false
}
