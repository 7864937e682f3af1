package state

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// What a table of a page has room for.
const (
	sheetColumns = 4 // of numbers
	sheetRows    = 30
)

// Sheet are sections as tables of a page, each with the columns that it has room for. at is when the state was made: what was overdue then
// is stale. rows know pages of rows that the state has no room for.
func (d *Document) Sheet(sections []Section, rows *Tables, at time.Time) (list []ViewTable) {
	for _, s := range sections {
		if len(s.Rows) == 0 {
			continue
		}
		t := ViewTable{Readings: s.Kind == "", Headlines: s.News != ""}
		for _, row := range s.Rows {
			if len(t.Rows) == sheetRows && !t.Readings {
				break
			}
			made := row.View()
			_, late := d.Ages().Late(row.Ref, at)
			made.Stale = made.Stale || late
			if known := rows.Row(row.Kind, row.Key); known != nil {
				made.URL = cmp.Or(made.URL, known.URL)
			}
			if t.Readings {
				made.Cells = Figures(row.Fields)
			}
			if !t.Readings || len(made.Cells) > 0 {
				t.Rows = append(t.Rows, made)
			}
		}
		if t.Title = "Readings"; !t.Readings {
			t.Title = s.title(sections)
			t.choose(s)
		}
		list = append(list, t)
	}
	return list
}

// View is the row as faces show it, by its kind and key.
func (r Row) View() ViewRow {
	v := ViewRow{
		ID: r.Kind + "/" + r.Key, Name: cmp.Or(human.Short(r.Name, shortText), Title(r.Key)), Symbol: human.Short(r.Symbol, shortText),
		URL: r.URL, Ref: r.Ref, Stale: r.Stale, At: r.FetchedAt, Of: r.Of, Fields: r.Fields,
	}
	if strings.EqualFold(v.Symbol, v.Name) {
		v.Symbol = ""
	}
	v.Label = Called(v.Name, v.Symbol)
	return v
}

// Figures are the values of fields, each with what it is of.
func Figures(fields api.Fields) (cells []Cell) {
	for _, f := range fields {
		cell := NewCell(f.Name, f.Value)
		cell.Label = human.FieldLabel(f.Name)
		cells = append(cells, cell)
	}
	return cells
}

// title is what a section is called among all: by its kind where several stand in one member.
func (s Section) title(all []Section) string {
	if slices.ContainsFunc(all, func(o Section) bool { return o.Path == s.Path && o.Kind != s.Kind }) {
		return Title(s.Kind) + "s"
	}
	return Title(s.Path[strings.LastIndex(s.Path, ".")+1:])
}

// choose chooses the columns that t has room for: the first numbers of its section and a time, and one text as a note beside the names.
func (t *ViewTable) choose(s Section) {
	known := func(name string) bool {
		return slices.ContainsFunc(t.Rows, func(r ViewRow) bool { return r.Fields.Get(name) != nil })
	}
	var names []string
	for _, name := range s.Main {
		if len(names) < sheetColumns && known(name) {
			names = append(names, name)
		}
	}
	if s.News != "" {
		t.columns(append(names[:min(len(names), 1)], s.News))
		return
	}
	timed, note := false, ""
	for _, row := range t.Rows {
		for _, f := range row.Fields {
			text, is := f.Value.(string)
			_, err := time.Parse(time.RFC3339, text)
			switch {
			case !is || slices.Contains(names, f.Name):
			case err == nil && !timed:
				names, timed = append(names, f.Name), true
			case err != nil && note == "" && f.Name != "direction" && text != row.Of: // the sign of the change and the row say that
				note = f.Name
			}
		}
	}
	t.columns(names)
	for i, row := range t.Rows {
		if text, is := row.Fields.Get(note).(string); is {
			t.Rows[i].Note = human.Short(text, shortText)
		}
	}
}
