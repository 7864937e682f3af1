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
	Worst   *api.Flag `json:"-"`       // as it stood when it was gravest; nil where nobody looked on
}

// AtWorst is e as it stood when it was gravest.
func (e Ended) AtWorst() api.Flag {
	if e.Worst != nil {
		return *e.Worst
	}
	return e.Flag
}

// Remember notes in p, which is the state after last, the flags that ended, and how grave those that stand have been.
func (p *Pulse) Remember(last Pulse) {
	now := p.Read().Flags()
	p.Ended = EndedAt(last.Ended, last.Read().Flags(), now, p.GeneratedAt)
	for i := range p.Ended {
		e := &p.Ended[i]
		if worst := last.Worst[e.ID]; worst != nil && e.Worst == nil {
			e.Worst = worst
		}
	}
	p.Worst = make(map[string]*api.Flag, len(now))
	for i := range now {
		f := &now[i]
		worst := last.Worst[f.ID]
		for _, e := range last.Ended {
			if worst == nil && e.ID == f.ID { // it is back
				worst = e.Worst
			}
		}
		if worst == nil || f.Severity.Rank() > worst.Severity.Rank() {
			worst = f
		}
		p.Worst[f.ID] = worst
	}
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
		add(Ended{Flag: f, EndedAt: at})
	}
	for _, e := range ended {
		add(e)
	}
	slices.SortStableFunc(list, func(a, b Ended) int { return cmp.Or(b.EndedAt.Compare(a.EndedAt), strings.Compare(a.ID, b.ID)) })
	return list
}
