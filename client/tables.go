package client

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/view"
)

// Sizes of the tables of a state that has no views of its own.
const (
	tableRows  = 24 // of all tables together, as far as each has its least
	leastRows  = 8
	tableGap   = 2
	anchorRoom = 5  // for [12] behind a row
	nameRoom   = 16 // for the name of a row before fields get room
	lateRoom   = 26 // and for one that says how old it is
)

// tables draws a state that is made of tables.
func (p Page) tables(t api.Tables) {
	p.flags(t.Flags)
	for _, m := range t.Members {
		p.table(m, max(leastRows, tableRows/len(t.Members)))
	}
	if len(t.SourceStatus) > 0 {
		p.sources(t.SourceStatus)
	}
}

// table draws at most so many rows of a member, with as many of its fields as there is room for.
func (p Page) table(t api.Table, most int) {
	title := strings.ToUpper(human.Line(memberTitle(t.Name)))
	if len(t.Rows) == 0 {
		p.heading(title)
		p.line("  %s", p.Style.Dim("nothing at the moment"))
		return
	}
	rows := t.Rows[:min(len(t.Rows), most)]
	names, late := make([]string, len(rows)), make([]string, len(rows))
	longest, least := ansi.StringWidth(title)-2, nameRoom
	for i, r := range rows {
		names[i], late[i] = rowName(r), p.lateRow(r)
		longest = max(longest, ansi.StringWidth(strings.TrimSpace(names[i]+" "+late[i])))
		if late[i] != "" {
			least = lateRoom
		}
	}
	room := p.Width - 2 - anchorRoom
	grid := view.Grid{Fields: t.Fields(), Rows: len(rows), Now: p.Now, Gap: tableGap,
		Value: func(row int, field string) any { return rows[row].Fields.Get(field) }}
	width, columns := grid.Beside(room, longest, least)
	heads := p.cells(columns, func(c view.GridColumn) string { return c.Title })
	p.heading(strings.TrimRight(p.Style.Fit(title, width+2)+heads, " "))
	for i, r := range rows {
		cells := p.cells(columns, func(c view.GridColumn) string { return p.moved(c, i, r) })
		p.line("  %s%s %s", p.named(names[i], width, late[i]), cells, p.ref(r.Ref))
	}
	p.more(len(t.Rows), most)
}

// cells are those of a line, each in its column.
func (p Page) cells(columns []view.GridColumn, cell func(view.GridColumn) string) string {
	var b strings.Builder
	for _, c := range columns {
		fit := p.Style.Fit
		if c.Right {
			fit = p.Style.FitRight
		}
		b.WriteString(strings.Repeat(" ", tableGap) + fit(cell(c), c.Width))
	}
	return b.String()
}

// moved is the cell of row i, coloured by its sign where it is a change.
func (p Page) moved(c view.GridColumn, i int, r api.TableRow) string {
	x, _ := r.Fields.Get(c.Field).(float64)
	switch {
	case c.Moves && x > 0:
		return p.Style.Good(c.Cells[i])
	case c.Moves && x < 0:
		return p.Style.Bad(c.Cells[i])
	}
	return c.Cells[i]
}

// lateRow is how old a row is where its source is overdue, else "". Of a part of a state, which does not tell of its sources, the row
// alone says that it is.
func (p Page) lateRow(r api.TableRow) string {
	if late := p.late(r.Ref); late != "" || !r.Stale {
		return late
	}
	return p.Style.Warn("STALE")
}

func rowName(r api.TableRow) string {
	if r.Symbol == "" || strings.EqualFold(r.Symbol, r.Name) {
		return human.Line(r.Name)
	}
	return human.Line(r.Name + " (" + r.Symbol + ")")
}

func memberTitle(name string) string { return strings.ReplaceAll(name, "_", " ") }
