package tui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/tui/view"
)

// asked is a question that waits for its answer.
type asked struct {
	Confirm
	input view.Input // for what has to be typed
}

// newAsked asks a question.
func newAsked(c Confirm) *asked {
	a := &asked{Confirm: c, input: view.NewInput("", 80)}
	if c.Typed != "" {
		a.input.Focus()
	}
	return a
}

// bindings are the keys that answer.
func (a *asked) bindings() []key.Binding {
	if a.Typed != "" {
		return []key.Binding{view.MergeKeys("enter", "do it"), view.MergeKeys("esc", "do not")}
	}
	return []key.Binding{view.MergeKeys("y", "yes"), view.MergeKeys("n/esc", "no")}
}

// pressAsked applies a key to the question.
func (m *Model) pressAsked(msg tea.KeyMsg) tea.Cmd {
	a := m.asked
	switch {
	case msg.Type == tea.KeyEsc, a.Typed == "" && (msg.String() == "n" || msg.String() == "q"):
		m.asked = nil
		m.tell("nothing was done")
	case a.Typed == "" && msg.String() == "y":
		m.asked = nil
		return a.Yes
	case a.Typed == "":
	case msg.Type != tea.KeyEnter:
		a.input.Update(msg)
	case a.input.Value() == a.Typed:
		m.asked = nil
		return a.Yes
	default:
		m.tell("that is not " + a.Typed + "; esc leaves it")
	}
	return nil
}

// draw draws the question over lines.
func (a *asked) draw(t view.Theme, lines []string, width int) []string {
	said := append([]string{"", t.Bold.On(a.Question), ""}, a.Lines...)
	if a.Typed != "" {
		said = append(said, "", "Type "+t.Bold.On(a.Typed)+" to agree:", "> "+a.input.View(t, min(width-12, 50)))
	} else {
		said = append(said, "", t.Bold.On("y")+" yes   "+t.Bold.On("n")+" no")
	}
	return Overlay(t, lines, width, "Sure?", said)
}
