package state

import (
	"cmp"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Asked is a query and what it is asked of.
type Asked struct {
	Query   api.RowQuery // as Complete has made it
	Tables  *Tables      // of now
	Shown   []Shown
	Names   map[string]string // of the sources, by their ids
	State   Pulse             // the newest, or the one as of the moment of the query
	Gone    func(r *Row) bool // a row of now is too old to be told; nil means that none is
	Past    bool              // the query has a moment: its rows are those that State shows, and no others
	Before  *Pulse            // the one at the beginning of the span of the query; nil where it has none
	Through Pulses            // those of the span, oldest first; nil where no aggregate is of them: see Spans
}

// Pulses are states that are read one after the other.
type Pulses = iter.Seq2[Pulse, error]

// Queried is the answer to a query.
type Queried struct {
	Rows       []QueriedRow // at most the limit of the query
	Total      int          // rows that meet its conditions
	Aggregates map[string]api.Aggregate
	Missing    []api.Missing
}

// QueriedRow is a row with what became of its numbers over the span of the query, by field.
type QueriedRow struct {
	*Row
	Among int // the place of what it is of among those that were asked
	Over  map[string]api.Move
}

// maxMissing is how many rows are named that are not in an answer.
const maxMissing = 10

// Spans reports whether an aggregate of q is of all states of its span: the least or most that a field was.
func Spans(q api.RowQuery) bool {
	return q.Over != "" && slices.ContainsFunc(q.Agg, func(agg string) bool { return strings.HasPrefix(agg, "m") })
}

// Query answers a query that is asked of several, which differ in the names of a pack alone. It fails only where a state of the span
// cannot be read.
func Query(of ...Asked) (answer Queried, err error) {
	list := make([]*evaluation, len(of))
	var rows []QueriedRow
	for i := range of {
		e := &evaluation{q: of[i].Query, of: of[i], at: of[i].Tables.table(of[i].Query.Table)}
		e.of.State.Doc = e.of.State.Read() // once
		e.found = e.rows()
		e.over(e.found)
		for j := range e.found {
			e.found[j].Among = i
		}
		rows, list[i] = append(rows, e.found...), e
	}
	first := list[0]
	if first.sort(rows, len(of) > 1); len(first.q.Agg) > 0 {
		answer.Aggregates = make(map[string]api.Aggregate, len(first.q.Agg))
	}
	sums := make([]aggregate, len(first.q.Agg))
	for _, e := range list {
		for i, agg := range e.q.Agg {
			e.aggregate(&sums[i], agg)
		}
		if err := e.through(sums); err != nil {
			return Queried{}, err
		}
	}
	for i, agg := range first.q.Agg {
		answer.Aggregates[agg] = sums[i].Aggregate
	}
	answer.Rows, answer.Total = rows[:min(len(rows), first.q.Limit)], len(rows)
	for _, r := range answer.Rows {
		if e := list[r.Among]; e.of.Before != nil && e.shown() && r.Over == nil && len(e.absent) < maxMissing {
			e.missing(r.Kind + "/" + r.Key)
		}
	}
	for _, e := range list {
		answer.Missing = append(answer.Missing, e.absent...)
	}
	return answer, nil
}

type evaluation struct {
	q      api.RowQuery
	of     Asked
	at     table
	found  []QueriedRow
	absent []api.Missing
}

// missing notes what states do not keep.
func (e *evaluation) missing(what string) {
	if !slices.ContainsFunc(e.absent, func(m api.Missing) bool { return m.What == what }) {
		e.absent = append(e.absent, api.Missing{What: what, Why: api.MissingNotKept})
	}
}

// shown reports whether states show rows of the table.
func (e *evaluation) shown() bool { return e.at.kind == nil || len(shownOf(e.of.Shown, e.at.name)) > 0 }

// shownOf says where the rows of a kind stand.
func shownOf(shown []Shown, kind string) (list []Shown) {
	for _, s := range shown {
		if s.Kind == kind {
			list = append(list, s)
		}
	}
	return list
}

// rows are those that meet the conditions, as they stand.
func (e *evaluation) rows() (rows []QueriedRow) {
	tests, known := e.tests()
	list := e.all()
	if e.of.Past && e.at.kind != nil {
		e.missed(list)
	}
	for i := range list {
		gone := e.of.Gone != nil && !e.of.Past && e.at.kind != nil && e.of.Gone(&list[i])
		if known && !gone && meets(&list[i], tests) {
			rows = append(rows, QueriedRow{Row: &list[i]})
		}
	}
	return rows
}

func meets(r *Row, tests []test) bool {
	return !slices.ContainsFunc(tests, func(t test) bool { return !t.meets(r) })
}

// tests are the conditions. They are not known of a past whose states lack a field that they, the order or an aggregate need.
func (e *evaluation) tests() (tests []test, known bool) {
	known = true
	needs := func(name string, row bool) {
		f, ok := e.at.field(name)
		if !ok || !e.of.Past || e.at.kind == nil || f.identity || !e.shown() || pastField(e.of.Shown, e.at.name, f.Name) {
			return
		}
		known = known && !row
		e.missing(e.at.name + "." + f.Name)
	}
	for _, c := range e.q.Where {
		needs(c.Field, true)
		if t, err := e.at.compile(c); err == nil { // Complete has compiled it
			tests = append(tests, t)
		}
	}
	for _, name := range e.q.Fields {
		needs(name, false)
	}
	if name := strings.TrimPrefix(e.q.Order, "-"); e.q.Order != e.at.order() {
		needs(name, true)
	}
	for _, agg := range e.q.Agg {
		_, name, _ := strings.Cut(agg, ":")
		needs(name, true)
	}
	return tests, known
}

// pastField reports whether states have a field of rows of a kind.
func pastField(shown []Shown, kind, name string) bool {
	return slices.ContainsFunc(shownOf(shown, kind), func(s Shown) bool {
		return s.Time == name || slices.ContainsFunc(s.Fields, func(f ShownField) bool { return f.Name == name })
	})
}

// all are the rows of the table, now or as of the moment of the query.
func (e *evaluation) all() (rows []Row) {
	switch {
	case e.at.name == api.TableFlags:
		rows = flagRows(e.of.State.Read().Flags())
	case e.at.name == api.TableSources:
		rows = sourceRows(e.of.State.Read().Sources(), e.of.Names)
	case e.of.Past:
		rows = e.shownRows(e.of.State.Read())
	default:
		return e.of.Tables.of(e.at.name)
	}
	for i := range rows {
		r := &rows[i]
		if now := e.of.Tables.Row(r.Kind, r.Key); now != nil {
			r.Entity, r.URL = now.Entity, now.URL
		}
		r.Entity = cmp.Or(r.Entity, r.Kind+"/"+r.Key)
		if r.Ref > 0 && r.Ref <= len(e.of.State.Citations) {
			r.URL = cmp.Or(r.URL, e.of.State.Citations[r.Ref-1].URL)
		}
		for _, s := range e.of.State.Read().Sources() {
			if s.Ref == r.Ref && s.FetchedAt != nil {
				r.FetchedAt = s.FetchedAt.UTC()
			}
		}
	}
	return rows
}

// shownRows are the rows of the table that a state shows, each once.
func (e *evaluation) shownRows(doc *Document) []Row {
	seen := map[string]bool{}
	return slices.DeleteFunc(doc.Rows(shownOf(e.of.Shown, e.at.name)), func(r Row) bool {
		again := seen[r.Key]
		seen[r.Key] = true
		return again
	})
}

// missed names rows of now that a past state does not show, though its tables may have had them: those that the query names, or the table.
func (e *evaluation) missed(then []Row) {
	var named []test
	for _, c := range e.q.Where {
		if f, _ := e.at.field(c.Field); f.identity && c.Op != api.CompareUnequal {
			if t, err := e.at.compile(c); err == nil {
				named = append(named, t)
			}
		}
	}
	shown := make(map[string]bool, len(then))
	for _, r := range then {
		shown[r.Key] = true
	}
	n := 0
	for _, r := range e.of.Tables.of(e.at.name) {
		switch {
		case shown[r.Key] || !meets(&r, named):
		case len(named) == 0 || n == maxMissing:
			e.missing(e.at.name)
			return
		default:
			n++
			e.missing(r.Kind + "/" + r.Key)
		}
	}
}

// over notes what became of the numbers of rows since the beginning of the span.
func (e *evaluation) over(rows []QueriedRow) {
	switch {
	case e.of.Before == nil:
		return
	case !e.shown():
		e.missing(e.at.name)
		return
	}
	before := map[string]Row{}
	for _, r := range e.shownRows(e.of.Before.Read()) {
		before[r.Key] = r
	}
	for i := range rows {
		old, was := before[rows[i].Key]
		if !was {
			continue
		}
		rows[i].Over = map[string]api.Move{}
		for _, f := range rows[i].Fields {
			if len(e.q.Fields) > 0 && !slices.Contains(e.q.Fields, f.Name) {
				continue
			}
			to, is := number(f.Value)
			from, had := number(old.Fields.Get(f.Name))
			if !is || !had {
				continue
			}
			m := api.Move{From: from, Change: exact(to - from)}
			m.ChangePct, _ = moved(f.Name, from, to)
			rows[i].Over[f.Name] = m
		}
	}
}

// exact is a sum or a difference without what binary fractions add to it.
func exact(x float64) float64 {
	const digits = 12
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	return x
}

// sort puts rows in the order of the query, those without a value behind. Rows that are as large stand as in the tables. of says that they
// are of several tables.
func (e *evaluation) sort(rows []QueriedRow, of bool) {
	name, most := strings.CutPrefix(e.q.Order, "-")
	if e.q.Order == "" || !of && !e.of.Past && e.q.Order == e.at.order() {
		return
	}
	f, _ := e.at.field(name)
	value := func(r QueriedRow) any { return f.value(r.Row) }
	if name == orderChange || name == orderChangePct {
		moved := moveOf(e.q, e.at)
		f.Type = api.TypeNumber
		value = func(r QueriedRow) any {
			m, is := r.Over[moved]
			switch {
			case !is:
				return nil
			case name == orderChangePct && m.ChangePct != nil:
				return *m.ChangePct
			}
			return m.Change
		}
	}
	slices.SortStableFunc(rows, func(a, b QueriedRow) int {
		x, y := value(a), value(b)
		switch {
		case x == nil || y == nil:
			return cmp.Compare(absent(x), absent(y))
		case most:
			return f.compare(y, x)
		}
		return f.compare(x, y)
	})
}

// moveOf is the field whose move an order by change is of: the first number that q shows.
func moveOf(q api.RowQuery, at table) string {
	for _, name := range q.Fields {
		if f, _ := at.field(name); f.Type == api.TypeNumber {
			return f.Name
		}
	}
	for _, f := range at.fields {
		if f.Type == api.TypeNumber {
			return f.Name
		}
	}
	return ""
}

func absent(v any) int {
	if v == nil {
		return 1
	}
	return 0
}

// aggregate adds the rows to sum.
func (e *evaluation) aggregate(sum *aggregate, agg string) {
	of, name, _ := strings.Cut(agg, ":")
	sum.of = of
	if of == aggCount {
		n := float64(sum.Rows + len(e.found))
		sum.Value, sum.Rows = &n, sum.Rows+len(e.found)
		return
	}
	f, _ := e.at.field(name)
	for _, r := range e.found {
		if n, ok := number(f.value(r.Row)); ok {
			sum.add(n, r.Row, e.of.State.GeneratedAt)
		}
	}
	if e.of.Through == nil {
		sum.At = nil
	}
}

// through adds to sums what the least and most of a span are of: all its states in which one of the rows stood, each of which is read
// once and as far as it is of these rows.
func (e *evaluation) through(sums []aggregate) error {
	type place struct {
		sum   *aggregate
		shown Shown
		field ShownField
	}
	var places []place
	for i := range sums {
		_, name, _ := strings.Cut(e.q.Agg[i], ":")
		if sums[i].of != aggMin && sums[i].of != aggMax {
			continue
		}
		for _, s := range shownOf(e.of.Shown, e.at.name) {
			if f, ok := s.field(name); ok && name != "" {
				places = append(places, place{&sums[i], s, f})
			}
		}
	}
	if e.of.Through == nil {
		return nil
	}
	keys := make(map[string]*Row, len(e.found))
	for _, r := range e.found {
		keys[r.Key] = r.Row
	}
	var last time.Time
	for pulse, err := range e.of.Through {
		if err != nil {
			return err
		}
		if pulse.GeneratedAt.Equal(last) || pulse.GeneratedAt.IsZero() {
			continue
		}
		last = pulse.GeneratedAt
		for i := range sums {
			sums[i].passes()
		}
		for _, p := range places {
			p.shown.each(pulse.State, func(key string, row json.RawMessage) {
				if r := keys[key]; r == nil {
					return
				} else if n := p.field.valueIn(row); n != nil {
					p.sum.bound(*n, r, pulse.GeneratedAt)
				}
			})
		}
	}
	return nil
}

const (
	aggCount = "count"
	aggSum   = "sum"
	aggAvg   = "avg"
	aggMin   = "min"
	aggMax   = "max"

	orderChange    = "change"
	orderChangePct = "changePct"
)

type aggregate struct {
	api.Aggregate
	of  string
	sum float64
}

// add adds the value of a row.
func (a *aggregate) add(n float64, r *Row, at time.Time) {
	a.Rows++
	a.sum += n
	value := n
	switch a.of {
	case aggSum:
		value = exact(a.sum)
	case aggAvg:
		value = exact(a.sum / float64(a.Rows))
	default:
		a.bound(n, r, at)
		return
	}
	if a.Value = &value; math.IsInf(value, 0) {
		a.Value = nil
	}
}

// bound takes n for the least or most, if it is.
func (a *aggregate) bound(n float64, r *Row, at time.Time) {
	if math.IsInf(n, 0) || a.Value != nil && (a.of == aggMin && n >= *a.Value || a.of == aggMax && n <= *a.Value) {
		return
	}
	at = at.UTC()
	a.Value, a.Row, a.At = &n, r.Kind+"/"+r.Key, &at
}

// passes notes that the least or most is of one more state.
func (a *aggregate) passes() {
	if a.of == aggMin || a.of == aggMax {
		a.States++
	}
}
