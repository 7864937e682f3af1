package tui

import (
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/tui/view"
)

func (m *Model) typing() bool {
	return m.confirmation != nil || m.palette != nil || m.alertForm != nil || m.screens[m.at].Typing()
}

// covered reports whether something lies over the screen.
func (m *Model) covered() bool {
	return m.confirmation != nil || m.palette != nil || m.alertForm != nil || m.goingTo != "" || m.welcome != nil || m.help > 0 ||
		m.notice != nil
}

// press passes a key on: to what lies over the screen, the screen while it takes letters, the program, the screen. What is pasted does
// nothing where no text is typed.
func (m *Model) press(msg tea.KeyMsg) tea.Cmd {
	k := m.env.Keys
	switch {
	case m.welcome != nil && m.welcome.input.Focused():
		return m.typeKey(msg)
	case msg.Paste && !m.typing():
		return nil
	case key.Matches(msg, k.Kill):
		return tea.Quit
	case m.goingTo != "":
		return nil
	case m.welcome != nil:
		return m.pressWelcome(msg)
	case m.confirmation != nil:
		return m.pressConfirmation(msg)
	case m.alertForm != nil:
		return m.pressAlert(msg)
	case m.palette != nil:
		return m.pressPalette(msg)
	case m.help > 0 && m.help < m.helpPages && msg.Type != tea.KeyEsc:
		m.help++
		return nil
	case m.help > 0, m.notice != nil:
		m.help, m.notice = 0, nil
		return nil
	case m.screens[m.at].Typing():
		return m.screens[m.at].Update(msg)
	case key.Matches(msg, k.Back) && m.problem != nil:
		m.problem = nil
		return nil
	}
	if cmd, ok := m.pressGlobal(msg); ok {
		return cmd
	}
	return m.screens[m.at].Update(msg)
}

// pressGlobal applies a key that works on every screen; ok is false where it is none.
func (m *Model) pressGlobal(msg tea.KeyMsg) (cmd tea.Cmd, ok bool) {
	k := m.env.Keys
	for i := range k.Tab {
		if key.Matches(msg, k.Tab[i]) {
			return m.show(i), true
		}
	}
	for _, one := range m.global() {
		if key.Matches(msg, one.key) {
			return one.does(), true
		}
	}
	return nil, false
}

type globalKey struct {
	key  key.Binding
	does func() tea.Cmd
}

// global are the keys that work on every screen, but those that show one.
func (m *Model) global() []globalKey {
	k := m.env.Keys
	here := func(does func()) func() tea.Cmd { return func() tea.Cmd { does(); return nil } }
	return []globalKey{
		{k.Quit, m.quit}, {k.Help, here(func() { m.help = 1 })}, {k.Palette, here(func() { m.palette = newPalette("") })},
		{k.Flags, m.showFlags}, {k.Pack, here(func() { m.palette = newPalette("pack ") })}, {k.Profile, here(m.profiles)},
		{k.Beside, m.program.beside}, {k.Side, m.program.turn},
		{k.Pause, here(m.pause)}, {k.Reconnect, m.reconnect}, {k.Theme, here(m.nextTheme)}, {k.Mouse, m.switchMouse}, {k.Save, m.save},
		{k.Redraw, func() tea.Cmd { return tea.ClearScreen }}, {k.LastError, here(m.lastError)},
		{k.Suspend, func() tea.Cmd { return tea.Suspend }},
	}
}

func (m *Model) pause() {
	m.env.Session.Pause()
	if m.env.Session.Paused {
		m.notify("paused; " + view.KeyLabel(m.env.Keys.Pause) + " goes on with the newest state")
	} else {
		m.notify("going on")
	}
}

func (m *Model) nextTheme() {
	names := view.ThemeNames()
	for i, name := range names {
		if name == m.theme.Name {
			m.nameTheme(names[(i+1)%len(names)])
			return
		}
	}
	m.nameTheme(names[0])
}

func (m *Model) setTheme(t view.Theme) { m.theme, m.drawn.lines = t, nil }

// nameTheme goes over to a theme, on both sides.
func (m *Model) nameTheme(name view.ThemeName) {
	for _, side := range m.program.sides {
		side.setTheme(view.NewTheme(name, m.cfg.Depth, m.cfg.ASCII))
	}
	m.notify("theme " + string(name))
	if m.cfg.Depth == view.NoColor {
		m.notify("theme " + string(name) + ", without colour: the terminal has none or NO_COLOR is set")
	}
}

// switchMouse takes clicks, or leaves them to the terminal, which can select text then.
func (m *Model) switchMouse() tea.Cmd {
	s := m.env.Session
	s.Mouse = !s.Mouse
	if s.Mouse {
		m.notify("the mouse clicks tabs and rows")
		return tea.EnableMouseCellMotion
	}
	m.notify("the mouse selects text")
	return tea.DisableMouse
}

func (m *Model) lastError() {
	p, at := m.env.Session.LastProblem()
	if p == nil {
		m.notify("no error so far")
		return
	}
	m.notice = []string{"", "at " + at.In(m.env.Session.Now.Location()).Format(time.TimeOnly), m.theme.Bold.On(p.What)}
	if p.Next != "" {
		m.notice = append(m.notice, "", p.Next)
	}
	if p.RequestID != "" {
		m.notice = append(m.notice, "", "request "+p.RequestID)
	}
}

// mouse gives a click or a turn of the wheel to tabs or screen.
func (m *Model) mouse(msg tea.MouseMsg) tea.Cmd {
	if m.covered() && m.help == 0 && m.notice == nil || m.tooSmall() {
		return nil
	}
	switch {
	case msg.Button == tea.MouseButtonWheelUp:
		return m.screens[m.at].Update(WheelMsg{Rows: -3})
	case msg.Button == tea.MouseButtonWheelDown:
		return m.screens[m.at].Update(WheelMsg{Rows: 3})
	case msg.Button != tea.MouseButtonLeft || msg.Action != tea.MouseActionPress:
		return nil
	case m.help > 0, m.notice != nil:
		m.help, m.notice = 0, nil
		return nil
	case msg.Y == 0:
		return m.clickHeader(msg.X)
	case msg.Y == 1:
		return m.clickTab(msg.X)
	case msg.Y < m.top():
		return m.showFlags()
	case msg.Y < m.height-chromeBottom:
		return m.screens[m.at].Update(ClickMsg{X: msg.X, Y: msg.Y - m.top(), width: m.width})
	}
	return nil
}

func (m *Model) clickTab(x int) tea.Cmd {
	at := 0
	for i, label := range m.tabs() {
		if at += view.Width(label); x < at {
			return m.show(i)
		}
	}
	return nil
}
