package tui_test

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/tui"
	"github.com/contextd/contextd/tui/view"
)

// BenchmarkLive draws the screen Live at 200x60 with colours, half an hour of states behind it. It has to stay under 5 ms.
func BenchmarkLive(b *testing.B) {
	d := live(b, 200, 60, func(c *tui.Config) { c.Theme, c.Depth = view.Dark, view.Colors256 })
	for i := range 120 {
		d.fake.events <- delta(moved(b), 30*time.Second-time.Duration(i)*time.Millisecond)
		if i%8 == 7 {
			d.until("states", func(string) bool { return len(d.fake.events) == 0 })
		}
	}
	d.apply(tea.WindowSizeMsg{Width: 200, Height: 60})
	for b.Loop() {
		d.view()
	}
}
