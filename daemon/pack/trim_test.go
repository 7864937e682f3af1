package pack_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/sdk/api"
)

// crowded fills every member and makes the texts of each source as long as a factor of their caps, of the given letter. Of its
// flags, the given numbers are up.
func crowded(letter string, length float64, critical, notices int) pack.Input {
	text := func(limit int, i int) string {
		return strings.Repeat(letter, max(0, int(float64(limit)*length)-3)) + fmt.Sprintf("%03d", i)
	}
	markets, protocols, chains := &source.MarketsDoc{}, &source.ProtocolsDoc{}, &source.ChainsDoc{}
	stable, pools, odds := &source.StablecoinsDoc{}, &source.PoolsDoc{}, &source.PredictionsDoc{}
	categories, trending, news := &source.CategoriesDoc{}, &source.TrendingDoc{}, &source.NewsDoc{}
	for i := range 40 {
		change := float64(i-20) * 0.7
		big := float64(1e12 + i)
		c := source.Coin{
			ID: text(80, i), Symbol: text(16, i), Name: text(48, i), Price: big, Change24h: &change, Change1h: ptr(0.55), Change7d: &change,
			MarketCap: &big, Volume24h: &big, Rank: ptr(int(1e9)),
		}
		if i < notices {
			c.Change24h = ptr(-30.0)
		}
		markets.Coins = append(markets.Coins, c)
		tvl, fall := big, change/10
		if i < critical {
			fall = -50
		}
		protocols.Protocols = append(protocols.Protocols, source.Protocol{
			Slug: text(80, i), Name: text(48, i), Category: text(48, i), TopChain: text(48, i), Chains: 99, TVL: tvl, Change1d: &fall, Change7d: &fall,
		})
		chains.Chains = append(chains.Chains, source.Chain{Name: text(48, i), TVL: tvl, Change1d: &change, Change7d: &change})
		pools.Pools = append(pools.Pools, source.Pool{ID: text(160, i), Pair: text(48, i), Network: text(48, i), Dex: text(48, i), Price: &big, Change24h: ptr(1e5)})
		odds.Markets = append(odds.Markets, source.Prediction{ID: text(80, i), Question: text(96, i), Probability: 0.5, Volume24h: &big})
		categories.Categories = append(categories.Categories, source.Category{ID: text(80, i), Name: "topic", MarketCap: &big, Change24h: ptr(9.0), TopCoins: []string{"t"}})
		trending.Coins = append(trending.Coins, source.TrendingCoin{ID: "t", Symbol: text(16, i)})
		news.Items = append(news.Items, source.Headline{
			Title: "topic " + text(90, i), URL: "https://example.com/" + strings.Repeat("u", int(480*length)), PublishedAt: now.Add(-time.Duration(i) * time.Minute),
		})
	}
	in := only(map[string]source.Doc{
		"coingecko-markets": markets, "defillama-protocols": protocols, "defillama-chains": chains, "defillama-stablecoins": stable,
		"geckoterminal-trending": pools, "polymarket-crypto": odds, "coingecko-categories": categories, "coingecko-trending": trending,
		"news-coindesk": news, "alternativeme-fng": &source.FearGreedDoc{Days: []source.FearGreedDay{{Value: 50, Label: text(48, 0), At: now}}},
	})
	for _, s := range pack.Crypto().Sources {
		if _, ok := in.Readings[s.ID]; !ok {
			in.Readings[s.ID] = pack.Reading{Failures: 1, Err: text(120, 0)}
		}
	}
	return in
}

// shape tells how much of each member is left: headlines/pools/gainers/losers/top/flags/critical.
func shape(s api.CryptoState) string {
	count := make(map[string]int)
	for _, n := range s.Narratives {
		count["headlines"] = max(count["headlines"], len(n.Headlines))
	}
	for _, m := range s.TopMovers {
		count[m.Group]++
	}
	for _, p := range s.ProtocolTVL {
		count[p.Group]++
	}
	for _, f := range s.Flags {
		if f.Severity == api.SeverityCritical {
			count["critical"]++
		}
	}
	return fmt.Sprintf("%d headlines, %d pools, %d+%d movers, %d top, %d flags, %d critical", count["headlines"], len(s.TrendingPools),
		count[api.GroupGainer], count[api.GroupLoser], count[api.GroupTop], len(s.Flags), count["critical"])
}

func TestTrimOrder(t *testing.T) {
	t.Parallel()
	var shapes []string
	for length := 0.1; length <= 1; length += 0.01 {
		data, s := compact(t, crowded("x", length, 3, 16))
		if len(data) > pack.MaxState {
			t.Errorf("%d bytes", len(data))
		}
		if len(s.SourceStatus) != 18 {
			t.Errorf("%d sources", len(s.SourceStatus))
		}
		if got := shape(s); len(shapes) == 0 || got != shapes[len(shapes)-1] {
			shapes = append(shapes, got)
		}
	}
	want := []string{
		"2 headlines, 12 pools, 8+8 movers, 12 top, 19 flags, 3 critical",
		"1 headlines, 12 pools, 8+8 movers, 12 top, 19 flags, 3 critical",
		"1 headlines, 8 pools, 8+8 movers, 12 top, 19 flags, 3 critical",
		"1 headlines, 8 pools, 6+6 movers, 12 top, 19 flags, 3 critical",
		"1 headlines, 8 pools, 6+6 movers, 8 top, 19 flags, 3 critical",
		"1 headlines, 8 pools, 6+6 movers, 8 top, 12 flags, 3 critical",
		"0 headlines, 8 pools, 6+6 movers, 8 top, 12 flags, 3 critical",
		"0 headlines, 0 pools, 6+6 movers, 8 top, 12 flags, 3 critical",
	}
	if got, want := strings.Join(shapes, "\n"), strings.Join(want, "\n"); got != want {
		t.Errorf("with ever longer texts:\n%s\nwant\n%s", got, want)
	}
}

func TestEveryStateFits(t *testing.T) {
	t.Parallel()
	long.Test(t)
	// The connectors cap their texts, but a stored answer may be of another version, which had other caps: hence the last one.
	letters := []string{"語", "long", "x", `"`, `\`, "😀", "<"}
	if !long.On() { // one that takes several bytes
		letters = letters[:1]
	}
	for _, letter := range letters {
		length := 1.0
		if letter == "long" {
			length = 99
		}
		for critical := range 3 {
			in := crowded(letter, length, critical*15, 20)
			data, s := compact(t, in)
			checkState(t, data, s)
			for id := range in.Readings { // now all sources fail, too, and their errors are as long
				in = with(in, id, func(r *pack.Reading) { r.Failures, r.Err = 1, strings.Repeat(letter, 200) })
			}
			in.Prev = read(data)
			data, s = compact(t, in)
			checkState(t, data, s)
			up := 0
			for _, f := range s.Flags {
				if f.Severity == api.SeverityCritical {
					up++
				}
			}
			if want := min(critical*15, 20); up != want || len(s.SourceStatus) != 18 {
				t.Errorf("%s, %d critical: %d are left, %d sources", letter, want, up, len(s.SourceStatus))
			}
		}
	}
}
