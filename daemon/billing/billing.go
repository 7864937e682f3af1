// Package billing owns what lookups cost: tiers, the free window, tier volumes, credits and their ledger, and the deposits that buy them.
//
// Meter charges calls: they are decided one after another, in memory; a batch of decisions is made durable in one transaction, and only
// then may the callers answer. Credits moves and reports credits. Deposits sells them. None of the three knows how a caller was recognised
// or what they ask for beyond operation and pack; daemon/gate asks after it has recognised them and before the answer is written. The
// package does no SQL: daemon/store keeps its books.
//
// # A charge
//
// Ada has two keys, a with 1 credit and b with 100, of tier pro. A program calls fresh with key a twice at once. The first caller finds no
// batch open, opens one and leads it: the Meter reads Ada's records and takes 1 credit, from a, the key's own. The second joins the batch
// while the leader waits for the disk; a is empty by now, so it takes 1 credit from b, the oldest key that has any. One transaction writes
// "a -1, b -1, two calls", and both callers return. Did the books say something else than the Meter remembered, the store would answer
// ErrConflict and book nothing, and both calls would be decided anew on what the books say then. Once all of Ada's keys are empty,
// calls count against Ada's free window, which all her keys share, and against that of the address they come from; where one of them is
// used up, they are refused, and nothing is written. Keys of the operator have a free window each, or are not charged at all.
//
// # A deposit
//
// Ada opens a deposit for the pack starter. Its amount is the price and a few micro-USDG more, a slot that no other open deposit of that
// pack has, so the amount alone names the deposit; a nonce does too, for wallets that send calldata. Ada transfers exactly that to the
// treasury. Scan, every few seconds, asks the chain what arrived since it last looked, and hands it to the store. There, within the
// transaction that keeps the transfer, Match says which deposit it pays: the store calls back into this package, so that the rule is here
// and still nothing can come between the match and the credits. In the same transaction the deposit is verified, its key gets the credits,
// the ledger a row and the owner the pack's tier; account is told of the tier before anybody is charged again. For dear packs all of that
// waits until the block is safe. A transfer of any other amount is unmatched: it is never guessed whose it is. The operator assigns it to
// a deposit or writes it off, and Reconcile shows that what arrived, what was sold and what the treasury has still agree.
package billing

import (
	"errors"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Plan is what a tier allows.
type Plan struct {
	Snapshot time.Duration // how far back snapshots reach
	Volume   int           // calls with credits per key and 30 days; 0 means no bound
}

// Plans are the plans of all tiers.
type Plans map[api.Tier]Plan

// DefaultPlans are those of the specification.
func DefaultPlans() Plans {
	plans := make(Plans)
	for _, t := range api.Tiers() {
		plans[t] = Plan{Snapshot: t.SnapshotWindow(), Volume: t.MonthlyCalls()}
	}
	return plans
}

// Call is one call to charge.
type Call struct {
	KeyID   string
	OwnerID string
	Tier    api.Tier // of the key
	Window  string   // whose free window it counts in, an owner's id or a key's; "" means the owner
	Client  string   // the address it came from, which has a free window too; "" means none that counts

	Unmetered bool  // it is counted and not charged
	Units     int64 // what it costs: so many credits or so many free calls, all or none; 0 means 1

	Consent api.TraceConsent
	Op      api.Op
	Pack    string
}

// cost is what c costs in credits or free calls.
func (c Call) cost() int64 { return max(1, c.Units) }

// Record is the credits on one key that was not revoked.
type Record struct {
	KeyID   string
	Credits int64
}

// Stamp is a number of calls at one moment.
type Stamp struct {
	At    time.Time
	Calls int64
}

// Left is what a caller has left after a call that was charged. The zero Left is that of a call that is not charged.
type Left struct {
	Free  bool          // the call was one of the free ones; else it took a credit
	Calls int64         // credits of the owner, or free calls
	Reset time.Duration // until there is a free call more than now; 0 with credits
	Known bool          // there is something to tell
}

// UsageKey is what calls are counted by. Hour is whole hours since 1970.
type UsageKey struct {
	KeyID string
	Hour  int64
	Op    api.Op // "" where the owner wants no trace
}

// Count is how many calls were paid with a credit and how many were free.
type Count struct{ Paid, Free int64 }

// Trace is one call as kept for owners who allow it.
type Trace struct {
	KeyID string
	At    time.Time
	Op    api.Op
	Pack  string
}

// Batch is the sum of many charges, to be booked in one transaction.
type Batch struct {
	Debits map[string]int64 // by the key whose record pays
	Usage  map[UsageKey]Count
	Free   map[string]Stamp // by key
	Traces []Trace
}

// ErrConflict is what a store answers when the books are not what the batch was made from: nothing of it was booked.
var ErrConflict = errors.New("the books have changed")

// hour is the length of a bucket of the tier volume.
const hour = time.Hour

// hourOf is the bucket of t: whole hours since 1970.
func hourOf(t time.Time) int64 { return t.Unix() / int64(hour/time.Second) }
