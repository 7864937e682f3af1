package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
)

// told is an event with a coin at a price, flags and a source, of which all that is no news changes too.
func told(at time.Time, price float64, flags, source string) sdk.Event {
	state := fmt.Sprintf(`{"top_movers":[{"id":"x","symbol":"X","priceUsd":%g,"rank":%d}],"flags":[%s],"source_status":[{"id":"s","status":%q,"items":%d,"fetchedAt":%q}]}`,
		price, at.Second(), flags, source, at.Second(), at.Format(time.RFC3339))
	return sdk.Event{Type: api.EventDelta, State: api.StreamState{Pack: api.PackCrypto, State: json.RawMessage(state), TS: at}}
}

// news are the lines of the news, newest first.
func news(s *session.Session) (list []string) {
	for _, e := range s.Log.News() {
		list = append(list, fmt.Sprintf("%d %s", e.Mark, e.Text))
	}
	return list
}

// TestNews: flags come first, moves from one percent on are told once in five minutes, and bookkeeping is never told.
func TestNews(t *testing.T) {
	t.Parallel()
	flag := func(id, severity string) string {
		return fmt.Sprintf(`{"id":%q,"severity":%q,"message":"flag %s","since":%q,"ref":1}`, id, severity, id, noon().Add(-time.Minute).Format(time.RFC3339))
	}
	s := open()
	at := noon()
	step := func(by time.Duration, price float64, flags, source string, want ...string) {
		t.Helper()
		before := len(news(s))
		at = at.Add(by)
		s.Now = at
		s.Event(told(at, price, flags, source))
		list := news(s)
		if got := strings.Join(list[:len(list)-before], "; "); got != strings.Join(want, "; ") {
			t.Errorf("at %s: %q, want %q", at.Sub(noon()), got, strings.Join(want, "; "))
		}
	}
	step(0, 100, flag("a", "notice"), "ok", fmt.Sprint(int(session.Noticed), " flag a"))
	step(time.Second, 100.99, flag("a", "notice"), "ok")
	step(time.Second, 101, flag("a", "notice"), "ok", fmt.Sprint(int(session.Rose), " X $101.00, +1.00% in 2 s"))
	step(time.Minute, 105, flag("a", "notice"), "ok")
	step(time.Second, 105, flag("a", "critical"), "ok", fmt.Sprint(int(session.Critical), " flag a"))
	step(time.Second, 105, flag("a", "warning"), "ok")
	step(time.Second, 105, flag("b", "warning"), "error",
		fmt.Sprint(int(session.Over), " over: flag a, after 2m05s"), fmt.Sprint(int(session.Warned), " flag b"),
		fmt.Sprint(int(session.Warned), " s does not answer"))
	step(time.Second, 105, flag("b", "warning"), "ok", fmt.Sprint(int(session.Over), " s answers again"))
	step(5*time.Minute, 103.9, flag("b", "warning"), "ok", fmt.Sprint(int(session.Fell), " X $103.90, -1.05% in 5 min"))
	for _, e := range s.Log.Entries() {
		if strings.Contains(e.Text, "rank") || strings.Contains(e.Text, "fetchedAt") || strings.Contains(e.Text, "values changed") {
			t.Errorf("bookkeeping is told: %s", e.Text)
		}
	}
}

// TestLogCounts: what is said again right away is counted, and news are never.
func TestLogCounts(t *testing.T) {
	t.Parallel()
	var l session.Log
	for i, said := range []string{"a", "b", "b", "b", "a"} {
		l.Add(noon().Add(time.Duration(i)*time.Second), session.Warning, said)
	}
	l.Add(noon().Add(time.Minute), session.Info, "a")
	var got []string
	for _, e := range l.Entries() {
		got = append(got, fmt.Sprint(e.At.Sub(noon()), " ", e.Message()))
	}
	if want := "0s a, 3s 3 times: b, 4s a, 1m0s a"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDayBegins: a line whose first number is left behind by the day begins at its edge, and tells the change of the whole day.
func TestDayBegins(t *testing.T) {
	t.Parallel()
	s := open()
	s.Event(priced(noon(), "30"))
	old, later := 10.0, 20.0
	s.Load("top_movers", &api.SeriesResponse{Times: []time.Time{noon().Add(-24 * time.Hour), noon().Add(-22 * time.Hour)},
		Rows: []api.SeriesRow{{Key: "x", Field: "priceUsd", Values: []*float64{&old, &later}}}}, session.MostSpan)
	s.Event(priced(noon().Add(time.Hour), "40"))
	points := s.Points(session.Key("top_movers", "x"))
	if first := points[0]; len(points) != 4 || first.V != 15 || !first.At.Equal(noon().Add(-23*time.Hour)) || s.Span() != session.MostSpan {
		t.Errorf("%v over %v", points, s.Span())
	}
	s.Event(priced(noon().Add(2*time.Hour), "40"))
	if points = s.Points(session.Key("top_movers", "x")); len(points) != 4 || points[0].V != 20 {
		t.Errorf("a number at the edge: %v", points)
	}
}

// TestWindow: values lie on the lines between what is known, at even times, and before the first there is none.
func TestWindow(t *testing.T) {
	t.Parallel()
	s := open()
	s.Event(priced(noon().Add(-20*time.Minute), "10"))
	s.Event(priced(noon(), "30"))
	key := session.Key("top_movers", "x")
	if got := fmt.Sprint(s.Window(key, 5)); got != "[10 15 20 25 30]" {
		t.Errorf("over twenty minutes: %s", got)
	}
	eight := 8.0
	s.Load("top_movers", &api.SeriesResponse{Times: []time.Time{noon().Add(-40 * time.Minute)},
		Rows: []api.SeriesRow{{Key: "y", Field: "priceUsd", Values: []*float64{&eight}}, {Key: "x", Field: "rank", Values: []*float64{&eight}}}}, session.MostSpan)
	if got := fmt.Sprint(s.Window(key, 5), s.Span()); got != "[NaN NaN 10 20 30] 40m0s" {
		t.Errorf("over forty minutes, with another field: %s", got)
	}
	if s.Window("top_movers/none", 5) != nil || s.Window(key, 1) != nil {
		t.Error("a curve of nothing")
	}
}
