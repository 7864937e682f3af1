package source

import (
	"cmp"
	"context"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
)

const (
	hourChains    = 60 // the largest chains, whose value of each hour is kept
	hourSlack     = time.Hour / 2
	historyChains = 6         // the largest chains, whose daily history is read
	historyEvery  = day       // from one reading of the histories to the next
	historyRetry  = time.Hour // the same after a reading that failed
	historicalTVL = "https://api.llama.fi/v2/historicalChainTvl/"
)

// DefiLlamaChains is defillama-chains: value held on chains. The document has no changes. Those of a day are between what it says now and
// said 24 hours before, as a daily history ends up to a day ago; those of a week come from that of the largest chains, read once a day.
func DefiLlamaChains() Connector {
	c := Connector{ID: "defillama-chains", Interval: 15 * time.Minute, StaleAfter: 90 * time.Minute, Use: useDefiLlama(), Remembers: true}
	c = document(c, "https://api.llama.fi/v2/chains", decodeChains)
	c.Asks = append(c.Asks, Ask{URL: historicalTVL + "{chain}", Times: historyChains, Every: historyEvery})
	readMain := c.read
	c.read = func(ctx context.Context, a *attempt, last Doc) (Doc, int, error) {
		doc, dropped, err := readMain(ctx, a, nil) // nil: an unchanged document must not keep a due history from being read
		if err == nil {
			main := a.bodies[:1:1]
			chains := doc.(*ChainsDoc)
			chains.addChanges(ctx, a, last)
			chains.addHour(a.Now, last)
			a.bodies = main
			for _, c := range chains.Chains { // also of histories that were read before
				if hash := chains.Histories[c.Name]; hash != "" {
					a.bodies = append(a.bodies, hash)
				}
			}
		}
		return doc, dropped, err
	}
	return c
}

type chainRow struct {
	Name   string
	CoinID identifier `json:"gecko_id"`
	TVL    number
}

func (r chainRow) chain() (c Chain, id string, wanted bool) {
	tvl := r.TVL.Amount()
	if tvl == nil {
		return Chain{}, "", false
	}
	c = Chain{Name: human.Label(r.Name, CapName), CoinID: string(r.CoinID), TVL: *tvl}
	return c, c.Name, true
}

func decodeChains(body io.Reader, _ time.Time) (*ChainsDoc, int, error) {
	kept, dropped, err := decodeRows(body, chainRow.chain)
	slices.SortFunc(kept, func(a, b Chain) int { return cmp.Or(cmp.Compare(b.TVL, a.TVL), strings.Compare(a.Name, b.Name)) })
	return &ChainsDoc{Chains: capRows(kept)}, dropped, err
}

// addHour sets the changes of a day, and keeps the values of now if an hour has begun since those that last keeps. Without values of
// between 23.5 and 24.5 hours ago there is no change: nobody asked then.
func (d *ChainsDoc) addHour(now time.Time, last Doc) {
	if prev, ok := last.(*ChainsDoc); ok {
		for _, h := range prev.Hours {
			if age := now.Sub(h.At); age > 0 && age <= day+hourSlack {
				d.Hours = append(d.Hours, h)
			}
		}
	}
	var then map[string]float64
	nearest := hourSlack
	for _, h := range d.Hours {
		if off := (now.Sub(h.At) - day).Abs(); off <= nearest {
			then, nearest = h.TVL, off
		}
	}
	for i := range d.Chains {
		c := &d.Chains[i]
		if before := then[c.Name]; before > 0 {
			change := (c.TVL - before) / before * 100
			c.Change1d = &change
		}
	}
	if n := len(d.Hours); n > 0 && !d.Hours[n-1].At.Truncate(time.Hour).Before(now.Truncate(time.Hour)) {
		return
	}
	hour := ChainHour{At: now.UTC(), TVL: make(map[string]float64, hourChains)}
	for _, c := range d.Chains[:min(len(d.Chains), hourChains)] {
		hour.TVL[c.Name] = c.TVL
	}
	d.Hours = append(d.Hours, hour)
}

// addChanges sets the changes of a week: those that last knows, or new ones when the histories are due.
func (d *ChainsDoc) addChanges(ctx context.Context, a *attempt, last Doc) {
	if prev, ok := last.(*ChainsDoc); ok {
		d.copyChanges(prev)
	}
	if a.Now.Sub(d.HistoryAt) >= historyEvery {
		if d.Histories == nil {
			d.Histories = map[string]string{}
		}
		d.HistoryAt = readHistories(ctx, a, d.Chains[:min(len(d.Chains), historyChains)], d.Histories)
	}
}

// copyChanges copies what an earlier document knew from the histories.
func (d *ChainsDoc) copyChanges(prev *ChainsDoc) {
	known := make(map[string]Chain, len(prev.Chains))
	for _, c := range prev.Chains {
		known[c.Name] = c
	}
	for i := range d.Chains {
		c := &d.Chains[i]
		c.Change7d = known[c.Name].Change7d
	}
	d.HistoryAt, d.Histories = prev.HistoryAt, maps.Clone(prev.Histories)
}

// readHistories sets the changes of chains, and in hashes those of the histories, and returns the time to remember for it. Only points of
// one history are compared: the main document counts slightly differently. A history that cannot be read leaves the changes as they are;
// when upstream does not answer at all, the rest is left for a time an hour from now.
func readHistories(ctx context.Context, a *attempt, chains []Chain, hashes map[string]string) time.Time {
	for i := range chains {
		c := &chains[i]
		r := request{URL: historicalTVL + url.PathEscape(c.Name)}
		var points []Sample
		err := a.Get(ctx, r, func(body io.Reader) (err error) {
			points, err = decodeHistory(body)
			return err
		})
		if err == nil {
			c.Change7d = changeSince(points, 7*day)
			hashes[c.Name] = a.bodies[len(a.bodies)-1]
			continue
		}
		if class := asFailure(err).Class; class != ClassNotFound && class != ClassEmpty {
			return a.Now.Add(historyRetry - historyEvery)
		}
	}
	return a.Now
}

// decodeHistory returns the points of a history, oldest first.
func decodeHistory(body io.Reader) ([]Sample, error) {
	type row struct{ Date, TVL number }
	points, _, err := decodeRows(body, func(r row) (Sample, string, bool) {
		at, tvl := r.Date.Time(), r.TVL.Amount()
		if at == nil || tvl == nil {
			return Sample{}, "", false
		}
		return Sample{At: *at, Value: *tvl}, at.String(), true
	})
	slices.SortFunc(points, func(a, b Sample) int { return a.At.Compare(b.At) })
	return points, err
}
