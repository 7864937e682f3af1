package tui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// Widths in tables.
const (
	leastName  = 12
	roomyName  = 18 // in a roomyTable, and of what has a note
	widestName = 40
	leastTrend = 9
	mostTrend  = 40
	roomyTable = 44

	wideTrend   = 24 // where the layout says which columns stand before it
	widestTrend = 72
)

// table fills a table with the rows of a member that is a list.
func (p painter) table(t *Table, from *state.ViewTable) {
	names, longest := make([]string, len(from.Rows)), 0
	for i, r := range from.Rows {
		if names[i] = view.Line(r.Label); from.Symbols {
			names[i] = p.t.Bold.On(names[i])
		} else if r.Note != "" {
			names[i] += " " + p.t.Dim.On(view.Line(r.Note))
		}
		longest = max(longest, view.Width(names[i]))
	}
	curved := slices.ContainsFunc(from.Rows, func(r state.ViewRow) bool { return p.s.Moves(session.SeriesOf(from, r)) })
	name, columns := p.columns(from, longest, curved)
	const mark = 2 // a sign behind the name
	left := p.width - mark - name
	t.Columns = []view.Column{{Width: name}, {Width: 1}}
	for _, c := range columns {
		left -= 1 + c.Width
		c.Title = view.Heading(c.Title)
		t.Columns = append(t.Columns, c.Column)
	}
	trend, most := view.Column{Title: p.trendTitle()}, mostTrend
	if from.Least > 0 {
		most = widestTrend
	}
	if curved && left > leastTrend {
		trend.Width = min(left-1, most)
		t.curve = func(r Row) string { return p.trend(r, trend.Width) }
	}
	t.Columns = append(t.Columns, trend)
	t.Sorts = sorts(from)
	for i, r := range from.Rows {
		row := p.row(from, r)
		sign := p.mark(row.Main)
		if r.Warning != "" && sign == " " {
			sign = p.t.Warn.On(p.t.Glyphs.Warn)
		}
		row.cells = append(row.cells, names[i], sign)
		for _, c := range columns {
			text := view.Cut(signed(p.t, c.Cells[i], c.Of.Cells[i].Sign), c.Width, p.t.Glyphs.Ellipsis)
			if c.Of.Field == from.Warning {
				text = p.t.Warn.On(view.Cut(c.Cells[i], c.Width, p.t.Glyphs.Ellipsis))
			}
			row.cells = append(row.cells, p.flashed(r.Path+"."+c.Of.Field, text))
		}
		row.cells = append(row.cells, "")
		for _, c := range from.Columns {
			if x, known := r.Fields.Get(c.Field).(float64); !c.Words && known {
				row.sort = append(row.sort, x)
			} else if !c.Words {
				row.sort = append(row.sort, math.Inf(-1)) // less than every number
			}
		}
		t.Rows = append(t.Rows, row)
	}
}

// columns are those that a table has room for, and how wide the names of its rows are. Where there are curves, these have room first.
func (p painter) columns(from *state.ViewTable, longest int, curved bool) (name int, columns []view.GridColumn) {
	grid := view.Grid{Columns: from.Columns, Now: p.s.Now, Gap: 1, Rows: make([]int, len(from.Rows))}
	for i := range grid.Rows {
		grid.Rows[i] = i
	}
	const mark = 2
	beside := func(trend, least int) (int, []view.GridColumn) {
		return grid.Beside(p.width-mark-trend-1, min(longest, max(widestName, p.width*6/10)), least)
	}
	switch roomy := p.width >= roomyTable; {
	case roomy && curved && from.Least > 0:
		if name, columns = beside(wideTrend, roomyName); len(columns) < from.Least {
			name, columns = beside(leastTrend, leastName)
			columns = columns[:min(len(columns), from.Least)]
		}
		return name, columns
	case roomy && curved:
		return beside(leastTrend, roomyName)
	case roomy || from.Note != "":
		return beside(-1, roomyName)
	}
	return beside(-1, leastName)
}

// sorts are the orders that the rows of a table can be put in: by each of its numbers.
func sorts(from *state.ViewTable) []string {
	list, before := []string{asSent}, ""
	for _, c := range from.Columns {
		if !c.Words {
			list = append(list, view.Line(state.Head(c.Field, before)))
		}
		before = c.Field
	}
	if len(list) == 1 {
		return nil
	}
	return list
}

// readings fills a table with the readings of a member that is no list.
func (p painter) readings(t *Table, from *state.ViewTable) {
	t.Columns = []view.Column{{Title: "READING", Width: min(max(p.width*2/5, 12), 16)}, {Title: "VALUE"}}
	t.Columns[1].Width = max(p.width-t.Columns[0].Width-1, 4)
	t.Bare = true
	for _, r := range from.Rows {
		row, text := p.row(from, r), p.sentence(r.Cells, t.Columns[1].Width)
		room := t.Columns[1].Width - view.Width(text) - 2
		text = p.flashed(row.Main, text)
		if line := p.trend(row, min(room, 12)); room > 3 && line != "" {
			text += " " + line
		}
		row.cells = []string{row.Label, text}
		t.Rows = append(t.Rows, row)
	}
}

// sentence is cells one behind the other, cut to width as a sentence is.
func (p painter) sentence(cells []state.Cell, width int) (text string) {
	whole := ""
	for _, c := range cells {
		whole += view.Line(c.Text)
	}
	kept, tail := whole, ""
	if view.Width(whole) > width {
		tail = p.t.Glyphs.Ellipsis
		kept = strings.TrimSuffix(view.CutWhole(whole, width, tail), tail)
	}
	for _, c := range cells {
		piece := view.Line(c.Text)
		piece = piece[:min(len(piece), len(kept))]
		kept = kept[len(piece):]
		text += signed(p.t, piece, c.Sign)
	}
	return text + tail
}

// row is a row without its cells. Its main value is that of the field that it is about, and its name where there is none.
func (p painter) row(from *state.ViewTable, r state.ViewRow) Row {
	main, past := from.Main, from.Past
	if r.Reading != nil {
		main, past = r.Reading.Main, r.Reading.Main
	}
	row := Row{
		Path: r.Path, Main: r.Path + "." + cmp.Or(main, "name"), Label: view.Line(r.Label), Value: view.Line(r.Name),
		URL: r.URL, Ref: r.Ref, Late: p.s.Late(r), About: r.About(), Series: session.SeriesOf(from, r), field: past,
		id:   r.ID,
		Find: view.Line(r.ID + " " + r.Name + " " + r.Group), facts: func() [][2]string { return p.facts(r) },
	}
	if main != "" {
		value, _ := json.Marshal(r.Fields.Get(main)) // a number, exact
		row.Value = string(value)
	}
	for _, f := range r.Fields {
		if x, is := f.Value.(float64); is {
			row.numbers = append(row.numbers, number{f.Name, x})
		}
		if text, is := f.Value.(string); is {
			row.Find += " " + view.Line(text)
		}
	}
	for _, n := range r.News {
		row.URL = cmp.Or(row.URL, n.URL)
		row.Find += " " + view.Line(n.Name)
	}
	return row
}

// facts are all that the state says of a row.
func (p painter) facts(r state.ViewRow) [][2]string {
	list := [][2]string{{"name", view.Line(r.Name)}}
	for _, f := range r.Fields {
		cell := state.NewColumn(f.Name, []any{f.Value}).Cells[0] // with all decimals
		text := view.Line(cell.Text)
		if !cell.At.IsZero() {
			text = view.When(cell.At, p.s.Now)
		}
		if cell.Known() {
			list = append(list, [2]string{view.Line(state.Head(f.Name, "")), text})
		}
	}
	if r.Group != "" {
		list = append(list, [2]string{"group", view.Line(r.Group)})
	}
	for _, n := range r.News {
		list = append(list, [2]string{"news", view.Line(n.Name)})
	}
	return list
}

// flags fills the table of the flags.
func (p painter) flags(t *Table) {
	t.Columns = []view.Column{{Title: "", Width: 1}, {Title: "SINCE", Width: 6, Right: true}, {Title: "WHAT", Width: max(p.width-9, 8)}}
	t.Bare = true
	for i, f := range p.s.Flags {
		path, said := fmt.Sprintf("%s[%d]", Flags, i), view.Line(f.Message)
		t.Rows = append(t.Rows, Row{
			Path: path, Main: path + ".message", Label: view.Line(f.Subject), Value: said, Ref: f.Ref, Late: p.s.LateFlag(f),
			Find: view.Line(string(f.Severity) + " " + f.Kind + " " + f.Message),
			facts: func() [][2]string {
				return [][2]string{
					{"flag", said}, {"severity", view.Line(string(f.Severity))},
					{"value", figure(f.Value, f.Unit)}, {"limit", figure(f.Threshold, f.Unit)},
					{"since", f.Since.In(p.s.Now.Location()).Format("Jan 2, 15:04:05")},
				}
			},
			cells: []string{Severity(p.t, f.Severity), human.Age(p.s.ServiceNow().Sub(f.Since)),
				view.CutWhole(said, t.Columns[2].Width, p.t.Glyphs.Ellipsis)},
		})
	}
}

func figure(x float64, unit string) string {
	switch unit {
	case "usd":
		return human.USD(x)
	case "pct":
		return human.Plain(x) + "%"
	}
	return human.Plain(x) + " " + view.Line(unit)
}

// Severity is how grave a flag is, as a sign: one for each, so that it does not need its colour.
func Severity(t view.Theme, s api.Severity) string {
	switch s {
	case api.SeverityCritical:
		return t.Bad.On(t.Glyphs.Bad)
	case api.SeverityWarning:
		return t.Warn.On(t.Glyphs.Warn)
	}
	return t.Dim.On("i")
}
