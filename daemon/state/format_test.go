package state_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/contextd/contextd/daemon/state"
)

func TestFormatUSD(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]string{
		3.33e12: "$3.33T", 1.54e9: "$1.54B", 31e6: "$31.0M", 1234: "$1,234", 18.02: "$18.02", 0.0000746: "$0.0000746", // the comment's own
		1: "$1.00", 5.5: "$5.50", -5.5: "-$5.50",
		0.5: "$0.500", 0.9994: "$0.999", 0.9996: "$1.00", 0.1: "$0.100", 0.09999: "$0.100", 0.01: "$0.0100", 0.00123456: "$0.00123", -0.25: "-$0.250",
		1e-12: "$0.00000000000100", 9.994e-13: "$9.99e-13", 5e-324: "$4.94e-324",
		999.994: "$999.99", 999.996: "$1,000", 1000: "$1,000", 1000.5: "$1,001", 91240.5: "$91,241", 999999.4: "$999,999", 999999.6: "$1.0M",
		1e6: "$1.0M", 1.05e6: "$1.1M", 999.94e6: "$999.9M", 999.96e6: "$1.00B", 1e9: "$1.00B", 999.99e9: "$999.99B", 999.996e9: "$1.00T",
		1e12: "$1.00T", 1234.5e12: "$1,234.50T", -3.3199e12: "-$3.32T", 1e18: "$1,000,000.00T",
	} {
		if got := state.FormatUSD(in); got != want {
			t.Errorf("FormatUSD(%v) = %s, want %s", in, got, want)
		}
	}
	for _, x := range bothZeros() {
		if usd, pct := state.FormatUSD(x), state.FormatPercent(x); usd != "$0" || pct != "0.00%" {
			t.Errorf("%v is %s and %s", x, usd, pct)
		}
	}
	for _, x := range unknowns() {
		if usd, pct := state.FormatUSD(x), state.FormatPercent(x); usd != "unknown" || pct != "unknown" {
			t.Errorf("%v is %s and %s", x, usd, pct)
		}
	}
}

// amount reads what FormatUSD wrote.
func amount(t *rapid.T, text string) float64 {
	digits, factor := strings.NewReplacer("$", "", ",", "").Replace(text), 1.0
	for unit, f := range map[string]float64{"M": 1e6, "B": 1e9, "T": 1e12} {
		if rest, ok := strings.CutSuffix(digits, unit); ok {
			digits, factor = rest, f
		}
	}
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		t.Fatalf("%s is no amount: %v", text, err)
	}
	return x * factor
}

// TestFormatUSDProperty: a text is near its amount, and of two amounts the greater never reads as the smaller.
func TestFormatUSDProperty(t *testing.T) {
	t.Parallel()
	amounts := rapid.Custom(func(t *rapid.T) float64 {
		x := math.Pow(10, rapid.Float64Range(-9, 16).Draw(t, "exponent"))
		if rapid.Bool().Draw(t, "round") { // the edges between units
			x = math.Pow10(rapid.IntRange(-3, 13).Draw(t, "power")) * (1 + rapid.Float64Range(-1e-3, 1e-3).Draw(t, "off"))
		}
		return x
	})
	rapid.Check(t, func(t *rapid.T) {
		x, y := amounts.Draw(t, "x"), amounts.Draw(t, "y")
		if x > y {
			x, y = y, x
		}
		tx, ty := state.FormatUSD(x), state.FormatUSD(y)
		if ax, ay := amount(t, tx), amount(t, ty); ax > ay || math.Abs(ax-x) > 0.05*x || math.Abs(ay-y) > 0.05*y {
			t.Fatalf("%v is %s, %v is %s", x, tx, y, ty)
		}
		if strings.HasPrefix(tx, "$1000") || state.FormatUSD(-x) != "-"+tx {
			t.Fatalf("%v is %s, its negative %s", x, tx, state.FormatUSD(-x))
		}
	})
}

func TestFormatPercent(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]string{
		1.62: "+1.62%", -21.8: "-21.8%", 1234: "+1,234%", // the comment's own
		0.004: "0.00%", -0.004: "0.00%", 0.006: "+0.01%", -0.006: "-0.01%", 0.05: "+0.05%",
		9.994: "+9.99%", 9.996: "+10.0%", -9.996: "-10.0%", 10: "+10.0%", 54.85: "+54.9%", 99.94: "+99.9%", 99.96: "+100%", -99.96: "-100%", 100: "+100%",
		123.456: "+123%", 999.4: "+999%", 999.6: "+1,000%", -1234567.8: "-1,234,568%",
	} {
		if got := state.FormatPercent(in); got != want {
			t.Errorf("FormatPercent(%v) = %s, want %s", in, got, want)
		}
	}
}

func TestFormatPercentProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-2000, 2000).Draw(t, "x")
		if rapid.Bool().Draw(t, "small") {
			x /= 1e5
		}
		text := state.FormatPercent(x)
		got, err := strconv.ParseFloat(strings.NewReplacer("%", "", ",", "").Replace(text), 64)
		if err != nil || math.Abs(got-x) > max(0.00501, math.Abs(x)*0.00501) || got*x < 0 {
			t.Fatalf("FormatPercent(%v) = %s", x, text)
		}
		if signed := text[0] == '+' || text[0] == '-'; signed != (got != 0) {
			t.Fatalf("FormatPercent(%v) = %s: a sign goes with what is not zero", x, text)
		}
	})
}
