package source_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

// decode fetches one body through a connector.
func decode[D source.Doc](t *testing.T, c source.Connector, body string) (D, source.Outcome) {
	t.Helper()
	out := fetch(t, answer(t, body), c, nil)
	doc, _ := out.Doc.(D)
	return doc, out
}

func TestMarkets(t *testing.T) {
	t.Parallel()
	doc, out := decode[*source.MarketsDoc](t, source.CoinGeckoMarkets(), `[
		{"id":"a","symbol":"abc","name":"A [7]","current_price":2,"price_change_percentage_24h":1,"price_change_percentage_24h_in_currency":1.5,
		 "price_change_percentage_1h_in_currency":-0.5,"price_change_percentage_7d_in_currency":200000,"market_cap_rank":3,"last_updated":"2026-11-20T19:58:00Z"},
		{"id":"b","symbol":"b","current_price":0},
		{"id":"c","symbol":"c","current_price":1,"price_change_percentage_24h_in_currency":100001},
		{"id":"d","symbol":"d","current_price":2e12},
		{"id":7,"symbol":"e","current_price":1},
		"f"]`)
	if out.Class != source.ClassPartial || out.Dropped != 5 || doc.Len() != 1 {
		t.Fatalf("%s, %d dropped, %+v", out.Class, out.Dropped, doc)
	}
	c := doc.Coins[0]
	if c.Symbol != "ABC" || c.Name != "A (7)" || *c.Rank != 3 || number(c.Change24h) != 1.5 || number(c.Change1h) != -0.5 || c.Change7d != nil {
		t.Errorf("%+v", c)
	}
	if want := recordedAt.Add(-2 * time.Minute); !doc.AsOf.Equal(want) {
		t.Errorf("as of %v, want %v", doc.AsOf, want)
	}
}

func TestGlobal(t *testing.T) {
	t.Parallel()
	doc := recordedDoc(t, source.CoinGeckoGlobal()).(*source.GlobalDoc)
	if number(doc.MarketCap) != 3319935150000 || number(doc.Change24h) != -2.02 || doc.AsOf.IsZero() {
		t.Errorf("%+v", doc)
	}
	if number(doc.BTCDominance) < 54 || number(doc.ETHDominance) > 12 || number(doc.Volume24h) < 2e11 {
		t.Errorf("%+v", doc)
	}
	if _, out := decode[*source.GlobalDoc](t, source.CoinGeckoGlobal(), `{"data":{"total_market_cap":{"usd":null}}}`); out.Class != source.ClassEmpty {
		t.Errorf("no capitalization: %s", out.Class)
	}
}

func TestCategoriesAndTrending(t *testing.T) {
	t.Parallel()
	categories := recordedDoc(t, source.CoinGeckoCategories()).(*source.CategoriesDoc).Categories
	want := source.Category{ID: "smart-contract-platform", Name: "Smart Contract Platform", TopCoins: []string{"bitcoin", "ethereum", "binancecoin"}}
	first := categories[0]
	if number(first.MarketCap) != 2702000000000 || number(first.Change24h) != -2.4 {
		t.Errorf("%+v", first)
	}
	first.MarketCap, first.Change24h = nil, nil
	if !reflect.DeepEqual(first, want) {
		t.Errorf("%+v, want %+v", first, want)
	}
	zcash := recordedDoc(t, source.CoinGeckoTrending()).(*source.TrendingDoc).Coins[0]
	if zcash.ID != "zcash" || zcash.Symbol != "ZEC" || zcash.Name != "Zcash" || number(zcash.Change24h) != 18.7 {
		t.Errorf("%+v", zcash)
	}
}

// protocol writes a row of /protocols.
func protocol(slug, category string, tvl, change float64) string {
	return fmt.Sprintf(`{"slug":%q,"name":%q,"category":%q,"tvl":%f,"change_1d":%f,"chains":["A","B"],
		"chainTvls":{"A":1,"B":2,"C":2,"borrowed":9,"A-borrowed":8,"staking":7}}`, slug, strings.ToUpper(slug), category, tvl, change)
}

func TestProtocolsKeepTheLargestAndTheMoving(t *testing.T) {
	t.Parallel()
	var rows []string
	for i := range 600 {
		rows = append(rows, protocol(fmt.Sprintf("p%03d", i), "Lending", 1e9-float64(i)*1e6, 0.5))
	}
	rows = append(rows,
		protocol("drained", "Dexs", 14e6, -60), // held $35M a day ago
		protocol("rising", "Dexs", 26e6, 80),
		protocol("small", "Dexs", 5e6, -90.5), // held more, $52M
		protocol("dust", "Dexs", 1e6, 400),
		protocol("gone", "Dexs", 1e5, -100), // what it held cannot be told
		protocol("empty", "Dexs", 0, -100),
		protocol("binance-cex", "CEX", 2e11, 1), protocol("base-chain", "Chain", 2e11, 1),
		protocol("bridge", "Bridge", 2e11, 1), protocol("canonical", "Canonical Bridge", 2e11, 1),
		protocol("curator", "Risk Curators", 2e11, 1), protocol("pool", "Staking Pool", 2e11, 1))
	doc, out := decode[*source.ProtocolsDoc](t, source.DefiLlamaProtocols(), "["+strings.Join(rows, ",")+"]")
	if out.Class != source.ClassOK || doc.Len() != source.MaxRows {
		t.Fatalf("%s, %v, %d rows", out.Class, out.Err, doc.Len())
	}
	have := make(map[string]bool)
	for i, p := range doc.Protocols {
		have[p.Slug] = true
		if i > 0 && p.TVL > doc.Protocols[i-1].TVL {
			t.Fatalf("%s is larger than the row before it", p.Slug)
		}
	}
	for slug, want := range map[string]bool{
		"p000": true, "p119": true, "p196": true, "p198": false, "drained": true, "rising": true, "small": true, "dust": false, "gone": false,
		"empty": false, "binance-cex": false, "base-chain": false, "bridge": false, "canonical": false, "curator": false, "pool": false,
	} {
		if have[slug] != want {
			t.Errorf("%s kept: %v, want %v", slug, have[slug], want)
		}
	}
	if p := doc.Protocols[0]; p.Name != "P000" || p.Category != "Lending" || p.Chains != 2 || p.TopChain != "B" || number(p.Change1d) != 0.5 || p.Change7d != nil {
		t.Errorf("%+v", p)
	}
}

// llama answers /v2/chains and the histories and counts what it is asked for.
func llama(asked map[string]int, history roundTrip) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		asked[r.URL.Path]++
		if r.URL.Path != "/v2/chains" {
			return history(r)
		}
		if r.Header.Get("If-None-Match") != "" {
			return respond(r, 304, ""), nil
		}
		return respond(r, 200, `[{"name":"H","tvl":1},{"name":"G 2","tvl":2},{"name":"F","tvl":3},{"name":"E","tvl":4},
			{"name":"D","tvl":5},{"name":"C","tvl":6},{"name":"B","tvl":7},{"name":"A 1","tvl":8}]`, "ETag", `"same"`), nil
	}
}

func TestChainHistoriesAreReadOnceADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, checkChainHistories) // requests wait for the limit of their host
}

func checkChainHistories(t *testing.T) {
	asked := make(map[string]int)
	transport := llama(asked, func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/B") {
			return respond(r, 404, ""), nil
		}
		return respond(r, 200, `[{"date":1795132800,"tvl":90},{"date":1795046400,"tvl":100},{"date":1794528000,"tvl":80}]`), nil
	})
	now := recordedAt
	f := source.NewFetcher(source.Config{Transport: transport, Now: func() time.Time { return now }})
	first := f.Fetch(t.Context(), source.DefiLlamaChains(), nil)
	doc := first.Doc.(*source.ChainsDoc)
	if doc.Chains[0].Name != "A 1" || doc.Chains[0].Change1d != nil || number(doc.Chains[0].Change7d) != 12.5 {
		t.Errorf("A 1: %v, %v", doc.Chains[0].Change1d, number(doc.Chains[0].Change7d))
	}
	if doc.Chains[1].Change7d != nil || doc.Chains[5].Change7d == nil || doc.Chains[6].Change7d != nil {
		t.Errorf("B has no history, F is the sixth, G 2 is not asked for: %+v", doc.Chains)
	}
	now = now.Add(23 * time.Hour)
	second := f.Fetch(t.Context(), source.DefiLlamaChains(), doc).Doc.(*source.ChainsDoc)
	if number(second.Chains[0].Change7d) != 12.5 || !second.HistoryAt.Equal(recordedAt) {
		t.Errorf("changes must be kept: %+v", second)
	}
	if asked["/v2/historicalChainTvl/A 1"] != 1 || asked["/v2/historicalChainTvl/F"] != 1 || asked["/v2/historicalChainTvl/G 2"] != 0 {
		t.Errorf("asked %v", asked)
	}
	now = now.Add(time.Hour)
	if out := f.Fetch(t.Context(), source.DefiLlamaChains(), second); asked["/v2/historicalChainTvl/A 1"] != 2 || out.Err != nil {
		t.Errorf("a day later: asked %v, %v", asked, out.Err)
	}
}

// TestChainChangesOfADay asks for two days, with a gap: a change is one of 24 hours, give or take half an hour, or there is none.
func TestChainChangesOfADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now().Add(2 * time.Minute)
		now, tvl := begin, 0.0
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != "/v2/chains" {
				return respond(r, 404, ""), nil
			}
			return respond(r, 200, fmt.Sprintf(`[{"name":"A","tvl":%g}]`, tvl)), nil
		})
		f := source.NewFetcher(source.Config{Transport: transport, Now: func() time.Time { return now }})
		value := func(at time.Time) float64 { return 1e9 + 1e7*at.Sub(begin).Hours() }
		var last source.Doc
		known := 0
		for ; now.Before(begin.Add(49 * time.Hour)); now = now.Add(5 * time.Minute) {
			if gap := now.Sub(begin); gap > 40*time.Hour && gap < 42*time.Hour {
				continue
			}
			tvl = value(now)
			out := f.Fetch(t.Context(), source.DefiLlamaChains(), last)
			if out.Err != nil {
				t.Fatal(out.Err)
			}
			doc := out.Doc.(*source.ChainsDoc)
			last = doc
			if n := len(doc.Hours); n > 26 {
				t.Fatalf("%d hours are kept", n)
			}
			change := doc.Chains[0].Change1d
			if may := now.Sub(begin) >= 23*time.Hour+30*time.Minute; (change != nil) != may {
				t.Fatalf("after %v a change is known: %t", now.Sub(begin), change != nil)
			}
			if change == nil {
				continue
			}
			known++
			least, most := tvl/value(now.Add(-23*time.Hour-30*time.Minute)), tvl/value(now.Add(-24*time.Hour-30*time.Minute))
			if got := 1 + *change/100; got < least-1e-9 || got > most+1e-9 {
				t.Fatalf("after %v it changed by %g, not by what 24 hours make", now.Sub(begin), *change)
			}
		}
		if known < 280 {
			t.Errorf("%d changes", known)
		}
		for now = now.Add(16 * time.Hour); now.Before(begin.Add(66*time.Hour + 30*time.Minute)); now = now.Add(5 * time.Minute) { // a day after the gap
			out := f.Fetch(t.Context(), source.DefiLlamaChains(), last)
			last = out.Doc
			if at := now.Add(-24 * time.Hour).Sub(begin); at > 40*time.Hour+30*time.Minute && at < 41*time.Hour+29*time.Minute {
				if c := last.(*source.ChainsDoc).Chains[0].Change1d; c != nil {
					t.Fatalf("%v, where nobody asked, a change is known", at)
				}
			}
		}
	})
}

func TestChainHistoryFailsSoft(t *testing.T) {
	t.Parallel()
	asked := make(map[string]int)
	transport := llama(asked, func(r *http.Request) (*http.Response, error) { return respond(r, 429, ""), nil })
	change := 3.5
	last := &source.ChainsDoc{Chains: []source.Chain{{Name: "A 1", Change7d: &change}}, HistoryAt: recordedAt.Add(-25 * time.Hour)}
	now := recordedAt
	f := source.NewFetcher(source.Config{Transport: transport, Now: func() time.Time { return now }})
	out := f.Fetch(t.Context(), source.DefiLlamaChains(), last)
	if out.Class != source.ClassOK || out.Doc.Len() != 8 {
		t.Fatalf("%s, %v", out.Class, out.Err)
	}
	doc := out.Doc.(*source.ChainsDoc)
	if number(doc.Chains[0].Change7d) != 3.5 || doc.Chains[1].Change7d != nil {
		t.Errorf("what was known must stay: %+v", doc.Chains)
	}
	now = now.Add(55 * time.Minute)
	doc = f.Fetch(t.Context(), source.DefiLlamaChains(), doc).Doc.(*source.ChainsDoc)
	if len(asked) != 2 || asked["/v2/historicalChainTvl/A 1"] != 1 {
		t.Errorf("asked %v, want one history once", asked)
	}
	now = now.Add(5 * time.Minute)
	f.Fetch(t.Context(), source.DefiLlamaChains(), doc)
	if asked["/v2/historicalChainTvl/A 1"] != 2 {
		t.Errorf("asked %v, want a second try after an hour", asked)
	}
}

func TestStablecoins(t *testing.T) {
	t.Parallel()
	coins := recordedDoc(t, source.DefiLlamaStablecoins()).(*source.StablecoinsDoc).Coins
	byID := make(map[string]source.Stablecoin)
	for i, c := range coins {
		byID[c.ID] = c
		if i > 0 && c.Supply > coins[i-1].Supply {
			t.Errorf("%s is larger than the coin before it", c.ID)
		}
	}
	if c := byID["tether"]; c.Symbol != "USDT" || c.PegType != "peggedUSD" || number(c.Price) != 1.0003 || c.Supply != 191.2e9 || number(c.PrevDay) != 190817600000 {
		t.Errorf("%+v", c)
	}
	if c := byID["euro-coin"]; c.PegType != "peggedEUR" || c.Supply <= 0 {
		t.Errorf("%+v", c)
	}
	if c := byID["mountain-protocol-usdm"]; c.Price != nil {
		t.Errorf("an unknown price became %v", *c.Price)
	}
}

func TestHacks(t *testing.T) {
	t.Parallel()
	doc, out := decode[*source.HacksDoc](t, source.DefiLlamaHacks(), `[{"date":1628553600,"name":"Old","amount":5,"technique":"X"},
		{"date":1795212000,"name":"Tonight","amount":null},{"date":9999999999,"name":"Ahead"},{"date":null,"name":"No date"},{"date":1628553600}]`)
	if out.Dropped != 2 || doc.Len() != 3 {
		t.Fatalf("%d dropped, %+v", out.Dropped, doc)
	}
	today := recordedAt.Truncate(24 * time.Hour)
	for i, want := range []source.Hack{{Name: "Ahead", Date: today}, {Name: "Tonight", Date: today}, {Name: "Old", Technique: "X", Date: time.Date(2021, 8, 10, 0, 0, 0, 0, time.UTC)}} {
		got := doc.Hacks[i]
		got.Amount = nil
		if got != want {
			t.Errorf("%d: %+v, want %+v", i, got, want)
		}
	}
	if number(doc.Hacks[2].Amount) != 5 || doc.Hacks[1].Amount != nil {
		t.Errorf("amounts %v", doc.Hacks)
	}
}

func TestPools(t *testing.T) {
	t.Parallel()
	p := recordedDoc(t, source.GeckoTerminalTrending()).(*source.PoolsDoc).Pools[0]
	if p.Pair != "GITLARK / WETH" || p.Network != "base" || p.Dex != "uniswap-v4-base" || !strings.HasPrefix(p.ID, "base_0x8c2c") || len(p.ID) != 71 {
		t.Errorf("%+v", p)
	}
	if number(p.Price) != 0.0000738 || number(p.Change1h) != 1.169 || number(p.Change24h) != -30.9 || number(p.Liquidity) != 2471839 || *p.Txns24h != 5184 {
		t.Errorf("%v %v %v %v %v", number(p.Price), number(p.Change1h), number(p.Change24h), number(p.Liquidity), *p.Txns24h)
	}
	if !p.CreatedAt.Equal(time.Date(2026, 10, 12, 19, 0, 0, 0, time.UTC)) {
		t.Errorf("created %v", p.CreatedAt)
	}
	doc, _ := decode[*source.PoolsDoc](t, source.GeckoTerminalTrending(), `{"data":[{"id":"x_1","attributes":{"base_token_price_usd":"1","pool_created_at":"2031-01-01T00:00:00Z"}}]}`)
	if p := doc.Pools[0]; !p.CreatedAt.Equal(recordedAt) || p.Txns24h != nil || p.Liquidity != nil || p.Network != "x" {
		t.Errorf("%+v", p)
	}
}

func TestFearGreed(t *testing.T) {
	t.Parallel()
	doc := recordedDoc(t, source.FearGreed()).(*source.FearGreedDoc)
	midnight := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	if want := (source.FearGreedDay{Value: 24, Label: "Extreme Fear", At: midnight}); doc.Days[0] != want {
		t.Errorf("%+v, want %+v", doc.Days[0], want)
	}
	if doc.Days[6].Value != 44 || !doc.NextUpdate.Equal(midnight.Add(24*time.Hour)) {
		t.Errorf("%+v, next %v", doc.Days[6], doc.NextUpdate)
	}
	doc, out := decode[*source.FearGreedDoc](t, source.FearGreed(), `{"data":[{"value":"101","timestamp":"1795132800"},{"value":"50","timestamp":"1795046400"}]}`)
	if out.Class != source.ClassPartial || doc.Len() != 1 || doc.NextUpdate != nil {
		t.Errorf("%s, %+v", out.Class, doc)
	}
}

func TestNewsLinksAndOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []source.Connector{source.NewsCoinDesk(), source.NewsCointelegraph(), source.NewsDecrypt()} {
		items := recordedDoc(t, c).(*source.NewsDoc).Items
		for i, h := range items {
			if strings.Contains(h.URL, "utm_") || !strings.HasPrefix(h.URL, "https://") {
				t.Errorf("%s: link %s", c.ID, h.URL)
			}
			if i > 0 && h.PublishedAt.After(items[i-1].PublishedAt) {
				t.Errorf("%s: %q is newer than the one before it", c.ID, h.Title)
			}
		}
	}
	_, out := decode[*source.NewsDoc](t, source.NewsDecrypt(), "<html><body>Just a moment...</body></html>")
	if out.Class != source.ClassBadContent {
		t.Errorf("a page in place of a feed: %s", out.Class)
	}
}

func TestPredictions(t *testing.T) {
	t.Parallel()
	market := func(id, outcomes, prices string, volume any) map[string]any {
		return map[string]any{
			"id": id, "question": "Q" + id, "outcomes": outcomes, "outcomePrices": prices, "volume24hr": volume, "endDate": "2026-12-31T13:00:00+01:00",
		}
	}
	yes := `["No", "Yes"]`
	body, err := json.Marshal([]any{
		map[string]any{"markets": []any{market("1", yes, `["0.9","0.1"]`, 5), market("2", yes, `["0.7","0.3"]`, 50), market("3", yes, `["0.2"]`, 500)}},
		map[string]any{"slug": "up-or.down", "markets": []any{market("4", `["Up","Down"]`, `["0.6","0.4"]`, 60)}},
		map[string]any{"slug": "a/../b?c", "markets": []any{market("5", yes, `["0.5","0.5"]`, nil)}},
		map[string]any{"markets": []any{market("8", `[]`, `["0.5"]`, nil)}},
		map[string]any{"markets": []any{market("9", `["[1]\u0007"]`, `["0.25"]`, nil)}},
		map[string]any{"markets": []any{market("6", yes, `["-4","5"]`, 1)}},
		map[string]any{"markets": []any{map[string]any{"id": "7", "question": "Q7", "closed": true, "outcomes": yes, "outcomePrices": `["0","1"]`}}},
		map[string]any{"markets": nil},
	})
	if err != nil {
		t.Fatal(err)
	}
	doc, out := decode[*source.PredictionsDoc](t, source.Polymarket(), string(body))
	if out.Dropped != 4 || doc.Len() != 4 {
		t.Fatalf("%d dropped, %+v", out.Dropped, doc)
	}
	for i, want := range []source.Prediction{
		{ID: "4", Question: "Q4", Outcome: "Up", URL: "https://polymarket.com/event/up-or.down", Probability: 0.6},
		{ID: "2", Question: "Q2", Outcome: "Yes", Probability: 0.3}, {ID: "5", Question: "Q5", Outcome: "Yes", Probability: 0.5},
		{ID: "9", Question: "Q9", Outcome: "(1)", Probability: 0.25},
	} {
		got := doc.Markets[i]
		if got.EndsAt == nil || !got.EndsAt.Equal(time.Date(2026, 12, 31, 12, 0, 0, 0, time.UTC)) {
			t.Errorf("%s ends %v", got.ID, got.EndsAt)
		}
		got.Volume24h, got.EndsAt = nil, nil
		if got != want {
			t.Errorf("%d: %+v, want %+v", i, got, want)
		}
	}
	if number(doc.Markets[0].Volume24h) != 60 || doc.Markets[2].Volume24h != nil {
		t.Errorf("volumes %+v", doc.Markets)
	}
}

// TestPredictionsOfTheRecording: the end of a market moves with the replay, and a time that cannot be read is unknown.
func TestPredictionsOfTheRecording(t *testing.T) {
	t.Parallel()
	first := recordedDoc(t, source.Polymarket()).(*source.PredictionsDoc).Markets[0]
	if first.Outcome != "Yes" || first.EndsAt == nil || first.EndsAt.Format(time.DateOnly) != "2026-12-31" ||
		first.URL != "https://polymarket.com/event/synthetic-will-the-fed-cut-rates-at-the-december-2026-meeting" {
		t.Errorf("%+v", first)
	}
	doc, _ := decode[*source.PredictionsDoc](t, source.Polymarket(),
		`[{"markets":[{"id":"1","question":"Q","outcomes":"[\"Yes\"]","outcomePrices":"[\"1\"]","endDate":"soon"}]}]`)
	if doc == nil || doc.Markets[0].EndsAt != nil {
		t.Errorf("%+v", doc)
	}
}

// TestIdentifiers: rows bear the ids by which other documents name the same thing; an odd one costs no row.
func TestIdentifiers(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`"aave"`: "aave", `3379`: "3379", `null`: "", `true`: "", `{"a":1}`: "", `["x"]`: "", `"a b"`: "", `"\u001b[31m"`: "", `"[1]"`: "",
		`-1`: "", `"` + strings.Repeat("x", 161) + `"`: "", `"a_b-c.d"`: "a_b-c.d",
	} {
		protocols, _ := decode[*source.ProtocolsDoc](t, source.DefiLlamaProtocols(),
			`[{"slug":"a","name":"A","tvl":1,"category":"C","id":`+given+`,"gecko_id":`+given+`}]`)
		if p := protocols.Protocols[0]; p.LlamaID != want || p.CoinID != want {
			t.Errorf("%s: protocol %+v, want %q", given, p, want)
		}
		hacks, _ := decode[*source.HacksDoc](t, source.DefiLlamaHacks(), `[{"date":1628553600,"name":"H","defillamaId":`+given+`}]`)
		if h := hacks.Hacks[0]; h.LlamaID != want {
			t.Errorf("%s: hack %+v, want %q", given, h, want)
		}
		pools, _ := decode[*source.PoolsDoc](t, source.GeckoTerminalTrending(), `{"data":[{"id":"p","attributes":{"base_token_price_usd":"1"},
			"relationships":{"base_token":{"data":{"id":"t"}}}}],"included":[7,{"id":"t","attributes":{"coingecko_coin_id":`+given+`}},{"id":"u"}]}`)
		if p := pools.Pools[0]; p.CoinID != want {
			t.Errorf("%s: pool %+v, want %q", given, p, want)
		}
	}
	if c := recordedDoc(t, source.DefiLlamaChains()).(*source.ChainsDoc).Chains[0]; c.CoinID != "ethereum" {
		t.Errorf("chain %+v", c)
	}
}

func TestTicker(t *testing.T) {
	t.Parallel()
	pairs := recordedDoc(t, source.Kraken()).(*source.TickerDoc).Pairs
	if pairs[0] != (source.Ticker{CoinID: "bitcoin", Price: 91236.6}) || pairs[1].CoinID != "ethereum" || pairs[6] != (source.Ticker{CoinID: "dogecoin", Price: 0.15224}) {
		t.Errorf("%+v", pairs)
	}
	doc, out := decode[*source.TickerDoc](t, source.Kraken(), `{"error":[],"result":{"XXBTZUSD":{"c":["5","1"]},"XETHZUSD":{"c":[]},"SOLUSD":{"c":["x"]},"OTHER":{"c":["1"]}}}`)
	if out.Class != source.ClassPartial || out.Dropped != 2 || doc.Len() != 1 {
		t.Errorf("%s, %d dropped, %+v", out.Class, out.Dropped, doc)
	}
	_, out = decode[*source.TickerDoc](t, source.Kraken(), `{"error":["EQuery:Unknown\u001b[31m asset\n[1] pair"]}`)
	if out.Err == nil || out.Err.Error() != "bad_content: HTTP 200 with error EQuery:Unknown asset (1) pair" {
		t.Errorf("error %v", out.Err)
	}
	if _, out = decode[*source.TickerDoc](t, source.Kraken(), `{"error":[],"result":{}}`); out.Class != source.ClassEmpty {
		t.Errorf("no pairs: %s", out.Class)
	}
}

func TestExchange(t *testing.T) {
	t.Parallel()
	asked := 0
	stats := func(t *testing.T, broken int, status int) source.Outcome {
		asked = 0
		return fetch(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked >= broken && (status != http.StatusNotFound || asked == broken) {
				w.WriteHeader(status)
				return
			}
			if !strings.HasPrefix(r.URL.Path, "/products/") || !strings.HasSuffix(r.URL.Path, "-USD/stats") {
				t.Errorf("asked for %s", r.URL.Path)
			}
			_, _ = io.WriteString(w, `{"open":"80","high":"1","low":"1","last":"100","volume":"1"}`)
		}), source.CoinbaseExchange(), nil)
	}
	out := stats(t, 2, http.StatusNotFound)
	coins := out.Doc.(*source.ExchangeDoc).Coins
	if out.Class != source.ClassPartial || out.Dropped != 1 || len(coins) != 4 || coins[0].CoinID != "bitcoin" || coins[0].Price != 100 || number(coins[0].Change24h) != 25 {
		t.Errorf("a product is missing: %s, %+v", out.Class, coins)
	}
	out = stats(t, 3, http.StatusTooManyRequests)
	if out.Class != source.ClassPartial || out.Doc.Len() != 2 || asked != 3 {
		t.Errorf("limited after two: %s, %d requests", out.Class, asked)
	}
	out = stats(t, 1, http.StatusForbidden)
	if out.Class != source.ClassForbidden || out.Doc != nil || asked != 1 {
		t.Errorf("refused: %s, %d requests", out.Class, asked)
	}
}

func TestFees(t *testing.T) {
	t.Parallel()
	doc := recordedDoc(t, source.MempoolFees()).(*source.FeesDoc)
	if number(doc.Fastest) != 3 || number(doc.HalfHour) != 2 || number(doc.Hour) != 1 || number(doc.Economy) != 1 || number(doc.Minimum) != 1 {
		t.Errorf("%+v", doc)
	}
	if _, out := decode[*source.FeesDoc](t, source.MempoolFees(), `{"fastestFee":-1}`); out.Class != source.ClassEmpty {
		t.Errorf("no fee: %s", out.Class)
	}
}

func TestGas(t *testing.T) {
	t.Parallel()
	doc := recordedDoc(t, source.BlockscoutGas()).(*source.GasDoc)
	if number(doc.Slow) != 0.31 || number(doc.Average) != 0.42 || number(doc.Fast) != 0.77 || !doc.AsOf.Equal(recordedAt) {
		t.Errorf("%+v", doc)
	}
	const unknown = -12345
	for _, c := range []struct {
		name, body          string
		class               source.Class
		slow, average, fast float64
		age                 time.Duration // of AsOf; less than nothing for none
	}{
		{"whole", `{"gas_prices":{"slow":1,"average":"2.5","fast":3},"gas_price_updated_at":"2026-11-20T19:59:00Z"}`, source.ClassOK, 1, 2.5, 3, time.Minute},
		{"parts", `{"gas_prices":{"slow":null,"average":0,"fast":"much"}}`, source.ClassOK, unknown, 0, unknown, -1},
		{"most that can be", `{"gas_prices":{"slow":1000000.1,"average":1000000,"fast":-1},"gas_price_updated_at":"soon"}`, source.ClassOK, unknown, 1e6, unknown, -1},
		{"too much", `{"gas_prices":{"slow":1,"average":1000001,"fast":3}}`, source.ClassEmpty, 0, 0, 0, 0},
		{"without", `{"gas_prices":null}`, source.ClassEmpty, 0, 0, 0, 0},
		{"of another kind", `{"gas_prices":[1,2,3]}`, source.ClassEmpty, 0, 0, 0, 0},
		{"an hour old", `{"gas_prices":{"average":2},"gas_price_updated_at":"2026-11-20T19:00:00Z"}`, source.ClassOK, unknown, 2, unknown, time.Hour},
		{"frozen", `{"gas_prices":{"average":2},"gas_price_updated_at":"2026-11-20T18:59:59Z"}`, source.ClassEmpty, 0, 0, 0, 0},
		{"ahead", `{"gas_prices":{"average":2},"gas_price_updated_at":"2026-11-20T20:30:00Z"}`, source.ClassOK, unknown, 2, unknown, 0},
	} {
		doc, out := decode[*source.GasDoc](t, source.BlockscoutGas(), c.body)
		if out.Class != c.class || (doc == nil) != (c.class != source.ClassOK) {
			t.Errorf("%s: %s (%v), %+v, want %s", c.name, out.Class, out.Err, doc, c.class)
			continue
		}
		if doc == nil {
			continue
		}
		if number(doc.Slow) != c.slow || number(doc.Average) != c.average || number(doc.Fast) != c.fast {
			t.Errorf("%s: %v, %v, %v", c.name, number(doc.Slow), number(doc.Average), number(doc.Fast))
		}
		if age := recordedAt.Sub(doc.AsOf); doc.AsOf.IsZero() != (c.age < 0) || c.age >= 0 && age != c.age {
			t.Errorf("%s: as of %v", c.name, doc.AsOf)
		}
	}
}
