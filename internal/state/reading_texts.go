package state

import (
	"slices"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// anywhere finds the rows of kinds of their own whose names have all words of a question that carry a meaning.
func (t *Tables) anywhere(words []term, kind string, limit int, kindNamed bool) (found Question, ok bool) {
	t.readings(words, func(list []piece) bool {
		var kinds []int
		var content []string
		for _, p := range list {
			switch p.role {
			case grammar, above, below, joining:
			case ofKind:
				if p.order != nil {
					return false
				}
				kinds = append(kinds, p.kind)
			case unknown, naming, figuring, valued:
				content = append(content, wordsOf(p.text)...)
			case ofField, rising, falling, timing, most, least:
				if len(kinds) == 0 && !slices.ContainsFunc(list, func(p piece) bool { return p.role == ofKind && t.kinds[p.kind].Own }) {
					return false // a figure is asked for, and no text
				}
				if p.role == ofField && slices.ContainsFunc(list, func(k piece) bool {
					return k.role == ofKind && len(having(t.kinds[k.kind].Fields, func(f Field) bool { return f.means(p.text) })) > 0
				}) {
					continue
				}
				content = append(content, wordsOf(p.text)...)
			default:
				return false
			}
		}
		if len(content) == 0 || kindNamed && len(kinds) == 0 {
			return false
		}
		for place, k := range t.kinds {
			if !k.Own || kind != "" && k.Name != kind || len(kinds) > 0 && !slices.Contains(kinds, place) {
				continue
			}
			var keys []string
			match := api.MatchWords
			for _, same := range [...]func(w string) string{inflected, stem} {
				for i := range t.rows {
					if t.rows[i].Kind == k.Name && len(keys) < limit && tells(wordsOf(t.rows[i].Name), content, same) {
						keys = append(keys, t.rows[i].Key)
					}
				}
				if len(keys) > 0 {
					break
				}
			}
			if len(keys) > 0 && len(kinds) > 0 && slices.ContainsFunc(t.of(k.Name), func(r Row) bool {
				return slices.Contains(keys, r.Key) && tells(wordsOf(r.Name), content, inflected)
			}) { // its kind is asked for, and the words are what it is about
				match = api.MatchExact
			}
			if len(keys) > 0 {
				var asked []string
				for _, p := range list {
					for _, f := range having(k.Fields, func(f Field) bool {
						return (p.role == ofKind || p.role == ofField) &&
							f.means(p.text)
					}) {
						asked = append(asked, f.Name)
					}
				}
				found.Parts = append(found.Parts, Part{Match: match, keys: keys, Asked: asked,
					Query: api.RowQuery{Table: k.Name, Limit: api.DefaultQueryLimit, Where: []api.Condition{t.keyed(k.Name, keys, "")},
						Fields: asked}})
				ok = true
				return true
			}
		}
		return false
	})
	return found, ok
}

// tells reports whether a text has all words, in whatever form of a verb or number.
func tells(text, words []string, form func(w string) string) bool {
	return !slices.ContainsFunc(words, func(w string) bool {
		return !slices.ContainsFunc(text, func(has string) bool { return form(has) == form(w) })
	})
}

// stem is a word without its ending, and one for words that people use for another in a bet.
func stem(w string) string {
	switch w = inflected(w); w {
	case "hit", "reach", "abov", "over", "exceed", "top":
		return "above"
	case "under", "below":
		return "below"
	}
	return w
}

// inflected is a word without the ending of a verb or of several.
func inflected(w string) string {
	switch w {
	case "hitting":
		return "hit"
	case "cutting":
		return "cut"
	}
	for _, ending := range [...]string{"ing", "es", "ed", "s"} {
		if short, cut := strings.CutSuffix(w, ending); cut && len(short) > 2 && !strings.HasSuffix(short, "s") {
			return strings.TrimSuffix(short, "e")
		}
	}
	return strings.TrimSuffix(w, "e")
}
