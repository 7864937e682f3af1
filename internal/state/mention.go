package state

import (
	"slices"
	"strings"
)

// Named is the longest name that some words begin with: how many of them it has, 0 for none, and its rows, the best first. symbol says
// that the first is called so by its symbol. The title of a row of a kind such as headlines is a name too.
func (t *Tables) Named(words []string) (n int, rows []*Row, symbol bool) {
	if len(words) == 0 {
		return 0, nil, false
	}
	most := min(t.longest[fold(words[0])], len(words))
	if most == 0 {
		return 0, nil, false
	}
	folded := make([]string, most)
	for i := range folded {
		folded[i] = fold(words[i])
	}
	for n = most; n > 0; n-- {
		name := strings.Join(folded[:n], " ")
		hits := t.names[name]
		if n > 1 { // a title of one word is an ordinary one
			hits = append(slices.Clip(hits), t.titles[name]...)
		}
		if len(hits) == 0 {
			continue
		}
		for _, h := range hits {
			rows = append(rows, &t.rows[h.row])
		}
		return n, rows, hits[0].class == bySymbol
	}
	return 0, nil, false
}

// FieldPhrase is how many words the longest phrase for a field has that some words begin with, 0 for none.
func (t *Tables) FieldPhrase(words []string) int {
	const most = 4
	for n := min(most, len(words)); n > 0; n-- {
		if t.fields[strings.Join(words[:n], " ")] {
			return n
		}
	}
	return 0
}

// Titled are the rows of kinds such as headlines that a whole text is the title of.
func (t *Tables) Titled(text string) (rows []*Row) {
	for _, h := range t.titles[strings.Join(wordsOf(text), " ")] {
		rows = append(rows, &t.rows[h.row])
	}
	return rows
}

// Alike are the rows about the same thing as r, itself among them.
func (t *Tables) Alike(r *Row) (rows []*Row) {
	for _, i := range t.entities[r.Entity] {
		rows = append(rows, &t.rows[i])
	}
	return rows
}

// KindNamed is the kind of a name, the zero Kind if there is none.
func (t *Tables) KindNamed(name string) Kind {
	if i, ok := t.place[name]; ok {
		return t.kinds[i]
	}
	return Kind{}
}

// Lone are the rows that are the only ones of their kinds, by words that ask for these.
func (t *Tables) Lone() map[string]*Row {
	lone := map[string]*Row{}
	for _, k := range t.kinds {
		rows := t.of(k.Name)
		if len(rows) != 1 || k.Own {
			continue
		}
		for _, w := range append(slices.Clone(k.Words), k.Name) {
			lone[strings.Join(wordsOf(w), " ")] = &rows[0]
		}
		for _, f := range k.Fields { // bitcoin dominance is a figure of the market
			for _, w := range f.Words {
				if k.Sole && strings.Contains(w, " ") && !t.fieldOfOthers(w, k.Name) {
					lone[w] = &rows[0]
				}
			}
		}
	}
	return lone
}

// fieldOfOthers reports whether rows of a kind but the named have a figure by a phrase.
func (t *Tables) fieldOfOthers(phrase, but string) bool {
	return slices.ContainsFunc(t.kinds, func(k Kind) bool {
		return k.Name != but && slices.ContainsFunc(k.Fields, func(f Field) bool { return slices.Contains(f.Words, phrase) })
	})
}

// Number is the number of a field of r.
func (r *Row) Number(field string) (float64, bool) { return number(r.Fields.Get(field)) }

// Member is the path of what a field of the row is in a state.
func (p *Place) Member(field string) string {
	if p.shown != nil {
		if f, ok := p.shown.field(field); ok {
			return p.Path + "." + f.member()
		}
		return ""
	}
	return p.Path + "." + field
}

// KindList are the kinds of the rows.
func (t *Tables) KindList() []Kind { return t.kinds }
