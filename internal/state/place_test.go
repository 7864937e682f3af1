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
