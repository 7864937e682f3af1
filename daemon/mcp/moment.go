package mcp

import (
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/state"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

var (
	agoForm   = regexp.MustCompile(`^-?(\d{1,6})(m|h|d)(?: ago)?$`)
	todayForm = regexp.MustCompile(`^([01]\d|2[0-3]):[0-5]\d$`)
	spaceForm = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d`)
)

// moment writes the argument at, as models like to give it, as the operation reads it: -20m, 14:05 of today in UTC, a date and a time
// with a space between. asked is how it was given if it goes by the clock, else "".
func moment(values url.Values, now time.Time) (asked string) {
	at := strings.TrimSpace(values.Get("at"))
	now = now.UTC()
	switch ago := agoForm.FindStringSubmatch(at); {
	case ago != nil:
		n, _ := strconv.Atoi(ago[1]) // six digits
		unit := map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[ago[2]]
		if n > int(100*365*24*time.Hour/unit) {
			return ""
		}
		values.Set("at", state.Minute(now.Add(-time.Duration(n)*unit)).Key())
		return "-" + ago[1] + ago[2]
	case todayForm.MatchString(at):
		values.Set("at", now.Format(time.DateOnly)+"T"+at)
		return at
	case spaceForm.MatchString(at):
		values.Set("at", strings.Replace(at, " ", "T", 1))
	}
	return ""
}

// sinceMoment is moment for the argument since. A span is left as it is: the operation reads it.
func sinceMoment(values url.Values, now time.Time) (asked string) {
	if _, span := human.ParseAgo(values.Get("since")); span {
		return ""
	}
	at := url.Values{"at": {values.Get("since")}}
	asked = moment(at, now)
	values.Set("since", at.Get("at"))
	return asked
}

// withForms adds to the hint of a moment that cannot be read what may be written besides.
func withForms(err error) error {
	e := (*api.Error)(nil)
	switch {
	case errors.As(err, &e) && e.Reason == api.ReasonInvalidSince:
		return e.WithHint("%s; or 14:05 for today", e.Hint)
	case e != nil && e.Reason == api.ReasonInvalidAt:
		return e.WithHint("%s; or -20m, -3h, -2d, or 14:05 for today", e.Hint)
	}
	return err
}
