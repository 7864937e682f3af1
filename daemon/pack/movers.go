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
	maxMovers      = 8   // gainers, and as many losers
	minMoverVolume = 1e6 // USD in 24 hours; below, one trade moves the price

	sameTime = time.Minute // answers of one refresh are not further apart
)

// major is a coin that is always shown.
type major struct{ id, symbol, name string }

// majors are the coins that are always shown, in that order.
func majors() []major {
	return []major{
		{"bitcoin", "BTC", "Bitcoin"}, {"ethereum", "ETH", "Ethereum"}, {"solana", "SOL", "Solana"}, {"binancecoin", "BNB", "BNB"},
		{"ripple", "XRP", "XRP"},
	}
}

// movers are the majors and the coins that moved most.
func (v *view) movers() []api.Mover {
	rows, shown := []api.Mover{}, make(map[string]bool) // never null in a state, so never nil here
	for _, m := range majors() {
		shown[m.id] = true
		if row, ok := v.major(m); ok {
			row.Venues = v.venues(m, row.Ref)
			rows = append(rows, row)
		}
	}
	var moved []api.Mover
	if doc := lastGood[*source.MarketsDoc](v, refMarkets); doc != nil {
		for _, c := range distinct(doc.Coins, func(c source.Coin) string { return c.ID }) {
			if !shown[c.ID] && v.tradeable(c) {
				row := coinRow(c, "")
				row.Of = v.pack.of(v.in, refMarkets, row.Of)
				moved = append(moved, row)
			}
		}
	}
	rows = append(rows, extreme(moved, api.GroupGainer, 1)...)
	return append(rows, extreme(moved, api.GroupLoser, -1)...)
}

// major makes the row of m from the best source whose last attempt was good. Only where there is none, one that is carried will do: the
// best of those that are not older than another.
func (v *view) major(m major) (row api.Mover, ok bool) {
	for _, ref := range [...]int{refMarkets, refCoinbase, refKraken} {
		quote, has := v.quote(m, ref)
		switch {
		case !has:
		case v.fresh(ref):
			return quote, true
		case !ok || v.reading(ref).FetchedAt.Sub(v.reading(row.Ref).FetchedAt) > sameTime:
			row, ok = quote, true
		}
	}
	return row, ok
}

// venues are the prices of m at the exchanges but for the source [ref], which its row has them from.
func (v *view) venues(m major, ref int) (quotes []api.Quote) {
	for _, venue := range [...]int{refKraken, refCoinbase} {
		if row, ok := v.quote(m, venue); ok && venue != ref {
			quotes = append(quotes, api.Quote{PriceUSD: row.PriceUSD, Ref: venue})
		}
	}
	return quotes
}

// quote makes the row of m from the source [ref]. An exchange knows no more than its price, and that of Coinbase 24 hours ago.
func (v *view) quote(m major, ref int) (api.Mover, bool) {
	row := api.Mover{Group: api.GroupMajor, ID: m.id, Symbol: m.symbol, Name: m.name, Ref: ref}
	switch ref {
	case refMarkets:
		if doc := lastGood[*source.MarketsDoc](v, ref); doc != nil {
			if i := slices.IndexFunc(doc.Coins, func(c source.Coin) bool { return c.ID == m.id }); i >= 0 {
				row = coinRow(doc.Coins[i], api.GroupMajor)
				row.Of = v.pack.of(v.in, refMarkets, row.Of)
				row.Symbol = m.symbol // the same whichever source it comes from
				row.Name = m.name
			}
		}
	case refCoinbase:
		if doc := lastGood[*source.ExchangeDoc](v, ref); doc != nil {
			if i := slices.IndexFunc(doc.Coins, func(c source.ExchangeCoin) bool { return c.CoinID == m.id }); i >= 0 {
				row.PriceUSD, row.Change24hPct = human.RoundPrice(&doc.Coins[i].Price), human.RoundPercent(doc.Coins[i].Change24h)
			}
		}
	case refKraken:
		if doc := lastGood[*source.TickerDoc](v, ref); doc != nil {
			if i := slices.IndexFunc(doc.Pairs, func(t source.Ticker) bool { return t.CoinID == m.id }); i >= 0 {
				row.PriceUSD = human.RoundPrice(&doc.Pairs[i].Price)
			}
		}
	}
	return row, row.PriceUSD != nil
}

// coinRow is c as a row of a group, with the time of its price, however new. What is not finite or does not fit becomes unknown.
func coinRow(c source.Coin, group string) api.Mover {
	return api.Mover{
		Group: group, ID: c.ID, Symbol: c.Symbol, Name: c.Name, PriceUSD: human.RoundPrice(&c.Price),
		Change1hPct: human.RoundPercent(c.Change1h), Change24hPct: human.RoundPercent(c.Change24h),
		Change7dPct:  human.RoundPercent(c.Change7d),
		MarketCapUSD: human.RoundWhole(c.MarketCap), Volume24hUSD: human.RoundWhole(c.Volume24h), Rank: c.Rank, Ref: refMarkets,
		Of: human.AboutTime(c.AsOf).String(),
	}
}

// tradeable reports whether c has a price of its own that enough people trade at.
func (v *view) tradeable(c source.Coin) bool {
	return c.Volume24h != nil && *c.Volume24h >= minMoverVolume && !v.stable(c.ID) && !derivative(c.ID)
}

// extreme is the rows that moved most in the direction of sign, as rows of group. It sorts by what readers see, ties by id.
func extreme(rows []api.Mover, group string, sign float64) []api.Mover {
	var chosen []api.Mover
	for _, row := range rows {
		if row.Change24hPct != nil && *row.Change24hPct*sign > 0 {
			row.Group = group
			chosen = append(chosen, row)
		}
	}
	slices.SortFunc(chosen, func(a, b api.Mover) int {
		return cmp.Or(cmp.Compare(*b.Change24hPct*sign, *a.Change24hPct*sign), strings.Compare(a.ID, b.ID))
	})
	return chosen[:min(len(chosen), maxMovers)]
}

// stable reports whether a coin is pegged to a currency. The list of stablecoins tells; the largest are known without it.
func (v *view) stable(id string) bool {
	switch id {
	case "tether", "usd-coin", "ethena-usde", "usds", "dai", "usd1-wlfi", "paypal-usd", "first-digital-usd", "ripple-usd",
		"global-dollar", "true-usd", "usdd", "binance-usd":
		return true
	}
	return v.pegged[id]
}

// derivative reports whether a coin only stands for another one: it is wrapped, bridged or staked, and moves with it.
func derivative(id string) bool {
	switch id {
	case "weth", "tbtc", "msol", "solv-btc", "rocket-pool-eth", "susds", "savings-dai":
		return true
	}
	return slices.ContainsFunc(strings.Split(id, "-"), func(word string) bool {
		return word == "wrapped" || word == "bridged" || word == "staked" || word == "restaked" || word == "peg"
	})
}

// distinct is the rows with an id, each id once. The first row of an id stays.
func distinct[T any](rows []T, id func(T) string) []T {
	seen := map[string]bool{"": true}
	var kept []T
	for _, row := range rows {
		if key := id(row); !seen[key] {
			seen[key] = true
			kept = append(kept, row)
		}
	}
	return kept
}
