package view

import (
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
