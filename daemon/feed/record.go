package feed

import (
	"errors"
	"time"
)

// ErrNoPulse is what a history answers when it holds no pulse that old.
var ErrNoPulse = errors.New("no pulse that old")

// SourceRecord is what is kept of one source over a restart.
type SourceRecord struct {
	Source      string
	Doc         []byte    // the last good answer as JSON, nil if there never was one
	FetchedAt   time.Time // when that was; zero if never
	AttemptedAt time.Time // the last attempt, good or not
	NotBefore   time.Time // no attempt before this; zero means none was asked for
	Failures    int       // attempts that failed since FetchedAt
	Err         string    // why the last attempt failed, "" after a good one
}

// PastBrief is a brief of history.
type PastBrief struct {
	Brief
	GeneratedAt time.Time // of the state it was written from
}

// OwnerBrief is a brief by an owner's own prompt. Its Text is "" where no model could write it.
type OwnerBrief struct {
	PastBrief
	Prompt   []byte // SHA-256
	Attempts int    // to write one about that state
}

// Saved is what a store holds of a pack.
type Saved struct {
	Start   time.Time // when the pack was first opened
	Pulse   *Pulse    // the newest readable one, nil if there is none
	Damaged int       // newer pulses that could not be read
	Brief   Brief
	Sources []SourceRecord
}
