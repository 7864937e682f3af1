package tui_test

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/tui"
	"github.com/contextd/contextd/tui/view"
)

// BenchmarkLive draws the screen Live at 200x60 with colours, half an hour of states behind it, after a key. It has to stay under 2 ms.
func BenchmarkLive(b *testing.B) { draws(b, func(d *program) { d.press("j") }) }

// BenchmarkIdle draws it when a second has gone by. It has to stay under 0.5 ms, a twentieth of a percent of a core.
func BenchmarkIdle(b *testing.B) { draws(b, func(*program) {}) }

// BenchmarkTwo is BenchmarkLive with a second pack beside it, after a key for each in turn. It has to stay under 2 ms too.
func BenchmarkTwo(b *testing.B) { draws(b, func(d *program) { d.press("Wj") }, (*program).beside) }

// BenchmarkTwoIdle draws both when a second has gone by.
func BenchmarkTwoIdle(b *testing.B) {
	draws(b, func(d *program) { d.apply(tui.Second()) }, (*program).beside)
}

func draws(b *testing.B, before func(d *program), set ...func(d *program)) {
	d := live(b, 200, 60, func(c *tui.Config) { c.Theme, c.Depth = view.Dark, view.Colors256 })
	for i := range 120 {
		d.fake.events <- delta(moved(b), 30*time.Second-time.Duration(i)*time.Millisecond)
		if i%8 == 7 {
			d.until("states", func(string) bool { return len(d.fake.events) == 0 })
		}
	}
	d.apply(tea.WindowSizeMsg{Width: 200, Height: 60})
	for _, one := range set {
		one(d)
	}
	for b.Loop() {
		before(d)
		d.view()
	}
}

// TestIdle: seconds alone draw the header anew, and the screen every fifth; whatever comes draws it at once.
func TestIdle(t *testing.T) {
	t.Parallel()
	d := live(t, 80, 24)
	at := func() (header, pulse string) {
		d.apply(tui.Second())
		header, _, _ = strings.Cut(d.view(), "\n")
		return header, d.view()
	}
	header, screen := at()
	for i := range 12 {
		d.clock.pass(time.Second)
		next, drawn := at()
		same := strings.Join(strings.Split(screen, "\n")[3:22], "") == strings.Join(strings.Split(drawn, "\n")[3:22], "")
		if next == header || same != (i%5 != 4) {
			t.Errorf("after %d s the header is %q, the same screen: %t", i+1, next, same)
		}
		header, screen = next, drawn
	}
	d.press("j")
	if d.view() == screen {
		t.Error("a key draws nothing")
	}
}
