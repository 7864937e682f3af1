package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/view"
)

// Sizes of an overview. The whole state is in -o json.
const (
	flagsShown  = 8
	tableRows   = 24 // of all tables together, as far as each has its least, where their layouts do not say
	leastRows   = 8
	tableGap    = 2
	anchorRoom  = 5  // for [12] behind a row
	nameRoom    = 16 // for the name of a row before fields get room
	besideRoom  = 26 // and for one that says how old it is
	symbolWidth = 8  // of a symbol before a name
	labelWidth  = 14 // of a reading
	newsRoom    = 24 // for a headline behind a row
	narrow      = 76 // columns of a terminal below which a row has one name
)

// overview draws a state.
func (p Page) overview(v state.View) {
	p.flags(v.Flags)
	for _, t := range v.Tables {
		if t.Readings {
			p.readings(t)
		} else {
			p.table(t, max(leastRows, tableRows/len(v.Tables)))
		}
	}
	if len(v.Sources) > 0 {
		p.sources(v.Sources)
	}
}

// flags draws the flags, gravest first as they come.
func (p Page) flags(flags []api.Flag) {
	if len(flags) == 0 {
		return
	}
	p.heading("FLAGS")
	for _, f := range flags[:min(len(flags), flagsShown)] {
		mark := p.Style.Mark("warning") + " " + human.Line(string(f.Severity))
		switch f.Severity {
		case api.SeverityCritical:
			mark = p.Style.Bad(mark)
		case api.SeverityWarning:
			mark = p.Style.Warn(mark)
		}
		p.cited("  "+p.Style.Fit(mark, 11)+" ", human.Line(f.Message), f.Ref, p.Style.Warn(state.LateFlag(f, p.ages, p.read)))
	}
	p.more(len(flags), flagsShown)
}

// shown are the rows of a table that an overview has room for, and the headings of groups, by the first row of each.
func shown(t state.ViewTable, most int) (rows []int, heads map[int]string) {
	groups := t.Groups
	if groups == nil {
		if t.Most > 0 {
			most = t.Most
		}
		groups = []state.Group{{Most: most}}
	}
	heads = map[int]string{}
	for _, g := range groups {
		first := len(rows)
		for i, r := range t.Rows {
			if (t.Groups == nil || r.Group == g.Name) && len(rows)-first < g.Most {
				rows = append(rows, i)
			}
		}
		if len(rows) > first {
			heads[rows[first]] = g.Head
		}
	}
	return rows, heads
}

// table draws at most so many rows of a table, with as many of its columns as there is room for.
func (p Page) table(t state.ViewTable, most int) {
	title := strings.ToUpper(t.Title)
	if len(t.Rows) == 0 {
		p.heading(title)
		p.line("  %s", p.Style.Dim("nothing at the moment"))
		return
	}
	rows, heads := shown(t, most)
	names, beside := make([]string, len(rows)), make([]string, len(rows))
	longest, least, behind := ansi.StringWidth(title)-2, nameRoom, anchorRoom
	for i, row := range rows {
		r := t.Rows[row]
		names[i], beside[i] = p.name(t, r), p.beside(r)
		longest = max(longest, ansi.StringWidth(strings.TrimSpace(names[i]+" "+beside[i])))
		if beside[i] != "" {
			least = besideRoom
		}
		if len(r.News) > 0 {
			behind = newsRoom
		}
	}
	warns := func(c state.Column) bool { return c.Field == t.Warning } // which stands behind all
	figures := slices.DeleteFunc(slices.Clone(t.Columns), warns)
	grid := view.Grid{Columns: figures, Rows: rows, Now: p.Now, Gap: tableGap}
	width, columns := grid.Beside(p.Width-2-behind, longest, least)
	p.heading(strings.TrimRight(p.Style.Fit(title, width+2)+p.cells(columns, func(c view.GridColumn) string { return c.Title }), " "))
	for i, row := range rows {
		if heads[row] != "" {
			p.line("  %s", p.Style.Dim(heads[row]))
		}
		r := t.Rows[row]
		line := "  " + p.named(names[i], width, beside[i]) + p.cells(columns, func(c view.GridColumn) string {
			return p.signed(c.Cells[i], c.Of.Cells[row].Sign)
		})
		if len(r.News) > 0 {
			news := r.News[0]
			p.cited(line+"  ", news.Name, news.Ref, p.beside(news))
		} else {
			p.line("%s %s %s", line, p.ref(r.Ref), p.Style.Warn(r.Warning))
		}
	}
	if t.Groups == nil {
		p.more(len(t.Rows), len(rows))
	}
}

// name is what a row is called: a symbol before its name, or its name with a note.
func (p Page) name(t state.ViewTable, r state.ViewRow) string {
	switch {
	case p.Width < narrow:
	case t.Symbols:
		return strings.TrimSpace(p.Style.Fit(r.Symbol, symbolWidth) + " " + r.Name)
	case r.Note != "":
		return r.Label + " " + p.Style.Dim(r.Note)
	}
	return r.Label
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

// readings draws a member that is no list, a reading in a line.
func (p Page) readings(t state.ViewTable) {
	p.heading(strings.ToUpper(t.Title))
	for _, r := range t.Rows {
		text := ""
		for _, c := range r.Cells {
			text += p.signed(c.Text, c.Sign)
		}
		p.cited("  "+p.Style.Fit(r.Label, labelWidth), text, r.Ref, p.beside(r))
	}
}

// signed is a text in the colour of its sign.
func (p Page) signed(text string, sign int) string {
	switch sign {
	case 1:
		return p.Style.Good(text)
	case -1:
		return p.Style.Bad(text)
	}
	return text
}

// sources draws how the sources do: a count, and those that are not well.
func (p Page) sources(rows []api.SourceStatus) {
	ok := 0
	for _, s := range rows {
		if s.Status == api.SourceOK {
			ok++
		}
	}
	p.heading("SOURCES")
	mark := p.Style.Good(p.Style.Mark("ok"))
	if ok < len(rows) {
		mark = p.Style.Warn(p.Style.Mark("warning"))
	}
	p.line("  %s %d of %d ok", mark, ok, len(rows))
	for _, s := range rows {
		if s.Status == api.SourceOK {
			continue
		}
		why, since := "", "never answered"
		if s.Error != nil {
			why = ": " + human.Line(*s.Error)
		}
		if s.FetchedAt != nil {
			since = "last answered " + human.Age(p.Now.Sub(*s.FetchedAt)) + " ago"
		}
		p.line("  %s %s, %s%s %s", p.Style.Warn(p.Style.Fit(human.Line(string(s.Status)), 5)), human.Line(s.ID), since, why, p.ref(s.Ref))
	}
}

// more says that rows were left out.
func (p Page) more(rows, shown int) {
	if rows > shown {
		p.line("  %s", p.Style.Dim(fmt.Sprintf("%d more in -o json", rows-shown)))
	}
}

func (p Page) ref(n int) string { return p.Style.Link(fmt.Sprintf("[%d]", n)) }
