package human_test

import (
	"math"
	"strings"
	"testing"
	"time"

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
		{"spreadBp", -6.0, "spread -6 bp"}, {"yieldPct", 4.22, "yield 4.22%"},
		{"yieldPct", 4.6, "yield 4.60%"}, {"level", 21.16014, "level 21.16"}, {"level", 10.0, "level 10"}, {"level", 9.99996, "level 10"},
		{"rate", 155.3245, "rate 155.32"}, {"rate", 1.07123456, "rate 1.0712"}, {"rate", 0.00006789123, "rate 0.00006789"}, {"rate", -0.99996, "rate -1"},
		{"value", 72.0, "72"}, {"label", "Greed", "Greed"}, {"category", "Dexs", "category Dexs"}, {"txns24h", 12345.0, "txns 24h 12,345"},
		{"publishedAt", time.Date(2026, 11, 20, 21, 5, 11, 0, time.FixedZone("", 3600)), "published at 2026-11-20 20:05Z"},
		{"publishedAt", "2026-11-20T20:05:11Z", "published at 2026-11-20 20:05Z"}, {"open", true, "open yes"}, {"open", false, "open no"},
		{"markUsd", 3192.96, "mark $3,192.96"}, {"markUsd", -3192.96, "mark -$3,192.96"}, {"markUsd", 91443.0, "mark $91,443"}, {"markUsd", 0.0046, "mark $0.00460"},
		{"fundingPct", 0.0125, "funding +0.0125%"}, {"fundingPct", -0.00001, "funding 0.00%"}, {"fundingPct", 0.01, "funding +0.01%"},
		{"sharePct", 0.0125, "share 0.0125%"}, {"promptUsdWas", 1.5, "prompt was $1.50"}, {"promptUsdChangedAt", "2026-11-20T20:05:11Z", "prompt changed at 2026-11-20 20:05Z"},
		{"fundingPctWas", -0.5, "funding was -0.50%"}, {"openInterestChange1hPct", 3.1, "open interest change 1h +3.10%"}, {"scoreWas", 2.0, "score was 2"},
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
		{"markUsd", 3192.96, 3200, "mark $3,192.96 → $3,200.00"}, {"fundingPct", 0.0125, -0.5, "funding +0.0125% → -0.50%"},
		{"marketCapUsd", 0, -5, "market cap $0 → -$5.00"}, {"value", 2, 25, "2 → 25"}, {"tvlUsd", 1, 1, "TVL $1.00 → $1.00"},
	} {
		if got := human.FieldMove(c.name, c.from, c.to); got != c.want {
			t.Errorf("%s from %v to %v is written %q, want %q", c.name, c.from, c.to, got, c.want)
		}
	}
}

// TestFieldColumn: values that stand below each other have the same decimals, as many as one of them needs.
func TestFieldColumn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		values []any
		want   string
	}{
		{"fundingPct", []any{0.0825, 0.01, -0.5, 0.0, nil, math.NaN()}, "+0.0825% +0.0100% -0.5000% 0.0000% - -"}, {"fundingPct", []any{0.01, 12.0}, "+0.01% +12.00%"},
		{"change24hPct", []any{3.1, -12.4, 1234.5}, "+3.10% -12.40% +1,234.50%"}, {"probabilityPct", []any{43.0, 7.0}, "43% 7%"},
		{"probabilityPct", []any{43.5, 7.0, -1.0}, "43.5% 7.0% -1.0%"}, {"markUsd", []any{91442.9, 3200.0, 36.42, 0.0046}, "$91,442.90 $3,200.00 $36.42 $0.00460"},
		{"openInterestUsd", []any{1.2e9, 9.1e6}, "$1.20B $9.10M"}, {"contracts", []any{412345.0, 12.0}, "412,345 12"}, {"score", []any{0.871, 0.47, nil, 0.0}, "0.871 0.470 - 0.000"}, {"venue", []any{"a", nil, true}, "a - yes"},
	} {
		if got := strings.Join(human.FieldColumn(c.name, c.values), " "); got != c.want {
			t.Errorf("%s %v is written %q, want %q", c.name, c.values, got, c.want)
		}
	}
}

// TestFieldHead: a column is called by its field, and one that was made of that before it by what is new.
func TestFieldHead(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"priceUsd", "", "price"}, {"rank", "", "rank"}, {"fundingPct", "", "funding"}, {"openInterestUsd", "fundingPct", "open interest"},
		{"openInterestChange1hPct", "openInterestUsd", "1h"}, {"openInterestChange24hPct", "openInterestChange1hPct", "24h"},
		{"openInterestChange1hPct", "openUsd", "open interest 1h"}, {"openInterestChange1hPct", "", "open interest 1h"}, {"change24hPct", "priceUsd", "24h"},
		{"promptUsdWas", "promptUsd", "was"}, {"promptUsdWas", "", "prompt was"}, {"promptUsdChangedAt", "promptUsdWas", "changed"}, {"publishedAt", "", "published"},
		{"openInterestUsd", "openUsd", "open interest"}, {"tvlUsd", "", "TVL"}, {"at", "", "at"}, {"", "", ""},
	} {
		if got := human.FieldHead(c[0], c[1]); got != c[2] {
			t.Errorf("%s after %q is headed %q, want %q", c[0], c[1], got, c[2])
		}
	}
	for name, want := range map[string]bool{"fundingPct": true, "change24hPct": true, "probabilityPct": false, "changeUsd": false} {
		if human.FieldMoves(name) != want {
			t.Errorf("%s moves: %v", name, !want)
		}
	}
}
