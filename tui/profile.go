package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/tui/screen"
)

// goOver says that what is shown from now on is that of another profile.
type goOver struct{ to Config }

// profiles opens the list of profiles, if there is another one.
func (m *Model) profiles() {
	if m.cfg.Switch == nil {
		m.tell("there is no other profile; ctx profile add NAME makes one")
		return
	}
	m.palette = newPalette("profile ")
}

// profileCommands are the commands that go over to a profile.
func (m *Model) profileCommands() (list []command) {
	if m.cfg.Switch == nil {
		return nil
	}
	for _, name := range m.cfg.Profiles {
		does := "go over to it (2 credits)"
		if name == m.cfg.Profile {
			does = "shown now"
		}
		list = append(list, command{"profile " + name, does, func(m *Model, _ string) tea.Cmd { return m.switchProfile(name) }})
	}
	return list
}

// switchProfile goes over to another profile, unless there is none to be had: then all stays as it is.
func (m *Model) switchProfile(name string) tea.Cmd {
	if name == m.cfg.Profile {
		return nil
	}
	configure := m.cfg.Switch
	return m.leave("Go over while a purchase waits?", func() tea.Msg {
		to, err := configure(name)
		if err != nil {
			return screen.Fail(err)
		}
		return goOver{to}
	})
}

// goOver ends the program, for Run to go on with another Config. How it looks stays.
func (m *Model) goOver(to Config) tea.Cmd {
	to.Theme, to.Depth, to.ASCII = m.theme.Name, m.cfg.Depth, m.cfg.ASCII
	m.next = &to
	return tea.Quit
}
