// Package billing owns what calls cost: tiers, the free window, tier volumes, credits and their ledger.
//
// Meter charges calls: one goroutine decides them in order, makes a batch of decisions durable in one transaction and only then
// lets the callers answer. Credits moves and reports credits. Neither knows how a caller was recognised or what he asks for
// beyond operation and pack; daemon/gate asks after it has recognised him and before the answer is written. The package does no
// SQL: daemon/store keeps its books.
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
	Consent api.TraceConsent
	Op      api.Op
	Pack    string
}

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

// Past is what counts against a key.
type Past struct {
	Free  []Stamp // calls in the free window, oldest first
	Hours []Stamp // calls with credits, by the hour they were made in, oldest first
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
