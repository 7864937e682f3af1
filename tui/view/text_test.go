package view_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/contextd/contextd/internal/chance"
	"github.com/contextd/contextd/tui/view"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"plain":                         "plain",
		"a\tb\nc":                       "a b\nc",
		"\u0903mark e\u0301":            "mark e\u0301",
		"one\n\u0301two\nthr\u0600ee\n": "one\ntwo\nthree\n",
		"\x1b[31mred\x1b[0m\u200d":      "red",
		"漢字 é":                          "漢字 é",
	} {
		if got := view.Clean(given); got != want {
			t.Errorf("Clean(%q) = %q, want %q", given, got, want)
		}
	}
	if got := view.Line("\u0301a\tb"); got != "a b" {
		t.Errorf("Line = %q", got)
	}
	if got := view.Line("a\nb\n\nc"); got != "a b c" {
		t.Errorf("Line = %q", got)
	}
}

func TestCutWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width int
		want  string
	}{{40, "peg lost, at $0.9684 now"}, {24, "peg lost, at $0.9684 now"}, {23, "peg lost, at $0.9684 n…"}, {21, "peg lost, at $0.9684…"},
		{20, "peg lost, at…"}, {15, "peg lost, at…"}, {12, "peg lost, a…"}, {1, "p"}, {0, ""}} {
		if got := view.CutWhole("peg lost, at $0.9684 now", c.width, "…"); got != c.want {
			t.Errorf("%d: %q, want %q", c.width, got, c.want)
		}
	}
}

// TestCleanNothingCommands: whatever goes in, nothing comes out that a terminal would obey.
func TestCleanNothingCommands(t *testing.T) {
	t.Parallel()
	chance.Check(t, func(t *rapid.T) {
		raw := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		got := view.Line(raw)
		for _, r := range got {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("%q keeps %U", got, r)
			}
		}
	})
}

// TestWidths: whatever goes in, what comes out is as wide as it should be.
func TestWidths(t *testing.T) {
	t.Parallel()
	chance.Check(t, func(t *rapid.T) {
		s := view.Line(rapid.String().Draw(t, "text"))
		other := view.Line(rapid.StringN(0, 20, -1).Draw(t, "other"))
		width := rapid.IntRange(0, 60).Draw(t, "width")
		for name, got := range map[string]string{"Fit": view.Fit(s, width, "…"), "Right": view.AlignRight(s, width, "…"), "Sides": view.Sides(s, other, width, "…")} {
			if w := ansi.StringWidth(got); w != width {
				t.Fatalf("%s(%q, %d) = %q, %d columns", name, s, width, got, w)
			}
		}
		if w := view.Width(view.CutLeft(s, width, "…")); w > max(width, 1) {
			t.Fatalf("CutLeft(%q, %d) is %d columns wide", s, width, w)
		}
		if got := view.ASCII(s); ansi.StringWidth(got) != ansi.StringWidth(s) && !strings.ContainsRune(s, '\u200d') && len(got) < ansi.StringWidth(s) {
			t.Fatalf("ASCII(%q) = %q", s, got)
		}
	})
}

func TestCuts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ got, want string }{
		{view.Cut("abcdef", 4, "…"), "abc…"},
		{view.Cut("abcdef", 6, "…"), "abcdef"},
		{view.Cut("abcdef", 1, "…"), "a"},
		{view.Cut("abcdef", -1, "…"), ""},
		{view.Cut("漢字漢字", 5, "…"), "漢字…"},
		{view.CutLeft("top_movers[0].priceUsd", 12, "…"), "…0].priceUsd"},
		{view.Sides("left", "right", 12, "…"), "left   right"},
		{view.Sides("a long left side", "right", 14, "…"), "a long l…right"},
		{view.Sides("a long left side", "right", 10, "…"), "a long le…"},
		{view.ASCII("“a” – ‘b’ 漢 é"), `"a" - 'b' ?? ?`},
		{strings.Join(view.Wrap("one two three", 7), "|"), "one two|three"},
		{strings.Join(view.Wrap("averylongword", 5), "|"), "avery|longw|ord"},
		{strings.Join(view.Wrap("x", 0), "|"), ""},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

// TestWidth: the short way and the long one agree, whatever the text.
func TestWidth(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", "\x1b[38;5;81m╭─ ⠉⠑ ●▌\x1b[0m", "✓ … → −1", "漢字", "é", "e\u0301", "●\ufe0f", "\x1b[2J", "\x1b]0;x\x07", "\x1b[", "a\x1b", "▲\u0301", "\x1b[1"} {
		if got, want := view.Width(s), ansi.StringWidth(s); got != want {
			t.Errorf("%q is %d columns, want %d", s, got, want)
		}
	}
	chance.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "─", "⠉", "●", "\x1b[1;31m", "\x1b[0m", "漢", "\u0301", "\ufe0f", "…", "✓", "🙂", "\u200d", "\x1b", "[", "m"})
		s := strings.Join(rapid.SliceOf(part).Draw(t, "parts"), "")
		if got, want := view.Width(s), ansi.StringWidth(s); got != want {
			t.Fatalf("%q is %d columns, want %d", s, got, want)
		}
	})
}
