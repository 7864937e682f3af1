package source

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"slices"

	"github.com/contextd/contextd/sdk/api"
)

// hyperliquid stands in for CoinGecko where that may not be served.
const (
	hyperliquid     = "Hyperliquid"
	hyperliquidInfo = "https://api.hyperliquid.xyz/info"
)

// useHyperliquid is that of an exchange whose terms do not speak of its public market data.
func useHyperliquid() api.Use {
	return api.Use{Commercial: api.UseSilent, Redistribute: api.UseSilent, Store: api.UseSilent, Attribution: hyperliquid,
		Terms: "https://app.hyperliquid.xyz/terms", Read: termsRead}
}

// readContexts reads the prices of large coins, of which nothing is taken from CoinGecko. They are those of the exchange's oracle, which is
// the median of spot exchanges; the price of its own contract has to be near, and gives the change. What a coin is worth in all nobody says
// there.
func readContexts(ctx context.Context, a *attempt, _ Doc) (Doc, int, error) {
	ask := &declaration{Declared{Method: http.MethodPost, Body: []byte(`{"type":"metaAndAssetCtxs"}`)}}
	var doc *MarketsDoc
	var dropped int
	err := a.Get(ctx, request{URL: hyperliquidInfo, declared: ask}, func(body io.Reader) (err error) {
		doc, dropped, err = decodeContexts(body)
		return err
	})
	if err != nil {
		return nil, dropped, err
	}
	if len(doc.Coins) < leastCompared {
		return nil, dropped, fail(ClassBadContent, "%d coins of %s make sense", len(doc.Coins), hyperliquid)
	}
	doc.AsOf = a.At
	return doc, dropped, nil
}

// decodeContexts decodes names and what is said of them, which belong together by place.
func decodeContexts(body io.Reader) (*MarketsDoc, int, error) {
	var in []json.RawMessage
	if err := decodeObject(body, &in); err != nil {
		return nil, 0, err
	}
	var names struct {
		Universe []struct {
			Name     string
			Delisted bool `json:"isDelisted"`
		}
	}
	var said []struct{ OraclePx, MarkPx, PrevDayPx number }
	if len(in) < 2 || json.Unmarshal(in[0], &names) != nil || json.Unmarshal(in[1], &said) != nil || len(said) != len(names.Universe) {
		return nil, 0, fail(ClassBadContent, "no list of coins and one of as many prices")
	}
	large, place := largeCoins(), make(map[string]int)
	for i, c := range large {
		place[c.Symbol] = i
	}
	doc, dropped := new(MarketsDoc), 0
	for i, row := range said {
		at, is := place[names.Universe[i].Name]
		if !is || names.Universe[i].Delisted {
			continue
		}
		price, ok := row.OraclePx.Price()
		mark, traded := row.MarkPx.Price()
		if !ok || !traded || math.Abs(mark-price)*100 > mostApart*price {
			dropped++
			continue
		}
		coin := large[at]
		coin.Price = price
		if was, ok := row.PrevDayPx.Price(); ok {
			change := 100 * (mark/was - 1)
			coin.Change24h = number{value: &change}.Percent()
		}
		doc.Coins = append(doc.Coins, coin)
	}
	slices.SortFunc(doc.Coins, func(a, b Coin) int { return cmp.Compare(place[a.Symbol], place[b.Symbol]) })
	return doc, dropped, nil
}
