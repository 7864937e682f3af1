package source

import (
	"io"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// CoinGeckoCategories is coingecko-categories: groups of coins by theme, largest first.
func CoinGeckoCategories() Connector {
	c := Connector{ID: "coingecko-categories", Interval: 15 * time.Minute, StaleAfter: time.Hour, Use: useCoinGecko()}
	return document(c, "https://api.coingecko.com/api/v3/coins/categories?order=market_cap_desc", decodeCategories)
}

type categoryRow struct {
	ID, Name  string
	MarketCap number   `json:"market_cap"`
	Change24h number   `json:"market_cap_change_24h"`
	TopCoins  []string `json:"top_3_coins_id"`
}

func (r categoryRow) category() (c Category, id string, wanted bool) {
	c = Category{
		ID:        human.Label(r.ID, capID),
		Name:      human.Label(r.Name, CapName),
		MarketCap: r.MarketCap.Amount(),
		Change24h: r.Change24h.Percent(),
	}
	for _, coin := range r.TopCoins[:min(len(r.TopCoins), 3)] {
		c.TopCoins = append(c.TopCoins, human.Label(coin, capID))
	}
	return c, c.ID, true
}

func decodeCategories(body io.Reader, _ time.Time) (*CategoriesDoc, int, error) {
	kept, dropped, err := decodeRows(body, categoryRow.category)
	return &CategoriesDoc{Categories: capRows(kept)}, dropped, err
}
