package view

import "strings"

// ThemeName is the name of a theme.
type ThemeName string

// The themes. Mono uses bold, dim, underline and reverse alone; Plain uses nothing at all, for text that is read by programs.
const (
	Dark  ThemeName = "dark"
	Light ThemeName = "light"
	Mono  ThemeName = "mono"
	Plain ThemeName = "plain"
)

// ThemeNames returns the themes a user can choose.
func ThemeNames() []ThemeName { return []ThemeName{Dark, Light, Mono} }

// ColorDepth is how many colours a terminal has.
type ColorDepth int

// The depths. Colours that a terminal lacks are replaced by the nearest of the sixteen.
const (
	NoColor ColorDepth = iota
	Colors16
	Colors256
)

// Style is a list of SGR parameters, "" for none.
type Style string

const reset = "\x1b[0m"

// On marks text with s. Marks within text stay.
func (s Style) On(text string) string {
	if s == "" || text == "" {
		return text
	}
	begin := "\x1b[" + string(s) + "m"
	if strings.Contains(text, reset) {
		text = strings.ReplaceAll(text, reset, reset+begin)
	}
	return begin + text + reset
}

// Theme is how things are marked.
type Theme struct {
	Name   ThemeName
	Depth  ColorDepth
	Glyphs Glyphs

	Bold, Dim                     Style
	Accent, Good, Bad, Warn, Link Style
	Select, Flash, Border, Focus  Style
	Tab                           Style // of the screen that is shown
	Key                           Style // of a key that is named beside what it does
	Alarm                         Style // of a bar that must not be overlooked

	Rise, Fall, Still [3]Style // of a curve, from its oldest part to its newest
}

// NewTheme makes the theme of a name. Dark and Light become Mono where there is no colour.
func NewTheme(name ThemeName, depth ColorDepth, ascii bool) Theme {
	t := Theme{Name: name, Depth: depth, Glyphs: unicodeGlyphs()}
	if ascii {
		t.Glyphs = asciiGlyphs()
	}
	if name == Plain {
		return t
	}
	t.Bold = "1"
	t.Flash = "1"
	t.Select = "7"
	t.Alarm = "1;7"
	t.Key = "1"
	if name == Mono || depth == NoColor {
		t.Rise = [3]Style{"2", "", "1"}
		t.Fall, t.Still = t.Rise, t.Rise
		t.Accent = "1"
		t.Focus = "1"
		t.Dim = "2"
		t.Link = "4"
		t.Tab = "1;7"
		return t
	}
	p := palette(name, depth == Colors256)
	t.Accent = p.accent
	t.Focus = "1;" + p.accent
	t.Dim = p.dim
	t.Link = p.accent
	t.Tab = "1;7;" + p.accent
	t.Border = p.faint
	t.Good = p.good
	t.Bad = p.bad
	t.Warn = p.warn
	t.Key = "1;" + p.accent
	t.Select = p.row
	t.Alarm = p.alarm
	t.Rise, t.Fall, t.Still = p.rise, p.fall, p.still
	return t
}

type colors struct {
	accent, good, bad, warn, dim, faint Style
	row, alarm                          Style // with a background
	rise, fall, still                   [3]Style
}

// palette are the hues for a background: on white, yellow and bright green cannot be read, on black dark blue cannot. Sixteen colours have
// no grey that red can be read on, so that a row is underlined there.
func palette(name ThemeName, many bool) colors {
	switch {
	case name == Light && many:
		return colors{"38;5;25", "38;5;28", "38;5;160", "38;5;130", "38;5;241", "38;5;247", "48;5;254", "1;38;5;231;48;5;160",
			[3]Style{"38;5;108", "38;5;65", "38;5;28"}, [3]Style{"38;5;174", "38;5;167", "38;5;160"},
			[3]Style{"38;5;247", "38;5;243", "38;5;238"}}
	case name == Light:
		return colors{"34", "32", "31", "35", "90", "90", "47", "1;97;41",
			[3]Style{"32", "32", "1;32"}, [3]Style{"31", "31", "1;31"}, [3]Style{"90", "90", "1"}}
	case many:
		return colors{"38;5;81", "38;5;114", "38;5;210", "38;5;221", "38;5;246", "38;5;240", "48;5;236", "1;38;5;231;48;5;124",
			[3]Style{"38;5;65", "38;5;71", "38;5;114"}, [3]Style{"38;5;131", "38;5;167", "38;5;210"},
			[3]Style{"38;5;240", "38;5;244", "38;5;250"}}
	}
	return colors{"36", "32", "31", "33", "2", "90", "4", "1;97;41",
		[3]Style{"2;32", "32", "1;32"}, [3]Style{"2;31", "31", "1;31"}, [3]Style{"2", "", "1"}}
}
