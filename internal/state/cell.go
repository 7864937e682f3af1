package state

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/contextd/contextd/internal/human"
)

// Cell is a value as people read it: clean, rounded and in the unit of its field.
type Cell struct {
	Label string    // where it stands in no column: what it is of
	Text  string    // "" of a time, which is written where it is read
	Sign  int       // of what may be below zero: -1, 0 or 1
	At    time.Time // of a cell that is a time
}

// Known reports whether there is a value.
func (c Cell) Known() bool { return c.Text != human.Unknown }

// Said is the value in a line, after what it is of.
func (c Cell) Said() string {
	text := c.Text
	if !c.At.IsZero() {
		text = human.Value("", c.At)
	}
	return strings.TrimSpace(c.Label + " " + text)
}

// Column is a field of the rows of a table.
type Column struct {
	Field string
	Words bool   // it holds no numbers
	Cells []Cell // of each row
}

// shortText is how many runes of a name or a text stand in a cell.
const shortText = 80

// NewColumn writes the values of a field that stand below each other.
func NewColumn(field string, values []any) Column {
	c := Column{Field: field, Words: true, Cells: make([]Cell, len(values))}
	for i, text := range human.FieldColumn(field, values) {
		c.Cells[i] = newCell(field, values[i], text)
		_, number := values[i].(float64)
		c.Words = c.Words && !number
	}
	return c
}

// NewCell writes the value of a field.
func NewCell(field string, value any) Cell { return newCell(field, value, human.Value(field, value)) }

// Change writes a change in percent, with two decimals.
func Change(pct float64) Cell { return NewColumn("changePct", []any{human.Round(pct, 2)}).Cells[0] }

// newCell is the cell of a value that is written as text.
func newCell(field string, value any, text string) Cell {
	switch v := value.(type) {
	case nil:
		return Cell{Text: human.Unknown}
	case time.Time:
		return Cell{At: v}
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return Cell{At: at}
		}
		return Cell{Text: human.Short(v, shortText)}
	case float64:
		if human.FieldMoves(field) {
			return Cell{Text: text, Sign: signOf(v)}
		}
	}
	return Cell{Text: text}
}

func signOf(x float64) int {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// Head is the heading of a field behind the column of another one, "" for none.
func Head(field, before string) string {
	return strings.ReplaceAll(human.Short(human.FieldHead(field, before), shortText), " per million", "/M")
}

// Called is what a row is called, with its symbol where that says more than the name does: EURUSD says what EUR/USD says.
func Called(name, symbol string) string {
	if symbol == "" || strings.EqualFold(letters(symbol), letters(name)) {
		return name
	}
	return name + " (" + symbol + ")"
}

// letters are those of s and its digits.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

// Title is the name of a member or a field as a heading: top_movers is Top movers, fearGreed is Fear greed.
func Title(name string) string {
	var b strings.Builder
	last := ' '
	for i, r := range name {
		switch {
		case r == '_' || r == '-':
			r = ' '
		case i > 0 && unicode.IsUpper(r) && unicode.IsLower(last):
			b.WriteByte(' ')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
		last = r
	}
	words := strings.Fields(b.String())
	for i, w := range words {
		switch {
		case slices.Contains([]string{"tvl", "fx", "btc", "eth"}, strings.ToLower(w)):
			words[i] = strings.ToUpper(w)
		case i == 0:
			first := []rune(w)
			first[0] = unicode.ToUpper(first[0])
			words[i] = string(first)
		}
	}
	return human.Short(strings.Join(words, " "), shortText)
}
