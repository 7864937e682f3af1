package pack_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/state"
)

// answers writes what a question finds: kind/key of each row, and the fields that are asked.
func answers(t *state.Tables, q string) string {
	f := t.Lookup(q, "", 3)
	list := make([]string, 0, len(f.Rows))
	for i, r := range f.Rows {
		list = append(list, fmt.Sprintf("%s/%s %s", r.Kind, r.Key, strings.Join(f.Asked[i], " ")))
	}
	if len(list) == 0 {
		return "near " + strings.Join(f.Near, ", ")
	}
	return strings.Join(list, "; ")
}

// TestQuestions asks the recorded data what agents and people ask.
func TestQuestions(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	for q, want := range map[string]string{
		"ADA": "asset/cardano priceUsd", "what is ADA at?": "asset/cardano priceUsd", "ADA price": "asset/cardano priceUsd",
		"tether supply": "stablecoin/tether supplyUsd", "tether": "asset/tether priceUsd", "bitcoin price": "asset/bitcoin priceUsd",
		"how much is the market cap of ETH": "asset/ethereum marketCapUsd", "usdc peg": "stablecoin/usd-coin priceUsd pegDeviationPct",
		"why is zcash up": "asset/zcash change24hPct", "doge 7d": "asset/dogecoin change7dPct", "The Graph": "asset/the-graph priceUsd",
		"solana tvl": "chain/solana tvlUsd", "aave tvl": "protocol/aave-v3 tvlUsd", "aave": "asset/aave priceUsd",
		"uniswap tvl": "protocol/uniswap-v3 tvlUsd; protocol/uniswap-v2 tvlUsd; protocol/uniswap-v4 tvlUsd",
		"tron":        "asset/tron priceUsd", "gas fees": "fee/ethereum averageGwei", "gas": "fee/ethereum averageGwei", "eth gas price": "fee/ethereum averageGwei", "what is gas on ethereum": "fee/ethereum averageGwei",
		"fees": "fee/bitcoin fastestSatVb; fee/ethereum averageGwei", "slow gas": "fee/ethereum averageGwei slowGwei", "bitcoin fees": "fee/bitcoin fastestSatVb",
		"btc dominance": "market/crypto btcDominancePct ethDominancePct", "total market cap": "market/crypto marketCapUsd",
		"fear and greed": "index/fear-greed value", "near price": "asset/near priceUsd", "bitcoin kraken price": "venue/kraken/bitcoin priceUsd",
		"pepe pool":               "pool/eth_0x3649d3d0603ac3eae709c3444473d8118a161e9c priceUsd",
		"stablecoin supply":       "stablecoin/tether supplyUsd; stablecoin/usd-coin supplyUsd; stablecoin/ethena-usde supplyUsd",
		"kamino change this week": "asset/kamino change1hPct change24hPct change7dPct", "morpho v1 total value locked": "protocol/morpho-v1 tvlUsd",
		"how much did polkadot move today": "asset/polkadot change1hPct change24hPct", "why is sui moving": "asset/sui change1hPct change24hPct",
		"ethereum dominance": "market/crypto btcDominancePct ethDominancePct", "btc network fee sat/vB": "fee/bitcoin fastestSatVb",
		"bitcoin transaction fee": "fee/bitcoin fastestSatVb", "bitcoin price at kraken": "venue/kraken/bitcoin priceUsd",
		"fear and greed a week ago": "index/fear-greed weekAgo", "bitcoin 100k odds": "prediction/610000 probabilityPct",
		"bitcoin above 100,000": "prediction/610000 probabilityPct", "SOL/USDT": "asset/solana priceUsd",
		"largest stablecoins":      "stablecoin/tether priceUsd; stablecoin/usd-coin priceUsd; stablecoin/ethena-usde priceUsd",
		"biggest protocols by tvl": "protocol/aave-v3 tvlUsd; protocol/lido tvlUsd; protocol/eigencloud tvlUsd",
		"top chains by tvl":        "chain/ethereum tvlUsd; chain/solana tvlUsd; chain/bsc tvlUsd",
		"top gainers":              "asset/zcash change24hPct; asset/virtual-protocol change24hPct; asset/jito-governance-token change24hPct",
		"trending pools": "pool/base_0x8c2c87636343e228537e2019aa20c62afc32df8c211628dfc805baa5181e45fb position; " +
			"pool/base_0xcd7faf5e6c2ed53f2370dc84139faae1dccb6d74 position; pool/solana_FxUX9q1nPWqyQhoMXCRUU6Uo3iC2RbhMJUuKcGyeA9q1 position",
		"losers":         "asset/official-trump change24hPct; asset/celestia change24hPct; asset/raydium change24hPct",
		"solana gainers": "near Solana, Solana Ecosystem, Solana Meme", "aave chains": "protocol/aave-v3 chains",
		"average gas price on ethereum in gwei": "fee/ethereum averageGwei", "ethereum price": "asset/ethereum priceUsd",
		"cordano": "near Cardano", "foo": "near ", "eth btc": "near ETH, BTC, Ethereum", "lido apy": "near Lido, Lido Staked Ether, LDO",
		"news about Ethena": "near Ethena, Ethena USDe, THETA", "KMNO news": "near KMNO", // of which there are none
		"Polymarket deposits": "protocol/polymarket tvlUsd", "polymarket tvl": "protocol/polymarket tvlUsd",
		"polymarket":         "prediction/610002 probabilityPct; prediction/610000 probabilityPct; prediction/610004 probabilityPct",
		"uniswap tvl change": "protocol/uniswap-v3 tvlUsd change24hPct change7dPct; protocol/uniswap-v2 tvlUsd change24hPct change7dPct; protocol/uniswap-v4 tvlUsd change24hPct change7dPct",
		"uniswap change":     "asset/uniswap change1hPct change24hPct change7dPct", "uniswap": "asset/uniswap priceUsd",
		"protocol volume": "protocol/aave-v3 tvlUsd; protocol/lido tvlUsd; protocol/eigencloud tvlUsd", // and not Virtuals Protocol
	} {
		if got := answers(tables, q); got != want {
			t.Errorf("%q finds %s, want %s", q, got, want)
		}
	}
	for _, q := range []string{"solana news", "news about solana", "SOL headlines"} {
		for _, r := range tables.Lookup(q, "", 3).Rows {
			if r.Kind != "headline" || !strings.Contains(strings.ToLower(r.Name), "sol") || r.URL == "" {
				t.Errorf("%q finds %+v", q, r)
			}
		}
	}
}

// TestEveryCoinIsFound asks for every coin of the recorded data in five ways: of 500 questions, 95 in 100 must be right.
func TestEveryCoinIsFound(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	asked, right := 0, 0
	for _, r := range tables.Rows() {
		if r.Kind != "asset" {
			continue
		}
		for q, field := range map[string]string{
			r.Name: "priceUsd", r.Symbol + " price": "priceUsd", "what is the market cap of " + r.Name + "?": "marketCapUsd",
			"how much is " + r.Symbol + " up today": "change24hPct", r.Key + " volume": "volume24hUsd",
		} {
			asked++
			f := tables.Lookup(q, "", 3)
			if len(f.Rows) > 0 && f.Rows[0].Key == r.Key && strings.Contains(strings.Join(f.Asked[0], " "), field) {
				right++
			} else {
				t.Logf("%q finds %s", q, answers(tables, q))
			}
		}
	}
	if asked < 490 || right*100 < asked*95 {
		t.Errorf("%d of %d questions are right", right, asked)
	}
}

// TestTablesSayWhatIsStale checks that rows of a source that failed say so and keep their time.
func TestTablesSayWhatIsStale(t *testing.T) {
	t.Parallel()
	in := with(tick(t, 1), source.CoinGeckoMarkets().ID, func(r *pack.Reading) {
		r.FetchedAt, r.Failures, r.Err = r.FetchedAt.Add(-14*time.Minute), 3, "no answer"
	})
	tables := pack.Crypto().Tables(in)
	if r := tables.Row("asset", "cardano"); r == nil || !r.Stale || in.Now.Sub(r.FetchedAt) < 14*time.Minute {
		t.Errorf("the row of a source that failed is %+v", r)
	}
	if r := tables.Row("protocol", "aave-v3"); r == nil || r.Stale {
		t.Errorf("the row of a source that answers is %+v", r)
	}
	if r := tables.Row("asset", "aave-v3"); r != nil {
		t.Errorf("a row of another kind is found: %+v", r)
	}
}

// FuzzLookup asks anything: nothing breaks, no more rows come than are asked for, each has what it is said to be asked of, and the same
// question has the same answer.
func FuzzLookup(f *testing.F) {
	tables := pack.Crypto().Tables(tick(f, 1))
	for _, q := range []string{
		"ADA price", "what is the supply of tether?", "ONE", "NEAR", "\u0410DA price", "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599", "tron tether",
		"price price price", "\xff\x00", "ІЅТ 价格 سعر", strings.Repeat("ada ", 50), "largest tvl", "100k odds", "-", "",
	} {
		f.Add(q, "", 3)
		f.Add(q, "asset", 1)
	}
	f.Fuzz(func(t *testing.T, q, kind string, limit int) {
		limit = 1 + (limit&0x7fffffff)%10
		found := tables.Lookup(q, kind, limit)
		if len(found.Rows) > limit || len(found.Rows) != len(found.Asked) || len(found.Rows) > 0 && len(found.Near) > 0 {
			t.Fatalf("%q: %d rows, %d asked, near %q", q, len(found.Rows), len(found.Asked), found.Near)
		}
		for i, r := range found.Rows {
			if kind != "" && r.Kind != kind {
				t.Errorf("%q of kind %q finds %s/%s", q, kind, r.Kind, r.Key)
			}
			for _, name := range found.Asked[i] {
				if r.Fields.Get(name) == nil {
					t.Errorf("%q asks %s of %s/%s, which has none", q, name, r.Kind, r.Key)
				}
			}
		}
		if again := tables.Lookup(q, kind, limit); fmt.Sprint(again) != fmt.Sprint(found) {
			t.Errorf("%q is answered in two ways", q)
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	tables := pack.Crypto().Tables(tick(b, 1))
	for _, q := range []string{"ADA price", "what is the supply of tether?", "solana news", "uniswap tvl", "cordano"} {
		b.Run(q, func(b *testing.B) {
			for b.Loop() {
				tables.Lookup(q, "", 3)
			}
		})
	}
	b.Run("tables", func(b *testing.B) {
		in := tick(b, 1)
		for b.Loop() {
			pack.Crypto().Tables(in)
		}
	})
}
