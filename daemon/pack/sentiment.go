package pack

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

const (
	maxPredictions = 4
	pegUSD         = "peggedUSD" // type of the stablecoins pegged to the dollar
	day            = 24 * time.Hour
)

// sentiment gathers the market-wide readings. One whose source has nothing usable is nil, which readers see as null.
func (v *view) sentiment() api.Sentiment {
	s := api.Sentiment{
		FearGreed:   fearGreed(lastGood[*source.FearGreedDoc](v, refFearGreed)),
		Market:      market(lastGood[*source.GlobalDoc](v, refGlobal)),
		Breadth:     v.breadth(lastGood[*source.MarketsDoc](v, refMarkets)),
		Stablecoins: stablecoins(lastGood[*source.StablecoinsDoc](v, refStablecoins)),
		Fees:        fees(lastGood[*source.FeesDoc](v, refFees)),
		Gas:         gas(lastGood[*source.GasDoc](v, refGas)),
		Predictions: predictions(lastGood[*source.PredictionsDoc](v, refPredictions)),
	}
	if s.FearGreed != nil {
		s.FearGreed.Of = v.pack.of(v.in, refFearGreed, s.FearGreed.Of)
	}
	if s.Market != nil {
		s.Market.Of = v.pack.of(v.in, refGlobal, s.Market.Of)
	}
	if s.Gas != nil {
		s.Gas.Of = v.pack.of(v.in, refGas, s.Gas.Of)
	}
	return s
}

// fearGreed is the newest value of the index and what it was before, nil without any. Its Of is the day of the value, however new.
func fearGreed(doc *source.FearGreedDoc) *api.FearGreed {
	if doc == nil || len(doc.Days) == 0 {
		return nil
	}
	today := doc.Days[0]
	reading := &api.FearGreed{
		Value: today.Value, Label: human.Label(today.Label, source.CapName), PreviousDay: daysBefore(doc.Days, 1),
		WeekAgo: daysBefore(doc.Days, 7), Ref: refFearGreed,
		Of: human.AboutDay(today.At).String(),
	}
	if doc.NextUpdate != nil {
		at := doc.NextUpdate.UTC()
		reading.NextUpdateAt = &at
	}
	return reading
}

// daysBefore is the value a number of days before the first one, nil if that day is missing. Upstream writes one at midnight.
func daysBefore(days []source.FearGreedDay, n int) *int {
	for _, d := range days {
		if gap := days[0].At.Sub(d.At) - time.Duration(n)*day; gap > -day/2 && gap < day/2 {
			return &d.Value
		}
	}
	return nil
}

// market is the whole market, with the time of its figures, nil if nothing of it is known.
func market(doc *source.GlobalDoc) *api.Market {
	if doc == nil {
		return nil
	}
	m := api.Market{
		TotalMarketCapUSD: human.RoundWhole(doc.MarketCap), Change24hPct: human.RoundPercent(doc.Change24h),
		Volume24hUSD:    human.RoundWhole(doc.Volume24h),
		BTCDominancePct: human.RoundPercent(doc.BTCDominance), ETHDominancePct: human.RoundPercent(doc.ETHDominance),
	}
	if m == (api.Market{}) {
		return nil
	}
	m.Ref, m.Of = refGlobal, human.AboutTime(doc.AsOf).String()
	return &m
}

// breadth counts coins that rose and that fell. Coins that are pegged, or stand for another one, say nothing of their own.
func (v *view) breadth(doc *source.MarketsDoc) *api.Breadth {
	if doc == nil {
		return nil
	}
	b, known := &api.Breadth{Ref: refMarkets}, false
	for _, c := range distinct(doc.Coins, func(c source.Coin) string { return c.ID }) {
		change := human.RoundPercent(c.Change24h)
		if change == nil || v.stable(c.ID) || derivative(c.ID) {
			continue
		}
		known = true
		switch {
		case *change > 0:
			b.Advancing++
		case *change < 0:
			b.Declining++
		}
	}
	if !known {
		return nil
	}
	if moved := b.Advancing + b.Declining; moved > 0 {
		share := float64(b.Advancing) / float64(moved) * 100
		b.AdvancingPct = human.RoundPercent(&share)
	}
	return b
}

// stablecoins sums the supply of the dollar stablecoins. The change counts only those whose supply of yesterday is known.
func stablecoins(doc *source.StablecoinsDoc) *api.Stablecoins {
	if doc == nil {
		return nil
	}
	var supply, today, yesterday float64
	for _, c := range doc.Coins {
		if c.PegType != pegUSD {
			continue
		}
		supply += c.Supply
		if c.PrevDay != nil {
			today, yesterday = today+c.Supply, yesterday+*c.PrevDay
		}
	}
	if supply <= 0 {
		return nil
	}
	s := &api.Stablecoins{SupplyUSD: human.RoundWhole(&supply), Ref: refStablecoins}
	if yesterday > 0 {
		change := (today/yesterday - 1) * 100
		s.Change1dPct = human.RoundPercent(&change)
	}
	return s
}

// fees is what the next Bitcoin block costs, nil if that is unknown.
func fees(doc *source.FeesDoc) *api.Fees {
	if doc == nil || doc.Fastest == nil {
		return nil
	}
	fee := human.Round(*doc.Fastest, 2)
	return &api.Fees{BTCFastestSatVb: &fee, Ref: refFees}
}

// gas is what gas costs, with the time of that, nil if it is unknown.
func gas(doc *source.GasDoc) *api.Gas {
	if doc == nil || doc.Average == nil {
		return nil
	}
	return &api.Gas{
		ETHAverageGwei: gwei(doc.Average), ETHFastGwei: gwei(doc.Fast), ETHSlowGwei: gwei(doc.Slow), Ref: refGas,
		Of: human.AboutTime(doc.AsOf).String(),
	}
}

// gwei is a price of gas as readers see it.
func gwei(x *float64) *float64 {
	if x == nil {
		return nil
	}
	rounded := human.Round(*x, 3)
	return &rounded
}

// predictions is the questions that most is traded on. Those of unknown volume come last.
func predictions(doc *source.PredictionsDoc) []api.Prediction {
	rows := []api.Prediction{}
	if doc == nil {
		return rows
	}
	for _, m := range distinct(doc.Markets, func(m source.Prediction) string { return m.ID }) {
		row := api.Prediction{
			ID: m.ID, Question: m.Question, Outcome: m.Outcome, Volume24hUSD: human.RoundWhole(m.Volume24h), EndsAt: m.EndsAt, URL: m.URL,
			Ref: refPredictions,
		}
		if m.Probability >= 0 && m.Probability <= 1 { // else it is no probability, and unknown
			probability := human.Round(m.Probability, 3)
			row.Probability = &probability
		}
		rows = append(rows, row)
	}
	traded := func(p api.Prediction) int64 {
		if p.Volume24hUSD == nil {
			return -1
		}
		return *p.Volume24hUSD
	}
	slices.SortFunc(rows, func(a, b api.Prediction) int {
		return cmp.Or(cmp.Compare(traded(b), traded(a)), strings.Compare(a.ID, b.ID))
	})
	return rows[:min(len(rows), maxPredictions)]
}
