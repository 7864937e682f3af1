package tui

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/tui/view"
)

// palette is the list of commands that opens on ":".
type palette struct {
	input view.Input
	list  view.List
}

type command struct {
	name, does string
	run        func(m *Model, argument string) tea.Cmd
}

func newPalette(typed string) *palette {
	p := &palette{input: view.NewInput("a command", 80)}
	p.input.Set(typed)
	p.input.Focus()
	return p
}

func (m *Model) commands() []command {
	var list []command
	for i, name := range view.ScreenNames() {
		list = append(list, command{strings.ToLower(name), "screen " + name, func(m *Model, _ string) tea.Cmd { return m.show(i) }})
	}
	for _, name := range view.ThemeNames() {
		list = append(list, command{"theme " + string(name), "colours", func(m *Model, _ string) tea.Cmd {
			m.nameTheme(name)
			return nil
		}})
	}
	list = append(list, m.profileCommands()...)
	list = append(list, m.alertCommands()...)
	cost := m.env.Session.Cost
	for _, pack := range m.packs {
		show := func(m *Model, _ string) tea.Cmd { return m.switchPack(pack) }
		list = append(list, command{"pack " + view.Line(pack), "show it" + cost(1), show})
	}
	for _, pack := range m.packs {
		if pack == m.env.Session.Pack {
			continue
		}
		show := func(m *Model, _ string) tea.Cmd { return m.program.open(pack) }
		list = append(list, command{"beside " + view.Line(pack), "show it beside this one" + cost(1), show})
	}
	return append(list,
		command{"pack NAME", "show another pack" + cost(1), func(m *Model, pack string) tea.Cmd { return m.switchPack(pack) }},
		command{"beside NAME", "show another pack beside this one" + cost(1), func(m *Model, pack string) tea.Cmd {
			return m.program.open(strings.TrimSpace(pack))
		}},
		command{"refresh brief", "ask for the brief again" + cost(1), func(m *Model, _ string) tea.Cmd { return m.env.AskBrief() }},
		command{"pause", "stop or go on showing new states", func(m *Model, _ string) tea.Cmd {
			m.pause()
			return nil
		}},
		command{"reconnect", "open the stream again" + cost(1), func(m *Model, _ string) tea.Cmd { return m.reconnect() }},
		command{"buy", "buy credits", func(m *Model, _ string) tea.Cmd {
			return tea.Batch(m.show(slices.Index(view.ScreenNames(), "Credits")), Send(BuyMsg{}))
		}},
		command{"mouse", "clicks on or off", func(m *Model, _ string) tea.Cmd { return m.switchMouse() }},
		command{"save", "write the last events to a file", func(m *Model, _ string) tea.Cmd { return m.save() }},
		command{"help", "all keys", func(m *Model, _ string) tea.Cmd {
			m.help = 1
			return nil
		}},
		command{"quit", "leave", func(m *Model, _ string) tea.Cmd { return m.quit() }},
	)
}

// matching are those of all commands that match what was typed, and the argument behind it.
func (p *palette) matching(all []command) (list []command, argument string) {
	typed := p.input.Value()
	if word, rest, ok := strings.Cut(typed, " "); ok && (word == "pack" || word == "beside") {
		typed, argument = word, strings.TrimSpace(rest)
	}
	for _, c := range all {
		_, pack, _ := strings.Cut(c.name, " ")
		if argument != "" && !strings.HasPrefix(pack, argument) && pack != "NAME" {
			continue
		}
		if view.Matches(typed, c.name) {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b command) int { return rank(b.name, typed) - rank(a.name, typed) })
	return list, argument
}

// rank is higher for a name that is what was typed, or begins so; its last word will do.
func rank(name, typed string) int {
	typed = strings.ToLower(strings.TrimSpace(typed))
	_, last, _ := strings.Cut(name, " ")
	switch {
	case name == typed || last == typed:
		return 2
	case strings.HasPrefix(name, typed) || strings.HasPrefix(last, typed):
		return 1
	}
	return 0
}

func (m *Model) pressPalette(msg tea.KeyMsg) tea.Cmd {
	p := m.palette
	list, argument := p.matching(m.commands())
	switch msg.Type {
	case tea.KeyEsc:
		m.palette = nil
	case tea.KeyUp, tea.KeyCtrlP:
		p.list.Move(-1, len(list))
	case tea.KeyDown, tea.KeyCtrlN, tea.KeyTab:
		p.list.Move(1, len(list))
	case tea.KeyEnter:
		if p.list.Cursor >= len(list) {
			return nil
		}
		chosen := list[p.list.Cursor]
		if strings.HasSuffix(chosen.name, "NAME") && argument == "" {
			p.input.Set(strings.TrimSuffix(chosen.name, "NAME"))
			return nil
		}
		m.palette = nil
		return chosen.run(m, argument)
	default:
		if p.input.Update(msg) {
			p.list = view.List{}
		}
	}
	return nil
}

func (p *palette) draw(t view.Theme, all []command, lines []string, width int) []string {
	list, _ := p.matching(all)
	inner, names := min(width-10, 60), 16
	for _, c := range list {
		names = max(names, min(view.Width(c.name), inner/2))
	}
	said := []string{"", ":" + p.input.View(t, inner-2), ""}
	rows := p.list.Rows(t, len(list), inner, min(max(len(lines)-8, 3), 12), true, func(i int) string {
		return view.Fit(list[i].name, names, t.Glyphs.Ellipsis) + " " + t.Dim.On(list[i].does)
	})
	if len(list) == 0 {
		rows = []string{" no such command"}
	}
	return Overlay(t, lines, width, "Commands", append(said, rows...))
}
