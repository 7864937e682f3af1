package reader

import (
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// sinceForms says how a since is written.
const sinceForms = "use an age such as -20m, a minute in UTC such as 2026-11-20T20:05, or the generatedAt of an answer"

// parseChanges reads since, min and kinds.
func parseChanges(q *Query, values url.Values) (err error) {
	since := strings.TrimSpace(values.Get("since"))
	ago, span := human.ParseAgo(since)
	switch q.At, err = state.ParseMoment(since); {
	case since == "":
		return api.Errorf(api.ReasonInvalidSince, "since is missing").WithHint(sinceForms)
	case span && ago > 0:
		q.Ago = ago
	case err != nil:
		return api.Errorf(api.ReasonInvalidSince, "since is %q, not a time in the past", human.Short(since, human.Quoted)).
			WithHint(sinceForms)
	}
	if values.Has("min") {
		q.Min, err = strconv.ParseFloat(values.Get("min"), 64)
		if err != nil || math.IsNaN(q.Min) || math.IsInf(q.Min, 0) || q.Min < 0 {
			return api.Errorf(api.ReasonInvalidMin, "min is %q, not a number of 0 or more", human.Short(values.Get("min"), human.Quoted)).
				WithHint("min=0.5 omits changes below 0.5 percent")
		}
	}
	q.Kinds = Listed(strings.ToLower(values.Get("kinds")))
	return nil
}

// tellChanges is tell for changes.
func (q Query) tellChanges(told url.Values) {
	told.Set("since", q.SinceKey())
	told.Del("min")
	if q.Min > 0 {
		told.Set("min", strconv.FormatFloat(q.Min, 'g', -1, 64))
	}
	told.Del("kinds")
	if q.Kinds != "" {
		told.Set("kinds", q.Kinds)
	}
}

// SinceKey names what changes is asked for since, the same however it was written: a moment, or a span, which goes by the clock.
func (q Query) SinceKey() string {
	if q.Ago > 0 {
		return "-" + q.Ago.String()
	}
	return q.At.Key()
}
