package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits of series and history.
const (
	SeriesPointsMin     = 2
	SeriesPointsMax     = 288
	SeriesPointsDefault = 60
	SeriesSpanMin       = time.Hour // the longest is the window of the caller's tier
	SeriesSpanDefault   = 24 * time.Hour
	MaxSeriesRows       = 50

	HistoryEveryMin = 5 * time.Minute
	HistoryDay      = 24 * time.Hour      // a credit for each that is started
	HistoryRangeMax = 31 * 24 * time.Hour // of one call
)

// SeriesRow is one number of a row over time.
type SeriesRow struct {
	Kind   string     `json:"kind"`   // such as asset
	Key    string     `json:"key"`    // of the row among those of its kind, such as bitcoin
	Name   string     `json:"name"`   // Key where no state that was read has the row
	Field  string     `json:"field"`  // the field of the values, in the unit at the end of its name
	Values []*float64 `json:"values"` // at each of the times; nil where the row was not in the state
}

// SeriesResponse answers /v1/series.
type SeriesResponse struct {
	Path      string      `json:"path"`
	Span      string      `json:"span"`  // such as 24h; see ParseSpan
	Times     []time.Time `json:"times"` // rising, the last is when it was asked; a value is that of the newest state at or before its time
	Rows      []SeriesRow `json:"rows"`
	Notices   []string    `json:"notices,omitempty"` // that sources of the pack prescribe
	Freshness Freshness   `json:"freshness"`         // of the newest state
}

// HistoryLine is a line of /v1/history: one member of a past state.
type HistoryLine struct {
	GeneratedAt time.Time       `json:"generatedAt"`       // of the state
	Value       json.RawMessage `json:"value"`             // the member as it stood, null where the state had none
	Notices     []string        `json:"notices,omitempty"` // that sources of the pack prescribe, in the first line
}

// HistoryCredits returns the cost of a call of history in credits or free calls: one for each day begun, and one for a single moment.
func HistoryCredits(from, to time.Time) int64 {
	return max(1, int64((to.Sub(from)+HistoryDay-1)/HistoryDay))
}

// ErrSpan reports a text that is not a duration.
var ErrSpan = errors.New("not a span of time such as 24h, 90m, 7d or 1d12h")

// longestSpan bounds what ParseSpan reads, far beyond any history.
const longestSpan = 100 * 365 * 24 * time.Hour

// ParseSpan reads a duration: whole numbers with the units w, d, h, m or s, where a day is 24 hours.
func ParseSpan(text string) (time.Duration, error) {
	var sum time.Duration
	for rest := text; rest != "" || text == ""; {
		end := strings.IndexAny(rest, "wdhms")
		if end < 0 {
			return 0, ErrSpan
		}
		n, err := strconv.ParseUint(rest[:end], 10, 32)
		unit := map[byte]time.Duration{'w': 7 * HistoryDay, 'd': HistoryDay, 'h': time.Hour, 'm': time.Minute, 's': time.Second}[rest[end]]
		if err != nil || time.Duration(n) > (longestSpan-sum)/unit {
			return 0, ErrSpan
		}
		sum, rest = sum+time.Duration(n)*unit, rest[end+1:]
	}
	return sum, nil
}

// FormatSpan writes a duration of whole seconds in the shortest form that ParseSpan reads, and one day as 24h.
func FormatSpan(d time.Duration) string {
	switch {
	case d%HistoryDay == 0 && d > HistoryDay:
		return fmt.Sprintf("%dd", d/HistoryDay)
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
