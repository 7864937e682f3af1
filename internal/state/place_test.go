package state_test

import (
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestExcerpt: a row is told in a line, with its times to the minute.
func TestExcerpt(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 12, 9, 19, 0, 0, 0, time.UTC)
	got := state.Excerpt("FOMC Meeting", "FOMC", api.Fields{{Name: "dueAt", Value: due}, {Name: "spreadBp", Value: 12.0}})
	if want := "FOMC Meeting (FOMC) due at 2026-12-09 19:00Z · spread 12 bp"; got != want {
		t.Errorf("the excerpt is %q, want %q", got, want)
	}
}

// TestExcerptTellsTheDay: a row of a state that is about a day says so, once.
func TestExcerptTellsTheDay(t *testing.T) {
	t.Parallel()
	const text = `{"vix":{"ref":4,"level":18.75,"of":"2026-11-20"},` +
		`"flag":{"ref":1,"message":"of 2026-11-20","of":"2026-11-20"},"fee":{"ref":2,"fast":3}}`
	places := state.Read([]byte(text)).Places(nil)
	for row, want := range map[string]string{
		"reading/vix": "level 18.75 · of 2026-11-20", "reading/flag": "of 2026-11-20", "reading/fee": "fast 3",
	} {
		if got := state.PlaceOf(places, row).Excerpt(); got != want {
			t.Errorf("%s: %q, want %q", row, got, want)
		}
	}
}
