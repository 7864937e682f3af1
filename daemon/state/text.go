package state

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Caps of cleaned texts, in runes.
const (
	CapSymbol   = 16
	CapName     = 48
	CapHeadline = 96
)

var (
	// ansiSequence is a control sequence, an operating system command or another escape; the first two may begin with one byte.
	ansiSequence = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\x1b\\]|\u009d)[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c)|\x1b[@-_]?")
	fakeAnchor   = regexp.MustCompile(`\[(\s*\d+\s*)\]`)
)

// Clean makes upstream text safe to show and to quote: terminal sequences, control, bidirectional and invisible characters go,
// white space collapses, [n] becomes (n) so that no text can pass for an anchor, and what is longer than limit runes ends in an
// ellipsis.
func Clean(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = ansiSequence.ReplaceAllString(s, "")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	s = fakeAnchor.ReplaceAllString(s, "($1)")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	runes := []rune(s)
	return strings.TrimSpace(string(runes[:limit-1])) + "…"
}
