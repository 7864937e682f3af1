package view_test

import (
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/tui/view"
)

func glyphs(ascii bool) view.Glyphs { return view.NewTheme(view.Plain, view.NoColor, ascii).Glyphs }

func TestLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values []float64
		width  int
		want   string
	}{
		{nil, 5, ""},
		{[]float64{1}, 5, ""},
		{[]float64{1, 2}, 0, ""},
		{[]float64{1, 2}, 5, "▁█"},
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7}, 8, "▁▂▃▄▅▆▇█"},
		{[]float64{0, 100, 1, 2}, 2, "▁█"},
		{[]float64{5, 5, 5}, 3, "▄▄▄"},
	} {
		if got := view.Sparkline(test.values, test.width, glyphs(false)); got != test.want {
			t.Errorf("%v in %d: %q, want %q", test.values, test.width, got, test.want)
		}
	}
	if got := view.Sparkline([]float64{0, 7}, 2, glyphs(true)); got != "_'" {
		t.Errorf("ascii: %q", got)
	}
}

func TestBar(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64]string{0: "....", 0.5: "##..", 1: "####", 7: "####", -1: "....", math.Inf(1): "####"} {
		if got := view.Bar(share, 4, glyphs(true)); got != want {
			t.Errorf("%v: %q, want %q", share, got, want)
		}
	}
	if got := view.Bar(math.NaN(), 2, glyphs(true)); got != ".." {
		t.Errorf("not a number: %q", got)
	}
}

func TestChart(t *testing.T) {
	t.Parallel()
	for _, ascii := range []bool{false, true} {
		for _, values := range [][]float64{{1, 2}, {3, 1, 2, 5, 4}, {2, 2, 2}, {0, 1e12, -1e12}} {
			lines := view.Chart(values, 20, 5, glyphs(ascii))
			if len(lines) != 5 {
				t.Fatalf("%v: %d lines", values, len(lines))
			}
			for x := range 20 {
				column := ""
				for _, line := range lines {
					if w := ansi.StringWidth(line); w != 20 {
						t.Fatalf("%v: line of %d columns", values, w)
					}
					column += string([]rune(line)[x])
				}
				if strings.TrimSpace(column) == "" {
					t.Errorf("%v, ascii %v: column %d is empty:\n%s", values, ascii, x, strings.Join(lines, "\n"))
				}
			}
		}
	}
	rise := view.Chart([]float64{0, 1}, 10, 3, glyphs(true))
	if !strings.HasPrefix(rise[2], "*") || !strings.HasSuffix(rise[0], "*") {
		t.Errorf("a rise is\n%s", strings.Join(rise, "\n"))
	}
	for _, none := range [][]string{view.Chart([]float64{1}, 9, 9, glyphs(false)), view.Chart([]float64{1, 2}, 1, 9, glyphs(false)), view.Chart([]float64{1, 2}, 9, 0, glyphs(false))} {
		if none != nil {
			t.Errorf("drew %q", none)
		}
	}
}

// TestTrend: a curve is as wide as it should be, in the colours of its sign, and empty where nothing is known.
func TestTrend(t *testing.T) {
	t.Parallel()
	th := view.NewTheme(view.Dark, view.Colors256, false)
	for _, test := range []struct {
		values []float64
		shades [3]view.Style
	}{{[]float64{1, 2, 3, 4}, th.Rise}, {[]float64{4, 5, 1}, th.Fall}, {[]float64{2, 9, 2}, th.Still}, {[]float64{math.NaN(), math.NaN(), 1, 2}, th.Rise}} {
		got := view.Trend(test.values, 9, th)
		if w := ansi.StringWidth(got); w != 9 {
			t.Errorf("%v has %d columns", test.values, w)
		}
		for _, shade := range test.shades {
			if !strings.Contains(got, "["+string(shade)+"m") {
				t.Errorf("%v lacks %s: %q", test.values, shade, got)
			}
		}
		if math.IsNaN(test.values[0]) != strings.HasPrefix(ansi.Strip(got), "  ") {
			t.Errorf("%v begins %q", test.values, ansi.Strip(got))
		}
	}
	for _, none := range [][]float64{nil, {1}, {math.NaN(), 1}, {math.NaN(), math.NaN()}} {
		if got := view.Trend(none, 9, th); got != "" {
			t.Errorf("%v is %q", none, got)
		}
	}
	if got := view.Trend([]float64{1, 2, 3, 4}, 4, view.NewTheme(view.Plain, view.NoColor, true)); got != "_.-'" {
		t.Errorf("ascii: %q", got)
	}
}
