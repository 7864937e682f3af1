package history_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/internal/state"
)

// walk makes pulses of the crypto pack as a live daemon would: it begins with what the real connectors make of a recording, and
// from there every number moves a little whenever its source is due. Headlines and pools turn over. The same seed gives the same
// pulses.
type walk struct {
	t        testing.TB
	rnd      *rand.Rand
	pack     *pack.Pack
	now      time.Time
	begin    time.Time
	readings map[string]pack.Reading
	next     map[string]time.Time // when a source is due
	prev     *state.Document
}

// newWalk begins a walk.
func newWalk(t testing.TB, seed uint64) *walk {
	t.Helper()
	w := &walk{
		t: t, rnd: rand.New(rand.NewPCG(seed, 1)), pack: pack.Crypto(), now: epoch(), begin: epoch(),
		readings: make(map[string]pack.Reading), next: make(map[string]time.Time),
	}
	clock := func() time.Time { return w.now }
	rec := replay.New(clock)
	f := source.NewFetcher(source.Config{Transport: rec, Now: clock, Shift: rec.Shift})
	for _, s := range w.pack.Sources {
		out := f.Fetch(t.Context(), s.Connector, nil)
		if out.Err != nil {
			t.Fatalf("%s: %v", s.ID, out.Err)
		}
		w.readings[s.ID] = pack.Reading{Doc: out.Doc, FetchedAt: w.now}
	}
	return w
}

// step makes the pulse of the next five minutes.
func (w *walk) step() state.Pulse {
	w.t.Helper()
	slot := w.now.Truncate(5 * time.Minute).Add(5 * time.Minute)
	slowest := time.Duration(0)
	for _, s := range w.pack.Sources {
		if slot.Before(w.next[s.ID]) {
			continue
		}
		w.next[s.ID] = slot.Add(s.Interval)
		took := time.Duration(60+w.rnd.IntN(1400)) * time.Millisecond
		slowest = max(slowest, took)
		r := w.readings[s.ID]
		if w.rnd.IntN(300) == 0 {
			r.Failures, r.Err = r.Failures+1, "network: no answer in time"
		} else {
			w.move(r.Doc, slot)
			r = pack.Reading{Doc: r.Doc, FetchedAt: slot.Add(took)}
		}
		w.readings[s.ID] = r
	}
	w.now = slot.Add(slowest)
	in := pack.Input{Readings: w.readings, Prev: w.prev, Now: w.now}
	doc, err := w.pack.Compact(in)
	if err != nil {
		w.t.Fatal(err)
	}
	w.prev = state.Read(doc)
	return state.Pulse{
		Pack: w.pack.ID, Version: w.pack.Version, GeneratedAt: w.now, State: doc,
		Citations: w.pack.Citations(w.prev, w.pack.Status(in), w.begin),
	}
}

// by is a factor near 1.
func (w *walk) by(spread float64) float64 { return 1 + spread*w.rnd.NormFloat64() }

// scale moves amounts by a factor near 1 each.
func (w *walk) scale(spread float64, amounts ...*float64) {
	for _, x := range amounts {
		if x != nil {
			*x *= w.by(spread)
		}
	}
}

// drift moves percents, towards 0 in the long run.
func (w *walk) drift(spread float64, percents ...*float64) {
	for _, x := range percents {
		if x != nil {
			*x = *x*0.999 + spread*w.rnd.NormFloat64()
		}
	}
}

// move moves everything in doc.
func (w *walk) move(doc source.Doc, at time.Time) {
	switch d := doc.(type) {
	case *source.MarketsDoc:
		for i := range d.Coins {
			c := &d.Coins[i]
			by := w.by(0.002)
			c.Price *= by
			w.scale(0.004, c.Volume24h)
			w.drift(0.15, c.Change1h, c.Change24h, c.Change7d)
			if c.MarketCap != nil {
				*c.MarketCap *= by
			}
		}
		d.AsOf = at
	case *source.GlobalDoc:
		w.scale(0.002, d.MarketCap, d.Volume24h, d.BTCDominance, d.ETHDominance)
		w.drift(0.1, d.Change24h)
	case *source.CategoriesDoc:
		for _, c := range d.Categories {
			w.scale(0.002, c.MarketCap)
			w.drift(0.15, c.Change24h)
		}
	case *source.ProtocolsDoc:
		for i := range d.Protocols {
			p := &d.Protocols[i]
			w.scale(0.002, &p.TVL)
			w.drift(0.15, p.Change1d, p.Change7d)
		}
	case *source.ChainsDoc:
		for i := range d.Chains {
			w.scale(0.001, &d.Chains[i].TVL)
			w.drift(0.1, d.Chains[i].Change1d, d.Chains[i].Change7d)
		}
	case *source.StablecoinsDoc:
		for i := range d.Coins {
			c := &d.Coins[i]
			w.scale(0.0003, &c.Supply, c.PrevDay)
			if c.Price != nil {
				*c.Price = 1 + (*c.Price-1)*0.99 + 0.0004*w.rnd.NormFloat64()
			}
		}
	case *source.PredictionsDoc:
		for i := range d.Markets {
			m := &d.Markets[i]
			m.Probability = min(0.99, max(0.01, m.Probability+0.01*w.rnd.NormFloat64()))
			w.scale(0.02, m.Volume24h)
		}
	default:
		w.moveRest(doc, at)
	}
}

// moveRest is move for what is quoted live, and for what comes and goes.
func (w *walk) moveRest(doc source.Doc, at time.Time) {
	switch d := doc.(type) {
	case *source.TickerDoc:
		for i := range d.Pairs {
			w.scale(0.002, &d.Pairs[i].Price)
		}
	case *source.ExchangeDoc:
		for i := range d.Coins {
			w.scale(0.002, &d.Coins[i].Price)
			w.drift(0.15, d.Coins[i].Change24h)
		}
	case *source.FeesDoc:
		*d.Fastest = float64(1 + w.rnd.IntN(12))
	case *source.FearGreedDoc:
		if day := at.Truncate(24 * time.Hour); d.Days[0].At.Before(day) {
			copy(d.Days[1:], d.Days)
			d.Days[0].At, d.Days[0].Value = day, min(95, max(5, d.Days[0].Value+w.rnd.IntN(13)-6))
		}
		next := at.Truncate(24 * time.Hour).Add(24 * time.Hour)
		d.NextUpdate = &next
	case *source.TrendingDoc:
		i, j := w.rnd.IntN(len(d.Coins)), w.rnd.IntN(len(d.Coins))
		d.Coins[i], d.Coins[j] = d.Coins[j], d.Coins[i]
	case *source.PoolsDoc:
		w.movePools(d, at)
	case *source.NewsDoc:
		if w.rnd.IntN(4) == 0 {
			copy(d.Items[1:], d.Items)
			title := w.headline()
			url := "https://" + strings.Split(d.Items[0].URL, "/")[2] + "/news/" + strings.ReplaceAll(strings.ToLower(title), " ", "-")
			d.Items[0] = source.Headline{Title: title, URL: url, PublishedAt: at.Add(-time.Duration(w.rnd.IntN(600)) * time.Second)}
		}
	}
}

// movePools moves what is traded in pools, swaps two of them now and then and has a new one every hour or so.
func (w *walk) movePools(d *source.PoolsDoc, at time.Time) {
	for i := range d.Pools {
		p := &d.Pools[i]
		w.scale(0.01, p.Price, p.Volume24h, p.Liquidity)
		w.drift(0.8, p.Change1h, p.Change24h)
		if p.Txns24h != nil {
			*p.Txns24h += int64(w.rnd.IntN(41) - 20)
		}
	}
	i := w.rnd.IntN(len(d.Pools) - 1)
	if w.rnd.IntN(4) == 0 {
		d.Pools[i], d.Pools[i+1] = d.Pools[i+1], d.Pools[i]
	}
	if w.rnd.IntN(10) == 0 {
		p := d.Pools[i]
		price, volume, liquidity, created := w.rnd.ExpFloat64(), 1e6*w.rnd.ExpFloat64(), 3e5*w.rnd.ExpFloat64(), at.Add(-time.Hour)
		h1, h24, txns := 20*w.rnd.NormFloat64(), 80*w.rnd.NormFloat64(), int64(w.rnd.IntN(40_000))
		d.Pools[i] = source.Pool{
			ID: fmt.Sprintf("%s_0x%016x%016x", p.Network, w.rnd.Uint64(), w.rnd.Uint64()), Pair: w.word() + " / WETH", Network: p.Network, Dex: p.Dex,
			Price: &price, Change1h: &h1, Change24h: &h24, Volume24h: &volume, Liquidity: &liquidity, Txns24h: &txns, CreatedAt: &created,
		}
	}
}

// word makes a name up.
func (w *walk) word() string {
	const parts = "BA BO CE DO FI GA HU JO KA LI MA NO PE QU RA SO TU VE WO ZI"
	list := strings.Fields(parts)
	return list[w.rnd.IntN(len(list))] + list[w.rnd.IntN(len(list))] + list[w.rnd.IntN(len(list))]
}

// headline makes a headline up, with words that lead to narratives.
func (w *walk) headline() string {
	who := []string{"Bitcoin", "Ethereum", "Solana", "Aave", "DeFi lending", "Meme coin", "Stablecoin issuer", "Layer 2 network", "AI agent token"}
	what := []string{"rises as", "slips while", "sees record inflows after", "faces questions over", "upgrade nears as", "holders divided on"}
	return fmt.Sprintf("%s %s %s and %s weigh %d%% of supply", who[w.rnd.IntN(len(who))], what[w.rnd.IntN(len(what))], w.word(), w.word(), w.rnd.IntN(90))
}
