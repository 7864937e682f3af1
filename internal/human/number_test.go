package human_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/contextd/contextd/internal/chance"
	"github.com/contextd/contextd/internal/human"
)

// written calls write with each key and compares.
func written[N comparable](t *testing.T, name string, write func(N) string, want map[N]string) {
	t.Helper()
	for in, want := range want {
		if got := write(in); got != want {
			t.Errorf("%s(%v) = %s, want %s", name, in, got, want)
		}
	}
}

// TestNumbers has both sides of every bound at which a style changes its unit or its decimals.
func TestNumbers(t *testing.T) {
	t.Parallel()
	written(t, "USD", human.USD, map[float64]string{
		3.33e12: "$3.33T", 1.54e9: "$1.54B", 31e6: "$31.0M", 1234: "$1,234", 18.02: "$18.02", 0.0000746: "$0.0000746", // the comment's own
		1: "$1.00", 5.5: "$5.50", -5.5: "-$5.50",
		0.5: "$0.500", 0.9994: "$0.999", 0.9996: "$1.00", 0.1: "$0.100", 0.09999: "$0.100", 0.01: "$0.0100", 0.00123456: "$0.00123", -0.25: "-$0.250",
		1e-12: "$0.00000000000100", 9.994e-13: "$9.99e-13", 5e-324: "$4.94e-324",
		999.994: "$999.99", 999.996: "$1,000", 1000: "$1,000", 1000.5: "$1,001", 91240.5: "$91,241", 999999: "$999,999", 999999.4: "$999,999", 999999.6: "$1.00M",
		1e6: "$1.00M", 1.05e6: "$1.05M", 999.94e6: "$999.9M", 999.96e6: "$1.00B", 999999999: "$1.00B", 1e9: "$1.00B", 999.99e9: "$999.99B", 999.996e9: "$1.00T",
		1e12: "$1.00T", 1234.5e12: "$1,234.50T", -3.3199e12: "-$3.32T", 1e18: "$1,000,000.00T",
		0: "$0", math.Inf(1): "unknown", math.Inf(-1): "unknown",
	})
	written(t, "Percent", human.Percent, map[float64]string{
		1.62: "+1.62%", -21.8: "-21.8%", 1234: "+1,234%", // the comment's own
		0: "0.00%", 0.004: "0.00%", -0.004: "0.00%", 0.006: "+0.01%", -0.006: "-0.01%", 0.05: "+0.05%",
		9.994: "+9.99%", 9.996: "+10.0%", -9.996: "-10.0%", 10: "+10.0%", 54.85: "+54.9%", 99.94: "+99.9%", 99.96: "+100%", -99.96: "-100%", 100: "+100%",
		123.456: "+123%", 999.4: "+999%", 999.6: "+1,000%", -1234567.8: "-1,234,568%", math.Inf(1): "unknown",
	})
	written(t, "USDInWords", human.USDInWords, map[int64]string{
		0: "$0", 999: "$999", 1000: "$1,000", 999_499: "$999,499", 999_500: "$1.00 million", 999_999: "$1.00 million", 9_994_000: "$9.99 million",
		9_996_000: "$10.0 million", 99_940_000: "$99.9 million", 99_960_000: "$100 million", 999_499_999: "$999 million", 999_500_000: "$1.00 billion",
		999_999_999: "$1.00 billion", 999_499_999_999: "$999 billion", 999_500_000_000: "$1.00 trillion", 1_234_567_890_123_456: "$1,235 trillion",
		-1234: "-$1,234", -123_456: "-$123,456", -2_500_000: "-$2.50 million",
	})
	written(t, "PriceInWords", human.PriceInWords, map[float64]string{
		0: "$0", 0.00000919: "$0.00000919", 0.09994: "$0.0999", 0.09996: "$0.100", 0.05: "$0.0500", 0.9994: "$0.999", 0.9996: "$1.00", 999.994: "$999.99", 999.996: "$1,000", 999999.4: "$999,999",
		1234567: "$1,234,567",
	})
	written(t, "PercentInWords", human.PercentInWords, map[float64]string{
		0: "0.0%", -0.004: "0.0%", -1.79: "1.8%", 99.94: "99.9%", 99.95: "100%", -99.96: "100%", 999.4: "999%", 1234.5: "1,235%",
	})
	written(t, "price", func(x float64) string { return human.Value("priceUsd", x) }, map[float64]string{
		0: "$0", 0.5: "$0.5000", 0.99994: "$0.9999", 1: "$1.00", 0.1: "$0.1000", 0.0999: "$0.09990", 0.05: "$0.05000", 0.00007364: "$0.00007364",
		1.01e-7: "$0.0000001010", 9.99e-8: "$9.99e-08", 3e-9: "$3e-09", 999.994: "$999.99", 999.996: "$1,000.00", 91442.9: "$91,442.90", 999999.994: "$999,999.99",
		1234567.891: "$1,234,567.89", 999999999999999: "$999,999,999,999,999.00", 1e15: "$1e+15", 3e18: "$3e+18", -2: "-$2.00", -0.05: "-$0.05000", math.Inf(1): "-",
	})
	written(t, "Bytes", human.Bytes, map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 999_951: "1.0 MB", 999_999: "1.0 MB", 3_400_000_000: "3.4 GB", 2e15: "2000.0 TB",
	})
	written(t, "Count", human.Count, map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 84201: "84,201", 999_999: "999,999", 1_000_000: "1,000,000", -999: "-999", -1000: "-1,000", -1234567: "-1,234,567",
		math.MinInt64: "-9,223,372,036,854,775,808",
	})
	written(t, "Decimals", func(x float64) string { return human.Decimals(x, 2) }, map[float64]string{
		0: "0.00", -0.004: "0.00", -0.006: "-0.01", 999.994: "999.99", 999.996: "1,000.00", -1234567.891: "-1,234,567.89",
	})
	written(t, "Plain", human.Plain, map[float64]string{0: "0", 1.5: "1.5", -2: "-2", 1e21: "1000000000000000000000", 1e-7: "0.0000001"})
	written(t, "Plural", func(n int) string { return human.Plural(n, "break") }, map[int]string{0: "0 breaks", 1: "1 break", 2: "2 breaks"})
	if nan := math.NaN(); human.USD(nan)+human.Percent(nan)+human.Value("priceUsd", nan) != "unknownunknown-" {
		t.Error("what is no number has one")
	}
}

// TestNumbersNeverMislead: no style writes a thousand of a unit that has a greater one, and none gives a zero a sign.
func TestNumbersNeverMislead(t *testing.T) {
	t.Parallel()
	wrong := regexp.MustCompile(`\b1,?000(\.0+)?( ?[KMBk]| [mb]illion)|^-\$?0(\.0*)?(%|$)|^\+0(\.0*)?(%|$)`)
	chance.Check(t, func(t *rapid.T) {
		n := int64(math.Pow10(rapid.IntRange(0, 15).Draw(t, "power"))) + rapid.Int64Range(-2000, 2000).Draw(t, "off")
		x := float64(n)
		small := rapid.Float64Range(-0.02, 0.02).Draw(t, "small")
		minus := math.Copysign(0, -1)
		for _, text := range []string{
			human.USD(x), human.USDInWords(n), human.PriceInWords(x), human.Bytes(n), human.Percent(small),
			human.Value("priceUsd", small), human.USD(small), human.Plain(minus), human.Value("priceUsd", minus), human.USD(minus), human.Percent(minus),
		} {
			if wrong.MatchString(text) {
				t.Fatalf("%d or %v is written %s", n, small, text)
			}
		}
	})
}

// amount reads what USD wrote.
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

// TestUSDProperty: a text is near its amount, and of two amounts the greater never reads as the smaller.
func TestUSDProperty(t *testing.T) {
	t.Parallel()
	amounts := rapid.Custom(func(t *rapid.T) float64 {
		x := math.Pow(10, rapid.Float64Range(-9, 16).Draw(t, "exponent"))
		if rapid.Bool().Draw(t, "round") { // the edges between units
			x = math.Pow10(rapid.IntRange(-3, 13).Draw(t, "power")) * (1 + rapid.Float64Range(-1e-3, 1e-3).Draw(t, "off"))
		}
		return x
	})
	chance.Check(t, func(t *rapid.T) {
		x, y := amounts.Draw(t, "x"), amounts.Draw(t, "y")
		if x > y {
			x, y = y, x
		}
		tx, ty := human.USD(x), human.USD(y)
		if ax, ay := amount(t, tx), amount(t, ty); ax > ay || math.Abs(ax-x) > 0.05*x || math.Abs(ay-y) > 0.05*y {
			t.Fatalf("%v is %s, %v is %s", x, tx, y, ty)
		}
		if strings.HasPrefix(tx, "$1000") || human.USD(-x) != "-"+tx {
			t.Fatalf("%v is %s, its negative %s", x, tx, human.USD(-x))
		}
	})
}

func TestPercentProperty(t *testing.T) {
	t.Parallel()
	chance.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-2000, 2000).Draw(t, "x")
		if rapid.Bool().Draw(t, "small") {
			x /= 1e5
		}
		text := human.Percent(x)
		got, err := strconv.ParseFloat(strings.NewReplacer("%", "", ",", "").Replace(text), 64)
		if err != nil || math.Abs(got-x) > max(0.00501, math.Abs(x)*0.00501) || got*x < 0 {
			t.Fatalf("Percent(%v) = %s", x, text)
		}
		if signed := text[0] == '+' || text[0] == '-'; signed != (got != 0) {
			t.Fatalf("Percent(%v) = %s: a sign goes with what is not zero", x, text)
		}
	})
}
