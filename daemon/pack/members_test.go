package pack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/sdk/api"
)

func TestProtocolGroups(t *testing.T) {
	t.Parallel()
	doc := &source.ProtocolsDoc{}
	add := func(slug string, tvl float64, change *float64) {
		doc.Protocols = append(doc.Protocols, source.Protocol{Slug: slug, Name: slug, Category: "C", TVL: tvl, Change1d: change, Chains: 2, TopChain: "E"})
	}
	for i := range 12 {
		add(fmt.Sprint("top", 11-i), 1e9+float64(i/2), ptr(-60.0)) // pairs of equal size
	}
	add("small", 24.9e6, ptr(90.0))
	add("enough", 25e6, ptr(80.0))
	add("still", 30e6, ptr(0.001))
	add("unknown", 30e6, nil)
	for i, change := range []float64{-5, 5, -4, 3} {
		add(fmt.Sprint("m", i), 50e6, &change)
	}
	add("top3", 9e9, ptr(1.0)) // once more, and not counted
	add("", 9e9, ptr(1.0))
	chains := &source.ChainsDoc{Chains: []source.Chain{{Name: "Two Words", TVL: 5.4, Change1d: ptr(-1.005)}, {Name: "Big", TVL: 1e12}, {Name: "big", TVL: 9}, {}}}
	for i := range 6 {
		chains.Chains = append(chains.Chains, source.Chain{Name: fmt.Sprint("c", i), TVL: 5})
	}
	data, s := compact(t, only(map[string]source.Doc{"defillama-protocols": doc, "defillama-chains": chains}))
	var got []string
	for _, r := range s.ProtocolTVL {
		got = append(got, r.Group+" "+r.ID)
	}
	want := []string{
		"top top0", "top top1", "top top2", "top top3", "top top4", "top top5", "top top6", "top top7", "top top8", "top top9", "top top10",
		"top top11", "mover enough", "mover m0", "mover m1", "mover m2", "mover m3",
		"chain chain:big", "chain chain:two-words", "chain chain:c0", "chain chain:c1", "chain chain:c2", "chain chain:c3",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if c := s.ProtocolTVL[18]; *c.TVLUSD != 5 || *c.Change1dPct != -1 && *c.Change1dPct != -1.01 || c.Change7dPct != nil || c.Ref != 6 || c.Category != "Chain" || c.Chains != 0 {
		t.Errorf("chain %+v", c)
	}
	if p := s.ProtocolTVL[0]; p.Chains != 2 || p.TopChain != "E" || p.Ref != 5 || p.Category != "C" {
		t.Errorf("protocol %+v", p)
	}
	checkState(t, data, s)
}

func TestPoolRisks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		pool source.Pool
		want string
	}{
		{"sound", source.Pool{Liquidity: ptr(1e5), Volume24h: ptr(1999999.0), Change24h: ptr(99.99), CreatedAt: ptr(now.Add(-24 * time.Hour))}, ""},
		{"thin", source.Pool{Liquidity: ptr(99999.0)}, "low_liquidity"},
		{"nobody knows", source.Pool{Volume24h: ptr(1e9)}, "low_liquidity"},
		{"new", source.Pool{Liquidity: ptr(1e6), CreatedAt: ptr(now.Add(-24*time.Hour + 1))}, "new_pool"},
		{"wild", source.Pool{Liquidity: ptr(1e6), Change24h: ptr(-100.0)}, "extreme_move"},
		{"busy", source.Pool{Liquidity: ptr(1e5), Volume24h: ptr(2e6)}, "high_turnover"},
		{"empty", source.Pool{Liquidity: ptr(0.0), Volume24h: ptr(0.0)}, "low_liquidity"},
		{"all", source.Pool{Liquidity: ptr(0.0), Volume24h: ptr(1.0), Change24h: ptr(100.0), CreatedAt: ptr(now.Add(time.Hour))},
			"low_liquidity new_pool extreme_move high_turnover"},
	} {
		c.pool.ID = "p"
		_, s := compact(t, only(map[string]source.Doc{"geckoterminal-trending": &source.PoolsDoc{Pools: []source.Pool{c.pool}}}))
		if got := strings.Join(s.TrendingPools[0].Risk, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if age := deref(s.TrendingPools[0].AgeHours); age < 0 {
			t.Errorf("%s: %d hours old", c.name, age)
		}
	}
}

func TestPoolsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	doc := &source.PoolsDoc{}
	for _, id := range strings.Split("z,y,z,,x,a,b,c,d,e,f,g,h,i,j", ",") {
		doc.Pools = append(doc.Pools, source.Pool{ID: id, Pair: id, CreatedAt: ptr(now.Add(-90 * time.Minute)), Txns24h: ptr(int64(3))})
	}
	_, s := compact(t, only(map[string]source.Doc{"geckoterminal-trending": doc}))
	var order string
	for i, p := range s.TrendingPools {
		order += p.ID
		if p.Position != i+1 || *p.AgeHours != 1 || *p.Txns24h != 3 || p.Ref != 9 || p.PriceUSD != nil {
			t.Errorf("%+v", p)
		}
	}
	if order != "zyxabcdefghi" {
		t.Errorf("order %s", order)
	}
}

func TestFearAndGreedDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		ages      []int // days
		day, week any
	}{
		{"seven days reach back six", []int{0, 1, 2, 3, 4, 5, 6}, 1, nil},
		{"eight days", []int{0, 1, 2, 3, 4, 5, 6, 7}, 1, 7},
		{"only today", []int{0}, nil, nil},
		{"yesterday is missing", []int{0, 2, 7}, nil, 7},
	} {
		doc := &source.FearGreedDoc{NextUpdate: ptr(now.Add(time.Hour))}
		for _, age := range c.ages {
			doc.Days = append(doc.Days, source.FearGreedDay{Value: age, Label: "L", At: now.AddDate(0, 0, -age)})
		}
		_, s := compact(t, only(map[string]source.Doc{"alternativeme-fng": doc}))
		f := s.Sentiment.FearGreed
		for name, pair := range map[string][2]any{"day": {f.PreviousDay, c.day}, "week": {f.WeekAgo, c.week}} {
			if got := pair[0].(*int); (got == nil) != (pair[1] == nil) || got != nil && *got != pair[1] {
				t.Errorf("%s: %s %v, want %v", c.name, name, deref(got), pair[1])
			}
		}
		if f.Value != 0 || f.Label != "L" || !f.NextUpdateAt.Equal(now.Add(time.Hour)) || f.Ref != 10 {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

func TestStablecoinSupply(t *testing.T) {
	t.Parallel()
	usd := func(supply float64, before *float64) source.Stablecoin {
		return source.Stablecoin{ID: "x", Symbol: "X", PegType: "peggedUSD", Supply: supply, PrevDay: before}
	}
	for _, c := range []struct {
		name   string
		coins  []source.Stablecoin
		supply any
		change any
	}{
		{"both known", []source.Stablecoin{usd(110, ptr(100.0)), usd(90, ptr(100.0)), {PegType: "peggedEUR", Supply: 1e9}}, 200.0, 0.0},
		{"one unknown before", []source.Stablecoin{usd(110, ptr(100.0)), usd(1000, nil)}, 1110.0, 10.0},
		{"none known before", []source.Stablecoin{usd(110, nil)}, 110.0, nil},
		{"nothing before", []source.Stablecoin{usd(110, ptr(0.0))}, 110.0, nil},
		{"none in dollars", []source.Stablecoin{{PegType: "peggedEUR", Supply: 1e9}}, nil, nil},
	} {
		_, s := compact(t, only(map[string]source.Doc{"defillama-stablecoins": &source.StablecoinsDoc{Coins: c.coins}}))
		got := s.Sentiment.Stablecoins
		if (got == nil) != (c.supply == nil) {
			t.Errorf("%s: %+v", c.name, got)
			continue
		}
		if got != nil && (float64(*got.SupplyUSD) != c.supply || (got.Change1dPct == nil) != (c.change == nil) || got.Change1dPct != nil && *got.Change1dPct != c.change) {
			t.Errorf("%s: %v, %v, want %v, %v", c.name, *got.SupplyUSD, deref(got.Change1dPct), c.supply, c.change)
		}
	}
}

func TestReadingsWithNothingUsableAreNull(t *testing.T) {
	t.Parallel()
	_, s := compact(t, only(map[string]source.Doc{
		"alternativeme-fng": &source.FearGreedDoc{}, "coingecko-global": &source.GlobalDoc{}, "mempool-fees": &source.FeesDoc{},
		"coingecko-markets":     &source.MarketsDoc{Coins: []source.Coin{{ID: "a", Price: 1}, {ID: "dai", Price: 1, Change24h: ptr(1.0)}}},
		"defillama-stablecoins": &source.StablecoinsDoc{}, "polymarket-crypto": &source.PredictionsDoc{},
		"kraken-ticker": &source.FeesDoc{}, // of a kind that the source does not make
	}))
	m := s.Sentiment
	if m.FearGreed != nil || m.Market != nil || m.Breadth != nil || m.Stablecoins != nil || m.Fees != nil || m.Predictions == nil || len(m.Predictions) != 0 {
		t.Errorf("%+v", m)
	}
	_, s = compact(t, only(map[string]source.Doc{
		"coingecko-global":  &source.GlobalDoc{BTCDominance: ptr(54.321)},
		"coingecko-markets": &source.MarketsDoc{Coins: []source.Coin{{ID: "a", Price: 1, Change24h: ptr(0.0)}}},
	}))
	if m := s.Sentiment.Market; m == nil || *m.BTCDominancePct != 54.32 || m.TotalMarketCapUSD != nil || m.Ref != 3 {
		t.Errorf("market %+v", m)
	}
	if b := s.Sentiment.Breadth; b == nil || *b != (api.Breadth{Ref: 1}) {
		t.Errorf("breadth %+v: one coin that did not move", b)
	}
}

func TestPredictions(t *testing.T) {
	t.Parallel()
	doc := &source.PredictionsDoc{Markets: []source.Prediction{
		{ID: "silent", Question: "?", Probability: 0.5}, {ID: "b", Question: "?", Probability: 0.12345, Volume24h: ptr(5.0)},
		{ID: "odd", Question: "?", Probability: 1.5, Volume24h: ptr(9.0)}, {ID: "a", Question: "?", Probability: 1, Volume24h: ptr(5.0)},
		{ID: "last", Question: "?", Probability: 0}, {ID: "a", Question: "again", Volume24h: ptr(99.0)},
	}}
	_, s := compact(t, only(map[string]source.Doc{"polymarket-crypto": doc}))
	var got []string
	for _, p := range s.Sentiment.Predictions {
		text := "unknown"
		if p.Probability != nil {
			text = fmt.Sprint(*p.Probability)
		}
		got = append(got, p.ID+" "+text)
	}
	if want := []string{"odd unknown", "a 1", "b 0.123", "last 0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
