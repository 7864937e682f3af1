package state

import "github.com/contextd/contextd/sdk/api"

// Layout says how a member of a state is shown: what it is called, what its rows are called by, and what of them stands in columns. Every
// face draws by it, so that a field has to be described here alone.
type Layout struct {
	Member  string // of the state
	Title   string
	Name    string    // the member of a row that names it; "" means name
	Symbols bool      // rows are known by their symbols
	Note    string    // a text beside the name
	Warning string    // a list of words that warn of the row
	News    string    // a list of headlines about the row
	Fields  []string  // that stand in columns, the most important first
	Main    string    // the number that a row is about
	Past    string    // the number whose past is drawn; "" means none
	Least   int       // columns that stand before a curve has more room than it needs
	Quiet   bool      // moves of the rows are no news
	Groups  []Group   // in which the rows are shown; none means as they stand
	Most    int       // rows of an overview, where there are no groups; 0 leaves that to the face
	Parts   []Reading // of a member that is no list
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
	Row         string // kind/key of the series of Main, "" for none
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

// Leads are the rows of a pack that stand above all others, as kind/key; nil for the packs whose tables each have one.
func Leads(pack string) []string {
	if pack == api.PackCrypto {
		return []string{"asset/bitcoin", "asset/ethereum", "market/crypto", "index/fear-greed"}
	}
	return nil
}

func cryptoLayouts() []Layout {
	const hour, day, week, volume = "change1hPct", "change24hPct", "change7dPct", "volume24hUsd"
	return []Layout{{
		Member: "top_movers", Title: "Movers", Symbols: true, Main: "priceUsd", Past: "priceUsd",
		Fields: []string{"priceUsd", hour, day, week, volume}, Least: 3,
		Groups: []Group{{api.GroupMajor, "", 5}, {api.GroupGainer, "gainers", 5}, {api.GroupLoser, "losers", 5}},
	}, {
		Member: "protocol_tvl", Title: "Value locked", Main: "tvlUsd", Past: "tvlUsd",
		Fields: []string{"tvlUsd", "change1dPct", week}, Least: 3,
		Groups: []Group{{api.GroupTop, "", 6}, {api.GroupChain, "", 4}},
	}, {
		Member: "trending_pools", Title: "Trending pools", Name: "pair", Note: "network", Warning: "risk", Most: 5, Quiet: true,
		Main: "priceUsd", Past: "priceUsd", Fields: []string{volume, day, hour, "liquidityUsd", "risk"},
	}, {
		Member: "sentiment", Title: "Sentiment", Parts: []Reading{
			{Path: "fearGreed", Title: "Fear & Greed", Main: "value", Row: "index/fear-greed",
				Text: "{value} {label} (alternative.me), yesterday {previousDay}, a week ago {weekAgo}"},
			{Path: "market", Title: "Market cap", Main: "totalMarketCapUsd", Row: "market/crypto",
				Text: "{totalMarketCapUsd} {change24hPct} in 24h, volume {volume24hUsd}"},
			{Path: "market", Title: "BTC share", Main: "btcDominancePct", Text: "{btcDominancePct}"},
			{Path: "market", Title: "ETH share", Main: "ethDominancePct", Text: "{ethDominancePct}"},
			{Path: "breadth", Title: "Breadth", Main: "advancing", Text: "{advancing} up, {declining} down ({advancingPct} up)"},
			{Path: "stablecoins", Title: "Stablecoins", Main: "supplyUsd", Text: "{supplyUsd} {change1dPct} in 1d"},
			{Path: "fees", Title: "BTC fee", Main: "btcFastestSatVb", Row: "fee/bitcoin", Text: "{btcFastestSatVb}", Needed: true},
			{Path: "gas", Title: "ETH gas", Main: "ethAverageGwei", Text: "{ethAverageGwei}", Needed: true},
			{Path: "predictions", Main: "probability", Chances: true},
		},
	}, {
		Member: "narratives", Title: "Narratives", News: "headlines", Most: 5, Quiet: true,
		Main: "score", Past: "marketCapUsd", Fields: []string{"score", day},
	}}
}
