package human

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Unknown stands for a number that is not known, in a column.
const Unknown = "-"

// USD writes an amount in a sentence: $3.33T, $1.54B, $31.0M, $4.24M, $1,234, $18.02, $0.0000746. Amounts under a dollar have three
// significant digits. What is not finite is "unknown".
func USD(x float64) string {
	if !finite(x) {
		return "unknown"
	}
	text := formatAmount(math.Abs(x))
	return sign(x, text, "") + "$" + text
}

// formatAmount writes x, which is not negative.
func formatAmount(x float64) string {
	if Round(x, 2) < 1000 {
		return formatSmall(x)
	}
	for _, unit := range []struct {
		name   string
		size   float64
		places int
		limit  float64
	}{{"", 1, 0, 1e6}, {"M", 1e6, 2, 10}, {"M", 1e6, 1, 1e3}, {"B", 1e9, 2, 1e3}} {
		if r := Round(x/unit.size, unit.places); r < unit.limit {
			return group(r, unit.places) + unit.name
		}
	}
	return group(x/1e12, 2) + "T"
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

// Percent writes a change in percent in a sentence, with its sign: +1.62%, -21.8%, +1,234%. It has three significant digits at
// least, but no more than two decimals. What is not finite is "unknown".
func Percent(x float64) string {
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
	text := group(Round(size, places), places)
	return sign(x, text, "+") + text + "%"
}

// USDInWords writes an amount in prose, with three digits that count: $3.32 trillion, $603,426.
func USDInWords(amount int64) string {
	size := math.Abs(float64(amount))
	text := group(size, 0)
	for _, scale := range []struct {
		size float64
		name string
	}{{1e6, " million"}, {1e9, " billion"}, {1e12, " trillion"}} {
		x := size / scale.size
		if x < 0.9995 {
			break
		}
		if x < 999.5 || scale.size == 1e12 {
			text = group(x, max(0, 2-int(math.Log10(x*1.0005)))) + scale.name
			break
		}
	}
	return sign(float64(amount), text, "") + "$" + text
}

// PriceInWords writes a price in prose: two decimals, none in the thousands, and three digits that count below a dollar.
func PriceInWords(x float64) string {
	switch {
	case x >= 999.995:
		return "$" + group(x, 0)
	case x >= 0.9995:
		return "$" + group(x, 2)
	case x <= 0:
		return "$" + Plain(x)
	}
	return "$" + strconv.FormatFloat(x, 'f', 2-int(math.Floor(math.Log10(x*1.0005))), 64)
}

// PercentInWords writes the size of a change in prose, where a word tells its direction: one decimal, none from a hundred on.
func PercentInWords(x float64) string {
	x = math.Abs(x)
	if x >= 99.95 {
		return group(Round(x, 0), 0) + "%"
	}
	return group(Round(x, 1), 1) + "%"
}

// price is a price in a column, two decimals and commas, or four significant digits where it is below 1.
func price(x float64) string {
	if x == 0 {
		return "$0"
	}
	text := columnPrice(math.Abs(x))
	return sign(x, text, "") + "$" + text
}

// columnPrice writes x over zero, without an exponent as long as that can be read.
func columnPrice(x float64) string {
	switch {
	case x >= 1e15:
		return fmt.Sprintf("%.4g", x)
	case x >= 1:
		return group(x, 2)
	case x < 1e-7:
		return fmt.Sprintf("%.3g", x)
	}
	decimals := 4
	for limit := 0.1; x < limit; limit /= 10 {
		decimals++
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// Bytes is a size: 999 B, 1.0 kB, 3.4 GB.
func Bytes(n int64) string {
	units := [...]string{" B", " kB", " MB", " GB", " TB"}
	v, at := math.Abs(float64(n)), 0
	text := strconv.FormatFloat(v, 'f', 0, 64)
	for at < len(units)-1 { // the first in which it reads below 1,000
		if shown, _ := strconv.ParseFloat(text, 64); shown < 1000 {
			break
		}
		v /= 1000
		at++
		text = strconv.FormatFloat(v, 'f', 1, 64)
	}
	return text + units[at]
}

// Count is n with commas between thousands.
func Count(n int64) string {
	if n < 0 {
		return "-" + commas(strconv.FormatInt(n, 10)[1:])
	}
	return commas(strconv.FormatInt(n, 10))
}

// Plural is n and what it counts: 1 break, 2 breaks.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// Decimals is x with commas between thousands and so many decimals.
func Decimals(x float64, places int) string {
	text := group(math.Abs(x), places)
	return sign(x, text, "") + text
}

// Plain is x with the decimals that it has, and no exponent.
func Plain(x float64) string {
	if x == 0 {
		return "0"
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// sign is the sign of x, written without one as text: none where that is zero, and plus where it is above.
func sign(x float64, text, plus string) string {
	switch {
	case strings.Trim(text, "0.") == "":
		return ""
	case x < 0:
		return "-"
	}
	return plus
}

// group writes x, which is not negative, with commas between the thousands.
func group(x float64, places int) string { return commas(strconv.FormatFloat(x, 'f', places, 64)) }

// commas puts commas between the thousands of a decimal text without a sign.
func commas(text string) string {
	whole, _, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
