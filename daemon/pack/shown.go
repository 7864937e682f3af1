package pack

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// cryptoShown says where the states of the crypto pack show rows of its tables, and describes their numbers: a field that stands here is
// found by lookup, compared by changes and has a series; the faces show it by its name.
func cryptoShown() []state.Shown {
	number := func(name string, words ...string) state.ShownField { return state.ShownField{Name: name, Words: words} }
	price := number("priceUsd", "price", "cost", "costs", "worth", "value", "quote", "trading", "trade", "trades")
	cap := number("marketCapUsd", "cap", "market", "marketcap", "mcap", "capitalization")
	volume := number("volume24hUsd", "volume", "volumes", "traded", "turnover")
	hour := number("change1hPct", "1h", "hour", "hourly", "change", "changes", "move", "moves", "moved", "moving")
	day := number("change24hPct", "24h", "1d", "day", "daily", "change", "changes", "move", "moves", "moved", "moving", "performance", "up",
		"down")
	week := number("change7dPct", "7d", "week", "weekly", "change", "changes", "performance")
	lockedDay := day
	lockedDay.In = "change1dPct"
	locked := []state.ShownField{number("tvlUsd", "tvl", "locked", "deposits", "value"), lockedDay, week}
	return []state.Shown{
		{Kind: kindAsset, Path: "top_movers", Label: "name", Fields: []state.ShownField{
			price, hour, day, week, cap, volume, number("rank", "rank", "ranking", "ranked"),
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
			Kind: kindIndex, Path: "sentiment.fearGreed", Key: "fear-greed", Label: "Crypto Fear & Greed Index",
			Fields: []state.ShownField{number("value"), number("previousDay"), number("weekAgo")},
		},
		{Kind: kindFee, Path: "sentiment.fees", Key: "bitcoin", Label: "Bitcoin fees", Fields: []state.ShownField{
			{Name: "fastestSatVb", In: "btcFastestSatVb"},
		}},
		{Kind: kindPool, Path: "trending_pools", Label: "pair", Fields: []state.ShownField{
			price, hour, day, volume, number("liquidityUsd", "liquidity", "depth"), number("txns24h", "transactions", "txns"),
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
