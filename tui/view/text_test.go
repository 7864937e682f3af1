package view_test

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/contextd/contextd/tui/view"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"plain":                        "plain",
		"a\tb\nc":                      "a b\nc",
		"\x1b[31mred\x1b[0m":           "red",
		"\x1b]0;owned\x07title":        "title",
		"\x1b]52;c;ZXZpbA==\x1b\\x":    "x",
		"a\x00\x07\x08\r\x7fb":         "ab",
		"c1 \u009b31m":                 "c1 31m",
		"rtl \u202eevil\u2066 \u200fx": "rtl evil x",
		"\u0903mark e\u0301":           "mark e\u0301",
		"join\u200d\ufeff":             "join",
		"lines\u2028\u2029":            "lines",
		"bad \xff\xfe utf":             "bad \uFFFD utf",
		"漢字 é":                         "漢字 é",
	} {
		if got := view.Clean(given); got != want {
			t.Errorf("Clean(%q) = %q, want %q", given, got, want)
		}
	}
	if got := view.Line("a\nb\n\nc"); got != "a b c" {
		t.Errorf("Line = %q", got)
	}
}

// TestCleanNothingCommands: whatever goes in, nothing comes out that a terminal would obey.
func TestCleanNothingCommands(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
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
	rapid.Check(t, func(t *rapid.T) {
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
		{view.Plural(1, "break"), "1 break"},
		{view.Plural(2, "break"), "2 breaks"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	f := func(v float64) *float64 { return &v }
	n := func(v int64) *int64 { return &v }
	for _, test := range []struct{ got, want string }{
		{view.Price(nil), "-"}, {view.Price(f(0)), "0"}, {view.Price(f(0.5)), "0.5000"}, {view.Price(f(0.05)), "0.05000"}, {view.Price(f(0.00007364)), "0.00007364"},
		{view.Price(f(3e-9)), "3e-09"}, {view.Price(f(1)), "1.00"}, {view.Price(f(91442.9)), "91,442.90"}, {view.Price(f(1234567.891)), "1,234,567.89"}, {view.Price(f(3e18)), "3e+18"},
		{view.Price(f(-2)), "-2.0000"},
		{view.Dollars(nil), "-"}, {view.Dollars(n(0)), "0"}, {view.Dollars(n(999)), "999"}, {view.Dollars(n(1000)), "1.00K"}, {view.Dollars(n(31266924252)), "31.3B"},
		{view.Dollars(n(124142821919)), "124B"}, {view.Dollars(n(3325259814782)), "3.33T"}, {view.Dollars(n(-1500000)), "-1.50M"}, {view.Dollars(n(9007199254740993)), "9007T"},
		{view.Percent(nil), "-"}, {view.Percent(f(0)), "+0.00"}, {view.Percent(f(-1.624)), "-1.62"}, {view.Percent(f(12345.6)), "+12346"},
		{view.Count(0), "0"}, {view.Count(999), "999"}, {view.Count(84201), "84,201"}, {view.Count(-1234567), "-1,234,567"},
		{view.Age(-time.Second), "0s"}, {view.Age(59 * time.Second), "59s"}, {view.Age(102 * time.Second), "1m42s"}, {view.Age(2*time.Hour + 5*time.Minute), "2h05m"}, {view.Age(76 * time.Hour), "3d4h"},
		{view.Clock(-1), "0:00"}, {view.Clock(102 * time.Second), "1:42"}, {view.Clock(2*time.Hour + 14*time.Minute + 9*time.Second), "2:14:09"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}
