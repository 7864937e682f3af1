package prose_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/prose"
)

// TestReadWhen reads spans and moments on a Friday at 14:05, and says what of the words is left and when it begins.
func TestReadWhen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 14, 5, 0, 0, time.UTC)
	for text, want := range map[string]struct {
		left  string
		begin string // "" for what cannot be
		span  time.Duration
	}{
		"yesterday":                         {"", "2026-11-19T14:05", 0},
		"yesterday at noon":                 {"", "2026-11-19T12:00", 0},
		"yesterday price":                   {"price", "2026-11-19T14:05", 0},
		"the day before yesterday":          {"", "2026-11-18T14:05", 0},
		"a week ago":                        {"", "2026-11-13T14:05", 0},
		"3 days ago":                        {"", "2026-11-17T14:05", 0},
		"half an hour ago":                  {"", "2026-11-20T13:35", 0},
		"looking back a week":               {"", "2026-11-13T14:05", 0},
		"back a full week from now":         {"", "2026-11-13T14:05", 0},
		"last 4 hours":                      {"", "2026-11-20T10:05", 4 * time.Hour},
		"in the last hour":                  {"", "2026-11-20T13:05", time.Hour},
		"this week":                         {"", "2026-11-13T14:05", prose.Week},
		"this month":                        {"", "2026-11-01T00:00", 30 * prose.Day},
		"this year":                         {"", "2026-01-01T00:00", 365 * prose.Day},
		"last year":                         {"", "2025-11-20T14:05", 365 * prose.Day},
		"24h":                               {"", "2026-11-19T14:05", prose.Day},
		"today":                             {"", "2026-11-19T14:05", prose.Day},
		"since monday":                      {"", "2026-11-16T00:00", 0},
		"since friday":                      {"", "2026-11-20T00:00", 0}, // which it is
		"since saturday":                    {"", "2026-11-14T00:00", 0},
		"friday at 09:30":                   {"", "2026-11-13T09:30", 0}, // the one before
		"since friday morning at 9":         {"", "2026-11-20T09:00", 0},
		"friday morning at 12":              {"12", "", 0},
		"friday":                            {"", "", 0}, // has many moments
		"14:05":                             {"", "2026-11-20T14:05", 0},
		"14:06":                             {"", "2026-11-19T14:06", 0}, // the last one that was
		"at 14:05 utc today":                {"", "2026-11-20T14:05", 0},
		"2pm":                               {"", "2026-11-20T14:00", 0},
		"2 in the afternoon today":          {"", "2026-11-20T14:00", 0},
		"2026-11-20t14:05":                  {"", "2026-11-20T14:05", 0},
		"2026-11-20t14:06":                  {"", "", 0}, // is to come
		"2026-11-20t16:05+02:00":            {"", "2026-11-20T14:05", 0},
		"2026-11-19":                        {"", "", 0},
		"since 2026-11-19":                  {"", "2026-11-19T00:00", 0},
		"26 november 2025":                  {"", "", 0}, // a day has many moments
		"on 18 november at 09:30":           {"", "2026-11-18T09:30", 0},
		"on nov 18th at 09:30":              {"", "2026-11-18T09:30", 0},
		"the 18th of november 2026 at noon": {"", "2026-11-18T12:00", 0},
		"09:30 on november 18 2026":         {"", "2026-11-18T09:30", 0},
		"since 21 november":                 {"", "2025-11-21T00:00", 0}, // the last one that was
		"since november 20":                 {"", "2026-11-20T00:00", 0},
		"since 31 november":                 {"since 31 november", "", 0},
		"since may 5":                       {"since may 5", "", 0}, // which may be a verb
		"since may 5th":                     {"", "2026-05-05T00:00", 0},
		"november":                          {"november", "", 0},
		"in 2025":                           {"", "2025-01-01T00:00", 0},
		"in 2026":                           {"", "2026-01-01T00:00", 0},
		"in 2027":                           {"", "", 0},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(text)
			w, taken := prose.ReadWhen(words)
			begin, ok := w.Begin(now)
			got := ""
			if ok {
				got = begin.Format("2006-01-02T15:04")
			}
			if left := strings.Join(words[taken:], " "); left != want.left || got != want.begin || w.Span != want.span || w.Future {
				t.Errorf("begins at %s, %v long, leaves %q; want %s, %v, %q", got, w.Span, left, want.begin, want.span, want.left)
			}
		})
	}
	for _, text := range []string{"2025", "1 banana", "back then", "back", "25:00", "half", "999 999", "from here", "price", "looking back"} {
		if w, taken := prose.ReadWhen(strings.Fields(text)); taken != 0 {
			t.Errorf("%q is read as %+v, of %d words", text, w, taken)
		}
	}
	for _, text := range []string{"tomorrow", "next week", "in the next 3 days"} {
		if w, taken := prose.ReadWhen(strings.Fields(text)); !w.Future || taken != len(strings.Fields(text)) {
			t.Errorf("%q is read as %+v, of %d words", text, w, taken)
		}
	}
	for text, name := range map[string]string{"weekly": "7d", "24 hours": "24h", "60 minutes": "1h", "12 months": "yoy", "a day ago": "yesterday"} {
		if w, _ := prose.ReadWhen(strings.Fields(text)); !slices.Contains(w.Names, name) {
			t.Errorf("%q is called %q", text, w.Names)
		}
	}
}

// TestRange says, on a Friday at 14:05, from when until when what has a time is in what a question names: of what was, and of what comes.
func TestRange(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 14, 5, 0, 0, time.UTC)
	for text, want := range map[string]struct{ was, comes string }{
		"after 2026-06-01":                {"2026-06-02T00:00 -", "2026-06-02T00:00 -"},
		"before 2026-03-01":               {"- 2026-03-01T00:00", ""},
		"until 2026-03-01":                {"- 2026-03-02T00:00", ""},
		"on november 16":                  {"2026-11-16T00:00 2026-11-17T00:00", "2027-11-16T00:00 2027-11-17T00:00"},
		"in october":                      {"2026-10-01T00:00 2026-11-01T00:00", "2027-10-01T00:00 2027-11-01T00:00"},
		"in december":                     {"2025-12-01T00:00 2026-01-01T00:00", "2026-12-01T00:00 2027-01-01T00:00"},
		"in october 2024":                 {"2024-10-01T00:00 2024-11-01T00:00", ""},
		"since the start of september":    {"2026-09-01T00:00 -", "2026-09-01T00:00 -"},
		"after october":                   {"2026-11-01T00:00 -", "2027-11-01T00:00 -"},
		"between june and september 2026": {"2026-06-01T00:00 2026-10-01T00:00", ""},
		"from 2026-06-01 to 2026-08-15":   {"2026-06-01T00:00 2026-08-16T00:00", ""},
		"before 2024":                     {"- 2024-01-01T00:00", ""},
		"after 2024":                      {"2025-01-01T00:00 -", "2025-01-01T00:00 -"},
		"since 2024":                      {"2024-01-01T00:00 -", "2024-01-01T00:00 -"},
		"between 2022 and 2024":           {"2022-01-01T00:00 2025-01-01T00:00", ""},
		"between june and march":          {"", ""},
		"before friday":                   {"- 2026-11-20T00:00", "- 2026-11-27T00:00"},
		"by monday":                       {"- 2026-11-17T00:00", "- 2026-11-24T00:00"},
		"yesterday":                       {"2026-11-19T00:00 2026-11-20T00:00", ""},
		"tomorrow":                        {"", "2026-11-21T00:00 2026-11-22T00:00"},
		"in the next 10 days":             {"", "2026-11-20T14:05 2026-11-30T14:05"},
		"next week":                       {"", "2026-11-23T00:00 2026-11-30T00:00"},
		"next month":                      {"", "2026-12-01T00:00 2027-01-01T00:00"},
		"this week":                       {"2026-11-13T14:05 -", "2026-11-20T14:05 2026-11-23T00:00"},
		"today":                           {"2026-11-19T14:05 -", "2026-11-20T14:05 2026-11-21T00:00"},
		"this month":                      {"2026-11-01T00:00 -", "2026-11-20T14:05 2026-12-01T00:00"},
		"this year":                       {"2026-01-01T00:00 -", "2026-11-20T14:05 2027-01-01T00:00"},
		"last week":                       {"2026-11-13T14:05 -", ""},
		"after 13:00":                     {"2026-11-20T13:00 -", "2026-11-20T13:00 -"},
		"in 2025":                         {"2025-01-01T00:00 2026-01-01T00:00", ""},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(text)
			w, taken := prose.ReadWhen(words)
			if taken != len(words) {
				t.Fatalf("%d words are read", taken)
			}
			side := func(at time.Time) string {
				if at.IsZero() {
					return "-"
				}
				return at.Format("2006-01-02T15:04")
			}
			for ahead, want := range map[bool]string{false: want.was, true: want.comes} {
				got := ""
				if from, to, ok := w.Range(now, ahead); ok {
					got = side(from) + " " + side(to)
				}
				if got != want {
					t.Errorf("ahead %v: %q, want %q", ahead, got, want)
				}
			}
		})
	}
}
