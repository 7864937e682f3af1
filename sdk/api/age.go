package api

import (
	"encoding/json"
	"slices"
	"time"
)

// overdueAfter is how much older than its interval the last good answer of a source may get before it counts as overdue.
const overdueAfter = time.Minute

// Ages holds the times from which the ages of a state's data, and how its sources do, are computed. It does not change.
type Ages struct {
	shown   map[int]bool // anchors of rows
	data    []datum
	sources []SourceStatus
	raised  map[string]time.Time // Since of the flags about sources in the state, by id
	names   map[string]string    // of sources, by their ids
}

// datum is what a source last said, as far as the state shows any of it.
type datum struct {
	ref     int
	source  string
	fetched time.Time
	due     time.Time // overdue after that
}

// AgesOf reads the ages from a state of any pack: of the sources in its source_status to which rows refer. Flags about a source do not
// count as its data. A state that cannot be read, or lists no sources, has no overdue data.
func AgesOf(state json.RawMessage) Ages {
	var told struct {
		Flags        []Flag
		SourceStatus []SourceStatus `json:"source_status"`
	}
	var members map[string]any
	if json.Unmarshal(state, &told) != nil || len(told.SourceStatus) == 0 || json.Unmarshal(state, &members) != nil {
		return Ages{}
	}
	delete(members, MemberSourceStatus)
	shown := map[int]bool{}
	refsIn(members, shown)
	return NewAges(told.SourceStatus, shown, told.Flags)
}

// NewAges makes the ages of a state of how its sources did, as far as its rows refer to them: shown has the anchors of these, as AgesOf
// finds them, and flags are those of the state.
func NewAges(sources []SourceStatus, shown map[int]bool, flags []Flag) Ages {
	a := Ages{shown: shown, sources: sources}
	for _, f := range flags {
		if AboutSource(f.Kind) {
			if a.raised == nil {
				a.raised = map[string]time.Time{}
			}
			a.raised[f.ID] = f.Since
		}
	}
	for _, s := range sources {
		if s.FetchedAt == nil || !shown[s.Ref] {
			continue
		}
		d := datum{ref: s.Ref, source: s.ID, fetched: *s.FetchedAt, due: *s.FetchedAt}
		if s.Failures == 0 && s.Status != SourceError {
			d.due = s.FetchedAt.Add(s.interval() + overdueAfter)
		}
		a.data = append(a.data, d)
	}
	slices.SortStableFunc(a.data, func(a, b datum) int { return a.fetched.Compare(b.fetched) })
	return a
}

// Updated returns the ages of the same state with how its sources do now, if that is known, and the names of the sources by their ids.
func (a Ages) Updated(sources []SourceStatus, names map[string]string) Ages {
	next := a
	if sources != nil {
		next = NewAges(sources, a.shown, nil)
		next.raised = a.raised
	}
	next.names = names
	return next
}

// interval is how often the source is asked. States of before this was told have a bound alone.
func (s SourceStatus) interval() time.Duration {
	if s.IntervalSeconds > 0 {
		return time.Duration(s.IntervalSeconds) * time.Second
	}
	return time.Duration(s.StaleAfterSeconds)*time.Second - overdueAfter
}

// refsIn adds the anchors of the rows in v to shown.
func refsIn(v any, shown map[int]bool) {
	switch v := v.(type) {
	case map[string]any:
		if kind, _ := v["kind"].(string); AboutSource(kind) {
			return
		}
		if ref, ok := v["ref"].(float64); ok {
			shown[int(ref)] = true
		}
		for _, member := range v {
			refsIn(member, shown)
		}
	case []any:
		for _, element := range v {
			refsIn(element, shown)
		}
	}
}

// Freshness returns the freshness at now of a state generated at generatedAt with these ages.
func (a Ages) Freshness(generatedAt, now time.Time) Freshness {
	f := Freshness{GeneratedAt: generatedAt, AgeSeconds: wholeSeconds(now.Sub(generatedAt))}
	f.DataAgeSeconds = f.AgeSeconds
	for _, d := range a.data { // the oldest first
		if now.After(d.due) {
			f.DataAgeSeconds = max(f.AgeSeconds, wholeSeconds(now.Sub(d.fetched)))
			break
		}
	}
	for _, s := range a.sources {
		if s.Status = s.At(now); s.Status == SourceOK {
			continue
		}
		h := SourceTrouble{ID: s.ID, Status: s.Status, Failures: s.Failures}
		if s.FetchedAt != nil {
			due := s.FetchedAt.Add(s.interval())
			if due.After(now) { // it was asked before its time
				due = *s.FetchedAt
			}
			h.Since = &due
		}
		f.Sources = append(f.Sources, h)
		name := s.ID
		if a.names[s.ID] != "" {
			name = a.names[s.ID]
		}
		if flag := s.Trouble(name, now); flag != nil {
			switch raised, is := a.raised[flag.ID]; {
			case is:
				flag.Since = raised
			case h.Since != nil:
				flag.Since = *h.Since
			default:
				flag.Since = generatedAt
			}
			f.Flags = append(f.Flags, *flag)
		}
	}
	return f
}

// Of returns how source [ref] does at now: SourceOK for a source that the state does not list.
func (a Ages) Of(ref int, now time.Time) SourceState {
	i := slices.IndexFunc(a.sources, func(s SourceStatus) bool { return s.Ref == ref })
	if i < 0 {
		return SourceOK
	}
	return a.sources[i].At(now)
}

// Overdue lists the ids of the sources with overdue data at now, the oldest first.
func (a Ages) Overdue(now time.Time) (sources []string) {
	for _, d := range a.data {
		if now.After(d.due) {
			sources = append(sources, d.source)
		}
	}
	return sources
}

// Late reports whether the shown data of source [ref] is overdue at now, and its age.
func (a Ages) Late(ref int, now time.Time) (age time.Duration, late bool) {
	i := slices.IndexFunc(a.data, func(d datum) bool { return d.ref == ref })
	if i < 0 || !now.After(a.data[i].due) {
		return 0, false
	}
	return now.Sub(a.data[i].fetched), true
}

// wholeSeconds is d, never negative.
func wholeSeconds(d time.Duration) int64 { return max(0, int64(d/time.Second)) }
