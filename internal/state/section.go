package state

import (
	"cmp"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// Section is a list of a state as people read it: rows of one kind, or the readings that stand in no list.
type Section struct {
	Path string   // of the list, "" for the readings
	Kind string   // of the rows, "" for the readings
	News string   // the field that says when a row came, of rows that are news; "" means that they are none
	Rows []Row    // with all that the state says of them in plain values
	Main []string // the fields that are numbers, the most important first
}

// Sections are the readings of the state and then its lists, in its order, but for flags and the status of sources.
func (d *Document) Sections(shown []Shown) []Section {
	readings := Section{}
	var lists []Section
	for _, p := range d.Places(shown) {
		member, _, _ := strings.Cut(p.Path, ".")
		member, _, _ = strings.Cut(member, "[")
		list, listed := strings.CutSuffix(p.Path, "]")
		list = list[:max(strings.LastIndex(list, "["), 0)]
		switch {
		case member == api.MemberFlags, member == api.MemberSourceStatus:
		case !listed && !strings.Contains(p.Path, "["):
			readings.Rows = append(readings.Rows, p.plainRow())
		case listed && p.shown != nil:
			at := slices.IndexFunc(lists, func(s Section) bool { return s.Kind == p.shown.Kind && s.under(list) })
			if at < 0 {
				at = len(lists)
				lists = append(lists, newSection(p.shown, list))
			}
			if row := p.plainRow(); !slices.ContainsFunc(lists[at].Rows, func(r Row) bool { return r.Key == row.Key }) {
				lists[at].Rows = append(lists[at].Rows, row) // a headline may be told of several themes
			}
		}
	}
	if len(readings.Rows) == 0 {
		return lists
	}
	return append([]Section{readings}, lists...)
}

// newSection is the section of rows that stand in list, without any.
func newSection(s *Shown, list string) Section {
	made := Section{Path: list, Kind: s.Kind, News: s.Time}
	if s.Within != "" { // all that are within the rows of a list are one
		made.Path = s.Path + "." + s.Within
	}
	for _, f := range s.Fields {
		made.Main = append(made.Main, f.Name)
	}
	return made
}

// under reports whether rows at list stand in s.
func (s Section) under(list string) bool {
	if s.Path == list {
		return true
	}
	before, _, nested := strings.Cut(list, "[")
	_, within, _ := strings.Cut(list, "].")
	return nested && s.Path == before+"."+within
}

// plainRow is the row with all plain values that the state has of it: first its numbers, as lookup names them, then what else it says.
func (p Place) plainRow() Row {
	kind, key, _ := strings.Cut(p.Row, "/")
	r := Row{Kind: kind, Key: key, URL: p.URL(), Ref: p.Ref(), Of: memberText(p.object, "of")}
	told := []string{"id", "name", "symbol", "url", "ref", "of", "stale", "group"}
	if p.shown != nil {
		r = p.shown.row(p.key, p.object)
		told = append(told, p.shown.Label, p.shown.Time, p.shown.ID)
		for _, f := range p.shown.Fields {
			told = append(told, f.member())
		}
	} else if named := memberText(p.object, "name"); named != "" {
		r.Name = named
	}
	for _, m := range p.object.Members {
		if value := plainValue(m); value != nil && !slices.Contains(told, m.Name) {
			r.Fields = append(r.Fields, api.Field{Name: m.Name, Value: value})
		}
	}
	return r
}

// member is where f stands in a row.
func (f ShownField) member() string { return cmp.Or(f.In, f.Name) }

// plainValue is a number, a text or a truth value, nil for anything else.
func plainValue(m *jsonx.Value) any {
	switch {
	case !m.IsLeaf():
		return nil
	case m.IsString():
		return m.Text()
	case string(m.Raw) == "true", string(m.Raw) == "false":
		return string(m.Raw) == "true"
	}
	if n := (ShownField{Name: m.Name}).value(m.Parent); n != nil {
		return *n
	}
	return nil
}
