package source_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

// listed is a coin as CoinMarketCap lists it.
func listed(symbol string, price float64) string {
	return fmt.Sprintf(`{"id":1,"name":"%s","symbol":"%[1]s","cmc_rank":1,"quote":[{"id":2781,"symbol":"USD","price":%v,"volume_24h":5,`+
		`"percent_change_1h":0.1,"percent_change_24h":-1.5,"percent_change_7d":2,"market_cap":9e9,"last_updated":"2026-11-20T19:59:00.000Z"}]}`,
		symbol, price)
}

// TestCoinMarketCapStandsIn: where CoinGecko turns us away its coins are CoinMarketCap's, under CoinGecko's ids, if an exchange has their
// prices within two percent.
func TestCoinMarketCapStandsIn(t *testing.T) {
	t.Parallel()
	const kraken = `{"error":[],"result":{"XXBTZUSD":{"c":["100","1"]},"XETHZUSD":{"c":["10","1"]},"SOLUSD":{"c":["5","1"]}}}`
	last := &source.MarketsDoc{Coins: []source.Coin{
		{ID: "bitcoin", Symbol: "BTC"}, {ID: "odd-coin", Symbol: "ODD"}, {ID: "one", Symbol: "TWO"}, {ID: "another", Symbol: "TWO"},
	}}
	for name, tt := range map[string]struct {
		btc    float64
		kraken string
		last   source.Doc
		ids    string // "" where nothing is taken
	}{
		"near":               {102, kraken, last, "bitcoin ethereum solana odd-coin"},
		"near, at the start": {98, kraken, nil, "bitcoin ethereum solana"},
		"too far above":      {102.01, kraken, last, ""},
		"too far below":      {97.99, kraken, last, ""},
		"two compared":       {100, `{"error":[],"result":{"XXBTZUSD":{"c":["100","1"]},"XETHZUSD":{"c":["10","1"]}}}`, last, ""},
		"no exchange":        {100, "", last, ""},
	} {
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			switch r.URL.Host {
			case "pro-api.coinmarketcap.com":
				rows := []string{listed("BTC", tt.btc), listed("ETH", 10), listed("SOL", 5), listed("ODD", 1), listed("TWO", 1), listed("NEW", 1)}
				return respond(r, 200, `{"status":{"error_code":"0"},"data":[`+strings.Join(rows, ",")+"]}"), nil
			case "api.kraken.com":
				return respond(r, 200, tt.kraken), nil
			}
			return respond(r, 429, "Throttled"), nil
		})
		f := source.NewFetcher(source.Config{Transport: transport, Now: atRecording})
		out := f.Fetch(t.Context(), source.CoinGeckoMarkets(), tt.last)
		var ids []string
		if doc, is := out.Doc.(*source.MarketsDoc); is {
			for _, c := range doc.Coins {
				ids = append(ids, c.ID)
			}
			if c := doc.Coins[0]; number(c.Change24h) != -1.5 || number(c.MarketCap) != 9e9 || !doc.AsOf.Equal(recordedAt.Add(-time.Minute)) {
				t.Errorf("%s: %+v as of %v", name, c, doc.AsOf)
			}
			if out.Via != "CoinMarketCap" || len(out.Bodies) != 1 {
				t.Errorf("%s: via %q with %d bodies", name, out.Via, len(out.Bodies))
			}
		}
		if got := strings.Join(ids, " "); got != tt.ids {
			t.Errorf("%s: %q, %s (%v), want %q", name, got, out.Class, out.Err, tt.ids)
		}
		if tt.ids == "" && out.Class != source.ClassRateLimited {
			t.Errorf("%s: judged %s, want what CoinGecko said", name, out.Class)
		}
	}
}

func TestGlobalMetricsStandIn(t *testing.T) {
	t.Parallel()
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host != "pro-api.coinmarketcap.com" {
			return respond(r, 403, ""), nil
		}
		return respond(r, 200, `{"status":{"error_code":0},"data":{"btc_dominance":58.1,"eth_dominance":12,"last_updated":"2026-11-20T19:59:00Z",`+
			`"quote":{"USD":{"total_market_cap":3e12,"total_volume_24h":1e11,"total_market_cap_yesterday_percentage_change":-0.4}}}}`), nil
	})
	f := source.NewFetcher(source.Config{Transport: transport, Now: atRecording})
	out := f.Fetch(t.Context(), source.CoinGeckoGlobal(), nil)
	doc, is := out.Doc.(*source.GlobalDoc)
	if !is || out.Via != "CoinMarketCap" || number(doc.MarketCap) != 3e12 || number(doc.Change24h) != -0.4 || number(doc.BTCDominance) != 58.1 {
		t.Errorf("%+v, via %q, %v", doc, out.Via, out.Err)
	}
}
