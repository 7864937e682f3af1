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
}

// Beside are the columns that fit in width columns beside the names of the rows, the most important ones, and how wide those may be. They
// are as wide as names, and least is what they keep; the first field goes before that. Numbers are not cut.
func (g Grid) Beside(width, names, least int) (name int, list []GridColumn) {
	least = min(names, least)
	list = g.columns(width - least)
	if len(g.Fields) > 0 && (len(list) == 0 || list[0].Field != g.Fields[0]) {
		list = g.columns(width - min(least, width/2))
	}
	for _, c := range list {
		width -= g.Gap + c.Width
	}
	return max(min(names, width), 0), list
}

// columns are those that fit in width.
func (g Grid) columns(width int) (list []GridColumn) {
	before := ""
	for _, field := range g.Fields {
		c := g.column(field, before)
		if room := width - g.Gap; c.Width > room {
			if c.Right || room < max(narrowestCut, Width(c.Title)) {
				continue
			}
			c.Width = room
		}
		width -= g.Gap + c.Width
		before = field
		list = append(list, c)
	}
	return list
}

// column is the whole column of a field after the one of another.
func (g Grid) column(field, before string) GridColumn {
	c := GridColumn{Column: Column{Title: Line(human.FieldHead(field, before))}, Field: field, Moves: human.FieldMoves(field)}
	values := make([]any, g.Rows)
	for i := range values {
		values[i] = g.Value(i, field)
		_, number := values[i].(float64)
		c.Right = c.Right || number
	}
	c.Cells = human.FieldColumn(field, values)
	c.Width = Width(c.Title)
	for i, cell := range c.Cells {
		if at, is := values[i].(string); is {
			cell = Line(When(at, g.Now))
		}
		c.Cells[i] = cell
		c.Width = max(c.Width, Width(cell))
	}
	if !c.Right {
		c.Width = min(c.Width, max(widestText, Width(c.Title)))
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
