package view_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/tui/view"
)

func drawn(c *view.Canvas) string { return strings.Join(c.Lines(view.Styles{}), "\n") }

// TestCanvas: what is drawn later lies above, a grid lies below all, and a second curve differs without colour.
func TestCanvas(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		draw func(c *view.Canvas)
		want [2]string // in ASCII, and not
	}{
		"curve": {func(c *view.Canvas) { c.Curve([]float64{0, 3}, view.Main) }, [2]string{
			"      **\n    **  \n  **    \n**      ", "      ⡠⠊\n    ⡠⠊  \n  ⡠⠊    \n⡠⠊      "}},
		"second": {func(c *view.Canvas) { c.Curve([]float64{1, 1}, view.Second) }, [2]string{
			"        \n        \noooooooo\n        ", "        \n        \n⠤⠤ ⠤⠤ ⠤⠤\n        "}},
		"blocks": {func(c *view.Canvas) { c.Fill([]float64{0, 1, 2, 3, 0, 1, 2, 3}, view.Main) }, [2]string{
			"   #   #\n  ##  ##\n ### ###\n########", "   █   █\n  ▆█  ▆█\n ▃██ ▃██\n▁███▁███"}},
		"candles": {func(c *view.Canvas) {
			c.Candle(1, view.Candle{Open: 1, Close: 2, High: 3, Low: 0})
			c.Candle(3, view.Candle{Open: 2, Close: 1, High: 2, Low: 1})
			c.Candle(8, view.Candle{Open: 2, Close: 1, High: 2, Low: 1})
		}, [2]string{" |      \n # %    \n # %    \n |      ", " │      \n █ ▒    \n █ ▒    \n │      "}},
		"grid": {func(c *view.Canvas) {
			c.Fill([]float64{0, 0, 0, 3, 0, 0, 0, 0}, view.Main)
			c.Rule([]int{1, 9}, []int{2, 9})
		}, [2]string{"  :#    \n..:#....\n  :#    \n########", "  ┊█    \n┄┄┼█┄┄┄┄\n  ┊█    \n▁▁▁█▁▁▁▁"}},
	} {
		for i, ascii := range []bool{true, false} {
			c := view.NewCanvas(8, 4, 0, 3, glyphs(ascii))
			if test.draw(c); drawn(c) != test.want[i] {
				t.Errorf("%s, ascii %v:\n%s\nwant\n%s", name, ascii, drawn(c), test.want[i])
			}
		}
	}
	c := view.NewCanvas(2, 1, 0, 1, glyphs(true))
	c.Curve([]float64{0, 1}, view.Main)
	c.Candle(1, view.Candle{Open: 1})
	if got := c.Lines(view.Styles{view.Main: "1", view.Fall: "2"})[0]; got != "\x1b[1m*\x1b[0m\x1b[2m%\x1b[0m" {
		t.Errorf("layers are %q", got)
	}
}

// TestTicks: an axis has round times and values, never more than there is room for.
func TestTicks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		span time.Duration
		most int
		want time.Duration
	}{
		{time.Hour, 6, 10 * time.Minute}, {time.Hour, 5, 15 * time.Minute}, {24 * time.Hour, 4, 6 * time.Hour}, {24 * time.Hour, 3, 12 * time.Hour},
		{7 * 24 * time.Hour, 7, 24 * time.Hour}, {30 * 24 * time.Hour, 4, 7 * 24 * time.Hour}, {1000 * 24 * time.Hour, 1, 14 * 24 * time.Hour},
	} {
		if got := view.Step(test.span, test.most); got != test.want {
			t.Errorf("%v in %d: %v, want %v", test.span, test.most, got, test.want)
		}
	}
	zone := time.FixedZone("here", 5*3600+1800)
	at := time.Date(2026, 11, 20, 23, 50, 0, 0, zone)
	var got []string
	for _, one := range view.Rounds(at, at.Add(25*time.Minute), 10*time.Minute) {
		got = append(got, one.Format("15:04"))
	}
	if fmt.Sprint(got) != "[23:50 00:00 00:10]" {
		t.Errorf("times %q", got)
	}
	if days := view.Rounds(at, at.Add(48*time.Hour), 24*time.Hour); len(days) != 2 || days[0].Hour() != 0 || days[0].Day() != 21 {
		t.Errorf("days %v", days)
	}
	for _, test := range []struct {
		low, high float64
		most      int
		want      string
	}{
		{90372, 92676, 2, "[91000 92000]"}, {90372, 92676, 1, "[92000]"}, {0.1, 0.9, 4, "[0.2 0.4 0.6000000000000001 0.8]"}, {-3, 2, 3, "[-2 0 2]"},
		{5, 5, 3, "[]"}, {1, 2, 0, "[]"},
	} {
		if got := fmt.Sprint(view.Values(test.low, test.high, test.most)); got != test.want {
			t.Errorf("%v to %v, %d: %s, want %s", test.low, test.high, test.most, got, test.want)
		}
	}
}
