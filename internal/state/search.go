package state

import (
	"strings"
	"unicode/utf8"

	"github.com/contextd/contextd/sdk/api"
)

// Result is what a search found. Matches is never nil.
type Result struct {
	Matches []api.SearchMatch // at most k, best first, ties in document order
	Total   int               // before truncation to k
}

// match is how well a text matched. Greater is better.
type match uint8

const (
	none match = iota
	substring
	word
)

func (m match) score() float64 {
	if m == word {
		return api.ScoreWord
	}
	return api.ScoreSubstring
}

// Search finds the leaves whose text or last member name contains q, whatever the case. An empty q finds nothing.
func (t *Table) Search(q string, k int) Result {
	q = fold(q)
	if q == "" {
		return Result{Matches: []api.SearchMatch{}}
	}
	// One byte per leaf on the stack for a state of usual size.
	var small [2048]match
	found := small[:min(len(t.leaves), len(small))]
	if len(t.leaves) > len(small) {
		found = make([]match, len(t.leaves))
	}
	t.matchValues(q, found)
	t.matchNames(q, found)
	return t.best(found, k)
}

// matchValues notes in found how the text of each leaf matches q. It jumps from occurrence to occurrence.
func (t *Table) matchValues(q string, found []match) {
	i := 0
	for at := 0; at < len(t.values); {
		hit := strings.Index(t.values[at:], q)
		if hit < 0 {
			return
		}
		at += hit
		i = t.leafAt(i, at)
		l := t.leaves[i]
		found[i] = rank(t.values[l.start:l.end], q, at-l.start)
		at = l.end + 1
	}
}

// leafAt is the leaf whose text holds the offset at, from leaf i on. It gallops, because occurrences are often near.
func (t *Table) leafAt(i, at int) int {
	step := 1
	for i+step < len(t.leaves) && t.leaves[i+step].start <= at {
		i += step
		step *= 2
	}
	for ; step > 0; step /= 2 {
		if i+step < len(t.leaves) && t.leaves[i+step].start <= at {
			i += step
		}
	}
	return i
}

// matchNames raises found for the leaves whose last member name matches q.
func (t *Table) matchNames(q string, found []match) {
	for n, name := range t.names {
		first := strings.Index(name, q)
		if first < 0 {
			continue
		}
		m := rank(name, q, first)
		for i := range t.leaves {
			if t.leaves[i].name == n {
				found[i] = max(found[i], m)
			}
		}
	}
}

// rank says how text matches q, whose first occurrence in it is at first.
func rank(text, q string, first int) match {
	for at := first; ; {
		if boundary(text, at) && boundary(text, at+len(q)) {
			return word
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		next := strings.Index(text[at+size:], q)
		if next < 0 {
			return substring
		}
		at += size + next
	}
}

// boundary reports whether a word may begin or end at the offset at: an end of text, or a change between letter or digit and
// anything else.
func boundary(text string, at int) bool {
	if at == 0 || at == len(text) {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	return wordRune(before) != wordRune(after)
}

func (t *Table) best(found []match, k int) Result {
	var total int
	for _, m := range found {
		if m != none {
			total++
		}
	}
	r := Result{Matches: make([]api.SearchMatch, 0, max(0, min(total, k))), Total: total}
	for _, want := range [...]match{word, substring} {
		for i, m := range found {
			if len(r.Matches) >= k {
				return r
			}
			if m == want {
				r.Matches = append(r.Matches, api.SearchMatch{Path: t.leaves[i].path, Value: t.leaves[i].value, Score: m.score()})
			}
		}
	}
	return r
}
