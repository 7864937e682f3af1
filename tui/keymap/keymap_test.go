package keymap_test

import (
	"reflect"
	"testing"

	"github.com/charmbracelet/bubbles/key"

	"github.com/contextd/contextd/tui/keymap"
)

// bindings are all keys of the map by the names of their fields.
func bindings(m keymap.Map) map[string]key.Binding {
	all := map[string]key.Binding{}
	v := reflect.ValueOf(m)
	for i := range v.NumField() {
		switch b := v.Field(i).Interface().(type) {
		case key.Binding:
			all[v.Type().Field(i).Name] = b
		case [8]key.Binding:
			for j := range b {
				all["Tab"+b[j].Help().Key] = b[j]
			}
		}
	}
	return all
}

// TestEveryKeyHasOneMeaning checks that no key means two things, but for n, which the screens History and Keys have each for itself,
// and b, which is the brief but on the screen Credits.
func TestEveryKeyHasOneMeaning(t *testing.T) {
	t.Parallel()
	meaning := map[string]string{}
	for name, b := range bindings(keymap.New()) {
		if len(b.Keys()) == 0 || b.Help().Key == "" || b.Help().Desc == "" {
			t.Errorf("%s has no key or no words", name)
		}
		for _, k := range b.Keys() {
			if other := meaning[k]; other != "" && k != "n" && k != "b" {
				t.Errorf("%s means %s and %s", k, name, other)
			}
			meaning[k] = name
		}
	}
}

func TestGlobalIsComplete(t *testing.T) {
	t.Parallel()
	m := keymap.New()
	titles, groups := m.Global()
	if len(titles) != len(groups) || len(keymap.Screens()) != len(m.Tab) {
		t.Errorf("%d titles for %d groups, %d screens for %d keys", len(titles), len(groups), len(keymap.Screens()), len(m.Tab))
	}
	shown := map[string]bool{}
	for _, g := range groups {
		for _, b := range g {
			shown[b.Help().Key] = true
		}
	}
	for _, b := range []key.Binding{m.Pause, m.Reconnect, m.Pack, m.Theme, m.Mouse, m.Save, m.Copy, m.CopyPath, m.Open, m.Cite, m.Palette, m.Help, m.Quit, m.LastError, m.Filter} {
		if !shown[b.Help().Key] {
			t.Errorf("%s (%s) is not in the help", b.Help().Key, b.Help().Desc)
		}
	}
}
