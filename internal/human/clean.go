// Package human writes what people read and cleans what others wrote: numbers, amounts of dollars, percents, sizes, ages, and text
// from outside. It is the one place for these in the daemon, the SDK, ctx and the terminal UI, so that no two of them show the same
// figure in two ways or let through what another takes out.
//
// A style is named for where it stands: USD and Percent in a sentence, Compact and Change in a column, the InWords family in the
// prose of briefs. In all of them a figure is rounded first and its unit chosen by what is left, so that none reads 1000K, and what
// rounds to zero has no sign.
//
// The package imports the standard library alone, for the SDK carries it into every program.
package human

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// sequence is what commands a terminal: a control sequence, a string such as the title with all that it holds, or another escape.
	// What has no end goes as far as it can be one, for a terminal would wait for it; not so behind the one-character forms of the
	// first two, which are more often a quotation mark in the wrong encoding.
	sequence = regexp.MustCompile(`\x1b` + skipped + `\[[0-?]*[ -/]*[@-~]?|\x{9b}[0-?]*[ -/]*[@-~]` +
		`|\x1b` + skipped + `[\]PX^_][^\x07\x1b\x{9c}]*(?:\x07|\x1b\\|\x{9c})?|\x{9d}[^\x07\x1b\x{9c}]*(?:\x07|\x1b\\|\x{9c})` +
		`|\x1b` + skipped + `[ -/]*[0-~]?`)
	fakeAnchor = regexp.MustCompile(`\[(\s*\d+\s*)\]`)
)

// skipped are controls inside an escape: a terminal obeys them at once and reads on.
const skipped = `[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]*`

// Text is s as it may be shown on several lines: without terminal sequences and without Hostile characters but newline and tab.
// Whatever else breaks a line becomes a newline, and what is not UTF-8 or not a character becomes U+FFFD.
func Text(s string) string {
	if printable(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsFunc(s, func(r rune) bool { return r == '\x1b' || '\u0080' <= r && r <= '\u009f' }) {
		s = sequence.ReplaceAllString(s, "")
	}
	var last rune
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
		case strings.ContainsRune("\n\v\f\r\u0085\u2028\u2029", r):
			r = '\n'
		case unicode.Is(unicode.Cn, r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			r = utf8.RuneError
		case Hostile(r), presentation(r) && presentation(last): // a run of these could spell a message that nobody sees
			return -1
		}
		last = r
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}

// Line is Text on one line: line breaks become one space, or none at the ends, and other white space a space each.
func Line(s string) string {
	if printable(s) {
		return s
	}
	lines := strings.FieldsFunc(Text(s), func(r rune) bool { return r == '\n' })
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, strings.Join(lines, " "))
}

// Short is Line with white space collapsed, clipped to limit runes.
func Short(s string, limit int) string { return Clip(words(s), limit) }

// Label is Short for text that is to stand among anchors: [n] becomes (n), so that it cannot pass for one.
func Label(s string, limit int) string {
	s = words(s)
	if strings.ContainsRune(s, '[') {
		s = fakeAnchor.ReplaceAllString(s, "($1)")
	}
	return Clip(s, limit)
}

func words(s string) string { return strings.Join(strings.Fields(Text(s)), " ") }

// Quoted is how many runes of somebody else's text a message quotes, for Clip and Short.
const Quoted = 40

// Clip shortens s to at most limit runes, the last of which is an ellipsis then. It cleans nothing.
func Clip(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:max(limit-1, 0)])) + "…"
}

// Hostile reports whether r could command a terminal, cannot be seen, or changes how its neighbours are read: controls, newline and
// tab among them, format characters such as those of direction, tags, fillers, the selectors of variants other than of emoji,
// separators of lines, private use and what is not assigned. Joiners of emoji are among them: the emoji stand side by side then.
func Hostile(r rune) bool {
	switch {
	case r < unicode.MaxASCII:
		return r < ' '
	case presentation(r):
		return false
	}
	return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// presentation reports whether r chooses between the text and the emoji form of what stands before it.
func presentation(r rune) bool { return r == '\ufe0e' || r == '\ufe0f' }

// printable reports whether s is ASCII without controls.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
