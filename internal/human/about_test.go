package human_test

import (
	"testing"
	"time"

	"github.com/contextd/contextd/internal/human"
)

func TestAbout(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for text, want := range map[string][3]string{ // as it is written, in a sentence, and moved by 40 hours
		"2026-11-21":                {"2026-11-21", "on 21 November", "2026-11-23"},
		"2025-12-31":                {"2025-12-31", "on 31 December 2025", "2026-01-02"},
		"2026-10":                   {"2026-10", "in October 2026", "2026-10"},
		"2026-Q3":                   {"2026-Q3", "in Q3 of 2026", "2026-Q3"},
		"2026Q4":                    {"2026-Q4", "in Q4 of 2026", "2026Q4"},
		"2025":                      {"2025", "in 2025", "2025"},
		"2026-11-21T16:05:09.5Z":    {"2026-11-21T16:05:09Z", "at 16:05 UTC on 21 November", "2026-11-23T08:05:09Z"},
		"2026-11-21T23:30:00-05:00": {"2026-11-22T04:30:00Z", "at 04:30 UTC on 22 November", "2026-11-23T20:30:00Z"},
		"2026-Q5":                   {"", "", "2026-Q5"},
		"2026-13":                   {"", "", "2026-13"},
		"October 2026":              {"", "", "October 2026"},
		"":                          {"", "", ""},
	} {
		a, ok := human.ParseAbout(text)
		got := [3]string{a.String(), human.AboutPhrase(text, now), human.ShiftAbout(text, 40*time.Hour)}
		if ok != (want[0] != "") || !ok && got[1:][1] != text || ok && got != want {
			t.Errorf("%q: %t %q, want %q", text, ok, got, want)
		}
	}
}
