package state

import (
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// nearly reads words that are unknown as others that are written in nearly the same way, where that leads to one reading alone.
func (t *Tables) nearly(words []term, kind string, limit int) (found Question, ok bool) {
	folded := texts(words)
	var at []int
	for i := range words {
		if len(t.pieces(words, folded, i)) == 0 && !t.covered(words, folded, i) {
			at = append(at, i)
		}
	}
	const most = 9 // words that are written wrong, or stand beside one in a name
	if len(at) == 0 || len(at) > most {
		return found, false
	}
	options, tries := t.options(folded, at)
	if tries == 0 || tries > maxSpelled {
		return found, false
	}
	several := false
	var visit func(i int, as []term)
	visit = func(i int, as []term) {
		if i < len(at) {
			for _, text := range options[i] {
				next := slices.Clone(as)
				next[at[i]].text, next[at[i]].raw = text, text
				visit(i+1, next)
			}
			return
		}
		if slices.Equal(texts(as), folded) {
			return
		}
		again := t.inDollars(t.terms(written(as)))
		got, read := t.exactly(again, kind, limit)
		if !read {
			got, read = t.anywhere(again, kind, limit, true)
		}
		if !read {
			return
		}
		if several = several || ok && !slices.EqualFunc(found.Parts, got.Parts, alike); !ok {
			found, ok = t.mended(got, folded, as, at), true
		}
	}
	visit(0, words)
	return found, ok && !several
}

// written is a question of some words.
func written(words []term) string {
	var text strings.Builder
	for i, w := range words {
		switch {
		case w.stop && i > 0:
			text.WriteString(", ")
		case w.slash:
			text.WriteString(" / ")
		case w.hash:
			text.WriteString(" #")
		default:
			text.WriteString(" ")
		}
		text.WriteString(w.raw)
		if w.cent {
			text.WriteString("%")
		}
	}
	return text.String()
}

// maxSpelled is how many ways to write a question are tried.
const maxSpelled = 27

// alike reports whether two parts ask for the same.
func alike(a, b Part) bool {
	return a.Query.String() == b.Query.String() && a.word == b.word && a.since == b.since && slices.Equal(a.keys, b.keys)
}

// options are the words that may stand at places of a question instead of those that are written wrong, and in how many ways they may.
func (t *Tables) options(folded []string, at []int) (options [][]string, tries int) {
	part := func(place int) bool { // of a phrase whose other words are written wrong
		_, is := slices.BinarySearch(t.spellings(), folded[place])
		return is
	}
	titled := func(place int) bool { return place >= 0 && place < len(folded) && len(t.words[folded[place]]) > 0 }
	least := leastSpelled
	if slices.ContainsFunc(at, part) { // the phrase tells the word
		least = leastKnown
	}
	tries = 1
	for _, place := range at {
		list := []string{folded[place]}
		if !part(place) && !titled(place) { // what a title has is written right
			if list = t.spelled(folded[place], least); len(list) == 0 && (titled(place-1) || titled(place+1)) {
				list = t.titled(folded[place])
			}
			if len(list) == 0 { // what the words beside it may make of it
				list = []string{folded[place]}
			}
		}
		options, tries = append(options, list), tries*len(list)
	}
	return options, tries
}

// mended is a question with the words that it was read with instead of those at some places.
func (t *Tables) mended(got Question, folded []string, as []term, at []int) Question {
	for j := range got.Parts {
		got.Parts[j].Match = api.MatchSpelling
	}
	for _, place := range at {
		if as[place].text != folded[place] {
			got.Missing = append(got.Missing, api.LookupMissing{
				Word: folded[place], Why: api.MissingUnknownWord, Instead: []string{as[place].text},
			})
		}
	}
	return got
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
	leastTwice   = leastSpelled + 3 // of one with two that are wrong
	leastShort   = leastKnown - 1   // of one of which two letters are swapped, or whose first and last are right
)

// newSpellings are the words of names and of questions that may be written wrong, each once.
func (t *Tables) newSpellings() (list []string) {
	add := func(text string) { list = append(list, wordsOf(text)...) }
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
		if stem, is := strings.CutSuffix(w, "y"); is {
			add(stem + "ies")
		}
		add(w + "s")
	}
	for w := range t.values {
		add(w)
	}
	for w, r := range t.vocabulary {
		if r != grammar && r != doing {
			add(w)
		}
	}
	add(strings.ReplaceAll(mistyped, "|", " "))
	slices.Sort(list)
	return slices.Compact(list)
}

// mistyped are words of every question that are often written wrong: of time, and such as carry no meaning.
const mistyped = "|yesterday|today|weekly|monthly|daily|hourly|monday|tuesday|wednesday|thursday|friday|saturday|sunday|week|month|" +
	"year|hour|hours|minutes|days|weeks|since|last|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|" +
	"second|third|fourth|forty|fifty|hundred|thousand|million|billion|trillion|crypto|whole|newest|getting|" +
	"changed|moved|performed|performance|traded|trading|than|then|past|" +
	"january|february|march|april|june|july|august|september|october|november|december|" + grammarMistyped

// grammarMistyped are those that carry none.
const grammarMistyped = "|what|whats|which|where|when|much|many|please|current|currently|latest|right|there|with|about|from|this|" +
	"that|have|does|could|would|should|the|and|tell|give|show|how|who|are|you|can|for|" +
	"against|versus|compared|together|dollars|percent|last|next|"

// spelled are the words that are written most nearly like one that is unknown and has some letters, at most three.
func (t *Tables) spelled(w string, least int) (list []string) {
	const most = 3
	if len(w) < leastShort {
		return nil
	}
	nearest := 2
	for _, known := range t.spellings() {
		d := t.slips(w, known, least)
		if d == 0 || d > nearest {
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
	if swaps := slices.DeleteFunc(slices.Clone(list), func(known string) bool { return !swapped(w, known) }); len(swaps) > 0 {
		list = swaps
	}
	if same := slices.DeleteFunc(slices.Clone(list), func(known string) bool { return known[0] != w[0] }); len(same) > 0 {
		list = same // the first letter is seldom wrong: litcoin is no bitcoin
	}
	if len(list) > most {
		return nil
	}
	return list
}

// titled are the words of titles that w may be, where one letter is written wrong.
func (t *Tables) titled(w string) (list []string) {
	const most = 3
	for known := range t.words {
		long := len(w) >= leastSpelled && len(known) >= leastSpelled
		if long && known[0] == w[0] && (swapped(w, known) || human.Distance(w, known, 1) == 1) {
			list = append(list, known)
		}
	}
	if slices.Sort(list); len(list) > most {
		return nil
	}
	return list
}

// slips are how many letters of a known word are written wrong in w, 0 for too many. The shorter w is, the fewer ways there are.
func (t *Tables) slips(w, known string, least int) int {
	if len(known) < leastShort || len(known) < len(w)-2 || len(known) > len(w)+2 {
		return 0
	}
	if r := t.vocabulary[known]; (r == grammar || r == joining || r == doing) && !oneOf(known, grammarMistyped) && !t.fields[known] {
		return 0 // what is not known is no word without a meaning
	}
	if swapped(w, known) {
		return 1
	}
	if len(known) < leastKnown || cardinal(known) > 0 && (len(known) < leastSpelled || w[0] != known[0]) {
		return 0
	}
	few := len(w) < least || oneOf(known, grammarMistyped)
	nearest := 1
	if len(w) >= leastTwice && !few {
		nearest = 2
	}
	d := human.Distance(w, known, nearest)
	switch {
	case d > nearest || d > 1 && w[0] != known[0]:
		return 0
	case few && (w[0] != known[0] || len(w) == len(known) && w[len(w)-1] != known[len(w)-1]):
		return 0
	}
	return d
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
