package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// Charts are how charts are drawn, on every screen. The zero Charts are drawn as usual.
type Charts struct {
	Span    time.Duration // that they go back, 0 for session.MostSpan
	Drawing view.Drawing  // "" for view.Curve

	second *Row   // that is drawn beside each other row, nil for none
	of     string // its pack
}

// beside is the row that is drawn beside a row of a pack, nil for none.
func (c *Charts) beside(row *Row, pack string) *Row {
	if c.second == nil || c.of != pack || c.second.Series == row.Series {
		return nil
	}
	return c.second
}

// versus has a row drawn beside each other one, or no longer.
func (s *Live) versus(row *Row) tea.Cmd {
	charts, pack, key := s.env.Charts, s.env.Session.Pack, view.KeyLabel(s.env.Keys.Versus)
	switch {
	case row.Series == "":
		return Notify("this row has no curve")
	case charts.second != nil && charts.of == pack && charts.second.Series == row.Series:
		charts.second = nil
		return Notify("each curve is alone again")
	}
	kept := *row
	charts.second, charts.of = &kept, pack
	return Notify("other rows are compared with " + row.Label + "; " + key + " on it again ends that")
}

// span is Span, or the usual one.
func (l *Charts) span() time.Duration {
	if l.Span == 0 {
		return session.MostSpan
	}
	return l.Span
}

// next is the drawing after that of l.
func (l *Charts) next() view.Drawing {
	all := view.Drawings()
	return all[(max(slices.Index(all, l.Drawing), 0)+1)%len(all)]
}

// spanChips are the spans that a chart can have, that which it has in brackets, and where each ends.
func (l *Charts) spanChips() (line string, ends []int) {
	for i, span := range session.Spans() {
		if i > 0 {
			line += " "
		}
		if name := spanName(span); span == l.span() {
			line += "[" + name + "]"
		} else {
			line += name
		}
		ends = append(ends, len(line))
	}
	return line, ends
}

// spanName is a round span: 1h, 24h, 7d, 15m.
func spanName(span time.Duration) string {
	switch {
	case span > session.MostSpan:
		return fmt.Sprintf("%dd", int(span/session.MostSpan))
	case span >= time.Hour:
		return fmt.Sprintf("%dh", int(span/time.Hour))
	}
	return shortSpan(span)
}

// setSpan has charts go back so far, and asks for what is not known of it.
func (s *Live) setSpan(span time.Duration) tea.Cmd {
	s.env.Charts.Span = span
	now := s.env.Session
	if now.Recorded || s.env.Service == nil || span == time.Hour && !now.Unmetered && !now.Demo { // of which enough is known
		return nil
	}
	return s.askSpan()
}

// nextSpan is setSpan of the next one.
func (s *Live) nextSpan() tea.Cmd {
	all := session.Spans()
	return s.setSpan(all[(slices.Index(all, s.env.Charts.span())+1)%len(all)])
}

// clickSpan is setSpan of the one at a column of the upper edge of a chart. on says whether there is one.
func (s *Live) clickSpan(x, width int, note string) (cmd tea.Cmd, on bool) {
	x -= width - 3 - view.Width(note)
	_, ends := s.env.Charts.spanChips()
	for i, end := range ends {
		if x >= 0 && x < end {
			return s.setSpan(session.Spans()[i]), true
		}
	}
	return nil, false
}

// chartNote is what the upper edge of a chart says.
func (s *Live) chartNote(whole bool) string {
	note, _ := s.env.Charts.spanChips()
	if whole {
		note = join(note, "esc back")
	}
	return note
}

// charted is the pane whose row the chart shows.
func (s *Live) charted() pane {
	members := s.members()
	if from := s.focus(); slices.Contains(members, from) || len(members) == 0 {
		return from
	}
	return members[0]
}

// lacks reports whether the past of the row in the chart can be asked for and was not, and of which member.
func (s *Live) lacks() (member string, lacking bool) {
	now := s.env.Session
	if now.View == nil || now.Recorded || s.env.Service == nil || !now.Line.Connected {
		return "", false
	}
	member, span := string(s.charted()), s.env.Charts.span()
	return member, slices.Contains(now.Pasts(), member) && span != session.MostSpan && !now.Asked(member, span)
}

// follow asks for what the chart lacks, where calls are not charged.
func (s *Live) follow() tea.Cmd {
	member, lacking := s.lacks()
	if !lacking || !s.env.Session.Unmetered {
		return nil
	}
	return s.env.askPast(member, s.env.Charts.span())
}

// askSpan asks for what the chart lacks, after a question where that is charged.
func (s *Live) askSpan() tea.Cmd {
	member, lacking := s.lacks()
	now, span := s.env.Session, s.env.Charts.span()
	switch {
	case !lacking:
		return nil
	case now.Unmetered, now.Demo:
		return s.env.askPast(member, span)
	}
	return Send(ConfirmMsg{
		Question: fmt.Sprintf("Load %s of %s? It costs %s.", spanName(span), Title(now, Member(member)), now.Costs(1)),
		Lines:    []string{"One call for all rows of the table. What is known is drawn without it."},
		Yes:      func() tea.Msg { return loadSpanMsg{now.Pack, member, span} },
	})
}

// loadSpanMsg says that the user agreed to load the past of a member.
type loadSpanMsg struct {
	pack, member string
	span         time.Duration
}

// askPast makes the command that asks for the past of a member over one of the spans.
func (e *Env) askPast(member string, span time.Duration) tea.Cmd {
	points := farPoints
	if span < session.MostSpan {
		points = hourPoints
	}
	e.Session.Ask(member, span)
	e.Session.Loading++
	return e.askTrend(sdk.SeriesRequest{Pack: e.Session.Pack, Path: member, Points: points, Span: span})
}

// refused tells why the past of a chart cannot be had, and goes back to what can.
func (m *Model) refused(msg TrendMsg) {
	if msg.request.Span == session.MostSpan || msg.request.Span != m.env.Charts.Span {
		return
	}
	m.env.Charts.Span = session.MostSpan
	p := Explain(m.env.Keys, msg.err)
	m.notify(strings.TrimSuffix(p.What, ".") + "; back to " + spanName(session.MostSpan))
}
