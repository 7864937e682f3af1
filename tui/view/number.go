package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Unknown stands for a number that is not known.
const Unknown = "-"

// Age is d in its two largest units: 42s, 1m42s, 2h05m, 3d4h. A negative d is 0s.
func Age(d time.Duration) string {
	d = max(d, 0).Truncate(time.Second)
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
}

// Clock is d as a clock shows it: 0:03, 1:42, 2:14:09. A negative d is 0:00.
func Clock(d time.Duration) string {
	d = max(d, 0).Truncate(time.Second)
	if d < time.Hour {
		return fmt.Sprintf("%d:%02d", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d:%02d:%02d", d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
}

// Plural is n and what it counts: 1 break, 2 breaks.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Count is n with commas between thousands.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Price is a price with two decimals and commas, or with four significant digits where it is below 1.
func Price(v *float64) string {
	switch {
	case v == nil:
		return Unknown
	case *v == 0:
		return "0"
	case math.Abs(*v) >= 1e15:
		return fmt.Sprintf("%.4g", *v)
	case *v < 1:
		return small(*v)
	}
	whole, cents, _ := strings.Cut(fmt.Sprintf("%.2f", *v), ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return fmt.Sprintf("%.2f", *v)
	}
	return Count(n) + "." + cents
}

// small is a number below 1 without an exponent as long as that can be read.
func small(v float64) string {
	if v > 0 && v < 1e-7 {
		return fmt.Sprintf("%.3g", v)
	}
	decimals := 4
	for limit := 0.1; v > 0 && v < limit; limit /= 10 {
		decimals++
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// Dollars is a whole amount in three or four digits and a unit: 21.40B.
func Dollars(n *int64) string {
	if n == nil {
		return Unknown
	}
	v, unit := float64(*n), ""
	for _, next := range []string{"K", "M", "B", "T"} {
		if math.Abs(v) < 1000 {
			break
		}
		v, unit = v/1000, next
	}
	switch {
	case unit == "":
		return strconv.FormatInt(*n, 10)
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f%s", v, unit)
	case math.Abs(v) >= 10:
		return fmt.Sprintf("%.1f%s", v, unit)
	}
	return fmt.Sprintf("%.2f%s", v, unit)
}

// Percent is a change in percent with its sign.
func Percent(v *float64) string {
	switch {
	case v == nil:
		return Unknown
	case math.Abs(*v) >= 1000:
		return fmt.Sprintf("%+.0f", *v)
	}
	return fmt.Sprintf("%+.2f", *v)
}
