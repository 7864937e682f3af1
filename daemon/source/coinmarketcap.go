package source

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// coinMarketCap stands in for CoinGecko without an account.
const (
	coinMarketCap         = "CoinMarketCap"
	coinMarketCapListings = "https://pro-api.coinmarketcap.com/public-api/v3/cryptocurrency/listings/latest?start=1&limit=100&convert=USD"
)

// listingRow is a coin as CoinMarketCap writes it.
type listingRow struct {
	Name, Symbol string
	Rank         number `json:"cmc_rank"`
	Quote        []struct {
		Symbol    string
		Price     number
		Volume    number `json:"volume_24h"`
		Change1h  number `json:"percent_change_1h"`
		Change24h number `json:"percent_change_24h"`
		Change7d  number `json:"percent_change_7d"`
		MarketCap number `json:"market_cap"`
		Updated   string `json:"last_updated"`
	}
}

// readListings reads what CoinMarketCap says of the coins that are known by CoinGecko's ids. Its prices are held against those of an
// exchange first.
func readListings(ctx context.Context, a *attempt, last Doc) (Doc, int, error) {
	var doc *MarketsDoc
	var dropped int
	err := a.Get(ctx, request{URL: coinMarketCapListings}, func(body io.Reader) (err error) {
		doc, dropped, err = decodeListings(body, knownCoins(last), a.At)
		return err
	})
	if err != nil {
		return nil, dropped, err
	}
	if err := marketsFresh(doc, a.Now); err != nil {
		return nil, dropped, err
	}
	hashes := a.bodies
	var ticker *TickerDoc
	err = a.Get(ctx, request{URL: krakenTicker}, func(body io.Reader) (err error) {
		ticker, _, err = decodeTicker(body, a.At)
		return err
	})
	if a.bodies = hashes; err != nil {
		return nil, dropped, fail(ClassBadContent, "nothing to hold the prices of %s against", coinMarketCap)
	}
	return doc, dropped, pricesAgree(doc, ticker)
}

func decodeListings(body io.Reader, known map[string]Coin, at time.Time) (*MarketsDoc, int, error) {
	var in struct{ Data []json.RawMessage }
	if err := decodeObject(body, &in); err != nil {
		return nil, 0, err
	}
	var asOf time.Time
	kept, dropped, err := convertRows(in.Data, func(r listingRow) (Coin, string, bool) {
		symbol := strings.ToUpper(human.Label(r.Symbol, capSymbol))
		for _, q := range r.Quote {
			price, ok := q.Price.Price()
			if q.Symbol != "USD" || !ok || q.Change24h.Wild() {
				continue
			}
			if t, err := time.Parse(time.RFC3339, q.Updated); err == nil && t.After(asOf) {
				asOf = t.UTC()
			}
			id := known[symbol].ID
			return Coin{
				ID: id, Symbol: symbol, Name: human.Label(r.Name, CapName), Price: price, Change1h: q.Change1h.Percent(),
				Change24h: q.Change24h.Percent(), Change7d: q.Change7d.Percent(), MarketCap: q.MarketCap.Amount(),
				Volume24h: q.Volume.Amount(), Rank: r.Rank.Int(),
			}, symbol, id != ""
		}
		return Coin{}, "", false
	})
	return &MarketsDoc{Coins: capRows(kept), AsOf: clampTime(asOf, at)}, dropped, err
}

// Prices of a stand-in are believed where those of an exchange are near them, of at least so many coins and within so many percent.
const (
	leastCompared = 3
	mostApart     = 2.0
)

// pricesAgree fails unless the prices of doc are near those of an exchange, each of them.
func pricesAgree(doc *MarketsDoc, ticker *TickerDoc) error {
	compared := 0
	for _, pair := range ticker.Pairs {
		for _, c := range doc.Coins {
			if c.ID != pair.CoinID {
				continue
			}
			if compared++; math.Abs(c.Price-pair.Price)*100 > mostApart*pair.Price {
				return fail(ClassBadContent, "%s of %s is not near the price of an exchange", c.Symbol, coinMarketCap)
			}
		}
	}
	if compared < leastCompared {
		return fail(ClassBadContent, "nothing to hold the prices of %s against", coinMarketCap)
	}
	return nil
}

const coinMarketCapGlobal = "https://pro-api.coinmarketcap.com/public-api/v1/global-metrics/quotes/latest?convert=USD"

// readGlobalMetrics reads what CoinMarketCap says of the whole market.
func readGlobalMetrics(ctx context.Context, a *attempt, _ Doc) (Doc, int, error) {
	var doc *GlobalDoc
	err := a.Get(ctx, request{URL: coinMarketCapGlobal}, func(body io.Reader) (err error) {
		doc, err = decodeGlobalMetrics(body, a.At)
		return err
	})
	return doc, 0, err
}

func decodeGlobalMetrics(body io.Reader, at time.Time) (*GlobalDoc, error) {
	var in struct {
		Data struct {
			BTC     number `json:"btc_dominance"`
			ETH     number `json:"eth_dominance"`
			Updated string `json:"last_updated"`
			Quote   struct {
				USD struct {
					MarketCap number `json:"total_market_cap"`
					Volume    number `json:"total_volume_24h"`
					Change    number `json:"total_market_cap_yesterday_percentage_change"`
				}
			}
		}
	}
	if err := decodeObject(body, &in); err != nil {
		return nil, err
	}
	usd := in.Data.Quote.USD
	doc := &GlobalDoc{
		MarketCap: usd.MarketCap.Amount(), Volume24h: usd.Volume.Amount(), Change24h: usd.Change.Percent(),
		BTCDominance: in.Data.BTC.Amount(), ETHDominance: in.Data.ETH.Amount(),
	}
	if doc.MarketCap == nil {
		return nil, fail(ClassEmpty, "no market capitalization")
	}
	if t, err := time.Parse(time.RFC3339, in.Data.Updated); err == nil {
		doc.AsOf = clampTime(t.UTC(), at)
	}
	return doc, nil
}
