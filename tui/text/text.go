// Package text prepares what a terminal is to show: it takes out what could command the terminal, measures in columns, and
// writes numbers and ages for people.
//
// Everything that a service said passes through Clean or Line on its way to the screen. The package knows no screen.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Clean is s without escape sequences, control characters (but newlines) and characters that change the direction of text.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r):
			return -1
		}
		return r
	}, ansi.Strip(strings.ToValidUTF8(s, "\uFFFD")))
}

// plain reports whether s is printable ASCII.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Line is Clean on one line.
func Line(s string) string {
	if plain(s) {
		return s
	}
	return strings.Join(strings.FieldsFunc(Clean(s), func(r rune) bool { return r == '\n' }), " ")
}

// Width is how many columns s takes, marks not counted.
func Width(s string) int {
	if plain(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// Cut cuts s to width columns, with tail where it cuts.
func Cut(s string, width int, tail string) string {
	if Width(s) <= width {
		return s
	}
	if width <= Width(tail) {
		return ansi.Truncate(s, max(width, 0), "")
	}
	return ansi.Truncate(s, width, tail)
}

// Fit is Cut, and filled with spaces up to width.
func Fit(s string, width int, tail string) string {
	s = Cut(s, width, tail)
	return s + Spaces(width-Width(s))
}

// Right is Fit with the spaces before s.
func Right(s string, width int, tail string) string {
	s = Cut(s, width, tail)
	return Spaces(width-Width(s)) + s
}

// Spaces are n spaces, none for less than 1.
func Spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }

// Sides puts right at the end of a line of width columns that begins with left. Where both do not fit, left gives way, and right
// where there is no room for any of left.
func Sides(left, right string, width int, tail string) string {
	room := width - Width(right)
	if right != "" && room < 8 && Width(left) > room {
		return Fit(left, width, tail)
	}
	return Fit(Fit(left, room, tail)+right, width, tail)
}

// Wrap breaks s into lines of at most width columns, at spaces where it can.
func Wrap(s string, width int) []string {
	if width < 1 {
		return nil
	}
	return strings.Split(ansi.Wrap(s, width, ""), "\n")
}

// DropLast is s without its last character.
func DropLast(s string) string {
	_, n := utf8.DecodeLastRuneInString(s)
	return s[:len(s)-n]
}
