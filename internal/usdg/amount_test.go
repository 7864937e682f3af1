package usdg_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/contextd/contextd/internal/chance"
	"github.com/contextd/contextd/internal/usdg"
)

func TestAmounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]usdg.Amount{
		"0": 0, "0.0": 0, "0.001": 1_000, "0.000001": 1, "1": 1_000_000, "8.000000": 8_000_000, "600": 600_000_000, "007.5": 7_500_000,
		"9223372036854.775807": math.MaxInt64,
	} {
		if got, err := usdg.ParseAmount(text); got != want || err != nil {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, bad := range []string{
		"", ".", "1.", ".5", "-1", "+1", "1e3", "0x10", "1,5", "1_000", " 1", "1 ", "0.0010000001", "0.0000000", "1.2.3", "NaN", "٣", "9223372036854.775808", "99999999999999999999",
	} {
		if got, err := usdg.ParseAmount(bad); err == nil {
			t.Errorf("%q is taken for %d", bad, got)
		}
	}
	for amount, want := range map[usdg.Amount][2]string{
		0: {"0", "0.000000"}, 1_000: {"0.001", "0.001000"}, 8_000_000: {"8", "8.000000"}, 10_000_000: {"10", "10.000000"}, 1_000_137: {"1.000137", "1.000137"},
	} {
		if amount.String() != want[0] || amount.Fixed() != want[1] {
			t.Errorf("%d is written %s and %s, want %v", amount, amount.String(), amount.Fixed(), want)
		}
	}
}

// TestAmountsComeBack: whatever the amount, both its texts are it.
func TestAmountsComeBack(t *testing.T) {
	t.Parallel()
	chance.Check(t, func(t *rapid.T) {
		want := usdg.Amount(rapid.Int64Range(0, math.MaxInt64).Draw(t, "amount"))
		for _, text := range []string{want.String(), want.Fixed()} {
			if got, err := usdg.ParseAmount(text); got != want || err != nil {
				t.Fatalf("%d is written %s, which is %d, %v", want, text, got, err)
			}
		}
	})
}

func FuzzParseAmount(f *testing.F) {
	for _, text := range []string{"0.001", "8.000000", "1e3", "-1", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := usdg.ParseAmount(text); err == nil {
			if back, err := usdg.ParseAmount(a.Fixed()); back != a || err != nil {
				t.Errorf("%q is %d, which comes back as %d, %v", text, a, back, err)
			}
		}
	})
}
