package reader_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestCheck: a text is judged by what the sources last gave, by states of the day before, or by the state of its moment.
func TestCheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, price := range []string{"80000", "99000.5", "90000"} {
		at := newest().Add(time.Duration(i-3) * time.Hour)
		w.history.pulses = append(w.history.pulses, pulse("crypto", at, `{"assets":[{"id":"bitcoin","priceUsd":`+price+`,"ref":1}]}`))
	}
	kinds := []state.Kind{{Name: "asset", Fields: []state.Field{{Name: "priceUsd", Words: []string{"price"}}}}}
	w.has(t, state.NewTables(kinds, []state.Row{{Kind: "asset", Key: "bitcoin", Entity: "bitcoin", Name: "Bitcoin", Ref: 1,
		Fields: api.Fields{{Name: "priceUsd", Value: 91_000.0}}}}))
	for _, c := range []struct {
		text, at string
		within   time.Duration
		want     string
	}{
		{"Bitcoin is at $90,000.", "", 0, "stale other_time 2026-11-20T19:05"},
		{"Bitcoin is at $91,000.", "", 0, "verified"}, {"Bitcoin is at $80,000.", "", 0, "stale other_time 2026-11-20T17:05"},
		{"Bitcoin is at $80,000.", "", 4 * time.Hour, "verified"}, {"Bitcoin is at $250,000.", "", 0, "refuted other_value"},
		{"Bitcoin is at $80,000.", "2026-11-20T18:05", 0, "stale other_time 2026-11-20T17:05"},
		{"Bitcoin is at $99,000.50.", "2026-11-20T18:05", 0, "verified"}, {"Bitcoin is at $91,000.", "2026-11-20T18:05", 0, "unknown near"},
		{"Bitcoin is at $95,000.", "", 0, "unknown near"}, {"Nothing here.", "", 0, ""}, {"It may rise by 5%.", "", 0, "unknown no_subject"},
	} {
		q := api.Query{Op: api.OpCheck, Pack: "crypto", Text: c.text, Span: c.within, All: true}
		if c.at != "" {
			q.At, _ = api.ParseMoment(c.at)
		}
		v, err := w.Ready(q)
		if err != nil {
			t.Fatal(err)
		}
		free := w.Deliverable(t.Context(), v, 24*time.Hour)
		a, err := w.Answer(t.Context(), v, 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		var r api.CheckResponse
		if err := json.Unmarshal(a.JSON, &r); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range r.Findings {
			got = strings.TrimSpace(string(f.Verdict) + " " + string(f.Reason))
			if f.AsOf != nil {
				got += f.AsOf.UTC().Format(" 2006-01-02T15:04")
			}
		}
		if got != c.want {
			t.Errorf("%q as of %q is %s, want %s: %s", c.text, c.at, got, c.want, a.JSON)
		}
		if none := errors.Is(free, &api.Error{Reason: api.ReasonNothingFound}); none != a.Nothing || a.Nothing != (r.Judged == 0) {
			t.Errorf("%q: %d are judged, %t is charged, and who has not paid is told %v", c.text, r.Judged, !a.Nothing, free)
		}
	}
	v, err := w.Ready(api.Query{Op: api.OpCheck, Pack: "crypto", Text: "Bitcoin is at $80,000."})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := w.Answer(t.Context(), v, 2*time.Hour); err != nil || strings.Contains(string(a.JSON), "asOf") {
		t.Errorf("who may read two hours is told of three: %v %s", err, a.JSON)
	}
	for _, c := range []struct {
		text string
		want api.Reason
	}{
		{strings.Repeat("1 ", api.MaxCheckFigures), ""}, {strings.Repeat("1 ", api.MaxCheckFigures+1), api.ReasonInvalidText},
		{"\xff", api.ReasonInvalidText},
	} {
		_, err := w.Ready(api.Query{Op: api.OpCheck, Pack: "crypto", Text: c.text})
		if c.want == "" && err != nil || c.want != "" && !errors.Is(err, &api.Error{Reason: c.want}) {
			t.Errorf("%.10q: %v, want %s", c.text, err, c.want)
		}
	}
}
