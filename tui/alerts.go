package tui

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// keptStates are those that an alert looks back at, for what a state does not tell.
const keptStates = 13

// alerts are the conditions that are watched for while the program shows their pack.
type alerts struct {
	list   *[]standing   // of all packs
	states []alert.State // of the pack that is shown, the newest last; none while there is no alert
}

// standing is a condition and how people name it.
type standing struct {
	name string
	rule alert.Rule
}

// AlertMsg opens the form of an alert of a row.
type AlertMsg struct{ Row Row }

// alertForm asks for the bound of an alert.
type alertForm struct {
	row   Row
	pack  string
	field int // of row.numbers
	op    api.Comparison
	bound view.Input
	wrong string // why what was typed is no bound
}

func newAlertForm(row Row, pack string) *alertForm {
	f := &alertForm{row: row, pack: pack, op: api.CompareMore, bound: view.NewInput("a number", 24)}
	f.field = max(slices.IndexFunc(row.numbers, func(n number) bool { return n.name == row.field }), 0)
	f.bound.Focus()
	return f
}

// number is a number of a row that an alert can be about.
type number struct {
	name  string
	value float64
}

// arguments are those of a watch for what was typed. ok is false where that is no number.
func (f *alertForm) arguments() (a api.WatchArguments, ok bool) {
	text := strings.NewReplacer(",", "", "_", "", "$", "", "%", "", " ", "").Replace(f.bound.Value())
	bound, err := strconv.ParseFloat(text, 64)
	if err != nil || text == "" || bound-bound != 0 {
		return a, false
	}
	a = api.WatchArguments{Pack: f.pack, Field: f.row.numbers[f.field].name, Op: f.op, Value: &bound}
	path := f.row.Path
	if list, _, is := strings.Cut(path, "["); is {
		a.Member, a.Key = list, f.row.id
	} else {
		a.Member, a.Key = path, path[strings.LastIndexByte(path, '.')+1:]
	}
	return a, true
}

// name is what the condition is called.
func (f *alertForm) name(a api.WatchArguments) string {
	return fmt.Sprintf("%s %s %s %s", f.row.Label, view.Line(state.Head(a.Field, "")), a.Op, figureOf(a.Field, *a.Value))
}

// figureOf is a number of a field as it is shown in a column.
func figureOf(field string, x float64) string { return human.FieldColumn(field, []any{x})[0] }

func alertKeys() []key.Binding {
	return []key.Binding{view.KeyGroup("enter", "watch here"), view.KeyGroup("ctrl+s", "at the service"),
		view.KeyGroup("tab", "above/below"), view.KeyGroup("up/down", "figure"), view.KeyGroup("esc", "close")}
}

func (m *Model) pressAlert(msg tea.KeyMsg) tea.Cmd {
	f := m.alertForm
	switch msg.Type {
	case tea.KeyEsc:
		m.alertForm = nil
	case tea.KeyTab, tea.KeyShiftTab:
		if f.op == api.CompareMore {
			f.op = api.CompareLess
		} else {
			f.op = api.CompareMore
		}
	case tea.KeyUp, tea.KeyDown:
		by := 1
		if msg.Type == tea.KeyUp {
			by = len(f.row.numbers) - 1
		}
		f.field = (f.field + by) % len(f.row.numbers)
	case tea.KeyEnter, tea.KeyCtrlS:
		a, ok := f.arguments()
		if !ok {
			f.wrong = "that is no number, such as 90000 or -5"
			return nil
		}
		m.alertForm = nil
		if msg.Type == tea.KeyCtrlS {
			return m.watchRemotely(f.name(a), a)
		}
		m.beginAlert(f.name(a), a)
	default:
		f.bound.Update(msg)
		f.wrong = ""
	}
	return nil
}

func (f *alertForm) draw(t view.Theme, s *session.Session, lines []string, width int) []string {
	n, word, other := f.row.numbers[f.field], "above", "below"
	if f.op == api.CompareLess {
		word, other = other, word
	}
	said := []string{"", t.Bold.On(f.row.Label) + "  " + view.Line(state.Head(n.name, "")) + "  now " + figureOf(n.name, n.value),
		"", t.Bold.On(word) + t.Dim.On(" (tab: "+other+")") + "  " + f.bound.View(t, 28), ""}
	if f.wrong != "" {
		said = append(said, t.Warn.On(f.wrong), "")
	}
	return Overlay(t, lines, width, "Watch", append(said,
		t.Key.On("enter")+"   watches while ctx ui shows the pack, for nothing",
		t.Key.On("ctrl+s")+"  has the service watch"+remoteCost(s),
		t.Key.On("up/down")+" another figure of the row"))
}

// remoteCost is what a watch of the service costs, in words, "" where calls are not charged.
func remoteCost(s *session.Session) string {
	if s.Unmetered {
		return ""
	}
	return ", " + s.Costs(1) + " a day"
}

// beginAlert watches for a condition from now on.
func (m *Model) beginAlert(name string, a api.WatchArguments) {
	s := m.env.Session
	doc := state.Read(s.State)
	_, shown := doc.Alone()
	rule, err := alert.Watch(api.WatchConditionMet, a, shown)
	if err != nil {
		m.notify(Explain(m.env.Keys, err).What)
		return
	}
	if !slices.ContainsFunc(*m.alerts.list, func(w standing) bool { return w.rule.Name == rule.Name }) {
		*m.alerts.list = append(*m.alerts.list, standing{name, rule})
	}
	if len(m.alerts.states) == 0 {
		m.alerts.states = []alert.State{m.alerts.chained(alert.State{Pack: s.Pack, At: s.TS, Doc: doc, Demo: s.Demo})}
	}
	said := "watching for " + name
	if found, err := rule.Find(m.env.Ctx, m.alerts.states[len(m.alerts.states)-1]); err == nil && len(found) > 0 {
		said = name + " holds now; it is told when it begins again"
	}
	m.notify(said)
	s.Log.Add(s.Now, session.Info, said)
}

// chained is s with the states before it.
func (a *alerts) chained(s alert.State) alert.State {
	s.Before = func(_ context.Context, at time.Time) (alert.State, error) {
		for _, one := range slices.Backward(a.states) {
			if one.At.Before(at) {
				return one, nil
			}
		}
		return alert.State{}, alert.ErrNoState
	}
	return s
}

// watch looks at a state that came, and tells what began to hold in it.
func (m *Model) watch(e sdk.Event) (cmds []tea.Cmd) {
	a, s := &m.alerts, m.env.Session
	if len(*a.list) == 0 || e.State.Pack != s.Pack || len(a.states) > 0 && !a.states[len(a.states)-1].At.Before(e.State.TS) {
		return nil
	}
	next := a.chained(alert.State{Pack: s.Pack, At: e.State.TS, Doc: state.Read(e.State.State), Demo: s.Demo})
	for _, w := range *a.list {
		events, err := w.rule.Edges(m.env.Ctx, next)
		if w.rule.Pack != s.Pack || err != nil { // a state that does not tell
			continue
		}
		for _, event := range events {
			s.Log.Write(s.Now, session.Warned, "watch: "+event.Message)
			cmds = append(cmds, m.ring("watch: "+event.Message))
		}
	}
	a.states = append(a.states[max(0, len(a.states)+1-keptStates):], next)
	return cmds
}

// watchRemotely has the service watch, after a question.
func (m *Model) watchRemotely(name string, a api.WatchArguments) tea.Cmd {
	service, ctx := m.env.Service, m.env.Ctx
	switch {
	case service == nil:
		return Notify("a recording has no service to ask")
	case m.env.ReadOnly:
		return Notify("not done: ctx ui runs with --read-only")
	}
	return Send(ConfirmMsg{
		Question: "Have the service watch for " + name + remoteCost(m.env.Session) + "?",
		Lines: []string{"It watches also while ctx ui does not run, until it is removed.",
			"ctx watch list shows it, ctx watch remove ends it."},
		Yes: func() tea.Msg {
			w, err := service.CreateWatch(ctx, api.WatchRequest{Type: api.WatchConditionMet, Arguments: a.Canonical()})
			if err != nil {
				return Fail(err)
			}
			return NoticeMsg{"the service watches; ctx watch events " + view.Line(w.ID) + " --follow shows what it tells"}
		},
	})
}

// alertCommands end the alerts that there are.
func (m *Model) alertCommands() (list []command) {
	for _, w := range *m.alerts.list {
		list = append(list, command{"end watch " + w.name, "watch for it no longer", func(m *Model, _ string) tea.Cmd {
			*m.alerts.list = slices.DeleteFunc(*m.alerts.list, func(one standing) bool { return one.rule.Name == w.rule.Name })
			return nil
		}})
	}
	return list
}

// raisedCritical are the critical flags of the state that is shown but not among those before.
func raisedCritical(before, now []api.Flag) (list []api.Flag) {
	for _, f := range now {
		stood := func(b api.Flag) bool { return b.ID == f.ID && b.Severity == api.SeverityCritical }
		if f.Severity == api.SeverityCritical && !slices.ContainsFunc(before, stood) {
			list = append(list, f)
		}
	}
	return list
}

// ring tells something by the terminal too, which rings and, where it can, shows it outside of its window.
func (m *Model) ring(text string) tea.Cmd {
	m.notify(text)
	if !m.cfg.Notify {
		return nil
	}
	out, inTmux := m.cfg.Out, m.cfg.Env("TMUX") != ""
	sequence := "\x1b]9;" + view.Cut("ctx "+m.env.Session.Pack+": "+view.Line(text), 200, "…") + "\x1b\\"
	if inTmux { // which passes on what is wrapped, where it is allowed to
		sequence = "\x1bPtmux;" + strings.ReplaceAll(sequence, "\x1b", "\x1b\x1b") + "\x1b\\"
	}
	return func() tea.Msg {
		_, _ = io.WriteString(out, sequence+"\a") // in one piece: the screen is drawn to the same terminal at any time
		return nil
	}
}
