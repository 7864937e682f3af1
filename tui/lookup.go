package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// Lookup is the screen of questions by name. A key goes over to the search of the state, and back.
type Lookup struct {
	env     *Env
	input   view.Input
	offered bool // typing began with the screen, not by a key: the keys of the screens still work
	list    view.List
	asking  bool
	found   *api.LookupResponse
	first   int // line of the body at which the rows begin
	search  *Search
	paths   bool // the state is searched
}

type foundMsg struct {
	pack   string
	watch  bool // it is of the watchlist
	answer *api.LookupResponse
	left   sdk.Left
	err    error
}

// NewLookup makes the screen.
func NewLookup(env *Env) *Lookup {
	return &Lookup{env: env, input: view.NewInput("", 200), search: NewSearch(env)}
}

// Enter begins typing where nothing was asked yet.
func (s *Lookup) Enter() tea.Cmd {
	if s.paths {
		return s.search.Enter()
	}
	if s.found == nil {
		s.input.Focus()
		s.offered = true
	}
	return nil
}

// Typing reports whether a question is being typed.
func (s *Lookup) Typing() bool {
	if s.paths {
		return s.search.Typing()
	}
	return s.input.Focused()
}

// Bindings are the keys of the screen.
func (s *Lookup) Bindings() []key.Binding {
	k := s.env.Keys
	over := view.KeyGroup(view.KeyLabel(k.Sort), "search the state")
	switch {
	case s.paths && s.Typing():
		return s.search.Bindings()
	case s.paths:
		return append(s.search.Bindings(), view.KeyGroup(view.KeyLabel(k.Sort), "look up names"))
	case s.Typing():
		return []key.Binding{view.KeyGroup("enter", "ask"), view.KeyGroup("esc", "stop typing"), view.KeyGroup("^u", "clear")}
	}
	return []key.Binding{view.KeyGroup(view.KeyLabel(k.Filter), "ask"), k.Open, k.Cite, k.Copy, k.CopyPath, over}
}

// Update applies keys and answers.
func (s *Lookup) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case restedMsg, matchesMsg:
		return s.search.Update(msg)
	case foundMsg:
		return s.take(msg)
	case SwitchedMsg:
		s.found = nil
		return s.search.Update(msg)
	case tea.KeyMsg:
		if !s.Typing() && key.Matches(msg, s.env.Keys.Sort) {
			s.paths = !s.paths
			return s.Enter()
		}
	}
	if s.paths {
		return s.search.Update(msg)
	}
	switch msg := msg.(type) {
	case ClickMsg:
		if msg.Y <= 1 {
			s.input.Focus()
		} else if s.list.Click(msg.Y-s.first, len(answers(s.found))) {
			s.input.Blur()
		}
	case WheelMsg:
		s.env.Move(&s.list, len(answers(s.found)), msg)
	case tea.KeyMsg:
		if s.Typing() {
			return s.typeKey(msg)
		}
		return s.press(msg)
	}
	return nil
}

func (s *Lookup) typeKey(msg tea.KeyMsg) tea.Cmd {
	switch msg.Type {
	case tea.KeyEnter, tea.KeyTab:
		s.input.Blur()
		return s.ask(s.input.Value())
	case tea.KeyEsc:
		s.input.Blur()
		return nil
	}
	if at := s.env.leaves(msg, s.offered && s.input.Value() == ""); at >= 0 {
		return Send(GotoMsg{at})
	}
	s.input.Update(msg)
	return nil
}

// leaves is the screen that a key shows where nothing was typed yet, -1 for none.
func (e *Env) leaves(msg tea.KeyMsg, untouched bool) int {
	for i := range e.Keys.Tab {
		letter := msg.Type == tea.KeyRunes && (msg.Runes[0] < '0' || msg.Runes[0] > '9') // which begins a query
		if untouched && !letter && key.Matches(msg, e.Keys.Tab[i]) {
			return i
		}
	}
	return -1
}

func (s *Lookup) press(msg tea.KeyMsg) tea.Cmd {
	rows, k := answers(s.found), s.env.Keys
	switch {
	case s.env.Move(&s.list, len(rows), msg):
	case key.Matches(msg, k.Filter, k.Query):
		s.input.Focus()
		s.offered = false
	case s.list.Cursor < len(rows):
		return s.env.pressAnswer(msg, s.found, rows[s.list.Cursor])
	}
	return nil
}

// ask asks questions, with commas between.
func (s *Lookup) ask(text string) tea.Cmd {
	var questions []string
	for q := range strings.SplitSeq(text, ",") {
		if q = strings.TrimSpace(q); q != "" {
			questions = append(questions, q)
		}
	}
	switch {
	case len(questions) == 0 || s.asking:
		return nil
	case s.env.Service == nil:
		return Notify("a recording has no service to ask")
	}
	s.asking = true
	return s.env.askLookup(questions[:min(len(questions), api.MaxQuestions)], 0, false)
}

// askLookup makes the command that asks questions. limit is the most rows of each, 0 for the usual.
func (e *Env) askLookup(questions []string, limit int, watch bool) tea.Cmd {
	service, ctx, pack := e.Service, e.Ctx, e.Session.Pack
	return func() tea.Msg {
		var meta sdk.Response
		answer, err := service.Lookup(ctx, sdk.LookupRequest{Pack: pack, Questions: questions, Limit: limit}, sdk.WithResponse(&meta))
		return foundMsg{pack, watch, answer, meta.Left(), err}
	}
}

func (s *Lookup) take(msg foundMsg) tea.Cmd {
	s.asking = false
	if msg.pack != s.env.Session.Pack {
		return nil
	}
	if msg.err != nil {
		return Send(Fail(msg.err))
	}
	s.env.Session.Left = msg.left
	s.env.Session.Pay(api.OpLookup, msg.answer.Freshness)
	s.found, s.list = msg.answer, view.List{}
	return nil
}

// answer is a line of an answer: a row, or a question that none answers.
type answer struct {
	q   string
	row *api.LookupRow // nil for none
	// why there is no row, or how the question was read.
	why string
}

func (a answer) name() string {
	if a.row == nil {
		return view.Line(a.q)
	}
	return view.Line(state.Answered(*a.row, 0).Label)
}

func answers(found *api.LookupResponse) (list []answer) {
	if found == nil {
		return nil
	}
	for _, r := range found.Results {
		for i := range r.Rows {
			list = append(list, answer{q: r.Q, row: &r.Rows[i]})
		}
		notes := state.LookupNotes(r)
		if len(r.Rows) == 0 && len(notes) == 0 {
			notes = []string{"not known"}
		}
		if len(r.Rows) == 0 && len(r.Near) > 0 {
			notes = append(notes, "near: "+strings.Join(r.Near, ", "))
		}
		if len(notes) > 0 {
			list = append(list, answer{q: r.Q, why: strings.Join(notes, "; ")})
		}
	}
	return list
}

// watched are the answers to names of the watchlist that the pack has: it is one list for all packs.
func watched(found *api.LookupResponse) (list []answer) {
	for _, a := range answers(found) {
		if a.row != nil && a.row.Match.Sure() {
			list = append(list, a)
		}
	}
	return list
}

func (e *Env) pressAnswer(msg tea.KeyMsg, found *api.LookupResponse, a answer) tea.Cmd {
	k := e.Keys
	if a.row == nil {
		return nil
	}
	switch {
	case key.Matches(msg, k.Open, k.Enter):
		return Send(OpenMsg{URL: a.row.URL})
	case key.Matches(msg, k.CopyPath):
		return CopyText(view.Line(a.row.Kind+"/"+a.row.Key), "its name for programs")
	case key.Matches(msg, k.Copy) && len(a.row.Shown(1)) > 0:
		value := a.row.Shown(1)[0].Value
		text := fmt.Sprint(value)
		if x, is := value.(float64); is {
			text = human.Plain(x)
		}
		return CopyText(view.Line(text), view.Line(a.row.Name)+" "+view.Line(text))
	case key.Matches(msg, k.Cite):
		for _, c := range found.Citations {
			if c.Ref == a.row.Ref {
				return CopyText("- ["+view.Line(c.SourceID)+"]("+view.Line(a.row.URL)+"), fetched "+
					a.row.FetchedAt.UTC().Format("2006-01-02 15:04 UTC"), "the citation of "+view.Line(c.SourceID))
			}
		}
	}
	return nil
}

// View draws the question over the answers.
func (s *Lookup) View(width, height int) []string {
	if s.paths {
		return s.search.View(width, height)
	}
	t := *s.env.Theme
	note := s.env.Session.Costs(1) + " each time"
	if s.env.Session.Unmetered {
		note = "commas part questions"
	}
	s.input.Hint(s.hint())
	line := " " + s.input.View(t, width-4)
	top := view.Box{Title: "Look up", Note: note, Focus: s.Typing()}.Draw(t, []string{line}, width, 3)
	rows := answers(s.found)
	lines := s.env.answerLines(&s.list, rows, width-2, height-5, !s.Typing())
	title := "Answers"
	switch {
	case s.asking:
		lines = []string{"", " Asking."}
	case s.found == nil:
		lines = s.advice(width - 4)
	default:
		title = human.Plural(len(rows), "answer")
	}
	s.first = 4
	return slices.Concat(top, view.Box{Title: title, Note: s.list.Place(len(rows)), Focus: !s.Typing()}.Draw(t, lines, width, height-3))
}

// hint are names that this pack knows.
func (s *Lookup) hint() string {
	names := []string{"bitcoin", "aave tvl", "eth price", "gas"}
	if now := s.env.Session; now.View != nil && now.Pack != api.PackCrypto {
		names = nil
		for _, t := range now.View.Tables {
			if len(t.Rows) > 0 && len(names) < 4 {
				names = append(names, view.Cut(view.Line(firstOf(t.Rows[0].Symbol, t.Rows[0].Name)), 16, ""))
			}
		}
	}
	return "a name: " + strings.ToLower(strings.Join(names, ", "))
}

// advice says what can be asked, before anything was.
func (s *Lookup) advice(width int) (lines []string) {
	told := "Anything that the sources of this pack report, by its name"
	if s.env.Session.View != nil && s.env.Session.Pack == api.PackCrypto {
		told += ": coins, stablecoins, protocols, chains, pools, fees. Add the figure you want: aave tvl, bitcoin 24h, gas"
	}
	search := view.KeyLabel(s.env.Keys.Sort) + " searches the paths and values of the state instead, while nothing is typed."
	for _, text := range []string{told + ".", search} {
		lines = append(lines, "")
		for _, line := range view.Wrap(text, width) {
			lines = append(lines, " "+line)
		}
	}
	return lines
}

// answerLines are the lines of an answer below their header: name, figures, age and source.
func (e *Env) answerLines(l *view.List, rows []answer, width, height int, focus bool) []string {
	t := *e.Theme
	if len(rows) == 0 {
		return nil
	}
	longest, ages := 4, 7
	for _, a := range rows {
		longest = max(longest, view.Width(a.name()))
		if a.row != nil && a.row.Stale {
			ages = 11 // STALE 2h05m
		}
	}
	columns := []view.Column{{Title: "NAME", Width: min(longest, width/3)}, {Title: "FIGURES"},
		{Title: "AGE", Width: ages, Right: true}, {Title: "REF", Width: 5, Right: true}}
	if width < 60 { // the figures go before the source
		columns[3].Width = 0
	}
	columns[1].Width = max(width-columns[0].Width-columns[2].Width-columns[3].Width-4, 8)
	list := l.Rows(t, len(rows), width, height-1, focus, func(i int) string {
		a := rows[i]
		if a.row == nil {
			return view.Row(t, columns, []string{a.name(), t.Dim.On(view.Line(a.why)), "", ""})
		}
		row := state.Answered(*a.row, mostFigures)
		figures := make([]string, len(row.Cells))
		for i, cell := range row.Cells {
			figures[i] = signed(t, view.Line(cell.Said()), cell.Sign)
		}
		age := row.Age(e.Session.ServiceNow())
		if row.Stale {
			age = t.Warn.On(age)
		}
		return view.Row(t, columns, []string{t.Bold.On(a.name()), strings.Join(figures, "  "), age, fmt.Sprintf("[%s]", a.row.Ref)})
	})
	return append([]string{view.Header(t, columns)}, list...)
}

// mostFigures is how many figures of a row stand in a line.
const mostFigures = 6

// watchEvery is the least time between two questions for the watchlist that nobody asked for.
const watchEvery = time.Minute

// laterWatch asks for the watchlist when there is a newer state, where calls are not charged.
func (m *Model) laterWatch() tea.Cmd {
	s := m.env.Session
	asked := m.watchOf == s.Pack
	switch {
	case len(m.env.Watchlist) == 0 || m.cfg.Service == nil || s.State == nil || !s.Line.Connected || !s.Unmetered:
		return nil
	case asked && (s.Now.Sub(m.watchAt) < watchEvery || s.Watch == nil || !s.Watch.Freshness.GeneratedAt.Before(s.TS)):
		return nil
	}
	m.watchOf, m.watchAt = s.Pack, s.Now
	return m.env.askWatch()
}

// askWatch makes the command that asks for the watchlist.
func (e *Env) askWatch() tea.Cmd {
	return e.askLookup(e.Watchlist[:min(len(e.Watchlist), api.MaxQuestions)], 1, true)
}

// takeWatch takes what the watchlist is at. A failure is told in the log.
func (m *Model) takeWatch(msg foundMsg) {
	s := m.env.Session
	switch {
	case msg.pack != s.Pack:
	case msg.err != nil:
		s.Log.Add(s.Now, session.Info, "no watchlist: "+Explain(m.env.Keys, msg.err).What)
	default:
		s.Left, s.Watch = msg.left, msg.answer
		s.Pay(api.OpLookup, msg.answer.Freshness)
	}
}
