package source

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bounds of what a source can mean. Beyond them a number is a mistake of upstream.
const (
	maxPrice   = 1e12
	maxAmount  = 1e18
	maxPercent = 1e5
)

// number is a number as servers write it: 1.5, "1.5", "$1,234", "-1.84%". Null, words and other types are unknown. Only a
// number too large for a float64 is an error, because the row it stands in cannot be trusted.
type number struct{ value *float64 }

var errOverflow = errors.New("number out of range")

// UnmarshalJSON decodes data.
func (n *number) UnmarshalJSON(data []byte) error {
	n.value = nil
	text := string(data)
	quoted := text[0] == '"'
	if quoted {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		text = strings.ReplaceAll(strings.TrimSpace(text), ",", "")
		text = strings.TrimSuffix(strings.Replace(text, "$", "", 1), "%")
	}
	if text == "" || strings.Trim(text, "0123456789+-.eE") != "" {
		return nil // also NaN, Inf and hexadecimal, which ParseFloat would take
	}
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err == nil:
		n.value = &x
	case !quoted:
		return errOverflow
	}
	return nil
}

// ParseNumber reads a value of JSON, a number or a text, as servers write numbers; nil if it is none, or beyond 1e18 either way.
func ParseNumber(v any) *float64 {
	switch v.(type) {
	case nil, bool, []any, map[string]any:
		return nil
	}
	var n number
	data, err := json.Marshal(v)
	if err != nil || n.UnmarshalJSON(data) != nil || n.value == nil || math.Abs(*n.value) > maxAmount {
		return nil
	}
	return n.value
}

// Value is the number, nil if unknown.
func (n number) Value() *float64 { return n.value }

// Amount is a number of something that cannot be negative, nil if unknown or beyond 1e18.
func (n number) Amount() *float64 {
	if n.value == nil || *n.value < 0 || *n.value > maxAmount {
		return nil
	}
	return n.value
}

// Percent is a change in percent, nil if unknown or beyond 100,000 either way.
func (n number) Percent() *float64 {
	if n.value == nil || n.Wild() {
		return nil
	}
	return n.value
}

// Wild reports a change beyond 100,000 % either way: the row it stands in is not to be trusted.
func (n number) Wild() bool { return n.value != nil && math.Abs(*n.value) > maxPercent }

// Price is a price above 0 and up to 1e12; ok is false if there is none.
func (n number) Price() (price float64, ok bool) {
	if n.value == nil || *n.value <= 0 || *n.value > maxPrice {
		return 0, false
	}
	return *n.value, true
}

// Int is a whole number that is not negative, nil if unknown.
func (n number) Int() *int {
	if n.value == nil || *n.value < 0 || *n.value > math.MaxInt32 {
		return nil
	}
	i := int(*n.value)
	return &i
}

// Time reads the number as seconds since 1970, nil if unknown or beyond the year 3000.
func (n number) Time() *time.Time {
	const year3000 = 32_503_680_000
	if n.value == nil || *n.value <= 0 || *n.value > year3000 {
		return nil
	}
	t := time.Unix(int64(*n.value), 0).UTC()
	return &t
}
