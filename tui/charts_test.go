package tui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
)

// weeks is the past of the movers over 30 days, each rising by a hundredth a day, the newest first.
func weeks(t testing.TB) *api.SeriesResponse {
	t.Helper()
	past := *cryptoPasts(t)["top_movers"]
	past.Times = nil
	const points = 120
	for i := range points {
		past.Times = append(past.Times, began().Add(-time.Duration(points-1-i)*6*time.Hour))
	}
	for n := range past.Rows {
		last := *past.Rows[n].Values[len(past.Rows[n].Values)-1]
		past.Rows[n].Values = nil
		for i := range points {
			v := last * (1 - 0.01*float64(points-1-i)/4)
			past.Rows[n].Values = append(past.Rows[n].Values, &v)
		}
	}
	return &past
}

// spanned is a program at its first state whose service knows weeks.
func spanned(t testing.TB, at sdk.Connection) *program {
	t.Helper()
	d := start(t, 120, 40)
	d.fake.mu.Lock()
	d.fake.past = map[string]*api.SeriesResponse{"top_movers": weeks(t)}
	d.fake.mu.Unlock()
	at.Connected = true
	d.fake.events <- at
	d.fake.events <- delta(state(t), 0)
	d.shows("91,442.90")
	return d
}

// TestSpans: a key goes through the spans of a chart; one that is charged is asked for after a question, once, and for all rows.
func TestSpans(t *testing.T) {
	t.Parallel()
	d := spanned(t, sdk.Connection{})
	d.shows("1h [24h] 7d 30d")
	d.press("z")
	d.shows("Load 7d of Movers? It costs 1 credit.")
	d.press("n")
	d.shows("1h 24h [7d] 30d")
	d.shows("H loads the past (1 credit).")
	if n := d.fake.calls("series"); n != 0 {
		t.Fatalf("%d series without consent", n)
	}
	d.press("H")
	d.shows("Load 7d of Movers?")
	d.press("y")
	d.shows("Nov 15")
	d.shows("BTC  $91,442.90  +7.53%")
	d.press("j")
	d.shows("ETH  $3,192.96  +7.53%")
	d.press("H")
	d.shows("all that the service has of this span is drawn")
	d.press("z")
	d.shows("Load 30d of Movers?")
	d.press("y")
	d.shows("Oct 29")
	d.press("z")
	d.shows("[1h] 24h 7d 30d")
	d.fake.events <- delta(moved(t), -time.Second)
	d.shows("#1: ")
	if v := d.view(); strings.Contains(v, "Load 1h") {
		t.Errorf("a question about what is known:\n%s", v)
	}
	d.press("z", "z", "z")
	d.shows("1h 24h 7d [30d]")
	if n := d.fake.calls("series"); n != 2 {
		t.Errorf("%d series for two spans: %q", n, d.fake.asked)
	}
}

// TestSpanByMouse: a click on a span goes over to it, beside a table and on the whole screen, and one beside the spans does not.
func TestSpanByMouse(t *testing.T) {
	t.Parallel()
	d := spanned(t, sdk.Connection{Demo: true})
	click := func(text string, by int) {
		t.Helper()
		for y, line := range strings.Split(d.view(), "\n") {
			if at := strings.Index(line, text); at >= 0 {
				d.apply(tea.MouseMsg{X: len([]rune(line[:at])) + by, Y: y, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
				return
			}
		}
		t.Fatalf("no %q in\n%s", text, d.view())
	}
	click("1h [24h] 7d 30d", 9)
	d.shows("1h 24h [7d] 30d")
	d.shows("Nov 15")
	click("1h 24h [7d] 30d", -2)
	d.press("enter")
	d.shows("1h 24h [7d] 30d, esc back")
	click("1h 24h [7d] 30d", 0)
	d.shows("[1h] 24h 7d 30d, esc back")
	click("[1h] 24h 7d 30d, esc back", 17)
	d.hides("esc back")
}

// TestSpanFollows: where calls are free, the chart has its span of the table that one goes over to, each asked for once.
func TestSpanFollows(t *testing.T) {
	t.Parallel()
	d := spanned(t, sdk.Connection{Unmetered: true})
	d.press("z")
	d.until("the past", func(string) bool { return d.fake.calls("series crypto top_movers 168h0m0s") == 1 })
	d.shows("Nov 15")
	d.press("tab")
	d.until("the past of the next table", func(string) bool { return d.fake.calls("series crypto protocol_tvl 168h0m0s") == 1 })
	d.press("shift+tab", "tab", "j", "j")
	d.fake.events <- delta(moved(t), -time.Second)
	d.shows("#1: ")
	for _, member := range []string{"top_movers", "protocol_tvl"} {
		if n := d.fake.calls("series crypto " + member + " 168h0m0s"); n != 1 {
			t.Errorf("%d series of %s", n, member)
		}
	}
}

// TestSpanBeyondTheTier: what the service refuses is told, and the chart goes back to a day.
func TestSpanBeyondTheTier(t *testing.T) {
	t.Parallel()
	d := spanned(t, sdk.Connection{Demo: true})
	d.fake.mu.Lock()
	d.fake.fail = &api.Error{Status: 404, Code: api.CodeSnapshotNotFound, Reason: api.ReasonSnapshotNotFound, Message: "span is 7d; the window of this caller is 24h"}
	d.fake.mu.Unlock()
	d.press("z")
	d.shows("span is 7d; the window of this caller is 24h; back to 24h")
	d.shows("1h [24h] 7d 30d")
}

// TestDrawings: a key draws charts as curves, blocks and candles, each in two sizes and in ASCII, and those of the past too.
func TestDrawings(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		d := live(t, size[0], size[1])
		if size[0] < 100 {
			d.press("enter")
		}
		for _, name := range []string{"blocks", "candles", "curve"} {
			d.press("V")
			d.shows("charts are drawn as " + name)
			if name != "curve" {
				golden(t, fmt.Sprintf("chart-%s-%dx%d", name, size[0], size[1]), d.view(), size[0], size[1])
			}
		}
	}
	d := live(t, 80, 24, func(c *tui.Config) { c.ASCII = true })
	d.press("V", "V", "enter")
	golden(t, "chart-ascii", d.view(), 80, 24)
}

// TestDrawingOfThePast: the past is drawn as now is.
func TestDrawingOfThePast(t *testing.T) {
	t.Parallel()
	d := live(t, 120, 40)
	d.press("V")
	eachScreen(d, func(screen, view string) {
		if screen == "history" && !strings.Contains(view, "████") {
			t.Errorf("no blocks:\n%s", view)
		}
	})
	d.press("4", "z")
	d.shows("1h 24h [7d] 30d")
	d.press("1")
	d.shows("1h 24h [7d] 30d")
	if n := d.fake.calls("series"); n > 5 {
		t.Errorf("%d series, want at most the five of the trends", n)
	}
}

// TestCompare: a key on a row draws it beside each other row, in per cent from the start, on it again no longer, and costs nothing.
func TestCompare(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		d := live(t, size[0], size[1])
		d.press("j", "C")
		d.shows("other rows are compared with ETH; C on it again ends that")
		d.press("k")
		if size[0] < 100 {
			d.press("enter")
		}
		d.shows("○ ETH -1.88%")
		golden(t, fmt.Sprintf("chart-compare-%dx%d", size[0], size[1]), d.view(), size[0], size[1])
		d.press("V")
		d.shows("█")
		d.shows("○ ETH -1.88%")
		d.press("esc", "j")
		d.hides("○ ETH")
		d.press("C", "k")
		d.shows("each curve is alone again")
		d.hides("○ ETH")
		if n := d.fake.calls("series"); n > 5 {
			t.Errorf("%d series, want at most the five of the trends", n)
		}
	}
	d := live(t, 120, 40)
	d.press("j", "C", "k")
	d.shows("○ ETH -1.88%")
	d.over("other")
	d.fake.events <- delta(state(t), 42*time.Second)
	d.fake.events <- delta(moved(t), 12*time.Second)
	d.shows("#1: ")
	if v := d.view(); strings.Contains(v, "○ ETH") {
		t.Errorf("a row of another pack is compared with:\n%s", v)
	}
	d = live(t, 80, 24, func(c *tui.Config) { c.ASCII = true })
	d.press("C", "j", "enter")
	golden(t, "chart-compare-ascii", d.view(), 80, 24)
	d.press("esc", "f", "C")
	d.shows("this row has no curve")
}
