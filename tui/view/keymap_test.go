package view_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/bubbles/key"

	"github.com/contextd/contextd/tui/view"
)

// bindings are all keys of the map by the names of their fields.
func bindings(m view.Keymap) map[string]key.Binding {
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
	for name, b := range bindings(view.DefaultKeymap()) {
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
	m := view.DefaultKeymap()
	titles, groups := m.Global()
	if len(titles) != len(groups) || len(view.ScreenNames()) != len(m.Tab) {
		t.Errorf("%d titles for %d groups, %d screens for %d keys", len(titles), len(groups), len(view.ScreenNames()), len(m.Tab))
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

// TestOtherKeys binds actions to other keys, and refuses what cannot be.
func TestOtherKeys(t *testing.T) {
	t.Parallel()
	m, err := view.NewKeymap(map[string][]string{"pause": {"space", "alt+p"}, "down": {"J"}, "screen-live": {"f1"}, "newest": {"b"}, "copy": {"alt+space"}, "sort": {"n", "n"}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Pause.Keys(), []string{" ", "alt+p"}) || view.KeyLabel(m.Pause) != "space" || view.KeyLabel(m.Tab[0]) != "f1" || view.KeyLabel(m.Up) != "k" || view.KeyLabel(m.Copy) != "alt+space" || !slices.Equal(m.Copy.Keys(), []string{"alt+ "}) || !slices.Equal(m.Sort.Keys(), []string{"n"}) {
		t.Errorf("pause %q, live %q", m.Pause.Keys(), m.Tab[0].Keys())
	}
	if old, err := view.NewKeymap(map[string][]string{"alert": {"u"}}); err != nil || !slices.Equal(old.Alert.Keys(), []string{"u"}) {
		t.Errorf("a watch as it was called: %q, %v", old.Alert.Keys(), err)
	}
	_, groups := m.Global()
	if got := view.KeyLabel(groups[0][0]) + " " + view.KeyLabel(groups[0][1]); got != "f1 2 3 4 5 6 7 8 J/k" {
		t.Errorf("the help has %s", got)
	}
	for want, changes := range map[string]map[string][]string{
		"keys.paus: there is no such action": {"paus": {"x"}},
		"keys.: there is no such action":     {"": {"x"}},
		"keys.pause: it needs a key":         {"pause": nil},
		`keys.pause: "spacebar" is no key`:   {"pause": {"spacebar"}},
		`keys.pause: "" is no key`:           {"pause": {""}},
		`keys.pause: "\a" is no key`:         {"pause": {"\a"}},
		`"quit at once" and "pause"`:         {"pause": {"ctrl+c"}},
		`"open" and "pause"`:                 {"pause": {"enter"}},
		`"pause" and "brief"`:                {"pause": {"b"}},
		`"compare" and "newest"`:             {"newest": {"d"}},
	} {
		if _, err := view.NewKeymap(changes); err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), reversed(want)) {
			t.Errorf("%v: %v, want %s", changes, err, want)
		}
	}
}

// reversed is want with the two that share a key in the other order.
func reversed(want string) string {
	a, b, _ := strings.Cut(want, " and ")
	return b + " and " + a
}
