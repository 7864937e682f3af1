package state

import (
	"regexp"
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
var spanForm = regexp.MustCompile(`\d+[hd]`)

// means reports whether a word of a question names a field.
func (f Field) means(phrase string) bool {
	return slices.Contains(f.Words, phrase) || slices.Contains(f.Words, singular(phrase)) || strings.EqualFold(f.Name, phrase)
}

// spanned reports whether f is of a span.
func spanned(f Field, w prose.When) bool {
	has := spanForm.FindString(f.Name)
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
	moving := false // a change is asked for
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
		if len(list) == 0 {
			lack = append(lack, a.noField(p, k))
			continue
		}
		moving = moving || slices.ContainsFunc(list, changes)
		add(list...)
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

// sizing reports whether p asks how big something is.
func sizing(p piece) bool { return p.text == "how big" || p.text == "how large" }

func other(is func(p piece) bool) func(p piece) bool { return func(p piece) bool { return !is(p) } }

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
		if p.role != ofField || !slices.Contains([]string{"change", "changed", "changes", "move", "moved", "percent change"}, p.text) {
			continue
		}
		for _, q := range a.fields {
			list := having(k.Fields, func(f Field) bool { return f.means(q.text) })
			if q.role != ofField || len(list) == 0 || a.ahead(q.from) == "by" ||
				slices.ContainsFunc(list, func(f Field) bool { return changes(f) || f.Name == first || !a.t.isNumber(k.Name, f.Name) }) {
				continue
			}
			between := a.words[min(p.to, q.to):max(p.from, q.from)]
			if !slices.ContainsFunc(between, func(w term) bool { return a.t.vocabulary[w.text] == joining || w.text == "with" }) {
				return lacks{{Word: p.text + " of " + q.text, Why: api.MissingNoSuchField}}
			}
		}
	}
	return nil
}

// timed applies a time to the fields that are chosen of a kind: those of that span stay, or the time is left for history.
func (a *asking) timed(k Kind, p piece, chosen []Field, moving bool) (list []Field, left, ok bool) {
	w := p.when
	fits := func(f Field) bool { return spanned(f, w) }
	if k.Own && clockOf(k) != "" && (w.Span > 0 || w.Since || !w.End().IsZero()) { // what came in that time
		return chosen, true, !w.Vague || w.Span > 0
	}
	if !w.End().IsZero() || w.Future {
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
			chosen = k.Fields[:min(1, len(k.Fields))] // the price a week ago
		}
		return chosen, true, !w.Vague
	}
	if both := having(chosen, fits); len(both) > 0 {
		rest := having(chosen, func(f Field) bool { return !fits(f) && !changes(f) && spanForm.FindString(f.Name) == "" })
		return append(rest, both...), false, true
	}
	of := having(k.Fields, func(f Field) bool { return fits(f) && (changes(f) || len(having(k.Fields, changes)) == 0) })
	switch {
	case len(chosen) == 0 && len(of) > 0 && (!w.Loose || moving || len(a.all) == 0):
		if w.Loose && len(a.fields) == 0 && !a.happened {
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
			chosen = k.Fields[:min(1, len(k.Fields))]
		}
		return chosen, true, len(chosen) > 0
	}
	return nil, false, false
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
		if spanForm.MatchString(f.Name) {
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
