package state

import (
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/sdk/api"
)

// valueOf is what the words of p are of rows of a kind, nil for nothing.
func (t *Tables) valueOf(p piece, kind int) *value {
	i := slices.IndexFunc(p.values, func(v value) bool { return v.kind == kind })
	if i < 0 {
		return nil
	}
	return &p.values[i]
}

// filtered are the conditions by values, and whether the kind has them all.
func (a *asking) filtered(kind int) (list []api.Condition, ok bool) {
	for i, p := range slices.Concat(a.values, a.refused) {
		v := a.t.valueOf(p, kind)
		if v == nil {
			return nil, false
		}
		op := api.CompareEqual
		if i >= len(a.values) {
			op = api.CompareUnequal
		}
		if same := slices.IndexFunc(list, func(c api.Condition) bool {
			return c.Field == v.field &&
				c.Op != api.CompareUnequal
		}); same >= 0 && op == api.CompareEqual {
			list[same].Op = api.CompareIn
			list[same].Value += "," + v.text
			continue
		}
		list = append(list, api.Condition{Field: v.field, Op: op, Value: v.text})
	}
	return list, true
}

// lacks is what a kind does not have of what is asked.
type lacks []api.LookupMissing

// spanForm is a span in the name of a field.
var spanForm = prose.Form(`\d+[hd]`)

// means reports whether a word of a question names a field.
func (f Field) means(phrase string) bool {
	return slices.Contains(f.Words, phrase) || slices.Contains(f.Words, singular(phrase)) || strings.EqualFold(f.Name, phrase)
}

// spanned reports whether f is of a span.
func spanned(f Field, w prose.When) bool {
	has := spanForm().FindString(f.Name)
	if w.Span > 0 && prose.SpanOf(has) == w.Span {
		return true
	}
	return slices.ContainsFunc(w.Names, func(name string) bool { return name == has || slices.Contains(f.Words, name) })
}

// signed reports whether f is below or above nothing.
func signed(f Field) bool { return changes(f) || strings.Contains(f.Name, "Deviation") }

func changes(f Field) bool { return slices.Contains(f.Words, "change") }

// fieldsOf are the fields of a kind that the question names, the time that is left for history, and what the kind lacks.
func (a *asking) fieldsOf(kind int) (names []string, left *piece, lack lacks) {
	k := a.t.kinds[kind]
	var chosen []Field
	add := func(list ...Field) {
		for _, f := range list {
			if !slices.ContainsFunc(chosen, func(c Field) bool { return c.Name == f.Name }) {
				chosen = append(chosen, f)
			}
		}
	}
	moving := a.toNow // a change is asked for
	for _, p := range a.fields {
		list := having(k.Fields, func(f Field) bool { return f.means(p.text) })
		if len(list) == 0 && (p.text == "negative" || p.text == "positive" || sizing(p) && slices.ContainsFunc(a.fields, other(sizing))) {
			continue // of the figure that is named
		}
		if size := a.t.size(k); len(list) == 0 && sizing(p) && size != "" {
			list = append(list, *k.field(size))
		}
		if len(list) == 0 && (p.role == rising || p.role == falling) {
			list = having(k.Fields, changes)
			if daily := having(list, func(f Field) bool {
				return strings.Contains(f.Name, "24h") || strings.Contains(f.Name,
					"1d")
			}); len(daily) > 0 && len(a.times) == 0 {
				list = daily
			}
		}
		if own := a.movesOf(k, p); len(own) > 0 {
			list = own
		}
		if len(list) == 0 {
			lack = append(lack, a.noField(p, k))
			continue
		}
		if of := a.otherSpan(k, p, list); of != "" {
			lack = append(lack, api.LookupMissing{Word: p.text + " " + of, Why: api.MissingNoSuchSpan})
		}
		moving = moving || slices.ContainsFunc(list, changes)
		add(a.narrowed(k, p, list)...)
	}
	for _, p := range a.kindly { // odds are a kind, and a figure of it
		switch list := having(k.Fields, func(f Field) bool { return f.means(p.text) || f.means(short(p.text)) }); {
		case p.kind == kind && p.order == nil || p.kind != kind && len(list) > 0:
			add(list...)
		case p.kind != kind && p.kind > 0 && len(a.kindly) > 1: // rows of several kinds are no answer
			lack = append(lack, a.noField(p, k))
		}
	}
	lack = append(lack, a.changeOf(k)...)
	named := chosen
	if moments := slices.ContainsFunc(a.times, func(p piece) bool { return p.when.Span == 0 }); moments && len(a.times) > 1 {
		lack = append(lack, api.LookupMissing{Word: a.times[1].text, Why: api.MissingAmbiguous})
	}
	for i, p := range a.times {
		if list, rest, ok := a.timed(k, p, named, moving); ok {
			if i == 0 {
				chosen = list
			} else {
				add(list...) // the change of an hour, a day and a week
			}
			if rest && left != nil {
				lack = append(lack, api.LookupMissing{Word: p.text, Why: api.MissingAmbiguous})
			} else if rest {
				left = &a.times[i]
			}
		} else {
			why := api.MissingNoSuchSpan
			if p.when.Span == 0 {
				why = api.MissingNoSuchMoment
			}
			if p.when.Vague {
				why = api.MissingAmbiguous
			}
			lack = append(lack, api.LookupMissing{Word: p.text, Why: why, Instead: a.insteadOf(p, k)})
		}
	}
	for _, f := range k.Fields {
		if slices.ContainsFunc(chosen, func(c Field) bool { return c.Name == f.Name }) {
			names = append(names, f.Name)
		}
	}
	return names, left, lack
}

// otherSpan is a figure that the question wants over the span that p names, where the kind has it over another and only changes over that:
// weekly volume.
func (a *asking) otherSpan(k Kind, p piece, list []Field) string {
	if len(list) == 0 || p.role != ofField || slices.ContainsFunc(list, other(changes)) || slices.ContainsFunc(a.fields, moves) {
		return ""
	}
	for _, q := range a.fields {
		apart := func(w term) bool { return a.t.vocabulary[w.text] == joining || w.stop }
		if q.from == p.from || slices.ContainsFunc(a.words[min(p.to, q.to):max(p.from, q.from)], apart) {
			continue
		}
		if len(having(k.Fields, func(f Field) bool { return f.means(q.text) && !changes(f) && spanForm().MatchString(f.Name) })) > 0 {
			return q.text
		}
	}
	return ""
}

// narrowed are those of the fields that p names that the words beside it name too, where there are such: of both prices, and of what comes
// out, the output price.
func (a *asking) narrowed(k Kind, p piece, list []Field) []Field {
	for _, q := range a.fields {
		last := max(p.from, q.from)
		says := func(w term) bool { return w.stop || a.t.vocabulary[w.text] != grammar }
		if q.from == p.from || q.role != ofField || p.role != ofField || a.words[last].stop ||
			slices.ContainsFunc(a.words[min(p.to, q.to):last], says) {
			continue
		}
		if both := having(list, func(f Field) bool { return f.means(q.text) }); len(both) > 0 {
			list = both
		}
	}
	return list
}

// sizing reports whether p asks how big something is.
func sizing(p piece) bool { return p.text == "how big" || p.text == "how large" }

func other[T any](is func(T) bool) func(T) bool { return func(x T) bool { return !is(x) } }

// size is the field that says how big rows of a kind are, "" for none.
func (t *Tables) size(k Kind) string {
	if k.Size != "" && t.isNumber(k.Name, k.Size) {
		return k.Size
	}
	if name := t.firstNumber(k); name != "" && strings.HasSuffix(name, "Usd") && !slices.Contains(k.field(name).Words, "price") {
		return name
	}
	return ""
}

// changeOf is the change of a figure that was asked for, where the changes that a kind has are those of another: of its first number.
func (a *asking) changeOf(k Kind) lacks {
	first := a.t.firstNumber(k)
	history := func(p piece) bool { return p.when.Since || p.when.Span > 0 && len(p.when.Names) == 0 } // which has that of any figure
	if first == "" || changes(*k.field(first)) || slices.ContainsFunc(a.times, history) {
		return nil
	}
	for _, p := range a.fields {
		if q, name := a.movedField(k, p); name != "" && name != first && len(a.movesOf(k, p)) == 0 {
			return lacks{{Word: p.text + " of " + q.text, Why: api.MissingNoSuchField}}
		}
	}
	return nil
}

// moves reports whether p says that a figure moves: rose, change.
func moves(p piece) bool {
	return moving(p) || oneOf(p.text, "|changes|percent change|up|down|")
}

// movesOf are the fields that say how the field of a kind moved that p says the change of, where they are named by it.
func (a *asking) movesOf(k Kind, p piece) []Field {
	_, name := a.movedField(k, p)
	stem := strings.TrimSuffix(strings.TrimSuffix(name, "Usd"), "Pct") + "Change"
	return having(k.Fields, func(f Field) bool {
		then := func(p piece) bool { return spanned(f, p.when) }
		return name != "" && strings.HasPrefix(f.Name, stem) && (len(a.times) == 0 || slices.ContainsFunc(a.times, then))
	})
}

// movedField is the number of a kind that p says the change of, "" for none that is named: volume rose, the change of the volume.
func (a *asking) movedField(k Kind, p piece) (piece, string) {
	for _, q := range a.fields {
		list := having(k.Fields, func(f Field) bool { return f.means(q.text) })
		if !moves(p) || q.role != ofField || moves(q) || len(list) == 0 || a.ahead(q.from) == "by" ||
			slices.ContainsFunc(list, func(f Field) bool { return changes(f) || !a.t.isNumber(k.Name, f.Name) }) {
			continue
		}
		between := a.words[min(p.to, q.to):max(p.from, q.from)]
		parted := func(w term) bool {
			named := func(s subject) bool { return slices.Contains(strings.Fields(s.text), w.text) }
			switch r := a.t.vocabulary[w.text]; {
			case r == joining, slices.Contains([]string{"with", "that", "which", "who", "whose", "by"}, w.text):
				return true
			case p.role != ofField: // what rose in between is of something else
				return r != grammar && r != doing && r != most && r != least && r != top && !slices.ContainsFunc(a.subjects, named)
			}
			return false
		}
		if !slices.ContainsFunc(between, parted) && !slices.ContainsFunc(a.bounds, func(b bound) bool { return b.by.from == q.from }) {
			return q, list[0].Name
		}
	}
	return piece{}, ""
}

// timed applies a time to the fields that are chosen of a kind: those of that span stay, or the time is left for history.
func (a *asking) timed(k Kind, p piece, chosen []Field, moving bool) (list []Field, left, ok bool) {
	w := p.when
	fits := func(f Field) bool { return spanned(f, w) }
	if clock := a.clock(k); clock != "" && (w.Span > 0 || w.Since || !w.End().IsZero() || w.Ranges() || w.Day()) { // what came in that time
		return chosen, true, !w.Vague || w.Span > 0 || w.Ranges() || w.Day()
	}
	if !w.End().IsZero() || w.Future || w.Ranges() {
		return nil, false, false
	}
	if w.Span == 0 && !w.Since {
		if slices.ContainsFunc(a.fields, func(p piece) bool { return p.text == "higher" || p.text == "lower" }) {
			return nil, false, false // then than now, or than before
		}
		if of := having(k.Fields, func(f Field) bool { return fits(f) && !changes(f) }); len(of) > 0 && !moving && len(chosen) <= 1 {
			return of, false, true
		}
		if len(chosen) == 0 {
			chosen = k.usual() // the price a week ago
		}
		return chosen, true, !w.Vague
	}
	if of := having(k.Fields, func(f Field) bool { return fits(f) && !changes(f) }); a.toNow && len(of) > 0 { // yesterday and today
		return append(k.usual(), of...), false, true
	}
	if both := having(chosen, fits); len(both) > 0 {
		rest := having(chosen, func(f Field) bool { return !fits(f) && !changes(f) })
		return append(rest, both...), false, true
	}
	of := having(k.Fields, func(f Field) bool { return fits(f) && (changes(f) || len(having(k.Fields, changes)) == 0) })
	switch {
	case len(chosen) == 0 && len(of) > 0 && (!w.Loose || moving || len(a.all) == 0):
		if w.Loose && len(a.fields) == 0 && !a.happened && (len(a.times) == 1 || w.Span == 0) {
			return chosen, false, true // btc today: what is known of it now
		}
		return of, false, true
	case w.Loose && !moving:
		return append(chosen, having(k.Fields, func(f Field) bool { return f.means("today") })...), false, true // the price today
	case w.Vague:
		return nil, false, false
	case len(of) > 0 && len(chosen) == 1 && len(k.Fields) > 0 && chosen[0].Name == k.Fields[0].Name && changes(of[0]):
		return append(chosen, of...), false, true // the price this week: with how it moved
	case (w.Span > 0 || w.Since) && (moving || len(chosen) == 0): // from history
		chosen = having(chosen, func(f Field) bool { return !changes(f) })
		if len(chosen) == 0 {
			chosen = k.usual()
		}
		return chosen, true, len(chosen) > 0
	}
	return nil, false, false
}

// usual is the field that is meant of a kind where none is named, in a list that others may add to: the price, or its first.
func (k Kind) usual() []Field {
	price := having(k.Fields, func(f Field) bool { return slices.Contains(f.Words, "price") })
	if len(price) > 0 && len(having(k.Fields, changes)) > 0 { // which are those of the price
		return price[:1:1]
	}
	return slices.Clone(k.Fields[:min(1, len(k.Fields))])
}

// clock is the field that a time is of that the question names: when rows came or are due, or one that is named, such as created.
func (a *asking) clock(k Kind) string {
	if clock := clockOf(k); clock != "" && k.Own {
		return clock
	}
	timed := func(f Field) bool { return strings.HasSuffix(f.Name, "At") || f.Name == "date" && k.Own }
	if len(k.Fields) > 0 && timed(k.Fields[0]) && (len(a.subjects) == 0 || len(a.kinds) > 0) {
		return k.Fields[0].Name
	}
	for _, p := range a.fields {
		if list := having(k.Fields, func(f Field) bool { return f.means(p.text) && timed(f) }); len(list) == 1 && p.role == ofField {
			return list[0].Name
		}
	}
	return ""
}

// comes reports whether a field says when something will be.
func comes(f Field) bool {
	ahead := []string{"next", "upcoming", "due", "ends", "settles"}
	return slices.ContainsFunc(ahead, func(w string) bool { return slices.Contains(f.Words, w) })
}

// clockOf is the field that says when rows of a kind came.
func clockOf(k Kind) string {
	if strings.HasSuffix(k.Size, "At") || k.Size == "date" {
		return k.Size
	}
	return ""
}

func having(list []Field, pass func(Field) bool) (found []Field) {
	for _, f := range list {
		if pass(f) {
			found = append(found, f)
		}
	}
	return found
}

// noField says that a kind does not have what words ask for, and what it has.
func (a *asking) noField(p piece, k Kind) api.LookupMissing {
	m := api.LookupMissing{Word: p.text, Why: api.MissingNoSuchField}
	const most = 6
	for _, f := range k.Fields[:min(most, len(k.Fields))] {
		m.Instead = append(m.Instead, f.Name)
	}
	return m
}

// insteadOf are the spans that a kind has.
func (a *asking) insteadOf(p piece, k Kind) (list []string) {
	for _, f := range k.Fields {
		if spanForm().MatchString(f.Name) {
			list = append(list, f.Name)
		}
	}
	if p.when.Span == 0 {
		list = append(list, "a moment with its time, such as 2026-11-22T12:00Z")
	}
	return list
}

// field is the one of a name, nil if there is none.
func (k Kind) field(name string) *Field {
	i := slices.IndexFunc(k.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &k.Fields[i]
}

// isNumber reports whether rows of a kind have numbers in a field.
func (t *Tables) isNumber(kind, name string) bool {
	for _, r := range t.of(kind) {
		switch r.Fields.Get(name).(type) {
		case nil:
		case float64, int, int64:
			return true
		default:
			return false
		}
	}
	return false
}
