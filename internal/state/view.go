package state

import (
	"cmp"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// View is a state as every face draws it: tables of rows, by the layouts of its pack.
type View struct {
	Tables  []ViewTable
	Flags   []api.Flag
	Sources []api.SourceStatus
}

// ViewTable is a member with its rows, in the order in which they are shown.
type ViewTable struct {
	Layout
	Rows []ViewRow
}

// ViewRow is a row with all plain values that the state has of it beside what it is called. Nothing in it is cleaned.
type ViewRow struct {
	Path    string // in the state
	ID      string
	Name    string // of a reading its title
	Short   string
	Note    string
	Warning string
	Group   string
	URL     string // of its own page, "" for that of its source
	Ref     int
	Stale   bool
	Fields  api.Fields
	News    []ViewRow // named by their titles
	Reading *Reading  // of a member that is no list, which is told by it
	Chance  *float64  // of a question that Name is, from 0 to 1
	Outcome string    // what Chance is of
}

// View is the state of a pack by its layouts. It reports false for a pack without any, and for a state of another form.
func (d *Document) View(pack string) (v View, ok bool) {
	layouts := Layouts(pack)
	if layouts == nil || len(d.Sources()) == 0 && d.empty(layouts[0].Member) {
		return v, false
	}
	v.Flags, v.Sources = d.Flags(), d.Sources()
	for _, l := range layouts {
		m := d.Root().Member(l.Member)
		t := ViewTable{Layout: l}
		switch {
		case m == nil || string(m.Raw) == "null":
		case l.Parts != nil && m.IsObject():
			t.Rows = l.readings(m)
		case l.Parts == nil && m.IsArray():
			for _, row := range m.Members {
				t.Rows = append(t.Rows, l.row(row))
			}
		default:
			return View{}, false
		}
		v.Tables = append(v.Tables, t)
	}
	return v, true
}

// empty reports whether a member is no list with something in it.
func (d *Document) empty(member string) bool {
	m := d.Root().Member(member)
	return m == nil || !m.IsArray() || len(m.Members) == 0
}

func (l Layout) row(v *jsonx.Value) ViewRow {
	r := ViewRow{
		Path: v.Path(), ID: memberText(v, "id"), Name: memberText(v, cmp.Or(l.Name, "name")), Short: memberText(v, l.Short),
		Note: memberText(v, l.Note), Group: memberText(v, "group"), URL: memberText(v, "url"), Ref: refOf(v),
	}
	if stale := v.Member("stale"); stale != nil {
		r.Stale = string(stale.Raw) == "true"
	}
	for _, m := range v.Members {
		switch {
		case slices.Contains([]string{"id", "url", "ref", "stale", "group", cmp.Or(l.Name, "name"), l.Short}, m.Name):
		case m.Name == l.News && m.IsArray():
			for _, one := range m.Members {
				r.News = append(r.News, ViewRow{
					Path: one.Path(), Name: memberText(one, "title"), URL: memberText(one, "url"), Ref: refOf(one),
				})
			}
		case m.IsArray():
			text := words(m)
			if m.Name == l.Warning {
				r.Warning = text
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
				r.Reading, r.Chance, r.Outcome = &l.Parts[i], ShownField{Name: part.Main}.value(one), memberText(one, "outcome")
				if r.Chance == nil {
					continue
				}
				if r.Outcome == "" || strings.EqualFold(r.Outcome, "yes") {
					r.Outcome = "yes"
				}
				rows = append(rows, r)
			}
		case at.IsObject():
			r := l.row(at)
			r.Reading, r.Name = &l.Parts[i], part.Title
			if !part.Needed || r.Fields.Get(part.Main) != nil {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// Text is the text of a reading. figure writes the value of a field, which is nil where it is not known.
func (r ViewRow) Text(figure func(field string, value any) string) string {
	var b strings.Builder
	text := r.Reading.Text
	for text != "" {
		before, rest, _ := strings.Cut(text, "{")
		field, after, found := strings.Cut(rest, "}")
		b.WriteString(before)
		if found {
			b.WriteString(figure(field, r.Fields.Get(field)))
		}
		text = after
	}
	return b.String()
}
