package source

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// CoinGeckoTrending is coingecko-trending: the coins that people search for.
func CoinGeckoTrending() Connector {
	c := Connector{ID: "coingecko-trending", Interval: 30 * time.Minute, StaleAfter: time.Hour, Use: useCoinGecko()}
	return document(c, "https://api.coingecko.com/api/v3/search/trending", decodeTrending)
}

type trendingRow struct {
	Item struct {
		ID, Symbol, Name string
		Data             struct {
			Change24h struct{ USD number } `json:"price_change_percentage_24h"`
		}
	}
}

func (r trendingRow) coin() (c TrendingCoin, id string, wanted bool) {
	c = TrendingCoin{
		ID:        human.Label(r.Item.ID, capID),
		Symbol:    strings.ToUpper(human.Label(r.Item.Symbol, capSymbol)),
		Name:      human.Label(r.Item.Name, CapName),
		Change24h: r.Item.Data.Change24h.USD.Percent(),
	}
	return c, c.ID, true
}

func decodeTrending(body io.Reader, _ time.Time) (*TrendingDoc, int, error) {
	var in struct{ Coins []json.RawMessage }
	if err := decodeObject(body, &in); err != nil {
		return nil, 0, err
	}
	kept, dropped, err := convertRows(in.Coins, trendingRow.coin)
	return &TrendingDoc{Coins: capRows(kept)}, dropped, err
}
