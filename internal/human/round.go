package human

import (
	"math"
	"strconv"
)

// RoundPrice rounds to six significant digits, the precision of prices in a state; a zero has no sign. Nil stays nil, and what is not
// finite is unknown.
func RoundPrice(x *float64) *float64 {
	if x == nil || !finite(*x) {
		return nil
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(*x, 'g', 6, 64), 64)
	if r == 0 {
		r = 0 // without its sign
	}
	return &r
}

// RoundPercent rounds to two decimals, the precision of percents in a state; a zero has no sign. Nil stays nil, and what is not finite
// is unknown.
func RoundPercent(x *float64) *float64 {
	if x == nil || !finite(*x) {
		return nil
	}
	r := Round(*x, 2)
	return &r
}

// Round rounds x to places decimals, halves away from zero. The result is never a negative zero, and rounding it again changes nothing.
func Round(x float64, places int) float64 {
	const exact = 1 << 51 // from here on a float tells no more than halves, which would be rounded on
	f := math.Pow10(places)
	if math.Abs(x)*f >= exact {
		return x // too large to have so many decimals
	}
	if r := math.Round(x*f) / f; r != 0 {
		return r
	}
	return 0
}

// RoundWhole rounds an amount to whole units. Nil stays nil, and what does not fit an integer exactly enough is unknown.
func RoundWhole(x *float64) *int64 {
	if x == nil || math.Abs(*x) >= 1<<62 || math.IsNaN(*x) {
		return nil
	}
	n := int64(math.Round(*x))
	return &n
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
