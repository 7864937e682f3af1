package prose_test

import (
	"testing"
	"time"

	"github.com/contextd/contextd/internal/prose"
)

func TestPeriods(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"up 2% in 24 hours": prose.Day, "in the last 24 hours": prose.Day, "24h": prose.Day, "a 24-hour gain": prose.Day, "today": prose.Day,
		"on the day": prose.Day, "in a day": prose.Day, "the daily gain": prose.Day, "over the past day": prose.Day,
		"over seven days": prose.Week, "this week": prose.Week, "7d": prose.Week, "in the last week": prose.Week, "7-day": prose.Week,
		"within an hour": time.Hour, "in the last hour": time.Hour, "per eight hours": 8 * time.Hour, "over twelve months": prose.Year,
		"over the past year": prose.Year, "monthly": prose.Month, "in the last five minutes": 5 * time.Minute,
		"yesterday": -prose.Day, "a week ago": -prose.Week, "last week": -prose.Week, "the day before": -prose.Day, "24 hours ago": -prose.Day,
		"the previous day": -prose.Day, "two days earlier": -2 * prose.Day,
		"year on year": prose.Year, "in the most recent hour": time.Hour, "month over month": prose.Month,
		"over the last sixty minutes": time.Hour, "ninety minutes ago": -90 * time.Minute,
		"rose 3.17% year on year": prose.Year, "in 17  years": 0, "a 12-month high": prose.Year,
		"day and night": 0, "day on a day": prose.Day, "to $80M": 0,
		"its week-to-date gain": prose.Week, "over the same week": prose.Week,
		"24": 0, "the hourglass": 0,
	} {
		var got time.Duration
		for _, p := range prose.Periods(prose.Words(text)) {
			if got = p.Length; p.Ago {
				got = -got
			}
		}
		if got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// TestPeriodsThatEnded: last week is over, which the last week is not.
func TestPeriodsThatEnded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"gained 2% last week": true, "last month": true, "in the week before": true, "in the last week": false, "over the past week": false,
		"a week ago": false, "yesterday": false, "in the last seven days": false, "this week": false,
	} {
		list := prose.Periods(prose.Words(text))
		if len(list) != 1 || list[0].Over != want {
			t.Errorf("%q: %+v", text, list)
		}
	}
}
