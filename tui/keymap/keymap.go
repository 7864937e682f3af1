// Package keymap is the one list of keys of the terminal UI. What the footer shows, what the help shows and what a key does all
// come from it.
package keymap

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
)

// Map are all keys by what they do.
type Map struct {
	Tab                                                  [8]key.Binding // the screens, in order
	NextPane, PrevPane, Up, Down, Left, Right            key.Binding
	Top, Bottom, PageUp, PageDown                        key.Binding
	Enter, Back, Filter, Palette, Help                   key.Binding
	Quit, Kill, Suspend                                  key.Binding
	Pause, Reconnect, Pack, Profile, Theme, Mouse, Save  key.Binding
	Copy, CopyPath, Open, Cite, Sort, Trend, Redraw      key.Binding
	LastError, Brief                                     key.Binding
	MinuteBack, MinuteOn, HourBack, HourOn, Compare, Now key.Binding
	NewKey, Revoke, Reload                               key.Binding
	Buy, Paid, Code, Wallet                              key.Binding
}

// Screens are the names of the screens in the order of their keys.
func Screens() []string {
	return []string{"Live", "Brief", "Search", "History", "Sources", "Keys", "Credits", "Log"}
}

// New makes the map.
func New() Map {
	m := Map{
		NextPane: bind("pane", "tab"), PrevPane: bind("pane before", "shift+tab"), Up: bind("up", "k", "up"), Down: bind("down", "j", "down"),
		Left: bind("left, fold", "h", "left"), Right: bind("right, unfold", "l", "right"),
		Top: bind("first", "g", "home"), Bottom: bind("last", "G", "end"), PageUp: bind("page up", "ctrl+u", "pgup"), PageDown: bind("page down", "ctrl+d", "pgdown"),
		Enter: bind("open", "enter"), Back: bind("back", "esc"), Filter: bind("filter", "/"), Palette: bind("commands", ":"), Help: bind("help", "?"),
		Quit: bind("quit", "q"), Kill: bind("quit at once", "ctrl+c"), Suspend: bind("to the shell", "ctrl+z"),
		Pause: bind("pause", "p"), Reconnect: bind("reconnect", "r"), Pack: bind("other pack", "P"), Profile: bind("other profile", "@"), Theme: bind("theme", "t"), Mouse: bind("mouse on/off", "m"),
		Save: bind("save stream", "S"), Copy: bind("copy", "y"), CopyPath: bind("copy path", "Y"), Open: bind("source", "o"),
		Cite: bind("cite", "c"), Sort: bind("sort", "s"), Trend: bind("trend (12 credits)", "H"), Redraw: bind("redraw", "ctrl+l"),
		LastError: bind("last error", "!"), Brief: bind("new brief (1 credit)", "b"),
		MinuteBack: bind("minute back", "["), MinuteOn: bind("minute on", "]"), HourBack: bind("hour back", "{"), HourOn: bind("hour on", "}"),
		Compare: bind("compare", "d"), Now: bind("newest minute", "n"),
		NewKey: bind("new key", "n"), Revoke: bind("revoke", "x"), Reload: bind("load again", "R"),
		Buy: bind("buy credits", "b"), Paid: bind("it is paid in…", "v"), Code: bind("QR code", "Q"), Wallet: bind("pay from wallet", "w"),
	}
	for i, name := range Screens() {
		m.Tab[i] = bind(name, string(rune('1'+i)))
	}
	return m
}

// bind makes a binding whose help shows its first key and, if there is one, a second that is short.
func bind(does string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(strings.Replace(keys[0], "shift+", "S-", 1), does))
}

// Merge is a binding for the help alone: keys that belong together, under one word.
func Merge(keys, does string) key.Binding {
	return key.NewBinding(key.WithKeys(keys), key.WithHelp(keys, does))
}

// Global are the keys that work on every screen, in groups for the help. There are as many groups as titles.
func (m Map) Global() (titles []string, groups [][]key.Binding) {
	return []string{"Move", "Show", "Take away", "Program"}, [][]key.Binding{
		{Merge("1-8", "screens"), Merge("j/k", "up and down"), m.Left, m.Right, Merge("g/G", "first, last"), Merge("^d/^u", "page"), Merge("tab/S-tab", "pane")},
		{m.Enter, m.Back, m.Filter, m.Palette, m.Help, m.Pause, m.LastError},
		{m.Copy, m.CopyPath, m.Cite, m.Open, m.Save},
		{m.Reconnect, m.Pack, m.Profile, m.Theme, m.Mouse, m.Redraw, m.Quit, Merge("^c", "quit at once")},
	}
}
