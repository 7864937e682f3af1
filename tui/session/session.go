// Package session is what the terminal UI knows: the newest state and how it came, what changed, how the numbers moved, what was
// spent and what happened.
//
// It owns the facts and the honest words for them; it draws nothing and calls nothing. Messages of the program are applied to a
// Session by one goroutine, that of the program's updates; screens read it.
package session

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/diff"
)

// flashFor is how long a changed value is marked.
const flashFor = 3 * time.Second

// maxKept bounds the states that are kept to be saved.
const maxKept = 120

// Session is what is known. Make it with New.
type Session struct {
	Pack     string
	Now      time.Time // as of the last tick, in the user's time zone
	Paused   bool
	Demo     bool // the data is synthetic
	Recorded bool // what is shown is a recording: its age says nothing
	Snapshot bool // it is a minute of the past

	State   json.RawMessage    // nil before the first
	TS      time.Time          // when it was made
	View    *state.View        // nil for what is shown as a tree
	Flags   []api.Flag         // of View
	Sources []api.SourceStatus // of View
	Deltas  int                // states after the first
	Changes []diff.Change

	Brief     *api.BriefResponse  // nil before one came
	Watch     *api.LookupResponse // what the names of the watchlist are at, nil before it was asked for
	Unmetered bool                // calls with the key are not charged
	Log       Log
	Line      Link // how the stream is connected
	Loading   int  // members whose past is on its way
	*Shared

	ages    api.Ages       // of State
	beside  *api.Freshness // as it came beside State; nil for nothing
	known   past
	stored  map[string]past // of the packs that were shown before
	span    time.Duration   // that trends are drawn over
	flashes map[string]flash
	moved   map[string]time.Time // when a move of a series was told last
	held    *api.StreamState
	events  []sdk.Event
	problem *Problem // the newest, nil before the first
	failed  time.Time
}

// Shared is what is known of the user and the service, whichever packs are shown.
type Shared struct {
	Mouse    bool
	Balance  *int64   // credits of the account, nil where not known
	Foreign  bool     // the key in use is none of that account
	Left     sdk.Left // what the key can still call, as its last answer said
	Spent    Spending
	Purchase string // of credits that waits for its payment, in words, "" for none

	skew time.Duration // clock of the service minus that of this machine
}

type flash struct {
	up, down bool
	at       time.Time
}

// New makes the session of a pack. now is the time of the start.
func New(pack string, now time.Time, searchCap int) *Session {
	shared := &Shared{Spent: Spending{SearchCap: searchCap}}
	return &Session{Pack: pack, Now: now, Shared: shared, Line: Link{since: now}, known: newPast()}
}

// Switch starts over with another pack. What is shared, what happened and what is known of the past stay.
func (s *Session) Switch(pack string) {
	fresh := New(pack, s.Now, 0)
	fresh.Shared = s.Shared
	fresh.Log = s.Log.withoutNews() // which is of the pack
	fresh.Recorded = s.Recorded
	if fresh.stored = s.stored; fresh.stored == nil {
		fresh.stored = map[string]past{}
	}
	fresh.stored[s.Pack] = s.known
	if known, ok := fresh.stored[pack]; ok {
		fresh.known = known
	}
	*s = *fresh
	s.Log.Add(s.Now, Info, "now showing pack "+pack)
}

// Event applies an event of the stream.
func (s *Session) Event(e sdk.Event) {
	s.events = append(s.events, e)
	s.events = s.events[max(0, len(s.events)-maxKept):]
	switch e.Type {
	case api.EventError:
		s.Log.Add(s.Now, Warning, "the service says: "+e.Message)
	case api.EventPulse, api.EventDelta:
		s.Line.pulse(s.Now)
		if s.Paused {
			s.held = &e.State
			return
		}
		s.show(e.State)
	}
}

// Failed notes a problem.
func (s *Session) Failed(p Problem) {
	s.problem, s.failed = &p, s.Now
	s.Log.Add(s.Now, Failure, p.String())
}

// LastProblem is the newest problem and when it was, nil where there is none.
func (s *Session) LastProblem() (*Problem, time.Time) { return s.problem, s.failed }

// Events are the last events, oldest first.
func (s *Session) Events() []sdk.Event { return s.events }

func (s *Session) show(next api.StreamState) {
	s.narrate(next)
	repeats := s.State != nil && next.TS.Equal(s.TS)
	if repeats && reflect.DeepEqual(next.Freshness, s.beside) {
		return
	}
	var changes []diff.Change
	first := s.State == nil
	if !first && !repeats {
		var err error
		if changes, err = diff.States(s.State, next.State); err != nil {
			s.Log.Add(s.Now, Warning, "a state could not be compared with the one before: "+err.Error())
		}
		s.Deltas++
		s.Changes = changes
		s.flash(changes)
	}
	was := content{s.View, s.Flags, s.Sources}
	doc := state.Read(next.State)
	if next.Freshness != nil {
		doc = doc.As(*next.Freshness)
	}
	is := read(s.Pack, doc)
	s.State, s.TS, s.ages, s.beside = next.State, next.TS, doc.Ages(), next.Freshness
	s.View, s.Flags, s.Sources = is.view, is.flags, is.sources
	s.known.near.addAll(next.TS, is.numbers())
	s.span = s.measure()
	if first {
		s.Log.Add(s.Now, Info, fmt.Sprintf("first state, made %s", next.TS.In(s.Now.Location()).Format(time.TimeOnly)))
	}
	s.news(was, is, first)
}

// narrate takes the brief that came beside a state, unless a later one was asked for.
func (s *Session) narrate(next api.StreamState) {
	if next.Brief == "" || s.Brief != nil && s.Brief.BriefAt != nil && next.BriefAt != nil && s.Brief.BriefAt.After(*next.BriefAt) {
		return
	}
	s.Brief = &api.BriefResponse{Brief: next.Brief, BriefAt: next.BriefAt, Since: next.Since, Citations: next.Citations}
}

type content struct {
	view    *state.View
	flags   []api.Flag
	sources []api.SourceStatus
}

// Counted says how many values changed.
func Counted(n int) string {
	if n == 0 {
		return "nothing changed"
	}
	return human.Plural(n, "value") + " changed"
}

func (s *Session) flash(changes []diff.Change) {
	s.flashes = make(map[string]flash, len(changes))
	for _, c := range changes {
		up, down := Moved(c)
		s.flashes[c.Path] = flash{up, down, s.Now}
	}
}

// Moved says whether a change is one of a number, and which way it went.
func Moved(c diff.Change) (up, down bool) {
	var old, now *float64 // nil for null
	if json.Unmarshal(c.Old, &old) != nil || json.Unmarshal(c.New, &now) != nil || old == nil || now == nil {
		return false, false
	}
	return *now > *old, *now < *old
}

// Flash says how the value at path of the state changed in the last seconds: up, down, or in another way.
func (s *Session) Flash(path string) (changed, up, down bool) {
	f, ok := s.flashes[path]
	if !ok || s.Now.Sub(f.at) >= flashFor {
		return false, false, false
	}
	return true, f.up, f.down
}

// Pause stops showing new states, or shows the newest again.
func (s *Session) Pause() {
	s.Paused = !s.Paused
	if held := s.held; !s.Paused && held != nil {
		s.held = nil
		s.show(*held)
	}
}

// Held reports whether a newer state waits because of a pause.
func (s *Session) Held() bool { return s.held != nil && !s.held.TS.Equal(s.TS) }

// Age is how old the state is that is shown, by the clock of the service; 0 where there is none.
func (s *Session) Age() time.Duration {
	if s.State == nil {
		return 0
	}
	return max(s.Now.Add(s.skew).Sub(s.TS), 0)
}

// DataAge is how old the oldest datum of the state is among those of sources that are overdue, by the clock of the service; Age while none
// is.
func (s *Session) DataAge() time.Duration {
	if s.State == nil {
		return 0
	}
	return max(time.Duration(s.ages.Freshness(s.TS, s.ServiceNow()).DataAgeSeconds)*time.Second, s.Age())
}

// Late is Late of a row of the state, by the clock of the service. Of a recording it is that when the state was made.
func (s *Session) Late(r state.ViewRow) string { return r.Late(s.ages, s.read()) }

// LateFlag is Late of a flag.
func (s *Session) LateFlag(f api.Flag) string { return state.LateFlag(f, s.ages, s.read()) }

// read is when the state is read.
func (s *Session) read() time.Time {
	if s.Recorded {
		return s.TS
	}
	return s.ServiceNow()
}

// Stale reports whether the state, or data in it of a source that is overdue, is older than the service promises.
func (s *Session) Stale() bool {
	return s.State != nil && !s.Recorded && s.DataAge() > api.MaxFreshAge*time.Second
}

// Cost is what so many calls cost, in words after a space and in brackets, "" where they are not charged.
func (s *Session) Cost(calls int) string {
	if s.Unmetered {
		return ""
	}
	return " (" + s.Costs(calls) + ")"
}

// Free reports whether calls are the free ones of an owner without credits, as far as that is known.
func (s *Session) Free() bool {
	if s.Balance != nil && !s.Foreign {
		return *s.Balance == 0
	}
	return s.Left.FreeCalls != nil
}

// Costs is what so many calls cost where they are charged.
func (s *Session) Costs(calls int) string {
	if s.Free() {
		return human.Plural(calls, "free call")
	}
	return human.Plural(calls, "credit")
}

// Pay counts a call that was answered. f is the freshness that the answer told, zero where it tells nothing of now.
func (s *Session) Pay(op api.Op, f api.Freshness) {
	s.Spent.Add(op)
	if !s.Unmetered {
		s.Log.Add(s.Now, Paid, s.Costs(1)+" for "+string(op))
	}
	if !f.GeneratedAt.IsZero() {
		s.learn(f.Told())
	}
}

// learn learns the clock of the service from when it gave an answer that has just come. Less than two seconds are put down to the way.
func (s *Session) learn(at time.Time) {
	skew := at.Sub(s.Now).Truncate(time.Second)
	if math.Abs(skew.Seconds()) < 2 {
		skew = 0
	}
	if (s.skew-skew).Abs() > 30*time.Second && skew.Abs() > 30*time.Second {
		s.Log.Add(s.Now, Warning, fmt.Sprintf("this machine's clock is %s off that of the service; ages are by the service's", skew.Abs()))
	}
	s.skew = skew
}

// ServiceNow is the time by the clock of the service.
func (s *Session) ServiceNow() time.Time { return s.Now.Add(s.skew) }

// Citation is the source with a number, nil where it is not known.
func (s *Session) Citation(ref int) *api.Citation {
	if s.Brief == nil {
		return nil
	}
	for i := range s.Brief.Citations {
		if s.Brief.Citations[i].Ref == ref {
			return &s.Brief.Citations[i]
		}
	}
	return nil
}

// Back is what was known at the end of a minute of the past: its state, and the series up to it.
func (s *Session) Back(answer *api.StateResponse, end time.Time) *Session {
	past := New(s.Pack, end.In(s.Now.Location()), 0)
	past.Recorded, past.Snapshot, past.Demo, past.Unmetered = true, true, s.Demo, s.Unmetered
	past.Brief = &api.BriefResponse{Citations: answer.Citations}
	past.known.far, past.known.asked = s.known.far, s.known.asked
	ts := answer.Freshness.GeneratedAt
	if b := s.briefOf(ts); b != nil { // the answer has none
		past.Brief.Brief, past.Brief.BriefAt = b.Brief, b.BriefAt
	}
	for key, list := range s.known.near {
		n, found := slices.BinarySearchFunc(list, ts, func(p Point, at time.Time) int { return p.At.Compare(at) })
		if found {
			n++
		}
		past.known.near[key] = slices.Clip(list[:n])
	}
	past.show(api.StreamState{Pack: s.Pack, State: answer.State, TS: ts})
	return past
}

// briefOf is what came in the stream with the brief that was the newest for the state made at ts, nil where no event that is kept says so.
func (s *Session) briefOf(ts time.Time) (found *api.StreamState) {
	for i := range s.events {
		switch e := &s.events[i].State; {
		case e.Brief == "" || e.BriefAt == nil || e.TS.Before(ts):
		case e.TS.Equal(ts):
			found = e
		case found == nil && !e.BriefAt.After(ts):
			return e
		default:
			return found
		}
	}
	return found
}

// Past adds a state of the past to the series.
func (s *Session) Past(text json.RawMessage, ts time.Time) {
	s.known.near.addAll(ts, read(s.Pack, state.Read(text)).numbers())
	s.span = s.measure()
}
