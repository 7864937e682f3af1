package view

import (
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// Widths of the columns of texts.
const (
	widestText   = 24
	narrowestCut = 10 // of one that is cut
)

// Grid is rows of any kind: values by the names of their fields, as JSON has them.
type Grid struct {
	Fields []string // the most important first
	Rows   int
	Value  func(row int, field string) any
	Now    time.Time // times are shown in its location
	Gap    int       // columns of nothing before each
}

// GridColumn is a column of a Grid. Its texts are clean, and as wide as they need.
type GridColumn struct {
	Column
	Field string
	Cells []string
	Moves bool // the values are changes

	known int  // rows that have a value
	leads bool // one of them has none in a column before
	whole bool // half a time says nothing
}

// Beside are the columns that fit in width columns beside the names of the rows, the most important ones, and how wide those may be. They
// are as wide as names, and least is what they keep; the first column goes before that. Numbers are not cut.
func (g Grid) Beside(width, names, least int) (name int, list []GridColumn) {
	all := make([]GridColumn, len(g.Fields))
	led := make([]bool, g.Rows)
	for i, field := range g.Fields {
		all[i] = g.column(field)
		for row := range led {
			if has := g.Value(row, field) != nil; has && !led[row] {
				led[row], all[i].leads = true, true
			}
		}
	}
	least = min(names, least)
	list = g.fitting(all, width-least)
	first := slices.IndexFunc(all, func(c GridColumn) bool { return c.leads })
	if first < 0 || !slices.ContainsFunc(list, func(c GridColumn) bool { return c.Field == all[first].Field }) {
		list = g.fitting(all, width-min(least, width/2))
	}
	return max(min(names, width-g.width(list)), 0), list
}

// fitting are those of all that fit in width: what some row has as its first, so that none is without a value, then what most rows have,
// and then what there is room for.
func (g Grid) fitting(all []GridColumn, width int) (list []GridColumn) {
	chosen := make([]bool, len(all))
	for _, wanted := range []func(c GridColumn) bool{
		func(c GridColumn) bool { return c.leads },
		func(c GridColumn) bool { return c.known*2 >= g.Rows },
		func(GridColumn) bool { return true },
	} {
		for i, c := range all {
			if chosen[i] || !wanted(c) {
				continue
			}
			chosen[i] = true
			if next := headed(all, chosen); g.cut(next, width) {
				list = next
			} else {
				chosen[i] = false
			}
		}
	}
	return list
}

// headed are the chosen ones of all, each headed after the one before it.
func headed(all []GridColumn, chosen []bool) (list []GridColumn) {
	before := ""
	for i, c := range all {
		if !chosen[i] {
			continue
		}
		c.Title = strings.ReplaceAll(Line(human.FieldHead(c.Field, before)), " per million", "/M")
		c.Width = max(c.Width, Width(c.Title))
		before = c.Field
		list = append(list, c)
	}
	return list
}

// cut makes columns fit in width, if that can be done by cutting texts.
func (g Grid) cut(list []GridColumn, width int) bool {
	over := g.width(list) - width
	for i := len(list) - 1; i >= 0 && over > 0; i-- {
		if c := &list[i]; !c.Right && !c.whole {
			by := min(over, c.Width-max(narrowestCut, Width(c.Title)))
			if by > 0 {
				c.Width -= by
				over -= by
			}
		}
	}
	return over <= 0
}

// width is that of columns with the gaps before them.
func (g Grid) width(list []GridColumn) (width int) {
	for _, c := range list {
		width += g.Gap + c.Width
	}
	return width
}

// column is that of a field, without its heading.
func (g Grid) column(field string) GridColumn {
	c := GridColumn{Field: field, Moves: human.FieldMoves(field)}
	values := make([]any, g.Rows)
	for i := range values {
		values[i] = g.Value(i, field)
		_, number := values[i].(float64)
		c.Right = c.Right || number
		if values[i] != nil {
			c.known++
		}
	}
	c.Cells = human.FieldColumn(field, values)
	for i, cell := range c.Cells {
		if at, is := values[i].(string); is {
			told := When(at, g.Now)
			c.whole = c.whole || told != at
			cell = Line(told)
		}
		c.Cells[i] = cell
		c.Width = max(c.Width, Width(cell))
	}
	if !c.Right {
		c.Width = min(c.Width, widestText)
	}
	return c
}

// When is text, where it is a time, as short as it is clear beside now, in the location of that: 15:04, Nov 24 15:04, 2027-01-05.
func When(text string, now time.Time) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	at = at.In(now.Location())
	switch {
	case at.Format(time.DateOnly) == now.Format(time.DateOnly):
		return at.Format("15:04")
	case at.Year() == now.Year():
		return at.Format("Jan 2 15:04")
	}
	return at.Format(time.DateOnly)
}

// Heading is a name as the heading of a table: in capitals, but for words with figures.
func Heading(name string) string {
	words := strings.Fields(name)
	for i, w := range words {
		if !slices.ContainsFunc([]rune(w), func(r rune) bool { return r >= '0' && r <= '9' }) {
			words[i] = strings.ToUpper(w)
		}
	}
	return strings.Join(words, " ")
}
