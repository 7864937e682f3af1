package state

import (
	"errors"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// ErrNoPulse is what a history answers when it holds no pulse that old.
var ErrNoPulse = errors.New("no pulse that old")

// Pulse is one compacted state of a pack.
type Pulse struct {
	Pack        string
	Version     int       // of the pack's source order
	GeneratedAt time.Time // UTC, whole milliseconds, strictly rising per pack
	State       []byte    // compact JSON, never changed
	Citations   []api.Citation
}

// Brief is one narrated brief of a pack. The zero Brief is "none yet".
type Brief struct {
	Text    string
	At      time.Time // when it was written
	Writer  string    // who wrote it
	Refused string    // why texts before it were not taken, one per line
}

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
