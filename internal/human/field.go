package human

import (
	"cmp"
	"math"
	"strings"
	"time"
	"unicode"
)

// Field writes the field of a row in a line, in the unit that ends its name and after what it is of: $0.4182, 24h +0.30%, TVL $1.54B,
// #10, fastest 12 sat/vB. A value is what JSON makes of it. What others chose is to be cleaned by who shows it.
func Field(name string, value any) string {
	of, _ := fieldUnit(name)
	if label := fieldLabel(of); label != "" {
		return label + " " + Value(name, value)
	}
	return Value(name, value)
}

// FieldName is what a field is called, without its unit: open interest for openInterestUsd.
func FieldName(name string) string {
	of, _ := fieldUnit(name)
	return cmp.Or(fieldLabel(of), of)
}

// Value writes the value of a field as Field does, without what it is of.
func Value(name string, value any) string {
	of, unit := fieldUnit(name)
	x, isNumber := numeric(value)
	switch text, isText := value.(string); {
	case isText:
		return shortTime(text)
	case !isNumber || !finite(x):
		if b, is := value.(bool); is {
			return map[bool]string{true: "yes", false: "no"}[b]
		}
		return Unknown
	case of == "price":
		return "$" + Price(&x)
	case of == "rank":
		return "#" + Plain(x)
	case unit == "Usd":
		return USD(x)
	case unit == "Pct" && math.Abs(x) < 0.1 && Round(x, 2) != x: // a rate of funding, of which two decimals say nothing
		text := group(Round(math.Abs(x), 4), 4)
		return sign(x, text, map[bool]string{true: "+"}[moves(of)]) + text + "%"
	case unit == "Pct" && moves(of):
		return Percent(x)
	case unit == "Pct":
		return Plain(Round(x, 2)) + "%"
	case math.Abs(x) >= 10_000 && x == math.Trunc(x):
		return strings.TrimPrefix(USD(x), "$") + unit
	}
	return Plain(x) + unit
}

// FieldMove writes how a field moved, with what it is of once: $418.60 → $429.48, TVL $1.54B → $1.50B.
func FieldMove(name string, from, to float64) string {
	was, is := Field(name, from), Field(name, to)
	same := 0
	for same < min(len(was), len(is)) && was[same] == is[same] {
		same++
	}
	return was + " → " + is[strings.LastIndexByte(is[:same], ' ')+1:]
}

// fieldUnit splits the name of a field into what it is of and its unit, as it is written behind a number.
func fieldUnit(name string) (of, unit string) {
	for _, u := range [...]struct{ suffix, unit string }{
		{"Usd", "Usd"}, {"Pct", "Pct"}, {"SatVb", " sat/vB"}, {"Gwei", " gwei"},
	} {
		if of, ok := strings.CutSuffix(name, u.suffix); ok && of != "" {
			return of, u.unit
		}
	}
	return name, ""
}

// moves reports whether a percentage may be below zero, so that it has a sign.
func moves(of string) bool {
	for _, word := range [...]string{"change", "Change", "eviation", "unding", "remium"} {
		if strings.Contains(of, word) {
			return true
		}
	}
	return false
}

// fieldLabel is what a field is called: the words of its name. A change is called by its span alone.
func fieldLabel(of string) string {
	switch of {
	case "price", "rank", "value", "label":
		return ""
	case "tvl":
		return "TVL"
	}
	if span, ok := strings.CutPrefix(of, "change"); ok && span != "" {
		return span
	}
	var b strings.Builder
	last := 'a'
	for _, r := range of {
		if unicode.IsUpper(r) || unicode.IsDigit(r) && !unicode.IsDigit(last) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return strings.TrimSpace(b.String())
}

// shortTime is a time to the minute, and any other text as it is.
func shortTime(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return at.UTC().Format("2006-01-02 15:04Z")
}

// numeric is value as a number.
func numeric(value any) (x float64, ok bool) {
	switch v := value.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	}
	return 0, false
}
