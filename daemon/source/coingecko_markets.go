package source

import (
	"io"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// Caps of texts from outside, in runes.
const (
	capSymbol   = 16
	CapName     = 48
	CapHeadline = 96
	capID       = 80 // of ids, which are part of keys and paths
)

// CoinGeckoMarkets is coingecko-markets: the 100 largest coins.
func CoinGeckoMarkets() Connector {
	c := Connector{ID: "coingecko-markets", Interval: 5 * time.Minute, StaleAfter: 15 * time.Minute, fresh: marketsFresh}
	c.Use = useCoinGecko()
	c.Fallbacks = []Fallback{{
		Via: coinMarketCap, Asks: []Ask{{URL: coinMarketCapListings}, {URL: krakenTicker}}, Use: useCoinMarketCap(), read: readListings,
	}, {
		Via: hyperliquid, Asks: []Ask{{URL: hyperliquidInfo}}, Use: useHyperliquid(), read: readContexts, Less: true,
	}}
	return document(c, "https://api.coingecko.com/api/v3/coins/markets?vs_currency=usd&order=market_cap_desc&per_page=100&page=1"+
		"&price_change_percentage=1h,24h,7d&sparkline=false", decodeMarkets)
}

type marketRow struct {
	ID, Symbol, Name string
	Price            number `json:"current_price"`
	MarketCap        number `json:"market_cap"`
	Volume           number `json:"total_volume"`
	Rank             number `json:"market_cap_rank"`
	Change1h         number `json:"price_change_percentage_1h_in_currency"`
	Change24h        number `json:"price_change_percentage_24h_in_currency"`
	Change24hPlain   number `json:"price_change_percentage_24h"`
	Change7d         number `json:"price_change_percentage_7d_in_currency"`
	LastUpdated      string `json:"last_updated"`
}

// coin drops rows without an id or a price and rows whose change is out of this world.
func (r marketRow) coin() (c Coin, id string, wanted bool) {
	change := r.Change24h
	if change.Value() == nil {
		change = r.Change24hPlain
	}
	price, ok := r.Price.Price()
	if !ok || change.Wild() {
		return Coin{}, "", false
	}
	c = Coin{
		ID:        human.Label(r.ID, capID),
		Symbol:    strings.ToUpper(human.Label(r.Symbol, capSymbol)),
		Name:      human.Label(r.Name, CapName),
		Price:     price,
		Change1h:  r.Change1h.Percent(),
		Change24h: change.Percent(),
		Change7d:  r.Change7d.Percent(),
		MarketCap: r.MarketCap.Amount(),
		Volume24h: r.Volume.Amount(),
		Rank:      r.Rank.Int(),
	}
	if t, err := time.Parse(time.RFC3339, r.LastUpdated); err == nil {
		c.AsOf = t.UTC()
	}
	return c, c.ID, true
}

func decodeMarkets(body io.Reader, at time.Time) (*MarketsDoc, int, error) {
	var asOf time.Time
	kept, dropped, err := decodeRows(body, func(r marketRow) (Coin, string, bool) {
		c, id, wanted := r.coin()
		if c.AsOf.After(asOf) {
			asOf = c.AsOf
		}
		return c, id, wanted
	})
	return &MarketsDoc{Coins: capRows(kept), AsOf: clampTime(asOf, at)}, dropped, err
}

// maxMarketsAge is how old the newest price may be. Upstream moves every minute, so an older answer is a frozen one.
const maxMarketsAge = 15 * time.Minute

// marketsFresh fails if every price is old. A document without times cannot tell.
func marketsFresh(doc Doc, at time.Time) error {
	asOf := doc.(*MarketsDoc).AsOf
	if age := at.Sub(asOf); !asOf.IsZero() && age > maxMarketsAge {
		return fail(ClassStale, "the newest price is %d minutes old", int(age.Minutes()))
	}
	return nil
}
