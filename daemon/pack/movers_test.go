package pack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/sdk/api"
)

// coin is a coin with a change of the day, traded for a billion.
func coin(id string, change float64) source.Coin {
	return source.Coin{ID: id, Symbol: strings.ToUpper(id), Name: id, Price: 2, Change24h: &change, MarketCap: ptr(1e9), Volume24h: ptr(1e9)}
}

// movers lists rows as "group id".
func movers(s api.CryptoState) []string {
	list := []string{}
	for _, m := range s.TopMovers {
		list = append(list, m.Group+" "+m.ID)
	}
	return list
}

func TestMoversLeaveOut(t *testing.T) {
	t.Parallel()
	quiet, unknown, unsaid := coin("quiet", 5), coin("unknown", 5), coin("unsaid", 5)
	quiet.Volume24h, unknown.Change24h, unsaid.Volume24h = ptr(999_999.0), nil, nil
	enough := coin("enough", 5)
	enough.Volume24h = ptr(1e6)
	coins := []source.Coin{
		coin("bitcoin", 50), coin("pegged", 9), coin("dai", 9), coin("staked-ether", 9), coin("wrapped-bitcoin", 9), coin("weth", 9),
		coin("coinbase-wrapped-btc", -9), quiet, unknown, unsaid, coin("still", 0), coin("hardly", 0.004), coin("barely", -0.005), enough,
		coin("up", 3), coin("up", 7), coin("", 9), coin("down", -3),
	}
	in := only(map[string]source.Doc{
		"coingecko-markets":     &source.MarketsDoc{Coins: coins},
		"defillama-stablecoins": &source.StablecoinsDoc{Coins: []source.Stablecoin{{ID: "pegged", Symbol: "P", PegType: "peggedEUR"}}},
	})
	want := []string{"major bitcoin", "gainer enough", "gainer up", "loser down", "loser barely"}
	for _, age := range []time.Duration{0, 24 * time.Hour} { // even an answer that is dropped tells what is a stablecoin
		data, s := compact(t, aged(in, "defillama-stablecoins", age))
		if got := movers(s); !slices.Equal(got, want) {
			t.Errorf("stablecoins %v old: %q, want %q", age, got, want)
		}
		checkState(t, data, s)
		if b := s.Sentiment.Breadth; b == nil || b.Advancing != 5 || b.Declining != 2 || deref(b.AdvancingPct) != 71.43 {
			t.Errorf("breadth %+v", b)
		}
	}
}

func TestMoversAreTheEightLargestEitherWay(t *testing.T) {
	t.Parallel()
	var coins []source.Coin
	for i := range 10 {
		coins = append(coins, coin(fmt.Sprint("g", 9-i), float64(10+i/2)), coin(fmt.Sprint("l", i), -float64(10+i/2)))
	}
	_, s := compact(t, only(map[string]source.Doc{"coingecko-markets": &source.MarketsDoc{Coins: coins}}))
	want := "gainer g0 gainer g1 gainer g2 gainer g3 gainer g4 gainer g5 gainer g6 gainer g7 " +
		"loser l8 loser l9 loser l6 loser l7 loser l4 loser l5 loser l2 loser l3"
	if got := strings.Join(movers(s), " "); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestMoverFigures(t *testing.T) {
	t.Parallel()
	c := source.Coin{
		ID: "a", Symbol: "A", Name: "Aha", Price: 0.00012345678, Change1h: ptr(-0.001), Change24h: ptr(1.235), Change7d: ptr(1e5),
		MarketCap: ptr(12345.5), Volume24h: ptr(2e6), Rank: ptr(7),
	}
	_, s := compact(t, only(map[string]source.Doc{"coingecko-markets": &source.MarketsDoc{Coins: []source.Coin{c}}}))
	m := s.TopMovers[0]
	if *m.PriceUSD != 0.000123457 || *m.Change1hPct != 0 || *m.Change24hPct != 1.24 || *m.Change7dPct != 1e5 || *m.MarketCapUSD != 12346 ||
		*m.Volume24hUSD != 2e6 || *m.Rank != 7 || m.Name != "Aha" || m.Symbol != "A" || m.Ref != 1 {
		t.Errorf("%+v", m)
	}
}

// priced has every source of prices, each with prices of its own.
func priced() pack.Input {
	gecko := []source.Coin{coin("bitcoin", 1), coin("ethereum", 1), coin("solana", 1), coin("binancecoin", 1), coin("ripple", 1), coin("other", 5)}
	exchange := &source.ExchangeDoc{Coins: []source.ExchangeCoin{
		{CoinID: "bitcoin", Price: 17, Change24h: ptr(2.345)}, {CoinID: "ethereum", Price: 17}, {CoinID: "solana", Price: 17}, {CoinID: "ripple", Price: 17},
	}}
	ticker := &source.TickerDoc{}
	for _, id := range []string{"bitcoin", "ethereum", "solana", "binancecoin", "ripple", "dogecoin"} {
		ticker.Pairs = append(ticker.Pairs, source.Ticker{CoinID: id, Price: 15})
	}
	return only(map[string]source.Doc{"coingecko-markets": &source.MarketsDoc{Coins: gecko}, "coinbase-exchange": exchange, "kraken-ticker": ticker})
}

func TestPriceFallback(t *testing.T) {
	t.Parallel()
	const never = -time.Second
	for _, c := range []struct {
		name                    string
		gecko, coinbase, kraken time.Duration // ages
		refs                    string        // of BTC ETH SOL BNB XRP
		others                  int
	}{
		{"all well", 0, 0, 0, "[1 1 1 1 1]", 1},
		{"just in time", 900 * time.Second, 0, 0, "[1 1 1 1 1]", 1},
		{"late: BNB is not on Coinbase", 901 * time.Second, 0, 0, "[17 17 17 15 17]", 1},
		{"Coinbase just in time", 901 * time.Second, 900 * time.Second, 0, "[17 17 17 15 17]", 1},
		{"Coinbase late", 901 * time.Second, 901 * time.Second, 0, "[15 15 15 15 15]", 1},
		{"no Coinbase", 901 * time.Second, never, 900 * time.Second, "[15 15 15 15 15]", 1},
		{"all late: the usual one is carried", 901 * time.Second, 901 * time.Second, 901 * time.Second, "[1 1 1 1 1]", 1},
		{"others are carried to the end", 2700 * time.Second, 0, 0, "[17 17 17 15 17]", 1},
		{"then they go", 2701 * time.Second, 0, 0, "[17 17 17 15 17]", 0},
		{"dropped, the others late", 2701 * time.Second, 2700 * time.Second, 2700 * time.Second, "[17 17 17 15 17]", 0},
		{"dropped, the others too", 2701 * time.Second, 2701 * time.Second, 2701 * time.Second, "[]", 0},
		{"never any", never, never, never, "[]", 0},
		{"never any from the usual one", never, 0, 0, "[17 17 17 15 17]", 0},
	} {
		in := priced()
		for id, age := range map[string]time.Duration{"coingecko-markets": c.gecko, "coinbase-exchange": c.coinbase, "kraken-ticker": c.kraken} {
			if age == never {
				delete(in.Readings, id)
				continue
			}
			in = aged(in, id, age)
		}
		_, s := compact(t, in)
		refs, others := []int{}, 0
		for _, m := range s.TopMovers {
			if m.Group == api.GroupMajor {
				refs = append(refs, m.Ref)
			} else {
				others++
			}
			if m.Ref != 1 && (m.Rank != nil || m.MarketCapUSD != nil || m.Volume24hUSD != nil || m.Change7dPct != nil || m.Change1hPct != nil ||
				*m.PriceUSD != float64(m.Ref) || m.Symbol == "" || m.Name == "") {
				t.Errorf("%s: %+v", c.name, m)
			}
			if change := deref(m.Change24hPct); m.Ref == 17 && m.ID == "bitcoin" && change != 2.35 && change != 2.34 || m.Ref == 15 && m.Change24hPct != nil {
				t.Errorf("%s: %s [%d] changed by %v", c.name, m.ID, m.Ref, change)
			}
		}
		if got := fmt.Sprint(refs); got != c.refs || others != c.others {
			t.Errorf("%s: refs %s, %d others, want %s, %d", c.name, got, others, c.refs, c.others)
		}
	}
}

// TestFirstFailureIsFallback: an exchange that answered in the same refresh knows more than a market list that did not.
func TestFirstFailureIsFallback(t *testing.T) {
	t.Parallel()
	failed := func(in pack.Input, id string) pack.Input {
		return with(in, id, func(r *pack.Reading) { r.Failures, r.Err = 1, "HTTP 503" })
	}
	const gecko, coinbase, kraken = "coingecko-markets", "coinbase-exchange", "kraken-ticker"
	for _, c := range []struct {
		name  string
		in    pack.Input
		refs  string // of BTC ETH SOL BNB XRP
		stale string
	}{
		{"all well", priced(), "[1 1 1 1 1]", "[]"},
		{"the list failed", failed(priced(), gecko), "[17 17 17 15 17]", "[1]"},
		{"an exchange failed", failed(priced(), coinbase), "[1 1 1 1 1]", "[]"},
		{"two failed", failed(failed(priced(), gecko), coinbase), "[15 15 15 15 15]", "[1]"},
		{"all failed at once", failed(failed(failed(priced(), gecko), coinbase), kraken), "[1 1 1 1 1]", "[1]"},
		{"all failed, the list a minute before", aged(failed(failed(failed(priced(), gecko), coinbase), kraken), gecko, time.Minute), "[1 1 1 1 1]", "[1]"},
		{"all failed, the list long before", aged(failed(failed(failed(priced(), gecko), coinbase), kraken), gecko, time.Minute+1), "[17 17 17 15 17]",
			"[1 15 17]"},
	} {
		_, s := compact(t, c.in)
		refs, stale := []int{}, []int{}
		for _, m := range s.TopMovers {
			if m.Group == api.GroupMajor {
				refs = append(refs, m.Ref)
			}
			if m.Stale && !slices.Contains(stale, m.Ref) {
				stale = append(stale, m.Ref)
			}
		}
		slices.Sort(stale)
		if got := fmt.Sprint(refs); got != c.refs || fmt.Sprint(stale) != c.stale {
			t.Errorf("%s: from %s, stale %v, want %s, %s", c.name, got, stale, c.refs, c.stale)
		}
	}
}

func TestMajorMissingFromTheMarketList(t *testing.T) {
	t.Parallel()
	in := priced()
	doc := in.Readings["coingecko-markets"].Doc.(*source.MarketsDoc)
	doc.Coins = slices.DeleteFunc(doc.Coins, func(c source.Coin) bool { return c.ID == "solana" })
	_, s := compact(t, in)
	if m := s.TopMovers[2]; m.ID != "solana" || m.Ref != 17 {
		t.Errorf("%+v, want Solana from Coinbase", m)
	}
	if m := s.TopMovers[0]; m.Symbol != "BTC" || m.Name != "Bitcoin" { // whatever the source writes
		t.Errorf("%+v, want a major under its own name", m)
	}
}

// TestVenues: each major bears the last prices at the exchanges beside that of its row, with the anchors of both.
func TestVenues(t *testing.T) {
	t.Parallel()
	btc := coin("bitcoin", 1)
	btc.Price = 100
	in := only(map[string]source.Doc{
		"coingecko-markets": &source.MarketsDoc{Coins: []source.Coin{btc, coin("zcash", 30)}},
		"kraken-ticker":     &source.TickerDoc{Pairs: []source.Ticker{{CoinID: "bitcoin", Price: 100.5}, {CoinID: "zcash", Price: 7}}},
		"coinbase-exchange": &source.ExchangeDoc{Coins: []source.ExchangeCoin{{CoinID: "bitcoin", Price: 99.5}}},
	})
	told := func(in pack.Input) (text string) {
		_, s := compact(t, in)
		for _, m := range s.TopMovers {
			text += fmt.Sprintf("%s [%d]", m.ID, m.Ref)
			for _, q := range m.Venues {
				text += fmt.Sprintf(" %g [%d] %v", *q.PriceUSD, q.Ref, q.Stale)
			}
			text += ";"
		}
		return text
	}
	failed := func(in pack.Input, id string) pack.Input {
		return with(in, id, func(r *pack.Reading) { r.Failures = 1 })
	}
	for name, c := range map[string]struct {
		in   pack.Input
		want string
	}{
		"all answer":          {in, "bitcoin [1] 100.5 [15] false 99.5 [17] false;zcash [1];"},
		"one is carried":      {failed(in, "kraken-ticker"), "bitcoin [1] 100.5 [15] true 99.5 [17] false;zcash [1];"},
		"one is the fallback": {failed(in, "coingecko-markets"), "bitcoin [17] 100.5 [15] false;zcash [1];"},
		"one is too old":      {aged(in, "kraken-ticker", 46*time.Minute), "bitcoin [1] 99.5 [17] false;zcash [1];"},
	} {
		if got := told(c.in); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	excerpts := pack.Crypto().Excerpts(read(must(pack.Crypto().Compact(in))))
	if excerpts["kraken-ticker"] != "BTC $100.50" || excerpts["coinbase-exchange"] != "BTC $99.50" {
		t.Errorf("%q", excerpts)
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}
