package pack

import (
	"fmt"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// minFailures is how many attempts in a row have to fail before a source counts as failing.
const minFailures = 2

// sourceTroubles sees the sources that do not answer; name is how people call the source [ref]. A source that was never asked or
// is switched off is none of them. All observations of a source have one id, so that a source that got worse keeps its Since.
func sourceTroubles(status []api.SourceStatus, name func(ref int) string, now time.Time) []observation {
	var seen []observation
	for _, row := range status {
		s := observation{
			ID: "source:" + row.ID, Kind: api.FlagSourceStale, Subject: name(row.Ref), Ref: row.Ref, Fresh: true,
			Severity: api.SeverityWarning,
		}
		limit, state := row.StaleAfterSeconds, "is stale"
		if row.Status == api.SourceError {
			s.Kind, limit, state = api.FlagSourceError, 3*limit, "has no usable data"
		}
		if row.Status == api.SourceOK || !s.trouble(row, limit, state, now) {
			continue
		}
		s.Raise = true
		s.Hold = true
		seen = append(seen, s)
	}
	return seen
}

// trouble says how long or how often the source has not answered, if that is worth a flag: limit is its bound in seconds.
func (s *observation) trouble(row api.SourceStatus, limit int, state string, now time.Time) bool {
	value := float64(row.Failures)
	switch {
	case row.Failures >= minFailures:
		s.Value, s.Threshold, s.Unit = &value, minFailures, "failures"
		s.Message = fmt.Sprintf("%s %s: %d attempts failed in a row", s.Subject, state, row.Failures)
		return true
	case row.FetchedAt == nil:
		return false
	}
	age := now.Sub(*row.FetchedAt)
	value = float64(age / time.Second)
	s.Value, s.Threshold, s.Unit = &value, float64(limit), "seconds"
	s.Message = fmt.Sprintf("%s %s: its last good answer is over %d minutes old", s.Subject, state, limit/60)
	return age > time.Duration(limit)*time.Second
}
