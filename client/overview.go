package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// flagsShown is how many flags the overview shows. The whole state is in -o json.
const flagsShown = 8

// overview draws a state by the layouts of its pack.
func (p Page) overview(v state.View) {
	p.flags(v.Flags)
	for _, t := range v.Tables {
		switch {
		case len(t.Rows) == 0:
		case t.Parts != nil:
			p.readings(t)
		case t.News != "":
			p.themes(t)
		default:
			p.columns(t)
		}
	}
	p.sources(v.Sources)
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
		said := p
		if f.Kind == api.FlagSourceStale || f.Kind == api.FlagSourceError {
			said.ages = api.Ages{} // a warning about a source is no data of it
		}
		said.cited("  "+p.Style.Fit(mark, 11)+" ", human.Line(f.Message), f.Ref)
	}
	p.more(len(flags), flagsShown)
}

// Widths of the columns of a table with a layout.
const (
	shortWidth  = 8
	besideWidth = 15 // of a name behind a short one
	nameWidth   = 24
	themeWidth  = 20
	firstWidth  = 13
	nextWidth   = 9
	lastWidth   = 8 // of the fifth column
)

// narrow reports whether the columns of an 80-column terminal do not fit.
func (p Page) narrow() bool { return p.Width < 76 }

// columns draws rows with their numbers in columns, group by group.
func (p Page) columns(t state.ViewTable) {
	name, before := nameWidth, 2
	if t.Short != "" {
		name, before = besideWidth, 2+shortWidth+1
		if p.narrow() && !slices.ContainsFunc(t.Rows, func(r state.ViewRow) bool { return p.late(r.Ref) != "" }) {
			name = 0
		}
	}
	heads := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		heads[i] = c.Head
	}
	p.heading(p.Style.Fit(strings.ToUpper(t.Title), before+name) + p.row(heads))
	groups := t.Groups
	if groups == nil {
		groups = []state.Group{{Most: t.Most}}
	}
	for _, g := range groups {
		shown := 0
		for _, r := range t.Rows {
			if t.Groups != nil && r.Group != g.Name || shown == g.Most {
				continue
			}
			if shown++; shown == 1 && g.Head != "" {
				p.line("  %s", p.Style.Dim(g.Head))
			}
			p.line("  %s%s", p.called(t.Layout, r, name), p.numbers(t.Layout, r))
		}
	}
	if t.Groups == nil {
		p.more(len(t.Rows), t.Most)
	}
}

// called is what a row is called: a short name before its whole one, or its name with a note.
func (p Page) called(l state.Layout, r state.ViewRow, width int) string {
	name := human.Line(r.Name)
	if l.Note != "" {
		name += " " + p.Style.Dim(human.Line(r.Note))
	}
	name = p.named(name, width, p.late(r.Ref))
	if l.Short != "" {
		return p.Style.Fit(human.Line(r.Short), shortWidth) + " " + name
	}
	return name
}

// numbers are the columns of a row, and what warns of it.
func (p Page) numbers(l state.Layout, r state.ViewRow) string {
	cells := make([]string, len(l.Columns))
	for i, c := range l.Columns {
		cells[i] = p.figure(c, r.Fields.Get(c.Field))
	}
	text := p.row(cells)
	if r.Warning != "" {
		text += " " + p.Style.Warn(human.Line(strings.ReplaceAll(r.Warning, ", ", ",")))
	}
	return text
}

// row puts cells in their columns.
func (p Page) row(cells []string) string {
	var b strings.Builder
	for i, cell := range cells {
		switch i {
		case 0:
			b.WriteString(p.Style.FitRight(cell, firstWidth))
		case 4:
			b.WriteString(" " + p.Style.FitRight(cell, lastWidth))
		default:
			b.WriteString(" " + p.Style.FitRight(cell, nextWidth))
		}
	}
	return b.String()
}

// figure is a value of a column, a dash where it is not known.
func (p Page) figure(c state.Column, value any) string {
	x, number := value.(float64)
	switch text, is := value.(string); {
	case is:
		return human.Line(text)
	case !number:
		return human.Unknown
	case c.Field == "priceUsd":
		return human.Price(&x)
	case human.FieldMoves(c.Field):
		return p.change(&x)
	case strings.HasSuffix(c.Field, "Pct"):
		return human.Share(&x)
	case strings.HasSuffix(c.Field, "Usd"):
		whole := int64(x)
		return human.CompactUSD(&whole)
	case c.Places > 0:
		return fmt.Sprintf("%.*f", c.Places, x)
	}
	return human.Plain(x)
}

// readings draws a member that is no list, a reading in a line.
func (p Page) readings(t state.ViewTable) {
	p.heading(strings.ToUpper(t.Title))
	for _, r := range t.Rows {
		if r.Chance != nil {
			p.cited(fmt.Sprintf("  %3.0f%% %s ", *r.Chance*100, p.Style.Fit(human.Line(r.Outcome), shortWidth)), human.Line(r.Name), r.Ref)
			continue
		}
		text := r.Text(func(field string, value any) string { return p.figure(state.Column{Field: field}, value) })
		p.cited("  "+p.Style.Fit(r.Name, 14), text, r.Ref)
	}
}

// themes draws rows with the newest headline of each.
func (p Page) themes(t state.ViewTable) {
	p.heading(strings.ToUpper(t.Title))
	for _, r := range t.Rows[:min(len(t.Rows), t.Most)] {
		theme := "  " + p.named(human.Line(r.Name), themeWidth, p.late(r.Ref))
		for i, c := range t.Columns {
			width := nextWidth
			if i == 0 {
				width = 4
			}
			theme += " " + p.Style.FitRight(p.figure(c, r.Fields.Get(c.Field)), width)
		}
		if theme += "  "; len(r.News) == 0 {
			p.line("%s", theme)
			continue
		}
		p.cited(theme, human.Line(r.News[0].Name), r.News[0].Ref)
	}
	p.more(len(t.Rows), t.Most)
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

// change is a percent with its sign; a dash where it is not known.
func (p Page) change(pct *float64) string {
	if pct == nil {
		return human.Unknown
	}
	told := human.Change(pct) + "%"
	switch {
	case *pct > 0:
		return p.Style.Good(told)
	case *pct < 0:
		return p.Style.Bad(told)
	}
	return told
}
