package state

import (
	"regexp"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Forms of a moment's key: UTC, a minute without seconds and zone, or a millisecond.
const (
	minuteLayout = "2006-01-02T15:04"
	exactLayout  = "2006-01-02T15:04:05.000Z"
)

// Moment is a time of the past that a state is asked as of: a minute, as of its end, or a millisecond. generatedAt never falls on a whole
// minute, so that it is a moment of its own however it is written.
type Moment struct {
	At    time.Time // UTC, where it begins
	Exact bool      // it is a millisecond, and no minute
}

// Minute is the minute in which t falls.
func Minute(t time.Time) Moment { return Moment{At: t.UTC().Truncate(time.Minute)} }

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

// dateTime is a date-time of RFC 3339, whose seconds and zone may be left out. The time package alone lets a comma, an hour of one
// digit and a zone of +24:00 pass.
var dateTime = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$`)

// ParseMoment returns the moment that s names: a date-time without seconds, or with :00, is a minute, and any other, even with .000, a
// millisecond. Anything else, and a time outside the years 1970 to 9999, is an *api.Error with reason invalid_at.
func ParseMoment(s string) (Moment, error) {
	parts := dateTime.FindStringSubmatch(strings.ToUpper(s)) // RFC 3339 allows a small t and z
	if parts == nil {
		return Moment{}, invalidAt(s)
	}
	seconds, zone := parts[2], parts[3]
	if seconds == "" {
		seconds = ":00"
	}
	if zone == "" {
		zone = "Z"
	}
	t, err := time.Parse(time.RFC3339, parts[1]+seconds+zone)
	if err != nil {
		return Moment{}, invalidAt(s)
	}
	m := Moment{At: t.UTC().Truncate(time.Millisecond), Exact: seconds != ":00"}
	if m.At.Year() < 1970 || m.At.Year() > 9999 {
		return Moment{}, invalidAt(s)
	}
	return m, nil
}

// invalidAt is the answer to an at that is no moment.
func invalidAt(s string) error {
	err := api.Errorf(api.ReasonInvalidAt, "at is %q, not a date-time from 1970 to 9999", human.Short(s, human.Quoted))
	if s == "" {
		err = api.Errorf(api.ReasonInvalidAt, "at is missing")
	}
	return err.WithHint("write a minute in UTC, for example 2026-11-20T20:05, or any RFC 3339 date-time")
}
