package source

import (
	"context"
	"io"
	"strings"
	"time"
)

// CoinbaseExchange is coinbase-exchange: the majors on one exchange, for when coingecko-markets fails.
func CoinbaseExchange() Connector {
	c := Connector{ID: "coinbase-exchange", Interval: 5 * time.Minute, StaleAfter: 15 * time.Minute, moves: true, Use: useCoinbase()}
	c.New = func() Doc { return &ExchangeDoc{} }
	c.Asks = []Ask{{URL: coinbaseStats, Times: len(coinbaseProducts())}}
	c.read = readExchange
	return c
}

// coinbaseStats is where the statistics of a product are.
const coinbaseStats = "https://api.exchange.coinbase.com/products/{product}/stats"

func coinbaseProducts() []listing {
	return []listing{{"BTC", "bitcoin"}, {"ETH", "ethereum"}, {"SOL", "solana"}, {"XRP", "ripple"}, {"BNB", "binancecoin"}}
}

// readExchange asks for one document per product. One that is missing or broken is a missing row, but when upstream does not
// answer, the others are not asked for.
func readExchange(ctx context.Context, a *attempt, _ Doc) (Doc, int, error) {
	doc := &ExchangeDoc{}
	var failure error
	for _, product := range coinbaseProducts() {
		r := request{URL: strings.Replace(coinbaseStats, "{product}", product.key+"-USD", 1)}
		err := a.Get(ctx, r, func(body io.Reader) error {
			coin, err := decodeStats(body, product.coinID)
			if err == nil {
				doc.Coins = append(doc.Coins, coin)
			}
			return err
		})
		if err == nil {
			continue
		}
		failure = err
		if class := asFailure(err).Class; class != ClassNotFound && class != ClassEmpty {
			break
		}
	}
	if len(doc.Coins) == 0 {
		return nil, 0, failure
	}
	return doc, len(coinbaseProducts()) - len(doc.Coins), nil
}

// decodeStats decodes the statistics of a product. Open is the price of 24 hours ago.
func decodeStats(body io.Reader, coinID string) (ExchangeCoin, error) {
	var in struct{ Open, Last number }
	if err := decodeObject(body, &in); err != nil {
		return ExchangeCoin{}, err
	}
	last, ok := in.Last.Price()
	if !ok {
		return ExchangeCoin{}, fail(ClassEmpty, "no price")
	}
	coin := ExchangeCoin{CoinID: coinID, Price: last}
	if open, ok := in.Open.Price(); ok {
		change := (last - open) / open * 100
		coin.Change24h = &change
	}
	return coin, nil
}
