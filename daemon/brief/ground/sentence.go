package ground

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentence is one statement of a text with the anchors that belong to it.
type sentence struct {
	text       string
	start, end int
	anchors    []int
	bad        []string // what looks like an anchor and is none
	opens      bool     // it starts a paragraph
}

var (
	blank       = regexp.MustCompile(`\n[ \t]*\n`)
	newBlock    = regexp.MustCompile(`\n[ \t]*(?:[-*•][ \t]|#{1,6}[ \t]|\d{1,2}[.)][ \t])`)
	marker      = regexp.MustCompile(`^\s*(?:(?:[-*•]|\d{1,2}[.)])[ \t]+)?`)
	heading     = regexp.MustCompile(`^(?:#{1,6}[ \t].*|\*\*[^*]*\*\*)$`)
	bracketed   = regexp.MustCompile(`\[[^\[\]\n]*\]`)
	anyAnchor   = regexp.MustCompile(`\[[1-9]\d*\]`)
	ownAnchors  = regexp.MustCompile(`^["”]? ?(?:\[[1-9]\d*\])+`)
	anchorForm  = regexp.MustCompile(`^\[[1-9]\d*\]$`)
	anchorLike  = regexp.MustCompile(`^\[(?:[\s\d,;.^*–—-]*\d[\s\d,;.^*–—-]*|(?i:refs?|sources?|cite)\W*\d.*)\]$`)
	stop        = regexp.MustCompile(`[.!?…]+`)
	afterStop   = regexp.MustCompile(`^["'”’)*_]*(?:\s*\[[^\[\]\n]*\])*`)
	abbreviated = regexp.MustCompile(`(?i:\b(?:vs|approx|est|etc|no|inc|ltd|corp|co|st|mr|mrs|ms|dr|jr|sr|fig|cf|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)|\b(?:[a-z]\.)+[a-z]|\b(?-i:[A-Z]))$`)
	link        = regexp.MustCompile(`(?i)\]\([^)\n]*\)|\b[a-z][a-z0-9+.-]*://[^\s\])]*|\bwww\.[^\s\])]+|[\pL\pN._%+-]*[\pL\pN]@[\pL\pN][\pL\pN.-]*`)
	dotted      = regexp.MustCompile(`[\pL\pN][\pL\pN-]*(?:\.[\pL\pN-]+)+`)
	wordChar    = regexp.MustCompile(`[\pL\pN]`)
)

// splitSentences cuts t into sentences. No sentence ends within a phrase of the state or in the middle of a quotation, and an
// anchor after a full stop belongs to the sentence before it.
func splitSentences(t string, spans []span) []sentence {
	var list []sentence
	for _, b := range blocks(t, spans) {
		opens := true
		start := b[0]
		for _, end := range append(sentenceEnds(t, b[0], b[1], spans), b[1]) {
			s := sentence{text: strings.TrimSpace(t[start:end]), start: start, end: end, opens: opens}
			start = end
			if wordChar.MatchString(s.text) {
				s.readAnchors(t, spans)
				list = append(list, s)
				opens = false
			}
		}
	}
	return list
}

// blocks lists where the paragraphs, list items and headings of t are, without their markers. A name is no marker.
func blocks(t string, spans []span) [][2]int {
	cuts := []int{0, len(t)}
	for _, re := range []*regexp.Regexp{blank, newBlock} {
		for _, m := range re.FindAllStringIndex(t, -1) {
			cuts = append(cuts, m[0]+1)
		}
	}
	for at := 0; at < len(t); { // a heading ends with its line
		line, _, _ := strings.Cut(t[at:], "\n")
		if heading.MatchString(strings.TrimSpace(line)) {
			cuts = append(cuts, at, at+len(line))
		}
		at += len(line) + 1
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var list [][2]int
	for i, end := range cuts[1:] {
		start := cuts[i]
		after := start + len(marker.FindString(t[start:end]))
		if !slices.ContainsFunc(spans, func(s span) bool { return s.start >= start && s.start < after }) {
			start = after
		}
		list = append(list, [2]int{start, end})
	}
	return list
}

// sentenceEnds finds where sentences end inside t[from:to].
func sentenceEnds(t string, from, to int, spans []span) []int {
	var ends []int
	quotes := quotations(t[from:to], from)
	for _, m := range stop.FindAllStringIndex(t[from:to], -1) {
		at, after := from+m[0], from+m[1]
		if inside(quotes, at, after) || slices.ContainsFunc(spans, func(s span) bool { return s.start <= at && at < s.end && s.end < to }) {
			continue
		}
		tail := afterStop.FindString(t[after:to])
		end := after + len(tail)
		rest := t[end:to]
		next, _ := utf8.DecodeRuneInString(strings.TrimLeft(rest, " \n\t\"'“‘(*_"))
		anchored := strings.Contains(tail, "[")
		switch {
		case rest == "" || !unicode.IsSpace(rune(rest[0])):
		case !anchored && t[at:after] == "." && abbreviated.MatchString(lastBytes(t[from:at], 20)):
		case unicode.IsLower(next) && !(t[at-1] == ']' && at > from) && !startsPhrase(spans, end, t):
		default:
			ends = append(ends, end)
		}
	}
	return ends
}

// lastBytes is the last n bytes of t: all that a pattern for its end needs to see.
func lastBytes(t string, n int) string { return t[max(0, len(t)-n):] }

// startsPhrase reports whether the next word after position i of t starts a name of the state, which may be in lower case.
func startsPhrase(spans []span, i int, t string) bool {
	i += len(t[i:]) - len(strings.TrimLeftFunc(t[i:], unicode.IsSpace))
	return slices.ContainsFunc(spans, func(s span) bool { return s.start == i && s.phrase.name })
}

// quotations lists where quotations are, from the first to before the last character of what is quoted.
func quotations(t string, offset int) [][2]int {
	var list [][2]int
	open := -1
	for i, r := range t {
		switch {
		case r == '“' || r == '"' && open < 0:
			open = i + utf8.RuneLen(r)
		case (r == '”' || r == '"') && open >= 0:
			list = append(list, [2]int{offset + open, offset + i})
			open = -1
		}
	}
	return list
}

// inside reports whether t[at:after] is inside one of the ranges, but not at its end.
func inside(ranges [][2]int, at, after int) bool {
	return slices.ContainsFunc(ranges, func(r [2]int) bool { return r[0] <= at && after < r[1] })
}

// readAnchors collects the anchors of s. Brackets within a phrase of the state are none.
func (s *sentence) readAnchors(t string, spans []span) {
	for _, m := range bracketed.FindAllStringIndex(t[s.start:s.end], -1) {
		start, end := s.start+m[0], s.start+m[1]
		text := t[start:end]
		if covered(spans, start, end) {
			continue
		}
		switch n, err := strconv.Atoi(strings.Trim(text, "[]")); {
		case anchorForm.MatchString(text) && err == nil:
			s.anchors = append(s.anchors, n)
		case anchorLike.MatchString(text):
			s.bad = append(s.bad, text)
		}
	}
}

// hideBrackets replaces the brackets of t that are not those of an anchor by parentheses, as phrases have them.
func hideBrackets(t string) string {
	hidden := []byte(parenthesize(t))
	for _, m := range anyAnchor.FindAllStringIndex(t, -1) {
		copy(hidden[m[0]:m[1]], t[m[0]:m[1]])
	}
	return string(hidden)
}

// covered reports whether t[start:end] lies within a phrase of the state.
func covered(spans []span, start, end int) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.start <= start && end <= s.end })
}

// silent reports whether s states nothing: a heading, or a few words that announce what follows.
func (s *sentence) silent() bool {
	if len(scanFigures(s.masked())) > 0 {
		return false
	}
	return heading.MatchString(s.text) || strings.HasSuffix(s.text, ":") && len(strings.Fields(s.text)) <= 8
}

// masked is the text of s with spaces in the place of its anchors.
func (s *sentence) masked() string {
	return bracketed.ReplaceAllStringFunc(s.text, func(a string) string {
		if anchorForm.MatchString(a) || anchorLike.MatchString(a) {
			return strings.Repeat(" ", len(a))
		}
		return a
	})
}
