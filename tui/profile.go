package tui

import (
	tea "github.com/charmbracelet/bubbletea"
)

type (
	// goOverMsg asks for another profile.
	goOverMsg struct{ profile string }
	// profileMsg says what came of that.
	profileMsg struct {
		config   Config
		err      error
		purchase string // that waited, and that the user was asked about
		again    bool   // it is the same profile, for who has signed in since
	}
)

// profiles opens the list of profiles, if there is another one.
func (m *Model) profiles() {
	switch {
	case m.cfg.Recording:
		m.notify("a recording has no profile")
	case m.cfg.Switch == nil:
		m.notify("there is no other profile; ctx config profile add NAME makes one")
	default:
		m.palette = newPalette("profile ")
	}
}

func (m *Model) profileCommands() (list []command) {
	if m.cfg.Switch == nil {
		return nil
	}
	for _, name := range m.cfg.Profiles {
		does := "go over to it (1 credit)"
		if name == m.cfg.Profile {
			does = "shown now"
		}
		list = append(list, command{"profile " + name, does, func(m *Model, _ string) tea.Cmd { return m.switchProfile(name) }})
	}
	return list
}

// switchProfile goes over to another profile, after a question while a purchase waits.
func (m *Model) switchProfile(name string) tea.Cmd {
	if name == m.cfg.Profile {
		return nil
	}
	return m.leave("Go over while a purchase waits?", Send(goOverMsg{name}))
}

func (m *Model) updateProfile(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case goOverMsg:
		configure := m.cfg.Switch
		return m.goOver(msg.profile, func() (Config, error) { return configure(msg.profile) })
	case AgainMsg:
		if again := m.cfg.Again; again != nil {
			return func() tea.Msg {
				c, err := again()
				return profileMsg{config: c, err: err, again: true}
			}
		}
	case signInMsg:
		if msg.err == nil {
			m.problem = nil
		}
		return m.env.form().take(msg)
	case profileMsg:
		return m.takeProfile(msg)
	}
	return nil
}

// goOver asks for what the profile needs, which may have to wait for a keyring. Until it is there, no key begins anything that
// would be lost.
func (m *Model) goOver(profile string, configure func() (Config, error)) tea.Cmd {
	m.goingTo = profile
	m.notify("going over to " + profile)
	purchase := m.env.Session.Purchase
	return func() tea.Msg {
		c, err := configure()
		return profileMsg{config: c, err: err, purchase: purchase}
	}
}

// takeProfile ends the program, for Run to go on with the other profile, in the same looks. All stays as it is where that profile
// cannot be had, and where something came meanwhile that would not be seen: a new key, a purchase.
func (m *Model) takeProfile(msg profileMsg) tea.Cmd {
	m.goingTo = ""
	if m.welcome != nil {
		m.welcome.opening = false
	}
	if msg.err != nil {
		return Send(Fail(msg.err))
	}
	if msg.again {
		return m.takeOwner(msg.config)
	}
	if m.typing() || m.env.Session.Purchase != msg.purchase {
		msg.config.close()
		m.notify("something came that you should see first")
		return nil
	}
	next := msg.config
	next.Theme = m.theme.Name
	next.Depth = m.cfg.Depth
	next.ASCII = m.cfg.ASCII
	next.mouseOff = !m.env.Session.Mouse
	m.next = &next
	return tea.Quit
}
