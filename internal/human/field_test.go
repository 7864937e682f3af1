package human_test

import (
	"math"
	"testing"

	"github.com/contextd/contextd/internal/human"
)

func TestField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{"priceUsd", 0.41823, "$0.4182"}, {"priceUsd", 91240.5, "$91,240.50"}, {"priceUsd", nil, "-"}, {"priceUsd", math.NaN(), "-"},
		{"change1hPct", 0.3, "1h +0.30%"}, {"change24hPct", -2.1, "24h -2.10%"}, {"change24hPct", 0.0, "24h 0.00%"},
		{"pegDeviationPct", -0.02, "peg deviation -0.02%"}, {"supplyChange24hPct", 0.4, "supply change 24h +0.40%"},
		{"btcDominancePct", 57.123, "btc dominance 57.12%"}, {"probabilityPct", 43.0, "probability 43%"},
		{"marketCapUsd", 1.54e9, "market cap $1.54B"}, {"tvlUsd", int64(31_000_000), "TVL $31.0M"}, {"volume24hUsd", 999_999.0, "volume 24h $999,999"},
		{"rank", 10.0, "#10"}, {"rank", 10, "#10"}, {"fastestSatVb", 12.0, "fastest 12 sat/vB"}, {"slowGwei", 0.25, "slow 0.25 gwei"},
		{"value", 72.0, "72"}, {"label", "Greed", "Greed"}, {"category", "Dexs", "category Dexs"}, {"txns24h", 12345.0, "txns 24h 12,345"},
		{"publishedAt", "2026-11-20T20:05:11Z", "published at 2026-11-20 20:05Z"}, {"open", true, "open yes"}, {"open", false, "open no"},
		{"chains", []any{"a"}, "chains -"}, {"", 1.0, "1"}, {"Usd", 1.0, "usd 1"},
	} {
		if got := human.Field(c.name, c.value); got != c.want {
			t.Errorf("%s %v is written %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

func TestFieldMove(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		from, to float64
		want     string
	}{
		{"priceUsd", 418.6, 429.484, "$418.60 → $429.48"}, {"tvlUsd", 1.54e9, 1.5e9, "TVL $1.54B → $1.50B"}, {"value", 24, 27, "24 → 27"},
		{"probabilityPct", 28.8, 31, "probability 28.8% → 31%"}, {"fastestSatVb", 12, 12.5, "fastest 12 sat/vB → 12.5 sat/vB"},
		{"marketCapUsd", 0, -5, "market cap $0 → -$5.00"}, {"value", 2, 25, "2 → 25"}, {"tvlUsd", 1, 1, "TVL $1.00 → $1.00"},
	} {
		if got := human.FieldMove(c.name, c.from, c.to); got != c.want {
			t.Errorf("%s from %v to %v is written %q, want %q", c.name, c.from, c.to, got, c.want)
		}
	}
}
