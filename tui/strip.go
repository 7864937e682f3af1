package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// FlagsMsg goes to the flags, on the screen that shows the state.
type FlagsMsg struct{}

// grave are the flags that the bar below the tabs tells of what is known: critical ones first, then warnings.
func grave(now *session.Session) (list []api.Flag, critical int) {
	for _, severity := range []api.Severity{api.SeverityCritical, api.SeverityWarning} {
		for _, f := range now.Flags {
			if f.Severity == severity {
				list = append(list, f)
			}
		}
		if severity == api.SeverityCritical {
			critical = len(list)
		}
	}
	return list, critical
}

// raised says behind the name of the first screen how many flags are critical, or else warnings.
func (m *Model) raised(words bool) string {
	t := m.theme
	list, critical := grave(m.env.Session)
	n, sign, style, word := len(list), t.Glyphs.Warn, t.Warn, human.Plural(len(list), "warning")
	if critical > 0 {
		n, sign, style, word = critical, t.Glyphs.Bad, t.Bad, fmt.Sprintf("%d critical", critical)
	}
	switch {
	case n == 0:
		return ""
	case words:
		return style.On(" "+sign+" "+word) + " "
	}
	return style.On(fmt.Sprintf("%s%d", sign, n)) + " "
}

// strip is the bar below the tabs: the gravest flags, red while one is critical. It is "" while there is nothing to warn of.
func (m *Model) strip(width int) string {
	t := m.theme
	list, critical := grave(m.seen())
	switch {
	case m.proof.broken != nil:
		return m.brokenLog(width)
	case len(list) == 0:
		return ""
	}
	style := t.Warn
	if critical > 0 {
		style = t.Alarm
	}
	more := " " + view.KeyLabel(m.env.Keys.Flags) + " all "
	line := ""
	for i, f := range list {
		rest := ""
		if left := len(list) - i - 1; left > 0 {
			rest = fmt.Sprintf(" +%d ", left)
		}
		room := width - view.Width(line) - view.Width(rest) - view.Width(more) - 4
		if i > 0 && m.flagWidth(f) > room {
			more = fmt.Sprintf(" +%d ", len(list)-i) + more
			break
		}
		line += "    " + m.flagLine(f, room)
	}
	return style.On(view.Sides(strings.TrimPrefix(line, "   "), more, width, t.Glyphs.Ellipsis))
}

// flagLine is a flag in width columns: what it says gives way to how grave it is, where that comes from and for how long.
func (m *Model) flagLine(f api.Flag, width int) string {
	t := m.theme
	sign := t.Glyphs.Warn
	if f.Severity == api.SeverityCritical {
		sign = t.Glyphs.Bad
	}
	head, tail := sign+" "+view.Line(string(f.Severity))+"  ", fmt.Sprintf(" [%d]", f.Ref)
	if f.Since.Unix() > 0 {
		tail += "  " + human.Age(m.seen().ServiceNow().Sub(f.Since))
	}
	return head + view.CutWhole(view.Line(f.Message), max(width-view.Width(head)-view.Width(tail), 8), t.Glyphs.Ellipsis) + tail
}

func (m *Model) flagWidth(f api.Flag) int {
	const endless = 1 << 16
	return view.Width(m.flagLine(f, endless))
}

// top is how many lines stand over the screen.
func (m *Model) top() int {
	if list, _ := grave(m.seen()); len(list) > 0 || m.proof.broken != nil {
		return chromeTop + 1
	}
	return chromeTop
}

func (m *Model) showFlags() tea.Cmd { return tea.Batch(m.show(0), m.screens[0].Update(FlagsMsg{})) }
