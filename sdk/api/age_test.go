package api_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// made is when the states of these tests were made.
func made() time.Time { return time.Date(2026, 11, 20, 20, 5, 2, 0, time.UTC) }

// stateOf is a state in which the source [1], asked every 5 minutes, has answered before made by age, and [2] and [3] always just then.
func stateOf(age time.Duration, status api.SourceState, failures, interval int, rows string) json.RawMessage {
	at := func(age time.Duration) string { return made().Add(-age).Format(time.RFC3339Nano) }
	return fmt.Appendf(nil, `{"rows":%s,"source_status":[`+
		`{"ref":1,"id":"one","status":%q,"fetchedAt":%q,"failures":%d,"intervalSeconds":%d,"staleAfterSeconds":900},`+
		`{"ref":2,"id":"two","status":"ok","fetchedAt":%q,"failures":0,"intervalSeconds":3600,"staleAfterSeconds":9000},`+
		`{"ref":3,"id":"three","status":"error","fetchedAt":null,"failures":7,"intervalSeconds":300,"staleAfterSeconds":900}]}`,
		rows, status, at(age), failures, interval, at(0))
}

// TestDataAge has both sides of every bound.
func TestDataAge(t *testing.T) {
	t.Parallel()
	const s, m = time.Second, time.Minute
	const both = `[{"ref":1},{"x":[{"ref":2}]},{"ref":3}]`
	for _, c := range []struct {
		name    string
		state   json.RawMessage
		later   time.Duration // than made
		age     int64
		dataAge int64
		overdue string
		lagging bool
	}{
		{"all well", stateOf(2*s, "ok", 0, 300, both), 0, 0, 0, "[]", false},
		{"all well, later", stateOf(2*s, "ok", 0, 300, both), 298 * s, 298, 298, "[]", false},
		{"its interval and a minute old", stateOf(2*s, "ok", 0, 300, both), 358 * s, 358, 358, "[]", true},
		{"older than that", stateOf(2*s, "ok", 0, 300, both), 358*s + 1, 358, 360, "[one]", true},
		{"carried over a state", stateOf(5*m, "ok", 0, 300, both), 59 * s, 59, 59, "[]", false},
		{"carried over a state for too long", stateOf(5*m, "ok", 0, 300, both), 61 * s, 61, 361, "[one]", true},
		{"another interval", stateOf(5*m, "ok", 0, 900, both), 61 * s, 61, 61, "[]", false},
		{"one failure", stateOf(4*m, "stale", 1, 300, both), 3 * s, 3, 243, "[one]", false},
		{"one failure, not shown", stateOf(4*m, "stale", 1, 300, `[{"ref":2}]`), 3 * s, 3, 3, "[]", false},
		{"one failure, and a warning alone", stateOf(4*m, "stale", 1, 300, `[{"ref":1,"kind":"source_stale"}]`), 3 * s, 3, 3, "[]", false},
		{"one failure, and a flag", stateOf(4*m, "stale", 1, 300, `[{"ref":1,"kind":"price_move"}]`), 3 * s, 3, 243, "[one]", false},
		{"two overdue, the oldest counts", stateOf(4*m, "stale", 1, 300, both), 3661 * s, 3661, 3901, "[one two]", true},
		{"nothing usable but a flag", stateOf(50*m, "error", 9, 300, both), 0, 0, 3000, "[one]", true},
		{"no interval told, at its bound", stateOf(0, "ok", 0, 0, both), 900 * s, 900, 900, "[]", true},
		{"no interval told, beyond", stateOf(5*s, "ok", 0, 0, both), 900 * s, 900, 905, "[one]", true},
		{"a clock set back", stateOf(0, "stale", 1, 300, both), -time.Hour, 0, 0, "[]", false},
		{"no sources told", json.RawMessage(`{"rows":[{"ref":1}]}`), 301 * s, 301, 301, "[]", true},
		{"not a state", json.RawMessage(`[`), 300 * s, 300, 300, "[]", false},
	} {
		now := made().Add(c.later)
		ages := api.AgesOf(c.state)
		got := ages.Freshness(made(), now)
		want := api.Freshness{GeneratedAt: made(), AgeSeconds: c.age, DataAgeSeconds: c.dataAge}
		got.Sources, got.Flags = nil, nil // as TestTroubles has them
		if overdue := fmt.Sprint(ages.Overdue(now)); !reflect.DeepEqual(got, want) || overdue != c.overdue || got.Stale(now) != c.lagging {
			t.Errorf("%s: %+v, overdue %s, stale %v; want %+v, %s, %v", c.name, got, overdue, got.Stale(now), want, c.overdue, c.lagging)
		}
	}
}

// TestTroubles has how sources do at both sides of every bound, with the flags about them.
func TestTroubles(t *testing.T) {
	t.Parallel()
	const s, m = time.Second, time.Minute
	const raised = `[{"ref":1}],"flags":[{"id":"source:one","kind":"source_stale","since":"2026-11-20T19:00:00Z"}]`
	for _, c := range []struct {
		name   string
		state  json.RawMessage
		later  time.Duration
		want   string // id status failures since
		flags  string // id kind since
		status api.SourceState
	}{
		{"well", stateOf(2*s, "ok", 0, 300, `[]`), 898 * s, "", "", api.SourceOK},
		{"a failure", stateOf(4*m, "stale", 1, 300, `[]`), 0, "one stale 1 20:01:02", "", api.SourceStale},
		{"two failures", stateOf(9*m, "stale", 2, 300, `[]`), 0, "one stale 2 20:01:02", "source:one source_stale 20:01:02", api.SourceStale},
		{"of a flag that stands", stateOf(9*m, "stale", 2, 300, raised), 0, "one stale 2 20:01:02", "source:one source_stale 19:00:00", api.SourceStale},
		{"older than its bound", stateOf(2*s, "ok", 0, 300, `[]`), 899 * s, "one stale 0 20:10:00", "source:one source_stale 20:10:00", api.SourceStale},
		{"three times that", stateOf(2*s, "ok", 0, 300, `[]`), 2699 * s, "one error 0 20:10:00", "source:one source_error 20:10:00", api.SourceError},
	} {
		ages, now := api.AgesOf(c.state), made().Add(c.later)
		f := ages.Freshness(made(), now)
		var got, flags []string
		for _, x := range f.Sources {
			since := ""
			if x.Since != nil {
				since = x.Since.Format(time.TimeOnly)
			}
			got = append(got, strings.TrimSpace(fmt.Sprintln(x.ID, x.Status, x.Failures, since)))
		}
		for _, x := range f.Flags {
			flags = append(flags, fmt.Sprint(x.ID, " ", x.Kind, " ", x.Since.Format(time.TimeOnly)))
		}
		want := strings.TrimPrefix(c.want+"; three error 7", "; ") // which has never answered
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("%s: sources %q, want %q", c.name, text, want)
		}
		want = strings.TrimPrefix(c.flags+"; source:three source_error 20:05:02", "; ")
		if text := strings.Join(flags, "; "); text != want || ages.Of(1, now) != c.status {
			t.Errorf("%s: flags %q, want %q; [1] is %s", c.name, text, want, ages.Of(1, now))
		}
	}
	ages := api.AgesOf(stateOf(2*s, "ok", 0, 300, `[]`))
	status := []api.SourceStatus{{Ref: 1, ID: "one", Status: api.SourceStale, Failures: 2, FetchedAt: new(time.Time), StaleAfterSeconds: 900}}
	f := ages.Updated(status, map[string]string{"one": "Source One"}).Freshness(made(), made())
	if len(f.Sources) != 1 || f.Flags[0].Subject != "Source One" || f.Flags[0].Kind != api.FlagSourceError {
		t.Errorf("as it does now: %+v", f)
	}
}

// TestLate has both sides of the moment from which on a row says how old it is.
func TestLate(t *testing.T) {
	t.Parallel()
	const s, both = time.Second, `[{"ref":1},{"x":[{"ref":2}]}]`
	for _, c := range []struct {
		state json.RawMessage
		ref   int
		later time.Duration // than made
		age   time.Duration
		late  bool
	}{
		{stateOf(2*s, "ok", 0, 300, both), 1, 358 * s, 0, false},
		{stateOf(2*s, "ok", 0, 300, both), 1, 358*s + 1, 360*s + 1, true},
		{stateOf(2*s, "ok", 0, 300, both), 2, 3660 * s, 0, false},
		{stateOf(2*s, "ok", 0, 300, both), 2, 3660*s + 1, 3660*s + 1, true},
		{stateOf(4*s, "stale", 1, 300, both), 1, 0, 4 * s, true},
		{stateOf(4*s, "stale", 1, 300, both), 1, -4 * s, 0, false}, // a clock that is behind
		{stateOf(4*s, "stale", 1, 300, `[{"ref":2}]`), 1, 0, 0, false},
		{stateOf(4*s, "stale", 1, 300, both), 0, 0, 0, false},
		{json.RawMessage(`[`), 1, 0, 0, false},
	} {
		if age, late := api.AgesOf(c.state).Late(c.ref, made().Add(c.later)); age != c.age || late != c.late {
			t.Errorf("[%d] %v after %s: %v, %v; want %v, %v", c.ref, c.later, c.state, age, late, c.age, c.late)
		}
	}
}

// TestFreshnessCountedOn: an old number is no fresh state.
func TestFreshnessCountedOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kept    api.Freshness
		later   time.Duration // than GeneratedAt
		ages    [2]int64
		lagging bool
	}{
		{api.Freshness{AgeSeconds: 3, DataAgeSeconds: 3}, 3 * time.Second, [2]int64{3, 3}, false},
		{api.Freshness{AgeSeconds: 3, DataAgeSeconds: 3}, 300 * time.Second, [2]int64{300, 300}, false},
		{api.Freshness{AgeSeconds: 3, DataAgeSeconds: 3}, 301 * time.Second, [2]int64{301, 301}, true},
		{api.Freshness{AgeSeconds: 3, DataAgeSeconds: 103}, 200 * time.Second, [2]int64{200, 300}, false},
		{api.Freshness{AgeSeconds: 3, DataAgeSeconds: 103}, 201 * time.Second, [2]int64{201, 301}, true},
		{api.Freshness{AgeSeconds: 3, DataAgeSeconds: 103}, 20 * time.Hour, [2]int64{72000, 72100}, true},
		{api.Freshness{AgeSeconds: 30, DataAgeSeconds: 330}, -time.Hour, [2]int64{30, 330}, true}, // a clock that is behind
		{api.Freshness{AgeSeconds: 301}, 301 * time.Second, [2]int64{301, 301}, true},             // a service that does not tell
	} {
		c.kept.GeneratedAt = made()
		now := made().Add(c.later)
		got := c.kept.At(now)
		if ages := [2]int64{got.AgeSeconds, got.DataAgeSeconds}; ages != c.ages || c.kept.Stale(now) != c.lagging {
			t.Errorf("%+v read %v later: %v, stale %v; want %v, %v", c.kept, c.later, ages, c.kept.Stale(now), c.ages, c.lagging)
		}
	}
	zero := api.Freshness{}.At(made())
	if !slices.Equal([]int64{zero.AgeSeconds, zero.DataAgeSeconds}, []int64{0, 0}) {
		t.Errorf("of nothing: %+v", zero)
	}
}
