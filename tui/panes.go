package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// View draws the panes.
func (s *Live) View(width, height int) []string {
	s.width, s.height = width, height
	s.forget()
	if s.env.Session.State == nil {
		return s.waiting(width, height)
	}
	if s.detail && slices.Contains(s.members(), s.focus()) {
		return s.drawDetail(s.focus(), width, height, true)
	}
	s.detail = false
	cells := s.cells()
	drawn := make([][]string, len(cells))
	for i, c := range cells {
		drawn[i] = s.draw(c)
	}
	return compose(cells, drawn, height)
}

func (s *Live) draw(c cell) []string {
	t, p := *s.env.Theme, c.shown(s.seen)
	width, height := c.width-2, c.height-2
	box := view.Box{Focus: p == s.focus() && !s.env.Away, Note: s.filter(p).Note()}
	var lines []string
	switch p {
	case paneTree:
		box.Title, lines = "State of "+view.Line(s.env.Session.Pack), s.treeLines(width, height, box.Focus)
		box.Note = join(box.Note, s.list(p).Place(len(s.branches())))
	case paneBrief:
		return s.drawBrief(box, c)
	case paneHealth:
		box.Title, lines = "Health", s.health(width)
		box.Note = join(box.Note, s.shared(p, c, box.Focus))
	case paneSources:
		box.Title, lines = "Sources", s.sourceLines(width, height)
		box.Note = view.KeyLabel(s.env.Keys.Tab[4]) + " all"
	case paneDetail:
		from := s.focus()
		if members := s.members(); !slices.Contains(members, from) {
			from = members[0]
		}
		return s.drawDetail(from, c.width, c.height, false)
	case paneWatch:
		box.Title, lines = "Watchlist", s.watchLines(width, height, box.Focus)
		box.Note = firstOf(s.shared(p, c, box.Focus), s.list(p).Place(s.rows(p)))
	case paneNews:
		box.Title, lines = "News", s.newsLines(width, height, box.Focus)
		box.Note = firstOf(s.shared(p, c, box.Focus), s.list(p).Place(len(s.env.Session.Log.News())))
	default:
		box.Title, lines = Title(s.env.Session, Member(p)), s.tableLines(p, width, height, box.Focus)
		box.Note = join(box.Note, s.note(p, c, box.Focus))
	}
	return box.Draw(t, lines, c.width, c.height)
}

// note is what the upper edge of a member's pane says: its order, which rows are shown, and that others share its place.
func (s *Live) note(p pane, c cell, focus bool) string {
	note := ""
	if by, orders := s.sorts[p], s.table(p, s.width).Sorts; by > 0 && by < len(orders) {
		note = "by " + orders[by]
	}
	shared, place := s.shared(p, c, focus), s.list(p).Place(s.rows(p))
	room := c.width - view.Width(Title(s.env.Session, Member(p))) - 8
	for _, all := range []string{join(join(note, shared), place), join(note, shared), shared} {
		if view.Width(all) <= room && all != "" {
			return all
		}
	}
	return place
}

// shared says in the focus that others share a place.
func (s *Live) shared(p pane, c cell, focus bool) string {
	if len(c.panes) < 2 || !focus {
		return ""
	}
	return fmt.Sprintf("%s: %d of %d", view.KeyLabel(s.env.Keys.NextPane), slices.Index(c.panes, p)+1, len(c.panes))
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
func briefSources(height int) int {
	if height < 8 {
		return 0
	}
	return max((height-2)/4, 1)
}

// drawBrief draws the brief over the sources that it cites.
func (s *Live) drawBrief(box view.Box, c cell) []string {
	t, b, width, height := *s.env.Theme, s.env.Session.Brief, c.width, c.height
	box.Title = s.env.briefTitle()
	if b == nil || b.Brief == "" {
		return box.Draw(t, []string{" " + noBrief(s.env.Session)}, width, height)
	}
	box.Note = view.KeyLabel(s.env.Keys.Tab[1]) + " all"
	if box.Focus {
		box.Note = firstOf(s.shared(paneBrief, c, box.Focus), "enter opens the source")
	}
	cited := Cited(b)
	below := min(len(cited), briefSources(height))
	if box.Focus {
		below = min(len(cited), max(below, 1))
	}
	prose := Prose(t, briefText(b), width-4)
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
	lines := s.sources(fact)
	if now.Recorded { // by no connection
		return append(lines, fact("made", view.When(now.TS, now.Now)))
	}
	pulse := "none yet"
	if now.Line.Pulses > 0 {
		pulse = human.Age(now.PulseAge()) + " ago"
		if width > 30 {
			pulse += fmt.Sprintf(", every %d s", api.PulseInterval/time.Second)
		}
	}
	up := "lost"
	if now.Line.Connected {
		up = human.Age(now.Up())
	}
	lines = append(lines, fact("link", up+", "+human.Plural(now.Line.Reconnects, "break")))
	if now.Unmetered || now.Free() {
		lines = append(lines, fact("called", human.Plural(now.Spent.Total(), "time")+" here"))
	} else if now.Line.Connected || now.Spent.Total() > 0 {
		lines = append(lines, fact("spent", human.Plural(now.Spent.Total(), "credit")+" here"))
	}
	lines = append(lines, fact("pulse", pulse), fact("state", fmt.Sprintf("%s old, #%d", human.Age(now.Age()), now.Deltas)))
	return lines
}

// sources say how the sources do and which flags are up.
func (s *Live) sources(fact func(name, value string) string) []string {
	t, now := *s.env.Theme, s.env.Session
	if len(now.Sources) == 0 {
		return nil
	}
	ok, late := 0, ""
	for i := range now.Sources {
		switch st := &now.Sources[i]; {
		case st.Status == api.SourceOK:
			ok++
		case late == "":
			late = view.Line(st.ID)
		}
	}
	line := fmt.Sprintf("%d of %d ok", ok, len(now.Sources))
	if ok == len(now.Sources) {
		line = t.Good.On(t.Glyphs.OK) + " " + line
	} else {
		line = t.Warn.On(t.Glyphs.Warn) + " " + line + ": " + late
	}
	lines := []string{fact("sources", line)}
	if len(now.Flags) == 0 {
		return append(lines, fact("flags", "none"))
	}
	sign := Severity(t, now.Flags[0].Severity) // the gravest is the first
	return append(lines, fact("flags", fmt.Sprintf("%s %d, %s", sign, len(now.Flags), view.Line(now.Flags[0].Message))))
}

// sourceLines are the sources, those that do not answer first.
func (s *Live) sourceLines(width, height int) []string {
	t := *s.env.Theme
	list := slices.Clone(s.env.Session.Sources)
	slices.SortStableFunc(list, func(a, b api.SourceStatus) int {
		return sign(a.Status == api.SourceOK) - sign(b.Status == api.SourceOK)
	})
	var lines []string
	for i, st := range list {
		if i == height-1 && len(list) > height {
			return append(lines, t.Dim.On(fmt.Sprintf(" and %d more", len(list)-i)))
		}
		age := human.Unknown
		if st.FetchedAt != nil {
			age = human.Age(s.env.Session.ServiceNow().Sub(*st.FetchedAt))
		}
		name := " " + HealthMark(t, st.Status) + fmt.Sprintf(" %4s ", fmt.Sprintf("[%d]", st.Ref)) + view.Line(st.ID)
		lines = append(lines, view.Sides(name, t.Dim.On(age)+" ", width, t.Glyphs.Ellipsis))
	}
	if len(list) == 0 {
		return []string{"", " This state does not say."}
	}
	return lines
}

func sign(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (s *Live) watchLines(width, height int, focus bool) []string {
	if s.env.Session.Watch == nil {
		again := view.KeyLabel(s.env.Keys.Reload) + " asks for it" + s.env.Session.Cost(1) + "."
		return []string{"", " " + view.Line(strings.Join(s.env.Watchlist, ", ")), " " + again}
	}
	return s.env.answerLines(s.list(paneWatch), watched(s.env.Session.Watch), width, height, focus)
}

// newsLines are what happened, newest first.
func (s *Live) newsLines(width, height int, focus bool) []string {
	t, news := *s.env.Theme, s.env.Session.Log.News()
	if len(news) == 0 {
		return []string{"", t.Dim.On(" What happens stands here: flags, moves of 1%,"), t.Dim.On(" headlines, sources that fail.")}
	}
	zone, today, column := s.env.Session.Now.Location(), s.env.Session.Now.Format("Jan 2"), 5
	when := func(at time.Time) string {
		switch at = at.In(zone); {
		case at.Unix() <= 0:
			return ""
		case at.Format("Jan 2") == today:
			return at.Format("15:04")
		}
		return at.Format("Jan 2")
	}
	for _, e := range news {
		column = max(column, len(when(e.At)))
	}
	const around = 4 // columns: before the time, and around the mark
	return s.list(paneNews).Rows(t, len(news), width, height, focus, func(i int) string {
		told := view.CutWhole(news[i].Message(), width-column-around, t.Glyphs.Ellipsis)
		return t.Dim.On(view.Fit(when(news[i].At), column, "")) + " " + Marked(t, news[i]) + " " + told
	})
}

// waiting is what is shown before the first state: why there is none, as far as the service says.
func (s *Live) waiting(width, height int) []string {
	t, now := *s.env.Theme, s.env.Session
	lines := []string{"", " Waiting for the first state of pack " + view.Line(now.Pack) + "."}
	if p := now.Line.Problem; p != nil {
		lines = problemLines(t, *p)
	}
	if len(now.Sources) > 0 {
		lines = append(lines, "", " "+t.Bold.On("Why: what its sources say"))
		network := true
		for _, r := range reasons(now.Sources) {
			lines = append(lines, fmt.Sprintf("  %s %s: %s", HealthMark(t, r.state), r.of(), r.why))
			network = network && strings.HasPrefix(r.why, "network")
		}
		lines = append(lines, "")
		if network {
			const ask = "Is there a network where the service runs? Names have to resolve, and HTTPS has to get out."
			for _, line := range view.Wrap(ask, width-4) {
				lines = append(lines, " "+line)
			}
		}
		lines = append(lines, " "+view.KeyLabel(s.env.Keys.Tab[4])+" shows each source. The first state comes by itself when one answers.")
	}
	return view.Box{Title: "Live", Focus: true}.Draw(t, lines, width, height)
}

// reason is what sources have in common that have no data.
type reason struct {
	why   string
	state api.SourceState
	ids   []string
}

func (r reason) of() string {
	if len(r.ids) == 1 {
		return r.ids[0]
	}
	return human.Plural(len(r.ids), "source")
}

// reasons are why sources have no data, the most frequent first.
func reasons(sources []api.SourceStatus) (list []reason) {
	for _, s := range sources {
		why := "not asked yet"
		switch {
		case s.Error != nil:
			why = view.Line(*s.Error)
		case s.Status == api.SourceOK:
			why = "answers"
		}
		i := slices.IndexFunc(list, func(r reason) bool { return r.why == why })
		if i < 0 {
			i = len(list)
			list = append(list, reason{why: why, state: s.Status})
		}
		list[i].ids = append(list[i].ids, view.Line(s.ID))
	}
	slices.SortStableFunc(list, func(a, b reason) int { return len(b.ids) - len(a.ids) })
	return list
}

func problemLines(t view.Theme, p session.Problem) []string {
	lines := []string{"", " " + t.Bad.On(t.Glyphs.Bad+" "+p.What)}
	if p.Next != "" {
		lines = append(lines, " "+p.Next)
	}
	if p.RequestID != "" {
		lines = append(lines, " request "+p.RequestID)
	}
	return lines
}
