package pack

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// cryptoShown says where the states of the crypto pack show rows of its tables, and describes their numbers: a field that stands here is
// found by lookup, compared by changes and has a series; the faces show it by its name.
func cryptoShown() []state.Shown {
	number := func(name string, words ...string) state.ShownField { return state.ShownField{Name: name, Words: words} }
	price := number("priceUsd", "price", "cost", "worth", "value", "quote", "trading", "trading at", "trades at", "changing hands",
		"pay", "paid", "paying", "charge", "charging", "sell for", "sells for", "selling for", "selling at", "sells at", "sold for",
		"fetch", "fetches", "fetching", "retail for", "retails for", "how expensive", "exchange rate", "spot", "spot price",
		"set me back", "sets me back", "set you back", "unit price", "price tag", "going rate")
	cap := number("marketCapUsd", "market cap", "cap", "marketcap", "mcap", "mkt cap", "capitalization", "market capitalization",
		"market value",
		"capitalisation", "market capitalisation", "valuation", "valuable", "size")
	volume := number("volume24hUsd", "volume", "trading volume", "traded", "trades", "trade", "turnover",
		"changed hands", "exchanged hands")
	traded := volume // of a pool, whose trades are counted
	traded.Words = slices.DeleteFunc(slices.Clone(volume.Words), func(w string) bool { return w == "trades" || w == "trade" })
	moves := []string{
		"change", "move", "moved", "moving", "percent change", "percentage change", "price change", "damage",
		"how it did", "how it has done", "how it performed", "how did it do", "how has it done",
	}
	hour := number("change1hPct", append([]string{"1h", "hour", "hourly"}, moves...)...)
	day := number("change24hPct", append([]string{"24h", "1d", "day", "daily", "performance"}, moves...)...)
	week := number("change7dPct", append([]string{"7d", "week", "weekly", "performance"}, moves...)...)
	lockedDay := day
	lockedDay.In = "change1dPct"
	locked := []state.ShownField{number("tvlUsd", "tvl", "locked", "deposits", "value", "value locked", "total value locked", "size",
		"money",
		"hold", "holds", "held", "holding", "worth", "parked", "locked up", "how much value", "value held"), lockedDay, week}
	return []state.Shown{
		{Kind: kindAsset, Path: "top_movers", Label: "name", Fields: []state.ShownField{
			price, hour, day, week, cap, volume, number("rank", "rank", "ranking", "ranked", "position", "place",
				"where it ranks", "which place"),
		}},
		{
			Kind: kindProtocol, Path: "protocol_tvl", Label: "name", Groups: []string{api.GroupTop, api.GroupMover}, Fields: locked,
		},
		{
			Kind: kindChain, Path: "protocol_tvl", Label: "name", Groups: []string{api.GroupChain}, Prefix: chainPrefix, Fields: locked,
		},
		{Kind: kindCategory, Path: "narratives", Label: "name", Fields: []state.ShownField{cap, day, number("score")}},
		{Kind: kindMarket, Path: "sentiment.market", Key: "crypto", Label: "Crypto market", Fields: []state.ShownField{
			{Name: "marketCapUsd", In: "totalMarketCapUsd"}, volume, day, number("btcDominancePct"), number("ethDominancePct"),
		}},
		{
			Kind: kindBreadth, Path: "sentiment.breadth", Key: "crypto", Label: "Market breadth",
			Fields: []state.ShownField{number("advancing"), number("declining"), number("advancingPct")},
		},
		{
			Kind: kindSupply, Path: "sentiment.stablecoins", Key: "stablecoins", Label: "All dollar stablecoins",
			Fields: []state.ShownField{number("supplyUsd"), {Name: "supplyChange24hPct", In: "change1dPct"}},
		},
		{
			Kind: kindIndex, Path: "sentiment.fearGreed", Key: "fear-greed", Label: "Crypto Fear & Greed Index (alternative.me)",
			Fields: []state.ShownField{number("value"), number("previousDay"), number("weekAgo")},
		},
		{Kind: kindFee, Path: "sentiment.fees", Key: "bitcoin", Label: "Bitcoin fees", Fields: []state.ShownField{
			{Name: "fastestSatVb", In: "btcFastestSatVb"},
		}},
		{Kind: kindPool, Path: "trending_pools", Label: "pair", Fields: []state.ShownField{
			price, hour, day, traded, number("liquidityUsd", "liquidity", "liquidity depth", "depth", "deep"), number("txns24h",
				"transactions", "txns", "trades"),
		}},
		{
			Kind: kindHeadline, Path: "narratives", Within: "headlines", ID: "url", Label: "title", Time: "publishedAt",
		},
		{Kind: kindPrediction, Path: "sentiment.predictions", Label: "question", Fields: []state.ShownField{
			{Name: "probabilityPct", In: "probability", Share: true}, volume,
		}},
	}
}

// fieldsOf are the numbers of a kind as lookup knows them.
func fieldsOf(kind string) (list []state.Field) {
	for _, f := range shownOf(kind) {
		list = append(list, state.Field{Name: f.Name, Words: f.Words})
	}
	return list
}

func shownOf(kind string) []state.ShownField {
	for _, s := range cryptoShown() {
		if s.Kind == kind {
			return s.Fields
		}
	}
	return nil
}

// numbers are those of list that are known of row, a struct of api.CryptoState.
func numbers(list []state.ShownField, row any) api.Fields {
	v := reflect.ValueOf(row)
	var pairs []any
	for _, f := range list {
		for i := range v.NumField() {
			if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); name == cmp.Or(f.In, f.Name) {
				pairs = append(pairs, f.Name, v.Field(i).Interface())
			}
		}
	}
	return fields(pairs...)
}
