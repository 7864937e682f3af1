package tui

import (
	"errors"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
)

// How the past is asked for: a value each ten minutes of a day, and where the service knows too little for that, each minute of an hour.
const (
	dayPoints   = 145
	hourPoints  = 61
	farPoints   = api.SeriesPointsMax
	leastPoints = 24 // of a curve that says something
)

// TrendMsg is the past of a member that came.
type TrendMsg struct {
	request sdk.SeriesRequest
	answer  *api.SeriesResponse
	left    sdk.Left
	err     error
}

// firstTrends asks for the past of all members when the first state of a pack has come, where calls are not charged.
func (m *Model) firstTrends() tea.Cmd {
	s := m.env.Session
	if m.env.Service == nil || s.State == nil || !s.Line.Connected || m.trendsOf == s.Pack {
		return nil
	}
	m.trendsOf = s.Pack
	m.env.Keys.Trend.SetHelp(m.env.Keys.Trend.Help().Key, "trends"+s.Cost(len(s.Pasts())))
	if !s.Unmetered {
		return nil
	}
	return m.env.askTrends(s.Pasts())
}

// askTrends makes the command that asks for the past of members, a call for each.
func (e *Env) askTrends(members []string) tea.Cmd {
	var cmds []tea.Cmd
	for _, member := range members {
		cmds = append(cmds, e.askTrend(sdk.SeriesRequest{Pack: e.Session.Pack, Path: member, Points: dayPoints, Span: session.MostSpan}))
	}
	e.Session.Loading += len(cmds)
	return tea.Batch(cmds...)
}

func (e *Env) askTrend(r sdk.SeriesRequest) tea.Cmd {
	service, ctx := e.Service, e.Ctx
	return func() tea.Msg {
		var meta sdk.Response
		answer, err := service.Series(ctx, r, sdk.WithResponse(&meta))
		return TrendMsg{r, answer, meta.Left(), err}
	}
}

// takeTrend takes the past of a member. That it cannot be had is no reason to disturb: it is told in the log.
func (m *Model) takeTrend(msg TrendMsg) tea.Cmd {
	s := m.env.Session
	if msg.request.Pack != s.Pack {
		return nil
	}
	s.Loading = max(s.Loading-1, 0)
	if msg.err != nil {
		if !errors.Is(msg.err, sdk.ErrInvalidRequest) { // a member of this pack that has no past
			s.Refused(msg.request.Path, msg.request.Span)
			m.refused(msg)
			s.Log.Add(s.Now, session.Info, "no past of "+msg.request.Path+": "+Explain(m.env.Keys, msg.err).What)
		}
		return nil
	}
	s.Left = msg.left
	s.Pay(api.OpSeries, api.Freshness{})
	s.Load(msg.request.Path, msg.answer, msg.request.Span)
	if msg.request.Points != dayPoints || !s.Unmetered || longest(msg.answer) >= leastPoints {
		return nil
	}
	s.Loading++
	msg.request.Points, msg.request.Span = hourPoints, time.Hour
	s.Ask(msg.request.Path, time.Hour)
	return m.env.askTrend(msg.request)
}

// longest is how many values the row has that has most.
func longest(past *api.SeriesResponse) (most int) {
	for _, r := range past.Rows {
		n := 0
		for _, v := range r.Values {
			if v != nil {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// askTrend asks for the past of all members again, after a question where that is charged.
func (s *Live) askTrend() tea.Cmd {
	members := s.env.Session.Pasts()
	switch {
	case s.env.Service == nil:
		return Notify("a recording has no service to ask")
	case len(members) == 0:
		return Notify("this state has no rows with trends")
	case s.env.Session.Loading > 0:
		return Notify("the trends are being loaded")
	case s.env.Charts.span() != session.MostSpan:
		if cmd := s.askSpan(); cmd != nil {
			return cmd
		}
		return Notify("all that the service has of this span is drawn")
	case s.env.Session.Unmetered, s.env.Session.Demo: // whose credits are play money
		return s.env.askTrends(members)
	}
	return Send(ConfirmMsg{
		Question: fmt.Sprintf("Load the trends of all %d tables? It costs %s.", len(members), s.env.Session.Costs(len(members))),
		Lines:    []string{"A call for each table, for the last 24 hours. New states go on with them for nothing."},
		Yes:      func() tea.Msg { return loadTrendsMsg{s.env.Session.Pack} },
	})
}

// loadTrendsMsg says that the user agreed to load the trends of a pack.
type loadTrendsMsg struct{ pack string }
