package state

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/sdk/api"
)

// Question is a question as it was read: what is asked, one part after the other, or what of it cannot be given.
type Question struct {
	Parts   []Part
	Missing []api.LookupMissing
	Near    []string // the nearest names, where nothing is known by one
	// Partial says that it has a time, an order, a place or a bound, and no thing, kind or field that these could be of; or that it is
	// ambiguous. In a list of questions it may belong to the one before.
	Partial bool
}

// Part is a query that a question became. Its times go by the clock of whoever answers it.
type Part struct {
	Query api.RowQuery
	Match api.Match
	Asked []string // fields that the question named
	keys  []string // of the rows, in the order in which they were named
	skip  int      // rows before the one that is asked for
	even  bool     // that there is none is an answer too
	drop  bool     // what lacks the field of the order stands in none

	word  string      // of the time
	when  *prose.When // the time that was named, where it is no field's
	over  bool        // it is a span over which figures move, or what began with it; a moment where neither is set
	since string      // a field of time that has to be in it; "" means none
}

// asking reads one way to read a question.
type asking struct {
	t     *Tables
	kind  string // the only one that counts, "" for all
	limit int
	words []term

	subjects []subject
	kinds    []int
	kindly   []piece // of kinds
	fields   []piece // and directions
	values   []piece
	refused  []piece // values that are negated
	others   []int   // rows that are left out
	times    []piece
	order    *Order  // that a kind's own words ask for
	sorted   []role  // most, least, top, expensive, cheap
	sized    bool    // one of these stands before a kind: the biggest coins
	rank     float64 // 0 for none
	capped   bool    // first says among how many the row is
	ranked   bool    // a word says that a rank is asked for
	nth      int     // the row that is asked for, in an order other than that of ranks
	loose    int     // a number that nothing beside it says what it is for
	first    int     // how many are asked for, 0 for no number
	bound    *bound
	all      []role // summing, counting, averaging
	flags    bool
	flagKind string
	happened bool
	singular bool // one thing is asked for: coin, not coins
	plural   bool // or several

	missing []api.LookupMissing
	match   api.Match // of names that are none: prefix, words or spelling
}

// subject is a thing that is asked about.
type subject struct {
	piece
	rows  []int
	match api.Match
}

// bound is a comparison with a figure.
type bound struct {
	op      api.Comparison
	value   float64
	percent bool
	text    string
}

func (a *asking) miss(word string, why api.MissingWhy, instead ...string) {
	a.missing = append(a.missing, api.LookupMissing{Word: word, Why: why, Instead: instead})
}

// collect sorts the pieces of a reading by what they do.
func (a *asking) collect(list []piece) {
	negated := false
	for i, p := range list {
		next := piece{}
		for _, n := range list[i+1:] {
			if n.role != grammar {
				next = n
				break
			}
		}
		if negated && p.role == naming {
			for _, h := range p.hits {
				a.others = append(a.others, h.row)
			}
			negated = next.role == naming || next.role == joining
			continue
		}
		if negated && !slices.Contains([]role{grammar, negating, valued, joining}, p.role) {
			a.miss("not "+p.text, api.MissingNoSuchField)
			negated = false
			continue
		}
		switch p.role {
		case unknown:
			a.miss(p.text, api.MissingUnknownWord)
		case negating:
			negated = true
		case naming:
			a.name(p)
		case ofKind:
			a.kinds, a.kindly = append(a.kinds, p.kind), append(a.kindly, p)
			a.plural = a.plural || p.text != singular(p.text)
			if p.order == nil {
				a.singular = a.singular || p.text == singular(p.text) && p.text != "news"
				if slices.Contains(a.t.kinds[p.kind].Whole, p.text) && !slices.Contains(a.all, summing) {
					a.all = append(a.all, summing)
				}
			} else {
				_, several := a.t.orders[p.text+"s"]
				a.order, a.singular = cmp.Or(a.order, p.order), a.singular || several
			}
		case ofField, rising, falling:
			a.fields = append(a.fields, p)
		case valued:
			if negated {
				a.refused, negated = append(a.refused, p), false
			} else {
				a.values = append(a.values, p)
			}
		case timing:
			a.times = append(a.times, p)
		case most, least, top, expensive, cheap:
			a.sorted = append(a.sorted, p.role)
			a.sized = a.sized || next.role == ofKind && next.order == nil
		case ranking:
			if a.rank > 0 {
				a.miss(p.text, api.MissingAmbiguous)
			}
			a.rank, a.ranked = p.number, strings.Contains(p.text, " ") || a.words[p.from].hash
		case figuring:
			a.figure(list, i)
		case above, below:
			if next.role != figuring {
				a.miss(p.text, api.MissingUnknownWord)
			}
		case summing, counting, averaging:
			if !slices.Contains(a.all, p.role) {
				a.all = append(a.all, p.role)
			}
		case flagging:
			a.flags, a.flagKind = true, cmp.Or(a.flagKind, flagOf(p.text))
		case happening:
			a.happened = true
		}
	}
	if negated {
		a.miss("not", api.MissingAmbiguous)
	}
}

// figure reads a number by what stands beside it: how many rows, or what figures are compared with.
func (a *asking) figure(list []piece, i int) {
	p := list[i]
	beside := func(step int) piece {
		for j := i + step; j >= 0 && j < len(list); j += step {
			if list[j].role != grammar {
				return list[j]
			}
		}
		return piece{}
	}
	before, behind := beside(-1), beside(1)
	switch {
	case (before.role == above || before.role == below) && a.bound == nil:
		op := api.CompareMore
		if before.role == below {
			op = api.CompareLess
		}
		if before.text == "at least" {
			op = api.CompareAtLeast
		}
		if before.text == "at most" {
			op = api.CompareAtMost
		}
		a.bound = &bound{op, p.number, p.percent, before.text + " " + p.text}
	case a.first == 0 && p.number == math.Trunc(p.number) && p.number >= 1 && !p.percent && (before.role <= cheap && before.role >= top ||
		before.role == most || before.role == least || slices.Contains([]role{most, least, top, expensive, cheap, ofKind}, behind.role)):
		a.first = int(min(p.number, 1e6))
	case a.loose == 0 && p.number == math.Trunc(p.number) && p.number >= 1 && p.number <= maxFirst && !p.percent:
		a.loose = int(p.number)
	default:
		a.miss(p.text, api.MissingUnknownWord)
	}
}

// name adds a thing that is asked about. Names of one thing beside each other are one.
func (a *asking) name(p piece) {
	s := subject{piece: p, match: api.MatchExact}
	for _, h := range p.hits {
		s.rows = append(s.rows, h.row)
	}
	if a.match != "" {
		s.match = a.match
	}
	if n := len(a.subjects); n > 0 && a.subjects[n-1].to == p.from && a.t.same(a.subjects[n-1].rows, s.rows) {
		a.subjects[n-1].to = p.to
		a.subjects[n-1].text += " " + p.text
		return
	}
	a.subjects = append(a.subjects, s)
}

// same reports whether rows speak of one thing.
func (t *Tables) same(a, b []int) bool {
	return slices.ContainsFunc(a, func(i int) bool {
		return slices.ContainsFunc(b, func(j int) bool { return t.rows[i].Entity == t.rows[j].Entity })
	})
}

// allowed reports whether rows of a kind may answer: it is asked for, or no other is and it is no kind of its own.
func (a *asking) allowed(kind int) bool {
	k := a.t.kinds[kind]
	switch {
	case a.kind != "":
		return k.Name == a.kind && (len(a.kinds) == 0 || slices.Contains(a.kinds, kind) || slices.Contains(a.kinds, 0))
	case len(a.kinds) > 0:
		return slices.Contains(a.kinds, kind)
	case len(a.values) > 0:
		return !slices.ContainsFunc(a.values, func(p piece) bool { return a.t.valueOf(p, kind) == nil })
	}
	return !k.Own
}

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
		if len(list) == 0 && (p.text == "negative" || p.text == "positive") {
			continue // of the figure that is named
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

// resolve makes queries of what was collected. What cannot be given is noted as missing.
func (a *asking) resolve() (parts []Part) {
	switch {
	case a.flags:
		return a.askFlags()
	case a.happened && len(a.subjects) > 0:
		return a.askHappened()
	case a.happened && len(a.kinds)+len(a.values)+len(a.fields) == 0:
		for kind, k := range a.t.kinds {
			if k.Own && clockOf(k) != "" && slices.Contains(k.Words, "news") {
				a.kinds = append(a.kinds, kind)
			}
		}
		return a.askRows()
	case len(a.subjects) > 0 && len(a.sorted) == 0 && a.order == nil && a.rank == 0:
		return a.askSubjects()
	case len(a.subjects) > 0:
		a.miss(a.subjects[0].text, api.MissingAmbiguous)
		return nil
	}
	return a.askRows()
}

// offer is what a kind has for a subject.
type offer struct {
	kind   int
	rows   []int
	fields []string
	left   *piece
	where  []api.Condition
	lack   lacks
}

// about finds the kind whose rows about s have all that is asked.
func (a *asking) about(s subject) (best offer, ok bool) {
	t := a.t
	about := slices.Clone(s.rows)
	for _, i := range s.rows {
		if a.match == "" { // of a thing that is named, other rows speak too
			about = append(about, t.entities[t.rows[i].Entity]...)
		}
	}
	slices.Sort(about)
	about = slices.Compact(about)
	seen := false
	var order []int               // the kinds that have the name come before others of the same thing
	lost := func(kind int) bool { // what was stolen of it is no change of it
		return t.kinds[kind].Own && len(a.times) == 0 && slices.ContainsFunc(a.fields, func(p piece) bool {
			return p.role == falling && len(having(t.kinds[kind].Fields, func(f Field) bool { return f.means(p.text) })) > 0
		}) && len(t.within(about, kind)) > 0
	}
	for kind := range t.kinds {
		if lost(kind) {
			order = append(order, kind)
		}
	}
	for _, first := range [...]bool{true, false} {
		for kind := range t.kinds {
			if (len(t.within(s.rows, kind)) > 0) == first {
				order = append(order, kind)
			}
		}
	}
	for _, kind := range order {
		direct := t.within(s.rows, kind)
		slices.SortStableFunc(direct, func(i, j int) int { return cmp.Compare(slices.Index(s.rows, i), slices.Index(s.rows, j)) })
		rows := direct
		if len(rows) == 0 {
			rows = t.within(about, kind)
		}
		own := t.kinds[kind].Own
		if !a.allowed(kind) && !lost(kind) && !(own && len(direct) > 0 && a.kind == "" && len(a.kinds)+len(a.values) == 0) {
			continue
		}
		if own && (a.kind != "" || len(a.kinds) > 0) {
			rows = t.within(about, kind)
		}
		where, has := a.filtered(kind)
		if !has {
			continue
		}
		rows = slices.DeleteFunc(slices.Clone(rows), func(i int) bool { return !t.valued(i, where) })
		if len(rows) == 0 {
			continue
		}
		names, left, lack := a.fieldsOf(kind)
		f := offer{kind: kind, rows: rows, fields: names, left: left, where: where, lack: lack}
		if len(lack) == 0 {
			f.rows = slices.DeleteFunc(slices.Clone(rows), func(i int) bool { return !t.hasAny(i, names) })
			if len(f.rows) > 0 {
				if f.lack = a.unmet(kind, f.rows); len(f.lack) > 0 {
					if !seen || len(f.lack) < len(best.lack) {
						best, seen = f, true
					}
					continue
				}
				if f.fields = t.had(f.rows, names); len(names) == 0 {
					f.fields = t.had(f.rows, a.implied(kind, s.text))
				}
				return f, true
			}
			for _, p := range a.fields {
				f.lack = append(f.lack, a.noField(p, t.kinds[kind]))
			}
		}
		if !seen || len(f.lack) < len(best.lack) {
			best, seen = f, true
		}
	}
	if !seen {
		best.kind = -1
	}
	return best, false
}

// within are those of rows that are of a kind.
func (t *Tables) within(rows []int, kind int) (list []int) {
	for _, i := range rows {
		if t.kindOf[i] == kind && !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list
}

func (t *Tables) valued(row int, where []api.Condition) bool {
	for _, c := range where {
		text, _ := t.rows[row].Fields.Get(c.Field).(string)
		if slices.ContainsFunc(c.Values(), func(v string) bool { return strings.EqualFold(text, v) }) == (c.Op == api.CompareUnequal) {
			return false
		}
	}
	return true
}

// hasAny reports whether a row has one of some fields; where there is none, that it is there is enough.
func (t *Tables) hasAny(row int, names []string) bool {
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return t.rows[row].Fields.Get(name) != nil })
}

// implied are the fields of a kind that words of a name or of the kind name too: fed funds target, implied volatility.
func (a *asking) implied(kind int, name string) (names []string) {
	for _, p := range a.kindly {
		name += " " + p.text
	}
	words := strings.Fields(name)
	for _, f := range a.t.kinds[kind].Fields {
		if len(words) > 1 && slices.ContainsFunc(words, f.means) {
			names = append(names, f.Name)
		}
	}
	return names
}

// unmet is what words ask for that none of rows has.
func (a *asking) unmet(kind int, rows []int) (lack lacks) {
	k := a.t.kinds[kind]
	for _, p := range a.fields {
		list := having(k.Fields, func(f Field) bool { return f.means(p.text) })
		var names []string
		for _, f := range list {
			names = append(names, f.Name)
		}
		if len(list) > 0 && len(a.t.had(rows, names)) == 0 {
			lack = append(lack, a.noField(p, k))
		}
	}
	return lack
}

// had are the fields that any of rows has.
func (t *Tables) had(rows []int, names []string) (list []string) {
	for _, name := range names {
		if slices.ContainsFunc(rows, func(i int) bool { return t.rows[i].Fields.Get(name) != nil }) {
			list = append(list, name)
		}
	}
	return list
}

// askSubjects asks for figures of things.
func (a *asking) askSubjects() (parts []Part) {
	soft := len(a.kinds) > 0 && a.kinds[0] == 0 && len(a.kinds) == 1
	for _, all := range a.all {
		if all != summing && (all != counting || len(a.fields) == 0) { // how many jobs were added
			a.miss([]string{"how many", "average"}[min(int(all-counting), 1)], api.MissingNoSuchField)
		}
	}
	if n := max(a.first, a.loose); n > 0 && n != len(a.subjects) {
		a.miss(strconv.Itoa(n), api.MissingUnknownWord)
	}
	if b := a.bound; b != nil && len(a.subjects) != 1 {
		a.miss(b.text, api.MissingUnknownWord)
	}
	if n := len(a.subjects); n > 1 && a.quoted() {
		a.subjects = a.subjects[:n-1] // the price in dollars is what there is
	}
	if whole := !slices.ContainsFunc(a.subjects,
		func(s subject) bool { return !a.t.kinds[a.t.place[a.t.rows[s.rows[0]].Kind]].Sole }); whole {
		for _, w := range a.words {
			if w.text == "its" || w.text == "their" {
				a.miss(w.text, api.MissingAmbiguous)
				return nil
			}
		}
	}
	if len(a.subjects) > 1 { // a part of a thing that is named too is meant alone
		key := func(s subject) string { return a.t.rows[s.rows[0]].Key }
		a.subjects = slices.DeleteFunc(a.subjects, func(s subject) bool {
			return slices.ContainsFunc(a.subjects, func(o subject) bool { return strings.HasPrefix(key(o), key(s)+"/") })
		})
	}
	if len(a.subjects) > 1 { // total open interest is something by itself, and of a thing that is named a figure
		for _, s := range a.subjects {
			if a.t.ordinary(s.text) {
				a.miss(s.text, api.MissingAmbiguous)
				return nil
			}
		}
	}
	if n := len(a.subjects); len(a.others) > 0 {
		a.miss(strings.Join(texts(a.words), " "), api.MissingAmbiguous)
	} else if n == 2 && a.pair() {
		a.miss(a.subjects[0].text+" "+a.subjects[1].text, api.MissingAmbiguous, a.subjects[0].text+", "+a.subjects[1].text)
		return nil
	}
	for _, s := range a.subjects {
		f, ok := a.about(s)
		if !ok && soft {
			kinds := a.kinds
			a.kinds = nil
			if again, fits := a.about(s); fits {
				f, ok = again, true
			}
			a.kinds = kinds
		}
		if !ok {
			if found := a.named(s); len(found) > 0 {
				parts = append(parts, found...)
				continue
			}
		}
		switch {
		case ok:
			parts = a.put(parts, s, f)
		case f.kind < 0:
			a.miss(s.text, api.MissingNotKept)
		default:
			for _, m := range f.lack {
				if !slices.ContainsFunc(a.missing, func(known api.LookupMissing) bool { return known.Word == m.Word }) {
					a.missing = append(a.missing, m)
				}
			}
		}
	}
	for _, p := range parts {
		for _, name := range p.Asked {
			pct, usd := strings.HasSuffix(name, "Pct"), strings.HasSuffix(name, "Usd")
			if slices.Contains(a.all, summing) && (strings.HasPrefix(name, "price") || pct || name == "rank") {
				a.miss("total", api.MissingNoSuchField) // there is none of it
			}
			if slices.Contains(a.all, counting) && (pct || usd) {
				a.miss("how many", api.MissingNoSuchField)
			}
		}
	}
	if len(parts) > 1 && len(a.subjects) == 2 && len(a.fields)+len(a.times) == 0 && a.subjects[0].to == a.subjects[1].from {
		a.miss(strings.Join(texts(a.words), " "), api.MissingAmbiguous) // things of different kinds, and nothing between them
	}
	if len(a.missing) > 0 {
		return nil
	}
	return parts
}

// ordinary reports whether a name is made of words that mean something in every question.
func (t *Tables) ordinary(name string) bool {
	words := strings.Fields(name)
	return len(words) > 1 && !slices.ContainsFunc(words, func(w string) bool { return !t.fields[w] && t.vocabulary[w] == unknown })
}

// pair reports whether two names beside each other may be a price of one in the other.
func (a *asking) pair() bool {
	first, second := a.subjects[0], a.subjects[1]
	if first.to != second.from {
		return false
	}
	price := func(p piece) bool { return p.text == "price" || p.text == "rate" }
	return a.words[second.from].slash && (len(a.fields) == 0 || slices.ContainsFunc(a.fields, price))
}

// quoted reports whether the last name is what prices are in: SOL/USDT, btc in usdt.
func (a *asking) quoted() bool {
	last := a.subjects[len(a.subjects)-1]
	if last.from == 0 || !slices.Contains([]string{"usdt", "usdc", "usd", "tether"}, last.text) {
		return false
	}
	before := a.words[last.from-1].text
	return a.words[last.from].slash || before == "in" || before == "to"
}

// named asks for rows of a kind of its own that have the name of a thing in theirs: news of it.
func (a *asking) named(s subject) (parts []Part) {
	t := a.t
	for _, kind := range a.kinds {
		k := t.kinds[kind]
		if !k.Own || len(a.values) > 0 || a.kind != "" && k.Name != a.kind {
			continue
		}
		rows := t.within(t.naming(t.nameOf(s)), kind)
		names, left, lack := a.fieldsOf(kind)
		if len(rows) == 0 || len(lack) > 0 {
			continue
		}
		p := a.part(kind, names, left)
		if words := wordsOf(t.nameOf(s)); len(t.within(t.matching(words), kind)) == len(rows) {
			p.Query.Where = append(p.Query.Where, api.Condition{Field: "name", Op: api.CompareHasWords, Value: t.nameOf(s)})
			return []Part{p}
		}
		for _, i := range rows[:min(len(rows), a.limit)] { // where the name is a word too, those count that are written as it is
			p.keys = append(p.keys, t.rows[i].Key)
		}
		p.Query.Where = append(p.Query.Where, t.keyed(k.Name, p.keys, ""))
		return []Part{p}
	}
	return nil
}

// nameOf is how a thing is called in full.
func (t *Tables) nameOf(s subject) string { return t.rows[s.rows[0]].Name }

// put adds a query for the rows of a subject, or adds them to the last one if that asks alike.
func (a *asking) put(parts []Part, s subject, f offer) []Part {
	t := a.t
	k := t.kinds[f.kind]
	apart := func(i int) bool { return t.rows[i].Entity != t.rows[f.rows[0]].Entity }
	if k.Own && len(a.kinds) > 0 && s.match == api.MatchExact && !slices.ContainsFunc(f.rows, apart) {
		p := a.part(f.kind, f.fields, f.left)
		p.Query.Where = append(p.Query.Where, api.Condition{Field: "entity", Op: api.CompareEqual, Value: t.rows[f.rows[0]].Entity})
		p.Query.Where = append(p.Query.Where, f.where...)
		p.Match = api.MatchExact
		if len(a.subjects) > 1 {
			p.Query.Limit = 1
		}
		if len(a.subjects) == 1 && len(f.rows) < p.Query.Limit {
			return append(append(parts, p), a.named(s)...)
		}
		return append(parts, p)
	}
	match := s.match
	if match == api.MatchExact {
		match = t.matched(s, f.rows)
	}
	rows := f.rows[:min(len(f.rows), a.limit)]
	if k.Own && len(a.subjects) > 1 {
		rows = rows[:1]
	}
	keys := make([]string, len(rows))
	for i, row := range rows {
		keys[i] = t.rows[row].Key
	}
	p := a.part(f.kind, f.fields, f.left)
	p.Match, p.keys = match, keys
	for _, had := range parts {
		if had.Query.Table == k.Name && !slices.ContainsFunc(keys, func(key string) bool { return !slices.Contains(had.keys, key) }) {
			return parts
		}
	}
	if n := len(parts); n > 0 && parts[n-1].Query.Table == k.Name && parts[n-1].Match == match && slices.Equal(parts[n-1].Asked, p.Asked) {
		last := &parts[n-1]
		for _, key := range keys {
			if !slices.Contains(last.keys, key) {
				last.keys = append(last.keys, key)
			}
		}
		last.Query.Limit = max(api.DefaultQueryLimit, len(last.keys))
		last.Query.Where[0] = t.keyed(k.Name, last.keys, "")
		return parts
	}
	p.Query.Limit = max(api.DefaultQueryLimit, len(keys))
	symbol := ""
	if match == api.MatchSymbol && len(rows) == 1 {
		symbol = t.rows[rows[0]].Symbol
	}
	p.Query.Where = append([]api.Condition{t.keyed(k.Name, keys, symbol)}, f.where...)
	return append(parts, p)
}

// keyed is the condition of being one of some rows: by the symbol, where that is one row's alone.
func (t *Tables) keyed(kind string, keys []string, symbol string) api.Condition {
	if symbol != "" {
		one := 0
		for _, r := range t.of(kind) {
			if strings.EqualFold(r.Symbol, symbol) {
				one++
			}
		}
		if one == 1 {
			return api.Condition{Field: "symbol", Op: api.CompareEqual, Value: symbol}
		}
	}
	if len(keys) == 1 {
		return api.Condition{Field: "key", Op: api.CompareEqual, Value: keys[0]}
	}
	return api.Condition{Field: "key", Op: api.CompareIn, Value: strings.Join(keys, ",")}
}

// matched says by what rows were found that have a name, or are about what has it.
func (t *Tables) matched(s subject, rows []int) api.Match {
	for _, h := range s.hits {
		if !slices.Contains(rows, h.row) {
			continue
		}
		switch h.class {
		case bySymbol:
			return api.MatchSymbol
		case byAlias:
			return api.MatchAlias
		}
		return api.MatchExact
	}
	if len(s.hits) > 0 && s.hits[0].class == bySymbol {
		return api.MatchSymbol
	}
	return api.MatchExact
}

// part is a query for rows of a kind.
func (a *asking) part(kind int, names []string, left *piece) Part {
	k := a.t.kinds[kind]
	p := Part{Query: api.RowQuery{Table: k.Name, Limit: a.limit, Fields: names}, Match: api.MatchExact, Asked: names}
	if left == nil {
		return p
	}
	p.when, p.word = &left.when, left.text
	switch clock := clockOf(k); {
	case clock != "" && k.Own && (left.when.Span > 0 || left.when.Since || !left.when.End().IsZero()):
		p.since = clock
	case left.when.Span > 0 || left.when.Since:
		p.over = true
	}
	return p
}

// askRows asks for rows of a kind, or for one figure of all of them.
func (a *asking) askRows() []Part {
	if len(a.missing) > 0 {
		return nil
	}
	if len(a.values) > 0 && len(a.kinds)+len(a.fields)+len(a.sorted) == 0 && a.order == nil && a.bound == nil && !a.newsOnly() {
		a.miss(a.values[0].text, api.MissingAmbiguous)
		return nil
	}
	listed := len(a.kinds) > 0 || len(a.values) > 0 || a.kind != "" || a.order != nil || len(a.sorted) > 0 || a.rank > 0 || a.bound != nil
	plain := a.order == nil && len(a.sorted) == 0 && a.rank == 0 && a.bound == nil && len(a.values)+len(a.refused) == 0
	if plain {
		if p := a.askTotal(); p != nil {
			return []Part{*p}
		}
	}
	if p := a.askAggregate(); p != nil {
		return []Part{*p}
	}
	if len(a.all) > 0 {
		for _, all := range a.all {
			a.miss([]string{"total", "how many", "average"}[int(all-summing)], api.MissingNoSuchField)
		}
		return nil
	}
	if !listed {
		for _, p := range slices.Concat(a.fields, a.times) {
			a.miss(p.text, api.MissingAmbiguous, "a name before it")
		}
		return nil
	}
	if kinds := slices.Compact(slices.Sorted(slices.Values(a.kinds))); a.order != nil && len(kinds) > 1 {
		a.miss(strings.Join(texts(a.words), " "), api.MissingAmbiguous)
		return nil
	}
	if a.rank > 0 && len(a.kinds)+len(a.sorted) == 0 && a.order == nil && !a.ranked {
		a.miss(strings.Join(texts(a.words), " "), api.MissingAmbiguous)
		return nil
	}
	var nearest lacks
	for kind := range a.t.kinds {
		if !a.candidate(kind) {
			continue
		}
		p, lack := a.askKind(kind)
		if p != nil {
			return p
		}
		if nearest == nil || len(lack) < len(nearest) {
			nearest = lack
		}
	}
	a.missing = append(a.missing, nearest...)
	if len(a.missing) == 0 {
		a.miss(strings.Join(texts(a.words), " "), api.MissingNoSuchField)
	}
	return nil
}

// newsOnly reports whether the values are those of one kind of news: its publishers. Then it is that kind that is asked for.
func (a *asking) newsOnly() bool {
	only := -1
	for kind, k := range a.t.kinds {
		if !slices.ContainsFunc(a.values, func(p piece) bool { return a.t.valueOf(p, kind) == nil }) {
			if only >= 0 || !k.Own || clockOf(k) == "" {
				return false
			}
			only = kind
		}
	}
	if only >= 0 {
		a.kinds = append(a.kinds, only)
	}
	return only >= 0
}

// candidate reports whether a listing may be of a kind.
func (a *asking) candidate(kind int) bool {
	k := a.t.kinds[kind]
	switch {
	case a.kind != "":
		return k.Name == a.kind
	case len(a.kinds) > 0:
		return slices.Contains(a.kinds, kind)
	case len(a.values) > 0:
		return !k.Own && !slices.ContainsFunc(a.values, func(p piece) bool { return a.t.valueOf(p, kind) == nil })
	}
	return !k.Own && len(a.t.of(k.Name)) > 1
}

// askTotal asks for the one row that sums up a kind or the whole pack, nil if there is none that has what is asked.
func (a *asking) askTotal() *Part {
	t := a.t
	if len(a.fields) == 0 || len(a.kinds) == 0 && slices.ContainsFunc(a.words, func(w term) bool { return refersBack(w.text) }) {
		return nil
	}
	var of []string
	for _, kind := range a.kinds {
		of = append(of, t.kinds[kind].Totals...)
	}
	if len(a.kinds) > 0 && len(a.all) == 0 && !a.singular { // stablecoins by supply are a list
		return nil
	}
	for kind, k := range t.kinds {
		rows := t.of(k.Name)
		if len(rows) != 1 || !slices.Contains(of, k.Name) && !(len(a.kinds) == 0 && k.Sole) || a.kind != "" && k.Name != a.kind {
			continue
		}
		names, left, lack := a.fieldsOf(kind)
		if len(lack) > 0 || len(names) == 0 || slices.Contains(a.all, counting) != counted(k, names) || slices.Contains(a.all, averaging) {
			continue
		}
		p := a.part(kind, names, left)
		p.Query.Where, p.keys = []api.Condition{t.keyed(k.Name, []string{rows[0].Key}, "")}, []string{rows[0].Key}
		p.Query.Limit = api.DefaultQueryLimit
		return &p
	}
	return nil
}

// askAggregate asks for one figure of the rows of a kind, nil where that says nothing: how many there are of what is fetched is no
// answer to
// how many there are.
func (a *asking) askAggregate() *Part {
	if len(a.all) != 1 || len(a.sorted) > 0 || a.order != nil || a.rank > 0 || a.first+a.loose > 0 {
		return nil
	}
	for kind, k := range a.t.kinds {
		if !a.candidate(kind) || len(a.kinds)+len(a.values) == 0 {
			continue
		}
		where, ok := a.filtered(kind)
		names, left, lack := a.fieldsOf(kind)
		if !ok || len(lack) > 0 {
			continue
		}
		p := a.part(kind, nil, left)
		p.Query.Where, p.Asked = where, nil
		if p.over {
			continue
		}
		field := a.sorting(k, names)
		if a.bound != nil {
			c, lacking := a.bounded(k, names)
			if lacking != nil {
				continue
			}
			p.Query.Where = append(p.Query.Where, *c)
		} else if op := a.direction(); op != "" && field != "" {
			p.Query.Where = append(p.Query.Where, api.Condition{Field: field, Op: op, Value: "0"})
		}
		switch {
		case a.all[0] == counting && (len(p.Query.Where) > 0 || p.since != ""):
			p.Query.Agg = []string{aggCount}
		case a.all[0] == summing && strings.HasSuffix(field, "Usd") && !strings.HasPrefix(field, "price"):
			p.Query.Agg = []string{aggSum + ":" + field}
		case a.all[0] == averaging && field != "":
			p.Query.Agg = []string{aggAvg + ":" + field}
		default:
			continue
		}
		p.even = true
		return &p
	}
	return nil
}

// direction is how figures that move as the question says compare with none, "" where it does not say.
func (a *asking) direction() api.Comparison {
	var op api.Comparison
	for _, p := range a.fields {
		switch {
		case p.role == falling || p.text == "negative" || strings.HasPrefix(p.text, "below"):
			op = api.CompareLess
		case p.role == rising || p.text == "positive" || strings.HasPrefix(p.text, "above"):
			op = api.CompareMore
		}
	}
	return op
}

// counted reports whether fields count rows.
func counted(k Kind, names []string) bool {
	return slices.ContainsFunc(k.Fields, func(f Field) bool { return f.Counts && slices.Contains(names, f.Name) })
}

// maxFirst is how many rows a question may ask for by a number in it.
const maxFirst = 20

// askKind asks for rows of a kind in an order.
func (a *asking) askKind(kind int) ([]Part, lacks) {
	t := a.t
	k := t.kinds[kind]
	off := func(p piece) bool { return strings.HasPrefix(p.text, "depeg") || strings.HasPrefix(p.text, "off ") }
	if len(a.fields) > 0 && !slices.ContainsFunc(a.fields, func(p piece) bool { return !off(p) }) &&
		len(a.kinds) == 1 && len(a.sorted)+len(a.times)+len(a.values)+len(a.others)+len(a.refused) == 0 && a.bound == nil && a.rank == 0 {
		a.flagKind = api.FlagDepeg
		return a.flagsOf(""), nil
	}
	where, ok := a.filtered(kind)
	if !ok {
		return nil, lacks{{Word: slices.Concat(a.values, a.refused)[0].text, Why: api.MissingNoSuchField}}
	}
	names, left, lack := a.fieldsOf(kind)
	if len(lack) > 0 {
		return nil, lack
	}
	all := make([]int, 0, len(t.rows))
	for i := range t.rows {
		if t.rows[i].Kind == k.Name {
			all = append(all, i)
		}
	}
	if names = t.had(all, names); len(names) == 0 && a.bound == nil {
		names = t.had(all, a.implied(kind, ""))
	}
	p := a.part(kind, names, left)
	p.Query.Where = where
	for _, row := range t.within(a.others, kind) {
		p.Query.Where = append(p.Query.Where, api.Condition{Field: "key", Op: api.CompareUnequal, Value: t.rows[row].Key})
	}
	if len(t.within(a.others, kind)) == 0 && len(a.others) > 0 {
		return nil, lacks{{Word: "not", Why: api.MissingAmbiguous}}
	}
	if p.over {
		return nil, lacks{{Word: left.text, Why: api.MissingNoSuchSpan, Instead: a.insteadOf(*left, k)}}
	}
	if a.first > maxFirst {
		return nil, lacks{{Word: strconv.Itoa(a.first), Why: api.MissingUnknownWord,
			Instead: []string{"query with table=" + k.Name + " and limit=" + strconv.Itoa(min(a.first, api.MaxQueryRows))}}}
	}
	if b := a.bound; b != nil {
		c, lacking := a.bounded(k, names)
		if lacking != nil {
			return nil, lacking
		}
		p.Query.Where = append(p.Query.Where, *c)
	}
	if ordered := len(a.sorted) > 0 || a.order != nil; a.rank > 0 && (k.field("rank") == nil || ordered) {
		if !ordered || a.rank > maxFirst {
			return nil, lacks{{Word: "rank", Why: api.MissingNoSuchField}}
		}
		a.nth, a.rank = int(a.rank), 0
	}
	if a.first == 0 && a.loose > 0 && (len(a.sorted) > 0 || a.order != nil || len(a.values) > 0) {
		a.first, a.loose = a.loose, 0
	}
	if a.loose > 0 {
		return nil, lacks{{Word: strconv.Itoa(a.loose), Why: api.MissingUnknownWord}}
	}
	if a.rank > 0 {
		p.Query.Where = append(p.Query.Where, api.Condition{Field: "rank", Op: api.CompareEqual, Value: strconv.Itoa(int(a.rank))})
		return []Part{p}, nil
	}
	if lacking := a.sort(&p, k, names); lacking != nil {
		return nil, lacking
	}
	switch {
	case a.first > 0 && !a.capped:
		p.Query.Limit = a.first
	case a.singular && !a.plural && (len(a.sorted) > 0 || a.order != nil || k.Own && clockOf(k) != ""):
		p.Query.Limit = 1
	}
	if a.nth > 0 {
		p.Query.Limit, p.skip = a.nth, a.nth-1
	}
	if p.drop && slices.ContainsFunc(all, func(i int) bool { return t.rows[i].Echo }) {
		p.Query.Where = append(p.Query.Where, api.Condition{Field: fieldDerivative, Op: api.CompareEqual, Value: "false"})
	}
	if a.order != nil && a.order.Both {
		return a.both(p), nil
	}
	return []Part{p}, nil
}

// field is the one of a name, nil if there is none.
func (k Kind) field(name string) *Field {
	i := slices.IndexFunc(k.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &k.Fields[i]
}

// bounded is the condition of a comparison with a figure.
func (a *asking) bounded(k Kind, names []string) (*api.Condition, lacks) {
	field := a.sorting(k, names)
	if field == "" && len(k.Fields) > 0 {
		field = k.Fields[0].Name
	}
	b := a.bound
	if field == "" || b.percent != strings.HasSuffix(field, "Pct") && b.percent {
		return nil, lacks{{Word: b.text, Why: api.MissingNoSuchField}}
	}
	value, op := b.value, b.op
	for _, p := range a.fields {
		if p.role == falling && changes(*k.field(field)) {
			value = -value
			op = map[api.Comparison]api.Comparison{api.CompareMore: api.CompareLess, api.CompareLess: api.CompareMore,
				api.CompareAtLeast: api.CompareAtMost,
				api.CompareAtMost:  api.CompareAtLeast}[op]
		}
	}
	return &api.Condition{Field: field, Op: op, Value: strconv.FormatFloat(value, 'f', -1, 64)}, nil
}

// sorting is the field by which rows of a kind stand, of those that were named.
func (a *asking) sorting(k Kind, names []string) string {
	numbers := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !a.t.isNumber(k.Name, name) })
	switch {
	case len(numbers) == 0:
		return ""
	case len(numbers) == 1:
		return numbers[0]
	}
	for _, o := range k.Orders {
		if slices.Contains(numbers, o.Field) && changes(*k.field(o.Field)) == a.directed() {
			return o.Field
		}
	}
	for _, name := range numbers {
		if a.directed() && changes(*k.field(name)) {
			return name
		}
	}
	for _, name := range numbers {
		if strings.HasSuffix(name, "Pct") && !strings.HasPrefix(name, "change") {
			return name
		}
	}
	return numbers[0]
}

// directed reports whether the question says which way a figure went.
func (a *asking) directed() bool {
	return slices.ContainsFunc(a.fields, func(p piece) bool {
		return p.role == rising || p.role == falling || p.text == "change" || p.text == "moved"
	})
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

// both are a query for what rose most and one for what fell most.
func (a *asking) both(p Part) []Part {
	other := p
	p.Query.Order = "-" + strings.TrimPrefix(p.Query.Order, "-")
	other.Query.Order = strings.TrimPrefix(p.Query.Order, "-")
	return []Part{p, other}
}

// sort gives the query of p its order, and says what of it cannot be given.
func (a *asking) sort(p *Part, k Kind, names []string) lacks {
	ordered := func(field string, lowest bool) {
		p.Query.Order = "-" + field
		if lowest {
			p.Query.Order = field
		}
		if !slices.Contains(p.Asked, field) {
			p.Asked = append(slices.Clone(p.Asked), field)
			p.Query.Fields = p.Asked
		}
		p.drop = field != k.Size
		if a.t.Row(k.Name, "total") != nil {
			p.Query.Where = append(p.Query.Where, api.Condition{Field: "key", Op: api.CompareUnequal, Value: "total"})
		}
	}
	field := a.sorting(k, names)
	if o := a.order; o != nil {
		if a.sized { // the best of the biggest coins has two orders
			return lacks{{Word: strings.Join(texts(a.words), " "), Why: api.MissingAmbiguous}}
		}
		by := o.Field
		if field != "" && k.field(by) != nil && changes(*k.field(by)) {
			if !changes(*k.field(field)) {
				return lacks{{Word: strings.Join(texts(a.words), " "), Why: api.MissingAmbiguous}}
			}
			by = field
		}
		p.Asked = nil
		ordered(by, o.Least)
		return nil
	}
	way, size := role(0), 0
	for _, s := range a.sorted {
		switch {
		case s == top:
			size++
		case way != 0 && way != s:
			return lacks{{Word: strings.Join(texts(a.words), " "), Why: api.MissingAmbiguous}}
		default:
			way = s
		}
	}
	// the cheapest of the top 20
	if other := way == expensive || way == cheap || field != "" && field != k.Size; size > 0 && a.first > 0 && way != 0 && other {
		if k.field("rank") == nil {
			return lacks{{Word: "top " + strconv.Itoa(a.first), Why: api.MissingNoSuchField}}
		}
		a.capped = true
		p.Query.Where = append(p.Query.Where, api.Condition{Field: "rank", Op: api.CompareAtMost, Value: strconv.Itoa(a.first)})
		if len(a.kinds) == 0 || a.singular {
			p.Query.Limit = 1
		}
	}
	fell, rose := false, false
	for _, f := range a.fields {
		fell = fell || f.role == falling || strings.HasPrefix(f.text, "below")
		rose = rose || f.role == rising || strings.HasPrefix(f.text, "above")
	}
	switch {
	case way == expensive || way == cheap:
		price := having(k.Fields, func(f Field) bool { return slices.Contains(f.Words, "price") })
		if len(price) == 0 {
			return lacks{{Word: "price", Why: api.MissingNoSuchField}}
		}
		ordered(price[0].Name, way == cheap)
	case field != "" && (way != 0 || size > 0):
		lowest := way == least
		if changes(*k.field(field)) && fell != rose {
			lowest = fell
		}
		if strings.Contains(field, "Deviation") && way == most {
			lowest = a.t.lowerEnd(k.Name, field)
			p.Query.Limit = 1
		}
		ordered(field, lowest)
	case field != "" && fell != rose && a.bound == nil && (signed(*k.field(field)) || a.direction() != ""): // coins that are up
		ordered(field, fell)
		op := api.CompareMore
		if fell {
			op = api.CompareLess
		}
		p.Query.Where = append(p.Query.Where, api.Condition{Field: field, Op: op, Value: "0"})
	case way == least:
		if k.Size == "" {
			return lacks{{Word: "smallest", Why: api.MissingAmbiguous}}
		}
		ordered(k.Size, true)
		p.Asked, p.Query.Fields = nil, nil
	case way == most && clockOf(k) != "": // the biggest of what comes one after the other
		if field = a.t.firstNumber(k); field == "" {
			return lacks{{Word: "largest", Why: api.MissingAmbiguous}}
		}
		ordered(field, false)
	case way == most && k.Size == "":
		if field = a.t.firstNumber(k); field == "" {
			return lacks{{Word: "largest", Why: api.MissingAmbiguous}}
		}
		ordered(field, false)
	}
	return nil
}

// firstNumber is the first field of a kind that is a number, "" for none.
func (t *Tables) firstNumber(k Kind) string {
	for _, f := range k.Fields {
		if t.isNumber(k.Name, f.Name) && len(t.of(k.Name)) > 0 {
			return f.Name
		}
	}
	return ""
}

// lowerEnd reports whether the least of a field is farther from none than the most.
func (t *Tables) lowerEnd(kind, field string) bool {
	low, high := 0.0, 0.0
	for _, r := range t.of(kind) {
		if x, ok := number(r.Fields.Get(field)); ok {
			low, high = min(low, x), max(high, x)
		}
	}
	return -low > high
}

// askFlags asks for what is out of the ordinary.
func (a *asking) askFlags() (parts []Part) {
	a.fields = slices.DeleteFunc(a.fields, func(p piece) bool {
		peg := strings.Contains(p.text, "peg")
		if peg {
			a.flagKind = cmp.Or(a.flagKind, api.FlagDepeg)
		}
		return peg
	})
	a.kinds = slices.DeleteFunc(a.kinds, func(kind int) bool {
		name := a.t.kinds[kind].Name
		if name == "hack" {
			a.flagKind = cmp.Or(a.flagKind, api.FlagExploit)
		}
		return name == "hack" || name == "stablecoin" && a.flagKind == api.FlagDepeg || name == "market"
	})
	if len(a.all)+len(a.sorted)+len(a.fields)+len(a.values) > 0 || a.rank > 0 || a.bound != nil || a.order != nil || a.first > 0 {
		a.miss(strings.Join(texts(a.words), " "), api.MissingAmbiguous)
	}
	for _, p := range a.times {
		if !p.when.Loose {
			a.miss(p.text, api.MissingNoSuchSpan, "changes since then")
		}
	}
	if a.kind != "" || len(a.kinds) > 0 {
		a.miss(strings.Join(texts(a.words), " "), api.MissingAmbiguous)
	}
	if len(a.missing) > 0 {
		return nil
	}
	return a.flagsOf("")
}

// flagsOf asks for the flags of the things that are asked about, or for all.
func (a *asking) flagsOf(entity string) (parts []Part) {
	p := Part{Query: api.RowQuery{Table: api.TableFlags, Limit: api.MaxLookupRows}, Match: api.MatchExact, even: true}
	if a.flagKind != "" {
		p.Query.Where = append(p.Query.Where, api.Condition{Field: "kind", Op: api.CompareEqual, Value: a.flagKind})
	}
	entities := []string{entity}
	if entity == "" {
		entities = nil
		for _, s := range a.subjects {
			entities = append(entities, a.t.rows[s.rows[0]].Entity)
		}
	}
	switch len(entities) {
	case 0:
	case 1:
		p.Query.Where = append(p.Query.Where, api.Condition{Field: "entity", Op: api.CompareEqual, Value: entities[0]})
	default:
		p.Query.Where = append(p.Query.Where, api.Condition{Field: "entity", Op: api.CompareIn, Value: strings.Join(entities, ",")})
	}
	return []Part{p}
}

// askHappened asks for how things moved, and for the flags and the news of them.
func (a *asking) askHappened() (parts []Part) {
	if len(a.all)+len(a.sorted)+len(a.kinds)+len(a.values) > 0 || a.rank > 0 || a.bound != nil || a.order != nil || a.first > 0 {
		a.miss(strings.Join(texts(a.words), " "), api.MissingAmbiguous)
		return nil
	}
	for _, s := range a.subjects {
		f, ok := a.about(s)
		if !ok {
			a.missing = append(a.missing, f.lack...)
			continue
		}
		if len(f.fields) == 0 {
			for _, c := range having(a.t.kinds[f.kind].Fields, changes) {
				f.fields = append(f.fields, c.Name)
			}
		}
		entity := a.t.rows[f.rows[0]].Entity
		parts = append(a.put(parts, s, f), a.flagsOf(entity)...)
		for kind, k := range a.t.kinds {
			if k.Own && clockOf(k) != "" && len(a.t.within(a.t.entities[entity], kind)) > 0 {
				p := a.part(kind, nil, nil)
				p.Query.Where, p.even = []api.Condition{{Field: "entity", Op: api.CompareEqual, Value: entity}}, true
				parts = append(parts, p)
			}
		}
	}
	if len(a.missing) > 0 {
		return nil
	}
	return parts
}
