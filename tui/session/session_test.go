package session_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
)

func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// priced is an event with a state of the crypto pack in which one coin has a price.
func priced(at time.Time, price string) sdk.Event {
	state := fmt.Sprintf(`{"top_movers":[{"id":"x","symbol":"X","priceUsd":%s}],"source_status":[{"id":"s"}]}`, price)
	return sdk.Event{Type: api.EventDelta, State: api.StreamState{Pack: api.PackCrypto, State: json.RawMessage(state), TS: at}}
}

// values are those of the coin, oldest first.
func values(s *session.Session) (list []float64) {
	for _, p := range s.Points(session.Key("top_movers", "x")) {
		list = append(list, p.V)
	}
	return list
}

// open makes a session that is connected.
func open() *session.Session {
	s := session.New(api.PackCrypto, noon(), 3)
	s.Connection(sdk.Connection{Connected: true}, session.Problem{})
	return s
}

func TestStates(t *testing.T) {
	t.Parallel()
	s := open()
	s.Event(priced(noon(), "1"))
	s.Event(priced(noon(), "1"))
	if s.Deltas != 0 || s.View == nil || s.Line.Pulses != 2 {
		t.Fatalf("a repeated state: %d deltas, %d pulses", s.Deltas, s.Line.Pulses)
	}
	s.Now = noon().Add(20 * time.Second)
	s.Event(priced(noon().Add(15*time.Second), "2"))
	if changed, up, down := s.Flash("top_movers[0].priceUsd"); !changed || !up || down || s.Deltas != 1 || len(s.Changes) != 1 {
		t.Errorf("a rise: %v %v %v, %d deltas", changed, up, down, s.Deltas)
	}
	s.Event(priced(noon().Add(16*time.Second), "null"))
	if changed, up, down := s.Flash("top_movers[0].priceUsd"); !changed || up || down {
		t.Errorf("unknown: %v %v %v", changed, up, down)
	}
	s.Now = s.Now.Add(3 * time.Second)
	if changed, _, _ := s.Flash("top_movers[0].priceUsd"); changed {
		t.Error("still marked after three seconds")
	}
	if got := values(s); fmt.Sprint(got) != "[1 2]" {
		t.Errorf("series %v, want 1 2: what is not known is left out", got)
	}
	s.Past(priced(noon(), "9").State.State, noon().Add(-time.Minute))
	s.Past(priced(noon(), "7").State.State, noon())
	if got := values(s); fmt.Sprint(got) != "[9 1 2]" || s.Span() != 76*time.Second {
		t.Errorf("with the past: %v over %s", got, s.Span())
	}
}

// TestBriefOfThePast: a past state has the brief that came beside it, or an older one that was still the newest later, and else none.
func TestBriefOfThePast(t *testing.T) {
	t.Parallel()
	s, at := open(), func(minute int) time.Time { return noon().Add(time.Duration(minute) * time.Minute) }
	for _, came := range []struct {
		state, brief int
		text         string
	}{{0, -2, "first"}, {5, -2, "first"}, {10, 11, "second"}, {10, 12, "third"}} {
		e, wrote := priced(at(came.state), "1"), at(came.brief)
		e.State.Brief, e.State.BriefAt = came.text, &wrote
		s.Event(e)
	}
	for minute, want := range map[int]string{-3: "", -1: "first", 0: "first", 3: "first", 5: "first", 7: "", 10: "third", 11: ""} {
		past := s.Back(&api.StateResponse{State: priced(noon(), "1").State.State, Freshness: api.Freshness{GeneratedAt: at(minute)}}, at(minute+1))
		if past.Brief.Brief != want || !past.Snapshot {
			t.Errorf("minute %d has the brief %q, want %q", minute, past.Brief.Brief, want)
		}
	}
}

func TestBrokenState(t *testing.T) {
	t.Parallel()
	s := open()
	s.Event(priced(noon(), "1"))
	e := priced(noon().Add(time.Second), "1")
	e.State.State = json.RawMessage(`{"top_movers":"none"`)
	s.Event(e)
	if s.View != nil || len(s.Changes) != 0 {
		t.Errorf("a broken state is read as %+v", s.View)
	}
	last := s.Log.Entries()
	if text := last[len(last)-1].Text; !strings.Contains(text, "could not be compared") {
		t.Errorf("log: %s", text)
	}
}

func TestAges(t *testing.T) {
	t.Parallel()
	s := open()
	if s.Age() != 0 || s.Stale() {
		t.Error("no state has an age")
	}
	s.Event(priced(noon().Add(-2*time.Minute), "1"))
	if s.Age() != 2*time.Minute {
		t.Errorf("age %s", s.Age())
	}
	overdue := priced(noon().Add(-time.Minute), "1")
	overdue.State.State = fmt.Appendf(nil, `{"top_movers":[{"ref":1}],"source_status":[{"ref":1,"status":"stale","failures":1,"fetchedAt":%q}]}`,
		noon().Add(-14*time.Minute).Format(time.RFC3339))
	late := open()
	late.Event(overdue)
	if late.Age() != time.Minute || late.DataAge() != 14*time.Minute || !late.Stale() {
		t.Errorf("of a source that is overdue: %s, %s, stale %v", late.Age(), late.DataAge(), late.Stale())
	}
	s.Pay(api.OpSearch, api.Freshness{GeneratedAt: noon().Add(time.Hour), AgeSeconds: 60})
	if got := s.Age(); got != 63*time.Minute || !s.Stale() {
		t.Errorf("by the clock of the service, an hour ahead: %s", got)
	}
	s.Pay(api.OpSearch, api.Freshness{GeneratedAt: noon(), AgeSeconds: 1})
	if got := s.Age(); got != 2*time.Minute || !s.ServiceNow().Equal(noon()) {
		t.Errorf("a second is put down to the way: %s", got)
	}
	if s.Spent.Of(api.OpSearch) != 2 || s.Spent.Total() != 3 {
		t.Errorf("spent %d, %d", s.Spent.Of(api.OpSearch), s.Spent.Total())
	}
	s.Now = noon().Add(-time.Hour)
	if s.Age() != 0 {
		t.Error("an age below zero")
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	s := session.New(api.PackCrypto, noon(), 0)
	expect := func(status session.Status, word string) {
		t.Helper()
		if s.Status() != status || s.Word() != word {
			t.Errorf("status %d %q, want %d %q", s.Status(), s.Word(), status, word)
		}
	}
	expect(session.Connecting, "CONNECTING")
	s.Connection(sdk.Connection{Wait: 3500 * time.Millisecond}, session.Problem{What: "x"})
	expect(session.Retry, "RETRY 4s")
	s.Connection(sdk.Connection{Connected: true, Reconnects: 2}, session.Problem{})
	expect(session.Live, "LIVE")
	s.Event(priced(noon().Add(-299*time.Second), "1"))
	expect(session.Live, "LIVE")
	s.Now = noon().Add(2 * time.Second)
	expect(session.Stale, "STALE")
	s.Now = noon().Add(21 * time.Second)
	expect(session.Quiet, "QUIET 0:21")
	s.Pause()
	expect(session.Paused, "PAUSED")
	s.Ended(session.Problem{What: "no credits left"})
	expect(session.Offline, "OFFLINE")
	s.Opening()
	expect(session.Connecting, "CONNECTING")
	s.Recorded, s.Paused = true, false
	expect(session.Recorded, "RECORDING")
	if s.Stale() {
		t.Error("a recording is stale")
	}
}

func TestPauseHolds(t *testing.T) {
	t.Parallel()
	s := open()
	s.Event(priced(noon(), "1"))
	s.Pause()
	s.Event(priced(noon(), "1"))
	if s.Held() {
		t.Error("the same state is held")
	}
	s.Event(priced(noon().Add(time.Second), "2"))
	s.Event(priced(noon().Add(2*time.Second), "3"))
	if !s.Held() || s.Deltas != 0 {
		t.Error("a newer state is not held")
	}
	s.Pause()
	if s.Deltas != 1 || !s.TS.Equal(noon().Add(2*time.Second)) || s.Held() {
		t.Errorf("after the pause: %d deltas, %s", s.Deltas, s.TS)
	}
}

func TestSwitch(t *testing.T) {
	t.Parallel()
	s := open()
	s.Event(priced(noon(), "1"))
	s.Brief, s.Recorded = &api.BriefResponse{Citations: []api.Citation{{Ref: 2, SourceID: "s"}}}, true
	if c := s.Citation(2); c == nil || c.SourceID != "s" || s.Citation(1) != nil {
		t.Errorf("citation %v", c)
	}
	s.Log.Add(noon(), session.News, "of this pack")
	s.Switch("ai")
	if slices.ContainsFunc(s.Log.Entries(), func(e session.Entry) bool { return e.Level == session.News }) {
		t.Error("another pack has the news of this one")
	}
	if s.State != nil || s.Brief != nil || s.View != nil || len(values(s)) != 0 || s.Pack != "ai" || s.Citation(2) != nil {
		t.Errorf("of the pack before: %+v", s)
	}
	if s.Spent.Total() != 1 || len(s.Log.Entries()) < 2 || !s.Recorded {
		t.Error("what is not of the pack is gone")
	}
}

// TestCosts: what a call costs is a credit only where there are credits.
func TestCosts(t *testing.T) {
	t.Parallel()
	none, some, left := int64(0), int64(5), int64(93)
	for _, c := range []struct {
		balance *int64
		foreign bool
		left    sdk.Left
		want    string
	}{
		{nil, false, sdk.Left{}, " (2 credits)"},
		{nil, false, sdk.Left{FreeCalls: &left}, " (2 free calls)"},
		{&none, false, sdk.Left{}, " (2 free calls)"},
		{&some, false, sdk.Left{FreeCalls: &left}, " (2 credits)"},
		{&some, true, sdk.Left{FreeCalls: &left}, " (2 free calls)"},
		{&none, true, sdk.Left{Credits: &some}, " (2 credits)"},
	} {
		s := open()
		s.Balance, s.Foreign, s.Left = c.balance, c.foreign, c.left
		if got := s.Cost(2); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestLastProblem(t *testing.T) {
	t.Parallel()
	s := open()
	s.Failed(session.Problem{What: "w", Next: "n", RequestID: "r"})
	if p, at := s.LastProblem(); p == nil || p.String() != "w - n (request r)" || !at.Equal(noon()) {
		t.Errorf("last problem %v", p)
	}
}

// TestBounds checks that a session that runs for weeks does not grow.
func TestBounds(t *testing.T) {
	t.Parallel()
	s := open()
	for i := range 2000 {
		s.Event(priced(noon().Add(time.Duration(i)*time.Second), fmt.Sprint(i)))
	}
	if n := len(s.Log.Entries()); n > 500 {
		t.Errorf("%d entries in the log", n)
	}
	if n := len(s.Events()); n > 120 {
		t.Errorf("%d events kept", n)
	}
	if v := values(s); len(v) > 480 || len(v) < 240 || v[len(v)-1] != 1999 || v[0] != 0 || v[len(v)-2] != 1998 {
		t.Errorf("%d points from %v to %v: the older ones are thinned out, the span stays", len(v), v[0], v[len(v)-1])
	}
}
