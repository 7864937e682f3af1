package pack

import (
	"fmt"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// maxError caps the error of a source, in runes.
const maxError = 120

// Status says how each source does at in.Now, in the order of the pack. It is pure. A source is
//   - ok if its last attempt was good and its last good answer is at most StaleAfter old,
//   - stale if one of these does not hold; its last good answer is carried,
//   - error if it has no answer, or none that is at most three times StaleAfter old: none of its rows is used, and Items is 0.
//
// Error is nil exactly for sources that are ok; that of a source which is switched off is whatever its Reading says.
func (p *Pack) Status(in Input) []api.SourceStatus {
	list := make([]api.SourceStatus, len(p.Sources))
	for i, s := range p.Sources {
		list[i] = s.status(in.Readings[s.ID], in.Now)
		list[i].IntervalSeconds = s.seconds(in.Every)
		list[i].Ref = i + 1
	}
	return list
}

// of is what figures of the source [ref] that are about a moment tell of it, see state.Of.
func (p *Pack) of(in Input, ref int, about string) string {
	if about == "" {
		return ""
	}
	s := p.Sources[ref-1]
	return state.Of(about, in.Readings[s.ID].FetchedAt, in.Now, max(s.Interval, in.Every))
}

// status is the status of s without its anchor. Ages are exact; times are shown with the precision of generatedAt.
func (s Source) status(r Reading, now time.Time) api.SourceStatus {
	row := api.SourceStatus{
		ID: s.ID, Status: api.SourceOK, Failures: r.Failures, StaleAfterSeconds: int(s.StaleAfter / time.Second),
	}
	if !r.FetchedAt.IsZero() {
		at := r.FetchedAt.UTC().Truncate(time.Millisecond)
		row.FetchedAt = &at
	}
	row.Ending, row.Via = human.Label(r.Ending, maxError), r.Via
	reason := ""
	switch aged := row.Aged(now.Sub(r.FetchedAt)); {
	case r.Doc == nil || r.FetchedAt.IsZero():
		row.Status, reason = api.SourceError, "no answer yet"
	case aged == api.SourceError:
		row.Status, reason = api.SourceError, fmt.Sprintf("last good answer over %d s old", 3*row.StaleAfterSeconds)
	case aged == api.SourceStale:
		row.Status, reason = api.SourceStale, fmt.Sprintf("last good answer over %d s old", row.StaleAfterSeconds)
	case r.Failures > 0 || r.Err != "":
		row.Status, reason = api.SourceStale, "last attempt failed"
	}
	if row.Status != api.SourceError {
		row.Items = r.Doc.Len()
	}
	if row.Status != api.SourceOK {
		if r.Err != "" {
			reason = human.Label(r.Err, maxError)
		}
		row.Error = &reason
	}
	return row
}
