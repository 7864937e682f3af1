package replay

import (
	"math"
	"strings"
	"time"
)

// EventKind is what happens.
type EventKind string

// The kinds of events. Subject and Size say to what and how much.
const (
	Depeg        EventKind = "depeg"        // CoinGecko's id of a stablecoin; -0.04 is 4 % below its peg
	Hack         EventKind = "hack"         // slug of a protocol, which loses Size US dollars; half of its other value leaves
	FeeSpike     EventKind = "fee spike"    // Bitcoin's fees are Size sat/vB
	GasSpike     EventKind = "gas spike"    // a fast transaction on Ethereum pays Size gwei for its gas
	Move         EventKind = "move"         // CoinGecko's id of a coin, whose price is 1 + Size times what it would be
	Disagreement EventKind = "disagreement" // CoinGecko's id of a coin, which Kraken quotes at 1 + Size times the price elsewhere
	Outage       EventKind = "outage"       // id of a source, which does not answer
	Frozen       EventKind = "frozen"       // id of a source, which says what it said before
	HostileNews  EventKind = "hostile news" // id of a source of news, which carries Text as a headline
	HostileName  EventKind = "hostile name" // CoinGecko's id of a coin, whose name is Text
	Announcement EventKind = "announcement" // id of a source of news, which carries Text as a headline
	HostilePool  EventKind = "hostile pool" // the first trending pool bears Text as its name
)

// Event is what happens beside the ordinary course of a Market, from the tick From until before the tick Until.
type Event struct {
	Kind        EventKind
	Subject     string
	From, Until int
	Ramp        int // ticks until it has its whole size; 0 is at once
	Fall        int // ticks in which it passes, the last ones; 0 is at once
	Size        float64
	Text        string
}

// strength is how much of e there is at a tick, from 0 to 1.
func (e *Event) strength(tick int) float64 {
	switch {
	case tick < e.From || tick >= e.Until:
		return 0
	}
	return min(1, part(tick-e.From+1, e.Ramp), part(e.Until-tick, e.Fall+1))
}

// part is how much n is of a whole, 1 if that is none.
func part(n, whole int) float64 {
	if whole <= 0 {
		return 1
	}
	return float64(n) / float64(whole)
}

// event is the event of a kind and subject that happens at a tick, nil if there is none.
func (m *Market) event(kind EventKind, subject string, tick int) *Event {
	for i := range m.cfg.Events {
		if e := &m.cfg.Events[i]; e.Kind == kind && e.Subject == subject && e.strength(tick) > 0 {
			return e
		}
	}
	return nil
}

// size is the size of an event at a tick, 0 if there is none.
func (m *Market) size(kind EventKind, subject string, tick int) float64 {
	if e := m.event(kind, subject, tick); e != nil {
		return e.Size * e.strength(tick)
	}
	return 0
}

// shock is what events add to the logarithm of a thing's value at a tick.
func (m *Market) shock(id string, tick int) float64 {
	if slug, is := strings.CutPrefix(id, "tvl/"); is {
		if e := m.event(Hack, slug, tick); e != nil {
			value := m.base.things[m.base.place[id]].value
			return math.Log(max(0.02, (value-e.Size)/value*0.5))
		}
		return 0
	}
	own := math.Log1p(m.size(Depeg, id, tick) + m.size(Move, id, tick))
	if followed := m.base.things[m.base.place[id]].follows; followed >= 0 {
		own += m.shock(m.base.things[followed].id, tick)
	}
	return own
}

// losses are the hacks that have happened until a tick: they stay in the list.
func (m *Market) losses(tick int) (list []Event) {
	for _, e := range m.cfg.Events {
		if e.Kind == Hack && e.From <= tick {
			list = append(list, e)
		}
	}
	return list
}

func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
