package source

import (
	"io"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// Kraken is kraken-ticker: the last prices on one exchange, to hold others against.
func Kraken() Connector {
	c := Connector{ID: "kraken-ticker", Interval: 5 * time.Minute, StaleAfter: 15 * time.Minute, moves: true, Use: useKraken()}
	return document(c, krakenTicker, decodeTicker)
}

const krakenTicker = "https://api.kraken.com/0/public/Ticker?pair=XBTUSD,ETHUSD,SOLUSD,XRPUSD,USDTUSD,USDCUSD,XDGUSD,ADAUSD,ZECUSD,LINKUSD"

// listing is a coin by the key of an exchange and by CoinGecko's id.
type listing struct{ key, coinID string }

// krakenPairs are keyed as upstream answers, which is not always as it is asked.
func krakenPairs() []listing {
	return []listing{
		{"XXBTZUSD", "bitcoin"}, {"XETHZUSD", "ethereum"}, {"SOLUSD", "solana"}, {"XXRPZUSD", "ripple"},
		{"USDTZUSD", "tether"}, {"USDCUSD", "usd-coin"}, {"XDGUSD", "dogecoin"}, {"ADAUSD", "cardano"},
		{"XZECZUSD", "zcash"}, {"LINKUSD", "chainlink"}, {"BNBUSD", "binancecoin"},
	}
}

// decodeTicker keeps the last price of the pairs we know, in our order. No change is computed: upstream's open is that of the
// UTC day. Upstream reports errors with HTTP 200; those about limits are already told apart.
func decodeTicker(body io.Reader, _ time.Time) (*TickerDoc, int, error) {
	var in struct {
		Error  []string
		Result map[string]struct{ C []number } // price and lot of the last trade
	}
	if err := decodeObject(body, &in); err != nil {
		return nil, 0, err
	}
	if len(in.Error) > 0 {
		return nil, 0, fail(ClassBadContent, "HTTP 200 with error %s", human.Label(in.Error[0], CapName))
	}
	doc, dropped := &TickerDoc{}, 0
	for _, pair := range krakenPairs() {
		trade, ok := in.Result[pair.key]
		if !ok {
			continue
		}
		price, ok := append(trade.C, number{})[0].Price()
		if !ok {
			dropped++
			continue
		}
		doc.Pairs = append(doc.Pairs, Ticker{CoinID: pair.coinID, Price: price})
	}
	if len(doc.Pairs)+dropped == 0 {
		return nil, 0, fail(ClassEmpty, "none of the pairs")
	}
	return doc, dropped, nil
}
