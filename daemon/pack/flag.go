package pack

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// maxFlags is the most flags that are up at once.
const maxFlags = 20

// observation is what a rule saw of one subject. A flag rises with Raise and stays while Hold is true, which is easier to meet, so
// that a value at the threshold does not make it flicker.
type observation struct {
	ID, Kind, Subject, Unit string
	Ref                     int  // anchor of the source
	Fresh                   bool // the source's last attempt was good; rows that are only carried keep a flag up but raise none
	Threshold               float64
	Entity                  string     // of the subject, "" if it has none
	EventAt                 *time.Time // when it happened, nil if that is unknown
	Value                   *float64   // rounded as readers see it; nil if unknown, which neither raises a flag nor takes it down

	// What follows is unset without a Value.
	Raise, Hold bool
	Severity    api.Severity
	Message     string
}

// raiseFlags returns the flags that are up at now: at most maxFlags, the gravest first, then by kind and id. prev are the flags that were
// up before, ended those that are remembered; their ids decide, so an id must belong to one subject of one rule. Of observations with the
// same id the first counts.
//
// A flag that stays, or comes back while it is remembered, keeps its Since. One whose value became unknown keeps its last figures too. One
// that no rule sees any more goes down: its row has vanished from an answer that is usable, or its source has nothing usable, which is a
// flag of its own.
func raiseFlags(seen []observation, prev []api.Flag, ended []state.Ended, now time.Time) []api.Flag {
	before := make(map[string]api.Flag, len(prev))
	for _, f := range prev {
		before[f.ID] = f
	}
	ago := make(map[string]api.Flag, len(ended))
	for _, f := range ended {
		if f.Remembered(now) {
			ago[f.ID] = f.Flag
		}
	}
	flags, done := []api.Flag{}, make(map[string]bool, len(seen))
	for _, s := range seen {
		s.ID = shorten(s.ID)
		if done[s.ID] {
			continue
		}
		done[s.ID] = true
		last, was := before[s.ID]
		f, up := s.flag(last, was, now)
		if !up {
			continue
		}
		if !was {
			last = ago[s.ID]
		}
		if last.Since.Before(now) && last.Since.After(time.Unix(0, 0)) { // else it makes no sense
			f.Since = last.Since.UTC()
		}
		flags = append(flags, f)
	}
	slices.SortFunc(flags, func(a, b api.Flag) int {
		return cmp.Or(cmp.Compare(b.Severity.Rank(), a.Severity.Rank()), strings.Compare(a.Kind, b.Kind), strings.Compare(a.ID, b.ID))
	})
	return flags[:min(len(flags), maxFlags)]
}

// flag is the flag of s at now, if it is up. last is the flag before, if there was one.
func (s observation) flag(last api.Flag, was bool, now time.Time) (f api.Flag, up bool) {
	f = api.Flag{
		ID: s.ID, Kind: s.Kind, Severity: s.Severity, Subject: cut(s.Subject, maxSubject), Threshold: s.Threshold, Unit: s.Unit,
		Since: now, EventAt: s.EventAt, Message: cut(s.Message, maxMessage), Ref: s.Ref,
	}
	if len(s.Entity) <= maxID { // cut, it would be that of something else
		f.Entity = s.Entity
	}
	switch {
	case s.Value == nil:
		// The old figures come from a stored state, which may be damaged.
		f.Value, f.Severity, f.Message = last.Value, known(last.Severity), cut(human.Label(last.Message, maxMessage), maxMessage)
		return f, was
	case was:
		up = s.Hold
	default:
		up = s.Raise && s.Fresh
	}
	f.Value = *s.Value
	return f, up
}

// Longest texts of a flag in bytes, so that maxFlags of them have a place in every state.
const (
	maxID      = 96
	maxSubject = 96
	maxMessage = 200
)

// cut shortens s to at most limit bytes, between two runes.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// shorten makes an id that is too long fit: it ends in a hash of the whole then, so that it stays one of its own.
func shorten(id string) string {
	if len(id) <= maxID {
		return id
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(id)) // never fails
	return cut(id, maxID-17) + fmt.Sprintf("~%016x", hash.Sum64())
}

// known is s, or the least severity if there is no such one.
func known(s api.Severity) api.Severity {
	if s.Rank() > 0 {
		return s
	}
	return api.SeverityNotice
}

// severityOf is the severity of a value of the given size: notice below warning, critical from critical on.
func severityOf(size, warning, critical float64) api.Severity {
	switch {
	case size >= critical:
		return api.SeverityCritical
	case size >= warning:
		return api.SeverityWarning
	}
	return api.SeverityNotice
}
