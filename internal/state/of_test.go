package state_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestOf has both sides of every bound: the end of a period, and one poll before the answer.
func TestOf(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		made, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	for _, c := range []struct{ about, fetched, now, want string }{
		{"2026-11-21", "2026-11-21T23:59:00Z", "2026-11-21T23:59:59.999Z", ""},
		{"2026-11-21", "2026-11-21T23:59:00Z", "2026-11-22T00:00:00Z", "2026-11-21"},
		{"2026-10", "2026-10-31T23:59:00Z", "2026-10-31T23:59:59Z", ""},
		{"2026-10", "2026-10-31T23:59:00Z", "2026-11-01T00:00:00Z", "2026-10"},
		{"2026-Q3", "2026-09-30T23:59:00Z", "2026-09-30T23:59:59Z", ""},
		{"2026-Q3", "2026-09-30T23:59:00Z", "2026-10-01T00:00:00Z", "2026-Q3"},
		{"2026-11-22T10:00:00Z", "2026-11-22T10:05:00Z", "2026-11-22T10:05:00Z", ""},
		{"2026-11-22T10:00:00Z", "2026-11-22T10:05:00.001Z", "2026-11-22T10:05:00Z", "2026-11-22T10:00:00Z"},
		{"2026-11-22T10:00:00Z", "2026-11-22T10:01:00Z", "2026-11-22T12:00:00Z", ""}, // how old the answer is is told by its age
		{"2026-11-23", "2026-11-22T10:00:00Z", "2026-11-22T10:00:00Z", ""},
		{"", "2026-11-22T10:00:00Z", "2026-11-22T10:00:00Z", ""},
	} {
		if got := state.Of(c.about, at(c.fetched), at(c.now), 5*time.Minute); got != c.want {
			t.Errorf("%q fetched at %s, now %s: %q, want %q", c.about, c.fetched, c.now, got, c.want)
		}
	}
}

// TestOfInEveryRow follows the moment of a figure from a state and from answers into the rows that faces draw.
func TestOfInEveryRow(t *testing.T) {
	t.Parallel()
	doc := state.Read([]byte(`{"volatility":[{"id":"VIX","name":"VIX","level":23.26,"date":"2026-11-21","ref":1,"of":"2026-11-21"}],
		"fx":[{"id":"EURUSD","name":"EUR/USD","rate":1.1,"date":"2026-11-22","ref":1},
		{"id":"USDJPY","name":"USD/JPY","rate":150,"date":"2026-11-21","ref":1,"of":"2026-11-21"}],
		"source_status":[{"ref":1}]}`))
	v, ok := doc.View("markets")
	if !ok {
		t.Fatal("no view")
	}
	vix, fx := v.Table("volatility"), v.Table("fx")
	if got := vix.Rows[0].About(); got != "of 2026-11-21" || len(vix.Columns) != 1 {
		t.Errorf("%q, %d columns: the date stands twice", got, len(vix.Columns))
	}
	if got := fx.Rows[0].About() + fx.Rows[1].About(); got != "of 2026-11-21" || len(fx.Columns) != 2 {
		t.Errorf("%q, %d columns", got, len(fx.Columns))
	}
	for _, r := range doc.Rows([]state.Shown{{Kind: "volatility", Path: "volatility", Label: "name"}}) {
		if got := r.View().About(); got != "of 2026-11-21" {
			t.Errorf("in a state of the past: %q", got)
		}
	}
	fetched := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for want, r := range map[string]api.QueryRow{
		"10s":                      {},
		"of 2026-11-21":            {Of: "2026-11-21"},
		"STALE 10s, of 2026-11-21": {Of: "2026-11-21", Stale: true},
	} {
		r.FetchedAt, r.AgeSeconds = fetched, 10
		if got := state.QueriedAge(r); got != want {
			t.Errorf("query says %q, want %q", got, want)
		}
		row := api.LookupRow{Of: r.Of, Stale: r.Stale, FetchedAt: fetched}
		if got := state.Answered(row, 1).Age(fetched.Add(10 * time.Second)); got != want {
			t.Errorf("lookup says %q, want %q", got, want)
		}
	}
	if got := state.Moved(api.ChangedRow{Of: "2026-11-21"}, nil).About(); got != "of 2026-11-21" {
		t.Errorf("changes say %q", got)
	}
	tables := state.NewTables([]state.Kind{{Name: "fx"}}, []state.Row{{Kind: "fx", Key: "a", Of: "2026-10"}, {Kind: "fx", Key: "b"}})
	for i, want := range []string{"2026-10", ""} {
		text, err := tables.AppendRow(nil, state.FoundRow{Row: &tables.Rows()[i]}, "", 1, true)
		var row api.LookupRow
		if err := json.Unmarshal(text, &row); err != nil || row.Of != want || !row.Stale {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil {
			t.Error(err)
		}
	}
}
