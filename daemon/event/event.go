// Package event has what is kept of watches, conditions of owners: the watches, their events, what is to be delivered and cursors. What a
// condition is, internal/alert knows; daemon/watch tells what happens.
//
// # The way of an event
//
//  1. A state is logged, leaf 812 of the log of crypto. The leader has come to leaf 811. It reads the state, and for each condition that
//     somebody watches, once, what became true in it. The id of an event is made of condition, pack and state alone, so that it is the
//     same on every node and for everybody.
//  2. One transaction stores the text of each event, a delivery for each watch that is to have it, and that the leader has come to 812. A
//     kill before it leaves 811: the same events are found again. A kill after it loses nothing.
//  3. The delivery is due. The leader posts the stored text, signed at that moment, with the id of the event.
//  4. A transaction deletes what was taken. A kill between 3 and 4 is the one thing that makes an event come twice: with the same id and
//     the same text.
//
// What is read by a cursor is found in the history when it is asked for, by the same condition: the same events with the same ids, on any
// node, whether or not somebody watched.
package event

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Watch is a condition of an owner, as it is stored. A time that is zero is none.
type Watch struct {
	ID, OwnerID, KeyID string
	Type               api.WatchType
	Pack               string // "" for one that is about no pack
	Arguments          json.RawMessage
	Rule               string // the hash of type and arguments
	Expires            bool   // it lives as long as it is refreshed, and its refresh pays for it
	Delivery           api.WatchDelivery
	Host               string // that is asked, "" for none
	Secret             []byte // of a webhook, or the token of ntfy
	SecretBefore       []byte // which is signed with too, until BeforeUntil
	BeforeUntil        time.Time
	SecretMade         bool  // Secret was made for this watch: it gives way to that of the watch that is there
	From               Place // it is told what is behind it

	CreatedAt, ExpiresAt, PaidUntil time.Time
	PausedAt, SuspendedAt, EndedAt  time.Time
	LowSince, LastAt, FailedSince   time.Time
	LastError                       string
	Failures                        int
	Gap                             string // the cursor before the first event that was given up, "" for none
}

// Status says whether w is told events.
func (w Watch) Status() api.WatchStatus {
	switch {
	case !w.PausedAt.IsZero():
		return api.WatchPaused
	case !w.SuspendedAt.IsZero():
		return api.WatchSuspended
	}
	return api.WatchActive
}

// ToAPI is w as its owner sees it, without secrets.
func (w Watch) ToAPI() api.Watch {
	return api.Watch{
		ID: w.ID, KeyID: w.KeyID, Type: w.Type, Arguments: w.Arguments, Delivery: w.Delivery, Status: w.Status(), CreatedAt: w.CreatedAt,
		ExpiresAt: w.ExpiresAt, PaidUntil: w.PaidUntil, LastDeliveryAt: optional(w.LastAt), LastError: w.LastError,
		FailedSince: optional(w.FailedSince), Failures: w.Failures, Gap: w.Gap,
	}
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Place is a place in a log: behind Index events of the leaf after Seq.
type Place struct {
	Log   string
	Seq   int64
	Index int
}

const cursorVersion = "v1"

// Cursor is p as callers have it. They do not look into it.
func (p Place) Cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(fmt.Sprintf("%s|%s|%d|%d", cursorVersion, p.Log, p.Seq, p.Index)))
}

// PlaceOf reads a cursor; ok is false for one that is none.
func PlaceOf(cursor string) (p Place, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	parts := strings.Split(string(text), "|")
	if err != nil || len(parts) != 4 || parts[0] != cursorVersion {
		return p, false
	}
	p.Log = parts[1]
	if p.Seq, err = strconv.ParseInt(parts[2], 10, 64); err != nil || p.Seq < -1 {
		return Place{}, false
	}
	if p.Index, err = strconv.Atoi(parts[3]); err != nil || p.Index < 0 {
		return Place{}, false
	}
	return p, true
}

// Rule is a condition that somebody watches.
type Rule struct {
	Hash      string
	Type      api.WatchType
	Arguments json.RawMessage
}

// RuleOf is the hash of a condition.
func RuleOf(t api.WatchType, arguments json.RawMessage) string {
	return Hash(string(t), string(arguments))
}

// Hash names texts, in 32 characters of hexadecimal.
func Hash(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// Message is what is delivered: an event to all who watch a rule, or something to one watch alone.
type Message struct {
	ID     string
	Rule   string // or the id of a watch
	At     time.Time
	Body   []byte
	Before string // the cursor before it
}

// Delivery is a message that a watch is to have.
type Delivery struct {
	Watch    Watch
	Event    string
	Body     []byte
	Before   string // the cursor before it
	Attempts int    // that have failed
}

// Outcome is what came of an attempt to deliver.
type Outcome struct {
	Watch, Event string
	At           time.Time
	Taken        bool      // the receiver has it, or will never want it
	Error        string    // a word; "" where the receiver did not fail
	Next         time.Time // when to try again; zero where the message is done with
	Gap          string    // the cursor before a message that was given up; "" for none
	Suspend      bool      // the receiver has failed for too long
}

// Bounds are how many watches a key and an owner may have.
type Bounds struct{ Key, Owner int }

// Low is a watch of credits with what its owner has.
type Low struct {
	Watch
	Balance int64
}

// Standing is how all watches stand.
type Standing struct {
	Active         int   `json:"active"`  // failing ones among them
	Failing        int   `json:"failing"` // whose last attempt failed
	Suspended      int   `json:"suspended"`
	Paused         int   `json:"paused"`         // unpaid
	Gaps           int   `json:"gaps"`           // with events that were given up, of which they were not told yet
	Waiting        int   `json:"waiting"`        // deliveries, with those that are tried again later
	OverdueSeconds int64 `json:"overdueSeconds"` // for which the one that was to be tried first is due
}

// Total is the number of watches.
func (s Standing) Total() int { return s.Active + s.Suspended + s.Paused }

// LongOverdue is from when on a delivery is overdue for no receiver's fault, in seconds: an attempt takes ten, and those to a host go one
// after another.
const LongOverdue = 300

// ErrOvertaken says that what was read is no longer so: it is to be read again.
var ErrOvertaken = errors.New("overtaken")

// Store keeps watches. Each method is one transaction, on disk when it returns; those from SaveEvents on are the leader's alone.
type Store interface {
	// PutWatch keeps w with what it is told first, or renews the one that has its id, and reports whether its day is to be paid now. What
	// is renewed keeps its place, its time of making and what is paid. It fails with ErrOvertaken where the leader has come past w.From.
	PutWatch(ctx context.Context, w Watch, most Bounds, first []Message) (stored Watch, unpaid bool, err error)
	// UnpayWatch undoes a PutWatch whose day was refused: a watch that it made is dropped, another is paid until was.
	UnpayWatch(ctx context.Context, w Watch, was time.Time) error
	Watches(ctx context.Context, ownerID string) ([]Watch, error) // of an owner, or of all for ""
	Watch(ctx context.Context, id string) (w Watch, ok bool, err error)
	RemoveWatch(ctx context.Context, id string) error
	WatchMessages(ctx context.Context, rule string, after time.Time, limit int) ([]Message, error)
	WatchedRules(ctx context.Context, pack string) ([]Rule, error)
	WatchPlace(ctx context.Context, pack string) (p Place, ok bool, err error)
	DueDeliveries(ctx context.Context, now time.Time) ([]Delivery, error)
	NextDelivery(ctx context.Context) (time.Time, error)
	UnpaidWatches(ctx context.Context, now time.Time) ([]Watch, error) // whose day has ended, of those that are paid by the day
	LowCredits(ctx context.Context) ([]Low, error)

	// SaveEvents keeps messages with a delivery for each watch that is to have them, and the place to which a pack was looked at. It fails
	// with ErrOvertaken where somebody watches for another condition of the pack than looked; for nil, it does not.
	SaveEvents(ctx context.Context, pack string, at Place, looked []Rule, messages []Message, now time.Time) error
	// ChangeWatch changes the state of a watch and keeps a message for it alone; nil is none.
	ChangeWatch(ctx context.Context, w Watch, m *Message, now time.Time) error
	RecordDeliveries(ctx context.Context, list []Outcome) error
	// PayWatch moves the end of the paid time on, once.
	PayWatch(ctx context.Context, id string, was, until time.Time) (ok bool, err error)
	// PruneWatches drops what has ended, and messages that nobody is to have any more.
	PruneWatches(ctx context.Context, now time.Time) error
}

// MostWaiting is how many messages wait for a watch; what comes then is given up, and a gap is told.
const MostWaiting = 100

// LongestWait is the most time for which a delivery is put off. One that is put off for longer is due: the clock was set back since.
const LongestWait = 10 * time.Minute

// FirstWait is the time from when a watch is made to the first attempt to deliver: its receiver may store its answer first.
const FirstWait = time.Second
