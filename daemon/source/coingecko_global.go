package source

import (
	"io"
	"time"
)

// CoinGeckoGlobal is coingecko-global: the whole market.
func CoinGeckoGlobal() Connector {
	c := Connector{ID: "coingecko-global", Interval: 15 * time.Minute, StaleAfter: time.Hour, Use: useCoinGecko()}
	c.Fallbacks = []Fallback{{Via: coinMarketCap, Asks: []Ask{{URL: coinMarketCapGlobal}}, Use: useCoinMarketCap(),
		read: readGlobalMetrics}}
	return document(c, "https://api.coingecko.com/api/v3/global", decodeGlobal)
}

func decodeGlobal(body io.Reader, at time.Time) (*GlobalDoc, int, error) {
	var in struct {
		Data struct {
			MarketCap struct{ USD number }      `json:"total_market_cap"`
			Volume    struct{ USD number }      `json:"total_volume"`
			Share     struct{ BTC, ETH number } `json:"market_cap_percentage"`
			Change24h number                    `json:"market_cap_change_percentage_24h_usd"`
			UpdatedAt number                    `json:"updated_at"`
		}
	}
	if err := decodeObject(body, &in); err != nil {
		return nil, 0, err
	}
	doc := &GlobalDoc{
		MarketCap:    in.Data.MarketCap.USD.Amount(),
		Volume24h:    in.Data.Volume.USD.Amount(),
		Change24h:    in.Data.Change24h.Percent(),
		BTCDominance: in.Data.Share.BTC.Amount(),
		ETHDominance: in.Data.Share.ETH.Amount(),
	}
	if doc.MarketCap == nil {
		return nil, 0, fail(ClassEmpty, "no market capitalization")
	}
	if t := in.Data.UpdatedAt.Time(); t != nil {
		doc.AsOf = clampTime(*t, at)
	}
	return doc, 0, nil
}
