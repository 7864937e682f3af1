package state

import "github.com/contextd/contextd/sdk/api"

// Layout says how a member of a state is shown: what it is called, what its rows are called by, and what of them stands in columns. Every
// face draws by it, so that a field has to be described here alone.
type Layout struct {
	Member  string // of the state
	Title   string
	Name    string    // the member of a row that names it; "" means name
	Short   string    // the one that names it where there is little room; "" means none
	Note    string    // a text beside the name
	Warning string    // a list of words that warn of the row
	News    string    // a list of headlines about the row
	Columns []Column  // the most important first
	Groups  []Group   // in which the rows are shown; none means as they stand
	Most    int       // rows of an overview, where there are no groups
	Parts   []Reading // of a member that is no list
}

// Column is a field of rows.
type Column struct {
	Field  string // as the state has it
	Head   string // what it is called in few letters
	Places int    // decimals of a number without a unit
}

// Group is rows of a member that belong together.
type Group struct {
	Name string // in their member group
	Head string // above them; "" means nothing
	Most int    // rows of an overview
}

// Reading is an object, or a list of chances, in a member that is no list.
type Reading struct {
	Path, Title string
	Text        string // with places for fields: {value} {label}
	Main        string // the number that it is about
	Needed      bool   // nothing is told without Main
	Chances     bool   // a list of questions with the probability of an outcome each
}

// Layouts are those of a pack that says more than tables can; nil for the others, whose members are shown as they stand.
func Layouts(pack string) []Layout {
	if pack == api.PackCrypto {
		return cryptoLayouts()
	}
	return nil
}

func cryptoLayouts() []Layout {
	hour, day := Column{Field: "change1hPct", Head: "1h"}, Column{Field: "change24hPct", Head: "24h"}
	week := Column{Field: "change7dPct", Head: "7d"}
	volume := Column{Field: "volume24hUsd", Head: "volume"}
	return []Layout{{
		Member: "top_movers", Title: "Movers", Short: "symbol",
		Columns: []Column{{Field: "priceUsd", Head: "price"}, hour, day, week, volume},
		Groups:  []Group{{api.GroupMajor, "", 5}, {api.GroupGainer, "gainers", 5}, {api.GroupLoser, "losers", 5}},
	}, {
		Member: "protocol_tvl", Title: "Value locked",
		Columns: []Column{{Field: "tvlUsd", Head: "value"}, {Field: "change1dPct", Head: "1d"}, week},
		Groups:  []Group{{api.GroupTop, "", 6}, {api.GroupChain, "", 4}},
	}, {
		Member: "trending_pools", Title: "Trending pools", Name: "pair", Note: "network", Warning: "risk", Most: 5,
		Columns: []Column{volume, hour, day, {Field: "liquidityUsd", Head: "liquid"}},
	}, {
		Member: "sentiment", Title: "Sentiment", Parts: []Reading{
			{Path: "fearGreed", Title: "Fear & Greed", Main: "value",
				Text: "{value} {label}, yesterday {previousDay}, a week ago {weekAgo}"},
			{Path: "market", Title: "Market cap", Main: "totalMarketCapUsd",
				Text: "{totalMarketCapUsd} {change24hPct} in 24h, volume {volume24hUsd}"},
			{Path: "market", Title: "Dominance", Main: "btcDominancePct", Text: "BTC {btcDominancePct}, ETH {ethDominancePct}"},
			{Path: "breadth", Title: "Breadth", Main: "advancing", Text: "{advancing} up, {declining} down ({advancingPct} up)"},
			{Path: "stablecoins", Title: "Stablecoins", Main: "supplyUsd", Text: "{supplyUsd} {change1dPct} in 1d"},
			{Path: "fees", Title: "BTC fee", Main: "btcFastestSatVb", Text: "{btcFastestSatVb} sat/vB", Needed: true},
			{Path: "gas", Title: "ETH gas", Main: "ethAverageGwei", Text: "{ethAverageGwei} gwei", Needed: true},
			{Path: "predictions", Main: "probability", Chances: true},
		},
	}, {
		Member: "narratives", Title: "Narratives", News: "headlines", Most: 5,
		Columns: []Column{{Field: "score", Head: "score", Places: 2}, day},
	}}
}
