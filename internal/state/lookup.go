package state

import (
	"cmp"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/human"
)

// Found is what a question found.
type Found struct {
	Rows  []*Row     // at most limit, best first
	Asked [][]string // by row, the fields that the question named, or else the first of the kind
	Near  []string   // the nearest names, where there is no row
}

// maxNear is how many names are told where a question finds nothing.
const maxNear = 3

// maxKindWords is how many words ask for a kind at most, as fear and greed.
const maxKindWords = 3

// wanted is what the words of a question beside the name ask for.
type wanted struct {
	kinds []int    // places of the kinds that were named
	words []string // that may name fields
	order *Order   // of the rows; nil is by size
}

// Lookup finds the rows that a question is about. kind, unless empty, is the only kind that counts.
//
// A question is a name and words about it in any order: "ADA price", "what is the supply of tether", "solana news". The longest run
// of words that is a name wins, for as long as every other word means something: what means nothing is never left out in silence.
// An exact name comes before the beginning of one, and that before words of one, unless only a row of the latter has what is asked.
// Rows of kinds that are their own, such as headlines, answer last. Where no run of words is a name, all words that mean nothing may be
// words of one, wherever they stand.
func (t *Tables) Lookup(q, kind string, limit int) Found {
	words := wordsOf(q)
	matches := []func(name, kind string, said wanted) []int{t.exact, t.beginning, t.withWords, t.anywhere}
	var first *reading // the best one whose rows lack what is asked
	var rows []int
	if said, ok := t.meaning(words); ok && len(said.kinds) > 0 && !t.symbol(words) {
		rows = t.inOrder(t.counting(t.all, kind, said), said.order)
		if has := t.having(rows, said); len(has) > 0 {
			return t.answer(has, said, limit)
		}
		first, matches = &reading{said: said}, matches[:1] // a word for a kind may be a name too, as polymarket is
	}
	readings := append(t.readings(words), t.scattered(words)...)
	for _, match := range matches {
		for i := range readings {
			r := &readings[i]
			found := match(r.name, kind, r.said)
			if has := t.having(found, r.said); len(has) > 0 {
				return t.answer(has, r.whole(), limit)
			}
			if first == nil && len(found) > 0 {
				first, rows = r, found
			}
		}
	}
	if first != nil {
		return t.answer(rows, first.whole(), limit)
	}
	return Found{Near: t.near(words)}
}

type reading struct {
	name string // words that name the thing, with a space between
	said wanted // by the other words
}

// whole is what is wanted if the words of the name say something too, as in btc dominance.
func (r *reading) whole() wanted {
	return wanted{kinds: r.said.kinds, words: append(slices.Clip(r.said.words), strings.Fields(r.name)...), order: r.said.order}
}

// readings are the ways to read a question, those with the longest names first.
func (t *Tables) readings(words []string) (list []reading) {
	type part struct {
		said wanted
		ok   bool
	}
	before, behind := make([]part, len(words)+1), make([]part, len(words)+1) // what stands before each word, and from it on
	for i := range before {
		before[i].said, before[i].ok = t.meaning(words[:i])
		behind[i].said, behind[i].ok = t.meaning(words[i:])
	}
	for size := len(words); size > 0; size-- {
		for from := 0; from+size <= len(words); from++ {
			a, b := before[from], behind[from+size]
			if !a.ok || !b.ok || a.said.order != nil || b.said.order != nil {
				continue
			}
			said := wanted{
				kinds: append(slices.Clip(a.said.kinds), b.said.kinds...), words: append(slices.Clip(a.said.words), b.said.words...),
			}
			list = append(list, reading{strings.Join(words[from:from+size], " "), said})
		}
	}
	return list
}

// scattered is the reading whose name is all words that mean nothing else, if there are others between them, none otherwise.
func (t *Tables) scattered(words []string) []reading {
	var name, rest []string
	for i := 0; i < len(words); i++ {
		switch n := t.kindAt(words[i:]); {
		case n > 0:
			rest = append(rest, words[i:i+n]...)
			i += n - 1
		case t.fields[words[i]] || filler(words[i]):
			rest = append(rest, words[i])
		default:
			name = append(name, words[i])
		}
	}
	said, ok := t.meaning(rest)
	if len(name) < 2 || !ok || said.order != nil {
		return nil
	}
	return []reading{{strings.Join(name, " "), said}}
}

// inOrder are the rows in another order than by size. Those that have no place in it are left out.
func (t *Tables) inOrder(rows []int, o *Order) []int {
	if o == nil {
		return rows
	}
	value := func(i int) *float64 {
		switch x := t.rows[i].Fields.Get(o.Field).(type) {
		case float64:
			if !t.rows[i].Echo {
				return &x
			}
		case int:
			place := float64(x)
			return &place
		}
		return nil
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(i int) bool { return value(i) == nil })
	slices.SortStableFunc(rows, func(a, b int) int {
		if o.Least {
			return cmp.Compare(*value(a), *value(b))
		}
		return cmp.Compare(*value(b), *value(a))
	})
	return rows
}

// symbol reports whether the words are the symbol of something.
func (t *Tables) symbol(words []string) bool {
	return slices.ContainsFunc(t.names[strings.Join(words, " ")], func(h hit) bool { return h.class == bySymbol })
}

// answer lists the first rows, each with what is asked of it. Of one thing, the rows of the first kind are enough.
func (t *Tables) answer(rows []int, said wanted, limit int) (f Found) {
	for _, i := range rows {
		r := &t.rows[i]
		same := func(other *Row) bool { return other.Entity == r.Entity && other.Kind != r.Kind }
		if len(f.Rows) == limit || slices.ContainsFunc(f.Rows, same) {
			continue
		}
		asked := t.asked(r, said)
		if o := said.order; o != nil {
			asked = []string{o.Field}
		}
		if asked == nil && len(r.Fields) > 0 {
			asked = []string{r.Fields[0].Name}
		}
		f.Rows, f.Asked = append(f.Rows, r), append(f.Asked, asked)
	}
	return f
}

// having are the rows that have most of the fields that are asked for; all of them where none is. So the gas price on Ethereum is not the
// price of ether.
func (t *Tables) having(rows []int, said wanted) []int {
	if t.fieldsIn(said) == 0 {
		return rows
	}
	var has []int
	most := 1
	for _, i := range rows {
		n := t.has(i, said)
		if n > most {
			has, most = has[:0], n
		}
		if n == most {
			has = append(has, i)
		}
	}
	return has
}

// fieldsIn is how many words ask for a field.
func (t *Tables) fieldsIn(said wanted) (n int) {
	for _, w := range said.words {
		if t.fields[w] {
			n++
		}
	}
	return n
}

// has is how many words ask for a field that row i has.
func (t *Tables) has(i int, said wanted) (n int) {
	for _, w := range said.words {
		if len(t.asked(&t.rows[i], wanted{words: []string{w}})) > 0 {
			n++
		}
	}
	return n
}

// asked are the fields of r that the words name.
func (t *Tables) asked(r *Row, said wanted) (list []string) {
	for _, field := range t.kinds[t.place[r.Kind]].Fields {
		named := slices.ContainsFunc(field.Words, func(w string) bool { return slices.Contains(said.words, w) })
		if named && r.Fields.Get(field.Name) != nil {
			list = append(list, field.Name)
		}
	}
	return list
}

// counting are the rows of a kind that the question is about; where it is about none, those of kinds that are not their own.
func (t *Tables) counting(rows []int, kind string, said wanted) []int {
	var count []int
	for _, i := range rows {
		place := t.place[t.rows[i].Kind]
		counts := !t.kinds[place].Own
		switch {
		case kind != "":
			counts = t.rows[i].Kind == kind
		case len(said.kinds) > 0:
			counts = slices.Contains(said.kinds, place)
		}
		if counts {
			count = append(count, i)
		}
	}
	return count
}

// exact are the rows with a name, and where none of these has all that is asked for, the others about the same things behind them. Where
// none is of the kind that is asked for, those count whose names have it, or the name of what has it as a symbol, among their words.
func (t *Tables) exact(name, kind string, said wanted) []int {
	hits := t.names[name]
	rows := make([]int, len(hits))
	var about []int
	for i, h := range hits {
		rows[i] = h.row
		about = append(about, t.entities[t.rows[h.row].Entity]...)
	}
	slices.Sort(about)
	if list := t.counting(rows, kind, said); len(list) > 0 || len(hits) == 0 {
		if slices.ContainsFunc(list, func(i int) bool { return t.has(i, said) == t.fieldsIn(said) }) {
			return list
		}
		for _, i := range t.counting(slices.Compact(about), kind, said) {
			if !slices.Contains(list, i) {
				list = append(list, i)
			}
		}
		return list
	}
	about = append(about, t.withWords(name, kind, said)...)
	for _, i := range rows {
		about = append(about, t.naming(t.rows[i].Name)...)
	}
	slices.Sort(about)
	return t.counting(slices.Compact(about), kind, said)
}

// naming are the rows whose names have a name in them, written as it is: one that is a word too is none in small letters.
func (t *Tables) naming(name string) []int {
	return slices.DeleteFunc(t.matching(wordsOf(name)), func(i int) bool { return !strings.Contains(t.rows[i].Name, name) })
}

func (t *Tables) beginning(name, kind string, said wanted) (rows []int) {
	const least = 3 // letters; fewer begin anything
	if len(name) < least {
		return nil
	}
	at, _ := slices.BinarySearch(t.order, name)
	for ; at < len(t.order) && strings.HasPrefix(t.order[at], name); at++ {
		for _, h := range t.names[t.order[at]] {
			rows = append(rows, h.row)
		}
	}
	slices.Sort(rows)
	return t.counting(slices.Compact(rows), kind, said)
}

// withWords are the rows whose names have all words of the given one.
func (t *Tables) withWords(name, kind string, said wanted) []int {
	return t.counting(t.matching(strings.Fields(name)), kind, said)
}

// anywhere are the rows of kinds that are their own, whose names have all words of the given one.
func (t *Tables) anywhere(name, kind string, said wanted) []int {
	if kind != "" || len(said.kinds) > 0 {
		return nil // they were looked at
	}
	return t.matching(strings.Fields(name))
}

// matching are the rows of any kind whose names have all words.
func (t *Tables) matching(words []string) (rows []int) {
	for i, w := range words {
		if i == 0 {
			rows = slices.Clone(t.words[w])
			continue
		}
		rows = slices.DeleteFunc(rows, func(r int) bool {
			_, has := slices.BinarySearch(t.words[w], r)
			return !has
		})
	}
	return rows
}

// meaning reads the words beside a name. It is not ok if one of them means nothing.
func (t *Tables) meaning(words []string) (said wanted, ok bool) {
	for i := 0; i < len(words); i++ {
		switch n := t.kindAt(words[i:]); {
		case n > 0:
			name := strings.Join(words[i:i+n], " ")
			said.kinds = append(said.kinds, t.asks[name])
			if o, ordered := t.orders[name]; ordered {
				said.order = &o
			}
			said.words = append(said.words, words[i:i+n]...)
			i += n - 1
		case t.fields[words[i]]:
			said.words = append(said.words, words[i])
		case !filler(words[i]):
			return said, false
		}
	}
	return said, true
}

// kindAt is how many words at the start of words ask for a kind, 0 for none.
func (t *Tables) kindAt(words []string) int {
	if !t.begins[words[0]] {
		return 0
	}
	for n := min(maxKindWords, len(words)); n > 0; n-- {
		if _, asks := t.asks[strings.Join(words[:n], " ")]; asks {
			return n
		}
	}
	return 0
}

// filler reports whether a word of a question says nothing about what is asked.
func filler(w string) bool {
	switch w {
	case "a", "an", "the", "what", "whats", "s", "is", "are", "of", "for", "at", "in", "on", "to", "me", "show", "tell", "give", "get",
		"how", "much",
		"many", "now", "today", "current", "currently", "latest", "right", "does", "do", "has", "have", "its", "it", "and", "please",
		"why", "about", "usd", "dollar", "dollars", "token", "coin", "crypto", "going", "been", "did", "doing", "this", "by", "with", "any",
		"top", "largest", "biggest", "most", "total", "all", "live", "usdt",
		"newest", "where", "was", "were":
		return true
	}
	return false
}

// near are the names that are most like the words of a question that found nothing.
func (t *Tables) near(words []string) []string {
	var at [maxTypos + 1][]string // by distance
	for _, w := range words {
		most := min(len(w)/3, maxTypos) // typos in a short word make any other
		if most == 0 || filler(w) || t.fields[w] {
			continue
		}
		for _, known := range t.known {
			d := 1 // a beginning of a name is near too
			if len(w) < 3 || !strings.HasPrefix(known.folded, w) || w == known.folded {
				d = human.Distance(w, known.folded, most)
			}
			if d <= most {
				at[d] = append(at[d], known.name)
			}
		}
	}
	var names []string
	for _, name := range slices.Concat(at[:]...) {
		if !slices.Contains(names, name) && len(names) < maxNear {
			names = append(names, name)
		}
	}
	return names
}

// maxTypos is how many letters of a word may be wrong for a name to be near.
const maxTypos = 3
