package prose

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentence is one statement of a text with the anchors that belong to it.
type Sentence struct {
	Text       string
	Start, End int
	Anchors    []int
	Bad        []string // what looks like an anchor and is none
	Opens      bool     // it starts a paragraph
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
)

// Sentences cuts t into sentences. No sentence ends within a phrase of the state or in the middle of a quotation, and an
// anchor after a full stop belongs to the sentence before it.
func Sentences(t string, spans []Found) []Sentence {
	var list []Sentence
	for _, b := range blocks(t, spans) {
		opens := true
		start := b[0]
		for _, end := range append(sentenceEnds(t, b[0], b[1], spans), b[1]) {
			s := Sentence{Text: strings.TrimSpace(t[start:end]), Start: start, End: end, Opens: opens}
			start = end
			if Says(s.Text) {
				s.readAnchors(t, spans)
				list = append(list, s)
				opens = false
			}
		}
	}
	return list
}

// blocks lists where the paragraphs, list items and headings of t are, without their markers. A name is no marker.
func blocks(t string, spans []Found) [][2]int {
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
		if !slices.ContainsFunc(spans, func(s Found) bool { return s.Start >= start && s.Start < after }) {
			start = after
		}
		list = append(list, [2]int{start, end})
	}
	return list
}

// sentenceEnds finds where sentences end inside t[from:to].
func sentenceEnds(t string, from, to int, spans []Found) []int {
	var ends []int
	quotes := Quotations(t[from:to], from)
	for _, m := range stop.FindAllStringIndex(t[from:to], -1) {
		at, after := from+m[0], from+m[1]
		within := func(s Found) bool { return s.Start <= at && at < s.End && s.End < to }
		if inside(quotes, at, after) || slices.ContainsFunc(spans, within) {
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
		case unicode.IsLower(next) && !(at > from && t[at-1] == ']') && !startsPhrase(spans, end, t):
		default:
			ends = append(ends, end)
		}
	}
	return ends
}

// lastBytes is the last n bytes of t: all that a pattern for its end needs to see.
func lastBytes(t string, n int) string { return t[max(0, len(t)-n):] }

// startsPhrase reports whether the next word after position i of t starts a name of the state, which may be in lower case.
func startsPhrase(spans []Found, i int, t string) bool {
	i += len(t[i:]) - len(strings.TrimLeftFunc(t[i:], unicode.IsSpace))
	return slices.ContainsFunc(spans, func(s Found) bool { return s.Start == i && s.Named })
}

// Quotations lists where quotations are, from the first to before the last character of what is quoted.
func Quotations(t string, offset int) [][2]int {
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
func (s *Sentence) readAnchors(t string, spans []Found) {
	for _, m := range bracketed.FindAllStringIndex(t[s.Start:s.End], -1) {
		start, end := s.Start+m[0], s.Start+m[1]
		text := t[start:end]
		if Covered(spans, start, end) {
			continue
		}
		switch n, err := strconv.Atoi(strings.Trim(text, "[]")); {
		case anchorForm.MatchString(text) && err == nil:
			s.Anchors = append(s.Anchors, n)
		case anchorLike.MatchString(text):
			s.Bad = append(s.Bad, text)
		}
	}
}

// hideBrackets replaces the brackets of t that are not those of an anchor by parentheses, as phrases have them.
func hideBrackets(t string) string {
	hidden := []byte(Parenthesize(t))
	for _, m := range anyAnchor.FindAllStringIndex(t, -1) {
		copy(hidden[m[0]:m[1]], t[m[0]:m[1]])
	}
	return string(hidden)
}

// Covered reports whether t[start:end] lies within a phrase of the state.
func Covered(spans []Found, start, end int) bool {
	return slices.ContainsFunc(spans, func(s Found) bool { return s.Start <= start && end <= s.End })
}

// Silent reports whether s states nothing: a heading, or a few words that announce what follows.
func (s *Sentence) Silent() bool {
	if len(Figures(s.Masked())) > 0 {
		return false
	}
	return heading.MatchString(s.Text) || strings.HasSuffix(s.Text, ":") && len(strings.Fields(s.Text)) <= 8
}

// Masked is the text of s with spaces in the place of its anchors.
func (s *Sentence) Masked() string {
	return bracketed.ReplaceAllStringFunc(s.Text, func(a string) string {
		if anchorForm.MatchString(a) || anchorLike.MatchString(a) {
			return strings.Repeat(" ", len(a))
		}
		return a
	})
}

// AnchorsAt lists the anchors that follow position i of t at once, behind a closing quotation mark; nil if none does.
func AnchorsAt(t string, i int) []int {
	var list []int
	for _, a := range anyAnchor.FindAllString(ownAnchors.FindString(t[i:]), -1) {
		if n, err := strconv.Atoi(strings.Trim(a, "[]")); err == nil {
			list = append(list, n)
		}
	}
	return list
}
