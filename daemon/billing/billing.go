// Package billing owns the cost of calls: tiers, the free window, tier volumes, credits and their ledger, and deposits, which buy them.
//
// Meter charges calls: it decides them one after another, in memory, and makes a batch of decisions durable in one transaction; only then
// do the callers answer. Credits moves and reports credits. Deposits sells them. None of the three knows how a caller was identified, or
// more of a call than operation and pack; daemon/gate calls them after it has identified the caller and before the answer is written. The
// package contains no SQL: daemon/store keeps its books.
//
// # A charge
//
// Ada has two keys of tier pro, a with 1 credit and b with 100.
//
//  1. At 20:00:00.000 a program calls fresh with key a. No batch is open: the call opens one and leads it. The Meter reads Ada's records
//     and takes, in memory, 1 credit from a, the key of the call.
//  2. At 20:00:00.001 it calls again with key a. The call joins the batch, whose leader waits for the disk. a is empty by now, so that 1
//     credit is taken from b, the oldest key with credits.
//  3. At 20:00:00.002 the disk is free, and the batch is closed: later calls go into the next one. One transaction writes "a -1, b -1, two
//     calls".
//  4. At 20:00:00.004 it is on disk, and both calls are answered.
//
// A kill before 4 charges nobody and answers nobody. A kill after it loses responses that were charged. If the books differ from the
// Meter's memory at 3, the store returns ErrConflict and books nothing, and the Meter decides both calls again from the books. Once all of
// Ada's keys are empty, calls count against Ada's free window, which all Ada's keys share, and against that of the client address; if one
// is used up, calls are refused, and nothing is written. Each key of the operator has its free window, or is not charged at all.
//
// # A deposit
//
//  1. At 20:00:00 Ada opens a deposit for the pack starter, to be paid before 20:30:00. Two others wait for theirs, so its amount is the
//     price and the lowest free slot, 1.000002 USDG: the amount alone identifies the deposit. For wallets that send calldata, a nonce does
//     as well.
//
//  2. Ada transfers exactly that. The block is number 500, of 20:04:10.
//
//  3. At 20:04:15 Scan, which had come to block 480, asks the chain for the transfers to the treasury from 416 on: 64 blocks again, since
//     they may be others by now. It locks the Meter, so that nobody is charged, and calls Store.Arrive.
//
//  4. One transaction does the rest: it stores the transfer; calls Match of this package, which names the deposit; verifies that; adds
//     1,000 credits to Ada's key, a row to the ledger and the tier of the pack to Ada; and notes that the chain was scanned to 501.
//
//  5. Books.Sold tells account the tier, the Meter forgets Ada's records, and calls are charged again, the next from the new books.
//
//     Scan → chain.Between → Lock → store.Arrive [ keep → Match → verify → credit → cursor ] → Books.Sold → account, Meter → Unlock
//
// The store calls Match, and not the other way round, because nothing may come between the match and the credits, and a rule belongs here.
// A kill before the commit of 4 leaves the scan at 480, and the next one finds the same; a transfer is stored once, by rail, transaction
// and place in it. A kill after it loses nothing: account and Meter read the books when they start. While the daemon is down, nothing
// expires: the time of the block counts, and a deposit ends once the chain was scanned past its end.
//
// For the packs pro and team, 4 notes that the transfer waits for the deposit, and a later scan verifies it by the same steps when its
// block is safe. A transfer of any other amount, or of a block after 20:30:00, is unmatched; its owner is never guessed. The operator
// assigns it to a deposit or writes it off, and Reconcile shows whether arrivals, sales and the treasury agree. A purchase by standard
// x402 opens no deposit: the transaction that settles it stores one that is verified, under the same lock (see daemon/x402).
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

	Daily     int64 // credits that the key spends in a UTC day at most; 0 means no bound
	Unmetered bool  // it is counted and not charged
	Units     int64 // what it costs: so many credits or so many free calls, all or none; 0 means 1

	Consent api.TraceConsent
	Op      api.Op
	Pack    string
}

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
	Daily *int64        // credits that the key may spend today; nil where it has no bound, or the call took none
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

	Daily map[Day]Spent // likewise, of keys with a bound of credits a day
}

// Day is a UTC day of a key; Hour is its first, in hours since 1970.
type Day struct {
	KeyID string
	Hour  int64
}

// Spent is what calls with a key cost in a day, which together may cost Most.
type Spent struct{ Credits, Most int64 }

// Whole is b, for a Store that asks for a Batch to which nothing is added.
func (b Batch) Whole() Batch { return b }

// ErrConflict is what a store answers when the books are not what the batch was made from: nothing of it was booked.
var ErrConflict = errors.New("the books have changed")

// hour is the length of a bucket of the tier volume.
const (
	hour     = time.Hour
	dayHours = 24
)

// hourOf is the bucket of t: whole hours since 1970.
func hourOf(t time.Time) int64 { return t.Unix() / int64(hour/time.Second) }
