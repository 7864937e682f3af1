package source

import (
	"io"
	"time"

	"github.com/contextd/contextd/daemon/source/upstream"
)

// CoinGeckoGlobal is coingecko-global: the whole market.
func CoinGeckoGlobal() Connector {
	c := Connector{ID: "coingecko-global", Interval: 15 * time.Minute, StaleAfter: time.Hour}
	return document(c, "https://api.coingecko.com/api/v3/global", decodeGlobal)
}

func decodeGlobal(body io.Reader, at time.Time) (*GlobalDoc, int, error) {
	var in struct {
		Data struct {
			MarketCap struct{ USD upstream.Number }      `json:"total_market_cap"`
			Volume    struct{ USD upstream.Number }      `json:"total_volume"`
			Share     struct{ BTC, ETH upstream.Number } `json:"market_cap_percentage"`
			Change24h upstream.Number                    `json:"market_cap_change_percentage_24h_usd"`
			UpdatedAt upstream.Number                    `json:"updated_at"`
		}
	}
	if err := upstream.Object(body, &in); err != nil {
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
		return nil, 0, upstream.Fail(ClassEmpty, "no market capitalization")
	}
	if t := in.Data.UpdatedAt.Time(); t != nil {
		doc.AsOf = upstream.NotAfter(*t, at)
	}
	return doc, 0, nil
}
