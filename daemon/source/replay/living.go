package replay

import (
	"math"
	"net/http"
	"time"
)

// LivingConfig is what a Living needs.
type LivingConfig struct {
	Seed  uint64
	Past  time.Duration    // what there is before now
	Every time.Duration    // from one Advance to the next
	Now   func() time.Time // nil is time.Now
	Path  string           // of the file in which it keeps where it stands, to go on there the next time; "" for none
}

// Living is what a demo plays: the crypto pack's sources as a Market on the clock of the wall, and those of the other packs in step with
// it, with an incident every ten minutes or so. It is safe for concurrent use.
type Living struct {
	cfg    LivingConfig
	market *Market
	others *others
	due    time.Time // when the next incident begins; Advance alone uses it
	number int       // of incidents so far
	saved  time.Time // when it last wrote down where it stands; Advance and Close alone use it
}

var _ http.RoundTripper = (*Living)(nil)

const (
	firstIncident    = 90 * time.Second // from the start
	betweenIncidents = 10 * time.Minute
	lasting          = 6 * time.Minute  // of each, which
	growing          = 3 * time.Minute  // comes in this time and
	passing          = 90 * time.Second // goes in that
)

// NewLiving returns a Living at the beginning of its past, or where the last one with its Path stood, moved on to now.
func NewLiving(cfg LivingConfig) (*Living, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	start := cfg.Now()
	market, err := NewMarket(MarketConfig{
		Seed: cfg.Seed, Start: start.Add(-cfg.Past).Truncate(time.Second), Every: cfg.Every, Now: cfg.Now,
		Events: []Event{{Kind: Hack, Subject: "driftwood-lend-synthetic", Until: math.MaxInt32, Size: 18e6}},
	})
	if err != nil {
		return nil, err
	}
	before, err := readSaved(cfg.Path, market.base.things)
	if err != nil {
		return nil, err
	}
	l := &Living{cfg: cfg, market: market, due: start.Add(firstIncident), saved: start}
	begun := start.Add(-cfg.Past)
	if goesOn(before, start) {
		begun, l.number = before.Begun, before.Number
		market.take(before)
		for at := before.At.Add(saveEvery); at.Before(start); at = at.Add(saveEvery) {
			market.moveTo(at)
		}
	}
	l.others, err = newOthers(cfg, market, begun, begun.Add(cfg.Past+firstIncident))
	return l, err
}

// longestGap is how long a Living may have stood still and yet go on where it stood.
const longestGap = 60 * 24 * time.Hour

func goesOn(k *saved, now time.Time) bool {
	return k != nil && !now.Before(k.At) && now.Sub(k.At) < longestGap
}

// Advance moves everything on to now.
func (l *Living) Advance() {
	now := l.cfg.Now()
	if !now.Before(l.due) {
		l.market.plan(l.incident()...)
		l.due, l.number = now.Add(betweenIncidents), l.number+1
	}
	l.market.moveTo(now)
	if l.cfg.Path != "" && now.Sub(l.saved) >= saveEvery {
		l.saved = now
		_ = l.save() // a demo that cannot write fails elsewhere, and aloud
	}
}

// incident is what happens next: each grows for some minutes, stays, and passes.
func (l *Living) incident() []Event {
	ticks := func(d time.Duration) int { return max(1, int(d/l.cfg.Every)) }
	coins := [...]string{"usual-usd", "falcon-finance", "first-digital-usd", "ethena-usde"}
	first := l.market.Tick() + 1
	timed := func(e Event) Event {
		e.From, e.Until, e.Ramp, e.Fall = first, first+ticks(lasting), ticks(growing), ticks(passing)
		return e
	}
	if l.number%3 == 1 {
		return []Event{timed(Event{Kind: Move, Subject: "zcash", Size: 0.18}), timed(Event{Kind: FeeSpike, Size: 70})}
	}
	return []Event{
		timed(Event{Kind: Depeg, Subject: coins[l.number%len(coins)], Size: -0.03}),
		timed(Event{Kind: GasSpike, Size: 120}), timed(Event{Kind: Move, Subject: "bitcoin", Size: -0.025}),
	}
}

// RoundTrip implements http.RoundTripper.
func (l *Living) RoundTrip(req *http.Request) (*http.Response, error) {
	if l.market.has(req) {
		return l.market.RoundTrip(req)
	}
	return l.others.RoundTrip(req)
}

// Shift is what to add to the times of a source: the Market's are those of the wall.
func (l *Living) Shift(source string) time.Duration {
	if l.market.tells(source) {
		return 0
	}
	return l.others.begun.Sub(l.others.zero).Truncate(time.Second)
}
