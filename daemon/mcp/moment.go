package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// moment writes the argument of a name, as models like to give moments, as operations read it: -20m, 14:05 of today in UTC, a date and a
// time with a space between, and what else human.ParsePoint knows. What it does not is left to the operation. asked is how it was given if
// it goes by the clock, however that was spelled, else "".
func moment(values url.Values, name string, now time.Time) (asked string) {
	text := values.Get(name)
	if _, err := state.ParseMoment(text); err == nil {
		return ""
	}
	point := func(now time.Time) (time.Time, bool) {
		t, err := human.ParsePoint(text, now)
		return t, err == nil || errors.Is(err, human.ErrFuture) // of which the operation says more
	}
	t, ok := point(now.UTC())
	if !ok {
		return ""
	}
	values.Set(name, state.Moment{At: t, Exact: !t.Equal(t.Truncate(time.Minute))}.Key())
	const later = 36 * time.Hour // no whole days
	switch then, _ := point(now.UTC().Add(later)); then.Sub(t) {
	case 0:
		return ""
	case later:
		return fmt.Sprintf("-%dm", now.UTC().Truncate(time.Minute).Sub(t)/time.Minute)
	}
	return strings.Join(strings.Fields(strings.ToLower(text)), " ")
}

// sinceMoment is moment for the argument since. A span is left as it is: the operation reads it.
func sinceMoment(values url.Values, now time.Time) (asked string) {
	if _, span := human.ParseAgo(values.Get("since")); span {
		return ""
	}
	return moment(values, "since", now)
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
