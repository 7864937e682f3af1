package pack

import (
	"encoding/json"
	"strings"

	"github.com/contextd/contextd/daemon/state"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// rowsOfCrypto is Rows of the crypto pack.
func rowsOfCrypto(text []byte) (rows []state.Row) {
	var s api.CryptoState
	_ = json.Unmarshal(text, &s) // it reads on behind what is of another type
	add := func(r state.Row) {
		if r.Key != "" && len(r.Fields) > 0 {
			rows = append(rows, r)
		}
	}
	for _, m := range s.TopMovers {
		add(state.Row{Kind: kindAsset, Key: m.ID, Entity: m.ID, Name: m.Name, Symbol: m.Symbol, Ref: m.Ref, Stale: m.Stale, Fields: fields(
			"priceUsd", m.PriceUSD, "change1hPct", m.Change1hPct, "change24hPct", m.Change24hPct, "change7dPct", m.Change7dPct,
			"marketCapUsd", m.MarketCapUSD, "volume24hUsd", m.Volume24hUSD, "rank", m.Rank)})
	}
	for _, p := range s.ProtocolTVL {
		row := state.Row{Kind: kindProtocol, Key: p.ID, Name: p.Name, Ref: p.Ref, Stale: p.Stale, Fields: fields(
			"tvlUsd", p.TVLUSD, "change24hPct", p.Change1dPct, "change7dPct", p.Change7dPct)}
		if key, chain := strings.CutPrefix(p.ID, chainPrefix); chain {
			row.Kind, row.Key = kindChain, key
		} else {
			row.Fields = append(row.Fields, fields("category", p.Category, "chains", p.Chains, "topChain", p.TopChain)...)
		}
		add(row)
	}
	for _, p := range s.TrendingPools {
		add(state.Row{Kind: kindPool, Key: p.ID, Name: p.Pair, Ref: p.Ref, Stale: p.Stale, Fields: fields(
			"priceUsd", p.PriceUSD, "change1hPct", p.Change1hPct, "change24hPct", p.Change24hPct, "volume24hUsd", p.Volume24hUSD,
			"liquidityUsd", p.LiquidityUSD, "txns24h", p.Txns24h, "network", p.Network, "dex", p.Dex)})
	}
	readingRows(s.Sentiment, add)
	for _, n := range s.Narratives {
		add(state.Row{Kind: kindCategory, Key: n.ID, Name: n.Name, Ref: n.Ref, Stale: n.Stale, Fields: fields(
			"marketCapUsd", n.MarketCapUSD, "change24hPct", n.Change24hPct)})
	}
	for _, n := range s.Narratives {
		for _, h := range n.Headlines {
			add(state.Row{Kind: kindHeadline, Key: h.URL, Name: h.Title, URL: h.URL, Ref: h.Ref, Stale: h.Stale,
				Fields: fields("publishedAt", &h.PublishedAt)})
		}
	}
	return rows
}

// readingRows adds the market-wide readings that are rows of the tables.
func readingRows(s api.Sentiment, add func(state.Row)) {
	if m := s.Market; m != nil {
		add(state.Row{Kind: kindMarket, Key: "crypto", Name: "Crypto market", Ref: m.Ref, Stale: m.Stale, Fields: fields(
			"marketCapUsd", m.TotalMarketCapUSD, "change24hPct", m.Change24hPct, "volume24hUsd", m.Volume24hUSD,
			"btcDominancePct", m.BTCDominancePct, "ethDominancePct", m.ETHDominancePct)})
	}
	if f := s.FearGreed; f != nil {
		add(state.Row{Kind: kindIndex, Key: "fear-greed", Name: "Crypto Fear & Greed Index", Ref: f.Ref, Stale: f.Stale, Fields: fields(
			"value", f.Value, "label", f.Label, "previousDay", f.PreviousDay, "weekAgo", f.WeekAgo)})
	}
	if f := s.Fees; f != nil {
		add(state.Row{Kind: kindFee, Key: "bitcoin", Entity: "bitcoin", Name: "Bitcoin fees", Ref: f.Ref, Stale: f.Stale,
			Fields: fields("fastestSatVb", f.BTCFastestSatVb)})
	}
	for _, p := range s.Predictions {
		row := state.Row{Kind: kindPrediction, Key: p.ID, Name: p.Question, Ref: p.Ref, Stale: p.Stale}
		if p.Probability != nil {
			percent := *p.Probability * 100
			row.Fields = fields("probabilityPct", human.RoundPercent(&percent))
		}
		row.Fields = append(row.Fields, fields("volume24hUsd", p.Volume24hUSD)...)
		add(row)
	}
}
