package state

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// askRows asks for rows of a kind, or for one figure of all of them.
func (a *asking) askRows() []Part {
	_, of, _ := strings.Cut(strings.Join(texts(a.words), " "), "how much of ")
	// of all rows there is none but where it is a field
	if a.share || of != "" && !strings.HasPrefix(of, "it ") && !strings.HasPrefix(of, "them ") {
		a.miss("share", api.MissingNoSuchField)
	}
	if len(a.missing) > 0 {
		return nil
	}
	if len(a.kinds) == 0 && a.kind == "" && slices.ContainsFunc(a.values, a.thing) {
		a.miss(a.values[0].text, api.MissingAmbiguous) // Solana, or what is on it
		return nil
	}
	if len(a.values) > 0 && len(a.kinds)+len(a.fields)+len(a.sorted) == 0 && a.order == nil && len(a.bounds) == 0 && !a.newsOnly() &&
		!slices.Contains(a.all, counting) {
		a.miss(a.values[0].text, api.MissingAmbiguous)
		return nil
	}
	listed := len(a.kinds)+len(a.values)+len(a.sorted)+len(a.bounds) > 0 || a.kind != "" || a.order != nil || a.rank > 0
	plain := a.order == nil && len(a.sorted) == 0 && a.rank == 0 && len(a.bounds) == 0 && len(a.values)+len(a.refused) == 0
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
			if p.role == ofField && !a.t.measured(p.text) {
				a.miss(p.text, api.MissingNoSuchField) // of no kind here
			} else {
				a.miss(p.text, api.MissingAmbiguous, "a name before it")
			}
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
		if len(a.others) > 0 && len(a.kinds)+len(a.values) == 0 {
			break // what is left out does not say what is asked for
		}
	}
	a.missing = append(a.missing, nearest...)
	if len(a.missing) == 0 {
		a.miss(strings.Join(texts(a.words), " "), api.MissingNoSuchField)
	}
	return nil
}

// thing reports whether the words of a value may as well name a thing: where rows are put in an order by a figure that it lacks, or
// counted, they do not.
func (a *asking) thing(p piece) bool {
	return slices.ContainsFunc(a.t.names[p.text], func(h hit) bool {
		k := a.t.kinds[a.t.kindOf[h.row]]
		lacking := func(f piece) bool { return f.role == ofField && !k.measured(f.text) }
		ordered := len(a.sorted) > 0 && slices.ContainsFunc(a.fields, lacking)
		return !ordered && !slices.Contains(a.all, counting) || slices.ContainsFunc(p.values, func(v value) bool {
			of := a.t.kinds[v.kind].field(v.field)
			return of != nil && of.Filter // Bitcoin, or what is on it
		})
	})
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
	return !k.Own && len(a.t.of(k.Name)) > 1 && !slices.ContainsFunc(a.fields, func(p piece) bool {
		r := a.t.vocabulary[p.text] // which asks for one figure of all rows, and is no field of some
		return r >= summing && r <= averaging
	})
}

// askTotal asks for the one row that sums up a kind or the whole pack, nil if there is none that has what is asked.
func (a *asking) askTotal() *Part {
	t := a.t
	if len(a.kinds) == 0 && !slices.ContainsFunc(a.fields, func(p piece) bool { return !moving(p) }) { // what changed
		return nil
	}
	if len(a.fields) == 0 || a.listed() || a.even || len(a.others)+a.beyond > 0 {
		return nil
	}
	if len(a.kinds) == 0 && slices.ContainsFunc(a.words, func(w term) bool { return refersBack(w.text) }) {
		return nil
	}
	var of []string
	for _, kind := range a.kinds {
		of = append(of, t.kinds[kind].Totals...)
	}
	share := slices.ContainsFunc(a.fields, func(p piece) bool { return strings.Contains(p.text, "share") })
	if share && slices.ContainsFunc(a.fields, func(p piece) bool { return t.vocabulary[p.text] == falling }) { // the other share is known
		return nil
	}
	if len(a.kinds) > 0 && len(a.all) == 0 && !a.singular && !share { // stablecoins by supply are a list
		return nil
	}
	for kind, k := range t.kinds {
		rows := t.of(k.Name)
		lacked := func(p piece) bool { return slices.Contains(k.Lacks, t.kinds[p.kind].Name) }
		whole := slices.Contains(of, k.Name) || len(a.kinds) == 0 && k.Sole
		if len(rows) != 1 || !whole || a.kind != "" && k.Name != a.kind || slices.ContainsFunc(a.without, other(lacked)) {
			continue
		}
		names, left, lack := a.fieldsOf(kind)
		if share {
			names = slices.DeleteFunc(names, func(name string) bool { return k.field(name).Counts })
		}
		of := func(p piece) bool { return strings.HasSuffix(p.text, "ers") } // advancers and decliners
		if a.bothWays() && !counted(k, names) {                              // advancing and declining: how many, and no change
			continue
		}
		counts := slices.Contains(a.all, counting) || counted(k, names) && !slices.ContainsFunc(a.fields, other(of))
		if len(lack) > 0 || len(names) == 0 || counts != counted(k, names) || slices.Contains(a.all, averaging) {
			continue
		}
		p := a.part(kind, names, left)
		p.Query.Where, p.keys = []api.Condition{t.keyed(k.Name, []string{rows[0].Key}, "")}, []string{rows[0].Key}
		p.Query.Limit = api.DefaultQueryLimit
		return &p
	}
	return nil
}

// bothWays reports whether the question is of what went up and of what went down.
func (a *asking) bothWays() bool {
	is := func(r role) bool { return slices.ContainsFunc(a.fields, func(p piece) bool { return p.role == r }) }
	return is(rising) && is(falling)
}

// grouped is a text of rows of a kind of which the question asks the most or the least, as if it had figures of its own: which currency
// fell most. It is "" where there is none.
func (a *asking) grouped(k Kind) string {
	for _, p := range a.fields {
		list := having(k.Fields, func(f Field) bool { return f.means(p.text) })
		text := func(f Field) bool {
			return !a.t.isNumber(k.Name, f.Name) && !strings.HasSuffix(f.Name, "At") && !strings.HasSuffix(f.Name, "date")
		}
		asks := slices.Contains([]string{"which", "what", "every", "each"}, a.ahead(p.from)) || p.text != singular(p.text)
		if len(list) > 0 && len(having(list, text)) == len(list) && asks && p.text != "pays" {
			return p.text
		}
	}
	return ""
}

// leaves reports whether the question leaves out things.
func (a *asking) leaves() bool { return len(a.others)+len(a.without)+a.beyond > 0 }

// leftOut are the conditions of what the question leaves out of a kind.
func (a *asking) leftOut(kind int) (list []api.Condition, lack lacks) {
	t := a.t
	k := t.kinds[kind]
	out := func(row int) {
		list = append(list, api.Condition{Field: "key", Op: api.CompareUnequal, Value: t.rows[row].Key})
	}
	for _, row := range t.within(a.others, kind) {
		out(row)
	}
	if len(list) == 0 && len(a.others) > 0 {
		return nil, lacks{{Word: "not", Why: api.MissingAmbiguous}}
	}
	if a.beyond > 0 {
		if k.field("rank") == nil {
			return nil, lacks{{Word: "top " + strconv.Itoa(a.beyond), Why: api.MissingNoSuchField}}
		}
		list = append(list, api.Condition{Field: "rank", Op: api.CompareMore, Value: strconv.Itoa(a.beyond)})
	}
	for _, w := range a.without {
		left := t.of(t.kinds[w.kind].Name)
		if w.kind == kind || len(left) > maxLeftOut {
			return nil, lacks{{Word: "not " + w.text, Why: api.MissingNoSuchField}}
		}
		for i := range t.rows {
			if t.kindOf[i] == kind && slices.ContainsFunc(left, func(r Row) bool { return r.Entity == t.rows[i].Entity }) {
				out(i)
			}
		}
	}
	return list, nil
}

// listed reports whether a question is about what is listed here, and not about all that there is.
func (a *asking) listed() bool {
	said := strings.Join(texts(a.words), " ")
	scopes := []string{"your list", "the list", "you list", "you track", "you cover", "you follow", "you know", "you watch"}
	return slices.ContainsFunc(scopes, func(phrase string) bool { return strings.Contains(said, phrase) })
}

// moving reports whether p says that a figure moves, and nothing of which.
func moving(p piece) bool {
	return p.role == rising || p.role == falling || slices.Contains([]string{"change", "changed", "move", "moved", "moving"}, p.text)
}

// askAggregate asks for one figure of the rows of a kind, nil where that says nothing: how many there are of what is fetched is no
// answer to how many there are.
func (a *asking) askAggregate() *Part {
	biggest := len(a.sorted) == 1 && a.first > 0 && (a.sorted[0] == top || a.sorted[0] == most && a.sized) // the average of the top 10
	if len(a.all) != 1 || a.opposed() || len(a.sorted)+a.first > 0 && !biggest || a.order != nil || a.rank > 0 || a.loose > 0 {
		return nil
	}
	if against := slices.ContainsFunc(a.words, func(w term) bool {
		return slices.Contains([]string{"vs", "versus", "v", "against", "compared"}, w.text)
	}); against && len(a.values) > 1 { // each has one of its own
		a.miss(a.values[1].text, api.MissingAmbiguous)
		return nil
	}
	if slices.ContainsFunc(a.kinds, func(kind int) bool { return kind != a.kinds[0] }) { // of rows of several kinds there is none
		return nil
	}
	for kind, k := range a.t.kinds {
		if !a.candidate(kind) || len(a.kinds)+len(a.values) == 0 || len(a.t.of(k.Name)) == 1 { // over its past, which nobody knows
			continue
		}
		where, ok := a.filtered(kind)
		names, left, lack := a.fieldsOf(kind)
		if !ok || len(lack) > 0 {
			continue
		}
		out, lack := a.leftOut(kind)
		if len(lack) > 0 {
			continue
		}
		p := a.part(kind, nil, left)
		p.Query.Where, p.Asked = append(where, out...), nil
		if p.over {
			continue
		}
		if biggest {
			by, other := a.sizedBy(k)
			largest, known := a.largest(kind, p.Query.Where)
			if a.all[0] == counting && len(names) == 0 || other != "" || !known {
				continue
			}
			names = slices.DeleteFunc(names, func(n string) bool { return by && n == k.Size }) // the volume of the top 10 by market cap
			p.Query.Where = largest
		}
		field := a.sorting(k, names)
		bounds, moved, lacking := a.bounded(k, names)
		if lacking != nil {
			continue
		}
		p.Query.Where = append(p.Query.Where, bounds...)
		lost := func(p piece) bool { return p.role == falling && !a.falls(k, field, p) } // in a hack
		if op := a.direction(); op != "" && field != "" && !moved && !slices.ContainsFunc(a.fields, lost) {
			p.Query.Where = append(p.Query.Where, a.moving(k, field, names, op == a.way(true))...)
		}
		scoped := len(p.Query.Where) > 0
		if total := a.t.Row(k.Name, "total"); total != nil {
			sum := a.all[0] == summing && total.Fields.Get(field) != nil
			if sum && !scoped && left == nil {
				p = a.part(kind, []string{field}, nil)
				p.Query.Where, p.keys = []api.Condition{a.t.keyed(k.Name, []string{"total"}, "")}, []string{"total"}
				return &p
			}
			p.Query.Where = append(p.Query.Where, api.Condition{Field: "key", Op: api.CompareUnequal, Value: "total"})
		}
		switch {
		case a.all[0] == counting && (scoped || p.since != "" || a.listed()):
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

// largest are conditions that so many rows meet as the question says, of those that meet where the largest: by their rank, or else each.
func (a *asking) largest(kind int, where []api.Condition) (list []api.Condition, ok bool) {
	k := a.t.kinds[kind]
	if k.field("rank") != nil {
		return append(where, api.Condition{Field: "rank", Op: api.CompareAtMost, Value: strconv.Itoa(a.first)}), true
	}
	var keys []string
	of := a.t.table(k.Name)
	var tests []test
	for _, c := range where {
		if t, err := of.compile(c); err == nil {
			tests = append(tests, t)
		}
	}
	for _, r := range a.t.of(k.Name) {
		if len(keys) < a.first && r.Key != "total" && meets(&r, tests) {
			keys = append(keys, r.Key)
		}
	}
	if !strings.HasSuffix(k.Size, "Usd") || len(keys) < a.first || a.first > maxKeys {
		return nil, false
	}
	return []api.Condition{a.t.keyed(k.Name, keys, "")}, true
}

// sizedBy says whether the question wants a place or a choice by the size of rows, and by what else it wants it, "" for nothing else.
func (a *asking) sizedBy(k Kind) (size bool, other string) {
	f := k.field(k.Size)
	for _, p := range a.fields {
		if a.ahead(p.from) != "by" {
			continue
		}
		if f == nil || !f.means(p.text) {
			return false, p.text
		}
		size = true
	}
	return size, ""
}

// byOther reports whether a place is by a figure that is neither the size of rows nor their rank: fifth by volume.
func (a *asking) byOther(k Kind) bool {
	return slices.ContainsFunc(a.fields, func(p piece) bool {
		of := having(k.Fields, func(f Field) bool { return f.means(p.text) && f.Name != k.Size && f.Name != "rank" })
		by := a.ahead(p.from) == "by" || p.from > 1 && a.words[p.from-2].text == "by" // weekly volume
		return by && len(of) > 0
	})
}

// direction is how figures that move as the question says compare with none, "" where it does not say.
func (a *asking) direction() api.Comparison {
	var op api.Comparison
	for _, p := range a.fields {
		switch {
		case p.role == falling || p.text == "negative" || strings.HasPrefix(p.text, "below"):
			op = a.way(true)
		case p.role == rising || p.text == "positive" || strings.HasPrefix(p.text, "above"):
			op = a.way(false)
		}
	}
	return op
}

// way is how figures that went down, or up, compare with none.
func (a *asking) way(down bool) api.Comparison {
	switch {
	case down && a.even:
		return api.CompareAtMost
	case down:
		return api.CompareLess
	case a.even:
		return api.CompareAtLeast
	}
	return api.CompareMore
}

// moving are the conditions that a figure went down, or up: over each of two times that stand beside each other, too.
func (a *asking) moving(k Kind, field string, names []string, down bool) []api.Condition {
	list := []api.Condition{{Field: field, Op: a.way(down), Value: "0"}}
	for _, name := range names {
		if name != field && a.abreast && changes(*k.field(field)) && changes(*k.field(name)) {
			list = append(list, api.Condition{Field: name, Op: a.way(down), Value: "0"})
		}
	}
	return list
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
	off := func(p piece) bool { return lostPeg(p.text) }
	if len(a.fields) > 0 && !slices.ContainsFunc(a.fields, func(p piece) bool { return !off(p) }) && !k.Own &&
		len(a.kinds) == 1 && len(a.sorted)+len(a.times)+len(a.values)+len(a.others)+len(a.refused)+len(a.bounds) == 0 && a.rank == 0 {
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
	if by := a.grouped(k); by != "" && (len(a.sorted)+len(a.bounds)+len(a.all) > 0 || a.order != nil || a.direction() != "") {
		return nil, lacks{{Word: by, Why: api.MissingNoSuchField}}
	}
	of := a.before(kind)
	if slices.ContainsFunc(k.Fields, comes) && oneOf(of, "|last|latest|previous|past|recent|") { // what is known of is what comes
		return nil, lacks{{Word: of, Why: api.MissingNoSuchMoment}}
	}
	dated := clockOf(k) != "" || len(having(k.Fields, func(f Field) bool { return f.means("new") })) > 0
	if !dated && slices.Contains([]string{"new", "newest", "latest", "recent"}, of) || // which coin is the newest, no row says
		slices.Contains([]string{"percent", "percentage", "pct", "proportion", "fraction"}, of) {
		return nil, lacks{{Word: of, Why: api.MissingNoSuchField}}
	}
	all := make([]int, 0, len(t.rows))
	for i := range t.rows {
		if t.rows[i].Kind == k.Name {
			all = append(all, i)
		}
	}
	if lack := a.unmet(kind, all); len(lack) > 0 && len(all) > 0 {
		return nil, lack
	}
	asked := len(names) > 0 && len(all) > 0 && len(a.fields) > 0
	if names = t.had(all, names); asked && len(names) == 0 {
		return nil, lacks{a.noField(a.fields[0], k)}
	}
	if len(names) == 0 && len(a.bounds) == 0 {
		names = t.had(all, a.implied(kind, ""))
	}
	p := a.part(kind, names, left)
	out, lack := a.leftOut(kind)
	if len(lack) > 0 {
		return nil, lack
	}
	p.Query.Where = append(where, out...)
	if p.over {
		return nil, lacks{{Word: left.text, Why: api.MissingNoSuchSpan, Instead: a.insteadOf(*left, k)}}
	}
	bounds, moved, lack := a.bounded(k, names)
	if len(lack) > 0 {
		return nil, lack
	}
	p.Query.Where = append(p.Query.Where, bounds...)
	for _, c := range bounds {
		p.show(c.Field)
	}
	if bare := a.order == nil && len(a.sorted) == 0; bare && (a.rank > 1 && k.field("rank") == nil && a.sorting(k, names) != "" ||
		a.rank > 0 && k.field("rank") != nil && a.byOther(k)) {
		a.sorted = append(a.sorted, most) // the second by upvotes
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
	before := len(p.Query.Where)
	ends, one := a.ends()
	up := slices.ContainsFunc(a.fields, func(p piece) bool { return p.role == rising })
	down := slices.ContainsFunc(a.fields, func(p piece) bool { return p.role == falling && a.falls(k, a.sorting(k, names), p) })
	if up && down && (a.ways(k) == nil || len(a.sorted) > 0) || a.order != nil && (up && a.order.Least || down && !a.order.Least) &&
		a.directs(k) {
		one = false
	}
	if !one {
		return nil, lacks{{Word: strings.Join(texts(a.words), " "), Why: api.MissingAmbiguous}}
	}
	if lacking := a.sort(&p, k, names, moved); lacking != nil {
		return nil, lacking
	}
	if a.first > maxFirst && !a.capped {
		return nil, lacks{{Word: strconv.Itoa(a.first), Why: api.MissingUnknownWord,
			Instead: []string{"query with table=" + k.Name + " and limit=" + strconv.Itoa(min(a.first, api.MaxQueryRows))}}}
	}
	if moves := slices.ContainsFunc(p.Query.Where[before:], func(c api.Condition) bool { return c.Field == a.sorting(k, names) }); moves ||
		len(bounds) > 0 {
		p.Query.Agg = []string{aggCount} // more than are shown may be so
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
	if ends && p.Query.Order == "" {
		return nil, lacks{{Word: strings.Join(texts(a.words), " "), Why: api.MissingAmbiguous}}
	}
	if ends || a.order != nil && a.order.Both || a.eitherWay(k, p.Query.Order) {
		return a.eachEnd(p), nil
	}
	return []Part{p}, nil
}

// directs reports whether the order that is asked for has a way that figures went: gainers.
func (a *asking) directs(k Kind) bool {
	f := k.field(a.order.Field)
	return f != nil && changes(*f)
}

// eitherWay reports whether the most of a change is asked for, and not which way it went: what moved most.
func (a *asking) eitherWay(k Kind, order string) bool {
	f := k.field(strings.TrimPrefix(order, "-"))
	directed := func(p piece) bool { return p.role == rising || p.role == falling }
	return f != nil && a.order == nil && changes(*f) && slices.Contains(a.sorted, most) && a.direction() == "" &&
		slices.ContainsFunc(a.fields, moves) && !slices.ContainsFunc(a.fields, directed)
}

// maxLeftOut is how many rows of a kind have to be left out at most where its things are.
const maxLeftOut = 60

// before is the word before that of a kind, "" for none: newest coins, a percentage of the coins.
func (a *asking) before(kind int) string {
	for _, p := range a.kindly {
		at := p.from - 1
		for p.kind == kind && at > 0 && slices.Contains([]string{"of", "the", "all"}, a.words[at].text) {
			at--
		}
		if p.kind == kind && at >= 0 {
			return a.words[at].text
		}
	}
	return ""
}

// falls reports whether p says that a figure of a kind goes down: what was lost in a hack is a figure of its own.
func (a *asking) falls(k Kind, field string, p piece) bool {
	if f := k.field(field); f != nil && !signed(*f) && f.means(p.text) {
		return false
	}
	return p.role == falling || strings.HasPrefix(p.text, "below")
}

// bounded are the conditions of comparisons with figures. Where one is of how a figure moves, so that it has the way too, moved is set.
func (a *asking) bounded(k Kind, names []string) (list []api.Condition, moved bool, lack lacks) {
	ways := a.ways(k)
	for i, b := range a.bounds {
		f := k.field(a.boundedField(k, names, b))
		if len(a.bounds) > 1 && len(a.times) > 1 && ways == nil { // more than 5% in a day and 10% in a week
			var of []Field
			if len(a.times) == len(a.bounds) {
				of = having(k.Fields, func(f Field) bool { return changes(f) && spanned(f, a.times[i].when) })
			}
			if len(of) != 1 {
				return nil, false, lacks{{Word: a.times[1].text, Why: api.MissingAmbiguous}}
			}
			f = &of[0]
		}
		const noPercentage = 1e5
		if pct := f != nil && strings.HasSuffix(f.Name, "Pct"); f == nil || b.percent && !pct || pct && b.value >= noPercentage {
			return nil, false, lacks{{Word: b.text, Why: api.MissingNoSuchField}}
		}
		value, op := b.value, b.op
		if field := ways[b.by.from]; field != "" && (b.by.role == rising || b.by.role == falling) {
			f = k.field(field)
		}
		off, below := false, false
		for _, p := range a.fields {
			of := p.role == ofField && strings.Contains(f.Name, "Deviation") && f.means(p.text)
			below = below || of && strings.HasPrefix(p.text, "below")
			off = off || of && (strings.HasPrefix(p.text, "off") || strings.HasPrefix(p.text, "from"))
		}
		if off && !below { // on which side is not said
			return nil, false, lacks{{Word: b.text, Why: api.MissingAmbiguous}}
		}
		if changes(*f) || below {
			moved = true
			fell := below || b.by.role == falling || b.by.role != rising && a.fell()
			if fell && (value > 0 || op == api.CompareMore || op == api.CompareAtLeast) { // fell more than 5%, or more than -5%
				value = -math.Abs(value)
				op = map[api.Comparison]api.Comparison{api.CompareMore: api.CompareLess, api.CompareLess: api.CompareMore,
					api.CompareAtLeast: api.CompareAtMost, api.CompareAtMost: api.CompareAtLeast}[op]
			}
		}
		list = append(list, api.Condition{Field: f.Name, Op: op, Value: strconv.FormatFloat(value, 'f', -1, 64)})
	}
	if apart(list) {
		return nil, false, lacks{{Word: a.bounds[len(a.bounds)-1].text, Why: api.MissingAmbiguous}}
	}
	for _, p := range a.fields {
		bounded := func(b bound) bool { return b.by.from == p.from && b.by.role == p.role }
		if ways[p.from] == "" || slices.ContainsFunc(a.bounds, bounded) {
			continue
		}
		op := api.CompareMore
		if p.role == falling {
			op = api.CompareLess
		}
		list, moved = append(list, api.Condition{Field: ways[p.from], Op: op, Value: "0"}), true
	}
	return list, moved, nil
}

// apart reports whether no figure meets all of some conditions, so that those of one or of the other are meant: below 1 or above 100.
func apart(list []api.Condition) bool {
	most, least := make(map[string]float64), make(map[string]float64)
	for _, c := range list {
		x, _ := strconv.ParseFloat(c.Value, 64)
		if c.Op == api.CompareLess || c.Op == api.CompareAtMost {
			most[c.Field] = x
		} else {
			least[c.Field] = x
		}
	}
	for field, x := range most {
		if y, both := least[field]; both && y > x {
			return true
		}
	}
	return false
}

// ways are the changes that the words for a way that figures went are of, by where these stand, each with a span of its own: up today but
// down on the week.
func (a *asking) ways(k Kind) map[int]string {
	directed := func(p piece) bool { return p.role == rising || p.role == falling }
	var dirs []piece
	for _, p := range a.fields {
		if directed(p) {
			dirs = append(dirs, p)
		}
	}
	if len(dirs) < 2 || len(dirs) != len(a.times) {
		return nil
	}
	list := make(map[int]string)
	for i, p := range dirs {
		of := having(k.Fields, func(f Field) bool { return changes(f) && spanned(f, a.times[i].when) })
		apart := a.times[i].from < p.from != (a.times[0].from < dirs[0].from) // one before its word, and one behind
		if len(of) != 1 || apart || slices.ContainsFunc(dirs[:i], func(d piece) bool { return list[d.from] == of[0].Name }) {
			return nil
		}
		list[p.from] = of[0].Name
	}
	return list
}

// fell reports whether the question asks for what went down.
func (a *asking) fell() bool {
	return slices.ContainsFunc(a.fields, func(p piece) bool { return p.role == falling })
}

// boundedField is the field that b compares: the one beside it, or by its unit how a figure moved, a size or a price, or else the one that
// is named.
func (a *asking) boundedField(k Kind, names []string, b bound) string {
	of := func(pass func(Field) bool) []string {
		var list []string
		for _, f := range having(k.Fields, func(f Field) bool { return a.t.isNumber(k.Name, f.Name) && pass(f) }) {
			list = append(list, f.Name)
		}
		return list
	}
	moves := func(name string) bool { return changes(*k.field(name)) }
	inDollars := func(f Field) bool { return f.means(b.by.text) && strings.HasSuffix(f.Name, "Usd") }
	if b.money && b.by.role == ofField && len(of(inDollars)) == 0 { // the biggest context under 1 dollar
		b.by = piece{role: ofField, text: "price"}
	}
	if b.by.role == ofField {
		named := func(f Field) bool { return f.means(b.by.text) }
		if list := of(named); len(list) > 1 { // the output price
			most := meant(k, list, b.beside)
			named = func(f Field) bool { return slices.Contains(most, f.Name) }
		}
		if list := of(func(f Field) bool { return named(f) && strings.HasSuffix(f.Name, "Pct") == b.percent }); len(list) > 0 {
			return a.sorting(k, a.narrowest(k, list, names))
		}
		if list := of(named); len(list) > 0 && !b.percent { // funding below 0
			return a.sorting(k, list)
		}
	}
	if b.by.role == unknown { // the field that stands beside another figure is compared with that
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool {
			return slices.ContainsFunc(a.bounds, func(o bound) bool { return o.by.role == ofField && k.field(n).means(o.by.text) })
		})
	}
	const sizable = 1e6
	switch price := of(func(f Field) bool { return slices.Contains(f.Words, "price") }); {
	case b.percent:
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasSuffix(n, "Pct") })
		names = a.narrowest(k, names, nil)
	case b.by.role == rising || b.by.role == falling:
	case b.value >= sizable && strings.HasSuffix(k.Size, "Usd") && !slices.ContainsFunc(names, func(n string) bool { return !moves(n) }):
		return k.Size
	default:
		names = append(slices.DeleteFunc(slices.Clone(names), moves), price...)
	}
	return cmp.Or(a.sorting(k, names), cmp.Or(of(func(Field) bool { return true })...))
}

// narrowest are those of the fields by some names that are asked for too, and that each word and time of the question names that names one
// of them: the change of 7 days, the annual funding.
func (a *asking) narrowest(k Kind, list, names []string) []string {
	tests := []func(n string) bool{func(n string) bool { return slices.Contains(names, n) }}
	for _, p := range a.fields {
		tests = append(tests, func(n string) bool { return p.role == ofField && k.field(n).means(p.text) })
	}
	for _, p := range a.times {
		tests = append(tests, func(n string) bool { return spanned(*k.field(n), p.when) })
	}
	for _, is := range tests {
		if both := slices.DeleteFunc(slices.Clone(list), other(is)); len(both) > 0 {
			list = both
		}
	}
	return list
}

// meant are those of the fields by some names that most of some words are of.
func meant(k Kind, names []string, words []piece) (list []string) {
	most := 0
	for _, name := range names {
		of := 0
		for _, p := range words {
			if k.field(name).means(p.text) {
				of++
			}
		}
		if of > most {
			list, most = nil, of
		}
		if of == most {
			list = append(list, name)
		}
	}
	return list
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

// overSpan is field or, where it is how a figure moved and the order has a time of its own, that over the same: the loser of the week.
func (a *asking) overSpan(k Kind, field string) string {
	if f := k.field(field); f == nil || !changes(*f) || a.span.role != timing || len(a.times) < 2 {
		return field
	}
	for _, f := range having(k.Fields, func(f Field) bool { return changes(f) && spanned(f, a.span.when) }) {
		return f.Name
	}
	return field
}

// directed reports whether the question says which way a figure went.
func (a *asking) directed() bool {
	return slices.ContainsFunc(a.fields, func(p piece) bool {
		return p.role == rising || p.role == falling || p.text == "change" || p.text == "moved"
	})
}

// eachEnd are a query for what rose most and one for what fell most.
func (a *asking) eachEnd(p Part) []Part {
	other := p
	p.Query.Order = "-" + strings.TrimPrefix(p.Query.Order, "-")
	other.Query.Order = strings.TrimPrefix(p.Query.Order, "-")
	return []Part{p, other}
}

// show has a field shown too, where not all are.
func (p *Part) show(field string) {
	if len(p.Asked) > 0 && !slices.Contains(p.Asked, field) {
		p.Asked = append(slices.Clone(p.Asked), field)
		p.Query.Fields = p.Asked
	}
}

// leaveTotal leaves out the row that sums up a kind, where it has one: it stands in no order.
func (p *Part) leaveTotal(t *Tables, k Kind) {
	if t.Row(k.Name, "total") != nil {
		p.Query.Where = append(p.Query.Where, api.Condition{Field: "key", Op: api.CompareUnequal, Value: "total"})
	}
}

// sort gives the query of p its order, and says what of it cannot be given. Moved says that a condition has the way that figures went.
func (a *asking) sort(p *Part, k Kind, names []string, moved bool) lacks {
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
		p.leaveTotal(a.t, k)
	}
	field := a.sorting(k, names)
	for _, p := range a.fields {
		only := len(a.sorted) == 1 && a.sorted[0] == top && a.direction() == ""
		if only && a.by.role != ofField && p.role == ofField && a.ahead(p.from) == "by" { // the top 10 by market cap and their volume
			a.by = p
		}
	}
	beside := func(name string) bool { return !k.field(name).means(a.by.text) }
	if by := slices.DeleteFunc(slices.Clone(names), beside); a.by.role == ofField && len(by) > 0 {
		field = a.sorting(k, by)
	}
	field = a.overSpan(k, field)
	if recently := strings.Contains(strings.Join(texts(a.words), " "), "most recently"); recently && len(a.sorted) == 1 {
		if clockOf(k) != "" { // what came last comes first
			return nil
		}
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, "At") }) {
			return lacks{{Word: "recently", Why: api.MissingNoSuchField}}
		}
	}
	if a.sizeOf && len(a.sorted) == 1 && a.order == nil {
		size := a.t.size(k)
		if !strings.HasSuffix(size, "Usd") { // the biggest perp at a venue
			return lacks{{Word: "largest", Why: api.MissingAmbiguous}}
		}
		if a.sorted[0] == least {
			p.Query.Order = size
		} else if size != k.Size {
			p.Query.Order = "-" + size
		}
		p.leaveTotal(a.t, k)
		return nil
	}
	if o := a.order; o != nil {
		if a.sized && !a.among(p, k) { // the best of the biggest coins has two orders, and says not how many are the biggest
			return lacks{{Word: strings.Join(texts(a.words), " "), Why: api.MissingAmbiguous}}
		}
		if slices.Contains(a.sorted, least) && !o.Least { // and the lowest
			return lacks{{Word: strings.Join(texts(a.words), " "), Why: api.MissingAmbiguous}}
		}
		by := o.Field
		if field != "" && k.field(by) != nil && changes(*k.field(by)) {
			switch {
			case changes(*k.field(field)):
				by = field // over the span that is named
			case !a.orderOf:
				return lacks{{Word: strings.Join(texts(a.words), " "), Why: api.MissingAmbiguous}}
			}
		}
		if f := k.field(by); f != nil && !changes(*f) {
			if slices.Contains(f.Words, "price") { // the cheapest by output
				by = a.nearest(having(k.Fields, func(f Field) bool { return slices.Contains(f.Words, "price") }), by)
			}
			if lacking := a.otherwise(*k.field(by)); lacking != nil {
				return lacking
			}
		}
		if !a.orderOf && len(a.times) < 2 {
			p.Asked = nil
		}
		ordered(by, o.Least)
		return nil
	}
	if a.moved(names, k) { // the ten biggest coins, and how they moved
		largest, known := a.largest(a.t.place[k.Name], p.Query.Where)
		if !known {
			return lacks{{Word: "top " + strconv.Itoa(a.first), Why: api.MissingNoSuchField}}
		}
		p.Query.Where = largest
		return nil
	}
	way, size, judged := role(0), 0, a.inTop && a.judges()
	for _, s := range a.sorted {
		switch {
		case s == top:
			size++
		case s == most && a.sized && size == 0 && a.first > 0 && len(a.sorted) == 2 && k.field("rank") != nil: // of the ten biggest
			size++
		case s == most && a.sized && size == 0 && a.first > 1 && len(a.sorted) == 1 && a.judges():
			if !a.ofMost && len(a.bounds) == 0 { // the ten biggest that fell, or what of the ten biggest fell
				return lacks{{Word: strings.Join(texts(a.words), " "), Why: api.MissingAmbiguous}}
			} else if !a.ofMost {
				way = s
				continue
			}
			size++
			judged = true
		case way != 0: // the biggest coins that rose most stand in two orders
			return lacks{{Word: strings.Join(texts(a.words), " "), Why: api.MissingAmbiguous}}
		default:
			way = s
		}
	}
	// the cheapest of the top 20, and the smallest
	other := way == expensive || way == cheap || way == least ||
		field != "" && field != k.Size && (a.inTop || k.field("rank") != nil) // highest annual funding, top 3 coins
	if judged && way == 0 && size > 0 && a.first > 0 && field != "" && k.field("rank") == nil {
		largest, known := a.largest(a.t.place[k.Name], p.Query.Where)
		if !known {
			return lacks{{Word: "top " + strconv.Itoa(a.first), Why: api.MissingNoSuchField}}
		}
		a.capped, p.Query.Where = true, largest
	} else if size > 0 && a.first > 0 && (way != 0 && other || way == 0 && judged ||
		way == 0 && a.inTop && field != "" && k.field("rank") != nil) {
		if k.field("rank") == nil || way != 0 && a.byOther(k) { // the dearest of the top 10 by volume
			return lacks{{Word: "top " + strconv.Itoa(a.first), Why: api.MissingNoSuchField}}
		}
		a.capped = true
		p.Query.Where = append(p.Query.Where, api.Condition{Field: "rank", Op: api.CompareAtMost, Value: strconv.Itoa(a.first)})
		if way != 0 && (len(a.kinds) == 0 || a.singular) {
			p.Query.Limit = 1
		}
	}
	earliest := func(w term) bool { return w.text == "first" || w.text == "soonest" || w.text == "earliest" }
	if len(names) == 1 && way == 0 && a.first == 0 && comes(*k.field(names[0])) && slices.ContainsFunc(a.words, earliest) { // ends first
		ordered(names[0], true)
		return nil
	}
	if due := a.due(k); due != "" && way == 0 && size == 0 && len(a.fields) < 2 {
		ordered(due, true)
		return nil
	}
	fell, rose := false, false
	for _, f := range a.fields {
		fell = fell || a.falls(k, field, f)
		rose = rose || f.role == rising || strings.HasPrefix(f.text, "above")
	}
	sizeless := []string{"strongest", "weakest", "negative", "positive"}
	for _, w := range a.words {
		if field == "" && slices.Contains(sizeless, w.text) && strings.HasSuffix(k.Size, "Usd") { // which is no size
			return lacks{{Word: w.text, Why: api.MissingAmbiguous}}
		}
		small := slices.Contains([]string{"smallest", "least", "tiniest", "biggest", "largest", "greatest"}, w.text)
		if f := k.field(field); small && (way == least || a.paired) && f != nil && changes(*f) && a.direction() == "" && fell == rose {
			return lacks{{Word: w.text, Why: api.MissingAmbiguous}} // the smallest change is no loss
		}
	}
	large := a.t.size(k)
	if a.ofThose && len(a.sorted) == 1 && way != 0 && field != "" && changes(*k.field(field)) && strings.HasSuffix(large, "Usd") {
		if !moved && fell != rose {
			p.Query.Where = append(p.Query.Where, a.moving(k, field, names, fell)...)
			p.show(field)
		}
		ordered(large, way == least)
		return nil
	}
	if field != "" && way != 0 && len(a.times) == 0 && a.t.few(k, field) { // most rows have a change of another span
		return lacks{{Word: field, Why: api.MissingAmbiguous}}
	}
	switch {
	case way == expensive || way == cheap:
		price := having(k.Fields, func(f Field) bool { return slices.Contains(f.Words, "price") })
		if len(price) == 0 {
			return lacks{{Word: "price", Why: api.MissingNoSuchField}}
		}
		by := a.nearest(price, price[0].Name)
		if lacking := a.otherwise(*k.field(by)); lacking != nil {
			return lacking
		}
		ordered(by, way == cheap)
	case field != "" && (way != 0 || size > 0):
		lowest := way == least
		if changes(*k.field(field)) && fell != rose {
			lowest = fell
		}
		if field == "rank" { // the highest rank is the first
			lowest = !lowest
		}
		if judged && way == 0 && fell != rose && !moved && signed(*k.field(field)) {
			p.Query.Where = append(p.Query.Where, a.moving(k, field, names, fell)...)
		}
		if strings.Contains(field, "Deviation") && way == most {
			lowest = a.t.lowerEnd(k.Name, field)
			p.Query.Limit = 1
		}
		ordered(field, lowest)
	case field != "" && fell != rose && !moved && !k.field(field).Counts &&
		(signed(*k.field(field)) || a.direction() != ""): // coins that are up
		ordered(field, fell)
		p.Query.Where = append(p.Query.Where, a.moving(k, field, names, fell)...)
	case way == least && clockOf(k) != "" && a.t.firstNumber(k) != "":
		ordered(a.t.firstNumber(k), true)
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
		if field = a.t.firstNumber(k); field == "" || slices.Contains(k.field(field).Words, "price") { // a price is no size
			return lacks{{Word: "largest", Why: api.MissingAmbiguous}}
		}
		ordered(field, false)
	}
	return nil
}

// judges reports whether the question asks of rows which way a figure of theirs went, and for no order by that.
func (a *asking) judges() bool {
	directed := func(p piece) bool { return p.role == rising || p.role == falling }
	return slices.ContainsFunc(a.fields, directed) &&
		!slices.ContainsFunc(a.fields, func(p piece) bool { return a.ahead(p.from) == "by" })
}

// moved reports whether the question asks how so many of the largest moved, and for no order by that.
func (a *asking) moved(names []string, k Kind) bool {
	level := func(name string) bool { return !changes(*k.field(name)) }
	still := func(p piece) bool { return !moves(p) || p.role != ofField || a.ahead(p.from) == "by" }
	return a.order == nil && len(a.sorted) == 1 && a.sorted[0] == most && a.sized && a.plural && a.first > 1 && len(a.bounds) == 0 &&
		len(a.fields) > 0 && !slices.ContainsFunc(a.fields, still) && !slices.ContainsFunc(names, level)
}

// otherwise says that the question wants an order by another field than f, whose words it has too.
func (a *asking) otherwise(f Field) lacks {
	for _, p := range a.fields {
		if a.ahead(p.from) == "by" && !f.means(p.text) {
			return lacks{{Word: "by " + p.text, Why: api.MissingAmbiguous}}
		}
	}
	return nil
}

// nearest is the one of fields that most words of the question ask for, or else usual: the priciest per output token.
func (a *asking) nearest(fields []Field, usual string) string {
	name, most := usual, 0
	for _, f := range fields {
		asked := 0
		for _, p := range a.fields {
			if f.means(p.text) {
				asked++
			}
		}
		if asked > most || asked == most && f.Name == usual {
			name, most = f.Name, asked
		}
	}
	return name
}

// due is the field by which what comes next comes first, "" where the question does not ask for that or the kind has none.
func (a *asking) due(k Kind) string {
	next := func(w term) bool { return slices.Contains([]string{"next", "upcoming", "soonest", "earliest"}, w.text) }
	if !slices.ContainsFunc(a.words, next) {
		return ""
	}
	for _, f := range k.Fields {
		ahead := func(w string) bool { return w == "next" || w == "upcoming" || w == "due" }
		if strings.HasSuffix(f.Name, "At") && slices.ContainsFunc(f.Words, ahead) {
			return f.Name
		}
	}
	return ""
}

// few reports whether a change is known of less than half of the rows of a kind.
func (t *Tables) few(k Kind, field string) bool {
	rows := t.of(k.Name)
	known := 0
	for _, r := range rows {
		if r.Fields.Get(field) != nil {
			known++
		}
	}
	return changes(*k.field(field)) && 2*known < len(rows)
}

// among leaves the biggest of a kind in the query of p, where the question says how many these are: the best of the top 20. It is not ok
// where rows of the kind have no rank.
func (a *asking) among(p *Part, k Kind) bool {
	other := func(r role) bool { return r != top && r != most }
	if a.first == 0 || a.capped || k.field("rank") == nil || slices.ContainsFunc(a.sorted, other) {
		return false
	}
	a.capped = true
	p.Query.Where = append(p.Query.Where, api.Condition{Field: "rank", Op: api.CompareAtMost, Value: strconv.Itoa(a.first)})
	if a.singular || !a.plural {
		p.Query.Limit = 1
	}
	return true
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

// lostPeg reports whether words say that something stands off its peg, which is a flag.
func lostPeg(phrase string) bool {
	first, _, _ := strings.Cut(phrase, " ")
	return strings.HasPrefix(phrase, "depeg") || phrase != first && oneOf(first, "|off|lost|loses|losing|")
}
