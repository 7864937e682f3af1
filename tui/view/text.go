package view

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/internal/human"
)

// Clean is human.Text in columns: a tab is a space, and what would melt into its neighbours on the screen, such as a mark at the
// beginning, goes too.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	lines := strings.Split(strings.ReplaceAll(human.Text(s), "\t", " "), "\n")
	for i := range lines {
		lines[i] = apart(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Line is human.Line in columns, as Clean is.
func Line(s string) string {
	if plain(s) {
		return s
	}
	return apart(human.Line(s))
}

// apart is a line without the characters at its ends that make one with a border beside them: the columns of a line would not add up.
func apart(s string) string {
	const border = "│"
	for s != "" {
		_, n := utf8.DecodeRuneInString(s)
		if ansi.StringWidth(s[:n]) > 0 && ansi.StringWidth(border+s) == 1+ansi.StringWidth(s) {
			break
		}
		s = s[n:]
	}
	for s != "" && ansi.StringWidth(s+border) != 1+ansi.StringWidth(s) {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// ASCII is s with what is beyond ASCII replaced, each column by one character.
func ASCII(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case strings.ContainsRune("“”„«»", r):
			b.WriteByte('"')
		case strings.ContainsRune("‘’‚", r):
			b.WriteByte('\'')
		case strings.ContainsRune("–—−", r):
			b.WriteByte('-')
		default:
			b.WriteString(strings.Repeat("?", ansi.StringWidth(string(r))))
		}
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Width is how many columns s takes, marks not counted.
func Width(s string) int {
	if n, ok := narrow(s); ok {
		return n
	}
	return ansi.StringWidth(s)
}

// narrow is the width of text of which every character takes one column by itself, marks not counted: nearly all that is drawn. ok is
// false for any other.
func narrow(s string) (n int, ok bool) {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= ' ' && c <= '~':
			n++
			i++
			continue
		case c == '\x1b':
			end := strings.IndexByte(s[i:], 'm')
			if end < 0 || i+1 >= len(s) || s[i+1] != '[' || strings.Trim(s[i+2:i+end], "0123456789;") != "" {
				return 0, false
			}
			i += end + 1
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r >= 0x2500 && r <= 0x25cf, r >= 0x2800 && r <= 0x28ff, r == '…', r == '→', r == '✓', r == '✗', r == '−', r == '‖':
		default:
			return 0, false
		}
		n++
		i += size
	}
	return n, true
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

// CutWhole is Cut for a sentence without marks, which leaves no part of a figure: $0.9 is not what $0.97 says.
func CutWhole(s string, width int, tail string) string {
	if Width(s) <= width || width <= Width(tail) {
		return Cut(s, width, tail)
	}
	kept := Cut(s, width-Width(tail), "")
	if at := strings.LastIndexByte(kept, ' '); at > 0 && s[len(kept)] != ' ' {
		if word, _, _ := strings.Cut(s[at+1:], " "); strings.ContainsAny(word, "0123456789") {
			kept = kept[:at]
		}
	}
	return kept + tail
}

// CutLeft cuts s to width columns from its end, with head where it cuts.
func CutLeft(s string, width int, head string) string {
	if over := Width(s) - width; over > 0 {
		return Cut(ansi.TruncateLeft(s, over+Width(head), head), width, "")
	}
	return s
}

// Fit is Cut, and filled with spaces up to width.
func Fit(s string, width int, tail string) string {
	n := Width(s)
	if n > width {
		s = Cut(s, width, tail)
		n = Width(s)
	}
	return s + Spaces(width-n)
}

// AlignRight is Fit with the spaces before s.
func AlignRight(s string, width int, tail string) string {
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
