package tui

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/view"
)

// welcome is the first screen without a key: the user chooses how to continue before anything is sent.
type welcome struct {
	list    view.List
	input   view.Input // of a key
	chosen  int        // whose steps are shown, -1 for none
	opening bool
}

// way is a way to go on without a key.
type way struct {
	name, does string
	steps      []string
}

// ways are those that there are. The second asks for a key, the others say what to type.
func (m *Model) ways() []way {
	return []way{
		{"Sign in", "by mail or wallet; an account makes keys and counts calls",
			[]string{"ctx login --email you@example.com", "ctx keys create my-agent --save", "ctx ui"}},
		{"Paste a key", "that somebody gave you; it is kept for this session alone", nil},
		{"Try the demo", "a synthetic market on this machine, without an account",
			[]string{"contextd demo", "export CTX_BASE_URL=…  CTX_API_KEY=…   # as it prints them", "ctx ui"}},
	}
}

const pasteKey = 1 // the place of the way that asks for a key

func newWelcome() *welcome {
	const longestKey = 80
	return &welcome{input: view.NewInput("cv_…", longestKey), chosen: -1}
}

// pressWelcome applies a key while nothing may be sent.
func (m *Model) pressWelcome(msg tea.KeyMsg) tea.Cmd {
	d, k := m.welcome, m.env.Keys
	switch {
	case d.input.Focused():
		return m.typeKey(msg)
	case key.Matches(msg, k.Quit):
		return tea.Quit
	case key.Matches(msg, k.Theme):
		m.nextTheme()
	case msg.Type == tea.KeyEsc:
		d.chosen, m.problem = -1, nil
	case len(msg.Runes) == 1 && msg.Runes[0] >= '1' && int(msg.Runes[0]-'1') < len(m.ways()):
		d.list.Cursor = int(msg.Runes[0] - '1')
		m.chooseWay()
	case msg.Type == tea.KeyEnter:
		m.chooseWay()
	case key.Matches(msg, k.Copy) && d.chosen >= 0 && d.chosen != pasteKey:
		steps := m.ways()[d.chosen].steps
		return CopyText(steps[0], steps[0])
	default:
		m.env.Move(&d.list, len(m.ways()), msg)
	}
	return nil
}

func (m *Model) chooseWay() {
	d := m.welcome
	if d.chosen = d.list.Cursor; d.chosen == pasteKey {
		d.input.Set("")
		d.input.Focus()
	}
}

// typeKey applies a key while a key of the service is typed or pasted.
func (m *Model) typeKey(msg tea.KeyMsg) tea.Cmd {
	d := m.welcome
	switch msg.Type {
	case tea.KeyEsc:
		d.input.Set("")
		d.input.Blur()
		d.chosen, m.problem = -1, nil
	case tea.KeyEnter:
		text := strings.TrimSpace(d.input.Value())
		if text == "" || d.opening {
			return nil
		}
		d.opening = true
		use := m.cfg.UseKey
		return func() tea.Msg {
			c, err := use(text)
			return profileMsg{config: c, err: err}
		}
	default:
		d.input.Update(msg)
	}
	return nil
}

func (m *Model) drawWelcome(width, height int) []string {
	t, d := m.theme, m.welcome
	where := view.Line(firstOf(m.cfg.Where, "the service"))
	lines := []string{"", " " + t.Bold.On("There is no key to ask "+where+" with.") + " Nothing was sent.", ""}
	rows := d.list.Rows(t, len(m.ways()), width-2, len(m.ways()), d.chosen < 0, func(i int) string {
		w := m.ways()[i]
		return t.Key.On(string(rune('1'+i))) + "  " + view.Fit(w.name, 14, "") + t.Dim.On(w.does)
	})
	lines = append(append(lines, rows...), "")
	switch {
	case d.chosen == pasteKey:
		lines = append(lines, " Key: "+hidden(t, d.input.Value(), api.KeyIDLength)+t.Flash.On("_"), "",
			t.Dim.On(" enter connects, esc goes back. Only its beginning is ever shown."))
	case d.chosen >= 0:
		lines = append(lines, " Quit with "+view.KeyLabel(m.env.Keys.Quit)+", and type:", "")
		for _, step := range m.ways()[d.chosen].steps {
			lines = append(lines, "   "+t.Accent.On(step))
		}
	}
	return view.Box{Title: "How do you want to begin?", Focus: true}.Draw(t, lines, width, height)
}

// hidden is a secret of which so many characters, a key's public beginning, can be seen.
func hidden(t view.Theme, text string, seen int) string {
	runes := []rune(text)
	shown := min(len(runes), seen)
	dot := "•"
	if t.Glyphs.ASCII {
		dot = "*"
	}
	return view.Line(string(runes[:shown])) + strings.Repeat(dot, len(runes)-shown)
}

func (m *Model) welcomeKeys() []key.Binding {
	k := m.env.Keys
	switch {
	case m.welcome.input.Focused():
		return []key.Binding{view.KeyGroup("enter", "connect"), view.KeyGroup("esc", "back")}
	case m.welcome.chosen >= 0:
		return []key.Binding{k.Copy, view.KeyGroup("esc", "back"), k.Quit}
	}
	return []key.Binding{view.KeyGroup("1-3", "choose"), view.KeyGroup("enter", "choose"), k.Theme, k.Quit}
}
