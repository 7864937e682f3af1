package state_test

import (
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestAnswered: a row of an answer has its figures with their signs, what was asked for first, and says when it is late.
func TestLookupNotes(t *testing.T) {
	t.Parallel()
	sum := 1.5e9
	got := state.LookupNotes(api.LookupResult{
		Aggregates: map[string]api.Aggregate{"sum:tvlUsd": {Value: &sum, Rows: 2}},
		Missing:    []api.LookupMissing{{Word: "foo", Why: api.MissingUnknownWord}},
	})
	if len(got) != 2 || got[0] != "sum:tvlUsd: $1.50B of 2 rows" {
		t.Errorf("%q", got)
	}
}

func TestAnswered(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	row := api.LookupRow{Kind: "asset", Key: "ada", Name: "Card\u202eano", Symbol: "ADA", FetchedAt: at, Asked: []string{"change24hPct"},
		Fields: api.Fields{{Name: "priceUsd", Value: 0.4182}, {Name: "change24hPct", Value: -2.1}, {Name: "rank", Value: 9.0}}}
	v := state.Answered(row, 2)
	if v.ID != "asset/ada" || v.Label != "Cardano (ADA)" || len(v.Cells) != 2 || v.Cells[0] != (state.Cell{Label: "24h", Text: "-2.10%",
		Sign: -1}) || v.Cells[0].Said() != "24h -2.10%" ||
		v.Cells[1] != (state.Cell{Text: "$0.4182"}) {
		t.Errorf("%+v", v)
	}
	late, unknown := v, v
	late.Stale, unknown.Stale, unknown.At = true, true, time.Time{}
	read := at.Add(14*time.Minute + 3*time.Second)
	if got := v.Age(read) + ", " + late.Age(read) + ", " + unknown.Age(read); got != "14m03s, STALE 14m, STALE" {
		t.Errorf("ages %s", got)
	}
}

// TestClosing: the last words on changes name who did not answer, and good news and bad have signs.
func TestClosing(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		changes api.ChangesResponse
		want    string
	}{
		"none": {api.ChangesResponse{From: at, To: at}, "no newer state"},
		"clear": {api.ChangesResponse{From: at, To: at.Add(1), Clear: true, SourcesAsked: 2, SourcesAnswered: 2}, "+all clear, " +
			"2 of 2 sources answered"},
		"worse": {api.ChangesResponse{From: at, To: at.Add(1), Flags: []api.ChangedFlag{{Change: api.FlagAppeared}},
			Sources: []api.ChangedSource{
				{ID: "a", From: api.HealthOK, To: "stale"}, {ID: "b", From: "failed", To: "failed"}, {ID: "c", From: "stale",
					To: api.HealthOK},
			}}, "-1 flag appeared or rose, -a stale, -b still failed, +c answers again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, cell := range state.Closing(c.changes) {
				got = append(got, map[int]string{1: "+", -1: "-"}[cell.Sign]+cell.Text)
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("%s, want %s", text, c.want)
			}
		})
	}
}
