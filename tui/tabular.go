package tui

import (
	"slices"
	"strings"
	"unicode"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// Widths in the tables of a pack that has no views of its own.
const (
	leastName  = 12
	roomyName  = 18 // in a roomyTable
	widestName = 40
	leastTrend = 9
	mostTrend  = 40
	roomyTable = 44
)

// tabular fills the table of a member of a state that is made of tables.
func (p painter) tabular(t *Table, state *api.Tables) {
	i := slices.IndexFunc(state.Members, func(m api.Table) bool { return m.Name == string(t.Member) })
	if i < 0 {
		return
	}
	table := state.Members[i]
	names, longest := make([]string, len(table.Rows)), 0
	for i, r := range table.Rows {
		if names[i] = view.Line(r.Name); r.Symbol != "" && !strings.EqualFold(letters(r.Symbol), letters(r.Name)) {
			names[i] += " (" + view.Line(r.Symbol) + ")"
		}
		longest = max(longest, view.Width(names[i]))
	}
	grid := view.Grid{Fields: table.Fields(), Rows: len(table.Rows), Now: p.s.Now, Gap: 1,
		Value: func(row int, field string) any { return table.Rows[row].Fields.Get(field) }}
	const mark = 2 // a sign behind the first column
	room := p.width - mark
	if p.width >= roomyTable && p.curved(t.Member, table.Rows) {
		room -= leastTrend + 1 // which goes before more columns
	}
	least := leastName
	if p.width >= roomyTable {
		least = roomyName
	}
	name, columns := grid.Beside(room, min(longest, max(widestName, p.width*6/10)), least)
	left := p.width - mark - name
	t.Columns = []view.Column{{Width: name}, {Width: 1}}
	for _, c := range columns {
		left -= 1 + c.Width
		c.Title = view.Heading(c.Title)
		t.Columns = append(t.Columns, c.Column)
	}
	trend := view.Column{Title: p.trendTitle()}
	if left > leastTrend && p.curved(t.Member, table.Rows) {
		trend.Width = min(left-1, mostTrend)
	}
	t.Columns = append(t.Columns, trend)
	t.Sorts = sorts(columns)
	main := table.Main()
	for i, r := range table.Rows {
		row := p.rowOf(t.Member, i, r, grid.Fields, main)
		row.Label = names[i]
		row.cells = append(row.cells, names[i], p.mark(row.Main))
		for _, c := range columns {
			row.cells = append(row.cells, p.valued(row.Path+"."+c.Field, c, i, r))
			if c.Right {
				x, is := r.Fields.Get(c.Field).(float64)
				if !is {
					x = known[float64](nil)
				}
				row.sort = append(row.sort, x)
			}
		}
		row.cells = append(row.cells, "")
		t.Rows = append(t.Rows, row)
	}
	p.trended(t.Columns, t.Rows)
}

// letters are those of s and its digits: EURUSD says what EUR/USD says.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

// curved reports whether a row of a member has moved.
func (p painter) curved(m Member, rows []api.TableRow) bool {
	return slices.ContainsFunc(rows, func(r api.TableRow) bool { return p.s.Moves(session.Key(string(m), r.ID)) })
}

func sorts(columns []view.GridColumn) []string {
	list := []string{asSent}
	for _, c := range columns {
		if c.Right {
			list = append(list, c.Title)
		}
	}
	if len(list) == 1 {
		return nil
	}
	return list
}

// rowOf is the i-th row of a member without its cells. Its main value is that of the field main, and its name where there is none.
func (p painter) rowOf(m Member, i int, r api.TableRow, fields []string, main string) Row {
	path := at(m, i)
	row := Row{Path: path, Main: path + ".name", Value: view.Line(r.Name), URL: r.URL, Ref: r.Ref, Find: view.Line(r.ID),
		Facts: [][2]string{{"name", view.Line(r.Name)}}}
	if main != "" {
		row.Main, row.Series = path+"."+main, session.Key(string(m), r.ID)
		row.field, row.Value = main, "null"
		if x, is := r.Fields.Get(main).(float64); is {
			row.Value = exact(&x)
		}
	}
	for _, field := range fields {
		fact, known := p.fact(field, r.Fields.Get(field))
		if !known {
			continue
		}
		if _, is := r.Fields.Get(field).(string); is {
			row.Find += " " + fact[1]
		}
		row.Facts = append(row.Facts, fact)
	}
	return row
}

func (p painter) fact(field string, value any) (fact [2]string, known bool) {
	if value == nil {
		return fact, false
	}
	told := human.FieldColumn(field, []any{value})[0]
	if text, is := value.(string); is {
		told = view.Line(view.When(text, p.s.Now))
	}
	return [2]string{view.Line(human.FieldHead(field, "")), told}, true
}

// factsAt is all that the state of the crypto pack says of the row at a path.
func (p painter) factsAt(path string) [][2]string {
	r, _ := p.s.Row(path)
	facts := [][2]string{{"name", view.Line(r.Name)}}
	for _, f := range r.Fields {
		if fact, known := p.fact(f.Name, f.Value); known {
			facts = append(facts, fact)
		}
	}
	if r.Group != "" {
		facts = append(facts, [2]string{"group", view.Line(r.Group)})
	}
	for _, n := range r.News {
		facts = append(facts, [2]string{"news", view.Line(n.Name)})
	}
	return facts
}

// valued is the cell of a row, coloured by its sign where it is a change, bold if it changed in the last seconds.
func (p painter) valued(path string, c view.GridColumn, i int, r api.TableRow) string {
	text := c.Cells[i]
	if x, _ := r.Fields.Get(c.Field).(float64); c.Moves && x > 0 {
		text = p.t.Good.On(text)
	} else if c.Moves && x < 0 {
		text = p.t.Bad.On(text)
	}
	return p.flashed(path, view.Cut(text, c.Width, p.t.Glyphs.Ellipsis))
}
