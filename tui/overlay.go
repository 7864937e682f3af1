package tui

import (
	"github.com/contextd/contextd/tui/view"
)

// Overlay lays a box over the middle of lines, as wide as what it says.
func Overlay(t view.Theme, lines []string, width int, title string, said []string) []string {
	inner := view.Width(title) + 6
	for _, line := range said {
		inner = max(inner, view.Width(line)+4)
	}
	inner = min(inner, width-2)
	var body []string
	for _, line := range said {
		for _, part := range view.Wrap(line, inner-3) {
			body = append(body, " "+part)
		}
	}
	body = append(body, "")
	box := view.Box{Title: title, Focus: true}.Draw(t, body, inner, min(len(body)+2, len(lines)))
	return view.Over(lines, box, (width-inner)/2, max((len(lines)-len(box))/2, 0))
}
