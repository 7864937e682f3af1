package view_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/contextd/contextd/tui/view"
)

func TestOn(t *testing.T) {
	t.Parallel()
	bold, red := view.Style("1"), view.Style("31")
	for _, test := range []struct{ got, want string }{
		{bold.On("x"), "\x1b[1mx\x1b[0m"},
		{bold.On(""), ""},
		{view.Style("").On("x"), "x"},
		{bold.On("a" + red.On("b") + "c"), "\x1b[1ma\x1b[31mb\x1b[0m\x1b[1mc\x1b[0m"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

// styles are all styles of a theme by their names.
func styles(th view.Theme) map[string]view.Style {
	all := map[string]view.Style{}
	v := reflect.ValueOf(th)
	for i := range v.NumField() {
		if s, ok := v.Field(i).Interface().(view.Style); ok {
			all[v.Type().Field(i).Name] = s
		}
	}
	return all
}

// TestColours checks that colours come only where they may, and that dark and light differ.
func TestColours(t *testing.T) {
	t.Parallel()
	colored := func(s view.Style) bool {
		for part := range strings.SplitSeq(string(s), ";") {
			if len(part) > 1 {
				return true
			}
		}
		return false
	}
	for _, name := range view.ThemeNames() {
		for depth := view.NoColor; depth <= view.Colors256; depth++ {
			any := false
			for style, code := range styles(view.NewTheme(name, depth, false)) {
				any = any || colored(code)
				if depth < view.Colors256 && strings.Contains(string(code), "38;5") {
					t.Errorf("%s in depth %d: %s is %s", name, depth, style, code)
				}
			}
			if want := name != view.Mono && depth != view.NoColor; any != want {
				t.Errorf("%s in depth %d has colours: %v, want %v", name, depth, any, want)
			}
		}
	}
	for style, code := range styles(view.NewTheme(view.Plain, view.Colors256, false)) {
		if code != "" {
			t.Errorf("plain: %s is %q", style, code)
		}
	}
	if row := view.NewTheme(view.Dark, view.Colors16, false).Select; colored(row) {
		t.Errorf("a row is selected by the background %s, on which not all of sixteen colours can be read", row)
	}
	dark, light := view.NewTheme(view.Dark, view.Colors256, false), view.NewTheme(view.Light, view.Colors256, false)
	if dark.Warn == light.Warn || dark.Good == light.Good {
		t.Error("dark and light have the same hues")
	}
}

// TestGlyphs checks that the ASCII set is ASCII, that no set lacks a glyph, and that states that differ look different.
func TestGlyphs(t *testing.T) {
	t.Parallel()
	for _, ascii := range []bool{false, true} {
		g := view.NewTheme(view.Mono, view.NoColor, ascii).Glyphs
		v := reflect.ValueOf(g)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			switch glyph := v.Field(i).Interface().(type) {
			case string:
				if glyph == "" || ascii && strings.ContainsFunc(glyph, func(r rune) bool { return r > '~' }) {
					t.Errorf("ascii %v: %s is %q", ascii, name, glyph)
				}
			case []string:
				if len(glyph) != 8 {
					t.Errorf("ascii %v: %s has %d levels", ascii, name, len(glyph))
				}
			}
		}
		seen := map[string]bool{}
		for _, glyph := range []string{g.Live, g.Retry, g.Offline, g.Paused, g.Stale} {
			if seen[glyph] {
				t.Errorf("ascii %v: %q stands for two states", ascii, glyph)
			}
			seen[glyph] = true
		}
	}
}
