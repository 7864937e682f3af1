package view

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

func tail(line string, x int) string { return ansi.TruncateLeft(line, x, "") }

// List is where one stands in a list of rows. The zero List stands at the first.
type List struct {
	Cursor int
	first  int // row shown at the top
	height int // rows shown last time
}

// Move moves by n rows, within rows of that many.
func (l *List) Move(n, rows int) { l.Cursor = max(0, min(l.Cursor+n, rows-1)) }

// Page moves by n pages.
func (l *List) Page(n, rows int) { l.Move(n*max(l.height-1, 1), rows) }

// Window is which rows of that many to show in height lines so that the cursor is among them.
func (l *List) Window(rows, height int) (from, to int) {
	l.height = height
	l.Cursor = max(0, min(l.Cursor, rows-1))
	if l.Cursor < l.first {
		l.first = l.Cursor
	}
	if l.Cursor >= l.first+height {
		l.first = l.Cursor - height + 1
	}
	l.first = max(0, min(l.first, rows-height))
	return l.first, min(rows, l.first+height)
}

// Click moves to the row shown on line y, counted from the first, and reports whether there is one.
func (l *List) Click(y, rows int) bool {
	at := l.first + y
	if y < 0 || y >= l.height || at >= rows {
		return false
	}
	l.Cursor = at
	return true
}

// Place says which rows are shown of that many, "" where all are.
func (l *List) Place(rows int) string {
	if rows <= l.height || l.height < 1 {
		return ""
	}
	return fmt.Sprintf("%d-%d of %d", l.first+1, min(rows, l.first+l.height), rows)
}

// Rows draws what draw makes of the rows in height lines of width. The row at the cursor is marked if focus is set.
func (l *List) Rows(t Theme, rows, width, height int, focus bool, draw func(i int) string) []string {
	if height < 1 {
		return nil
	}
	from, to := l.Window(rows, height)
	lines := make([]string, 0, height)
	for i := from; i < to; i++ {
		mark := " "
		if i == l.Cursor && focus {
			mark = t.Focus.On(t.Glyphs.Cursor)
		}
		line := Fit(mark+draw(i), width, t.Glyphs.Ellipsis)
		if i == l.Cursor && focus {
			line = t.Select.On(line)
		}
		lines = append(lines, line)
	}
	return lines
}

// Matches reports whether text matches a filter: its letters in order, or none of that behind a "!". An empty filter matches all.
func Matches(filter, text string) bool {
	filter = strings.ToLower(strings.TrimSpace(filter))
	if inverse, ok := strings.CutPrefix(filter, "!"); ok {
		return inverse == "" || !strings.Contains(strings.ToLower(text), inverse)
	}
	text = strings.ToLower(text)
	if strings.Contains(text, filter) {
		return true
	}
	return fuzzy(filter, text)
}

// fuzzy reports whether the characters of filter stand in text in order, each word of the filter within one word of text.
func fuzzy(filter, text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for _, part := range strings.Fields(filter) {
		found := false
		for _, w := range words {
			found = found || inOrder(part, w)
		}
		if !found {
			return false
		}
	}
	return true
}

// inOrder reports whether word begins as part does and has its other characters in order.
func inOrder(part, word string) bool {
	rest := []rune(part)
	for i, r := range []rune(word) {
		if len(rest) > 0 && r == rest[0] {
			rest = rest[1:]
		} else if i == 0 {
			return false
		}
	}
	return len(rest) == 0
}
