package view

import (
	"slices"
	"strings"
)

// Column is a column of a table.
type Column struct {
	Title string
	Width int
	Right bool // numbers
}

// Header is the line over a table. Rows are one column further right: the cursor is before them.
func Header(t Theme, columns []Column) string {
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.Title
	}
	return t.Dim.On(" " + Row(t, columns, cells))
}

// Row joins cells, each as wide as its column, with a space between. Columns of no width are left out.
func Row(t Theme, columns []Column, cells []string) string {
	var b strings.Builder
	for i, c := range columns {
		if c.Width < 1 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		if c.Right {
			b.WriteString(AlignRight(cells[i], c.Width, t.Glyphs.Ellipsis))
		} else {
			b.WriteString(Fit(cells[i], c.Width, t.Glyphs.Ellipsis))
		}
	}
	return b.String()
}

// nameWidth is what a mark leaves of the name that a row begins with.
const nameWidth = 10

// Marked is Row with a mark at its end. The text of the last column gives way to it, then the name in the first, then numbers, whole.
func Marked(t Theme, columns []Column, cells []string, mark string) string {
	kept, width, last := slices.Clone(columns), rowWidth(columns), len(columns)-1
	over := func() int { return rowWidth(kept) + 1 + Width(mark) - width }
	shrink := func(i, least int) { kept[i].Width -= max(min(over(), kept[i].Width-least), 0) }
	if !kept[last].Right {
		shrink(last, 0)
	}
	shrink(0, nameWidth)
	for i := last; i > 0 && over() > 0; i-- {
		kept[i].Width = 0
	}
	shrink(0, 0)
	return Sides(Row(t, kept, cells), mark, width, t.Glyphs.Ellipsis)
}

// Spare is how wide a mark may be, with the space before it, without the loss of a number.
func Spare(columns []Column) int {
	spare := max(columns[0].Width-nameWidth, 0)
	if last := columns[len(columns)-1]; !last.Right {
		spare += last.Width
	}
	return spare
}

func rowWidth(columns []Column) int {
	width := -1
	for _, c := range columns {
		if c.Width > 0 {
			width += c.Width + 1
		}
	}
	return width
}
