package billing

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/contextd/contextd/sdk/api"
)

// Kind is the kind of a ledger entry.
type Kind string

// The kinds of ledger entries.
const (
	KindGrant  Kind = "grant"  // the operator gave credits
	KindAdjust Kind = "adjust" // the operator corrected a record, up or down
	KindBuy    Kind = "buy"    // a deposit was verified; the reason is its id
	KindRotate Kind = "rotate" // a key was replaced by another, which got its credits; the reason names the other of the two
)

// Entry is a row of the ledger.
type Entry struct {
	ID     int64     `json:"id"` // given by the store
	KeyID  string    `json:"keyId"`
	Amount int64     `json:"amount"` // credits; negative takes away
	Kind   Kind      `json:"kind"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"` // given by Books
}

// Finding is a key whose books disagree, or an owner whose debits differ from their paid calls.
type Finding struct {
	Subject string `json:"subject"` // a key id, or owner and an owner id
	Text    string `json:"text"`
}

// Ledger stores the changes of credits. Each method is one transaction, on disk when it returns.
type Ledger interface {
	// Move adds e and changes the credits of its key, which must be there, not revoked, and not fall below zero: else it is an
	// *api.Error with nothing changed. It returns the owner's pool afterwards.
	Move(ctx context.Context, e Entry) (pool int64, err error)
	// Entries returns the rows of an owner, or of all owners for "", newest first, at most limit.
	Entries(ctx context.Context, ownerID string, limit int) ([]Entry, error)
	// Balance returns the pool of an owner and how many of their keys are not revoked; with keyID the credits of that key alone, which
	// must be theirs, else it is an *api.Error.
	Balance(ctx context.Context, ownerID, keyID string) (credits int64, keys int, err error)
	// Usage returns the calls of an owner's keys by day, from the day that from is in, oldest first.
	Usage(ctx context.Context, ownerID string, from time.Time) ([]api.UsageRow, error)
	// Bounds returns the bounds of an owner's active keys and what each has spent in the UTC day of now, oldest key first.
	Bounds(ctx context.Context, ownerID string, now time.Time) ([]api.KeyBound, error)
	// Audit recomputes every balance from the ledger and the counters and says what does not agree.
	Audit(ctx context.Context) ([]Finding, error)
}

// Credits moves and reports credits. It is safe for concurrent use.
type Credits struct {
	Ledger Ledger
	Meter  *Meter
	Now    func() time.Time // nil means time.Now
}

// maxMove bounds one movement of credits, so that no sum can overflow.
const maxMove = 1_000_000_000_000

// maxReason bounds the reason of a movement, in runes.
const maxReason = 200

// Move grants credits to a key, or adjusts it, for a reason. It returns the pool of its owner afterwards.
func (b *Credits) Move(ctx context.Context, ownerID string, e Entry) (int64, error) {
	e.Reason = strings.TrimSpace(e.Reason)
	switch {
	case e.Reason == "" || utf8.RuneCountInString(e.Reason) > maxReason:
		return 0, api.Errorf(api.ReasonInvalidRequest, "a change of credits needs a reason of 1 to %d characters", maxReason).
			WithHint("add one for the ledger: --reason \"refund of 2026-11-20\"")
	case e.Amount == 0 || e.Amount > maxMove || e.Amount < -maxMove || e.Kind == KindGrant && e.Amount < 0:
		return 0, api.Errorf(api.ReasonInvalidRequest, "%d is not a number of credits to %s", e.Amount, e.Kind).
			WithHint("grant takes a positive number; adjust takes any but zero")
	}
	now := b.Now
	if now == nil {
		now = time.Now
	}
	e.At = now().UTC().Truncate(time.Millisecond)
	var pool int64
	err := b.exclusively(ctx, ownerID, func() (err error) {
		pool, err = b.Ledger.Move(ctx, e)
		return err
	})
	return pool, err
}

// exclusively runs act while nothing is charged. Without a Meter nothing ever is.
func (b *Credits) exclusively(ctx context.Context, ownerID string, act func() error) error {
	if b.Meter == nil {
		return act()
	}
	return b.Meter.WithLock(ctx, ownerID, act)
}

// Entries returns the ledger of an owner, or of all owners for "", newest first, at most limit rows.
func (b *Credits) Entries(ctx context.Context, ownerID string, limit int) ([]Entry, error) {
	return b.Ledger.Entries(ctx, ownerID, limit)
}

// Audit recomputes every balance from the ledger and the counters and says what does not agree.
func (b *Credits) Audit(ctx context.Context) ([]Finding, error) { return b.Ledger.Audit(ctx) }

// Balance reports an owner's pool, or the credits of one of their keys where keyID is not "". What was deposited is for Deposits to report.
func (b *Credits) Balance(ctx context.Context, ownerID, keyID string) (api.CreditBalanceResponse, error) {
	credits, keys, err := b.Ledger.Balance(ctx, ownerID, keyID)
	answer := api.CreditBalanceResponse{Balance: credits, KeyCount: keys}
	if credits == 0 && keyID == "" && b.Meter != nil {
		answer.FreeCalls = b.Meter.FreeCalls()
	}
	return answer, err
}

// Usage reports the calls of the last days of an owner, today included.
func (b *Credits) Usage(ctx context.Context, ownerID string, days int) (api.UsageResponse, error) {
	const most = 366
	if days < 1 || days > most {
		return api.UsageResponse{}, api.Errorf(api.ReasonInvalidRequest, "days is %d, not a number from 1 to %d", days, most).
			WithHint("leave it out for 30 days")
	}
	now := b.Now
	if now == nil {
		now = time.Now
	}
	rows, err := b.Ledger.Usage(ctx, ownerID, now().Add(-time.Duration(days-1)*24*time.Hour))
	if err != nil {
		return api.UsageResponse{}, fmt.Errorf("report usage: %w", err)
	}
	bounds, err := b.Ledger.Bounds(ctx, ownerID, now())
	if err != nil {
		return api.UsageResponse{}, fmt.Errorf("report bounds of keys: %w", err)
	}
	return api.UsageResponse{Days: rows, Bounds: bounds}, nil
}
