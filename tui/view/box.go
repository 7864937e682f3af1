// Package view draws the parts that screens are made of: boxes, lists, tables and trees, as lines of text of an exact size.
//
// It knows no service and no key. What it is given has passed through Clean or Line.
package view

import "strings"

// Box is a frame with a title.
type Box struct {
	Title string
	Note  string // at the right of the title
	Focus bool
}

// Draw draws lines in a frame of width and height. What does not fit is cut.
func (b Box) Draw(t Theme, lines []string, width, height int) []string {
	if width < 4 || height < 2 {
		return Blank(width, height)
	}
	g, border := t.Glyphs, t.Border
	if b.Focus {
		border = t.Focus
	}
	out := make([]string, 0, height)
	out = append(out, b.top(t, border, width))
	side := border.On(g.Vertical)
	for i := range height - 2 {
		line := ""
		if i < len(lines) {
			line = lines[i]
		}
		out = append(out, side+Fit(line, width-2, g.Ellipsis)+side)
	}
	return append(out, border.On(g.BottomLeft+strings.Repeat(g.Horizontal, width-2)+g.BottomRight))
}

// top is the upper edge with title and note.
func (b Box) top(t Theme, border Style, width int) string {
	g := t.Glyphs
	title := Cut(b.Title, width-6, g.Ellipsis)
	if Width(title) == 0 {
		title = ""
	}
	note := b.Note
	room := width - 2 - Width(title) - 3
	if note != "" && Width(note)+4 > room {
		note = ""
	}
	rest := width - 2
	var s strings.Builder
	s.WriteString(g.TopLeft)
	if title != "" {
		s.WriteString(g.Horizontal + " ")
		rest -= 3 + Width(title)
	}
	head := border.On(s.String())
	style := t.Bold
	if b.Focus {
		style = t.Focus
	}
	middle := ""
	if title != "" {
		middle = style.On(title) + " "
	}
	if note == "" {
		return head + middle + border.On(strings.Repeat(g.Horizontal, max(rest, 0))+g.TopRight)
	}
	rest -= Width(note) + 3
	edge := border.On(strings.Repeat(g.Horizontal, max(rest, 0)))
	return head + middle + edge + " " + t.Dim.On(note) + " " + border.On(g.Horizontal+g.TopRight)
}

// Blank are empty lines of width columns.
func Blank(width, height int) []string {
	lines := make([]string, max(height, 0))
	for i := range lines {
		lines[i] = Spaces(width)
	}
	return lines
}

// Beside joins blocks of the same height from left to right.
func Beside(blocks ...[]string) []string {
	if len(blocks) == 0 {
		return nil
	}
	out := make([]string, len(blocks[0]))
	for i := range out {
		for _, b := range blocks {
			if i < len(b) {
				out[i] += b[i]
			}
		}
	}
	return out
}

// Over lays block over lines, its upper left corner at column x and line y. Both are of exact widths.
func Over(lines, block []string, x, y int) []string {
	out := append([]string(nil), lines...)
	for i, row := range block {
		if at := y + i; at >= 0 && at < len(out) {
			out[at] = splice(out[at], row, x)
		}
	}
	return out
}

// splice puts part into line from column x on.
func splice(line, part string, x int) string {
	width := Width(line)
	end := x + Width(part)
	before := Fit(Cut(line, x, ""), x, "")
	if end >= width {
		return before + part
	}
	return before + part + tail(line, end)
}
