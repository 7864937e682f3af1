package pack

import (
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Kinds of rows of the crypto pack, in the order in which a name is looked for among them.
const (
	kindAsset      = "asset"
	kindStablecoin = "stablecoin"
	kindProtocol   = "protocol"
	kindChain      = "chain"
	kindCategory   = "category"
	kindMarket     = "market" // the whole of it
	kindIndex      = "index"  // of sentiment
	kindFee        = "fee"
	kindPool       = "pool"
	kindPrediction = "prediction"
	kindHeadline   = "headline"
	kindHack       = "hack"
	kindBreadth    = "breadth" // coins that are up and down
	kindSupply     = "stablecoin_total"
	kindVenue      = "venue" // the price of an asset at one exchange
)

// indexFearGreed is the key of the one row of its kind.
const indexFearGreed = "fear-greed"

func cryptoKinds() []state.Kind {
	field := func(name string, words ...string) state.Field { return state.Field{Name: name, Words: words} }
	of := func(name string) state.Field {
		list := fieldsOf(kindAsset)
		return list[slices.IndexFunc(list, func(f state.Field) bool { return f.Name == name })]
	}
	price, day, volume := of("priceUsd"), of("change24hPct"), of("volume24hUsd")
	worth := of("marketCapUsd") // of a whole market
	worth.Words = append(slices.Clone(worth.Words), "worth")
	list := []state.Kind{
		{Name: kindAsset, Words: []string{"asset", "coin", "token", "cryptocurrency", "cryptos"}, Totals: []string{kindMarket, kindBreadth},
			Fields: append(fieldsOf(kindAsset), state.Field{Name: "group", Filter: true}), Orders: []state.Order{
				{Words: []string{"gainers", "gainer", "winners", "winner", "best performing", "best performers", "best performer",
					"top performers",
					"top performing", "best", "done the best", "did the best", "did best", "pumps", "hottest"}, Field: day.Name},
				{Words: []string{"losers", "loser", "worst performing", "worst performers", "worst performer", "worst", "done the worst",
					"did the worst",
					"did worst", "dumps", "dump", "hit the hardest", "hit hardest"}, Field: day.Name, Least: true},
				{Words: []string{"movers"}, Field: day.Name, Both: true},
			}},
		{
			Name: kindStablecoin, Totals: []string{kindSupply}, Words: []string{"stablecoin", "stable coin", "dollar stablecoin",
				"dollar coin", "dollar token"},
			Fields: []state.Field{
				field("priceUsd", "price", "peg", "pegged", "depeg", "depegged", "quote", "value", "at a dollar", "at one dollar",
					"at 1 dollar",
					"on peg", "at peg", "stable", "worth", "trading", "worth a dollar", "worth one dollar", "worth 1 dollar",
					"worth exactly one dollar", "worth exactly 1 dollar"),
				field("pegDeviationPct", "peg", "depeg", "depegged", "deviation", "below peg", "above peg", "off peg", "from peg",
					"off its peg",
					"from its peg", "below its peg", "off their peg", "below their peg", "above their peg",
					"above its peg", "losing its peg", "loses its peg",
					"lost its peg", "losing their peg",
					"off the dollar", "from the dollar", "from a dollar", "from one dollar", "from 1 dollar", "holding its peg",
					"hold its peg", "holds its peg", "holding the peg", "keeping its peg", "on its peg", "at its peg"),
				field("supplyUsd", "supply", "circulating", "circulating supply", "in circulation",
					"circulation", "issued", "emitted", "outstanding", "cap", "mcap",
					"marketcap",
					"market cap", "total supply", "capitalization"),
				field("supply", "supply", "circulating", "circulating supply", "in circulation", "circulation", "issued", "total supply"),
				field("supplyChange24hPct", "minted", "burned", "issuance", "supply change", "change in supply", "supply changed"),
			},
		},
		{Name: kindProtocol, Words: []string{"protocol", "dapp", "defi protocol", "defi"}, Whole: []string{"defi"},
			Fields: append(fieldsOf(kindProtocol),
				field("category", "category", "type"), field("chains", "chains", "how many chains is", "how many chains does"),
				state.Field{Name: "topChain", Words: []string{"main chain"}, Filter: true, Main: true},
			)},
		{
			Name: kindChain, Words: []string{"chain", "blockchain", "network"}, Fields: fieldsOf(kindChain),
		},
		{
			Name: kindCategory, Words: []string{"category", "sector", "segment", "theme", "narrative", "market sector", "market segment"},
			Fields: []state.Field{of("marketCapUsd"), day},
		},
		{Name: kindMarket, Sole: true, Fields: []state.Field{
			worth, volume, day, field("btcDominancePct", "dominance", "btc dominance", "bitcoin dominance"),
			field("ethDominancePct", "dominance", "eth dominance", "ethereum dominance", "ether dominance"),
		}},
		{Name: kindBreadth, Sole: true, Lacks: []string{kindStablecoin}, Words: []string{"breadth", "market breadth"},
			Fields: []state.Field{
				{Name: "advancing", Words: []string{"up", "rose", "gained", "advancing", "advancers", "in the green", "green", "higher",
					"rising", "gaining"},
					Counts: true},
				{Name: "declining", Words: []string{"down", "fell", "lost", "declining", "decliners", "in the red", "red", "lower",
					"falling", "losing", "dropped"}, Counts: true},
				field("advancingPct", "share", "advancing share", "what share", "share of coins"),
			}},
		{Name: kindSupply, Fields: []state.Field{
			field("supplyUsd", "supply", "circulating", "circulating supply", "in circulation",
				"circulation", "issued", "outstanding", "cap", "mcap",
				"marketcap",
				"market cap", "total supply", "capitalization"),
			field("supplyChange24hPct", "supply change", "change", "minted", "burned", "24h", "day"),
		}},
		{Name: kindIndex, Words: []string{"fear and greed", "fear greed", "fear index", "greed index", "greed and fear", "sentiment",
			"market sentiment", "sentiment of market", "sentiment of the market", "mood of the market", "market mood",
			"fear and greed index", "fear and greed gauge", "fear and greed meter", "fear and greed reading",
			"fear and greed thing", "f g", "greedy", "fearful", "greedy or fearful", "fearful or greedy"}, Fields: []state.Field{
			field("value", "value", "index", "today", "mood"), field("label", "label", "mood"), field("previousDay", "yesterday"),
			field("weekAgo", "week", "week ago"),
		}},
		{Name: kindFee, Words: []string{"fee", "sats", "sat vb", "sats per vbyte", "sat per vbyte",
			"sats per byte", "sat per byte",
			"how many sats per byte", "how many sat per byte", "how many sats per vbyte", "how many gwei",
			"fee rate", "fee level", "confirmation fee",
			"transaction fee", "network fee", "tx fee", "onchain fee", "on chain fee", "miner fee", "mining fee",
			"to send", "sending", "transaction cost", "feerate", "transaction in", "transaction into", "transaction through",
			"transaction confirmed", "transactions confirmed", "tx", "txn", "tx confirmed",
			"tx confirming", "confirming", "fee to confirm"},
			Fields: []state.Field{
				field("fastestSatVb", "fast", "fastest", "next block", "the next block", "very next block",
					"cost", "how expensive", "how much does it cost",
					"fast confirmation", "fastest confirmation"),
				field("halfHourSatVb", "half hour", "halfhour"),
				field("hourSatVb", "hour", "1h"), field("economySatVb", "economy", "slow"), field("minimumSatVb", "minimum"),
				field("averageGwei", "average", "gas", "gwei", "price", "cost", "how expensive"), field("fastGwei", "fast", "fastest"),
				field("slowGwei", "slow"),
			}},
		{Name: kindPool, Words: []string{"pool", "pair"}, Own: true, Fields: append(fieldsOf(kindPool),
			field("network"), state.Field{Name: "dex", Words: []string{"dex"}, Filter: true}, field("createdAt", "created", "old", "age"),
			field("position"),
		), Orders: []state.Order{
			{Words: []string{"newest pool", "newest pools", "new pools", "youngest"}, Field: "createdAt"},
			{Words: []string{"oldest pool", "oldest pools", "oldest"}, Field: "createdAt", Least: true},
			{Words: []string{"trending pools", "trending", "trending pool"}, Field: "position", Least: true},
			{Words: []string{"deepest"}, Field: "liquidityUsd"},
			{Words: []string{"busiest"}, Field: volume.Name}}},
		{
			Name: kindPrediction, Own: true,
			Words: []string{"prediction", "odds", "bet", "probability", "chance", "polymarket", "prediction market", "likelihood",
				"how likely", "bettors", "bettors pricing", "bettors price", "traders pricing", "bookmakers",
				"betting market", "betting", "implied probability", "implied odds"},
			Fields: []state.Field{
				field("probabilityPct", "odds", "probability", "chance", "likelihood", "how likely", "bettors", "bettors pricing",
					"bettors price", "traders pricing", "bookmakers", "betting", "implied probability", "implied odds"),
				field("outcome", "outcome"), volume,
				field("endsAt", "end", "ends", "ending", "deadline", "expires", "expiry", "resolves"),
			},
		},
		{
			Name: kindHeadline, Own: true,
			Words: []string{"news", "headline", "article", "story", "publication", "in the papers", "in the press", "in the media",
				"said about", "reported on", "reporting on", "wrote about", "written about"},
			Fields: []state.Field{field("publishedAt", "published"), field("publisher", "publisher")},
		},
		{Name: kindHack, Words: []string{"hack", "hacked", "exploit", "exploited", "theft", "heist", "robbed", "robbery", "looted",
			"raided", "breach", "breached", "broken into", "drained", "compromised", "attacked"}, Own: true, Fields: []state.Field{
			field("amountUsd", "amount", "loss", "losses", "dollar losses", "dollar loss", "lost", "stolen", "damage", "damages",
				"taken", "drained"), field("technique", "technique"), field("date", "date"),
		}},
		{Name: kindVenue, Words: []string{"venue", "exchange"}, Own: true, Fields: []state.Field{
			price, day, field("venue"),
		}},
	}
	for i := range list {
		list[i].Size, list[i].Group = standing(list[i].Name)
	}
	return list
}

// standing is the field by which the larger of two rows of a kind comes first, and the one that says with which others a row belongs.
func standing(kind string) (size, group string) {
	switch kind {
	case kindAsset, kindCategory:
		return "marketCapUsd", ""
	case kindStablecoin:
		return "supplyUsd", ""
	case kindProtocol:
		return "tvlUsd", "category"
	case kindChain:
		return "tvlUsd", ""
	case kindPool:
		return "volume24hUsd", "network"
	case kindPrediction:
		return "volume24hUsd", ""
	case kindHeadline:
		return "publishedAt", "publisher"
	case kindHack:
		return "date", "technique"
	case kindVenue:
		return "", "venue"
	}
	return "", ""
}

// tablesOfCrypto is Tables of the crypto pack: every row that its sources gave, with what they last said, however old.
func (p *Pack) tablesOfCrypto(in Input) *state.Tables {
	b := tables{p: p, in: in, links: p.linksOf(in)}
	b.assets()
	b.stablecoins()
	b.locked()
	b.market()
	b.pools()
	b.predictions()
	b.headlines()
	b.hacks()
	b.venues()
	return state.NewTables(cryptoKinds(), b.rows)
}

// tables makes rows of readings.
type tables struct {
	p     *Pack
	in    Input
	rows  []state.Row
	links *links
}

// add adds a row of the source [ref]. One without an entity is its own. Its Of is what its source says, however new.
func (b *tables) add(ref int, r state.Row) {
	reading := b.in.Readings[b.p.Sources[ref-1].ID]
	r.Ref, r.FetchedAt, r.Stale = ref, reading.FetchedAt.UTC().Truncate(time.Millisecond), reading.Err != ""
	r.Of = b.p.of(b.in, ref, r.Of)
	if r.Entity == "" {
		r.Entity = r.Kind + "/" + r.Key
	}
	if r.URL == "" {
		r.URL = b.p.Sources[ref-1].PublicURL
	}
	if r.Key != "" {
		b.rows = append(b.rows, r)
	}
}

// fields are those of values that are known, by name and value in turn.
func fields(pairs ...any) api.Fields {
	list := make(api.Fields, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		switch v := pairs[i+1].(type) {
		case *float64:
			if v != nil {
				list = append(list, api.Field{Name: pairs[i].(string), Value: *v})
			}
		case *int64:
			if v != nil {
				list = append(list, api.Field{Name: pairs[i].(string), Value: *v})
			}
		case *int:
			if v != nil {
				list = append(list, api.Field{Name: pairs[i].(string), Value: *v})
			}
		case *time.Time:
			if v != nil {
				list = append(list, api.Field{Name: pairs[i].(string), Value: v.UTC()})
			}
		case string:
			if v != "" {
				list = append(list, api.Field{Name: pairs[i].(string), Value: v})
			}
		default:
			list = append(list, api.Field{Name: pairs[i].(string), Value: v})
		}
	}
	return list
}

// size is what a value is to the order of rows.
func size(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// assets are the coins by market cap.
func (b *tables) assets() {
	doc, ok := read[*source.MarketsDoc](b.p, b.in, refMarkets)
	if !ok {
		return
	}
	shown := shownOf(kindAsset)
	for _, c := range distinct(doc.Coins, func(c source.Coin) string { return c.ID }) {
		row := coinRow(c, "")
		fields := numbers(shown, row)
		if slices.ContainsFunc(majors(), func(m major) bool { return m.id == c.ID }) {
			fields = append(fields, api.Field{Name: "group", Value: api.GroupMajor})
		}
		b.add(refMarkets, state.Row{
			Kind: kindAsset, Key: c.ID, Entity: c.ID, Name: c.Name, Symbol: c.Symbol, Size: size(c.MarketCap), Echo: derivative(c.ID),
			Aliases: coinNames(c.ID, c.Name), Of: row.Of,
			URL: "https://www.coingecko.com/en/coins/" + c.ID, Fields: fields,
		})
	}
}

// stablecoins are their prices and supplies.
func (b *tables) stablecoins() {
	doc, ok := read[*source.StablecoinsDoc](b.p, b.in, refStablecoins)
	if !ok {
		return
	}
	for _, c := range distinct(doc.Coins, func(c source.Stablecoin) string { return c.ID }) {
		change := (*float64)(nil)
		if c.PrevDay != nil && *c.PrevDay > 0 {
			percent := (c.Supply / *c.PrevDay - 1) * 100
			change = human.RoundPercent(&percent)
		}
		row := state.Row{
			Kind: kindStablecoin, Key: c.ID, Entity: c.ID, Name: c.Name, Symbol: c.Symbol, Size: c.Supply,
			URL:    "https://defillama.com/stablecoin/" + strings.ToLower(strings.ReplaceAll(c.Name, " ", "-")),
			Fields: fields("priceUsd", human.RoundPrice(c.Price)),
		}
		if c.PegType == pegUSD {
			if c.Price != nil {
				deviation := (*c.Price - 1) * 100
				row.Fields = append(row.Fields, fields("pegDeviationPct", human.RoundPercent(&deviation))...)
			}
			row.Fields = append(row.Fields, fields("supplyUsd", human.RoundWhole(&c.Supply))...)
		} else {
			row.Fields = append(row.Fields, fields("supply", human.RoundWhole(&c.Supply), "peg", c.PegType)...)
			row.Size = 0 // of another unit
		}
		row.Fields = append(row.Fields, fields("supplyChange24hPct", change)...)
		b.add(refStablecoins, row)
	}
}

// locked are the protocols and chains by the value that is locked in them.
func (b *tables) locked() {
	if doc, ok := read[*source.ProtocolsDoc](b.p, b.in, refProtocols); ok {
		shown := shownOf(kindProtocol)
		for _, p := range distinct(doc.Protocols, func(p source.Protocol) string { return p.Slug }) {
			row := protocolRow(p, "")
			b.add(refProtocols, state.Row{
				Kind: kindProtocol, Key: p.Slug, Entity: b.links.protocol(p), Name: p.Name, Aliases: brand(p.Name), Size: p.TVL,
				URL: "https://defillama.com/protocol/" + p.Slug, Fields: append(numbers(shown, row), fields(
					"category", p.Category, "chains", p.Chains, "topChain", p.TopChain)...),
			})
		}
	}
	if doc, ok := read[*source.ChainsDoc](b.p, b.in, refChains); ok {
		for _, c := range doc.Chains {
			b.add(refChains, state.Row{
				Kind: kindChain, Key: chainKey(c.Name), Entity: b.links.chain(c), Name: c.Name, Size: c.TVL,
				URL: "https://defillama.com/chain/" + strings.ReplaceAll(c.Name, " ", "%20"), Fields: fields(
					"tvlUsd", human.RoundWhole(&c.TVL), "change24hPct", human.RoundPercent(c.Change1d),
					"change7dPct", human.RoundPercent(c.Change7d)),
			})
		}
	}
}

func (b *tables) market() {
	if doc, ok := read[*source.GlobalDoc](b.p, b.in, refGlobal); ok {
		b.add(refGlobal, state.Row{
			Kind: kindMarket, Key: "crypto", Name: "Crypto market", Of: human.AboutTime(doc.AsOf).String(),
			Aliases: []string{"market", "total market", "whole market", "entire market", "crypto", "markets",
				"digital asset market", "crypto asset market", "total crypto market", "whole crypto market", "entire crypto market",
				"overall market", "overall crypto market"},
			Fields: fields("marketCapUsd", human.RoundWhole(doc.MarketCap), "change24hPct", human.RoundPercent(doc.Change24h),
				"volume24hUsd", human.RoundWhole(doc.Volume24h), "btcDominancePct", human.RoundPercent(doc.BTCDominance),
				"ethDominancePct", human.RoundPercent(doc.ETHDominance)),
		})
	}
	b.totals()
	if doc, ok := read[*source.FearGreedDoc](b.p, b.in, refFearGreed); ok {
		if f := fearGreed(doc); f != nil {
			b.add(refFearGreed, state.Row{
				Kind: kindIndex, Key: indexFearGreed, Name: "Crypto Fear & Greed Index (alternative.me)", Of: f.Of,
				Fields: fields("value", f.Value, "label", f.Label, "previousDay", f.PreviousDay, "weekAgo", f.WeekAgo),
			})
		}
	}
	if doc, ok := read[*source.FeesDoc](b.p, b.in, refFees); ok {
		b.add(refFees, state.Row{
			Kind: kindFee, Key: "bitcoin", Entity: "bitcoin", Name: "Bitcoin fees",
			Fields: fields("fastestSatVb", doc.Fastest, "halfHourSatVb", doc.HalfHour, "hourSatVb", doc.Hour,
				"economySatVb", doc.Economy, "minimumSatVb", doc.Minimum),
		})
	}
	if doc, ok := read[*source.GasDoc](b.p, b.in, refGas); ok {
		b.add(refGas, state.Row{
			Kind: kindFee, Key: "ethereum", Entity: "ethereum", Name: "Ethereum gas", Of: human.AboutTime(doc.AsOf).String(),
			Aliases: []string{"gas", "gas price", "gas fee", "gas fees", "eth gas"},
			Fields:  fields("averageGwei", gwei(doc.Average), "fastGwei", gwei(doc.Fast), "slowGwei", gwei(doc.Slow)),
		})
	}
	if doc, ok := read[*source.CategoriesDoc](b.p, b.in, refCategories); ok {
		for _, c := range distinct(doc.Categories, func(c source.Category) string { return c.ID }) {
			b.add(refCategories, state.Row{
				Kind: kindCategory, Key: c.ID, Name: c.Name, Aliases: categoryNames(c.Name), Size: size(c.MarketCap),
				URL:    "https://www.coingecko.com/en/categories/" + c.ID,
				Fields: fields("marketCapUsd", human.RoundWhole(c.MarketCap), "change24hPct", human.RoundPercent(c.Change24h)),
			})
		}
	}
}

// totals are the figures of all coins, stablecoins and chains.
func (b *tables) totals() {
	if doc, ok := read[*source.MarketsDoc](b.p, b.in, refMarkets); ok {
		if c := newView(b.p, b.in).breadth(doc); c != nil {
			b.add(refMarkets, state.Row{
				Kind: kindBreadth, Key: "crypto", Name: "Market breadth",
				Fields: fields("advancing", c.Advancing, "declining", c.Declining, "advancingPct", c.AdvancingPct),
			})
		}
	}
	if doc, ok := read[*source.StablecoinsDoc](b.p, b.in, refStablecoins); ok {
		if c := stablecoins(doc); c != nil {
			b.add(refStablecoins, state.Row{
				Kind: kindSupply, Key: "stablecoins", Name: "All dollar stablecoins",
				Fields: fields("supplyUsd", c.SupplyUSD, "supplyChange24hPct", c.Change1dPct),
			})
		}
	}
}

// pools are those that trend. A pool is of the coin whose contract its token is, and not of one whose symbol it bears: anybody may name
// one so.
func (b *tables) pools() {
	doc, ok := read[*source.PoolsDoc](b.p, b.in, refPools)
	if !ok {
		return
	}
	for i, p := range doc.Pools {
		network, address, _ := strings.Cut(p.ID, "_")
		b.add(refPools, state.Row{
			Kind: kindPool, Key: p.ID, Entity: p.CoinID, Name: p.Pair, Aliases: []string{address}, Size: size(p.Volume24h),
			URL: "https://www.geckoterminal.com/" + network + "/pools/" + address, Fields: fields(
				"priceUsd", human.RoundPrice(p.Price), "change1hPct", human.RoundPercent(p.Change1h),
				"change24hPct", human.RoundPercent(p.Change24h), "volume24hUsd", human.RoundWhole(p.Volume24h),
				"liquidityUsd", human.RoundWhole(p.Liquidity), "txns24h", p.Txns24h,
				"network", p.Network, "dex", p.Dex, "createdAt", p.CreatedAt, "position", i+1),
		})
	}
}

func (b *tables) predictions() {
	doc, ok := read[*source.PredictionsDoc](b.p, b.in, refPredictions)
	if !ok {
		return
	}
	for _, m := range doc.Markets {
		percent := m.Probability * 100
		b.add(refPredictions, state.Row{
			Kind: kindPrediction, Key: m.ID, Entity: b.links.in(m.Question), Name: m.Question, Size: size(m.Volume24h), URL: m.URL,
			Fields: fields("probabilityPct", human.RoundPercent(&percent), "outcome", m.Outcome,
				"volume24hUsd", human.RoundWhole(m.Volume24h), "endsAt", m.EndsAt),
		})
	}
}

// headlines are all that were fetched, the newest first.
func (b *tables) headlines() {
	for _, ref := range [...]int{refCoinDesk, refCointelegraph, refDecrypt} {
		doc, ok := read[*source.NewsDoc](b.p, b.in, ref)
		if !ok {
			continue
		}
		for _, h := range distinct(doc.Items, func(h source.Headline) string { return h.URL }) {
			b.add(ref, state.Row{
				Kind: kindHeadline, Key: h.URL, Entity: b.links.in(h.Title), Name: h.Title, URL: h.URL,
				Size:   float64(h.PublishedAt.Unix()),
				Fields: fields("publishedAt", &h.PublishedAt, "publisher", b.p.Sources[ref-1].Name),
			})
		}
	}
}

// hacks are the known exploits, the newest first.
func (b *tables) hacks() {
	doc, ok := read[*source.HacksDoc](b.p, b.in, refHacks)
	if !ok {
		return
	}
	for _, h := range doc.Hacks {
		b.add(refHacks, state.Row{
			Kind: kindHack, Key: hackKey(h), Entity: b.links.hack(h), Name: h.Name, Size: float64(h.Date.Unix()),
			Fields: fields("amountUsd", human.RoundWhole(h.Amount), "technique", h.Technique, "date", h.Date.Format(time.DateOnly)),
		})
	}
}

// venues are what exchanges ask for an asset, side by side.
func (b *tables) venues() {
	name := func(id string) string {
		if i := slices.IndexFunc(majors(), func(m major) bool { return m.id == id }); i >= 0 {
			return majors()[i].name
		}
		return id
	}
	if doc, ok := read[*source.TickerDoc](b.p, b.in, refKraken); ok {
		for _, t := range doc.Pairs {
			b.add(refKraken, state.Row{
				Kind: kindVenue, Key: "kraken/" + t.CoinID, Entity: t.CoinID, Name: name(t.CoinID) + " at Kraken",
				URL:    "https://www.kraken.com/prices/" + t.CoinID,
				Fields: fields("priceUsd", human.RoundPrice(&t.Price), "venue", "Kraken"),
			})
		}
	}
	if doc, ok := read[*source.ExchangeDoc](b.p, b.in, refCoinbase); ok {
		for _, c := range doc.Coins {
			b.add(refCoinbase, state.Row{
				Kind: kindVenue, Key: "coinbase/" + c.CoinID, Entity: c.CoinID, Name: name(c.CoinID) + " at Coinbase",
				URL: "https://www.coinbase.com/price/" + c.CoinID,
				Fields: fields("priceUsd", human.RoundPrice(&c.Price), "change24hPct", human.RoundPercent(c.Change24h), "venue",
					"Coinbase"),
			})
		}
	}
}

// coinNames are what else a coin is called: by the names that people have for the largest ones, and without what says that it is one.
func coinNames(id, name string) (names []string) {
	switch id {
	case "ethereum":
		names = []string{"ether"}
	case "ripple":
		names = []string{"ripple"}
	case "stellar":
		names = []string{"lumens", "lumen"}
	case "binancecoin":
		names = []string{"binance coin"}
	case "polygon-ecosystem-token":
		names = []string{"polygon", "matic"}
	case "bitcoin":
		names = []string{"bitcoins", "xbt"}
	case "dogecoin":
		names = []string{"doge coin"}
	case "fetch-ai":
		names = []string{"fetch ai"}
	}
	for _, ending := range [...]string{" DAO", " Protocol", " Network", " Finance", " Token", " Hub", " DAO Token"} {
		if short, cut := strings.CutSuffix(name, ending); cut && len(short) > 2 {
			names = append(names, short)
		}
	}
	return names
}

// brand is what a protocol is called without what says which part of it is meant or what it does: Kamino of Kamino Lend.
func brand(name string) []string {
	parts := strings.Fields(name)
	n := len(parts)
	for n > 1 {
		last := strings.ToLower(parts[n-1])
		if !slices.Contains([]string{"lend", "lending", "dex", "amm", "protocol", "finance", "v1", "v2", "v3", "v4", "stake", "staking",
			"liquid", "savings"},
			last) {
			break
		}
		n--
	}
	if n == len(parts) {
		return nil
	}
	return []string{strings.Join(parts[:n], " ")}
}

// categoryNames are what else a category is called: meme coins, and what its name has in parentheses.
func categoryNames(name string) (names []string) {
	short, in, _ := strings.Cut(name, " (")
	for _, called := range [...]string{short, strings.TrimSuffix(in, ")")} {
		called, _ = strings.CutSuffix(called, "s")
		if called == "" || strings.EqualFold(called, "stablecoin") {
			continue
		}
		for _, bare := range [...]string{called, strings.TrimSuffix(strings.TrimSuffix(called, " Coin"), " Token")} {
			for _, ending := range [...]string{"", "s", " coins", " tokens", " category", " sector", " narrative"} {
				names = append(names, bare+ending)
			}
		}
	}
	return names
}
