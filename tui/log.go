package tui

import (
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// Log is the screen of what happened, newest first.
type Log struct {
	env    *Env
	list   view.List
	filter view.Filter
}

// NewLog makes the screen.
func NewLog(env *Env) *Log { return &Log{env: env, filter: view.NewFilter(env.Keys.Filter)} }

// Enter goes to the newest.
func (s *Log) Enter() tea.Cmd {
	s.list = view.List{}
	return nil
}

// Typing reports whether a filter is being typed.
func (s *Log) Typing() bool { return s.filter.Typing() }

// Bindings are the keys of the screen.
func (s *Log) Bindings() []key.Binding {
	k := s.env.Keys
	return []key.Binding{k.Filter, k.Copy, k.Save}
}

// Update moves in the list and copies.
func (s *Log) Update(msg tea.Msg) tea.Cmd {
	if s.filter.Update(msg) {
		return nil
	}
	rows := s.rows()
	if click, ok := msg.(ClickMsg); ok {
		s.list.Click(click.Y-1, len(rows))
	}
	if pressed, ok := msg.(tea.KeyMsg); ok && key.Matches(pressed, s.env.Keys.Copy) && s.list.Cursor < len(rows) {
		e := rows[s.list.Cursor]
		return CopyText(e.At.Format(time.RFC3339)+" "+string(e.Level)+" "+e.Text, "the line")
	}
	s.env.Move(&s.list, len(rows), msg)
	return nil
}

func (s *Log) rows() []session.Entry {
	all := s.env.Session.Log.Entries()
	var rows []session.Entry
	for i := len(all) - 1; i >= 0; i-- {
		if view.Matches(s.filter.Value(), string(all[i].Level)+" "+all[i].Text) {
			rows = append(rows, all[i])
		}
	}
	return rows
}

// View draws the list.
func (s *Log) View(width, height int) []string {
	t, rows := *s.env.Theme, s.rows()
	lines := s.list.Rows(t, len(rows), width-2, height-2, true, func(i int) string {
		return LogLine(t, rows[i], s.env.Session.Now)
	})
	if len(rows) == 0 {
		lines = []string{"", " Nothing to show."}
	}
	note := firstOf(s.filter.Note(), s.list.Place(len(rows)))
	return view.Box{Title: "What happened", Note: note, Focus: true}.Draw(t, lines, width, height)
}

// LogLine is an entry as a line. What is not of today has its day in place of the time.
func LogLine(t view.Theme, e session.Entry, now time.Time) string {
	word := view.Fit(string(e.Level), 7, "")
	switch e.Level {
	case session.News:
		word = Marked(t, e) + view.Spaces(6)
	case session.Warning:
		word = t.Warn.On(word)
	case session.Failure:
		word = t.Bad.On(word)
	case session.Paid:
		word = t.Accent.On(word)
	}
	at := e.At.In(now.Location())
	when := at.Format(time.TimeOnly)
	if at.Format(time.DateOnly) != now.Format(time.DateOnly) {
		when = view.Fit(at.Format("Jan 2"), len(time.TimeOnly), "")
	}
	return t.Dim.On(when) + " " + word + " " + e.Message()
}

// Marked is the sign of an entry.
func Marked(t view.Theme, e session.Entry) string {
	g := t.Glyphs
	switch e.Mark {
	case session.Critical:
		return t.Bad.On(g.Bad)
	case session.Warned:
		return t.Warn.On(g.Warn)
	case session.Noticed:
		return t.Accent.On("i")
	case session.Over:
		return t.Good.On(g.OK)
	case session.Rose:
		return t.Good.On(g.Up)
	case session.Fell:
		return t.Bad.On(g.Down)
	case session.Headline:
		return t.Accent.On("+")
	}
	if e.Level == session.Warning {
		return t.Warn.On(g.Warn)
	}
	return " "
}
