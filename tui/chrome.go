package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/help"
	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

func (m *Model) tooSmall() bool { return m.width < leastWidth || m.height < leastHeight }

// View draws everything, as many lines as the terminal has.
func (m *Model) View() string {
	defer m.noteCrash()
	if m.tooSmall() {
		return strings.Join(m.small(), "\n")
	}
	if full, ok := m.screens[m.at].(Full); ok {
		if lines := full.Full(m.width, m.height); lines != nil {
			return strings.Join(lines, "\n")
		}
	}
	body := m.screens[m.at].View(m.width, m.height-chromeTop-chromeBottom)
	if m.at == 0 && m.lost() {
		body = grey(m.theme, body)
	}
	switch {
	case m.confirmation != nil:
		body = m.confirmation.draw(m.theme, body, m.width)
	case m.palette != nil:
		body = m.palette.draw(m.theme, m.commands(), body, m.width)
	case m.help:
		body = m.drawHelp(m.width, len(body))
	case m.notice != nil:
		body = Overlay(m.theme, body, m.width, "Last error", m.notice)
	}
	tail := m.theme.Glyphs.Ellipsis
	lines := make([]string, 0, m.height)
	lines = append(lines, m.header(), view.Fit(strings.Join(m.tabs(), ""), m.width, tail))
	lines = append(lines, body...)
	lines = append(lines, m.status(), view.Fit(" "+m.footer(), m.width, tail))
	if m.theme.Glyphs.ASCII {
		for i := range lines {
			lines[i] = view.ASCII(lines[i])
		}
	}
	return strings.Join(lines, "\n")
}

// lost reports whether what is shown is old because there is no connection.
func (m *Model) lost() bool {
	status := m.env.Session.Status()
	return m.env.Session.State != nil && !m.help && (status == session.Retry || status == session.Offline)
}

func grey(t view.Theme, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = t.Dim.On(ansi.Strip(line))
	}
	return out
}

func (m *Model) small() []string {
	lines := view.Blank(max(m.width, 0), max(m.height, 1))
	said := fmt.Sprintf("terminal %dx%d, need %dx%d", m.width, m.height, leastWidth, leastHeight)
	lines[len(lines)/2] = view.Fit(view.Spaces((m.width-len(said))/2)+said, m.width, "")
	return lines
}

// mark is the status as glyph and word in its colour.
func (m *Model) mark() string {
	t, s := m.theme, m.env.Session
	glyph, style := t.Glyphs.Retry, t.Warn
	switch s.Status() {
	case session.Live:
		glyph, style = t.Glyphs.Live, t.Good
	case session.Stale:
		glyph = t.Glyphs.Stale
	case session.Paused:
		glyph = t.Glyphs.Paused
	case session.Offline:
		glyph, style = t.Glyphs.Offline, t.Bad
	case session.Recorded:
		glyph, style = t.Glyphs.Arrow, t.Accent
	}
	word := s.Word()
	if s.Status() == session.Live {
		word += " " + human.Clock(s.PulseAge())
	}
	if s.Held() {
		word += ", a newer state waits"
	}
	return style.On(t.Bold.On(glyph + " " + word))
}

// header is the first line: what is shown, how the stream does, how old the state is, what is left, where it comes from.
func (m *Model) header() string {
	t, s := m.theme, m.env.Session
	left := " " + t.Bold.On("ctx") + "  " + t.Accent.On(view.Line(s.Pack)) + "  " + m.mark()
	if s.State != nil {
		left += "  " + m.age()
	}
	return view.Sides(left, m.headerRight()+" ", m.width, t.Glyphs.Ellipsis)
}

// age is how old the state is, as a bar of what the service promises where there is room.
func (m *Model) age() string {
	t, s := m.theme, m.env.Session
	if s.Recorded {
		return "made " + s.TS.In(s.Now.Location()).Format(time.DateTime)
	}
	age := human.Clock(s.Age())
	if data := s.DataAge(); data > s.Age() {
		age += ", data " + human.Clock(data)
	}
	bar, style := view.Bar(s.Age().Seconds()/api.MaxFreshAge, 6, t.Glyphs), t.Dim
	if s.Stale() {
		age, style = t.Warn.On(t.Bold.On(age)), t.Warn
	}
	switch {
	case m.width < usualWidth:
		return "age " + age
	case m.width < 100:
		return "state age " + age + " " + style.On(bar)
	}
	return "state age " + age + " " + style.On(bar) + t.Dim.On(" of "+human.Clock(api.MaxFreshAge*time.Second))
}

// headerRight are the parts of the header that stand at its right, as many as there is room for.
func (m *Model) headerRight() string {
	t, s := m.theme, m.env.Session
	var parts []string
	if s.Demo {
		parts = append(parts, t.Warn.On(t.Bold.On("DEMO DATA")))
	}
	if s.Balance != nil && !s.Foreign {
		parts = append(parts, human.Count(*s.Balance)+" cr")
	} else if m.width >= 100 && !s.Unmetered {
		parts = append(parts, fmt.Sprintf("%d cr spent", s.Spent.Total()))
	}
	if where := view.Line(m.cfg.Where); where != "" && (m.width >= 100 || s.Balance == nil && m.width >= usualWidth) {
		parts = append(parts, view.Cut(where, 18, t.Glyphs.Ellipsis))
	}
	if m.width >= 110 {
		parts = append(parts, t.Dim.On(s.Now.Format(time.TimeOnly)))
	}
	return strings.Join(parts, "  ")
}

// tabs are the names of the screens, that which is shown in brackets. In little room they are short.
func (m *Model) tabs() []string {
	labels := make([]string, 0, len(m.screens))
	for i, name := range view.ScreenNames() {
		key := view.KeyLabel(m.env.Keys.Tab[i])
		switch {
		case i == m.at && m.width < usualWidth:
			labels = append(labels, " "+m.theme.Tab.On("["+key+" "+name+"]"))
		case i == m.at:
			labels = append(labels, m.theme.Tab.On("["+key+" "+name+"]"))
		case m.width < usualWidth:
			labels = append(labels, " "+key+" "+name[:3])
		default:
			labels = append(labels, " "+key+" "+name+" ")
		}
	}
	return labels
}

// status is the line over the footer: a problem, or what was told last, and what changed last.
func (m *Model) status() string {
	t, s := m.theme, m.env.Session
	left, right := "", ""
	switch {
	case m.problem != nil:
		left = " " + t.Bad.On(t.Glyphs.Bad+" "+m.problem.String())
		return view.Sides(left, t.Dim.On(view.KeyLabel(m.env.Keys.LastError)+" more  esc "), m.width, t.Glyphs.Ellipsis)
	case m.told != "" && s.Now.Sub(m.toldAt) < toastFor:
		left = " " + m.told
	case s.Line.Problem != nil && !s.Line.Connected:
		left = " " + t.Warn.On(s.Line.Problem.String())
	}
	if s.Deltas > 0 {
		right = t.Dim.On(fmt.Sprintf("#%d: %s ", s.Deltas, session.Counted(len(s.Changes))))
	}
	return view.Sides(left, right, m.width, t.Glyphs.Ellipsis)
}

func (m *Model) footer() string {
	k := m.env.Keys
	keys := m.screens[m.at].Bindings()
	switch {
	case m.confirmation != nil:
		keys = m.confirmation.bindings()
	case m.palette != nil:
		keys = []key.Binding{view.KeyGroup("enter", "do it"), view.KeyGroup("esc", "close")}
	case m.help, m.notice != nil:
		keys = []key.Binding{view.KeyGroup("any key", "close")}
	}
	line := m.helper()
	line.Width = m.width - 2
	if m.confirmation == nil && m.palette == nil && !m.help && m.notice == nil && !m.screens[m.at].Typing() {
		always := line.ShortHelpView([]key.Binding{k.Help, k.Quit}) // never what gives way
		line.Width -= view.Width(always) + 2
		return view.Fit(line.ShortHelpView(keys), line.Width, "") + "  " + always
	}
	return line.ShortHelpView(keys)
}

// helper draws keys, without colours of its own.
func (m *Model) helper() help.Model {
	h := help.New()
	h.Styles = help.Styles{}
	h.ShortSeparator, h.FullSeparator, h.Ellipsis = "  ", "   ", m.theme.Glyphs.Ellipsis
	return h
}

func (m *Model) drawHelp(width, height int) []string {
	titles, groups := m.env.Keys.Global()
	titles = append([]string{"This screen: " + view.ScreenNames()[m.at]}, titles...)
	groups = append([][]key.Binding{m.screens[m.at].Bindings()}, groups...)
	h := m.helper()
	var columns [][]string
	for i, group := range groups {
		column := []string{m.theme.Bold.On(titles[i])}
		if len(group) > 0 {
			column = append(column, strings.Split(h.FullHelpView([][]key.Binding{group}), "\n")...)
		}
		columns = append(columns, append(column, ""))
	}
	box := view.Box{Title: "Keys", Note: "any key closes", Focus: true}
	return box.Draw(m.theme, flow(columns, width-4, height-2), width, height)
}

// flow puts blocks of lines under one another, and beside one another where the height is used up.
func flow(blocks [][]string, width, height int) []string {
	var stacks [][]string
	for _, b := range blocks {
		last := len(stacks) - 1
		if last >= 0 && len(stacks[last])+len(b)-1 <= height {
			stacks[last] = append(stacks[last], b...)
			continue
		}
		stacks = append(stacks, append([]string(nil), b...))
	}
	lines := make([]string, height)
	each := width / max(len(stacks), 1)
	for y := range lines {
		for _, s := range stacks {
			part := ""
			if y < len(s) {
				part = s[y]
			}
			lines[y] += " " + view.Fit(part, each-1, "")
		}
	}
	return lines
}
