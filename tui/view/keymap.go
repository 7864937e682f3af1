package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// Keymap are all keys by what they do.
type Keymap struct {
	Tab                                                  [8]key.Binding // the screens, in order
	NextPane, PrevPane, Up, Down, Left, Right            key.Binding
	Top, Bottom, PageUp, PageDown                        key.Binding
	Enter, Back, Filter, Palette, Help                   key.Binding
	Quit, Kill, Suspend                                  key.Binding
	Pause, Reconnect, Pack, Profile, Theme, Mouse, Save  key.Binding
	Copy, CopyPath, Open, Cite, Sort, Trend, Redraw      key.Binding
	LastError, Brief, Query, Flags                       key.Binding
	Span, Drawing, Versus, Alert                         key.Binding
	Beside, Side                                         key.Binding
	MinuteBack, MinuteOn, HourBack, HourOn, Compare, Now key.Binding
	DayBack, DayOn                                       key.Binding
	NewKey, Revoke, Reload                               key.Binding
	Buy, Paid, Code, Wallet, Cancel                      key.Binding
}

// ScreenNames are the names of the screens in the order of their keys.
func ScreenNames() []string {
	return []string{"Live", "Brief", "Lookup", "History", "Sources", "Keys", "Credits", "Log"}
}

type action struct {
	name  string // by which other keys are bound to it; "" where its keys are fixed
	key   *key.Binding
	does  string
	keys  string // usual ones, separated by spaces
	where string // screens that it works on, "" for all or any
}

func (m *Keymap) actions() []action {
	list := []action{
		{"next-pane", &m.NextPane, "pane", "tab", ""},
		{"previous-pane", &m.PrevPane, "pane before", "shift+tab", ""},
		{"up", &m.Up, "up", "k up", ""},
		{"down", &m.Down, "down", "j down", ""},
		{"left", &m.Left, "left, fold", "h left", ""},
		{"right", &m.Right, "right, unfold", "l right", ""},
		{"first", &m.Top, "first", "g home", ""},
		{"last", &m.Bottom, "last", "G end", ""},
		{"page-up", &m.PageUp, "page up", "ctrl+u pgup", ""},
		{"page-down", &m.PageDown, "page down", "ctrl+d pgdown", ""},
		{"", &m.Enter, "open", "enter", ""},
		{"", &m.Back, "back", "esc", ""},
		{"filter", &m.Filter, "filter", "/", ""},
		{"commands", &m.Palette, "commands", ":", ""},
		{"help", &m.Help, "help", "?", ""},
		{"quit", &m.Quit, "quit", "q", ""},
		{"", &m.Kill, "quit at once", "ctrl+c", ""},
		{"", &m.Suspend, "to the shell", "ctrl+z", ""},
		{"pause", &m.Pause, "pause", "p", ""},
		{"reconnect", &m.Reconnect, "reconnect", "r", ""},
		{"pack", &m.Pack, "other pack", "P", ""},
		{"beside", &m.Beside, "second pack", "B", ""},
		{"side", &m.Side, "other side", "W", ""},
		{"profile", &m.Profile, "other profile", "@", ""},
		{"theme", &m.Theme, "theme", "t", ""},
		{"mouse", &m.Mouse, "mouse on/off", "m", ""},
		{"save", &m.Save, "save stream", "S", ""},
		{"copy", &m.Copy, "copy", "y", ""},
		{"copy-path", &m.CopyPath, "copy path", "Y", ""},
		{"open", &m.Open, "source", "o", ""},
		{"cite", &m.Cite, "cite", "c", ""},
		{"sort", &m.Sort, "sort", "s", "Live Lookup"},
		{"trend", &m.Trend, "trends", "H", "Live"},
		{"span", &m.Span, "span", "z", "Live History"},
		{"watch", &m.Alert, "watch", "a", "Live"},
		{"versus", &m.Versus, "compare", "C", "Live History"},
		{"drawing", &m.Drawing, "chart style", "V", "Live History"},
		{"redraw", &m.Redraw, "redraw", "ctrl+l", ""},
		{"flags", &m.Flags, "flags", "f", ""},
		{"last-error", &m.LastError, "last error", "!", ""},
		{"brief", &m.Brief, "new brief (1 credit)", "b", "Live Brief"},
		{"query", &m.Query, "type a query", "i", "Lookup"},
		{"minute-back", &m.MinuteBack, "state back", "[", "Live History"},
		{"minute-on", &m.MinuteOn, "state on", "]", "Live History"},
		{"hour-back", &m.HourBack, "hour back", "{", "Live History"},
		{"hour-on", &m.HourOn, "hour on", "}", "Live History"},
		{"day-back", &m.DayBack, "day back", "(", "Live History"},
		{"day-on", &m.DayOn, "day on", ")", "Live History"},
		{"compare", &m.Compare, "differences", "d", "History"},
		{"newest", &m.Now, "live", "n", "History"},
		{"new-key", &m.NewKey, "new key", "n", "Keys"},
		{"revoke", &m.Revoke, "revoke", "x", "Keys"},
		{"reload", &m.Reload, "load again", "R", "Live Keys Credits"},
		{"buy", &m.Buy, "buy credits", "b", "Credits"},
		{"paid", &m.Paid, "it is paid in…", "v", "Credits"},
		{"code", &m.Code, "QR code", "Q", "Credits"},
		{"wallet", &m.Wallet, "pay from wallet", "w", "Credits"},
		{"cancel", &m.Cancel, "cancel purchase", "X", "Credits"},
	}
	for i, name := range ScreenNames() {
		list = append(list, action{"screen-" + strings.ToLower(name), &m.Tab[i], name, string(rune('1' + i)), ""})
	}
	return list
}

// NewKeymap makes the map. Changes are the keys of actions by their names, in place of the usual ones.
func NewKeymap(changes map[string][]string) (Keymap, error) {
	var m Keymap
	all := m.actions()
	if given, was := changes["alert"]; was { // as watch was called
		changes = maps.Clone(changes)
		delete(changes, "alert")
		if changes["watch"] == nil {
			changes["watch"] = given
		}
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if name == "" || !slices.ContainsFunc(all, func(a action) bool { return a.name == name }) {
			return m, fmt.Errorf("keys.%s: there is no such action", name)
		}
	}
	for _, a := range all {
		keys := strings.Fields(a.keys)
		if given, ok := changes[a.name]; ok {
			var err error
			if keys, err = check(given); err != nil {
				return m, fmt.Errorf("keys.%s: %w", a.name, err)
			}
		}
		*a.key = bind(a.does, keys...)
	}
	return m, clash(all)
}

// DefaultKeymap is the map without changes.
func DefaultKeymap() Keymap {
	m, err := NewKeymap(nil)
	if err != nil {
		panic(err) // the table above is wrong, and nothing would start
	}
	return m
}

// check returns keys as Bubble Tea calls them.
func check(given []string) ([]string, error) {
	if len(given) == 0 {
		return nil, fmt.Errorf("it needs a key")
	}
	var keys []string
	for _, name := range given {
		alt, plain := "", name
		if rest, ok := strings.CutPrefix(name, "alt+"); ok {
			alt, plain = "alt+", rest
		}
		if plain == "space" {
			plain = " "
		}
		r, size := utf8.DecodeRuneInString(plain)
		if (size == 0 || size != len(plain) || !unicode.IsPrint(r)) && !slices.Contains(namedKeys(), plain) {
			return nil, fmt.Errorf("%q is no key; a character is one, and such as space, tab, f5, ctrl+p, alt+p", name)
		}
		if k := alt + plain; !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

func namedKeys() (names []string) {
	for kind := -100; kind < 128; kind++ {
		if name := tea.KeyType(kind).String(); name != "" && tea.KeyType(kind) != tea.KeyRunes {
			names = append(names, name)
		}
	}
	return names
}

// clash says that a key does two things where both can be done.
func clash(all []action) error {
	taken := map[string][]action{}
	for _, a := range all {
		for _, k := range a.key.Keys() {
			for _, other := range taken[k] {
				if meet(a.where, other.where) {
					return fmt.Errorf("keys: %s is both %q and %q", label(k), cmp.Or(other.name, other.does), cmp.Or(a.name, a.does))
				}
			}
			taken[k] = append(taken[k], a)
		}
	}
	return nil
}

// meet reports whether two lists of screens have one in common.
func meet(a, b string) bool {
	screens := strings.Fields(b)
	return a == "" || b == "" || slices.ContainsFunc(strings.Fields(a), func(one string) bool { return slices.Contains(screens, one) })
}

// Action is something that keys do, for a list.
type Action struct {
	Name string // by which other keys are bound to it
	Keys []string
	Does string
}

// Actions are all that other keys can be bound to, by name.
func Actions() []Action {
	m := DefaultKeymap()
	var list []Action
	for _, a := range m.actions() {
		if a.name != "" {
			list = append(list, Action{a.name, a.key.Keys(), a.does})
		}
	}
	slices.SortFunc(list, func(a, b Action) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// bind makes a binding whose help shows its first key.
func bind(does string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(label(keys[0]), does))
}

func label(name string) string {
	if rest, ok := strings.CutSuffix(name, " "); ok {
		name = rest + "space"
	}
	return strings.Replace(name, "shift+", "S-", 1)
}

// KeyLabel is the key of a binding as it is shown.
func KeyLabel(b key.Binding) string { return b.Help().Key }

// KeyGroup is a binding for the help alone: keys that belong together, under one word.
func KeyGroup(keys, does string) key.Binding {
	return key.NewBinding(key.WithKeys(keys), key.WithHelp(keys, does))
}

// KeyPair is KeyGroup of the keys of two bindings, with something between them.
func KeyPair(a key.Binding, between string, b key.Binding, does string) key.Binding {
	return KeyGroup(strings.ReplaceAll(KeyLabel(a)+between+KeyLabel(b), "ctrl+", "^"), does)
}

// tabs are the keys of the screens: 1-8, or all of them where they are others.
func (m Keymap) tabs() string {
	labels, usual := make([]string, len(m.Tab)), true
	for i := range m.Tab {
		labels[i] = KeyLabel(m.Tab[i])
		usual = usual && labels[i] == string(rune('1'+i))
	}
	if usual {
		return labels[0] + "-" + labels[len(labels)-1]
	}
	return strings.Join(labels, " ")
}

// Global are the keys that work on every screen, in groups for the help. There are as many groups as titles.
func (m Keymap) Global() (titles []string, groups [][]key.Binding) {
	return []string{"Move", "Show", "Take away", "Program"}, [][]key.Binding{
		{KeyGroup(m.tabs(), "screens"), KeyPair(m.Down, "/", m.Up, "up and down"), m.Left, m.Right,
			KeyPair(m.Top, "/", m.Bottom, "first, last"), KeyPair(m.PageDown, "/", m.PageUp, "page"),
			KeyPair(m.NextPane, "/", m.PrevPane, "pane")},
		{m.Enter, m.Back, m.Filter, m.Palette, m.Help, m.Pause, m.Flags, m.LastError},
		{m.Copy, m.CopyPath, m.Cite, m.Open, m.Save},
		{m.Reconnect, m.Pack, m.Beside, m.Side, m.Profile, m.Theme, m.Mouse, m.Redraw, m.Quit, KeyGroup("^c", "quit at once")},
	}
}
