package human

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Field writes the field of a row in a line, in the unit that ends its name and after what it is of: $0.4182, 24h +0.30%, TVL $1.54B,
// #10, fastest 12 sat/vB. A value is what JSON makes of it. What others chose is to be cleaned by who shows it.
func Field(name string, value any) string {
	of, unit := fieldUnit(name)
	return labelled(of) + fieldValue(of, unit, value, fine(unit, value))
}

// Value writes the value of a field as Field does, without what it is of.
func Value(name string, value any) string {
	of, unit := fieldUnit(name)
	return fieldValue(of, unit, value, fine(unit, value))
}

// FieldMove writes how a field moved, with what it is of once: $418.60 → $429.48, TVL $1.54B → $1.50B.
func FieldMove(name string, from, to float64) string {
	of, unit := fieldUnit(name)
	exact := fine(unit, from, to)
	return labelled(of) + fieldValue(of, unit, from, exact) + " → " + fieldValue(of, unit, to, exact)
}

// FieldColumn writes values of a field that stand below each other, without what they are of: percentages with as many decimals as one of
// them has.
func FieldColumn(name string, values []any) []string {
	of, unit := fieldUnit(name)
	exact, places := fine(unit, values...), 0
	if moves(of) || of == "yield" {
		places = 2
	}
	most := 2
	if exact {
		most = 4
	}
	for _, value := range values {
		for x, is := numeric(value); is && places < most && Round(x, places) != Round(x, most); {
			places++
		}
	}
	list := make([]string, len(values))
	for i, value := range values {
		if x, is := numeric(value); is && finite(x) && unit == "Pct" {
			list[i] = fixedPercent(of, x, places)
		} else {
			list[i] = fieldValue(of, unit, value, exact)
		}
	}
	if unit == "" && of != "price" {
		aligned(list, values)
	}
	return list
}

// aligned gives numbers under ten, written in list, as many decimals as the one that has most.
func aligned(list []string, values []any) {
	places := 0
	for i, value := range values {
		switch x, is := numeric(value); {
		case !is:
		case !finite(x) || math.Abs(x) >= 10:
			return
		default:
			_, decimals, _ := strings.Cut(list[i], ".")
			places = max(places, len(decimals))
		}
	}
	for i, value := range values {
		if x, is := numeric(value); is && places > 0 && places <= 4 {
			list[i] = Decimals(x, places)
		}
	}
}

// fixedPercent writes a percentage with so many decimals, and a sign where it can have one.
func fixedPercent(of string, x float64, places int) string {
	text, plus := group(math.Abs(x), places), ""
	if moves(of) {
		plus = "+"
	}
	return sign(x, text, plus) + text + "%"
}

// fine reports whether one of values needs more decimals than most do: cents in the thousands, and percents four.
func fine(unit string, values ...any) bool {
	return slices.ContainsFunc(values, func(value any) bool {
		x, is := numeric(value)
		switch {
		case !is || !finite(x):
			return false
		case unit == "Usd":
			return math.Abs(x) >= 1000 && Round(x, 2) != math.Trunc(x)
		}
		return unit == "Pct" && math.Abs(x) < 1 && Round(x, 4) != Round(x, 2)
	})
}

// fieldValue writes a value, a fine one with more decimals.
func fieldValue(of, unit string, value any, fine bool) string {
	x, isNumber := numeric(value)
	switch text, isText := value.(string); {
	case isText:
		return shortTime(text)
	case !isNumber || !finite(x):
		return otherValue(value)
	case of == "price":
		return price(x)
	case of == "rank":
		return "#" + Plain(x)
	case unit == "Usd" && fine && math.Abs(x) >= 1:
		text := group(math.Abs(x), 2)
		return sign(x, text, "") + "$" + text
	case unit == "Usd":
		return USD(x)
	case unit == "Pct":
		return percentage(of, x, fine)
	case math.Abs(x) >= 10_000 && x == math.Trunc(x):
		return strings.TrimPrefix(USD(x), "$") + unit
	}
	return Plain(legible(x)) + unit
}

// legible is a number without a unit with as many decimals as people write: two from ten on, four from one on, four that count below.
func legible(x float64) float64 {
	switch size := math.Abs(x); {
	case size >= 10:
		return Round(x, 2)
	case size >= 1:
		return Round(x, 4)
	case size < 1e-12:
		return x
	default:
		return Round(x, 3-int(math.Floor(math.Log10(size))))
	}
}

// percentage writes a percentage, with a sign where it can have one; a fine one has as many decimals as it needs, at most four.
func percentage(of string, x float64, fine bool) string {
	switch {
	case fine:
		places := 4
		for places > 2 && Round(x, places-1) == Round(x, 4) {
			places--
		}
		return fixedPercent(of, Round(x, places), places)
	case moves(of):
		return Percent(x)
	case of == "yield": // 4.60%, as bonds are quoted
		return fixedPercent(of, x, 2)
	}
	return Plain(Round(x, 2)) + "%"
}

// labelled is what the values of a field stand behind.
func labelled(of string) string {
	if label := fieldLabel(of); label != "" {
		return label + " "
	}
	return ""
}

// FieldLabel is what Field writes before a value, "" for what needs no name, as a price.
func FieldLabel(name string) string {
	of, _ := fieldUnit(name)
	return fieldLabel(of)
}

// FieldMoves reports whether a field is a percentage that may be below zero.
func FieldMoves(name string) bool {
	of, unit := fieldUnit(name)
	return unit == "Pct" && moves(of)
}

// FieldHead is the heading of a column. What was made of the field of the column before it, "" for none, is called by what that does not
// say: 1h after open interest, was after prompt.
func FieldHead(name, before string) string {
	of, _ := fieldUnit(name)
	base, _ := fieldUnit(before)
	base, _ = cutDerived(base)
	if first, rest := cutDerived(of); base != "" && first == base && rest != "" {
		of = strings.ToLower(rest[:1]) + rest[1:]
	}
	label := fieldLabel(of)
	if label == "" {
		return of
	}
	return strings.ReplaceAll(strings.TrimSuffix(label, " at"), " change ", " ")
}

// cutDerived splits what a field is of where it was made of another one.
func cutDerived(of string) (base, rest string) {
	for _, word := range [...]string{"Change", "Was"} {
		if i := strings.Index(of, word); i > 0 {
			return of[:i], of[i:]
		}
	}
	return of, ""
}

// FieldUnit is the unit that ends the name of a field, "" where it has none.
func FieldUnit(name string) string {
	switch _, unit := fieldUnit(name); unit {
	case "Usd":
		return "USD"
	case "Pct":
		return "%"
	default:
		return strings.TrimSpace(unit)
	}
}

// fieldUnit splits the name of a field into what it is of and its unit, as it is written behind a number. In that of an old value, as
// promptUsdWas, the unit stands before what says so.
func fieldUnit(name string) (of, unit string) {
	for _, old := range [...]string{"Was", "ChangedAt"} {
		if base, ok := strings.CutSuffix(name, old); ok {
			of, unit := fieldUnit(base)
			return of + old, unit
		}
	}
	for _, u := range [...]struct{ suffix, unit string }{
		{"Usd", "Usd"}, {"Pct", "Pct"}, {"SatVb", " sat/vB"}, {"Gwei", " gwei"}, {"Bp", " bp"},
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
	if span, ok := strings.CutPrefix(of, "change"); ok && span != "" && !unicode.IsLower(rune(span[0])) {
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

// otherValue writes what is neither a text nor a number.
func otherValue(value any) string {
	switch v := value.(type) {
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case time.Time:
		return shortTime(v.Format(time.RFC3339))
	}
	return Unknown
}

// shortTime is a time to the minute, and any other text as it is.
func shortTime(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return at.UTC().Format("2006-01-02 15:04Z")
}

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
