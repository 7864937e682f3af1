package source_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/source"
)

// contexts is an answer of Hyperliquid with coins and what is said of each: prices of the oracle, of the contract, and of a day ago.
func contexts(names string, prices ...string) string {
	var universe, said []string
	for _, name := range strings.Fields(names) {
		name, gone := strings.CutSuffix(name, "-")
		universe = append(universe, fmt.Sprintf(`{"name":%q,"isDelisted":%v}`, name, gone))
	}
	for _, p := range prices {
		px := strings.Fields(p)
		said = append(said, fmt.Sprintf(`{"oraclePx":%q,"markPx":%q,"prevDayPx":%q,"dayNtlVlm":"7"}`, px[0], px[1], px[2]))
	}
	return `[{"universe":[` + strings.Join(universe, ",") + `]},[` + strings.Join(said, ",") + `]]`
}

// TestHyperliquidStandsIn: for those who sell, and have no licence of CoinGecko, large coins have the prices of Hyperliquid's oracle, where
// its contract trades within two percent of them. Nothing of CoinGecko is in them, and nobody else is answered by so little.
func TestHyperliquidStandsIn(t *testing.T) {
	t.Parallel()
	three := []string{"101 102 100", "10 9.8 9.8", "0.2 0.2 0.1"}
	sold := source.CoinGeckoMarkets().Sold(false)
	for name, tt := range map[string]struct {
		connector source.Connector
		answer    string
		want      string // coins, "" where nothing is taken
	}{
		"three": {sold, contexts("ETH BTC DOGE", three...), "bitcoin 10 0.00 ethereum 101 2.00 dogecoin 0.2 100.00"},
		"others": {sold, contexts("ETH BTC kPEPE DOGE SOL-", append(three[:2:2], "5 5 5", three[2], "6 6 6")...),
			"bitcoin 10 0.00 ethereum 101 2.00 dogecoin 0.2 100.00"},
		"no day before": {sold, contexts("BTC ETH DOGE", "10 10 0", "5 5 0", "1 1 0"), "bitcoin 10 ethereum 5 dogecoin 1"},
		"two":           {sold, contexts("ETH BTC", three[:2]...), ""},
		"above":         {sold, contexts("ETH BTC DOGE", "100 102.01 100", three[1], three[2]), ""},
		"below":         {sold, contexts("ETH BTC DOGE", "100 97.99 100", three[1], three[2]), ""},
		"as far as it may": {sold, contexts("BTC ETH DOGE", "100 98 100", "100 102 100", three[2]),
			"bitcoin 100 -2.00 ethereum 100 2.00 dogecoin 0.2 100.00"},
		"no oracle":     {sold, contexts("ETH BTC DOGE", "0 102 100", three[1], three[2]), ""},
		"fewer prices":  {sold, contexts("ETH BTC DOGE SOL", three...), ""},
		"another shape": {sold, `[{"universe":[]}]`, ""},
		"licensed":      {source.CoinGeckoMarkets().Sold(true), contexts("ETH BTC DOGE", three...), ""},
		"not sold":      {source.CoinGeckoMarkets(), contexts("ETH BTC DOGE", three...), ""},
	} {
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "api.hyperliquid.xyz" && r.Method == http.MethodPost {
				return respond(r, 200, tt.answer), nil
			}
			if tt.connector.Serves("CoinMarketCap") || tt.connector.Serves("") {
				return respond(r, 429, "Throttled"), nil
			}
			t.Errorf("%s: %s was asked", name, r.URL)
			return respond(r, 500, ""), nil
		})
		last := &source.MarketsDoc{Coins: []source.Coin{{ID: "other", Symbol: "ETH", Name: "Said by CoinGecko"}}}
		out := source.NewFetcher(source.Config{Transport: transport, Now: atRecording}).Fetch(t.Context(), tt.connector, last)
		var got []string
		if doc, is := out.Doc.(*source.MarketsDoc); is {
			for _, c := range doc.Coins {
				got = append(got, fmt.Sprint(c.ID, " ", c.Price))
				if c.Change24h != nil {
					got = append(got, fmt.Sprintf("%.2f", *c.Change24h))
				}
				if c.MarketCap != nil || c.Volume24h != nil || c.Rank != nil || strings.Contains(c.Name, "CoinGecko") {
					t.Errorf("%s: %+v", name, c)
				}
			}
			if out.Via != "Hyperliquid" || !doc.AsOf.Equal(recordedAt) {
				t.Errorf("%s: via %q as of %s", name, out.Via, doc.AsOf)
			}
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s: %q (%v), want %q", name, got, out.Err, tt.want)
		}
	}
}
