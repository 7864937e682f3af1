package tui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/tui/view"
)

// confirmation is a question that waits for its answer.
type confirmation struct {
	ConfirmMsg
	input view.Input // for what has to be typed
}

func newConfirmation(c ConfirmMsg) *confirmation {
	a := &confirmation{ConfirmMsg: c, input: view.NewInput("", 80)}
	if c.Typed != "" {
		a.input.Focus()
	}
	return a
}

func (a *confirmation) bindings() []key.Binding {
	if a.Typed != "" {
		return []key.Binding{view.KeyGroup("enter", "do it"), view.KeyGroup("esc", "do not")}
	}
	return []key.Binding{view.KeyGroup("y", "yes"), view.KeyGroup("n/esc", "no")}
}

func (m *Model) pressConfirmation(msg tea.KeyMsg) tea.Cmd {
	a := m.confirmation
	switch {
	case msg.Type == tea.KeyEsc, a.Typed == "" && (msg.String() == "n" || msg.String() == "q"):
		m.confirmation = nil
		m.notify("nothing was done")
	case a.Typed == "" && msg.String() == "y":
		m.confirmation = nil
		return a.Yes
	case a.Typed == "":
	case msg.Type != tea.KeyEnter:
		a.input.Update(msg)
	case a.input.Value() == a.Typed:
		m.confirmation = nil
		return a.Yes
	default:
		m.notify("that is not " + a.Typed + "; esc leaves it")
	}
	return nil
}

func (a *confirmation) draw(t view.Theme, lines []string, width int) []string {
	said := append([]string{"", t.Bold.On(a.Question), ""}, a.Lines...)
	if a.Typed != "" {
		said = append(said, "", "Type "+t.Bold.On(a.Typed)+" to agree:", "> "+a.input.View(t, min(width-12, 50)))
	} else {
		said = append(said, "", t.Bold.On("y")+" yes   "+t.Bold.On("n")+" no")
	}
	return Overlay(t, lines, width, "Sure?", said)
}
