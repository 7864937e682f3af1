package x402

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Payment is the chain's data of a transaction.
type Payment struct {
	ChainID   int64 // 0 where the chain does not say
	From, To  string
	Input     []byte
	Succeeded bool
	Block     uint64
	BlockHash [32]byte
	At        time.Time // of the block
	Transfers []Transfer
	GasUsed   uint64
	Fee       *big.Int // that the sender has paid for it, in wei; nil where the chain does not say
}

// Transfer is a Transfer log of an ERC-20 token, of any contract.
type Transfer struct {
	Contract string
	From, To string
	Amount   uint64 // of the token's smallest unit; the greatest number stands for all that are greater
	LogIndex uint64 // place among the logs of its transaction; that in the block changes in a reorganisation

	Authorized    bool     // by EIP-3009: From signed it, anyone may send the transaction
	Authorization [32]byte // its nonce then
}

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

// StoredAnswer is an answer stored for repetitions of its payment.
type StoredAnswer struct {
	Fingerprint string // of the request
	Payer       string
	At          time.Time // when it was given
	Body        []byte    // JSON; nil when it was dropped
	Signed      []byte    // nonce with which the payer has signed the proof; nil where they have not
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
	PaidCall(ctx context.Context, rail string, hash [32]byte) (answer StoredAnswer, ok bool, err error)
	// SpendOnCall notes that the transfer of r is spent, and stores the answer, or fails with ErrSpent and changes nothing.
	SpendOnCall(ctx context.Context, r Receipt) error
	// NotFinal returns transactions that may still vanish from the chain of a rail, lowest block first, at most limit.
	NotFinal(ctx context.Context, rail string, limit int) ([]MinedTx, error)
	// Moved notes that a transaction is in another block now.
	Moved(ctx context.Context, rail string, tx MinedTx) error
	// Finalize notes that a transaction is final, or has vanished.
	Finalize(ctx context.Context, rail string, hash [32]byte, vanished bool) error
}

// Payments takes payments by call: proofs of transfers, and on its Settlers exact payments. Make one with NewPayments; it is safe for
// concurrent use, and there is at most one for a Store on each node.
type Payments struct {
	Quoter
	Settlers // none means that no payments of standard x402 are taken
	chain    Chain
	store    Store
	locks    locks
}

// NewPayments makes a Payments without Settlers. A nil Now of q means time.Now.
func NewPayments(q Quoter, chain Chain, store Store) (*Payments, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if q.Now == nil {
		q.Now = time.Now
	}
	return &Payments{Quoter: q, chain: chain, store: store}, nil
}

// transfer is a payment that its payer has made and presents the proof of.
type transfer struct {
	*Payments
	proof   Proof
	subject Subject
	receipt Receipt // without the answer; of verify
}

var _ scheme = (*transfer)(nil)

// Claim claims the payment of a proof for a request. While another request holds it, Claim waits.
func (p *Payments) Claim(ctx context.Context, proof Proof, s Subject) (*Claim, error) {
	return claim(ctx, &p.locks, &transfer{Payments: p, proof: proof, subject: s})
}

func (t *transfer) key() Key { return Key{Rail: t.Rail, Nonce: t.proof.Hash} }

// read looks for the call that the transfer has paid for.
func (t *transfer) read(ctx context.Context, c *Claim) error {
	answer, spent, err := t.store.PaidCall(ctx, t.Rail, t.proof.Hash)
	switch {
	case err != nil:
		return fmt.Errorf("look up payment: %w", err)
	case spent && !t.subject.is(answer.Fingerprint):
		return refused(api.ReasonAlreadyUsed, "the payment was used for another request")
	case spent && !usdg.SameAddress(answer.Payer, t.proof.Payer):
		return refused(api.ReasonPayerMismatch, "the transaction was not sent by the payer in the proof")
	case spent && answer.Body == nil:
		return refused(api.ReasonAlreadyUsed, "the payment was used at %s; its answer is kept for %s",
			answer.At.UTC().Format(time.RFC3339), api.ProofIdempotency)
	case spent && answer.Signed != nil:
		err = t.checkSignature(t.proof, [NonceSize]byte(answer.Signed)) // transaction and payer are public
	}
	if spent && err == nil {
		c.Replay = &answer
	}
	return err
}

// verify compares what the chain shows of the transfer with the quote in it.
func (t *transfer) verify(ctx context.Context, c *Claim) error {
	payment, err := t.chain.Payment(ctx, t.proof.Hash)
	switch {
	case errors.Is(err, ErrNotVisible):
		return api.Errorf(api.ReasonPaymentPending, "the chain does not show the transaction yet").
			WithHint("send the same request with the same proof again; do not pay again").WithRetryAfter(retryPending)
	case err != nil:
		// The cause is the chain's, and nobody is to pay twice because of it.
		return errors.Join(api.Errorf(api.ReasonChainUnavailable, "the chain does not answer").
			WithHint("send the same request with the same proof again; do not pay again").WithRetryAfter(retryChain), err)
	}
	moved, nonce, quoted, err := t.pays(payment, t.proof, t.subject)
	if err != nil {
		return err
	}
	c.Quoted = quoted
	t.receipt = Receipt{
		Rail: t.Rail, Hash: t.proof.Hash, Payment: payment, Transfer: moved, Op: t.subject.Op,
		StoredAnswer: StoredAnswer{Fingerprint: t.subject.Fingerprint, Payer: t.proof.Payer},
	}
	if t.proof.Signature != "" && t.Recover != nil {
		t.receipt.Signed = nonce[:]
	}
	return nil
}

// spend spends the transfer on an answer, in one transaction.
func (t *transfer) spend(ctx context.Context, _ *Claim, body []byte) error {
	r := t.receipt
	r.At, r.Body = t.Now().UTC(), body
	err := t.store.SpendOnCall(ctx, r)
	if errors.Is(err, ErrSpent) {
		return t.spentBefore(ctx)
	}
	if err != nil {
		return fmt.Errorf("spend payment: %w", err)
	}
	return nil
}

// spentBefore is the answer where something else was first to spend the transfer: the same request at another node, or another.
func (t *transfer) spentBefore(ctx context.Context) error {
	answer, onCall, err := t.store.PaidCall(ctx, t.Rail, t.proof.Hash)
	switch {
	case err != nil:
		return fmt.Errorf("look up payment: %w", err)
	case !onCall:
		return refused(api.ReasonAlreadyUsed, "the transfer has bought credits already")
	case answer.Fingerprint != t.subject.Fingerprint:
		return refused(api.ReasonAlreadyUsed, "the payment was used for another request")
	}
	return api.Errorf(api.ReasonPaymentPending, "another request uses the same payment now").
		WithHint("send the same request with the same proof again; do not pay again").WithRetryAfter(retrySame)
}

// Parts of the calldata of transfer(address,uint256).
const (
	selector     = "\xa9\x05\x9c\xbb"
	wordSize     = 32
	addressSize  = 20
	recipientEnd = len(selector) + wordSize
	amountEnd    = recipientEnd + wordSize
	maxInput     = 4 << 10 // of calldata that is searched for a nonce
)

// pays compares what the chain shows with what was quoted for s, and returns the log that pays for it, and the nonce and the moment of the
// quote.
func (q *Quoter) pays(p Payment, proof Proof, s Subject) (paid Transfer, nonce [NonceSize]byte, quoted time.Time, err error) {
	price := uint64(s.Price())
	if err := q.paysDirectly(p, proof); err != nil {
		return paid, nonce, quoted, err
	}
	until, nonce, ok := q.findNonce(p.Input[amountEnd:], s)
	quoted = until.Add(-api.QuoteWindow)
	switch amount, whole := word(p.Input[recipientEnd:amountEnd]); {
	case !ok:
		return paid, nonce, quoted, refused(api.ReasonNonceMismatch, "the calldata has no nonce of a quote for this request")
	case !usdg.SameAddress(hex.EncodeToString(p.Input[recipientEnd-addressSize:recipientEnd]), q.Treasury):
		return paid, nonce, quoted, refused(api.ReasonWrongRecipient, "the transfer goes to another address than the treasury")
	case !whole || amount != price:
		return paid, nonce, quoted, refused(api.ReasonAmountMismatch, "the transfer is not exactly the quoted amount")
	case p.At.After(until):
		return paid, nonce, quoted, refused(api.ReasonQuoteExpired, "the payment reached a block %s after the quote ended",
			p.At.Sub(until).Round(time.Second))
	case p.At.Before(quoted.Add(-maxSkew)):
		return paid, nonce, quoted, refused(api.ReasonNonceMismatch, "the payment is older than the quote")
	}
	paid, err = q.onlyTransfer(p, price)
	if err == nil && proof.Signature != "" {
		err = q.checkSignature(proof, nonce)
	}
	return paid, nonce, quoted, err
}

// paysDirectly checks that p is a direct call of transfer by the payer that did not fail.
func (q *Quoter) paysDirectly(p Payment, proof Proof) error {
	switch {
	case p.ChainID != 0 && p.ChainID != q.ChainID:
		return refused(api.ReasonWrongNetwork, "the transaction is for chain %d, not %d", p.ChainID, q.ChainID)
	case !p.Succeeded:
		return refused(api.ReasonTxFailed, "the transaction failed on chain and moved nothing")
	case !usdg.SameAddress(p.To, q.Token):
		return refused(api.ReasonWrongToken, "the transaction is not a direct call of the %s contract: contract wallets, and "+
			"transfers through other contracts, cannot pay", api.AssetUSDG)
	case !usdg.SameAddress(p.From, proof.Payer):
		return refused(api.ReasonPayerMismatch, "the transaction was not sent by the payer in the proof")
	case len(p.Input) < amountEnd || string(p.Input[:len(selector)]) != selector:
		return refused(api.ReasonWrongToken, "the transaction calls another function than transfer")
	}
	return nil
}

// maxSkew is how far the clock of the chain may be behind ours.
const maxSkew = time.Minute

// refused is the answer to a proof that is refused for good.
func refused(reason api.Reason, format string, args ...any) *api.Error {
	return api.Errorf(reason, format, args...).
		WithHint("this payment cannot pay for this request; repeat it without a proof for a new quote")
}

// onlyTransfer is the one log of p by which the token came to the treasury.
func (q *Quoter) onlyTransfer(p Payment, price uint64) (paid Transfer, err error) {
	found := 0
	for _, t := range p.Transfers {
		if usdg.SameAddress(t.Contract, q.Token) && usdg.SameAddress(t.To, q.Treasury) && usdg.SameAddress(t.From, p.From) {
			paid = t
			found++
		}
	}
	switch {
	case found == 0:
		return paid, refused(api.ReasonWrongRecipient, "the transaction has no transfer of %s from the payer to the treasury",
			api.AssetUSDG)
	case found > 1 || paid.Amount != price:
		return paid, refused(api.ReasonAmountMismatch, "the transaction moved another amount than quoted, or several")
	}
	return paid, nil
}

// findNonce looks for a nonce that was made for s in rest, the calldata behind its parameters: as bytes or spelled out, anywhere,
// because wallets put notes of their own there too.
func (q *Quoter) findNonce(rest []byte, s Subject) (until time.Time, nonce [NonceSize]byte, ok bool) {
	rest = rest[:min(len(rest), maxInput)]
	for i := 0; i+NonceSize <= len(rest); i++ {
		copy(nonce[:], rest[i:])
		if until, ok := q.Made(nonce, s); ok {
			return until, nonce, true
		}
	}
	for {
		at := bytes.Index(bytes.ToLower(rest), []byte("0x"))
		if at < 0 {
			return time.Time{}, nonce, false
		}
		rest = rest[at+2:]
		if len(rest) < 2*NonceSize {
			return time.Time{}, nonce, false
		}
		if _, err := hex.Decode(nonce[:], rest[:2*NonceSize]); err != nil {
			continue
		}
		if until, ok := q.Made(nonce, s); ok {
			return until, nonce, true
		}
	}
}

// word is a 32-byte number, if it is one that fits.
func word(b []byte) (n uint64, ok bool) {
	return binary.BigEndian.Uint64(b[wordSize-8:]), bytes.Equal(b[:wordSize-8], make([]byte, wordSize-8))
}

func (q *Quoter) checkSignature(proof Proof, nonce [NonceSize]byte) error {
	if q.Recover == nil {
		return nil
	}
	signer, err := q.Recover(api.ProofText(proof.Hash, "0x"+hex.EncodeToString(nonce[:])), proof.Signature)
	if err != nil || !usdg.SameAddress(signer, proof.Payer) {
		return refused(api.ReasonPayerMismatch, "the proof is not signed by the payer, or was first shown with their signature")
	}
	return nil
}
