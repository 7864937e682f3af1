package human_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/contextd/contextd/internal/human"
)

// zone loads a time zone from the program's own copy.
func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestParseMoment(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	now := time.Date(2026, 11, 20, 15, 4, 5, 0, berlin) // 14:04:05 UTC
	for text, want := range map[string]string{
		"now":                       "2026-11-20T14:04:05Z",
		"2h":                        "2026-11-20T12:04:05Z",
		"90m":                       "2026-11-20T12:34:05Z",
		"3d":                        "2026-11-17T14:04:05Z",
		"1w":                        "2026-11-13T14:04:05Z",
		"45s":                       "2026-11-20T14:03:20Z",
		"1d6h":                      "2026-11-19T08:04:05Z",
		"1d 6h ago":                 "2026-11-19T08:04:05Z",
		"2h ago":                    "2026-11-20T12:04:05Z",
		"-2h":                       "2026-11-20T12:04:05Z",
		"now-2h":                    "2026-11-20T12:04:05Z",
		"0m":                        "2026-11-20T14:04:05Z",
		"yesterday 14:00":           "2026-11-19T13:00:00Z",
		"Yesterday  9:05":           "2026-11-19T08:05:00Z",
		"today 09:30":               "2026-11-20T08:30:00Z",
		"09:30":                     "2026-11-20T08:30:00Z",
		"2026-11-20 14:00":          "2026-11-20T13:00:00Z",
		"2026-11-20 14:00:30":       "2026-11-20T13:00:30Z",
		"2026-11-20T14:00":          "2026-11-20T13:00:00Z",
		"2026-11-20T14:00Z":         "2026-11-20T14:00:00Z",
		"2026-11-20t14:00:00z":      "2026-11-20T14:00:00Z",
		"2026-11-20T14:00:00-05:00": "future",
		"2026-11-20T08:00:00-05:00": "2026-11-20T13:00:00Z",
		"2026-11-20 08:00-05:00":    "2026-11-20T13:00:00Z",
		"2026-07-01 12:00":          "2026-07-01T10:00:00Z",
		"2025-12-31 00:00":          "2025-12-30T23:00:00Z",
		"2026-11-20":                "2026-11-19T23:00:00Z",
		"2026-07-01":                "2026-06-30T22:00:00Z",

		"today 15:05":      "future",
		"2026-11-21 00:00": "future",
		"":                 "not a time",
		"2":                "not a time",
		"2y":               "not a time",
		"h":                "not a time",
		"yesterday":        "not a time",
		"today":            "not a time",
		"tomorrow 10:00":   "not a time",
		"2026-11-2":        "not a time",
		"2026-11-21":       "future",
		"2026-02-30":       "not a date",
		"2026-13-01 10:00": "not a date",
		"2026-02-30 10:00": "not a date",
		"24:00":            "not a time of day",
		"today 10:60":      "not a time of day",
		"99999999999d":     "too long ago",
		"999999d":          "too long ago",
		"36000d 36000d":    "too long ago",
	} {
		check(t, text, now, want)
	}
}

// check parses text and compares with want: a time in UTC, or a part of the error.
func check(t *testing.T, text string, now time.Time, want string) {
	t.Helper()
	got, err := human.ParseMoment(text, now)
	if said := got.UTC().Format(time.RFC3339); err == nil && said != want {
		t.Errorf("%q is %s, want %s", text, said, want)
	}
	if err != nil && (strings.HasSuffix(want, "Z") || !strings.Contains(err.Error(), want)) {
		t.Errorf("%q: %v, want %s", text, err, want)
	}
}

// TestClockChanges reads local times around the days on which clocks jump.
func TestClockChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone, now, text, want string
	}{
		// Forward in spring: 02:00 becomes 03:00.
		{"Europe/Berlin", "2026-03-29T12:00:00Z", "today 01:59", "2026-03-29T00:59:00Z"},
		{"Europe/Berlin", "2026-03-29T12:00:00Z", "today 02:30", "does not exist"},
		{"Europe/Berlin", "2026-03-29T12:00:00Z", "today 03:00", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "2026-03-30T00:30:00Z", "yesterday 02:30", "does not exist"},
		{"America/New_York", "2026-03-08T20:00:00Z", "2026-03-08 02:15", "does not exist"},
		// Back in autumn: 02:30 comes twice, the first in summer time.
		{"Europe/Berlin", "2026-10-25T12:00:00Z", "today 02:30", "2026-10-25T00:30:00Z"},
		{"Europe/Berlin", "2026-10-25T12:00:00Z", "today 02:00", "2026-10-25T00:00:00Z"},
		{"Europe/Berlin", "2026-10-25T12:00:00Z", "today 03:00", "2026-10-25T02:00:00Z"},
		{"America/New_York", "2026-11-01T20:00:00Z", "01:30", "2026-11-01T05:30:00Z"},
		{"Australia/Lord_Howe", "2026-04-05T03:00:00Z", "2026-04-05 01:45", "2026-04-04T14:45:00Z"}, // by half an hour
		// A span is so many hours, whatever the clocks do.
		{"Europe/Berlin", "2026-03-29T12:00:00Z", "1d", "2026-03-28T12:00:00Z"},
		// Yesterday is a date, also right after a short day.
		{"Europe/Berlin", "2026-03-29T22:30:00Z", "yesterday 12:00", "2026-03-29T10:00:00Z"},
		{"UTC", "2026-01-01T00:00:30Z", "yesterday 23:59", "2025-12-31T23:59:00Z"},
		{"Asia/Kolkata", "2026-11-20T00:00:00Z", "today 05:00", "2026-11-19T23:30:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		check(t, c.text, now.In(zone(t, c.zone)), c.want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("1d6h")
	f.Add("yesterday 14:00")
	now := time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := human.ParseMoment(text, now); err == nil && got.After(now) {
			t.Errorf("%q is %s, in the future", text, got)
		}
	})
}
