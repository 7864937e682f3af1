package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// resolveMoment writes the moment among the arguments of o, as models like to give moments, as operations read it: -20m, 14:05 of today in
// UTC, a date and a time with a space between, and what else human.ParsePoint knows. What it does not know is left to the operation, and
// so is a span, where that counts from the answer. asked is how the moment was given if it goes by the clock, however that was spelled,
// else "".
func resolveMoment(o api.Operation, values url.Values, now time.Time) (asked string) {
	for _, p := range o.ParamsOn(api.FaceTool) {
		text := values.Get(p.Name)
		if _, span := api.ParseAgo(text); p.Kind != api.KindTime && (p.Kind != api.KindSince || span) {
			continue
		}
		t, ok := point(text, now)
		if _, err := api.ParseMoment(text); err == nil || !ok {
			continue
		}
		values.Set(p.Name, api.Moment{At: t, Exact: !t.Equal(t.Truncate(time.Minute))}.Key())
		return byClock(text, t, now)
	}
	return ""
}

func point(text string, now time.Time) (t time.Time, ok bool) {
	t, err := human.ParsePoint(text, now.UTC())
	return t, err == nil || errors.Is(err, human.ErrFuture) // of which the operation says more
}

// byClock is text, which names t at now, in one spelling if it names another moment at another time, else "".
func byClock(text string, t, now time.Time) string {
	const later = 36 * time.Hour // no whole days
	switch then, _ := point(text, now.Add(later)); then.Sub(t) {
	case 0:
		return ""
	case later:
		return fmt.Sprintf("-%dm", now.UTC().Truncate(time.Minute).Sub(t)/time.Minute)
	}
	return strings.Join(strings.Fields(strings.ToLower(text)), " ")
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
