// Package x402 owns payment by call: quotes, the payments that answer them, and how they are taken. It reads no chain and no database and
// serves no HTTP; daemon/chain and daemon/store do that.
//
// There are two ways to pay. In our own, the payer transfers the price to the treasury and presents the hash of the transaction: a Proof.
// In standard x402, scheme exact, the payer signs an authorization (EIP-3009), with which anybody can have the token move the price to the
// treasury, once, and this daemon settles it. A purchase of credits is an exact payment that buys a key in place of an answer.
//
// Each is one claim with four steps, in the order of the files: quote.go and offer.go ask for payment; proof.go and authorization.go parse
// what is presented; claim.go holds it for one request at a time (seize); transfer.go and exact.go look up what it has paid for before
// (read), check it (verify) and spend it on the answer (spend); settle.go is what an exact payment does on the chain, resume.go goes on
// with that after a kill; sweep.go looks again at transactions that were not final.
//
// # A proof
//
//  1. At 20:00:00 a program without a key requests GET /v1/fresh?pack=crypto. The answer is ready, but the response is 402 with a quote:
//     0.001 USDG to the treasury before 20:05:00, with nonce 0x01…. The nonce holds a version, the end of the quote, randomness, and a MAC
//     over these, the chain, the token, the treasury, the price and the fingerprint of this request. Nothing is stored.
//  2. The program calls the token's transfer with the nonce after the parameters. Its block is of 20:00:08. At 20:00:09 it repeats the
//     request with the hash of the transaction and its address.
//  3. seize holds the hash: another request with it waits here. read finds no paid call of that hash. verify reads the transaction from
//     the chain, waiting up to 10 s for its block; finds in its calldata a nonce that this daemon made for this request; and compares
//     token, recipient, amount, payer and time. That the block is within the quote counts, and not when the proof came: presented at
//     23:00:00, it pays all the same.
//  4. The answer is made. At 20:00:09.4 spend writes "the transfer is spent on this request" and the answer in one transaction. Then the
//     answer is sent.
//
// A kill before 4 leaves nothing: the proof is as good as before. A kill after 4 loses the response and not the answer: the same proof
// gets the same answer, as a replay, until 20:00:09 of the next day. It buys no other answer: for another request the MAC differs, and the
// hash is spent. If another node was first to spend it, spend changes nothing and asks the program to come again, for the answer of that
// node. If the chain is reorganised before the block is final, Sweep finds the transaction in another block, or reports that it vanished:
// the answer was delivered, and the operator should know.
//
// # An exact payment
//
//  1. The same response of 20:00:00 has the header PAYMENT-REQUIRED. The program signs an authorization of 0.001 USDG to the treasury,
//     valid until 20:02:00, with a nonce of its choice, and repeats the request at 20:00:01.
//  2. seize holds the authorization, named by rail, payer and nonce. read finds no settlement of it. verify compares the signed values and
//     the signer, asks whether gas is spent on such a price now, and waits for one of the payer's three seats. What is pending or has
//     failed within an hour is less than three of this payer, and less than 16 are pending of all strangers, who have settled nothing yet.
//     The payer has 0.005 USDG, enough for what is pending of theirs and this. Then, and not before, others get the authorization: the
//     node simulates the transfer: 65,000 gas.
//  3. The answer is made. At 20:00:01.3 spend checks that at least 6 s are left, locks the gas key among the nodes, and signs the
//     transaction with the account nonce after all that are stored.
//  4. One transaction counts again as 2 does, and stores the settlement as pending: the authorization, the request, the signed bytes and
//     the answer.
//  5. The bytes are broadcast, and the lock ends.
//  6. The block is there at 20:00:01.8. One transaction notes the settlement as settled and spends the authorized transfer on it. The
//     answer is sent, with a receipt.
//
// A kill before 4 leaves nothing: the authorization is still valid. A kill after 4, before or after the broadcast or the block, leaves the
// pending settlement: at the start, and every 15 s, later less often, Resume sends the same bytes again, which the chain accepts once, and
// finishes it. A
// transaction in no block after two minutes is replaced by one a quarter dearer, at most five in all. The program, without an answer, sends
// the same payment again: until 6 it is asked to wait (settlement_pending), then it gets the answer, for a day. It is asked for another
// payment only when the settlement has failed: the chain refused the transaction and nobody else used the authorization, or ten minutes
// after its end it was in no block. Anybody may submit an authorization that was broadcast: the sender does not matter, and the scanner of
// deposits settles even a failed row when it finds the transfer.
//
// # A purchase
//
// POST /v1/credits?pack=starter with an exact payment of 1 USDG differs in three places. verify also asks whether this payer may have a
// key, and stores the payment's identifier before others get the authorization: whoever sends that again with another identifier, or with
// one that can be guessed, is refused. Step 4 also reserves the key's place, and holds the lock of billing.Deposits for that. The
// transaction of step 6 makes the key, which is derived from a secret and the authorization, and its owner if the wallet has none, credits
// it, and adds a verified deposit; calls are charged again once account knows the key. A kill loses what it loses above; whoever finishes
// the row, the resumed daemon or the scanner, gives the key and the credits in that one transaction. Only the plaintext of the key can be
// lost with a response: it is shown again for a day to who repeats the payment's identifier.
package x402

import (
	"context"
	"sync"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Claim is a valid payment, held for a request until Close. Spend spends it.
type Claim struct {
	Replay *StoredAnswer // the answer that it was spent on before, which is to be given again; nil if it was not spent yet
	Quoted time.Time     // when the request was quoted: what was offered then is owed; zero for a Replay and in standard x402

	// Receipt is the receipt of standard x402 after the payment is spent; nil for our protocol.
	Receipt *api.StandardReceipt
	Settled time.Time // when it was settled, where there is a Receipt
	// Bought is the bought key, if the payment was for one, with its plaintext if this answer may show it.
	Bought *api.IssuedKey

	scheme scheme
	locks  *locks
	seat   func() // gives the payer's seat to another of their payments; nil while it has none
}

// scheme is a payment that a request presents: by transfer or exact. Its methods are called in this order, while no other request holds
// the payment.
type scheme interface {
	// key identifies the payment.
	key() Key
	// read gives c its Replay, and what belongs to that, where the payment was spent before, or says why it pays for nothing more.
	read(ctx context.Context, c *Claim) error
	// verify says why a payment that was not spent does not pay for the request. It moves no money and stores nothing.
	verify(ctx context.Context, c *Claim) error
	// spend spends the payment on an answer, which is on disk when spend returns nil.
	spend(ctx context.Context, c *Claim, body []byte) error
}

// claim claims a payment for a request. While another request holds it, claim waits.
func claim(ctx context.Context, l *locks, s scheme) (*Claim, error) {
	if err := l.seize(ctx, s.key(), 1); err != nil {
		return nil, err
	}
	c := &Claim{scheme: s, locks: l}
	err := s.read(ctx, c)
	if err == nil && c.Replay == nil {
		err = s.verify(ctx, c)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Spend spends the payment on an answer, which is on disk when Spend returns nil.
func (c *Claim) Spend(ctx context.Context, body []byte) error { return c.scheme.spend(ctx, c, body) }

// Close releases the payment unless it was spent.
func (c *Claim) Close() {
	if c.seat != nil {
		c.seat()
	}
	if c.locks != nil {
		c.locks.release(c.scheme.key())
	}
}

// When to ask again.
const (
	retryPending = 5 * time.Second // until daemon/chain looks again for one that was not there
	retryChain   = 10 * time.Second
	retrySame    = time.Second // until the answer is stored that another node has given
	retrySettle  = 5 * time.Second
)

// Key identifies a payment: an authorization by its payer and nonce, a proof by its transaction alone, whose hash is the nonce.
type Key struct {
	Rail  string
	Payer string // in lower case
	Nonce [32]byte
}

// locks let so many requests at a time hold a payment, or a payer. The zero locks is ready.
type locks struct {
	mu   sync.Mutex // guards held
	held map[Key]*lock
}

// lock is what some requests hold and others wait for.
type lock struct {
	holders  int
	released chan struct{} // closes when one of them releases it
}

// seize waits until fewer than most hold k and takes it.
func (l *locks) seize(ctx context.Context, k Key, most int) error {
	for {
		l.mu.Lock()
		one := l.held[k]
		if one == nil {
			if l.held == nil {
				l.held = map[Key]*lock{}
			}
			one = &lock{released: make(chan struct{})}
			l.held[k] = one
		}
		if one.holders < most {
			one.holders++
			l.mu.Unlock()
			return nil
		}
		released := one.released
		l.mu.Unlock()
		select {
		case <-released:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// release lets the next one hold it.
func (l *locks) release(k Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.held[k]
	close(one.released)
	one.released = make(chan struct{})
	if one.holders--; one.holders == 0 {
		delete(l.held, k)
	}
}
