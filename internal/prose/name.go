package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Phrase is a text that others may contain.
type Phrase struct {
	Text string
	Name bool // of a thing: it may be written in any case
}

// Found is where a text contains a phrase.
type Found struct {
	Start, End int
	Phrase     int  // its place in the list
	Named      bool // it is a name
	Sure       bool // hardly an ordinary word that looks like a short name
}

// Find finds every phrase in t as whole words, in the order of the list.
func Find(t string, phrases []Phrase) []Found {
	t = hideBrackets(t)
	lower := strings.ToLower(t)
	var list []Found
	for i, p := range phrases {
		in, text := t, p.Text
		if folded := strings.ToLower(text); p.Name && len(folded) == len(text) && len(lower) == len(t) {
			in, text = lower, folded // a name may start a sentence, or be shouted
		}
		for from := 0; from < len(t); {
			at := strings.Index(in[from:], text)
			if at < 0 {
				break
			}
			start := from + at
			end := start + len(p.Text)
			if WordEdge(t, start) && WordEdge(t, end) {
				sure := end-start > 1 && t[start:end] != strings.ToLower(t[start:end]) && (end-start > 3 || t[start:end] == p.Text)
				list = append(list, Found{start, end, i, p.Name, sure})
			}
			from = end
		}
	}
	return list
}

// WordEdge reports whether no word runs over position i of t.
func WordEdge(t string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(t[:i])
	after, _ := utf8.DecodeRuneInString(t[i:])
	word := func(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r)) }
	return !word(before) || !word(after)
}
