package api

import (
	"regexp"
	"strings"
	"time"
)

// Forms of a moment's key: UTC, a minute without seconds and zone, or a millisecond.
const (
	minuteLayout = "2006-01-02T15:04"
	exactLayout  = "2006-01-02T15:04:05.000Z"
)

// Moment is a time of the past that a state is asked as of: a minute, as of its end, or a millisecond. The generatedAt of a state never
// falls on a whole minute, so that it is a moment of its own however it is written.
type Moment struct {
	At    time.Time // UTC, where it begins
	Exact bool      // it is a millisecond, not a minute

	Ago   time.Duration // so long before the answer; At counts where it is 0
	Asked string        // as it was written, if it goes by the clock, such as 14:05; "" if not
}

// Minute is the minute in which t falls.
func Minute(t time.Time) Moment { return Moment{At: t.UTC().Truncate(time.Minute)} }

// MomentOf is t as a moment: its minute if it is a whole one, else its millisecond.
func MomentOf(t time.Time) Moment {
	if t.Equal(t.Truncate(time.Minute)) {
		return Minute(t)
	}
	return Moment{At: t.UTC().Truncate(time.Millisecond), Exact: true}
}

// End is when m is over: what counts are the states before.
func (m Moment) End() time.Time {
	if m.Exact {
		return m.At.Add(time.Millisecond)
	}
	return m.At.Add(time.Minute)
}

// Key names m, for example 2026-11-20T20:05 or 2026-11-20T20:05:02.340Z. ParseMoment reads it back.
func (m Moment) Key() string {
	if m.Exact {
		return m.At.UTC().Format(exactLayout)
	}
	return m.At.UTC().Format(minuteLayout)
}

// Canonical is m as the canonical form of a request has it, "" for the zero Moment. It does not move while the clock does: a payment for
// 14:05, or for 20 minutes ago, is for just that.
func (m Moment) Canonical() string {
	switch {
	case m.Asked != "":
		return m.Asked
	case m.Ago > 0:
		return "-" + m.Ago.String()
	case m.At.IsZero():
		return ""
	}
	return m.Key()
}

// dateTime is a date-time of RFC 3339, whose seconds and zone may be left out. The time package alone lets a comma, an hour of one
// digit and a zone of +24:00 pass.
var dateTime = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$`)

// ParseMoment returns the moment that s names: a date-time without seconds, or with :00, is a minute, and any other, even with .000, a
// millisecond. Anything else, and a time outside the years 1970 to 9999, is an *Error with reason invalid_at.
func ParseMoment(s string) (Moment, error) {
	if m, ok := parseMoment(s); ok {
		return m, nil
	}
	return Moment{}, momentParam().fault(s)
}

// parseMoment is ParseMoment without its error.
func parseMoment(s string) (m Moment, ok bool) {
	parts := dateTime.FindStringSubmatch(strings.ToUpper(s)) // RFC 3339 allows a small t and z
	if parts == nil {
		return m, false
	}
	seconds, zone := parts[2], parts[3]
	if seconds == "" {
		seconds = ":00"
	}
	if zone == "" {
		zone = "Z"
	}
	t, err := time.Parse(time.RFC3339, parts[1]+seconds+zone)
	if err != nil || t.UTC().Year() < 1970 || t.UTC().Year() > 9999 {
		return m, false
	}
	return Moment{At: t.UTC().Truncate(time.Millisecond), Exact: seconds != ":00"}, true
}

// agoForm is a span before now.
var agoForm = regexp.MustCompile(`^(?:now)?-?((?:\d+[wdhms] ?)+?)(?: ago)?$`)

// ParseAgo reads text as a span before now, such as 20m, -20m or 1d 6h ago; ok is false for all else.
func ParseAgo(text string) (ago time.Duration, ok bool) {
	m := agoForm.FindStringSubmatch(strings.Join(strings.Fields(strings.ToLower(text)), " "))
	if m == nil {
		return 0, false
	}
	ago, err := ParseSpan(strings.ReplaceAll(m[1], " ", ""))
	return ago, err == nil
}
