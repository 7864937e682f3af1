// Package alert tells of what happens: it finds the moments at which a condition became true, and has each of them delivered to whom it
// concerns. ctx watch and the alerts of the daemon's operator are built on it, so that both keep the same promise.
//
// It is a package of its own because both programs share it, and neither knows the other. It reads no stream and runs no schedule: who
// has a state gives it to Teller.Observe, and Teller.Run delivers.
//
// # The promise
//
// No event is lost, and none is sent again once its delivery is recorded. A condition and what came of it go through four steps:
//
//  1. A state comes in which BTC is below 90,000, and in the state before it was not. The rule's condition has an edge, and that is an
//     event. It gets an id that names this rule, this condition and this state, so that the same edge never has two.
//  2. The event, to whom it goes and that the condition holds are one line of the journal, on the disk before anything is sent. A kill
//     before that leaves the condition as it was, so that the next state has the same edge.
//  3. A target takes the event. The id is its Idempotency-Key. A target that fails is asked again after 1, 2, 4 … seconds, 5 minutes at
//     the longest, for as long as it takes; other events take their turn meanwhile.
//  4. That it was taken is a line of the journal. A kill between 3 and 4 is the one thing that makes an event come twice, with the same
//     id: there is no way of knowing whether it was taken.
//
// Where the journal cannot be written, nothing is sent: what was delivered could not be recorded. Events wait in memory, and the journal
// is written as a whole as soon as that works.
package alert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Change says what became of a condition.
type Change string

// The changes.
const (
	Appeared Change = "appeared" // it holds, and did not before
	Rose     Change = "rose"     // it is graver than it was told
	Stands   Change = "stands"   // it holds still, after the cool-down
	Ended    Change = "ended"    // it holds no longer
)

// Event is what is told: as JSON it is the body of a webhook and the input of a command.
type Event struct {
	ID       string          `json:"id"`    // the same each time that it is sent
	Alert    string          `json:"alert"` // the name of its rule
	Pack     string          `json:"pack"`
	At       time.Time       `json:"at"` // generatedAt of the state that tells it
	Change   Change          `json:"change"`
	Kind     string          `json:"kind"`               // of a flag; price or when for other conditions
	Severity api.Severity    `json:"severity,omitempty"` // of a flag
	Subject  string          `json:"subject,omitempty"`  // what it is about, such as BTC
	Message  string          `json:"message"`            // for people, a line
	Value    json.RawMessage `json:"value,omitempty"`    // flag, row or result of a filter, as it is
	Demo     bool            `json:"demo,omitempty"`     // the state is recorded, synthetic data
	Late     bool            `json:"late,omitempty"`     // it was so at At, while nobody looked, and may be so no longer
}

func (e *Event) identify(key string) {
	of := []string{e.Alert, e.Pack, key, string(e.Change), e.At.UTC().Format(time.RFC3339Nano)}
	sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
	e.ID = hex.EncodeToString(sum[:16])
}

// State is a state of a pack.
type State struct {
	Pack string
	At   time.Time // its generatedAt
	Doc  *state.Document
	Demo bool // recorded, synthetic data

	Beside []api.Flag // that are newer than Doc, as Freshness tells them

	// Before is the newest state of the pack that was made before a time, or ErrNoState; nil where nobody asks.
	Before func(ctx context.Context, t time.Time) (State, error)

	Member string // the only one that Doc has, where the state is a past one that nobody looked at; "" for a whole one, of now
}

// As returns s as it is told with f: with flags beside the state, at the time of the answer.
func (s State) As(f api.Freshness) State {
	if len(f.Flags) > 0 {
		s.At, s.Beside = f.Told(), f.Flags
	}
	return s
}

// Finding is a condition that holds in a state.
type Finding struct {
	Key   string // which of the rule's conditions it is, the same from state to state; "" for the only one
	Onset string // since when it holds, where the state tells: with the same one, it is the same event; "" where it does not
	Level int    // how grave it is

	Event // what is to be told of it: kind, severity, subject, message, value
}

// Rule is what to look for and whom to tell.
type Rule struct {
	Name string // unique among the rules of a journal; by it the journal knows what was told
	Pack string // whose states it is about

	// Find returns the conditions that hold in a state. After an error they count as they were.
	Find func(ctx context.Context, s State) ([]Finding, error)

	// Between reports whether a state in which Find finds nothing is one in which a condition that held does not count as ended, so that it
	// is not told again. nil means that there is none.
	Between func(s State) bool

	// Member of a state that Find looks at and at no other, so that it can be shown past ones of that alone. "" means all of a state.
	Member string

	Targets  []Target
	Cooldown time.Duration // between two events of a condition; those after it are told even if it stands. 0: one event for each edge
	Ended    bool          // an end is told too
}

// Target is where events go.
type Target struct {
	Name    string // unique among those of a journal, and nothing secret: the journal and the log have it
	Deliver func(ctx context.Context, e Event) error
}

// Later is an error of a target that says when to ask again.
type Later struct {
	After time.Duration
	Err   error
}

// Error is the text of the cause.
func (l *Later) Error() string { return l.Err.Error() }

// Unwrap returns the cause.
func (l *Later) Unwrap() error { return l.Err }
