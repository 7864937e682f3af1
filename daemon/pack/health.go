package pack

import (
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// sourceTroubles sees the sources that do not answer; name is how people call the source [ref]. A source that was never asked or
// is switched off is none of them. All observations of a source have one id, so that a source that got worse keeps its Since.
func sourceTroubles(status []api.SourceStatus, name func(ref int) string, now time.Time) []observation {
	var seen []observation
	for _, row := range status {
		if f := row.Trouble(name(row.Ref), now); f != nil {
			seen = append(seen, observation{
				ID: f.ID, Kind: f.Kind, Subject: f.Subject, Unit: f.Unit, Ref: f.Ref, Fresh: true, Threshold: f.Threshold, Value: &f.Value,
				Raise: true, Hold: true, Severity: f.Severity, Message: f.Message,
			})
		}
	}
	return seen
}
