package api_test

import (
	"errors"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// TestHistoryCredits: a credit for each day that is started, to the millisecond, and never none.
func TestHistoryCredits(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 20, 20, 5, 2, 340e6, time.UTC)
	const day, tick = 24 * time.Hour, time.Millisecond
	for length, want := range map[time.Duration]int64{
		0: 1, tick: 1, time.Hour: 1, day - tick: 1, day: 1, day + tick: 2, 2 * day: 2, 2*day + tick: 3, 31*day - tick: 31, 31 * day: 31,
	} {
		if got := api.HistoryCredits(from, from.Add(length)); got != want {
			t.Errorf("%v cost %d credits, want %d", length, got, want)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"1h": time.Hour, "24h": day, "1d": day, "7d": 7 * day, "1w": 7 * day, "1d12h": 36 * time.Hour, "90m": 90 * time.Minute, "3600s": time.Hour,
		"0h": 0, "007d": 7 * day, "365d": 365 * day, "36500d": 36500 * day, "12h1d": 36 * time.Hour,
	} {
		got, err := api.ParseSpan(text)
		if err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
		if again, err := api.ParseSpan(api.FormatSpan(got)); err != nil || again != want {
			t.Errorf("%s is written %s, which is %v, %v", text, api.FormatSpan(got), again, err)
		}
	}
	for _, text := range []string{
		"", "h", "24", "24 h", "-24h", "+1h", "1.5h", "24H", "1y", "1h ", " 1h", "36501d", "36500d1s", "4294967296s", "99999999999999999999d", "1h30",
	} {
		if got, err := api.ParseSpan(text); !errors.Is(err, api.ErrSpan) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for d, want := range map[time.Duration]string{
		day: "24h", 2 * day: "2d", time.Hour: "1h", 90 * time.Minute: "90m", 61 * time.Second: "61s", 36 * time.Hour: "36h", 0: "0h",
	} {
		if got := api.FormatSpan(d); got != want {
			t.Errorf("%v is written %s, want %s", d, got, want)
		}
	}
}
