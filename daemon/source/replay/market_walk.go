package replay

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// thing is something whose value moves.
type thing struct {
	id      string  // a coin's id, or with a prefix what else: tvl/, chain/, pool/, odds/, supply/
	value   float64 // where it began
	day     float64 // its change of the day then, in percent
	week    float64 // and of the week
	vol     float64 // standard deviation of a day, in parts of the value
	beta    float64 // how much of it is the market's
	revert  float64 // of a day: how much of the way back to its beginning it goes
	jumps   float64 // how many sudden moves it has in a day
	follows int     // place of the thing whose moves it repeats, -1 if none
}

// course is how a thing stands: logarithms of its value against where it began, now and as a mean of the last day.
type course struct{ now, day float64 }

// trace is where everything stood: the logarithms of all values with what events added to them.
type trace struct {
	at     time.Time
	values []float64 // by thing
}

const (
	traceEvery = 5 * time.Minute
	traceKept  = 10 * 24 * time.Hour // a week before the oldest of keptTicks
)

// leaveTrail notes where everything stands now, unless that was done a moment ago. Changes are told against it, as they are drawn.
func (m *Market) leaveTrail() {
	now := m.moments[len(m.moments)-1]
	if n := len(m.trail); n > 0 && now.at.Sub(m.trail[n-1].at) < traceEvery {
		return
	}
	t := trace{now.at, make([]float64, len(now.courses))}
	for i, c := range now.courses {
		t.values[i] = c.now + m.shock(m.base.things[i].id, m.tick())
	}
	m.trail = append(m.trail, t)
	if old := now.at.Add(-traceKept); m.trail[0].at.Before(old) {
		m.trail = slices.Delete(m.trail, 0, 1)
	}
}

// stood is where a thing stood at a time, as a logarithm: as the newest trace until then has it, as charts do. What was before the start
// went by its recorded changes.
func (m *Market) stood(place int, at time.Time) float64 {
	i, _ := slices.BinarySearchFunc(m.trail, at.Add(1), func(t trace, at time.Time) int { return t.at.Compare(at) })
	if i > 0 {
		return m.trail[i-1].values[place]
	}
	t := m.base.things[place]
	day, week := -math.Log1p(max(-0.95, t.day/100)), -math.Log1p(max(-0.95, t.week/100))
	days := max(0, m.cfg.Start.Sub(at).Hours()/24)
	if days <= 1 {
		return day * days
	}
	return day + (week-day)*(days-1)/6
}

// moment is where everything stands at a tick.
type moment struct {
	at      time.Time
	courses []course // by thing
	fear    []fearDay
	stories [3][]story // by publisher, newest first
}

type fearDay struct {
	day   time.Time
	value float64
}

// findThings lists what moves in the recorded pages.
func (b *base) findThings() {
	add := func(t thing) {
		if _, known := b.place[t.id]; known || t.value <= 0 {
			return
		}
		b.place[t.id] = len(b.things)
		b.things = append(b.things, t)
	}
	pegged := map[string]bool{}
	for _, row := range list(obj(b.doc("stablecoins.json"))["peggedAssets"]) {
		c := obj(row)
		pegged[text(c["gecko_id"])] = true
		supply := num(obj(c["circulating"])[text(c["pegType"])])
		add(thing{id: "supply/" + text(c["id"]), value: supply, vol: 0.003, revert: 0.1, follows: -1})
	}
	for rank, row := range list(b.doc("coins_markets.json")) {
		add(b.coin(obj(row), rank+1, pegged[text(obj(row)["id"])]))
	}
	for _, row := range list(b.doc("protocols.json")) {
		p := obj(row)
		t := thing{id: "tvl/" + text(p["slug"]), value: num(p["tvl"]), day: num(p["change_1d"]), week: num(p["change_7d"])}
		t.beta, t.revert, t.follows = 0.6, 0.1, -1
		t.vol = 0.012 + 0.02*chance(t.id)
		add(t)
	}
	for _, row := range list(b.doc("v2_chains.json")) {
		c := obj(row)
		add(thing{id: "chain/" + text(c["name"]), value: num(c["tvl"]), vol: 0.015, beta: 0.7, revert: 0.1, follows: -1})
	}
	for _, row := range list(obj(b.doc("trending_pools.json"))["data"]) {
		p := obj(row)
		day := atof(text(obj(obj(p["attributes"])["price_change_percentage"])["h24"]))
		t := thing{id: "pool/" + text(p["id"]), value: 1, day: day, vol: 0.15, beta: 0.2, revert: 0.5, jumps: 0.5}
		t.follows = b.priced(obj(p["attributes"]))
		if t.follows >= 0 {
			t.vol, t.revert, t.jumps = 0, 0, 0
		}
		add(t)
	}
	for _, row := range list(obj(b.doc("events.json"))["events"]) {
		add(thing{id: "odds/" + text(obj(row)["id"]), value: 1, vol: 0.12, revert: 0.2, follows: -1})
	}
	for _, id := range [...]string{"fees", "sentiment", "volume"} {
		add(thing{id: id, value: 1, vol: 0.4, revert: 2, follows: -1})
	}
}

// doc is the recorded document in a file of this name.
func (b *base) doc(name string) any {
	for file, doc := range b.docs {
		if strings.HasSuffix(file, "/"+name) {
			return doc
		}
	}
	return nil
}

// coin is how a coin moves: one that is priced as a larger one whose symbol its own contains repeats that one's moves.
func (b *base) coin(c object, rank int, pegged bool) thing {
	t := thing{
		id: text(c["id"]), value: num(c["current_price"]), day: num(c["price_change_percentage_24h"]),
		week: num(c["price_change_percentage_7d_in_currency"]), beta: 0.85, revert: 0.1, follows: -1,
	}
	for _, other := range [...][2]string{{"bitcoin", "btc"}, {"ethereum", "eth"}, {"solana", "sol"}} {
		at, known := b.place[other[0]]
		if !known || !strings.Contains(text(c["symbol"]), other[1]) {
			continue
		}
		if ratio := t.value / b.things[at].value; ratio > 0.9 && ratio < 1.3 {
			t.follows, t.revert = at, 0
			return t
		}
	}
	switch {
	case pegged || t.value > 0.98 && t.value < 1.02 && math.Abs(t.day) < 0.5:
		t.vol, t.beta, t.revert = 0.0006, 0, 20
	case rank == 1:
		t.vol, t.beta = 0.022, 1
	case rank <= 10:
		t.vol = 0.03 + 0.01*chance(t.id)
	default:
		t.vol, t.beta, t.jumps = 0.035+0.05*chance(t.id), 0.5+0.3*chance(t.id+"beta"), 0.25
	}
	return t
}

// priced is the place of the coin that is the base token of a pool, or that it wraps, at about the same price; -1 if none is.
func (b *base) priced(pool object) int {
	symbol, _, _ := strings.Cut(strings.ToLower(text(pool["name"])), " / ")
	price := atof(text(pool["base_token_price_usd"]))
	for _, row := range list(b.doc("coins_markets.json")) {
		c := obj(row)
		if ratio := price / num(c["current_price"]); !strings.HasSuffix(symbol, text(c["symbol"])) || ratio < 0.95 || ratio > 1.05 {
			continue
		}
		return b.place[text(c["id"])]
	}
	return -1
}

// chance is a number from 0 to 1 that a text stands for.
func chance(text string) float64 { return float64(hash(text)%10_000) / 10_000 }

// firstMoment is where everything stands as it was recorded.
func (m *Market) firstMoment() *moment {
	first := &moment{at: m.cfg.Start, courses: make([]course, len(m.base.things))}
	for i, t := range m.base.things {
		day := -math.Log1p(max(-0.95, t.day/100))
		first.courses[i] = course{day: day}
	}
	for _, row := range list(obj(m.base.doc("fng.json"))["data"]) {
		back := midnight(m.cfg.Start).AddDate(0, 0, -len(first.fear))
		first.fear = append(first.fear, fearDay{back, atof(text(obj(row)["value"]))})
	}
	for i, feed := range m.base.feeds {
		for _, s := range feed.stories {
			s.at = s.at.Add(m.cfg.Start.Sub(m.base.recorded))
			first.stories[i] = append(first.stories[i], s)
		}
	}
	m.publish(first, 0)
	return first
}

// next is where everything stands a tick after prev.
func (m *Market) next(prev *moment, at time.Time) *moment {
	tick := m.tick() + 1
	r := m.random("walk", tick)
	days := max(at.Sub(prev.at), time.Second).Hours() / 24
	market := r.NormFloat64()
	next := &moment{at: at, courses: make([]course, len(prev.courses))}
	for i, t := range m.base.things {
		next.courses[i] = t.step(prev.courses[i], days, market, r).drift(days)
		if t.follows >= 0 {
			next.courses[i].follow(prev.courses[t.follows], next.courses[t.follows])
		}
	}
	next.fear = prev.fear
	if day := midnight(next.at); day.After(prev.fear[0].day) {
		bitcoin := next.courses[m.base.place["bitcoin"]]
		value := prev.fear[0].value + 150*(bitcoin.now-bitcoin.day) + 4*r.NormFloat64()
		next.fear = append([]fearDay{{day, min(max(value, 5), 95)}}, prev.fear[:len(prev.fear)-1]...)
	}
	next.stories = prev.stories
	m.publish(next, tick)
	return next
}

// step is c after the moves of some days; its mean is that of before.
func (t *thing) step(c course, days, market float64, r *rand.Rand) course {
	own, jump, size := r.NormFloat64(), r.Float64(), r.NormFloat64()
	next := c.now - t.revert*c.now*days + t.vol*math.Sqrt(days)*(t.beta*market+math.Sqrt(1-t.beta*t.beta)*own)
	if jump < t.jumps*days {
		next += size * 2 * t.vol
	}
	return course{next, c.day}
}

// follow moves c as another course moved.
func (c *course) follow(before, after course) {
	c.now += after.now - before.now
}

// drift moves the mean on by some days.
func (c course) drift(days float64) course {
	c.day += (c.now - c.day) * min(1, days)
	return c
}

// scene is a tick with what its pages are made of.
type scene struct {
	*moment
	m    *Market
	tick int
	doc  any // the recorded document
}

// standing is how a thing stands with what events add to it: the factor of its first value, and the changes of an hour, a day and a week
// in percent.
type standing struct{ factor, hour, day, week float64 }

func (s *scene) standing(id string) standing {
	place, known := s.m.base.place[id]
	if !known {
		return standing{factor: 1}
	}
	now := s.courses[place].now + s.m.shock(id, s.tick)
	percent := func(ago time.Duration) float64 {
		return round((math.Exp(now-s.m.stood(place, s.at.Add(-ago)))-1)*100, 5)
	}
	return standing{math.Exp(now), percent(time.Hour), percent(24 * time.Hour), percent(7 * 24 * time.Hour)}
}

// sway is a factor near 1, another one for each purpose and tick.
func (s *scene) sway(purpose string, size float64) float64 {
	return 1 + size*s.m.random(purpose, s.tick).NormFloat64()
}

func round(x float64, places int) float64 {
	f := math.Pow10(places)
	return math.Round(x*f) / f
}

// significant rounds to eight digits, as prices are written.
func significant(x float64) float64 {
	if x == 0 {
		return 0
	}
	return round(x, 7-int(math.Floor(math.Log10(math.Abs(x)))))
}
