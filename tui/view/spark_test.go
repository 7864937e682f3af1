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
