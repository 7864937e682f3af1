// Package billing owns the cost of calls: tiers, the free window, tier volumes, credits and their ledger, and deposits, which buy them.
//
// Meter charges calls: it decides them one after another, in memory, and makes a batch of decisions durable in one transaction; only then
// do the callers answer. Credits moves and reports credits. Deposits sells them. None of the three knows how a caller was identified, or
// more of a call than operation and pack; daemon/gate calls them after it has identified the caller and before the answer is written. The
// package contains no SQL: daemon/store keeps its books.
//
// # A charge
//
// Ada has two keys of tier pro, a with 1 credit and b with 100. A program calls fresh with key a twice at once. The first call finds no
// open batch, opens one and leads it: the Meter reads Ada's records and takes 1 credit from a, the key of the call. The second joins the
// batch while the leader waits for the disk; a is empty by now, so it takes 1 credit from b, the oldest key with credits. One transaction
// writes "a -1, b -1, two calls", and both calls are answered. If the books differ from the Meter's memory, the store returns ErrConflict
// and books nothing, and the Meter decides both calls again from the books. Once all of Ada's keys are empty, calls count against Ada's
// free window, which all Ada's keys share, and against that of the client address; if one is used up, calls are refused, and nothing is
// written. Each key of the operator has its free window, or is not charged at all.
//
// # A deposit
//
// Ada opens a deposit for the pack starter. Its amount is the price plus a few micro-USDG, a slot that no other open deposit of that pack
// has, so that the amount alone identifies the deposit; for wallets that send calldata, a nonce does as well. Ada transfers exactly that
// amount to the treasury. Scan, every few seconds, asks the chain for new transfers and passes them to the store. Within the transaction
// that saves the transfer, the store calls Match of this package, which names the deposit it pays: the rule is here, and nothing can come
// between the match and the credits. The same transaction verifies the deposit, adds the credits to its key, a row to the ledger and the
// pack's tier to the owner; account learns of the tier before anyone is charged again. For expensive packs all of this waits until the
// block is safe. A transfer of any other amount is unmatched; its owner is never guessed. The operator assigns it to a deposit or writes it
// off, and Reconcile shows whether arrivals, sales and the treasury agree.
package billing

import (
	"errors"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Plan holds the limits of a tier.
type Plan struct {
	Snapshot time.Duration // how far back snapshots reach
	Volume   int           // calls with credits per key and 30 days; 0 means no bound
}

// Plans are the plans of all tiers.
type Plans map[api.Tier]Plan

// DefaultPlans returns the plans of the specification.
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

// Record holds the credits of an active key.
type Record struct {
	KeyID   string
	Credits int64
}

// Stamp is a number of calls at one moment.
type Stamp struct {
	At    time.Time
	Calls int64
}

// Left holds the remaining calls of a caller after a charged call. It is zero for an uncharged call.
type Left struct {
	Free  bool          // the call was one of the free ones; else it took a credit
	Calls int64         // credits of the owner, or free calls
	Reset time.Duration // until there is a free call more than now; 0 with credits
	Known bool          // there is something to tell
}

// UsageKey is the key of usage counts. Hour is in hours since 1970.
type UsageKey struct {
	KeyID string
	Hour  int64
	Op    api.Op // "" where the owner wants no trace
}

// Count holds the numbers of calls paid with credits and of free calls.
type Count struct{ Paid, Free int64 }

// Trace is one recorded call, for owners who consent.
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

	// What the free calls are within, where others charge on the same books: windows by the keys of Free, and in each of them at most so
	// many calls after a time.
	Windows   map[string]string
	FreeAfter time.Time
	FreeLimit int64
}

// Whole is b, for a Store that asks for a Batch to which nothing is added.
func (b Batch) Whole() Batch { return b }

// ErrConflict is what a store answers when the books are not what the batch was made from: nothing of it was booked.
var ErrConflict = errors.New("the books have changed")

// hour is the length of a bucket of the tier volume.
const hour = time.Hour

// hourOf is the bucket of t: whole hours since 1970.
func hourOf(t time.Time) int64 { return t.Unix() / int64(hour/time.Second) }
