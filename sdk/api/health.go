package api

import (
	"fmt"
	"time"
)

// droppedAfter is how many times its bound the last good answer of a source may get old before none of it is used.
const droppedAfter = 3

// minFailures is how many attempts in a row have to fail before a source counts as failing.
const minFailures = 2

// Aged returns the state of a source whose last good answer is of the given age: SourceStale beyond StaleAfterSeconds, SourceError beyond
// three times that.
func (s SourceStatus) Aged(age time.Duration) SourceState {
	switch bound := time.Duration(s.StaleAfterSeconds) * time.Second; {
	case age > droppedAfter*bound:
		return SourceError
	case age > bound:
		return SourceStale
	}
	return SourceOK
}

// At returns the state of the source at now, which time makes worse alone.
func (s SourceStatus) At(now time.Time) SourceState {
	if s.FetchedAt == nil || s.Status == SourceError || s.StaleAfterSeconds == 0 {
		return s.Status
	}
	if aged := s.Aged(now.Sub(*s.FetchedAt)); aged != SourceOK {
		return aged
	}
	return s.Status
}

// ended is the flag about a source that announces its end, nil for one that does not.
func (s SourceStatus) ended(name string) *Flag {
	if s.Ending == "" {
		return nil
	}
	return &Flag{
		ID: "ending:" + s.ID, Kind: FlagSourceEnding, Severity: SeverityNotice, Subject: name, Ref: s.Ref, Value: 1, Threshold: 1,
		Unit: "notices", Message: fmt.Sprintf("%s announces an end: %s", name, s.Ending),
	}
}

// NotSold is the error of a source that is not served because its terms do not let the service sell what it says.
const NotSold = "not served: its terms do not let this service sell it"

// NotSold reports whether s is of such a source.
func (s SourceStatus) NotSold() bool { return s.Error != nil && *s.Error == NotSold }

// Trouble returns the flag about a source that has not answered for long or often enough, or that announces its end, with name for people,
// and without its Since; nil for none. A source that was never asked or is switched off is in none.
func (s SourceStatus) Trouble(name string, now time.Time) *Flag {
	f := Flag{ID: "source:" + s.ID, Kind: FlagSourceStale, Severity: SeverityWarning, Subject: name, Ref: s.Ref}
	limit, state := s.StaleAfterSeconds, "is stale"
	switch s.Status {
	case SourceOK:
		return s.ended(name)
	case SourceError:
		f.Kind, limit, state = FlagSourceError, droppedAfter*limit, "has no usable data"
	}
	if s.Failures >= minFailures {
		f.Value, f.Threshold, f.Unit = float64(s.Failures), minFailures, "failures"
		f.Message = fmt.Sprintf("%s %s: %d attempts failed in a row", name, state, s.Failures)
		return &f
	}
	if s.FetchedAt == nil || now.Sub(*s.FetchedAt) <= time.Duration(limit)*time.Second {
		return nil
	}
	f.Value, f.Threshold, f.Unit = float64(now.Sub(*s.FetchedAt)/time.Second), float64(limit), "seconds"
	f.Message = fmt.Sprintf("%s %s: its last good answer is over %d minutes old", name, state, limit/60)
	return &f
}
