package state

import (
	"slices"
	"strconv"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// Words by which rows of a kind are compared with a thing, and those of which no field has to be named.
const (
	moreThan = "|higher|larger|bigger|greater|more|longer|"
	lessThan = "|lower|smaller|less|fewer|shorter|"
	dearer   = "|dearer|pricier|costlier|"
	cheaper  = "|cheaper|"
)

// thanThing has rows of a kind that are compared with a figure of a thing compared with that figure: coins with more volume than XRP. It
// says what is missing where the question asks for such rows and the figure is not known.
func (t *Tables) thanThing(words []term) (as []term, missing *api.LookupMissing) {
	folded := texts(words)
	than := slices.Index(folded, "than")
	if than < 1 {
		return words, nil
	}
	name := than + 1
	for oneOf(at(folded, name), articles) {
		name++
	}
	how := than - 1
	for how > 0 && than-how < maxPhrase && !oneOf(folded[how], moreThan+lessThan+dearer+cheaper) {
		how--
	}
	kind, before := t.kindBefore(words, folded, how)
	rows, end := t.nameAt(words, folded, name)
	if kind < 0 || end == 0 || !oneOf(folded[how], moreThan+lessThan+dearer+cheaper) {
		return words, nil
	}
	k := t.kinds[kind]
	lost := &api.LookupMissing{Word: strings.Join(folded[how:end], " "), Why: api.MissingAmbiguous}
	at := t.within(rows, kind)
	field := t.comparedField(k, words, folded, how, than)
	if len(at) == 0 {
		for _, i := range rows {
			at = append(at, t.within(t.entities[t.rows[i].Entity], kind)...)
		}
		slices.Sort(at)
		at = slices.Compact(at)
	}
	other := func(i int) bool { // and another one, or another time
		list := t.pieces(words, folded, i)
		return len(list) == 0 || list[0].role != grammar && !(list[0].role == timing && list[0].when.Loose)
	}
	for i := end; i < len(words); i++ {
		if other(i) {
			return nil, lost
		}
	}
	if len(at) != 1 || field == "" {
		return nil, lost
	}
	x, is := t.rows[at[0]].Number(field)
	if !is {
		return nil, lost
	}
	op := "above"
	if oneOf(folded[how], lessThan+cheaper) {
		op = "below"
	}
	compared := worded("with " + strings.ToLower(field) + " " + op + " " + strconv.FormatFloat(x, 'f', -1, 64))
	compared[3].cent = strings.HasSuffix(field, "Pct")
	if oneOf(folded[before-1], "|have|has|had|with|having|") {
		compared = compared[1:]
	}
	return slices.Concat(words[:before], compared, words[end:]), nil
}

// kindBefore is the kind that is named before the word how, and where the words that lead to that begin, -1 where none is or a thing is.
func (t *Tables) kindBefore(words []term, folded []string, how int) (kind, end int) {
	kind = -1
	for i := 0; i < how; {
		list := t.pieces(words, folded, i)
		if len(list) == 0 {
			i++
			continue
		}
		switch p := list[0]; {
		case p.role == naming || p.role == valued || p.role == figuring || p.role == negating || p.role == timing:
			return -1, 0
		case p.role == ofKind && p.order == nil && p.to <= how:
			kind, end = p.kind, p.to
		}
		i = list[0].to
	}
	leads := "|with|have|has|having|are|is|that|which|whose|a|an|the|of|rose|rise|gained|fell|lost|up|down|moved|"
	for end < how && oneOf(folded[end], leads) {
		end++
	}
	if end < how || kind < 0 || t.kinds[kind].Own {
		return -1, 0
	}
	for end > 0 && oneOf(folded[end-1], "|a|an|the|are|is|that|which|rose|rise|gained|fell|lost|up|down|moved|") {
		end--
	}
	return kind, end
}

// nameAt is what the words from i on name, and where that ends, 0 where they name nothing.
func (t *Tables) nameAt(words []term, folded []string, i int) (rows []int, end int) {
	if i >= len(words) {
		return nil, 0
	}
	for _, p := range t.pieces(words, folded, i) {
		if p.role == naming {
			for _, h := range p.hits {
				rows = append(rows, h.row)
			}
			return rows, p.to
		}
	}
	return nil, 0
}

// comparedField is the number of a kind in which it is compared with a thing, by the words between how and than, "" where that is not
// said.
func (t *Tables) comparedField(k Kind, words []term, folded []string, how, than int) string {
	numbers := having(k.Fields, func(f Field) bool { return t.isNumber(k.Name, f.Name) })
	said := strings.Join(folded[how+1:than], " ")
	switch {
	case oneOf(folded[how], dearer+cheaper) || said == "expensive":
		numbers = having(numbers, func(f Field) bool { return slices.Contains(f.Words, "price") })
	case said != "":
		numbers = having(numbers, func(f Field) bool { return f.means(said) })
		if dollars := having(numbers, func(f Field) bool { return strings.HasSuffix(f.Name, "Usd") }); len(dollars) == 1 {
			numbers = dollars // the supply
		}
	case how > 0 && oneOf(folded[how-1], "|rose|rise|gained|up|"):
		numbers = having(numbers, func(f Field) bool { return changes(f) && strings.Contains(f.Name, "24h") })
	case oneOf(folded[how], "|larger|bigger|greater|smaller|"):
		numbers = having(numbers, func(f Field) bool { return f.Name == t.size(k) })
	case oneOf(folded[how], "|higher|lower|"):
		numbers = having(k.usual(), func(f Field) bool { return t.isNumber(k.Name, f.Name) })
	default:
		return ""
	}
	if len(numbers) != 1 || slices.ContainsFunc(words, func(w term) bool { return oneOf(w.text, "|yesterday|ago|hour|week|month|") }) {
		return ""
	}
	return numbers[0].Name
}
