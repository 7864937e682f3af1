package view

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// Filter is a filter that is typed after a key. It is kept until it is emptied. Make it with NewFilter.
type Filter struct {
	input Input
	on    key.Binding
}

// NewFilter makes an empty filter, to be typed after the key on.
func NewFilter(on key.Binding) Filter {
	return Filter{NewInput("letters of a name; ! for all others", 80), on}
}

// Typing reports whether the filter is being typed.
func (f *Filter) Typing() bool { return f.input.Focused() }

// Value is what was typed.
func (f *Filter) Value() string { return f.input.Value() }

// Note is the filter as a box shows it, "" for none.
func (f *Filter) Note() string {
	switch {
	case f.Typing():
		return "/" + f.Value() + "_"
	case f.Value() != "":
		return "/" + f.Value()
	}
	return ""
}

// View is the filter as a line that is typed into.
func (f *Filter) View(t Theme, width int) string { return "/" + f.input.View(t, width-1) }

// Update applies a key, if it is one for the filter, and reports whether it was.
func (f *Filter) Update(msg tea.Msg) bool {
	pressed, ok := msg.(tea.KeyMsg)
	if !ok {
		return false
	}
	if !f.Typing() {
		switch {
		case key.Matches(pressed, f.on):
			f.input.Focus()
			return true
		case pressed.Type == tea.KeyEsc && f.Value() != "":
			f.input.Set("")
			return true
		}
		return false
	}
	switch pressed.Type {
	case tea.KeyEnter:
		f.input.Blur()
	case tea.KeyEsc:
		f.input.Blur()
		f.input.Set("")
	default:
		f.input.Update(pressed)
	}
	return true
}
