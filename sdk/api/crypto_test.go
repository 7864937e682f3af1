package api_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/contextd/contextd/sdk/api"
)

// TestCryptoMembers compares the rows of the crypto state with their design; the seven members are the specification's.
func TestCryptoMembers(t *testing.T) {
	t.Parallel()
	for _, s := range []shape{
		{api.CryptoState{}, "top_movers protocol_tvl trending_pools sentiment narratives flags source_status"},
		{api.Mover{}, "group id symbol name priceUsd0 change1hPct0 change24hPct0 change7dPct0 marketCapUsd0 volume24hUsd0 rank0 venues? ref of? stale?"},
		{api.Quote{}, "priceUsd0 ref stale?"},
		{api.ProtocolTVL{}, "group id name category chains? topChain? tvlUsd0 change1dPct0 change7dPct0 ref stale?"},
		{api.TrendingPool{}, "position id pair network dex priceUsd0 change1hPct0 change24hPct0 volume24hUsd0 liquidityUsd0 txns24h0 ageHours0 risk ref stale?"},
		{api.Sentiment{}, "fearGreed0 market0 breadth0 stablecoins0 fees0 gas0 predictions"},
		{api.FearGreed{}, "value label previousDay0 weekAgo0 nextUpdateAt0 ref of? stale?"},
		{api.Market{}, "totalMarketCapUsd0 change24hPct0 volume24hUsd0 btcDominancePct0 ethDominancePct0 ref of? stale?"},
		{api.Breadth{}, "advancing declining advancingPct0 ref stale?"},
		{api.Stablecoins{}, "supplyUsd0 change1dPct0 ref stale?"},
		{api.Fees{}, "btcFastestSatVb0 ref stale?"},
		{api.Gas{}, "ethAverageGwei0 ethFastGwei0 ethSlowGwei0 ref of? stale?"},
		{api.Prediction{}, "id question outcome? probability0 volume24hUsd0 endsAt? url? ref stale?"},
		{api.Narrative{}, "id name score direction marketCapUsd0 change24hPct0 trendingSymbols headlines ref stale?"},
		{api.Headline{}, "title url publishedAt ref sources stale?"},
		{api.Flag{}, "id kind severity subject value threshold unit since eventAt? message entity? ref stale?"},
		{api.SourceStatus{}, "ref id status fetchedAt0 items failures intervalSeconds staleAfterSeconds error0 via? ending?"},
	} {
		s.check(t)
	}
}

func TestCryptoValues(t *testing.T) {
	t.Parallel()
	same(t, "groups", []string{api.GroupMajor, api.GroupGainer, api.GroupLoser, api.GroupTop, api.GroupMover, api.GroupChain},
		[]string{"major", "gainer", "loser", "top", "mover", "chain"})
	same(t, "risks", []string{api.RiskLowLiquidity, api.RiskNewPool, api.RiskExtremeMove, api.RiskHighTurnover},
		[]string{"low_liquidity", "new_pool", "extreme_move", "high_turnover"})
	same(t, "directions", []string{api.DirectionUp, api.DirectionDown, api.DirectionFlat}, []string{"up", "down", "flat"})
	same(t, "severities", []api.Severity{api.SeverityCritical, api.SeverityWarning, api.SeverityNotice},
		[]api.Severity{"critical", "warning", "notice"})
	same(t, "source states", []api.SourceState{api.SourceOK, api.SourceStale, api.SourceError}, []api.SourceState{"ok", "stale", "error"})
	same(t, "flags", []string{
		api.FlagDepeg, api.FlagPriceMove, api.FlagFastMove, api.FlagTVLDrop, api.FlagExploit, api.FlagSentiment, api.FlagDivergence, api.FlagFeeSpike, api.FlagGasSpike,
		api.FlagSuspiciousName, api.FlagSourceStale, api.FlagSourceError,
	}, []string{
		"stablecoin_depeg", "price_move", "fast_move", "tvl_drop", "exploit_reported", "sentiment_extreme", "price_divergence", "fee_spike", "gas_spike",
		"suspicious_name", "source_stale", "source_error",
	})
}

// TestFlagKinds: every kind that is declared is among them.
func TestFlagKinds(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("crypto.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := api.FlagKinds()
	declared := regexp.MustCompile(`(?m)^\tFlag[A-Za-z]+ += "([a-z_]+)"`).FindAllSubmatch(source, -1)
	if len(declared) != len(kinds) {
		t.Errorf("%d kinds are declared, %d listed", len(declared), len(kinds))
	}
	for _, d := range declared {
		if !slices.Contains(kinds, string(d[1])) {
			t.Errorf("%s is not listed", d[1])
		}
	}
}
