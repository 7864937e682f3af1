package cli

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/internal/human"
)

// escapeJSON writes the hostile characters that JSON allows in its strings as \u escapes. The text stays the same JSON value.
func escapeJSON(text []byte) []byte {
	if !strings.ContainsFunc(string(text), hostileInJSON) {
		return text
	}
	var b strings.Builder
	for _, r := range string(text) {
		if !hostileInJSON(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return []byte(b.String())
}

// hostileInJSON is human.Hostile but for what can only be white space between tokens.
func hostileInJSON(r rune) bool { return r != '\n' && r != '\r' && r != '\t' && human.Hostile(r) }

// Style says how text may be marked. The zero Style marks nothing.
type Style struct {
	Color bool // SGR sequences
	ASCII bool // no characters beyond ASCII for marks
	Words bool // no mark that is a glyph alone, for screen readers
}

func (st Style) sgr(code, s string) string {
	if !st.Color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Bold marks a heading.
func (st Style) Bold(s string) string { return st.sgr("1", s) }

// Dim marks what matters less.
func (st Style) Dim(s string) string { return st.sgr("2", s) }

// Good marks what is well or rises.
func (st Style) Good(s string) string { return st.sgr("32", s) }

// Bad marks what failed or falls.
func (st Style) Bad(s string) string { return st.sgr("31", s) }

// Warn marks what needs attention.
func (st Style) Warn(s string) string { return st.sgr("33", s) }

// Link marks addresses and anchors.
func (st Style) Link(s string) string { return st.sgr("36", s) }

// Mark is the sign of an outcome: ok, warning, error or stale. It is a glyph, or the word where glyphs alone are not enough.
func (st Style) Mark(outcome string) string {
	glyph, plain := map[string]string{"ok": "✓", "warning": "!", "error": "✗", "stale": "▲"}[outcome],
		map[string]string{"ok": "+", "warning": "!", "error": "x", "stale": "^"}[outcome]
	switch {
	case st.Words:
		return outcome
	case st.ASCII:
		return plain
	}
	return glyph
}

// Fit cuts s to width columns, with an ellipsis where it cuts, or fills it with spaces up to them.
func (st Style) Fit(s string, width int) string {
	s = st.Cut(s, width)
	return s + strings.Repeat(" ", max(width-ansi.StringWidth(s), 0))
}

// FitRight is Fit with the spaces before s.
func (st Style) FitRight(s string, width int) string {
	s = st.Cut(s, width)
	return strings.Repeat(" ", max(width-ansi.StringWidth(s), 0)) + s
}

// Cut cuts s to width columns, with an ellipsis where it cuts. It is not that of the terminal UI's kit: with that the daemon would link
// Bubble Tea, which questions the terminal as soon as it is linked.
func (st Style) Cut(s string, width int) string {
	switch {
	case ansi.StringWidth(s) <= width:
		return s
	case width <= 1:
		return ansi.Truncate(s, max(width, 0), "")
	}
	return ansi.Truncate(s, width, st.tail())
}

// cutMiddle cuts s to width columns in its middle, as people compare hashes by both ends.
func (st Style) cutMiddle(s string, width int) string {
	long := ansi.StringWidth(s)
	if long <= width {
		return s
	}
	end := (width - 1) / 2
	return ansi.Truncate(s, width-1-end, "") + st.tail() + ansi.TruncateLeft(s, long-end, "")
}

// tail stands for what was cut off.
func (st Style) tail() string {
	if st.ASCII {
		return "~"
	}
	return "…"
}
