package state

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// offer is what a kind has for a subject.
type offer struct {
	kind   int
	rows   []int
	fields []string
	left   *piece
	where  []api.Condition
	lack   lacks
}

// ofOneKind has things asked about as rows of one kind, where each of them alone would be taken for another: a coin and a chain, which
// are both chains.
func (a *asking) ofOneKind() {
	if len(a.subjects) < 2 || len(a.kinds) > 0 || a.kind != "" || a.match != "" {
		return
	}
	of := func(s subject) int {
		if f, ok := a.about(s); ok {
			return f.kind
		}
		return -1
	}
	first := of(a.subjects[0])
	if !slices.ContainsFunc(a.subjects, func(s subject) bool { return of(s) != first }) {
		return
	}
	for kind, k := range a.t.kinds {
		a.kinds = []int{kind}
		if !k.Own && !slices.ContainsFunc(a.subjects, func(s subject) bool { return of(s) != kind }) {
			return
		}
	}
	a.kinds = nil
}

// about finds the kind whose rows about s have all that is asked.
func (a *asking) about(s subject) (best offer, ok bool) {
	t := a.t
	about := slices.Clone(s.rows)
	for _, i := range s.rows {
		of := t.entities[t.rows[i].Entity]
		if a.match == "" && t.namesFirst(s.text, of) { // of a thing that is named, other rows speak too; gas is no name of Ethereum
			about = append(about, of...)
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

// namesFirst reports whether a text is a name of the first of some rows.
func (t *Tables) namesFirst(text string, rows []int) bool {
	return len(rows) > 0 && slices.ContainsFunc(t.names[text], func(h hit) bool { return h.row == rows[0] })
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
		list := a.movesOf(k, p)
		if len(list) == 0 {
			list = having(k.Fields, func(f Field) bool { return f.means(p.text) })
		}
		var names []string
		for _, f := range list {
			names = append(names, f.Name)
		}
		if len(list) > 0 && len(a.t.had(rows, names)) == 0 {
			lack = append(lack, a.noField(p, k))
		}
	}
	for _, p := range a.times {
		var names []string
		for _, f := range having(k.Fields, func(f Field) bool { return p.when.Span > 0 && !p.when.Loose && spanned(f, p.when) }) {
			names = append(names, f.Name)
		}
		if len(names) > 0 && len(a.t.had(rows, names)) == 0 {
			lack = append(lack, api.LookupMissing{Word: p.text, Why: api.MissingNoSuchSpan})
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
	if said := texts(a.words); len(a.subjects) > 1 && slices.Contains(said, "ratio") && slices.Contains(said, "to") {
		a.miss("ratio", api.MissingNoSuchField) // of one to the other
	}
	if n := max(a.first, a.loose); n > 0 && n != len(a.subjects) {
		a.miss(strconv.Itoa(n), api.MissingUnknownWord)
	}
	ranked := slices.ContainsFunc(a.fields, func(p piece) bool { return p.text == "rank" || p.text == "ranking" })
	if _, other := a.sizedBy(a.t.kinds[a.t.kindOf[a.subjects[0].rows[0]]]); ranked && other != "" {
		a.miss("rank by "+other, api.MissingNoSuchField)
	}
	if n := len(a.bounds); n > 1 || n > 0 && (len(a.subjects) != 1 || a.match != "") {
		a.miss(a.bounds[n-1].text, api.MissingUnknownWord)
	}
	if len(a.bounds) > 0 && a.crosses() {
		a.miss(a.bounds[0].text, api.MissingNoSuchSpan, "the lowest and the highest over a span, such as "+
			"highest price of "+a.t.nameOf(a.subjects[0])+" this week")
	}
	a.joined()
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
	if n := len(a.subjects); n == 2 && a.subjects[1].from > 0 && a.words[a.subjects[1].from-1].text == "on" {
		first, second := a.subjects[0], a.subjects[1]
		own := func(i int) bool { return a.t.rows[i].Entity != a.t.rows[first.rows[0]].Entity }
		if a.t.same(first.rows, second.rows) && !slices.ContainsFunc(first.rows, own) && first.text != second.text {
			a.subjects = a.subjects[:1] // gas on Ethereum, which is that of it alone
		}
	}
	for i := 1; i < len(a.subjects); i++ { // a figure of one thing at another
		between := texts(a.words[a.subjects[i-1].to:max(a.subjects[i-1].to, a.subjects[i].from)])
		joined := slices.ContainsFunc(between, func(w string) bool { return a.t.vocabulary[w] == joining })
		if n := len(between); n > 0 && !joined && slices.Contains([]string{"on", "at", "in", "within", "inside"}, between[n-1]) {
			a.miss(between[n-1]+" "+a.subjects[i].text, api.MissingNoSuchField)
			return nil
		}
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
	a.ofOneKind()
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
		case ok && len(a.bounds) > 0 && a.t.kinds[f.kind].Own: // it stands in a text, and no figure is compared with it
			a.miss(a.bounds[0].text, api.MissingUnknownWord)
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
	switch n := len(parts); {
	case n == 0:
	case a.share:
		if parts[0].share = true; n > 1 || len(a.subjects) > 1 || len(a.times) > 0 || a.t.wholeOf(parts[0]) == nil {
			a.miss("share", api.MissingNoSuchField)
		}
	case max(len(a.subjects), len(a.values)) > 1 && parts[n-1].when == nil && a.differs():
		parts[n-1].apart = true
	}
	together := func(w term) bool {
		return slices.Contains([]string{"combined", "together", "altogether", "sum"}, w.text)
	}
	if slices.Contains(a.all, summing) && len(a.subjects) > 1 && slices.ContainsFunc(a.words, together) {
		if len(parts) != 1 || len(parts[0].Asked) != 1 || !strings.HasSuffix(parts[0].Asked[0], "Usd") {
			a.miss("together", api.MissingNoSuchField)
		} else {
			parts[0].Query.Agg = []string{aggSum + ":" + parts[0].Asked[0]}
		}
	}
	if word := a.silent(parts); word != "" {
		a.miss(word, api.MissingAmbiguous)
	}
	if len(a.missing) > 0 {
		return nil
	}
	return parts
}

// crosses reports whether the question asks if a figure was above or below another one at any time of a span.
func (a *asking) crosses() bool {
	return slices.ContainsFunc(a.times, func(p piece) bool { return p.when.Since || p.when.Span > 0 && !p.when.Loose }) ||
		slices.ContainsFunc(a.words, func(w term) bool {
			return oneOf(w.text, "|been|ever|go|goes|went|gone|get|got|gotten|") || !a.bounds[0].percent && // did it fall below 90,000
				oneOf(w.text, "|fall|fell|fallen|drop|dropped|dip|dipped|sink|sank|rise|rose|risen|climb|climbed|jump|jumped|break|broke|")
		})
}

// silent is the word for one of several values, such as venues, that no row has which answers, "" for none.
func (a *asking) silent(parts []Part) string {
	if len(a.values) < 2 {
		return ""
	}
	for _, v := range a.values {
		for _, p := range parts {
			of := a.t.valueOf(v, a.t.place[p.Query.Table])
			has := func(key string) bool {
				r := a.t.Row(p.Query.Table, key)
				return r == nil || strings.Contains(fold(textOf(r.Fields.Get(of.field))), fold(of.text))
			}
			if of != nil && len(p.keys) > 0 && !slices.ContainsFunc(p.keys, has) {
				return v.text
			}
		}
	}
	return ""
}

// joined has one row asked for instead of two things, where it is named by both, and has a figure that is asked for and that neither has:
// the spread of the 10-year over the 2-year.
func (a *asking) joined() {
	if len(a.subjects) != 2 {
		return
	}
	first, second := a.t.rows[a.subjects[0].rows[0]], a.t.rows[a.subjects[1].rows[0]]
	k := a.t.kinds[a.t.place[first.Kind]]
	if first.Kind != second.Kind || k.Own {
		return
	}
	of := append(wordsOf(first.Name), wordsOf(second.Name)...)
	for i, r := range a.t.rows {
		words := wordsOf(r.Name)
		foreign := func(w string) bool { return w != "minus" && !slices.Contains(of, w) }
		if r.Kind != first.Kind || slices.ContainsFunc(of, func(w string) bool { return !slices.Contains(words, w) }) ||
			slices.ContainsFunc(words, foreign) || len(words) > len(of) {
			continue
		}
		fields := a.fields
		level := func(p piece) bool { return k.Fields[0].means(p.text) }
		if !slices.ContainsFunc(fields, other(level)) && a.differs() { // how far they are apart
			for _, f := range having(k.Fields, func(f Field) bool { return r.Fields.Get(f.Name) != nil })[:1] {
				fields = []piece{{role: ofField, text: f.Name}}
			}
		}
		for _, p := range fields {
			for _, f := range having(k.Fields, func(f Field) bool { return f.means(p.text) }) {
				if r.Fields.Get(f.Name) != nil && first.Fields.Get(f.Name) == nil && second.Fields.Get(f.Name) == nil {
					a.subjects, a.fields = a.subjects[:1], fields
					a.subjects[0].rows, a.subjects[0].hits, a.subjects[0].match = []int{i}, nil, api.MatchExact
					return
				}
			}
		}
	}
}

// wholeOf is the figure of all of a kind that p asks one of, nil for none: that of the row of all, or else the sum of the rows.
func (t *Tables) wholeOf(p Part) *api.Aggregate {
	if len(p.Asked) != 1 || !strings.HasSuffix(p.Asked[0], "Usd") || strings.HasPrefix(p.Asked[0], "price") {
		return nil
	}
	name := p.Asked[0]
	for _, total := range append(slices.Clone(t.kinds[t.place[p.Query.Table]].Totals), p.Query.Table) {
		for _, r := range t.of(total) {
			if x, is := number(r.Fields.Get(name)); is && x > 0 && (r.Key == "total" || total != p.Query.Table) {
				return &api.Aggregate{Value: &x, Rows: 1, Row: r.Kind + "/" + r.Key}
			}
		}
	}
	if len(t.kinds[t.place[p.Query.Table]].Totals) > 0 || t.kinds[t.place[p.Query.Table]].Own {
		return nil
	}
	sum := aggregate{of: aggSum}
	for _, r := range t.of(p.Query.Table) {
		if x, is := number(r.Fields.Get(name)); is {
			sum.add(x, &r, r.FetchedAt)
		}
	}
	if sum.Value == nil || *sum.Value <= 0 {
		return nil
	}
	return &sum.Aggregate
}

// differing reports whether p asks how far two figures are apart.
func differing(p piece) bool {
	return strings.HasPrefix(p.text, "differ") || strings.HasPrefix(p.text, "gap") || strings.HasSuffix(p.text, " between") ||
		strings.Contains(p.text, "difference") || p.text == "minus"
}

// differs reports whether the question asks how far two figures are apart: by how much is one bigger than the other.
func (a *asking) differs() bool {
	much := strings.Contains(strings.Join(texts(a.words), " "), "how much")
	return slices.ContainsFunc(a.asides, func(p piece) bool { return differing(p) || much && p.role == comparing })
}

// peak is the way that p asks for the most or the least that a figure was, 0 for none.
func peak(p piece) role {
	switch p.text {
	case "high", "high of the day":
		return most
	case "low", "low of the day":
		return least
	}
	return 0
}

// peaked reports whether the question asks for the most or the least that a figure of one thing was in a span.
func (a *asking) peaked() bool {
	other := len(a.kinds) + len(a.values) + len(a.bounds) + len(a.all) + len(a.others) + a.first + a.loose
	if len(a.subjects) != 1 || len(a.times) != 1 || other > 0 || a.order != nil || a.rank > 0 {
		return false
	}
	ways := len(a.sorted)
	for _, p := range a.fields {
		if peak(p) > 0 {
			ways++
		}
	}
	w := a.times[0].when
	of := func(r role) bool { return r == most || r == least }
	two := ways == 2 && a.paired && len(a.sorted) == 2 && a.sorted[0] != a.sorted[1]
	return (ways == 1 || two) && !slices.ContainsFunc(a.sorted, func(r role) bool { return !of(r) }) &&
		(w.Span > 0 || w.Since) && w.End().IsZero() && !w.Future
}

// askPeak asks for it: by all states of the span.
func (a *asking) askPeak() []Part {
	way := most
	if len(a.sorted) > 0 {
		way = a.sorted[0]
	}
	a.fields = slices.DeleteFunc(a.fields, func(p piece) bool {
		if peak(p) > 0 {
			way = peak(p)
		}
		return peak(p) > 0
	})
	when := a.times
	a.times = nil
	f, ok := a.about(a.subjects[0])
	a.times = when
	k := Kind{}
	if ok {
		k = a.t.kinds[f.kind]
	}
	if len(f.fields) == 0 && len(a.sorted) == 0 && len(a.fields) == 0 && len(k.Fields) > 0 { // the high of the week is that of the price
		f.fields = []string{k.Fields[0].Name}
	}
	if len(f.fields) != 1 || k.Own || spanForm().MatchString(f.fields[0]) || !a.t.isNumber(k.Name, f.fields[0]) {
		a.miss(a.subjects[0].text, api.MissingAmbiguous)
		return nil
	}
	f.left = &when[0]
	parts := a.put(nil, a.subjects[0], f)
	ways := []role{way}
	if len(a.sorted) == 2 {
		ways = a.sorted
	}
	for _, way := range ways {
		parts[0].Query.Agg = append(parts[0].Query.Agg, map[role]string{most: aggMax, least: aggMin}[way]+":"+f.fields[0])
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
	price := func(p piece) bool { return slices.Contains([]string{"price", "rate", "ratio"}, p.text) }
	if first.to < second.from && slices.ContainsFunc(a.fields, price) { // the price of one in the other, in terms of it
		between := texts(a.words[first.to:second.from])
		other := func(w string) bool { return !slices.Contains([]string{"in", "terms", "of", "per", "price"}, w) }
		return !slices.ContainsFunc(between, other) && (slices.Contains(between, "in") || slices.Contains(between, "per"))
	}
	if first.to != second.from {
		return false
	}
	return a.words[second.from].slash && (len(a.fields) == 0 || slices.ContainsFunc(a.fields, price))
}

// quoted reports whether the last name is what prices are in: SOL/USDT, btc in usdt.
func (a *asking) quoted() bool {
	last := a.subjects[len(a.subjects)-1]
	if last.from == 0 || !slices.Contains([]string{"usdt", "usdc", "usd", "tether"}, last.text) {
		return false
	}
	k := a.t.kinds[a.t.kindOf[a.subjects[0].rows[0]]]
	price := func(p piece) bool { f := k.field(k.priced()); return f == nil || f.means(p.text) || moves(p) }
	before := a.words[last.from-1].text
	return (a.words[last.from].slash || before == "in" || before == "to") && !slices.ContainsFunc(a.fields, other(price))
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
		for _, i := range rows[:min(len(rows), a.most(p))] { // where the name is a word too, those count that are written as it is
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
		own := t.rows[s.rows[0]].Kind == k.Name
		p.one = a.newest() && a.singular && len(a.subjects) == 1
		if len(a.subjects) > 1 || own && a.newest() {
			p.Query.Limit, p.Query.Agg = 1, nil
		}
		if len(a.subjects) == 1 && !own && len(f.rows) < p.Query.Limit {
			return append(append(parts, p), a.named(s)...)
		}
		return append(parts, p)
	}
	match := s.match
	if match == api.MatchExact {
		match = t.matched(s, f.rows)
	}
	p := a.part(f.kind, f.fields, f.left)
	rows := f.rows[:min(len(f.rows), a.most(p))]
	if k.Own && len(a.subjects) > 1 {
		rows, p.Query.Agg = rows[:1], nil
	}
	keys := make([]string, len(rows))
	for i, row := range rows {
		keys[i] = t.rows[row].Key
	}
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
	if p.since == "" {
		p.Query.Limit = max(api.DefaultQueryLimit, len(keys))
	}
	symbol := ""
	if match == api.MatchSymbol && len(rows) == 1 {
		symbol = t.rows[rows[0]].Symbol
	}
	p.Query.Where = append([]api.Condition{t.keyed(k.Name, keys, symbol)}, f.where...)
	return append(parts, p)
}

// newest reports whether the newest of what came one after the other is asked for, and no more.
func (a *asking) newest() bool {
	last := func(w term) bool { return oneOf(w.text, "|latest|newest|current|recent|last|") }
	return !a.plural && (len(a.fields) > 0 || a.singular) && len(a.times) == 0 && slices.ContainsFunc(a.words, last)
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

// maxKeys is how many rows a query names at most where what it has a limit of is chosen among them.
const maxKeys = 100

// most is how many rows the query of p names at most.
func (a *asking) most(p Part) int {
	if p.since != "" {
		return maxKeys
	}
	return a.limit
}

// part is a query for rows of a kind.
func (a *asking) part(kind int, names []string, left *piece) Part {
	k := a.t.kinds[kind]
	p := Part{Query: api.RowQuery{Table: k.Name, Limit: a.limit, Fields: names}, Match: api.MatchExact, Asked: names}
	if left == nil {
		return p
	}
	p.when, p.word = &left.when, left.text
	switch w, clock := left.when, a.clock(k); {
	case clock != "" && (w.Span > 0 || w.Since || !w.End().IsZero() || w.Ranges() || w.Day()):
		p.since, p.ahead, p.Query.Agg = clock, comes(*k.field(clock)), []string{aggCount} // more than are shown may have come
	case left.when.Span > 0 || left.when.Since:
		p.over = true
	}
	return p
}
