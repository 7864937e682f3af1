package state

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// table is what can be asked of the rows of a kind, of flags or of sources.
type table struct {
	name   string
	kind   *Kind // nil for flags and sources
	group  string
	rows   int
	fields []field
}

// field is one of a table, or of every row.
type field struct {
	api.TableField
	identity bool // every row has it, and it says which one it is
	get      func(r *Row) any
}

// Tables that are no kinds, and fields that no row lists.
const (
	fieldGroup      = "group"
	fieldDerivative = "derivative" // it moves with another thing
)

// identities are the fields of every row.
func identities() []field {
	text := func(name string, get func(r *Row) string) field {
		return field{TableField: api.TableField{Name: name, Type: api.TypeText, Past: true}, identity: true, get: func(r *Row) any {
			if s := get(r); s != "" {
				return s
			}
			return nil
		}}
	}
	return []field{
		text("name", func(r *Row) string { return r.Name }), text("symbol", func(r *Row) string { return r.Symbol }),
		text("key", func(r *Row) string { return r.Key }), text("entity", func(r *Row) string { return r.Entity }),
	}
}

// fieldNamed is a field that rows list.
func fieldNamed(name string, of api.FieldType) field {
	return field{TableField: api.TableField{Name: name, Type: of}, get: func(r *Row) any { return r.Fields.Get(name) }}
}

// value is what r has in f, nil for nothing.
func (f field) value(r *Row) any {
	if f.get == nil {
		return nil
	}
	v := f.get(r)
	if text, is := v.(string); is && f.Type == api.TypeTime {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return nil
		}
		return at
	}
	return v
}

// compare compares values of f, neither of which is nil.
func (f field) compare(a, b any) int {
	switch f.Type {
	case api.TypeNumber:
		x, _ := number(a)
		y, _ := number(b)
		return cmp.Compare(x, y)
	case api.TypeTime:
		x, _ := a.(time.Time)
		y, _ := b.(time.Time)
		return x.Compare(y)
	case api.TypeSeverity:
		return cmp.Compare(severity(a).Rank(), severity(b).Rank())
	}
	return strings.Compare(textOf(a), textOf(b))
}

func severity(v any) api.Severity {
	text, _ := v.(string)
	return api.Severity(text)
}

// textOf is a value as it is compared with a text.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return fold(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// typeIn is the type of a field by the values that rows have, or else by its name.
func typeIn(rows []Row, name string) api.FieldType {
	for i := range rows {
		switch v := rows[i].Fields.Get(name).(type) {
		case nil:
			continue
		case bool:
			return api.TypeBoolean
		case time.Time:
			return api.TypeTime
		case string:
			if _, err := time.Parse(time.DateOnly, v); err == nil {
				return api.TypeTime
			}
			return api.TypeText
		default:
			return api.TypeNumber
		}
	}
	for _, unit := range [...]string{"Usd", "Pct", "SatVb", "Gwei", "Bp", "24h"} {
		if strings.HasSuffix(name, unit) {
			return api.TypeNumber
		}
	}
	return api.TypeText
}

// table is the one of a name, or of its plural.
func (t *Tables) table(name string) table {
	for _, found := range t.tables() {
		if name = strings.ToLower(name); found.name == name || api.Plural(found.name) == name {
			return found
		}
	}
	return table{}
}

// of are the rows of a kind, the largest first. The caller must not change them.
func (t *Tables) of(kind string) []Row {
	place, known := t.place[kind]
	if !known {
		return nil
	}
	at := func(place int) int {
		i, _ := slices.BinarySearchFunc(t.rows, place, func(r Row, place int) int { return cmp.Compare(t.place[r.Kind], place) })
		return i
	}
	return t.rows[at(place):at(place+1)]
}

// newTables describes the tables: those of the kinds, and then flags and sources.
func (t *Tables) newTables() (list []table) {
	for i := range t.kinds {
		k := &t.kinds[i]
		rows := t.of(k.Name)
		var names []string
		for _, f := range k.Fields {
			names = append(names, f.Name)
		}
		derived := false
		for _, r := range rows {
			derived = derived || r.Echo
			for _, f := range r.Fields {
				if !slices.Contains(names, f.Name) {
					names = append(names, f.Name)
				}
			}
		}
		made := table{name: k.Name, kind: k, group: k.Group, rows: len(rows)}
		for _, name := range names {
			made.fields = append(made.fields, fieldNamed(name, typeIn(rows, name)))
		}
		if derived {
			made.fields = append(made.fields, field{
				TableField: api.TableField{Name: fieldDerivative, Type: api.TypeBoolean}, get: func(r *Row) any { return r.Echo },
			})
		}
		list = append(list, made)
	}
	return append(list, table{name: api.TableFlags, group: "kind", fields: []field{
		fieldNamed("severity", api.TypeSeverity), fieldNamed("kind", api.TypeText), fieldNamed("subject", api.TypeText),
		fieldNamed("value", api.TypeNumber), fieldNamed("threshold", api.TypeNumber), fieldNamed("unit", api.TypeText),
		fieldNamed("since", api.TypeTime), fieldNamed("eventAt", api.TypeTime),
	}}, table{name: api.TableSources, group: "status", fields: []field{
		fieldNamed("status", api.TypeText), fieldNamed("items", api.TypeNumber), fieldNamed("failures", api.TypeNumber),
		fieldNamed("intervalSeconds", api.TypeNumber), fieldNamed("staleAfterSeconds", api.TypeNumber), fieldNamed("error", api.TypeText),
	}})
}

// flagRows are the flags as rows.
func flagRows(flags []api.Flag) (rows []Row) {
	for _, f := range flags {
		r := Row{Kind: "flag", Key: cmp.Or(f.ID, f.Kind+"/"+f.Subject), Entity: f.Entity, Name: f.Message, Ref: f.Ref, Stale: f.Stale,
			Fields: api.Fields{
				{Name: "severity", Value: string(f.Severity)}, {Name: "kind", Value: f.Kind}, {Name: "subject", Value: f.Subject},
				{Name: "value", Value: f.Value}, {Name: "threshold", Value: f.Threshold}, {Name: "unit", Value: f.Unit},
				{Name: "since", Value: f.Since.UTC()},
			}}
		if f.EventAt != nil {
			r.Fields = append(r.Fields, api.Field{Name: "eventAt", Value: f.EventAt.UTC()})
		}
		rows = append(rows, r)
	}
	return rows
}

// sourceRows are the sources as rows.
func sourceRows(sources []api.SourceStatus, names map[string]string) (rows []Row) {
	for _, s := range sources {
		r := Row{Kind: "source", Key: s.ID, Name: cmp.Or(names[s.ID], s.ID), Ref: s.Ref, Stale: s.Status != api.SourceOK,
			Fields: api.Fields{
				{Name: "status", Value: string(s.Status)}, {Name: "items", Value: s.Items}, {Name: "failures", Value: s.Failures},
				{Name: "intervalSeconds", Value: s.IntervalSeconds}, {Name: "staleAfterSeconds", Value: s.StaleAfterSeconds},
			}}
		if s.Error != nil {
			r.Fields = append(r.Fields, api.Field{Name: "error", Value: *s.Error})
		}
		rows = append(rows, r)
	}
	return rows
}

// order is the order of the rows where none is asked for, "" where they stand as they came.
func (t table) order() string {
	if t.kind == nil || t.kind.Size == "" {
		return ""
	}
	return "-" + t.kind.Size
}

// field is the one of a name. ok is false where the table has none.
func (t table) field(name string) (f field, ok bool) {
	if name == fieldGroup && t.group != "" {
		name = t.group
	}
	for _, list := range [...][]field{t.fields, identities()} {
		if i := slices.IndexFunc(list, func(f field) bool { return f.Name == name }); i >= 0 {
			return list[i], true
		}
	}
	return field{}, false
}

// names are those of the fields of t that pass.
func (t table) names(pass func(f field) bool) string {
	var names []string
	for _, f := range slices.Concat(identities(), t.fields) {
		if pass(f) {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

func anyField(field) bool { return true }

func isNumber(f field) bool { return f.Type == api.TypeNumber }

// Schema describes the tables of a pack whose rows stand in states where shown says.
func (t *Tables) Schema(shown []Shown) (list []api.TableSchema) {
	for _, at := range t.tables() {
		s := api.TableSchema{Table: at.name, Rows: at.rows, Group: at.group, Order: at.order()}
		for _, f := range at.fields {
			if f.Type == api.TypeNumber {
				f.Unit = human.FieldUnit(f.Name)
			}
			f.Past = at.kind == nil || pastField(shown, at.name, f.Name)
			s.Fields = append(s.Fields, f.TableField)
		}
		list = append(list, s)
	}
	return list
}

// Complete returns q with the names of the pack and what counts where q says nothing, and its text. Its error is an *api.Error that says
// what there is.
func (t *Tables) Complete(q api.RowQuery) (api.RowQuery, error) {
	at := t.table(q.Table)
	if at.name == "" {
		var names []string
		for _, known := range t.tables() {
			names = append(names, known.name)
		}
		return q, api.Errorf(api.ReasonInvalidTable, "table is %q, none of pack %s", human.Short(q.Table, human.Quoted), q.Pack).
			WithHint("tables: %s", strings.Join(names, ", "))
	}
	q.Table, q.Where, q.Fields, q.Agg = at.name, slices.Clone(q.Where), slices.Clone(q.Fields), slices.Clone(q.Agg)
	if q.Where == nil {
		q.Where = []api.Condition{}
	}
	for i, c := range q.Where {
		f, ok := at.field(c.Field)
		if !ok {
			return q, t.noField(api.ReasonInvalidWhere, at, c.Field, anyField)
		}
		q.Where[i].Field = f.Name
		if _, err := at.compile(c); err != nil {
			return q, err
		}
	}
	for i, name := range q.Fields {
		f, ok := at.field(name)
		if !ok {
			return q, t.noField(api.ReasonInvalidField, at, name, anyField)
		}
		q.Fields[i] = f.Name
	}
	if err := t.completeOver(&q, at); err != nil {
		return q, err
	}
	for i, agg := range q.Agg {
		of, name, _ := strings.Cut(agg, ":")
		f, ok := at.field(name)
		switch {
		case agg == aggCount:
			continue
		case !slices.Contains([]string{aggSum, aggAvg, aggMin, aggMax}, of) || name == "":
			return q, api.Errorf(api.ReasonInvalidAgg, "agg is %q, not an aggregate", human.Short(agg, human.Quoted)).
				WithHint("aggregates: count, sum:field, avg:field, min:field, max:field; fields: %s", at.names(isNumber))
		case !ok || f.Type != api.TypeNumber:
			return q, t.noField(api.ReasonInvalidAgg, at, name, isNumber)
		}
		q.Agg[i] = of + ":" + f.Name
	}
	if q.Limit == 0 {
		q.Limit = api.DefaultQueryLimit
	}
	if q.Text = q.String(); q.Order == "" {
		q.Order = at.order()
	}
	return q, nil
}

// completeOver is the part of Complete for the order and the span.
func (t *Tables) completeOver(q *api.RowQuery, at table) error {
	if q.Over != "" && at.kind == nil {
		return api.Errorf(api.ReasonInvalidOver, "%s have no figures that move over a span", at.name).
			WithHint("leave over out; changes names the flags and sources that changed")
	}
	if q.Order == "" {
		return nil
	}
	name, most := strings.CutPrefix(q.Order, "-")
	if name == orderChange || name == orderChangePct {
		if q.Over == "" {
			return api.Errorf(api.ReasonInvalidOrder, "order is %q, which is of a span", q.Order).WithHint("add over, such as over=24h")
		}
		return nil
	}
	f, ok := at.field(name)
	if !ok {
		return t.noField(api.ReasonInvalidOrder, at, name, anyField)
	}
	if q.Order = f.Name; most {
		q.Order = "-" + f.Name
	}
	if q.Order == at.order() {
		q.Order = ""
	}
	return nil
}

// noField is the error for a field that at does not have, or not one that passes.
func (t *Tables) noField(reason api.Reason, at table, name string, pass func(f field) bool) error {
	quoted := human.Short(name, human.Quoted)
	if _, ok := at.field(name); ok {
		return api.Errorf(reason, "%s of %s is not a number", quoted, api.Plural(at.name)).WithHint("numbers: %s", at.names(pass))
	}
	var others []string
	for _, other := range t.tables() {
		if _, ok := other.field(name); ok {
			others = append(others, other.name)
		}
	}
	err := api.Errorf(reason, "%s have no field %q", api.Plural(at.name), quoted)
	if len(others) > 0 {
		err = api.Errorf(reason, "%s have no field %q; it is one of %s", api.Plural(at.name), quoted, strings.Join(others, ", "))
	}
	return err.WithHint("fields of %s: %s", api.Plural(at.name), at.names(pass))
}
