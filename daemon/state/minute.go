package state

import (
	"regexp"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// minuteLayout is the key of a minute: UTC, without seconds and zone.
const minuteLayout = "2006-01-02T15:04"

// dateTime is a date-time of RFC 3339. The time package alone lets a comma, an hour of one digit and a zone of +24:00 pass.
var dateTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// ParseMinute returns the minute, in UTC, in which s falls: an RFC 3339 date-time or the key of a minute. Anything else, and a
// minute outside the years 1970 to 9999, is an *api.Error with reason invalid_at.
func ParseMinute(s string) (time.Time, error) {
	text := strings.ToUpper(s) // RFC 3339 allows a small t and z
	if len(text) == len(minuteLayout) {
		text += ":00Z"
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !dateTime.MatchString(text) {
		return time.Time{}, invalidAt(s)
	}
	t = t.UTC().Truncate(time.Minute)
	if t.Year() < 1970 || t.Year() > 9999 {
		return time.Time{}, invalidAt(s)
	}
	return t, nil
}

// invalidAt is the answer to an at that is no minute.
func invalidAt(s string) error {
	err := api.Errorf(api.ReasonInvalidAt, "at is %q, not a date-time from 1970 to 9999", human.Short(s, human.Quoted))
	if s == "" {
		err = api.Errorf(api.ReasonInvalidAt, "at is missing")
	}
	return err.WithHint("write a minute in UTC, for example 2026-11-20T20:05, or any RFC 3339 date-time with + as %%2B in a URL")
}

// MinuteKey is the key of the minute in which t falls, for example 2026-11-20T20:05. ParseMinute reads it back.
func MinuteKey(t time.Time) string { return t.UTC().Format(minuteLayout) }
