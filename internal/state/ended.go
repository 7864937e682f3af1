package state

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// FlagMemory is how long a flag that ended is remembered. One that comes back meanwhile is the same, and keeps its Since.
const FlagMemory = time.Hour

// Ended is a flag that stands no more, as it last stood.
type Ended struct {
	api.Flag
	EndedAt time.Time `json:"endedAt"` // GeneratedAt of the first state without it
}

// Remembered reports whether e is not forgotten at the time of a state.
func (e Ended) Remembered(at time.Time) bool {
	age := at.Sub(e.EndedAt)
	return age >= 0 && age <= FlagMemory
}

// EndedAt are the flags that are remembered at the time of a state, the last to end first. ended were remembered before, prev are the flags
// of the state before it and now its own.
func EndedAt(ended []Ended, prev, now []api.Flag, at time.Time) []Ended {
	known := make(map[string]bool, len(now)+len(prev))
	for _, f := range now {
		known[f.ID] = true
	}
	var list []Ended
	add := func(e Ended) {
		if !known[e.ID] && e.Remembered(at) {
			known[e.ID] = true
			list = append(list, e)
		}
	}
	for _, f := range prev {
		add(Ended{f, at})
	}
	for _, e := range ended {
		add(e)
	}
	slices.SortStableFunc(list, func(a, b Ended) int { return cmp.Or(b.EndedAt.Compare(a.EndedAt), strings.Compare(a.ID, b.ID)) })
	return list
}
