package tui

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

func (m *Model) tooSmall() bool { return m.width < leastWidth || m.height < leastHeight }

// middle is what stands between header and footer, below the flags.
func (m *Model) middle(width, height int) []string {
	if m.drawn.lines == nil || m.drawn.width != width || len(m.drawn.lines) != height {
		m.drawn = drawn{m.body(width, height), width, m.env.Session.Now}
	}
	if m.at == 0 && m.lost() {
		return grey(m.theme, m.drawn.lines)
	}
	return m.drawn.lines
}

// side is m as one of two: a heading in place of the header, its flags, its panes.
func (m *Model) side(width, height int) []string {
	t := m.theme
	name := " " + t.Bold.On(view.Line(m.env.Session.Pack)) + " "
	if !m.env.Away {
		name = t.Tab.On("[" + view.Line(m.env.Session.Pack) + "]")
	}
	lines := []string{view.Sides(name+" "+m.standing(width-view.Width(name)-1), m.raised(false), width, t.Glyphs.Ellipsis)}
	if strip := m.strip(width); strip != "" {
		lines = append(lines, strip)
	}
	return append(lines, m.middle(width, height-len(lines))...)
}

// frame draws the header and what is below around a body, as many lines as the terminal has.
func (m *Model) frame(strip string, body []string) string {
	if m.tooSmall() {
		return strings.Join(m.small(), "\n")
	}
	if full, ok := m.screens[m.at].(Full); ok {
		if lines := full.Full(m.width, m.height); lines != nil {
			return strings.Join(lines, "\n")
		}
	}
	switch {
	case m.confirmation != nil:
		body = m.confirmation.draw(m.theme, body, m.width)
	case m.alertForm != nil:
		body = m.alertForm.draw(m.theme, m.env.Session, body, m.width)
	case m.palette != nil:
		body = m.palette.draw(m.theme, m.commands(), body, m.width)
	case m.help > 0:
		body = m.drawHelp(m.width, len(body))
	case m.notice != nil:
		body = Overlay(m.theme, body, m.width, "Last error", m.notice)
	}
	tail := m.theme.Glyphs.Ellipsis
	lines := make([]string, 0, m.height)
	lines = append(lines, m.header(), view.Fit(strings.Join(m.tabs(), ""), m.width, tail))
	if strip != "" {
		lines = append(lines, strip)
	}
	lines = append(lines, body...)
	lines = append(lines, m.status(), view.Fit(" "+m.footer(), m.width, tail))
	if m.theme.Glyphs.ASCII {
		for i := range lines {
			lines[i] = view.ASCII(lines[i])
		}
	}
	return strings.Join(lines, "\n")
}

func (m *Model) body(width, height int) []string {
	if m.welcome != nil {
		return m.drawWelcome(width, height)
	}
	return m.screens[m.at].View(width, height)
}

// lost reports whether what is shown is old because there is no connection.
func (m *Model) lost() bool {
	status := m.env.Session.Status()
	return m.env.Session.State != nil && m.help == 0 && (status == session.Retry || status == session.Offline)
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
	if past := m.past(); past != nil {
		return t.Alarm.On(" PAST " + view.When(past.Now.Add(-time.Minute), s.Now) + " ")
	}
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

// header is the first line: what is shown, how the stream does, how old the state is, what is left, where it comes from. What is of
// one of two packs is told at its heading.
func (m *Model) header() string {
	t := m.theme
	left, right := " "+t.Bold.On("ctx")+"  "+strings.Join(m.packLabels(), ""), m.headerRight()+" "
	if !m.program.split() {
		left += m.gap()
		left += m.standing(m.width - view.Width(left+right) - 1)
	}
	return view.Sides(left, right, m.width, t.Glyphs.Ellipsis)
}

// standing is how the stream of a pack does and how old its state is, and its sources where there is room.
func (m *Model) standing(width int) string {
	said := m.mark()
	if m.env.Session.State == nil || m.past() != nil {
		return said
	}
	said += m.gap() + m.age() + m.proven()
	if answering := m.answering(); view.Width(said+answering) <= width { // whole, or not at all
		said += answering
	}
	return said
}

// gap stands between the parts of the header.
func (m *Model) gap() string {
	if m.width < wideHeader {
		return "  "
	}
	return "   "
}

// Widths from which on the header says more.
const (
	wideHeader  = 100
	wholeHeader = 110
	mostOthers  = 4 // packs beside the one that is shown
)

// packLabels are the pack that is shown and, where there is room, those that a key or a click goes over to.
func (m *Model) packLabels() []string {
	t, now := m.theme, m.env.Session.Pack
	labels := []string{t.Accent.On(t.Bold.On(view.Line(now)))}
	if other := m.program.other(); other != nil && !m.program.split() {
		labels[0] += t.Dim.On(" +" + view.Line(other.env.Session.Pack))
	}
	if m.width < wideHeader {
		return labels
	}
	for _, pack := range m.others() {
		label := " " + t.Dim.On(view.Line(pack))
		if len(labels) == 1 {
			label = " " + t.Accent.On(t.Glyphs.Next) + t.Dim.On(view.Line(pack))
		}
		labels = append(labels, label)
	}
	return labels
}

// others are the packs beside the one that is shown.
func (m *Model) others() (list []string) {
	for _, pack := range m.packs {
		named := m.program.other() != nil && !m.program.split() && pack == m.program.other().env.Session.Pack
		if pack != m.env.Session.Pack && !named && len(list) < mostOthers {
			list = append(list, pack)
		}
	}
	return list
}

// clickHeader goes over to the pack whose name is at column x.
func (m *Model) clickHeader(x int) tea.Cmd {
	at := len(" ctx  ")
	for i, label := range m.packLabels() {
		if at += view.Width(label); x < at {
			if i == 0 {
				return nil
			}
			return m.switchPack(m.others()[i-1])
		}
	}
	return nil
}

// age is how old the state is, as a bar of what the service promises where there is room.
func (m *Model) age() string {
	t, s := m.theme, m.env.Session
	if s.Recorded {
		return "made " + s.TS.In(s.Now.Location()).Format(time.DateTime)
	}
	age, style, cells := human.Age(s.Age()), t.Good, 10
	if data := s.DataAge(); data > s.Age() {
		age += ", data " + human.Age(data)
	}
	switch share := s.DataAge().Seconds() / api.MaxFreshAge; {
	case s.Stale():
		age, style = t.Warn.On(t.Bold.On(age)), t.Bad
	case share > 0.6:
		style = t.Warn
	}
	switch {
	case m.width < usualWidth:
		return age
	case m.width < wideHeader:
		cells = 6
	}
	full := min(max(int(math.Ceil(s.Age().Seconds()/api.MaxFreshAge*float64(cells))), 0), cells)
	if m.width >= wideHeader && !s.Stale() {
		age = "state " + age + " old"
	}
	return age + " " + style.On(strings.Repeat(t.Glyphs.Full, full)) + t.Border.On(strings.Repeat(t.Glyphs.Empty, cells-full))
}

func (m *Model) answering() string {
	t, s := m.theme, m.env.Session
	if len(s.Sources) == 0 || m.width < usualWidth {
		return ""
	}
	ok := 0
	for _, source := range s.Sources {
		if source.Status == api.SourceOK {
			ok++
		}
	}
	said := fmt.Sprintf("%d/%d", ok, len(s.Sources))
	if m.width > usualWidth || s.DataAge() == s.Age() {
		said += " sources"
	}
	if ok < len(s.Sources) {
		said = t.Warn.On(said)
	}
	return m.gap() + said
}

// headerRight are the parts of the header that stand at its right, as many as there is room for.
func (m *Model) headerRight() string {
	t, s := m.theme, m.env.Session
	var parts []string
	if s.Demo {
		parts = append(parts, t.Warn.On(t.Bold.On("DEMO DATA")))
	}
	switch {
	case s.Unmetered, m.width < usualWidth:
	case s.Free() && s.Left.FreeCalls != nil:
		parts = append(parts, human.Plural(int(*s.Left.FreeCalls), "free call"))
	case s.Balance != nil && !s.Foreign:
		parts = append(parts, human.Count(*s.Balance)+" cr")
	case s.Left.Credits != nil:
		parts = append(parts, human.Count(*s.Left.Credits)+" cr")
	case m.width >= wideHeader && s.Spent.Total() > 0: // of what never answered nothing can be said
		parts = append(parts, fmt.Sprintf("%d cr spent", s.Spent.Total()))
	}
	if where := view.Line(m.cfg.Where); where != "" && m.width >= wholeHeader {
		parts = append(parts, view.Cut(where, 18, t.Glyphs.Ellipsis))
	}
	if m.width >= wholeHeader {
		parts = append(parts, t.Dim.On(s.Now.Format(time.TimeOnly)))
	}
	return strings.Join(parts, m.gap())
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
			labels = append(labels, " "+m.theme.Key.On(key)+" "+name[:3])
		default:
			labels = append(labels, " "+m.theme.Key.On(key)+" "+name+" ")
		}
	}
	flags := m.raised(true)
	if view.Width(strings.Join(labels, "")+flags) > m.width {
		flags = m.raised(false)
	}
	labels[0] += flags
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
	case m.toast != "" && s.Now.Sub(m.toastAt) < toastFor:
		left = " " + m.toast
	case s.Line.Problem != nil && !s.Line.Connected:
		left = " " + t.Warn.On(s.Line.Problem.String())
	case m.quietly() != "":
		left = " " + t.Dim.On(m.quietly())
	}
	if s.Deltas > 0 {
		right = t.Dim.On(fmt.Sprintf("#%d: %s ", s.Deltas, session.Counted(len(s.Changes))))
	}
	return view.Sides(left, right, m.width, t.Glyphs.Ellipsis)
}

// quietly is what the surroundings have to tell, "" for nothing.
func (m *Model) quietly() string {
	if m.cfg.Notice == nil {
		return ""
	}
	return m.cfg.Notice()
}

func (m *Model) footer() string {
	k := m.env.Keys
	keys := m.screens[m.at].Bindings()
	switch {
	case m.welcome != nil:
		return view.KeyLine(m.theme, m.welcomeKeys(), m.width-2)
	case m.confirmation != nil:
		keys = m.confirmation.bindings()
	case m.alertForm != nil:
		keys = alertKeys()
	case m.palette != nil:
		keys = []key.Binding{view.KeyGroup("enter", "do it"), view.KeyGroup("esc", "close")}
	case m.help > 0 && m.help < m.helpPages:
		keys = []key.Binding{view.KeyGroup("any key", "more"), view.KeyGroup("esc", "close")}
	case m.help > 0, m.notice != nil:
		keys = []key.Binding{view.KeyGroup("any key", "close")}
	}
	width := m.width - 2
	if m.confirmation == nil && m.alertForm == nil && m.palette == nil && m.help == 0 && m.notice == nil && !m.screens[m.at].Typing() {
		last := []key.Binding{k.Help, k.Quit}
		if m.program.other() != nil {
			last = append([]key.Binding{k.Side}, last...)
		}
		always := view.KeyLine(m.theme, last, width) // never what gives way
		return view.Fit(view.KeyLine(m.theme, keys, width-view.Width(always)-2), width-view.Width(always), "") + always
	}
	return view.KeyLine(m.theme, keys, width)
}

func (m *Model) drawHelp(width, height int) []string {
	titles, groups := m.env.Keys.Global()
	titles = append([]string{"This screen: " + view.ScreenNames()[m.at]}, titles...)
	groups = append([][]key.Binding{m.screens[m.at].Bindings()}, groups...)
	var blocks [][]string
	for i, group := range groups {
		blocks = append(blocks, view.KeyBlock(m.theme, titles[i], group))
	}
	const narrowest = 30
	pages := view.Flow(blocks, width-3, narrowest, height-2)
	m.help, m.helpPages = min(m.help, len(pages)), len(pages) // the screen may have grown
	box := view.Box{Title: "Keys", Note: "any key closes", Focus: true}
	if m.help < len(pages) {
		box.Note = fmt.Sprintf("%d of %d", m.help, len(pages))
	}
	return box.Draw(m.theme, pages[m.help-1], width, height)
}
