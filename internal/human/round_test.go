package human_test

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/contextd/contextd/internal/chance"
	"github.com/contextd/contextd/internal/human"
)

// exactly reports whether two numbers are the same, sign of a zero included.
func exactly(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// bothZeros are the two zeros of floating point; as keys of a map they would be one.
func bothZeros() []float64 { return []float64{0, math.Copysign(0, -1)} }

// unknowns are the numbers that a source may claim and that a state must not hold.
func unknowns() []float64 { return []float64{math.NaN(), math.Inf(1), math.Inf(-1)} }

func TestRoundPrice(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]float64{
		1: 1, 91240.5: 91240.5, 91240.54: 91240.5, 91240.56: 91240.6, 123456.7: 123457, 1234567: 1234570, 999999.6: 1000000,
		0.0000738123456: 0.0000738123, 0.1234567: 0.123457, 1.0000004: 1, -3.14159265: -3.14159, 1e-300: 1e-300, 5e-324: 5e-324,
		math.MaxFloat64: 1.79769e308, -math.MaxFloat64: -1.79769e308,
	} {
		before := in
		if got := human.RoundPrice(&in); got == nil || !exactly(*got, want) {
			t.Errorf("RoundPrice(%v) = %v, want %v", in, got, want)
		} else if got == &in || in != before {
			t.Errorf("RoundPrice(%v) changes its argument", before)
		}
	}
	for _, x := range bothZeros() {
		if got := human.RoundPrice(&x); got == nil || !exactly(*got, 0) {
			t.Errorf("RoundPrice(%v) = %v, want 0", x, got)
		}
	}
	for _, x := range unknowns() {
		if human.RoundPrice(&x) != nil || human.RoundPercent(&x) != nil || human.RoundWhole(&x) != nil {
			t.Errorf("%v is known", x)
		}
	}
	if human.RoundPrice(nil) != nil || human.RoundPercent(nil) != nil || human.RoundWhole(nil) != nil {
		t.Error("nil does not stay nil")
	}
}

func TestRoundPriceProperty(t *testing.T) {
	t.Parallel()
	chance.Check(t, func(t *rapid.T) {
		x := rapid.Float64().Draw(t, "x")
		got := human.RoundPrice(&x)
		if got == nil || math.Abs(*got-x) > math.Abs(x)*5.001e-6 && math.Abs(x) > 1e-300 {
			t.Fatalf("RoundPrice(%v) = %v", x, got)
		}
		if again := human.RoundPrice(got); *again != *got || len(strconv.FormatFloat(math.Abs(*got), 'e', -1, 64)) > len("1.23456e+308") {
			t.Fatalf("RoundPrice(%v) = %v has more than six digits", x, *got)
		}
	})
}

func TestRoundPercent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in     float64
		places int
		want   float64
	}{
		{0, 2, 0}, {math.Copysign(0, -1), 2, 0}, {-0.001, 2, 0}, {-0.004, 2, 0}, {0.005, 2, 0.01}, {-0.005, 2, -0.01}, {0.125, 2, 0.13}, {-0.125, 2, -0.13},
		{1.845, 2, 1.85}, {-21.774, 2, -21.77}, {99.999, 2, 100}, {1e308, 2, 1e308}, {-1e308, 2, -1e308}, {1e15, 2, 1e15}, {12.345678, 2, 12.35},
		{2.5, 0, 3}, {-2.5, 0, -3}, {0.4, 0, 0}, {-0.4, 0, 0}, {999.5, 0, 1000}, {0.6104, 3, 0.61}, {0.25, 1, 0.3}, {math.MaxFloat64, 0, math.MaxFloat64},
	} {
		if got := human.Round(c.in, c.places); !exactly(got, c.want) {
			t.Errorf("Round(%v, %d) = %v, want %v", c.in, c.places, got, c.want)
		}
		if c.places != 2 {
			continue
		}
		in := c.in
		if got := human.RoundPercent(&in); got == nil || !exactly(*got, c.want) || got == &in {
			t.Errorf("RoundPercent(%v) = %v, want %v", c.in, got, c.want)
		}
	}
	for _, x := range []float64{43615395353280.875, -37261601933441.266, 1<<44 + 0.126, 1e13 + 0.006} {
		if once := human.Round(x, 2); human.Round(once, 2) != once {
			t.Errorf("%v is rounded to %v, and that to %v", x, once, human.Round(once, 2))
		}
	}
	if got := human.Round(math.NaN(), 2); !math.IsNaN(got) {
		t.Errorf("Round(NaN) = %v", got)
	}
	if got := human.Round(math.Inf(-1), 2); !math.IsInf(got, -1) {
		t.Errorf("Round(-Inf) = %v", got)
	}
}

func TestRoundWhole(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]int64{
		0: 0, -0.4: 0, 0.5: 1, -0.5: -1, 2.5: 3, -2.5: -3, 1821000000000.49: 1821000000000, 1e18: 1e18, -1e18: -1e18,
		math.Nextafter(1<<62, 0): 1<<62 - 512, -math.Nextafter(1<<62, 0): -(1<<62 - 512),
	} {
		if got := human.RoundWhole(&in); got == nil || *got != want {
			t.Errorf("RoundWhole(%v) = %v, want %d", in, got, want)
		}
	}
	for _, x := range []float64{1 << 62, -(1 << 62), 1e19, -1e300, math.MaxFloat64} {
		if got := human.RoundWhole(&x); got != nil {
			t.Errorf("RoundWhole(%v) = %d, want nil", x, *got)
		}
	}
}
