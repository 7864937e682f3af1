package view

import (
	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
)

// Input is a line that the user types: the text input of bubbles, with what is pasted cleaned and its columns counted as all others
// are. Make it with NewInput.
type Input struct {
	textinput.Model
	hint string
}

// NewInput makes an empty input of at most limit characters. hint is shown while it is empty.
func NewInput(hint string, limit int) Input {
	line := textinput.New()
	line.CharLimit = limit
	line.Cursor.SetMode(cursor.CursorStatic)
	line.KeyMap.Paste.SetEnabled(false)             // it would run a program to read the clipboard; terminals paste themselves
	line.KeyMap.DeleteWordForward.SetEnabled(false) // it panics before the last character
	return Input{line, hint}
}

// Set replaces what was typed.
func (i *Input) Set(s string) {
	i.SetValue(Line(s))
	i.CursorEnd()
}

// Update applies a key and reports whether the text changed. What is pasted loses what could command a terminal.
func (i *Input) Update(msg tea.KeyMsg) bool {
	before := i.Value()
	if msg.Alt && len(msg.Runes) > 0 {
		return false
	}
	if msg.Type == tea.KeyRunes {
		msg.Runes = []rune(Line(string(msg.Runes)))
		msg.Paste = true // or "end", come in one piece, would be the key of that name
	}
	i.Model, _ = i.Model.Update(msg)
	return i.Value() != before
}

// Hint changes what is shown while nothing is typed.
func (i *Input) Hint(text string) { i.hint = text }

// View draws the input in width columns, with the cursor while it is focused.
func (i *Input) View(t Theme, width int) string {
	typed, at, tail := []rune(i.Value()), i.Position(), t.Glyphs.Ellipsis
	switch {
	case !i.Focused() && len(typed) == 0:
		return t.Dim.On(Cut(i.hint, width, tail))
	case !i.Focused():
		return Cut(i.Value(), width, tail)
	}
	before, under, after := typed[:at], " ", ""
	if at < len(typed) {
		under, after = string(typed[at]), string(typed[at+1:])
	}
	for Width(string(before)) > width-2 && len(before) > 0 {
		before = before[1:]
	}
	block := Style("7")
	if t.Name == Plain {
		block, under = "", "_"
	}
	line := string(before) + block.On(under) + after
	if len(typed) == 0 {
		line += t.Dim.On(" " + i.hint)
	}
	return Cut(line, width, tail)
}
