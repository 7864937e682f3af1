package x402

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Errors of Chain and Store.
var (
	ErrNotVisible = errors.New("the chain does not show the transaction yet") // of Chain
	ErrSpent      = errors.New("the transfer was spent on something else")    // of Store
)

// Chain shows transactions and blocks.
type Chain interface {
	// Payment returns what the chain shows of a transaction, after waiting a bounded time for it to be in a block, else ErrNotVisible.
	// Any other error says that the chain does not answer.
	Payment(ctx context.Context, hash [32]byte) (Payment, error)
	// FinalBlock is the number of the newest block that cannot vanish.
	FinalBlock(ctx context.Context) (uint64, error)
	// Blocks returns which blocks from first to last the transactions are in that have paid the treasury. Few nodes answer for very many.
	Blocks(ctx context.Context, first, last uint64) (map[[32]byte][32]byte, error)
	// BlockHash is the hash of the block with the given number.
	BlockHash(ctx context.Context, number uint64) ([32]byte, error)
}

// StoredAnswer is an answer kept for repetitions of its payment.
type StoredAnswer struct {
	Fingerprint string // of the request
	Payer       string
	At          time.Time // when it was given
	Body        []byte    // JSON; nil when it is kept no longer
}

// Receipt is a payment spent on an answer.
type Receipt struct {
	Rail     string
	Hash     [32]byte
	Payment  Payment
	Transfer Transfer
	Op       api.Op
	StoredAnswer
}

// Store stores payments by call. Each method is one transaction.
type Store interface {
	// PaidCall returns the answer that the payment with the given hash was spent on; ok is false if there is none.
	PaidCall(ctx context.Context, rail string, hash [32]byte) (kept StoredAnswer, ok bool, err error)
	// SpendOnCall notes that the transfer of r is spent, and keeps the answer, or fails with ErrSpent and changes nothing.
	SpendOnCall(ctx context.Context, r Receipt) error
	// Unsettled returns transactions that may still vanish from the chain of a rail, lowest block first, at most limit.
	Unsettled(ctx context.Context, rail string, limit int) ([]MinedTx, error)
	// Moved notes that a transaction is in another block now.
	Moved(ctx context.Context, rail string, tx MinedTx) error
	// Settle notes that a transaction is final, or has vanished.
	Settle(ctx context.Context, rail string, hash [32]byte, vanished bool) error
}

// Payments takes payments by call. Make one with NewPayments; it is safe for concurrent use, and there is at most one for a Store.
type Payments struct {
	Quoter
	chain Chain
	store Store
	turns turns[[32]byte] // by the hash of the transaction
}

// NewPayments makes a Payments. A nil Now of q means time.Now.
func NewPayments(q Quoter, chain Chain, store Store) (*Payments, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if q.Now == nil {
		q.Now = time.Now
	}
	return &Payments{Quoter: q, chain: chain, store: store}, nil
}

// Claim is a valid payment, reserved for a request until Close. Settle spends it.
type Claim struct {
	Replay *StoredAnswer // the answer that it was spent on before, which is to be given again; nil if it was not spent yet
	Quoted time.Time     // when the request was quoted: what was offered then is owed; zero for a Replay and in standard x402

	// Receipt is the receipt of standard x402 after the payment is spent; nil for our protocol.
	Receipt *api.StandardReceipt
	// Bought is the bought key, if the payment was for one, with its plaintext if this answer may show it.
	Bought *api.IssuedKey

	settle func(ctx context.Context, body []byte) error
	close  func()
}

// Claim claims the payment of a proof for a request. While another request holds it, Claim waits.
func (p *Payments) Claim(ctx context.Context, proof Proof, s Subject) (c *Claim, err error) {
	if err := p.turns.seize(ctx, proof.Hash); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.turns.release(proof.Hash)
		}
	}()
	kept, spent, err := p.store.PaidCall(ctx, p.Rail, proof.Hash)
	switch {
	case err != nil:
		return nil, fmt.Errorf("look up payment: %w", err)
	case spent && !s.is(kept.Fingerprint):
		return nil, refused(api.ReasonAlreadyUsed, "the payment was used for another request")
	case spent && !usdg.SameAddress(kept.Payer, proof.Payer):
		return nil, refused(api.ReasonPayerMismatch, "the transaction was not sent by the payer in the proof")
	case spent && kept.Body == nil:
		return nil, refused(api.ReasonAlreadyUsed, "the payment was used at %s; its answer is kept for %s",
			kept.At.UTC().Format(time.RFC3339), api.ProofIdempotency)
	case spent:
		return &Claim{Replay: &kept, close: func() { p.turns.release(proof.Hash) }}, nil
	}
	payment, err := p.chain.Payment(ctx, proof.Hash)
	switch {
	case errors.Is(err, ErrNotVisible):
		return nil, api.Errorf(api.ReasonPaymentPending, "the chain does not show the transaction yet").
			WithHint("send the same request with the same proof again; do not pay again").WithRetryAfter(retryPending)
	case err != nil:
		// The cause is the chain's, and nobody is to pay twice because of it.
		return nil, errors.Join(api.Errorf(api.ReasonChainUnavailable, "the chain does not answer").
			WithHint("send the same request with the same proof again; do not pay again").WithRetryAfter(retryChain), err)
	}
	transfer, quoted, err := p.verify(payment, proof, s)
	if err != nil {
		return nil, err
	}
	r := Receipt{
		Rail: p.Rail, Hash: proof.Hash, Payment: payment, Transfer: transfer, Op: s.Op,
		StoredAnswer: StoredAnswer{Fingerprint: s.Fingerprint, Payer: proof.Payer},
	}
	return &Claim{
		Quoted: quoted, close: func() { p.turns.release(proof.Hash) },
		settle: func(ctx context.Context, body []byte) error { return p.settle(ctx, r, body) },
	}, nil
}

// When to ask again.
const (
	retryPending = 5 * time.Second // until daemon/chain looks again for one that was not there
	retryChain   = 10 * time.Second
	retrySame    = time.Second // until the answer is kept that another node has given
)

// Settle spends the payment on an answer, which is on disk when Settle returns nil.
func (c *Claim) Settle(ctx context.Context, body []byte) error { return c.settle(ctx, body) }

// Close releases the payment unless it was spent.
func (c *Claim) Close() { c.close() }

// settle spends a payment on an answer.
func (p *Payments) settle(ctx context.Context, r Receipt, body []byte) error {
	r.At, r.Body = p.Now().UTC(), body
	err := p.store.SpendOnCall(ctx, r)
	if errors.Is(err, ErrSpent) {
		return p.spent(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("spend payment: %w", err)
	}
	return nil
}

// spent is the answer where something else was first to spend a payment: the same request at another node, or another.
func (p *Payments) spent(ctx context.Context, r Receipt) error {
	kept, onCall, err := p.store.PaidCall(ctx, p.Rail, r.Hash)
	switch {
	case err != nil:
		return fmt.Errorf("look up payment: %w", err)
	case !onCall:
		return refused(api.ReasonAlreadyUsed, "the transfer has bought credits already")
	case kept.Fingerprint != r.Fingerprint:
		return refused(api.ReasonAlreadyUsed, "the payment was used for another request")
	}
	return api.Errorf(api.ReasonPaymentPending, "another request uses the same payment now").
		WithHint("send the same request with the same proof again; do not pay again").WithRetryAfter(retrySame)
}

// turns lets one at a time have what a key names. The zero turns is ready.
type turns[K comparable] struct {
	mu   sync.Mutex // guards busy
	busy map[K]chan struct{}
}

// seize waits until nobody has what k names and takes it.
func (t *turns[K]) seize(ctx context.Context, k K) error {
	for {
		t.mu.Lock()
		other := t.busy[k]
		if other == nil {
			if t.busy == nil {
				t.busy = map[K]chan struct{}{}
			}
			t.busy[k] = make(chan struct{})
			t.mu.Unlock()
			return nil
		}
		t.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// release lets the next one have it.
func (t *turns[K]) release(k K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.busy[k])
	delete(t.busy, k)
}
