package tui_test

import (
	"testing"
	"time"

	"github.com/contextd/contextd/tui"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// TestLogLineHasItsDay: the time of day alone would say that what was yesterday was today.
func TestLogLineHasItsDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 1, 0, 0, 0, time.FixedZone("", 3600))
	for at, want := range map[time.Time]string{
		now.Add(-time.Minute).UTC():         "00:59:00 info    said",
		now.Add(-61 * time.Minute).UTC():    "Nov 22   info    said",
		now.Add(-62 * 24 * time.Hour).UTC(): "Sep 22   info    said",
	} {
		if got := tui.LogLine(view.Theme{}, session.Entry{At: at, Level: session.Info, Text: "said"}, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
