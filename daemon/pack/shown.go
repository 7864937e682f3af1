package pack

import (
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// cryptoShown says where the states of the crypto pack show rows of its tables.
func cryptoShown() []state.Shown {
	number := func(name string) state.ShownField { return state.ShownField{Name: name} }
	price, cap, volume := number("priceUsd"), number("marketCapUsd"), number("volume24hUsd")
	hour, day, week := number("change1hPct"), number("change24hPct"), number("change7dPct")
	locked := []state.ShownField{number("tvlUsd"), {Name: "change24hPct", In: "change1dPct"}, week}
	return []state.Shown{
		{Kind: kindAsset, Path: "top_movers", Label: "name", Fields: []state.ShownField{
			price, hour, day, week, cap, volume, number("rank"),
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
			price, hour, day, volume, number("liquidityUsd"), number("txns24h"),
		}},
		{
			Kind: kindHeadline, Path: "narratives", Within: "headlines", ID: "url", Label: "title", Time: "publishedAt",
		},
		{Kind: kindPrediction, Path: "sentiment.predictions", Label: "question", Fields: []state.ShownField{
			{Name: "probabilityPct", In: "probability", Share: true}, volume,
		}},
	}
}
