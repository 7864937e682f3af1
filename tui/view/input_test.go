package view_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/tui/view"
)

// runes is what typing s sends.
func runes(s string) tea.KeyMsg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s)} }

func keyed(kind tea.KeyType) tea.KeyMsg { return tea.KeyMsg{Type: kind} }

func TestInput(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		keys []tea.KeyMsg
		want string // with the cursor as |
	}{
		"letters":        {[]tea.KeyMsg{runes("ab"), keyed(tea.KeySpace), runes("ü")}, "ab ü|"},
		"backspace":      {[]tea.KeyMsg{runes("abc"), keyed(tea.KeyBackspace)}, "ab|"},
		"at the start":   {[]tea.KeyMsg{runes("a"), keyed(tea.KeyHome), keyed(tea.KeyBackspace), keyed(tea.KeyLeft)}, "|a"},
		"in the middle":  {[]tea.KeyMsg{runes("abc"), keyed(tea.KeyLeft), runes("x"), keyed(tea.KeyBackspace), keyed(tea.KeyBackspace)}, "a|c"},
		"delete":         {[]tea.KeyMsg{runes("abc"), keyed(tea.KeyHome), keyed(tea.KeyDelete), keyed(tea.KeyEnd), keyed(tea.KeyDelete)}, "bc|"},
		"word":           {[]tea.KeyMsg{runes("one two  "), keyed(tea.KeyCtrlW)}, "one |"},
		"all":            {[]tea.KeyMsg{runes("one two"), keyed(tea.KeyCtrlU)}, "|"},
		"rest":           {[]tea.KeyMsg{runes("abc"), keyed(tea.KeyLeft), keyed(tea.KeyLeft), keyed(tea.KeyCtrlK)}, "a|"},
		"ends":           {[]tea.KeyMsg{runes("abc"), keyed(tea.KeyCtrlA), keyed(tea.KeyRight), keyed(tea.KeyRight), keyed(tea.KeyRight), keyed(tea.KeyRight)}, "abc|"},
		"pasted escapes": {[]tea.KeyMsg{{Type: tea.KeyRunes, Paste: true, Runes: []rune("a\x1b[31mb\nc\u202e")}}, "ab c|"},
		"alt":            {[]tea.KeyMsg{{Type: tea.KeyRunes, Alt: true, Runes: []rune("x")}, {Type: tea.KeySpace, Alt: true, Runes: []rune(" ")}}, "|"},
		"name of a key":  {[]tea.KeyMsg{runes("x"), runes("home"), runes("y")}, "xhomey|"},
		"word after":     {[]tea.KeyMsg{runes("ab"), keyed(tea.KeyLeft), {Type: tea.KeyDelete, Alt: true}}, "a|b"},
		"by words":       {[]tea.KeyMsg{runes("one two"), keyed(tea.KeyCtrlLeft), keyed(tea.KeyCtrlV), keyed(tea.KeyTab)}, "one |two"},
		"limit":          {[]tea.KeyMsg{runes("0123456789"), runes("more")}, "0123456789|"},
	} {
		in := view.NewInput("hint", 10)
		in.Focus()
		for _, k := range test.keys {
			if k.Type == tea.KeySpace {
				k.Runes = []rune{' '}
			}
			in.Update(k)
		}
		at := strings.IndexRune(test.want, '|')
		if got := in.Value(); got != strings.Replace(test.want, "|", "", 1) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if view := in.View(plain(), 40); test.want != "|" && !strings.HasPrefix(view, test.want[:at]+"_") {
			t.Errorf("%s: cursor in %q, want it at %q", name, view, test.want)
		}
	}
}

// TestInputView checks that an input stays within its columns, however long and wide what was typed is.
func TestInputView(t *testing.T) {
	t.Parallel()
	in := view.NewInput("a hint that is long", 100)
	if got := in.View(plain(), 6); view.Width(got) > 6 {
		t.Errorf("hint %q", got)
	}
	in.Focus()
	for _, s := range []string{"", "漢字漢字漢字漢字", "abcdefghijklmnop"} {
		in.Update(runes(s))
		for width := range 20 {
			if got := in.View(plain(), width); view.Width(got) > width {
				t.Errorf("%q in %d columns: %q", s, width, got)
			}
		}
	}
	in.Blur()
	if got := in.View(plain(), 8); got != "漢字漢…" {
		t.Errorf("blurred: %q", got)
	}
	if changed := in.Update(keyed(tea.KeyLeft)); changed {
		t.Error("moving counts as a change")
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	f := view.NewFilter(key.NewBinding(key.WithKeys("/")))
	if f.Update(runes("x")) || f.Update(keyed(tea.KeyEsc)) || f.Update(tea.WindowSizeMsg{}) {
		t.Error("took a key that is none for it")
	}
	if !f.Update(runes("/")) || !f.Typing() || f.Note() != "/_" {
		t.Fatalf("does not begin: %q", f.Note())
	}
	f.Update(runes("b/"))
	f.Update(keyed(tea.KeyEnter))
	if f.Typing() || f.Value() != "b/" || f.Note() != "/b/" {
		t.Errorf("after enter: %q", f.Note())
	}
	if !f.Update(keyed(tea.KeyEsc)) || f.Value() != "" || f.Note() != "" {
		t.Errorf("after esc: %q", f.Value())
	}
	f.Update(runes("/"))
	f.Update(runes("x"))
	f.Update(keyed(tea.KeyEsc))
	if f.Typing() || f.Value() != "" {
		t.Errorf("esc while typing leaves %q", f.Value())
	}
}
