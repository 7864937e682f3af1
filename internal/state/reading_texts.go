package state

import (
	"slices"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// anywhere finds the rows of kinds of their own whose names have all words of a question that carry a meaning.
func (t *Tables) anywhere(words []term, kind string, limit int, kindNamed bool) (found Question, ok bool) {
	t.readings(words, func(list []piece) bool {
		kinds, content, told := t.content(list)
		if !told || len(content) == 0 || kindNamed && len(kinds) == 0 {
			return false
		}
		for place, k := range t.kinds {
			if !k.Own || kind != "" && k.Name != kind || len(kinds) > 0 && !slices.Contains(kinds, place) {
				continue
			}
			if keys, match := t.telling(k, content, limit, len(kinds) > 0); len(keys) > 0 {
				found.Parts, ok = append(found.Parts, t.textPart(k, list, keys, match)), true
				return true
			}
		}
		return false
	})
	return found, ok
}

// content are the kinds of texts that pieces name, and what a text of them has to say: of each, one of several words in a row. It is not ok
// where they ask for more than a text.
func (t *Tables) content(list []piece) (kinds []int, content [][]string, ok bool) {
	for _, p := range list {
		if p.role == ofKind && p.order == nil && t.kinds[p.kind].Own {
			kinds = append(kinds, p.kind)
		}
	}
	fieldOf := func(p piece) bool {
		return slices.ContainsFunc(kinds, func(kind int) bool {
			return len(having(t.kinds[kind].Fields, func(f Field) bool { return f.means(p.text) })) > 0
		})
	}
	for _, p := range list {
		if p.role == grammar || p.role == joining || p.role == describing || p.role == doing {
			continue
		}
		say := []string{p.text}
		switch p.role {
		case above, below: // what a bet is on stands in its text
			if len(kinds) == 0 {
				return nil, nil, false
			}
			say = []string{map[role]string{above: "above", below: "below"}[p.role]}
		case ofKind:
			switch {
			case p.order != nil:
				return nil, nil, false
			case t.kinds[p.kind].Own:
				continue
			case len(kinds) == 0:
				kinds = append(kinds, p.kind) // which has no texts
				continue
			}
		case naming:
			for _, h := range p.hits {
				if h.class != byAlias && !t.kinds[t.place[t.rows[h.row].Kind]].Own {
					say = append(say, t.rows[h.row].Name, t.rows[h.row].Symbol)
				}
			}
		case unknown, figuring, valued:
		case ofField, rising, falling, timing, most, least, happening:
			if p.role == happening || len(kinds) == 0 {
				return nil, nil, false // a figure is asked for, and no text
			}
			if p.role == ofField && fieldOf(p) {
				continue
			}
		default:
			return nil, nil, false
		}
		content = append(content, say)
	}
	return kinds, content, true
}

// telling are the keys of rows of a kind whose texts say all of content, in whatever form of its words.
func (t *Tables) telling(k Kind, content [][]string, limit int, named bool) (keys []string, match api.Match) {
	match = api.MatchWords
	for i, form := range [...]func(w string) string{inflected, stem} {
		said := make([][][]string, len(content))
		for j, say := range content {
			for _, phrase := range say {
				said[j] = append(said[j], formed(wordsOf(phrase), form))
			}
		}
		for _, r := range t.of(k.Name) {
			if len(keys) < limit && tells(formed(wordsOf(r.Name), form), said) {
				keys = append(keys, r.Key)
			}
		}
		if len(keys) > 0 {
			if named && i == 0 { // its kind is asked for, and the words are what it is about
				match = api.MatchExact
			}
			break
		}
	}
	return keys, match
}

// textPart asks for rows by their texts, with the figures of them that pieces name.
func (t *Tables) textPart(k Kind, list []piece, keys []string, match api.Match) Part {
	var asked []string
	for _, p := range list {
		if p.role != ofKind && p.role != ofField {
			continue
		}
		for _, f := range having(k.Fields, func(f Field) bool { return f.means(p.text) || f.means(short(p.text)) }) {
			if !slices.Contains(asked, f.Name) {
				asked = append(asked, f.Name)
			}
		}
	}
	return Part{Match: match, keys: keys, Asked: asked, Query: api.RowQuery{Table: k.Name, Limit: api.DefaultQueryLimit,
		Where: []api.Condition{t.keyed(k.Name, keys, "")}, Fields: asked}}
}

// formed are words in a form of them.
func formed(words []string, form func(w string) string) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = form(w)
	}
	return list
}

// tells reports whether a text says one of each of content, each with all of its words, in the same form.
func tells(text []string, content [][][]string) bool {
	return !slices.ContainsFunc(content, func(say [][]string) bool {
		return !slices.ContainsFunc(say, func(words []string) bool {
			return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(text, w) })
		})
	})
}

// stem is a word without its ending, and one for words that people use for another in a bet.
func stem(w string) string {
	switch w = inflected(w); w {
	case "hit", "reach", "abov", "over", "exceed", "top", "set", "sett", "beat", "break", "cross", "trad":
		return "above"
	case "finish", "end", "settl":
		return "clos"
	case "fresh":
		return "new"
	case "under", "below", "beneath":
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
	case "flippening", "pass", "passes", "overtake", "overtakes", "surpass", "surpasses", "flips", "flipping", "flipped",
		"overtaking", "overtook", "passing", "passed", "surpassing":
		return "flip"
	case "approval":
		return "approv"
	}
	for _, ending := range [...]string{"ing", "es", "ed", "s"} {
		if short, cut := strings.CutSuffix(w, ending); cut && len(short) > 2 && !strings.HasSuffix(short, "s") {
			return strings.TrimSuffix(short, "e")
		}
	}
	return strings.TrimSuffix(w, "e")
}
