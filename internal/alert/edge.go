package alert

import "time"

// forgetAfter is how long a condition that ended is remembered: a flag that returns within an hour is the same one.
const forgetAfter = 2 * time.Hour

type edge struct {
	Up    bool      `json:"up,omitempty"`    // it held in the newest state
	Owed  bool      `json:"owed,omitempty"`  // it holds, and is to be told when the cool-down is over
	Onset string    `json:"onset,omitempty"` // as the state said
	Level int       `json:"level,omitempty"` // the gravest that was told
	Until time.Time `json:"until,omitzero"`  // when it was found to have ended
	Last  *Event    `json:"last,omitempty"`  // the newest event, without its value
}

// step moves the edges of a rule on to what was found in a state. It returns those that changed, nil for one that is forgotten, and
// the events.
func (r Rule) step(edges map[string]*edge, found []Finding, s State) (changed map[string]*edge, events []Event) {
	changed = map[string]*edge{}
	held := make(map[string]bool, len(found))
	for _, f := range found {
		if held[f.Key] {
			continue
		}
		held[f.Key] = true
		was, known := edges[f.Key]
		if !known {
			was = &edge{}
		}
		now, change := was.found(f, s, r.Cooldown)
		if change != "" {
			events = append(events, r.event(f, change, s))
			now.Last = events[len(events)-1].bare()
		}
		if was.differs(now) {
			changed[f.Key] = &now
		}
	}
	for key, was := range edges {
		switch {
		case held[key]:
		case was.Up && r.Between != nil && r.Between(s):
		case was.Up:
			now := *was
			now.Up, now.Owed, now.Until = false, false, s.At
			if r.Ended && was.Last.Change != Ended {
				events = append(events, r.event(Finding{Key: key, Event: *was.Last}, Ended, s))
				now.Last = events[len(events)-1].bare()
			}
			changed[key] = &now
		case s.At.Sub(was.Until) > max(forgetAfter, r.Cooldown):
			changed[key] = nil
		}
	}
	return changed, events
}

// found is the edge once its condition was found in a state, and what is to be told of it, "" for nothing. An edge without an event is
// one that is not known yet. That it stood in the past reminds nobody.
func (e edge) found(f Finding, s State, cooldown time.Duration) (next edge, change Change) {
	next = e
	next.Up, next.Onset = true, f.Onset
	over := e.Last == nil || !s.At.Before(e.Last.At.Add(cooldown))
	graver := e.Last != nil && f.Level > e.Level
	begins := e.begins(f)
	switch {
	case begins && !over && !graver:
		next.Owed = true
		return next, ""
	case begins:
		change = Appeared
	case graver:
		change = Rose
	case cooldown > 0 && over && s.Member == "":
		return next, Stands
	default:
		return next, ""
	}
	next.Owed, next.Level = false, f.Level
	return next, change
}

// begins reports whether f was not there before. What returns with the same onset was, unless its end was told.
func (e edge) begins(f Finding) bool {
	if e.Up {
		return e.Owed || f.Onset != e.Onset
	}
	return e.Last == nil || e.Last.Change == Ended || f.Onset == "" || f.Onset != e.Onset
}

// differs reports whether next says something that the journal has to know.
func (e *edge) differs(next edge) bool {
	return e.Up != next.Up || e.Owed != next.Owed || e.Onset != next.Onset || e.Last != next.Last
}

func (r Rule) event(f Finding, change Change, s State) Event {
	e := f.Event
	e.Alert, e.Pack, e.At, e.Change, e.Demo, e.Late = r.Name, s.Pack, s.At.UTC(), change, s.Demo, s.Member != ""
	e.identify(f.Key)
	return e
}

// bare is e without its value.
func (e Event) bare() *Event {
	e.Value = nil
	return &e
}
