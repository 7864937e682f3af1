package tui

import (
	"fmt"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/view"
)

// View draws the panes.
func (s *Live) View(width, height int) []string {
	s.width, s.height = width, height
	if s.env.Session.State == nil {
		return s.waiting(width, height)
	}
	if s.detail && slices.Contains(s.members(), s.focus()) {
		return s.drawDetail(s.focus(), width, height, true)
	}
	s.detail = false
	var out []string
	for _, b := range s.bands() {
		var blocks [][]string
		for _, c := range b.cells {
			blocks = append(blocks, s.draw(c, b.height))
		}
		out = append(out, view.Beside(blocks...)...)
	}
	return out
}

func (s *Live) waiting(width, height int) []string {
	t, now := *s.env.Theme, s.env.Session
	lines := []string{"", " Waiting for the first state of pack " + view.Line(now.Pack) + "."}
	if p := now.Line.Problem; p != nil {
		lines = []string{"", " " + t.Bad.On(t.Glyphs.Bad+" "+p.What)}
		if p.Next != "" {
			lines = append(lines, " "+p.Next)
		}
		if p.RequestID != "" {
			lines = append(lines, " request "+p.RequestID)
		}
	}
	return view.Box{Title: "Live", Focus: true}.Draw(t, lines, width, height)
}

func (s *Live) draw(c cell, height int) []string {
	t, p := *s.env.Theme, c.shown(s.seen)
	box := view.Box{Focus: p == s.focus(), Note: s.filter(p).Note()}
	var lines []string
	switch p {
	case paneTree:
		box.Title, lines = "State of "+view.Line(s.env.Session.Pack), s.treeLines(c.width-2, height-2, box.Focus)
		box.Note = join(box.Note, s.list(p).Place(len(s.branches())))
	case paneBrief:
		return s.drawBrief(box, c.width, height)
	case paneHealth:
		box.Title, lines = "Health", s.health(c.width-2)
	case paneDetail:
		from := s.focus()
		if members := s.members(); !slices.Contains(members, from) {
			from = members[0]
		}
		return s.drawDetail(from, c.width, height, false)
	case paneActivity:
		box.Title = "Activity"
		box.Note = view.KeyLabel(s.env.Keys.Tab[7]) + " all"
		lines = s.activity(height - 2)
	default:
		box.Title, lines = Member(p).Title(), s.tableLines(p, c.width-2, height-2, box.Focus)
		box.Note = join(box.Note, s.note(p, c, box.Focus))
	}
	return box.Draw(t, lines, c.width, height)
}

// note is what the upper edge of a member's pane says: its order, which rows are shown, and that others share its place.
func (s *Live) note(p pane, c cell, focus bool) string {
	note := ""
	if by, orders := s.sorts[p], s.table(p, c.width).Sorts; by > 0 && by < len(orders) {
		note = "by " + orders[by]
	}
	if len(c.panes) > 1 && focus {
		return join(note, fmt.Sprintf("%s: %d of %d", view.KeyLabel(s.env.Keys.NextPane), slices.Index(c.panes, p)+1, len(c.panes)))
	}
	return join(note, s.list(p).Place(s.rows(p)))
}

func join(a, b string) string {
	if a != "" && b != "" {
		return a + ", " + b
	}
	return a + b
}

// tableLines are the rows of a member under their header.
func (s *Live) tableLines(p pane, width, height int, focus bool) []string {
	th := *s.env.Theme
	t := s.table(p, width)
	switch {
	case len(t.Rows) == 0 && s.filter(p).Value() != "":
		return []string{"", " nothing matches the filter"}
	case len(t.Rows) == 0 && p == pane(Flags):
		return []string{"", " " + th.Good.On(th.Glyphs.OK) + " no flag is up"}
	case len(t.Rows) == 0:
		return []string{"", " nothing at the moment"}
	}
	draw := func(i int) string { return t.Draw(th, i) }
	if t.Bare {
		return s.list(p).Rows(th, len(t.Rows), width, height, focus, draw)
	}
	return append([]string{view.Header(th, t.Columns)}, s.list(p).Rows(th, len(t.Rows), width, height-1, focus, draw)...)
}

func (s *Live) treeLines(width, height int, focus bool) []string {
	shown := s.branches()
	switch {
	case s.treeErr != "":
		return []string{"", " " + s.treeErr}
	case len(shown) == 0:
		return []string{"", " nothing to show"}
	}
	return s.list(paneTree).Rows(*s.env.Theme, len(shown), width, height, focus, func(i int) string { return s.mark(shown[i]) })
}

// mark draws a branch with the sign of a change behind it.
func (s *Live) mark(b view.Branch) string {
	t := *s.env.Theme
	line := s.folds.Draw(t, b)
	switch changed, up, down := s.env.Session.Flash(b.Path); {
	case up:
		return line + " " + t.Good.On(t.Glyphs.Up)
	case down:
		return line + " " + t.Bad.On(t.Glyphs.Down)
	case changed:
		return line + " " + t.Flash.On("*")
	}
	return line
}

// briefSources is how many of its lines a pane of the brief gives to the sources.
func briefSources(height int) int { return max((height-2)/4, 1) }

// drawBrief draws the brief over the sources that it cites.
func (s *Live) drawBrief(box view.Box, width, height int) []string {
	t, b := *s.env.Theme, s.env.Session.Brief
	box.Title = "Brief"
	if b == nil {
		none := " No brief yet; " + view.KeyLabel(s.env.Keys.Brief) + " asks for it" + s.env.Session.Cost(1) + "."
		return box.Draw(t, []string{none}, width, height)
	}
	if b.BriefAt != nil {
		box.Title += " " + b.BriefAt.In(s.env.Session.Now.Location()).Format("15:04")
	}
	box.Note = view.KeyLabel(s.env.Keys.Tab[1]) + " all"
	if box.Focus {
		box.Note = "enter opens the source"
	}
	cited := Cited(b)
	below := min(len(cited), briefSources(height))
	prose := Prose(t, told(b), width-4)
	room := height - 2 - below
	lines := make([]string, 0, height)
	for i, line := range prose[:min(len(prose), room)] {
		if i == room-1 && len(prose) > room {
			line = view.Cut(line, width-5, "") + t.Glyphs.Ellipsis
		}
		lines = append(lines, " "+line)
	}
	for len(lines) < room {
		lines = append(lines, "")
	}
	source := func(i int) string { return s.env.SourceLine(cited[i], width-4) }
	lines = append(lines, s.list(paneBrief).Rows(t, len(cited), width-2, below, box.Focus, source)...)
	return box.Draw(t, lines, width, height)
}

func (s *Live) health(width int) []string {
	t, now := *s.env.Theme, s.env.Session
	fact := func(name, value string) string { return " " + t.Dim.On(view.Fit(name, 8, "")) + " " + value }
	pulse := "none yet"
	if now.Line.Pulses > 0 {
		pulse = human.Age(now.PulseAge()) + " ago"
		if width > 30 {
			pulse += fmt.Sprintf(", every %d s", api.PulseInterval/time.Second)
		}
	}
	lines := []string{fact("pulse", pulse), fact("state", fmt.Sprintf("%s old, #%d", human.Age(now.Age()), now.Deltas))}
	lines = append(lines, s.sources(fact)...)
	up := "lost"
	if now.Line.Connected {
		up = human.Age(now.Up())
	}
	lines = append(lines, fact("link", up+", "+human.Plural(now.Line.Reconnects, "break")))
	if now.Unmetered {
		lines = append(lines, fact("called", human.Plural(now.Spent.Total(), "time")+" here"))
	} else {
		lines = append(lines, fact("spent", human.Plural(now.Spent.Total(), "credit")+" here"))
	}
	if s.loading > 0 {
		lines = append(lines, fact("loading", human.Plural(s.loading, "minute")+" to come"))
	}
	return lines
}

// sources say how the sources do and which flags are up.
func (s *Live) sources(fact func(name, value string) string) []string {
	t, now := *s.env.Theme, s.env.Session
	if len(now.Sources) == 0 {
		return nil
	}
	ok := 0
	bad := ""
	for _, st := range now.Sources {
		if st.Status == api.SourceOK {
			ok++
		} else if bad == "" {
			bad = view.Line(st.ID)
		}
	}
	line := fmt.Sprintf("%s %d of %d ok", t.Good.On(t.Glyphs.OK), ok, len(now.Sources))
	if bad != "" {
		line = fmt.Sprintf("%s %d of %d ok: %s", t.Warn.On(t.Glyphs.Warn), ok, len(now.Sources), bad)
	}
	lines := []string{fact("sources", line)}
	if len(now.Flags) == 0 {
		return append(lines, fact("flags", "none"))
	}
	sign := Severity(t, now.Flags[0].Severity) // the gravest is the first
	return append(lines, fact("flags", fmt.Sprintf("%s %d, %s", sign, len(now.Flags), view.Line(now.Flags[0].Message))))
}

func (s *Live) activity(height int) []string {
	all := s.env.Session.Log.Entries()
	var lines []string
	for i := len(all) - 1; i >= 0 && len(lines) < height; i-- {
		lines = append(lines, " "+LogLine(*s.env.Theme, all[i], s.env.Session.Now.Location()))
	}
	return lines
}

// drawDetail draws all that is known of the row at the cursor of a pane, on the whole screen or beside it.
func (s *Live) drawDetail(from pane, width, height int, whole bool) []string {
	t := *s.env.Theme
	row := s.row(from)
	if row == nil {
		return view.Box{Title: "Detail", Focus: whole}.Draw(t, nil, width, height)
	}
	note := ""
	if whole {
		note = "esc back"
	}
	facts := s.facts(row, width-2)
	values := s.env.Session.Series(row.Series)
	room := height - 2 - len(facts)
	if !whole && room < 4 { // the curve says more than the last facts
		keep := max(len(facts)-(4-room), 3)
		facts, room = facts[:min(keep, len(facts))], max(room, 4)
	}
	chart := s.chart(values, row.field, width-2, min(room, 16))
	return view.Box{Title: row.Label, Note: note, Focus: whole}.Draw(t, append(chart, facts...), width, height)
}

// chart draws a series with the scale at its left, in the unit of a field where that is known. Where there are too few numbers it says how
// to get more.
func (s *Live) chart(values []float64, field string, width, height int) []string {
	t := *s.env.Theme
	if height < 2 {
		return nil
	}
	if len(values) < 2 {
		lines := []string{
			t.Dim.On(" The curve begins with the second state."),
			t.Dim.On(" " + view.KeyLabel(s.env.Keys.Trend) + " loads the last hour" + s.env.Session.Cost(trendPoints) + "."),
		}
		return append(lines, make([]string, max(height-2, 0))...)[:height]
	}
	low, high := slices.Min(values), slices.Max(values)
	labels := []string{number(low), number(high)}
	if field != "" {
		labels = human.FieldColumn(field, []any{low, high})
	}
	scale := max(view.Width(labels[0]), view.Width(labels[1]))
	curve := view.Chart(values, min(width-scale-3, 120), height, t.Glyphs)
	lines := make([]string, len(curve))
	for i, c := range curve {
		label := ""
		switch i {
		case 0:
			label = labels[1]
		case len(curve) - 1:
			label = labels[0]
		}
		lines[i] = " " + t.Dim.On(view.AlignRight(label, scale, "")) + " " + t.Accent.On(c)
	}
	return lines
}

func number(v float64) string {
	if v >= 1e6 {
		n := int64(v)
		return human.Compact(&n)
	}
	return human.Price(&v)
}

// facts are what is known of a row, in two columns where there is room, and where it comes from.
func (s *Live) facts(row *Row, width int) []string {
	t := *s.env.Theme
	var lines []string
	half, label := width/2, 11
	for _, f := range row.Facts {
		label = max(label, min(view.Width(f[0]), 20))
	}
	long := func(f [2]string) bool { return view.Width(f[1])+label+3 > half }
	for i := 0; i < len(row.Facts); i++ {
		f := row.Facts[i]
		line := " " + t.Dim.On(view.Fit(f[0], label, "")) + " " + f[1]
		if width >= 40 && !long(f) && i+1 < len(row.Facts) && !long(row.Facts[i+1]) {
			i++
			next := row.Facts[i]
			line = view.Fit(line, half, t.Glyphs.Ellipsis) + " " + t.Dim.On(view.Fit(next[0], label, "")) + " " + next[1]
		}
		lines = append(lines, line)
	}
	lines = append(lines, " "+t.Dim.On(view.Fit("path", label+1, ""))+view.Line(row.Main))
	source := fmt.Sprintf("[%d]", row.Ref)
	if c := s.env.Session.Citation(row.Ref); c != nil {
		source += " " + view.Line(c.SourceID)
	}
	if row.Late != "" {
		source += " " + t.Warn.On(row.Late)
	}
	return append(lines, " "+t.Dim.On(view.Fit("source", label+1, ""))+source)
}
