package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// View is a state as every face draws it: tables of rows, by the layouts of its pack. Faces choose what they have room for, and colour it;
// what a name, a heading, a number, its sign and an age look like is said here.
type View struct {
	Tables  []ViewTable
	Flags   []api.Flag
	Sources []api.SourceStatus
}

// ViewTable is a member with its rows, in the order in which they are shown.
type ViewTable struct {
	Layout
	Readings  bool     // rows have no columns: what they say is in their Cells
	Headlines bool     // rows are headlines and the like
	Columns   []Column // the most important first
	Rows      []ViewRow
}

// ViewRow is a row with all plain values that the state has of it beside what it is called. Nothing but its names and Cells is cleaned.
type ViewRow struct {
	Path    string // in the state
	ID      string
	Label   string // what it is called
	Name    string
	Symbol  string
	Note    string
	Warning string
	Group   string
	URL     string // of its own page, "" for that of its source
	Ref     int
	Stale   bool      // see Late
	Of      string    // see Of
	At      time.Time // when it came out or was fetched, zero where it does not say
	Fields  api.Fields
	News    []ViewRow // named by their titles
	Cells   []Cell    // of a reading: what it says, piece by piece
	Reading *Reading  // of a member that is no list
}

// Late is what stands behind a row whose figures are older than they should be at read, by the ages of its state: STALE 14m. It is "" for
// any other. Of a part of a state, which does not tell of its sources, the row alone says that it is.
func (r ViewRow) Late(ages api.Ages, read time.Time) string {
	age, late := ages.Late(r.Ref, read)
	switch {
	case late:
		return human.Stale(age)
	case r.Stale:
		return "STALE"
	}
	return ""
}

// About is what the figures of a row are about where that is older than they are asked for: of 2026-11-21. It is "" for any other.
func (r ViewRow) About() string {
	if r.Of == "" {
		return ""
	}
	return "of " + r.Of
}

// LateFlag is Late of a flag. A warning about a source is no data of it.
func LateFlag(f api.Flag, ages api.Ages, read time.Time) string {
	if api.AboutSource(f.Kind) {
		return ""
	}
	return ViewRow{Ref: f.Ref}.Late(ages, read)
}

// Table is the table of a member, nil if there is none.
func (v *View) Table(member string) *ViewTable {
	if v == nil {
		return nil
	}
	i := slices.IndexFunc(v.Tables, func(t ViewTable) bool { return t.Member == member })
	if i < 0 {
		return nil
	}
	return &v.Tables[i]
}

// View is the state of a pack by its layouts, or else as the tables that it consists of. It reports false for a state of another form.
func (d *Document) View(pack string) (v View, ok bool) {
	v.Flags, v.Sources = d.Flags(), d.Sources()
	if v.Tables, ok = d.laidOut(Layouts(pack)); ok {
		return v, true
	}
	tables, ok := api.ReadTables(d.Text())
	if !ok {
		return View{}, false
	}
	for _, t := range tables.Members {
		v.Tables = append(v.Tables, plainTable(t))
	}
	return v, true
}

// laidOut are the members of the state that have layouts.
func (d *Document) laidOut(layouts []Layout) (list []ViewTable, ok bool) {
	if layouts == nil || len(d.Sources()) == 0 && d.empty(layouts[0].Member) {
		return nil, false
	}
	for _, l := range layouts {
		m := d.Root().Member(l.Member)
		t := ViewTable{Layout: l, Readings: l.Parts != nil}
		switch {
		case m == nil || string(m.Raw) == "null":
			continue
		case t.Readings && m.IsObject():
			t.Rows = l.readings(m)
		case !t.Readings && m.IsArray():
			for _, row := range m.Members {
				t.Rows = append(t.Rows, l.row(row))
			}
			t.columns(l.Fields)
		default:
			return nil, false
		}
		list = append(list, t)
	}
	return list, true
}

// empty reports whether a member is no list with something in it.
func (d *Document) empty(member string) bool {
	m := d.Root().Member(member)
	return m == nil || !m.IsArray() || len(m.Members) == 0
}

// plainTable is a table that has no layout: all its fields stand in columns.
func plainTable(from api.Table) ViewTable {
	t := ViewTable{Layout: Layout{Member: from.Name, Title: Title(from.Name), Fields: from.Fields(), Main: from.Main(), Past: from.Main()}}
	for i, row := range from.Rows {
		r := ViewRow{
			Path: fmt.Sprintf("%s[%d]", from.Name, i), ID: row.ID, Name: human.Line(row.Name), Symbol: human.Line(row.Symbol), URL: row.URL,
			Ref: row.Ref, Stale: row.Stale, Of: human.Line(row.Of), Fields: row.Fields,
		}
		r.Label = Called(r.Name, r.Symbol)
		t.Rows = append(t.Rows, r)
	}
	t.columns(slices.DeleteFunc(slices.Clone(t.Fields), t.aboutAlone))
	return t
}

// aboutAlone reports whether a field of the rows says nothing but what their figures are about, which each row tells anyhow.
func (t *ViewTable) aboutAlone(field string) bool {
	return !slices.ContainsFunc(t.Rows, func(r ViewRow) bool { return r.Of == "" || r.Fields.Get(field) != r.Of })
}

// columns makes the columns of fields.
func (t *ViewTable) columns(fields []string) {
	values := make([]any, len(t.Rows))
	for _, name := range fields {
		for i, row := range t.Rows {
			values[i] = row.Fields.Get(name)
		}
		t.Columns = append(t.Columns, NewColumn(name, values))
	}
}

func (l Layout) row(v *jsonx.Value) ViewRow {
	text := func(member string) string { return human.Line(memberText(v, member)) }
	r := ViewRow{
		Path: v.Path(), ID: memberText(v, "id"), Name: text(cmp.Or(l.Name, "name")), Symbol: text("symbol"), Note: text(l.Note),
		Group: text("group"), URL: memberText(v, "url"), Ref: refOf(v),
		Of: text("of"),
	}
	if r.Label = r.Name; l.Symbols {
		r.Label = r.Symbol
	}
	if stale := v.Member("stale"); stale != nil {
		r.Stale = string(stale.Raw) == "true"
	}
	for _, m := range v.Members {
		switch {
		case slices.Contains([]string{"id", "url", "ref", "of", "stale", "group", cmp.Or(l.Name, "name"), "symbol"}, m.Name):
		case m.Name == l.News && m.IsArray():
			for _, one := range m.Members {
				at, _ := time.Parse(time.RFC3339, memberText(one, "publishedAt"))
				r.News = append(r.News, ViewRow{
					Path: one.Path(), Name: human.Line(memberText(one, "title")), URL: memberText(one, "url"), Ref: refOf(one), At: at,
				})
			}
		case m.IsArray():
			text := words(m)
			if m.Name == l.Warning {
				text = strings.ReplaceAll(text, "_", " ")
				r.Warning = human.Line(text)
			}
			if text != "" {
				r.Fields = append(r.Fields, api.Field{Name: m.Name, Value: text})
			}
		default:
			if value := plainValue(m); value != nil {
				r.Fields = append(r.Fields, api.Field{Name: m.Name, Value: value})
			}
		}
	}
	return r
}

// words are the texts in a list, with commas between.
func words(list *jsonx.Value) string {
	var texts []string
	for _, m := range list.Members {
		if m.IsString() {
			texts = append(texts, m.Text())
		}
	}
	return strings.Join(texts, ", ")
}

func (l Layout) readings(v *jsonx.Value) (rows []ViewRow) {
	for i, part := range l.Parts {
		at := v.Member(part.Path)
		switch {
		case at == nil:
		case part.Chances && at.IsArray():
			for _, one := range at.Members {
				r := Layout{Name: "question"}.row(one)
				chance, outcome := r.Fields.Get(part.Main), human.Line(memberText(one, "outcome"))
				x, known := chance.(float64)
				if !known {
					continue
				}
				if outcome == "" || strings.EqualFold(outcome, "yes") {
					outcome = "yes"
				}
				r.Reading, r.Label, r.Cells = &l.Parts[i], fmt.Sprintf("%.0f%% %s", x*100, outcome), []Cell{{Text: r.Name}}
				rows = append(rows, r)
			}
		case at.IsObject():
			r := l.row(at)
			r.Reading, r.Label, r.Name = &l.Parts[i], part.Title, part.Title
			r.Cells = part.cells(r.Fields)
			if !part.Needed || r.Fields.Get(part.Main) != nil {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// cells are the text of a reading: pieces of it, and values of fields.
func (p Reading) cells(fields api.Fields) (cells []Cell) {
	for text := p.Text; text != ""; {
		before, rest, found := strings.Cut(text, "{")
		field, after, _ := strings.Cut(rest, "}")
		if before != "" {
			cells = append(cells, Cell{Text: before})
		}
		if found {
			cells = append(cells, NewCell(field, fields.Get(field)))
		}
		text = after
	}
	return cells
}
