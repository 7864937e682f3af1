package tui

import (
	"errors"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// The trend that is loaded from history: so many minutes, so far apart.
const (
	trendPoints = 12
	trendStep   = 5 * time.Minute
)

// pastMsg is a minute of history that came, and those still to be asked for.
type pastMsg struct {
	at     time.Time
	rest   []time.Time
	pack   string
	answer *api.StateResponse
	err    error
}

// askTrend asks whether the trend of the last hour is to be loaded from history, which costs a credit a minute.
func (s *Live) askTrend() tea.Cmd {
	switch {
	case s.env.Service == nil:
		return Tell("a recording has no service to ask")
	case s.other():
		return Tell("this state has no rows with trends")
	case s.loading > 0:
		return Tell("the trend is being loaded")
	}
	newest := s.env.Session.ServiceNow().Truncate(time.Minute).Add(-time.Minute)
	var minutes []time.Time
	for i := range trendPoints {
		minutes = append(minutes, newest.Add(-time.Duration(i)*trendStep))
	}
	if s.env.Session.Unmetered {
		return s.askPast(minutes)
	}
	return Send(ConfirmMsg{
		Question: fmt.Sprintf("Load the trend of the last hour? It costs %d credits.", len(minutes)),
		Lines: []string{
			fmt.Sprintf("%d states of the past, %d minutes apart, a credit each.", len(minutes), trendStep/time.Minute),
			"It ends at the first that is refused.",
		},
		Yes: s.askPast(minutes),
	})
}

func (s *Live) askPast(minutes []time.Time) tea.Cmd {
	service, ctx, pack := s.env.Service, s.env.Ctx, s.env.Session.Pack
	return func() tea.Msg {
		answer, err := service.Snapshot(ctx, pack, minutes[0])
		return pastMsg{minutes[0], minutes[1:], pack, answer, err}
	}
}

// takePast applies a minute of history and asks for the next.
func (s *Live) takePast(msg pastMsg) tea.Cmd {
	s.loading = len(msg.rest)
	if msg.pack != s.env.Session.Pack {
		s.loading = 0
		return nil
	}
	if msg.err != nil {
		s.loading = 0
		if errors.Is(msg.err, sdk.ErrSnapshotNotFound) {
			return Tell("history begins after " + msg.at.In(s.env.Session.Now.Location()).Format("15:04"))
		}
		return Send(Fail(msg.err))
	}
	s.env.Session.Pay(api.OpSnapshot, api.Freshness{})
	s.env.Session.Past(msg.answer.State, msg.answer.Freshness.GeneratedAt)
	if s.loading == 0 {
		return Tell("the trend of the last hour is loaded")
	}
	return s.askPast(msg.rest)
}
