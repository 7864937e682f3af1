package x402

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// SettlementState is the state of a settlement.
type SettlementState string

// The states. A failed settlement can still be settled: its authorization may remain valid, and anyone can submit it.
const (
	SettlementPending SettlementState = "pending"
	SettlementSettled SettlementState = "settled"
	SettlementFailed  SettlementState = "failed"
)

// Settlement is an authorization accepted for a request, with the data for settling and answering it.
type Settlement struct {
	Authorization
	Identifier  string            // of the payment, "" for none
	Payload     string            // digest of what was sent
	Op          api.Op            // "" where it buys credits
	Pack        api.CreditPack    // of credits that it buys, "" for a call
	Purchase    *account.Purchase // the key that it buys with them; only of one that begins
	Fingerprint string            // of the request
	State       SettlementState
	Why         string     // it has failed
	At          time.Time  // when the answer was made
	DoneAt      time.Time  // when it was settled or failed; zero before
	Body        []byte     // of the answer; nil when it was dropped
	Txs         []SignedTx // that were to settle it, oldest first
	TxHash      [32]byte   // of the settling one, from any sender
	Facilitator string     // host of who settles it, "" where Txs do
}

// Handshake is the subject of a payment that opens handshake and lists of MCP for a day, at the price of the cheapest operation.
func Handshake() Subject {
	return Subject{Op: api.OpFresh, Fingerprint: Fingerprint("MCP", "handshake", ""), Daily: true}
}

// For is what s pays for, for people.
func (s Settlement) For() string {
	switch {
	case s.Op == "":
		return "credits " + string(s.Pack)
	case s.Fingerprint == Handshake().Fingerprint:
		return "mcp handshake"
	}
	return string(s.Op)
}

// paidBy reports whether t is the transfer that the authorization allows.
func (s Settlement) paidBy(t Transfer) bool {
	return t.Authorized && t.Authorization == s.Nonce && usdg.SameAddress(t.From, s.From) && usdg.SameAddress(t.To, s.To) &&
		t.Amount == s.Value
}

// Payer is how a payer stands on a rail.
type Payer struct {
	Pending   int    // settlements of theirs
	Value     uint64 // that these are to move
	Failed    int    // since a time
	Customer  bool   // one of theirs was settled, ever
	Strangers int    // pending settlements of all payers who are no customers
}

// Errors of SettlementStore.
var (
	ErrTaken      = errors.New("the authorization was taken already")
	ErrIdentified = errors.New("the payer has used the identifier already")
)

// SettlementStore stores settlements. Each method is one transaction.
type SettlementStore interface {
	GasStore
	// Settlements returns that of an authorization and those of its payer with an identifier, on whatever rail, as far as they are there.
	Settlements(ctx context.Context, k Key, identifier string) ([]Settlement, error)
	// SettledFor returns the newest of those of a payer on a rail for a request that were settled since a time, or none.
	SettledFor(ctx context.Context, rail, payer, fingerprint string, since time.Time) ([]Settlement, error)
	// Payer returns how the payer of k stands; strangers are counted among those who buy packs or who pay for calls.
	Payer(ctx context.Context, k Key, buys bool, since time.Time) (Payer, error)
	// FirstIdentifier notes the identifier with which an authorization came first, until some time, and returns it; first reports whether
	// this is it.
	FirstIdentifier(ctx context.Context, k Key, identifier string, until time.Time) (noted string, first bool, err error)
	// BeginSettlement stores one with its first transaction, or fails with ErrTaken, ErrIdentified, or what admit says of how its payer
	// stands then, by Payer with since.
	BeginSettlement(ctx context.Context, s Settlement, since time.Time, admit func(Payer) error) error
	// Tell notes when the answer of one was first handed out, and reports whether this is it.
	Tell(ctx context.Context, k Key, at time.Time) (first bool, err error)
	// AddSettlementTx stores a further transaction of one that is pending.
	AddSettlementTx(ctx context.Context, k Key, tx SignedTx) error
	// FinishSettlement notes that one was settled by the transfer of r, which is spent on it, once; or fails with ErrSpent. Where it buys
	// credits, they are given with their key, to an owner who is made if need be, and it returns the deposit that stands for that.
	FinishSettlement(ctx context.Context, k Key, r Receipt) (billing.Deposit, error)
	// AdmitPurchase says why a purchase may not be begun now, nil if it may. BeginSettlement asks again.
	AdmitPurchase(ctx context.Context, p account.Purchase, now time.Time) error
	// BoughtKey returns the key that a settlement has made, as it is now and without its plaintext, and the hash of that.
	BoughtKey(ctx context.Context, k Key) (api.IssuedKey, [sha256.Size]byte, error)
	// FailSettlement notes that a pending one has moved nothing, and returns it as it is then: it may have been settled meanwhile.
	FailSettlement(ctx context.Context, k Key, why string, at time.Time) (Settlement, error)
	// PendingSettlements returns those of a rail whose next attempt is due at a time, in the order of these, at most limit.
	PendingSettlements(ctx context.Context, rail string, due time.Time, limit int) ([]Settlement, error)
	// PutOff notes when the next attempt of a pending one is due. At first it is at once.
	PutOff(ctx context.Context, k Key, next time.Time) error
	// LockSigner waits, for a bounded time, until no other node signs with the account of a rail, and keeps it so until end is called. held
	// says why the lock was lost before that, if it was.
	LockSigner(ctx context.Context, rail string) (held func(ctx context.Context) error, end func(), err error)
	// NextAccountNonce is that behind all which transactions of a sender on a rail have.
	NextAccountNonce(ctx context.Context, rail, sender string) (uint64, error)
}
