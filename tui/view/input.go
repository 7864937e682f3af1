package view

import (
	"slices"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"
)

// Input is a line that the user types. Make it with NewInput.
type Input struct {
	hint    string
	limit   int
	focused bool
	typed   []rune
	at      int // cursor, counted in typed
}

// NewInput makes an empty input of at most limit characters. hint is shown while it is empty.
func NewInput(hint string, limit int) Input { return Input{hint: hint, limit: limit} }

// Focus lets the input take what is typed.
func (i *Input) Focus() { i.focused = true }

// Blur ends that.
func (i *Input) Blur() { i.focused = false }

// Focused reports whether the input takes what is typed.
func (i *Input) Focused() bool { return i.focused }

// Value is what was typed.
func (i *Input) Value() string { return string(i.typed) }

// Set replaces what was typed.
func (i *Input) Set(s string) { i.typed, i.at = []rune(Line(s)), len([]rune(Line(s))) }

// Update applies a key and reports whether the text changed. What is pasted loses what could command a terminal.
func (i *Input) Update(msg tea.KeyMsg) bool {
	before := i.Value()
	switch msg.Type {
	case tea.KeyRunes, tea.KeySpace:
		if !msg.Alt {
			i.insert(Line(string(msg.Runes)))
		}
	case tea.KeyBackspace:
		i.cut(i.at - 1)
	case tea.KeyDelete, tea.KeyCtrlD:
		if i.at < len(i.typed) {
			i.at++
			i.cut(i.at - 1)
		}
	case tea.KeyCtrlW:
		i.cut(i.wordBefore())
	case tea.KeyCtrlU:
		i.cut(0)
	case tea.KeyCtrlK:
		i.typed = i.typed[:i.at]
	case tea.KeyLeft:
		i.at = max(i.at-1, 0)
	case tea.KeyRight:
		i.at = min(i.at+1, len(i.typed))
	case tea.KeyHome, tea.KeyCtrlA:
		i.at = 0
	case tea.KeyEnd, tea.KeyCtrlE:
		i.at = len(i.typed)
	}
	return i.Value() != before
}

// insert puts s at the cursor, as far as there is room.
func (i *Input) insert(s string) {
	runes := []rune(s)
	runes = runes[:max(min(len(runes), i.limit-len(i.typed)), 0)]
	i.typed = slices.Insert(i.typed, i.at, runes...)
	i.at += len(runes)
}

// cut takes out what is between from and the cursor.
func (i *Input) cut(from int) {
	from = max(from, 0)
	i.typed = slices.Delete(i.typed, from, max(i.at, from))
	i.at = from
}

// wordBefore is where the word before the cursor begins.
func (i *Input) wordBefore() int {
	at := i.at
	for at > 0 && unicode.IsSpace(i.typed[at-1]) {
		at--
	}
	for at > 0 && !unicode.IsSpace(i.typed[at-1]) {
		at--
	}
	return at
}

// View draws the input in width columns, with the cursor while it is focused.
func (i *Input) View(t Theme, width int) string {
	tail := t.Glyphs.Ellipsis
	switch {
	case !i.focused && len(i.typed) == 0:
		return t.Dim.On(Cut(i.hint, width, tail))
	case !i.focused:
		return Cut(i.Value(), width, tail)
	}
	before, under, after := i.typed[:i.at], " ", ""
	if i.at < len(i.typed) {
		under, after = string(i.typed[i.at]), string(i.typed[i.at+1:])
	}
	for Width(string(before)) > width-2 && len(before) > 0 {
		before = before[1:]
	}
	block := Style("7")
	if t.Name == Plain {
		block, under = "", "_"
	}
	line := string(before) + block.On(under) + after
	if len(i.typed) == 0 {
		line += t.Dim.On(" " + i.hint)
	}
	return Cut(line, width, tail)
}
