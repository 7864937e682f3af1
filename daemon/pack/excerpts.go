package pack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// facts holds the first fact of each source, by anchor. Citations show it beside their link, as a taste of what is there.
type facts map[int]string

// add notes a fact of the source [ref] unless there is one.
func (f facts) add(ref int, format string, args ...any) {
	if _, ok := f[ref]; !ok {
		f[ref] = fmt.Sprintf(format, args...)
	}
}

// excerptsOfCrypto is Excerpts of the crypto pack. A state that cannot be read has none.
func (p *Pack) excerptsOfCrypto(doc *state.Document) map[string]string {
	var s api.CryptoState
	if json.Unmarshal(doc.Text(), &s) != nil {
		return nil
	}
	f := facts{}
	f.addRows(&s)
	f.addSentiment(&s.Sentiment)
	f.addNarratives(s.Narratives)
	for _, flag := range s.Flags {
		if !api.AboutSource(flag.Kind) { // the status tells that
			f.add(flag.Ref, "%s", flag.Message)
		}
	}
	f.addVenues(s.TopMovers)
	excerpts := make(map[string]string, len(f))
	for i, source := range p.Sources {
		if text, ok := f[i+1]; ok {
			excerpts[source.ID] = text
		}
	}
	return excerpts
}

// addRows notes the first coin, protocol, chain and pool of their sources.
func (f facts) addRows(s *api.CryptoState) {
	for _, m := range s.TopMovers {
		if m.PriceUSD != nil {
			f.add(m.Ref, "%s %s%s", m.Symbol, human.USD(*m.PriceUSD), change("24h", m.Change24hPct))
		}
	}
	for _, t := range s.ProtocolTVL {
		if t.TVLUSD != nil {
			f.add(t.Ref, "%s TVL %s%s", t.Name, dollars(t.TVLUSD), change("1d", t.Change1dPct))
		}
	}
	for _, t := range s.TrendingPools {
		if t.PriceUSD != nil {
			f.add(t.Ref, "%s %s%s", t.Pair, human.USD(*t.PriceUSD), change("24h", t.Change24hPct))
		}
	}
}

// addVenues notes the first price at each exchange.
func (f facts) addVenues(rows []api.Mover) {
	for _, m := range rows {
		for _, q := range m.Venues {
			if q.PriceUSD != nil {
				f.add(q.Ref, "%s %s", m.Symbol, human.USD(*q.PriceUSD))
			}
		}
	}
}

// addSentiment notes the readings whose main figure is known.
func (f facts) addSentiment(s *api.Sentiment) {
	if s.FearGreed != nil {
		f.add(s.FearGreed.Ref, "Fear & Greed %d%s", s.FearGreed.Value, inBrackets(s.FearGreed.Label))
	}
	if s.Market != nil && s.Market.TotalMarketCapUSD != nil {
		f.add(s.Market.Ref, "Total market cap %s%s", dollars(s.Market.TotalMarketCapUSD), change("24h", s.Market.Change24hPct))
	}
	if s.Stablecoins != nil && s.Stablecoins.SupplyUSD != nil {
		f.add(s.Stablecoins.Ref, "Dollar stablecoin supply %s%s", dollars(s.Stablecoins.SupplyUSD), change("1d", s.Stablecoins.Change1dPct))
	}
	if s.Fees != nil && s.Fees.BTCFastestSatVb != nil {
		f.add(s.Fees.Ref, "Fastest Bitcoin fee %g sat/vB", *s.Fees.BTCFastestSatVb)
	}
	if s.Gas != nil && s.Gas.ETHAverageGwei != nil {
		f.add(s.Gas.Ref, "Ethereum gas %g gwei", *s.Gas.ETHAverageGwei)
	}
	for _, p := range s.Predictions {
		if p.Probability != nil {
			f.add(p.Ref, "%s %g%% %s", p.Question, human.Round(*p.Probability*100, 1), p.Says())
		}
	}
}

// addNarratives notes the first theme, the first headline of each publisher and the coins that people search for.
func (f facts) addNarratives(list []api.Narrative) {
	var symbols []string
	for _, n := range list {
		if n.MarketCapUSD != nil {
			f.add(n.Ref, "%s market cap %s%s", n.Name, dollars(n.MarketCapUSD), change("24h", n.Change24hPct))
		}
		for _, h := range n.Headlines {
			f.add(h.Ref, "%s", h.Title)
		}
		for _, symbol := range n.TrendingSymbols {
			if !slices.Contains(symbols, symbol) {
				symbols = append(symbols, symbol)
			}
		}
	}
	if len(symbols) > 0 {
		f.add(refTrending, "Trending searches: %s", strings.Join(symbols[:min(len(symbols), 3)], ", "))
	}
}

func dollars(amount *int64) string { return human.USD(float64(*amount)) }

// change writes a change over a period as the end of a fact, nothing if it is unknown.
func change(period string, percent *float64) string {
	if percent == nil {
		return ""
	}
	return ", " + period + " " + human.Percent(*percent)
}
