package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/tui/view"
)

// proof is what is known of what proves the state that is shown.
type proof struct {
	of     time.Time // when the state was made that was last looked at, or is being looked at
	holds  bool      // it is in the log, and the log is the one that was known
	broken error     // what became of the log; it stays
}

type provenMsg struct {
	of     time.Time
	holds  bool
	broken error
}

// prove looks, in the background, at what proves the state that is shown, once for each state.
func (m *Model) prove() tea.Cmd {
	s := m.env.Session
	if m.cfg.Prove == nil || s.State == nil || s.Recorded || m.proof.of.Equal(s.TS) {
		return nil
	}
	m.proof.of, m.proof.holds = s.TS, false
	ctx, look, pack, made, state := m.env.Ctx, m.cfg.Prove, s.Pack, s.TS, s.State
	return func() tea.Msg {
		holds, err := look(ctx, pack, made, state)
		return provenMsg{made, holds, err}
	}
}

// proved takes the end of a look.
func (m *Model) proved(msg provenMsg) {
	if msg.broken != nil {
		m.proof.broken = msg.broken
	}
	if msg.of.Equal(m.proof.of) {
		m.proof.holds = msg.holds
	}
}

// proven is the word beside the age of a state that is proven.
func (m *Model) proven() string {
	if !m.proof.holds || m.proof.broken != nil || m.width < wideHeader || !m.proof.of.Equal(m.env.Session.TS) {
		return ""
	}
	return " " + m.theme.Good.On("proven")
}

// brokenLog is the bar that goes before all flags: the log of the service is not the one that was known.
func (m *Model) brokenLog(width int) string {
	t := m.theme
	line := " " + t.Glyphs.Bad + " do not rely on this service: " + view.Line(m.proof.broken.Error())
	return t.Alarm.On(view.Sides(line, " ctx verify ", width, t.Glyphs.Ellipsis))
}
