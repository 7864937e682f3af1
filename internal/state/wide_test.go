package state_test

import (
	"fmt"
	"strings"
	"testing"
)

// wideState is a crypto state widened to the given number of rows per member, 54 leaves each. Numbers, names and risks vary from
// row to row, so that texts repeat about as often as in a real state.
func wideState(rows int) []byte {
	coins := []string{"Bitcoin", "Ether", "Solana", "BNB", "XRP", "Zcash", "Virtuals Protocol", "Jito", "Toncoin", "Hyperliquid", "Sei"}
	chains := []string{"Arbitrum", "Base", "BSC", "Solana", "Tron", "Polygon PoS"}
	var movers, protocols, pools, themes []string
	for i := range rows {
		coin, chain, n := coins[i%len(coins)], chains[i%len(chains)], 7919*(i+3)
		movers = append(movers,
			fmt.Sprintf(`{"group":"gainer","id":"coin-%d","symbol":"C%X","name":"%s","priceUsd":%d.%02d,"change1hPct":-0.%02d,
			"change24hPct":%d.7,"change7dPct":null,"marketCapUsd":%d000000,"volume24hUsd":%d,"rank":%d,"ref":1,"spark":[%d,%d]}`,
				i, n, coin, n%977, i%100, n%100, n%31, n, n*n, i+1, n%89, n%97))
		protocols = append(protocols, fmt.Sprintf(`{"group":"top","id":"protocol-%d","name":"%s Lend V%d","category":"Lending","chains":%d,
			"topChain":"Ethereum","tvlUsd":%d00000,"change1dPct":%d.75,"change7dPct":-%d.98,"ref":5}`, i, coin, i%4, i%9+2, n*31, n%7, n%9))
		pools = append(pools,
			fmt.Sprintf(`{"position":%d,"id":"base_0x8c2c8763%x","pair":"GIT%d / WETH","network":"%s","dex":"uniswap-v4","priceUsd":%d.38e-05,
			"change1hPct":%d.17,"change24hPct":-30.%d,"volume24hUsd":%d,"liquidityUsd":%d,"txns24h":%d,"ageHours":%d,"risk":["new_pool","low_liquidity"],"ref":9}`,
				i+1, n*n, i, chain, n%9+2, n%5, n%10, n*271, n*313, n%9973, n%937))
		themes = append(themes, fmt.Sprintf(`{"id":"theme-%d","name":"Privacy Coins %d","score":0.%03d,"direction":"up","marketCapUsd":%d,
			"change24hPct":11.%d,"trendingSymbols":["ZEC","%s"],"headlines":[{"title":"%s extends rally as Ethereum funds lead, desk %d says",
			"url":"https://www.example.com/markets/%d/rally","publishedAt":"2026-11-20T19:30:00Z","ref":11,"sources":[12,13]}],"ref":4}`,
			i, i, n%1000, n*4409, n%10, strings.ToUpper(chain), coin, i, n))
	}
	return fmt.Appendf(nil, `{"top_movers":[%s],"protocol_tvl":[%s],"trending_pools":[%s],
		"sentiment":{"fearGreed":{"value":24,"label":"Extreme Fear","previousDay":null,"ref":10},"market":null,"fees":{"btcFastestSatVb":3,"ref":16}},
		"narratives":[%s],"flags":[{"id":"sentiment:fng","subject":"Fear & Greed","message":"Fear & Greed at 24 (Extreme Fear)","ref":10}]}`,
		strings.Join(movers, ","), strings.Join(protocols, ", "), strings.Join(pools, ",\n"), strings.Join(themes, ","))
}

// usualRows makes a state of the usual size, a little over 1,500 leaves.
const usualRows = 29

// queryKinds are the four kinds of queries that the design was measured with.
func queryKinds() []struct{ name, q string } {
	return []struct{ name, q string }{{"word", "ethereum"}, {"one", "GIT13"}, {"none", "quetzal"}, {"digit", "1"}}
}

// TestWideState holds the state of the benchmarks to what they are said to measure.
func TestWideState(t *testing.T) {
	t.Parallel()
	table := newTable(t, wideState(usualRows))
	if n := table.Len(); n < 1500 || n > 1700 {
		t.Errorf("%d leaves, want a little over 1,500", n)
	}
	for i, want := range []struct{ least, most float64 }{{3, 5}, {0.01, 0.1}, {0, 0}, {30, 45}} {
		kind := queryKinds()[i]
		total := table.Search(kind.q, 10).Total
		if share := 100 * float64(total) / float64(table.Len()); share < want.least || share > want.most {
			t.Errorf("%s: %q hits %d leaves, %.1f%%", kind.name, kind.q, total, share)
		}
	}
}

func TestSearchAgreesOnWideState(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{usualRows, 60} { // under and over the leaves that are ranked without allocation
		text := wideState(rows)
		table, tree := newTable(t, text), readState(t, text)
		for _, q := range []string{
			"ethereum", "ETHER", "git13", "quetzal", "1", "0", ".", "-", "\"", " / ", "pool", "NEW_POOL", "true", "name", "ref",
			"headlines", "sources",
			"e", "fear & greed", "extreme fear", "2026-11-20", "https://", "38e-05", "[", "null", "change", "priceusd", "a b", "ß",
			"\xff", "🚀",
		} {
			for _, k := range []int{1, 10, 50, 1 << 20} {
				agree(t, table, tree, q, k)
			}
		}
	}
}

// TestSearchAllocations counts what one search allocates: the matches and the folded query, whatever the number of leaves.
func TestSearchAllocations(t *testing.T) {
	for _, rows := range []int{usualRows, 60} {
		table := newTable(t, wideState(rows))
		for _, kind := range queryKinds() {
			if n := testing.AllocsPerRun(20, func() { table.Search(kind.q, 10) }); n > 4 {
				t.Errorf("%d leaves, %s: %v allocations", table.Len(), kind.name, n)
			}
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	table := newTable(b, wideState(usualRows))
	for _, kind := range queryKinds() {
		b.Run(kind.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				table.Search(kind.q, 10)
			}
		})
	}
}

// BenchmarkNaive is what the Table is for: the same answers by walking the tree, which was parsed before.
func BenchmarkNaive(b *testing.B) {
	tree := readState(b, wideState(usualRows))
	for _, kind := range queryKinds() {
		b.Run(kind.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tree.search(kind.q, 10)
			}
		})
	}
}

func BenchmarkNewTable(b *testing.B) {
	text := wideState(usualRows)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		newTable(b, text)
	}
}
