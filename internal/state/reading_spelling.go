package state

import (
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// nearly reads words that are unknown as others that are written in nearly the same way.
func (t *Tables) nearly(words []term, kind string, limit int) (found Question, ok bool) {
	folded := texts(words)
	var at []int
	for i := range words {
		if len(t.pieces(words, folded, i)) == 0 && !t.covered(words, folded, i) {
			at = append(at, i)
		}
	}
	const most = 3 // words that are written wrong
	if len(at) == 0 || len(at) > most {
		return found, false
	}
	options := make([][]string, len(at))
	part := func(place int) bool { // of a phrase whose other words are written wrong
		_, is := slices.BinarySearch(t.spellings(), folded[place])
		return is
	}
	least := leastSpelled
	if slices.ContainsFunc(at, part) { // the phrase tells the word
		least = leastKnown
	}
	for i, place := range at {
		options[i] = t.spelled(folded[place], least)
		if part(place) {
			options[i] = append(options[i], folded[place])
		}
		if len(options[i]) == 0 {
			return found, false
		}
	}
	var visit func(i int, as []term) bool
	visit = func(i int, as []term) bool {
		if i == len(at) {
			got, read := t.exactly(as, kind, limit)
			if !read {
				return false
			}
			found, ok = got, true
			for j := range found.Parts {
				found.Parts[j].Match = api.MatchSpelling
			}
			for _, place := range at {
				if as[place].text == folded[place] {
					continue
				}
				found.Missing = append(found.Missing, api.LookupMissing{
					Word: folded[place], Why: api.MissingUnknownWord, Instead: []string{as[place].text},
				})
			}
			return true
		}
		for _, text := range options[i] {
			next := slices.Clone(as)
			next[at[i]].text, next[at[i]].raw = text, text
			if visit(i+1, next) {
				return true
			}
		}
		return false
	}
	visit(0, words)
	return found, ok
}

// covered reports whether a piece that begins before word i has it.
func (t *Tables) covered(words []term, folded []string, i int) bool {
	for j := max(0, i-maxPhrase); j < i; j++ {
		if slices.ContainsFunc(t.pieces(words, folded, j), func(p piece) bool { return p.to > i }) {
			return true
		}
	}
	return false
}

// leastSpelled is how many letters a word has at least that may be written wrong: fewer make any other.
const (
	leastSpelled = 5
	leastKnown   = leastSpelled - 1 // of the word that was meant: a letter may be too many
)

// newSpellings are the words of names and of questions that may be written wrong, each once.
func (t *Tables) newSpellings() (list []string) {
	add := func(text string) {
		for _, w := range wordsOf(text) {
			if len(w) >= leastKnown-1 { // the least may stand beside one that is written wrong
				list = append(list, w)
			}
		}
	}
	for _, name := range t.known {
		add(name.name)
	}
	for i := range t.rows {
		if of := t.rows[i].Entity; !strings.Contains(of, "/") { // what news is about
			add(of)
		}
		if !t.kinds[t.place[t.rows[i].Kind]].Own {
			for _, alias := range t.rows[i].Aliases {
				add(alias)
			}
		}
	}
	for w := range t.fields {
		add(w)
	}
	for w := range t.asks {
		add(w)
	}
	for w := range t.values {
		add(w)
	}
	for w, r := range t.vocabulary {
		if r != grammar && r != doing {
			add(w)
		}
	}
	for _, w := range [...]string{"yesterday", "today", "weekly", "monthly", "daily", "hourly", "monday", "tuesday", "wednesday",
		"thursday", "friday"} {
		add(w)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// spelled are the words that are written most nearly like one that is unknown and has some letters, at most three.
func (t *Tables) spelled(w string, least int) (list []string) {
	const most = 3
	if len(w) < least {
		return nil
	}
	nearest := 1
	if len(w) > leastSpelled {
		nearest = 2
	}
	for _, known := range t.spellings() {
		if len(known) < leastKnown {
			continue
		}
		d := human.Distance(w, known, nearest)
		if swapped(w, known) {
			d = 1
		}
		if d > nearest || d > 1 && w[0] != known[0] {
			continue
		}
		if r := t.vocabulary[known]; (r == rising || r == falling) && len(known) == len(w) && !swapped(w, known) {
			continue // scared is no word for soared
		}
		if d < nearest {
			list, nearest = nil, d
		}
		list = append(list, known)
	}
	if same := slices.DeleteFunc(slices.Clone(list), func(known string) bool { return known[0] != w[0] }); len(same) > 0 {
		list = same // the first letter is seldom wrong: litcoin is no bitcoin
	}
	if len(list) > most {
		return nil
	}
	return list
}

// swapped reports whether two letters beside each other are all that two words differ in.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i+1 < len(a); i++ {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}
