package usdg

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Amount is an amount of USDG in micro-USDG, the smallest unit of the token. It is never negative.
type Amount int64

// Decimals is how many digits of an amount are behind the point.
const Decimals = 6

const unit = 1_000_000

var errAmount = errors.New("an amount is decimal digits, with at most six behind a point")

// ParseAmount reads decimal text such as 0.001 or 8.000000. It takes nothing but digits and one point between digits.
func ParseAmount(text string) (Amount, error) {
	whole, fraction, point := strings.Cut(text, ".")
	if whole == "" || point && fraction == "" || len(fraction) > Decimals || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, errAmount
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", Decimals-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("an amount is at most %s", Amount(math.MaxInt64))
	}
	return Amount(n), nil
}

// String is the shortest decimal text of a: 0.001, 8.
func (a Amount) String() string { return strings.TrimRight(strings.TrimRight(a.Fixed(), "0"), ".") }

// Fixed is the decimal text of a with exactly six digits behind the point: 8.000000.
func (a Amount) Fixed() string { return fmt.Sprintf("%d.%06d", a/unit, a%unit) }
