package daemontest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/sdk/api"
)

// Walk is a daemon that is walked through outages, and the truth of its upstream: when each source last answered, and whether it answers.
// What a form of an answer says of ages is compared with it.
type Walk struct {
	*Daemon
	Made time.Time // when the state was made

	t        testing.TB
	answered map[string]time.Time
	failed   map[string]bool // the last attempt
	dead     func(source string) bool
}

// NewWalk starts a daemon that refreshes every five minutes, whose first state was made of sources that all answered.
func NewWalk(t testing.TB, changes ...func(*daemon.Config)) *Walk {
	t.Helper()
	d := Open(t, append(changes, func(c *daemon.Config) { c.Every = 5 * time.Minute })...)
	w := &Walk{Daemon: d, t: t, answered: map[string]time.Time{}, failed: map[string]bool{}, dead: func(string) bool { return false }}
	d.Clock.Advance(time.Minute + 250*time.Millisecond) // the schedule's next refresh is minutes away
	w.Again()
	d.Run(t)
	return w
}

// Again refreshes and notes the truth.
func (w *Walk) Again() {
	w.t.Helper()
	err := w.Refresh(w.t.Context(), api.PackCrypto)
	all := true
	for _, id := range w.Sources() {
		if w.failed[id] = w.dead(id); !w.failed[id] {
			w.answered[id], all = w.Clock.Now(), false
		}
	}
	if !all {
		w.Made = w.Clock.Now()
	}
	if all != (err != nil) {
		w.t.Fatalf("refresh: %v", err)
	}
}

// Outages walks the daemon through its outages and calls check at every step.
func (w *Walk) Outages(check func(step string)) {
	w.t.Helper()
	check("all well")
	w.Clock.Advance(3 * time.Second)
	check("all well, 3 s later")
	w.dead = func(id string) bool { return strings.HasPrefix(id, "coingecko-") }
	w.Recording.Break("api.coingecko.com", nil)
	var gone time.Duration
	for _, d := range []time.Duration{time.Minute, 14 * time.Minute, 40 * time.Minute, 46 * time.Minute} {
		w.Clock.Advance(d - gone)
		gone = d
		w.Again()
		w.Clock.Advance(2 * time.Second)
		check(fmt.Sprintf("CoinGecko dead for %v", d))
		w.Clock.Advance(-2 * time.Second)
	}
	w.Recording.Mend()
	w.dead = func(string) bool { return false }
	w.Clock.Advance(5 * time.Minute)
	w.Again()
	check("all back")
	w.Recording.Break("", nil)
	w.dead = func(string) bool { return true }
	for range 3 {
		w.Clock.Advance(5 * time.Minute)
		w.Again()
		check("all dead")
	}
}

// Sources are the ids of the crypto pack, [1] first.
func (w *Walk) Sources() []string {
	return strings.Fields(`coingecko-markets coingecko-trending coingecko-global coingecko-categories defillama-protocols defillama-chains
		defillama-stablecoins defillama-hacks geckoterminal-trending alternativeme-fng news-coindesk news-cointelegraph news-decrypt
		polymarket-crypto kraken-ticker mempool-fees coinbase-exchange blockscout-gas`)
}

// Answered is when the source [ref] last answered.
func (w *Walk) Answered(ref int) time.Time { return w.answered[w.Sources()[ref-1]] }

// Failed lists the sources whose last attempt failed.
func (w *Walk) Failed() (ids []string) {
	for _, id := range w.Sources() {
		if w.failed[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// Late tells how old what the source [ref] said last is, and whether it is overdue: it did not answer when it was last asked, or is older
// than its interval and a minute.
func (w *Walk) Late(ref int) (age time.Duration, late bool) {
	age = w.Clock.Now().Sub(w.Answered(ref))
	return age, w.failed[w.Sources()[ref-1]] || age > interval(w.Sources()[ref-1])+time.Minute
}

// Truth is the freshness that every form has to tell now. Sources of which the state shows nothing do not count.
func (w *Walk) Truth() api.Freshness {
	f := api.Freshness{GeneratedAt: w.Made, AgeSeconds: int64(w.Clock.Now().Sub(w.Made) / time.Second)}
	f.DataAgeSeconds = f.AgeSeconds
	for i := range w.Sources() {
		ref := i + 1
		if ref == 15 || ref == 2 { // Kraken is shown by no row here, nor is what was searched
			continue
		}
		if age, late := w.Late(ref); late {
			f.DataAgeSeconds = max(f.DataAgeSeconds, int64(age/time.Second))
		}
	}
	return f
}

// interval is how often a source is asked.
func interval(id string) time.Duration {
	switch id {
	case "alternativeme-fng":
		return time.Hour
	case "coingecko-trending", "defillama-protocols":
		return 30 * time.Minute
	case "coingecko-global", "coingecko-categories", "defillama-hacks":
		return 15 * time.Minute
	case "defillama-stablecoins", "news-coindesk", "news-cointelegraph", "news-decrypt", "polymarket-crypto":
		return 10 * time.Minute
	}
	return 5 * time.Minute
}
