package state

import (
	"math"
	"strconv"
	"strings"
)

// FormatUSD writes an amount for people: $3.33T, $1.54B, $31.0M, $1,234, $18.02, $0.0000746. Amounts under a dollar have three
// significant digits. A negative amount starts with a minus, and what is not finite is "unknown".
func FormatUSD(x float64) string {
	switch {
	case !finite(x):
		return "unknown"
	case x < 0:
		return "-$" + formatAmount(-x)
	}
	return "$" + formatAmount(x)
}

// formatAmount writes x, which is not negative. The unit is chosen by the rounded figure, so that none reads $1000.0M.
func formatAmount(x float64) string {
	if Round(x, 2) < 1000 {
		return formatSmall(x)
	}
	for _, unit := range []struct {
		name   string
		size   float64
		places int
		limit  float64
	}{{"", 1, 0, 1e6}, {"M", 1e6, 1, 1e3}, {"B", 1e9, 2, 1e3}} {
		if r := Round(x/unit.size, unit.places); r < unit.limit {
			return group(strconv.FormatFloat(r, 'f', unit.places, 64)) + unit.name
		}
	}
	return group(strconv.FormatFloat(x/1e12, 'f', 2, 64)) + "T"
}

// formatSmall writes x under 1,000: cents from a dollar on, else three significant digits.
func formatSmall(x float64) string {
	if x == 0 {
		return "0"
	}
	scientific := strconv.FormatFloat(x, 'e', 2, 64)
	exponent, _ := strconv.Atoi(scientific[strings.IndexByte(scientific, 'e')+1:])
	switch {
	case exponent >= 0:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case exponent < -12:
		return scientific // nobody counts that many zeros
	}
	return strconv.FormatFloat(x, 'f', 2-exponent, 64)
}

// FormatPercent writes a change in percent for people, with its sign: +1.62%, -21.8%, +1,234%. It has three significant digits
// at least, but no more than two decimals. A change that rounds to zero has no sign, and what is not finite is "unknown".
func FormatPercent(x float64) string {
	if !finite(x) {
		return "unknown"
	}
	size, places := math.Abs(x), 2
	switch {
	case Round(size, 1) >= 100:
		places = 0
	case Round(size, 2) >= 10:
		places = 1
	}
	text := group(strconv.FormatFloat(Round(size, places), 'f', places, 64)) + "%"
	switch {
	case Round(size, places) == 0:
		return text
	case x < 0:
		return "-" + text
	}
	return "+" + text
}

// group puts commas between the thousands of a decimal text without a sign.
func group(text string) string {
	whole, _, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
