package pack_test

import (
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/state"
)

// entity is that of the row kind/key, "" if there is none.
func entity(t *state.Tables, row string) string {
	kind, key, _ := strings.Cut(row, "/")
	if r := t.Row(kind, key); r != nil {
		return r.Entity
	}
	return ""
}

// TestRowsAreLinked: rows of all kinds about one thing have one entity, which they have from ids of upstreams before names, and nothing is
// guessed from a symbol that anybody may choose.
func TestRowsAreLinked(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)
	tables := pack.Crypto().Tables(only(map[string]source.Doc{
		"coingecko-markets": &source.MarketsDoc{Coins: []source.Coin{
			{ID: "aave", Name: "Aave", Symbol: "AAVE", Price: 1, MarketCap: ptr(9e9)}, {ID: "lido-dao", Name: "Lido DAO", Symbol: "LDO", Price: 1},
			{ID: "solana", Name: "Solana", Symbol: "SOL", Price: 1}, {ID: "near", Name: "NEAR Protocol", Symbol: "NEAR", Price: 1},
			{ID: "spark", Name: "Spark", Symbol: "SPK", Price: 1},
		}},
		"defillama-stablecoins": &source.StablecoinsDoc{Coins: []source.Stablecoin{{ID: "usdx", Name: "USD X", Symbol: "USDX", Supply: 1}}},
		"defillama-protocols": &source.ProtocolsDoc{Protocols: []source.Protocol{
			{Slug: "aave-v3", Name: "Aave V3", LlamaID: "111"}, {Slug: "lido", Name: "Lido", CoinID: "lido-dao", LlamaID: "182"},
			{Slug: "driftwood-lend", Name: "Driftwood Lend", LlamaID: "7", CoinID: "driftwood"}, {Slug: "fluid", Name: "Fluid"},
			{Slug: "pancakeswap", Name: "PancakeSwap"},
		}},
		"defillama-chains": &source.ChainsDoc{Chains: []source.Chain{
			{Name: "Solana"}, {Name: "Near", CoinID: "near"}, {Name: "BSC"}, {Name: "Base"}, {Name: "OP Mainnet", CoinID: "optimism"},
		}},
		"defillama-hacks": &source.HacksDoc{Hacks: []source.Hack{
			{Name: "Drift", LlamaID: "7", Date: day}, {Name: "Lido", LlamaID: "182", Date: day}, {Name: "PancakeSwap", Date: day},
			{Name: "Nobody", LlamaID: "99", Date: day},
		}},
		"geckoterminal-trending": &source.PoolsDoc{Pools: []source.Pool{
			{ID: "eth_1", Pair: "AAVE / WETH", CoinID: "aave"}, {ID: "eth_2", Pair: "AAVE / WETH"},
		}},
		"polymarket-crypto": &source.PredictionsDoc{Markets: []source.Prediction{{ID: "1", Question: "Will Solana flip it?"}}},
		"news-coindesk": &source.NewsDoc{Items: []source.Headline{
			{Title: "Hack of Driftwood Lend hits LDO", URL: "https://n/1"}, {Title: "Fluid markets near a top", URL: "https://n/2"},
			{Title: "Base case for bulls", URL: "https://n/3"}, {Title: "Tether rival USDX grows", URL: "https://n/4"},
			{Title: "OP Mainnet grows", URL: "https://n/5"}, {Title: "What PancakeSwap does", URL: "https://n/6"},
		}},
	}))
	for row, want := range map[string]string{
		"asset/aave": "aave", "stablecoin/usdx": "usdx", "protocol/aave-v3": "aave", "protocol/lido": "lido-dao",
		"protocol/driftwood-lend": "protocol/driftwood-lend", "chain/solana": "solana", "chain/near": "near", "chain/bsc": "binancecoin",
		"chain/op-mainnet": "chain/op-mainnet", "hack/2026-11-19 Drift": "protocol/driftwood-lend", "hack/2026-11-19 Lido": "lido-dao",
		"hack/2026-11-19 PancakeSwap": "protocol/pancakeswap", "hack/2026-11-19 Nobody": "hack/2026-11-19 Nobody",
		"pool/eth_1": "aave", "pool/eth_2": "pool/eth_2", "prediction/1": "solana",
		"headline/https://n/1": "protocol/driftwood-lend", "headline/https://n/2": "headline/https://n/2",
		"headline/https://n/3": "headline/https://n/3", "headline/https://n/4": "usdx", "headline/https://n/5": "chain/op-mainnet",
		"headline/https://n/6": "protocol/pancakeswap",
	} {
		if got := entity(tables, row); got != want {
			t.Errorf("%s is of %q, want %q", row, got, want)
		}
	}
}

// TestRecordedRowsAreLinked: the hack of the recording is of the protocol that it hit.
func TestRecordedRowsAreLinked(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 3))
	want := entity(tables, "protocol/driftwood-lend-synthetic")
	linked := map[string]int{}
	for _, r := range tables.Rows() {
		if r.Entity == want || r.Entity == "bitcoin" {
			linked[r.Entity+" "+r.Kind]++
		}
	}
	for _, kind := range []string{want + " protocol", want + " hack", want + " headline", "bitcoin asset", "bitcoin chain", "bitcoin fee",
		"bitcoin venue", "bitcoin headline", "bitcoin prediction"} {
		if linked[kind] == 0 {
			t.Errorf("no row of %s among %v", kind, linked)
		}
	}
}

// TestPredictionRows: a row of a bet says which outcome has the probability, until when, and where its page is.
func TestPredictionRows(t *testing.T) {
	t.Parallel()
	r := pack.Crypto().Tables(tick(t, 1)).Row("prediction", "610002")
	if r == nil {
		t.Fatal("no row of the recorded bet")
	}
	for field, want := range map[string]any{
		"probabilityPct": 61.0, "outcome": "Yes", "endsAt": time.Date(2026, 12, 31, 12, 0, 0, 0, time.UTC),
	} {
		if got := r.Fields.Get(field); got != want {
			t.Errorf("%s is %v, want %v", field, got, want)
		}
	}
	if want := "https://polymarket.com/event/synthetic-will-the-fed-cut-rates-at-the-december-2026-meeting"; r.URL != want {
		t.Errorf("url %s", r.URL)
	}
	if got := answers(pack.Crypto().Tables(tick(t, 1)), "when does the fed cut rates bet end"); !strings.Contains(got, "endsAt") {
		t.Errorf("asked for the end: %s", got)
	}
}
