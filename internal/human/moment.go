package human

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// MomentForms lists what ParseMoment accepts, for help texts.
const MomentForms = `2h, 90m, 3d, "1d 6h ago", "yesterday 14:00", 14:00, 2026-11-20, "2026-11-20 14:00" or 2026-11-20T14:00:00Z`

var (
	agoForm  = regexp.MustCompile(`^(?:now)?-?((?:\d+[wdhms] ?)+?)(?: ago)?$`)
	agoPart  = regexp.MustCompile(`(\d+)([wdhms])`)
	wallForm = regexp.MustCompile(`^(?:(today|yesterday|\d{4}-\d{2}-\d{2})(?:[ t]+))?(\d{1,2}):(\d{2})(?::(\d{2}))?$`)
	dayForm  = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
)

// ErrFuture says that a time is after now. It comes with that time.
var ErrFuture = errors.New("is in the future")

// ParseMoment reads text as a time that is not after now. A time with a zone is RFC 3339, without seconds if one likes; a time without
// one is in now's location; a span such as 1d6h is so long before now, a day being 24 hours. A local time that clocks skipped
// is an error, and of one that they showed twice it is the first.
func ParseMoment(text string, now time.Time) (time.Time, error) {
	t, err := parseMoment(text, now)
	if err != nil {
		return time.Time{}, err
	}
	if t.After(now) {
		return t, fmt.Errorf("%q %w (%s)", text, ErrFuture, t.Format("2006-01-02 15:04 MST"))
	}
	return t, nil
}

// ParsePoint is ParseMoment for a state of the past: a span before now and one that ends at a minute name a minute, and a time with seconds
// or a fraction, as a state's generatedAt, that state.
func ParsePoint(text string, now time.Time) (time.Time, error) {
	t, err := ParseMoment(text, now)
	lower := strings.Join(strings.Fields(strings.ToLower(text)), " ")
	if err != nil || lower != "now" && !agoForm.MatchString(lower) {
		return t, err
	}
	return t.Truncate(time.Minute), nil
}

// parseMoment is ParseMoment without the bound of now.
func parseMoment(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00"} {
		if t, err := time.Parse(layout, strings.ToUpper(strings.TrimSpace(text))); err == nil {
			return t, nil
		}
	}
	lower := strings.Join(strings.Fields(strings.ToLower(text)), " ")
	if lower == "now" {
		return now, nil
	}
	if m := agoForm.FindStringSubmatch(lower); m != nil {
		return before(now, m[1])
	}
	if dayForm.MatchString(lower) {
		lower += " 00:00" // where the day begins
	}
	if m := wallForm.FindStringSubmatch(lower); m != nil {
		return wall(m, now)
	}
	return time.Time{}, fmt.Errorf("%q is not a time; write %s", text, MomentForms)
}

// longestAgo bounds spans, far below what a time.Duration holds.
const longestAgo = 100 * 365 * 24 * time.Hour

// before is the time that the spans, such as 1d 6h, are before now.
func before(now time.Time, spans string) (time.Time, error) {
	var sum time.Duration
	for _, m := range agoPart.FindAllStringSubmatch(spans, -1) {
		unit := map[string]time.Duration{
			"w": 7 * 24 * time.Hour, "d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second,
		}[m[2]]
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil || n > int64(longestAgo/unit) {
			return time.Time{}, fmt.Errorf("%q is too long ago", spans)
		}
		if sum += time.Duration(n) * unit; sum > longestAgo {
			return time.Time{}, fmt.Errorf("%q is too long ago", spans)
		}
	}
	return now.Add(-sum), nil
}

// wall is the local time of a match of wallForm.
func wall(m []string, now time.Time) (time.Time, error) {
	date := now
	switch m[1] {
	case "", "today":
	case "yesterday":
		date = time.Date(now.Year(), now.Month(), now.Day()-1, 12, 0, 0, 0, now.Location())
	default:
		var err error
		if date, err = time.Parse(time.DateOnly, m[1]); err != nil {
			return time.Time{}, fmt.Errorf("%s is not a date", m[1])
		}
	}
	hour, minute, second := number(m[2]), number(m[3]), number(m[4])
	if hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, fmt.Errorf("%s is not a time of day", strings.Join(m[2:4], ":"))
	}
	t := time.Date(date.Year(), date.Month(), date.Day(), hour, minute, second, 0, now.Location())
	if t.Hour() != hour || t.Minute() != minute {
		return time.Time{}, fmt.Errorf("%02d:%02d does not exist on %s in %s, where the clocks skip it",
			hour, minute, date.Format(time.DateOnly), now.Location())
	}
	return first(t), nil
}

// first is the earlier of the two times that share t's place on the clock, or t itself where there is one.
func first(t time.Time) time.Time {
	start, _ := t.ZoneBounds()
	if start.IsZero() {
		return t
	}
	_, offset := t.Zone()
	_, offsetBefore := start.Add(-time.Second).Zone()
	earlier := t.Add(-time.Duration(offsetBefore-offset) * time.Second)
	if earlier.Before(t) && earlier.Before(start) {
		return earlier
	}
	return t
}

// number is the value of a match of \d* that fits an int.
func number(digits string) int {
	n, _ := strconv.Atoi("0" + digits)
	return n
}
