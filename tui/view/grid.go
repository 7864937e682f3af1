package view

import (
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/state"
)

// Widths of the columns of texts.
const (
	widestText   = 24
	narrowestCut = 10 // of one that is cut
)

// Grid is rows of any kind.
type Grid struct {
	Columns []state.Column // of a table, the most important first
	Rows    []int          // those of the table that are shown
	Now     time.Time      // times are shown in its location
	Gap     int            // columns of nothing before each
}

// GridColumn is a column of a Grid. Its texts are clean, and as wide as they need.
type GridColumn struct {
	Column
	Of    state.Column
	Cells []string // by the rows that are shown

	known int  // rows that have a value
	leads bool // one of them has none in a column before
	whole bool // half a time says nothing
}

// Beside are the columns that fit in width columns beside the names of the rows, the most important ones, and how wide those may be. They
// are as wide as names, and least is what they keep; the first column goes before that. Numbers are not cut.
func (g Grid) Beside(width, names, least int) (name int, list []GridColumn) {
	all := make([]GridColumn, len(g.Columns))
	led := make([]bool, len(g.Rows))
	for i, column := range g.Columns {
		all[i] = g.column(column)
		for at, row := range g.Rows {
			if column.Cells[row].Known() && !led[at] {
				led[at], all[i].leads = true, true
			}
		}
	}
	least = min(names, least)
	list = g.fitting(all, width-least)
	first := slices.IndexFunc(all, func(c GridColumn) bool { return c.leads })
	if first < 0 || !slices.ContainsFunc(list, func(c GridColumn) bool { return c.Of.Field == all[first].Of.Field }) {
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
		func(c GridColumn) bool { return c.known*2 >= len(g.Rows) },
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
		c.Title = Line(state.Head(c.Of.Field, before))
		c.Width = max(c.Width, Width(c.Title))
		before = c.Of.Field
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

// column is of, without its heading.
func (g Grid) column(of state.Column) GridColumn {
	c := GridColumn{Of: of, Column: Column{Right: !of.Words}, Cells: make([]string, len(g.Rows))}
	for i, row := range g.Rows {
		cell := of.Cells[row]
		text := Line(cell.Text)
		if !cell.At.IsZero() {
			text, c.whole = When(cell.At, g.Now), true
		}
		if cell.Known() {
			c.known++
		}
		c.Cells[i] = text
		c.Width = max(c.Width, Width(text))
	}
	if !c.Right {
		c.Width = min(c.Width, widestText)
	}
	return c
}

// When is a time as short as it is clear beside now, in the location of that: 15:04, Nov 24 15:04, 2027-01-05.
func When(at, now time.Time) string {
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
