package tui

import (
	"fmt"
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/view"
)

// searchRest is how long nothing must be typed before a search is made, and searchLeast how much must have been.
const (
	searchRest  = 400 * time.Millisecond
	searchLeast = 2
)

// Search is the screen of searches as one types. What was searched once in a session is not asked again before a new state.
type Search struct {
	env     *Env
	input   view.Input
	list    view.List
	offered bool // typing began with the screen, not by a key: the keys of the screens still work
	typed   int  // counts keys, so that a rest that was disturbed is known
	asking  bool
	query   string // that the answer is to
	answer  *api.SearchResponse
	answers map[string]*api.SearchResponse
	ts      time.Time // state that answers are of
	first   int       // line of the body at which the matches begin
}

// restedMsg says that nothing was typed since.
type restedMsg struct{ typed int }

type matchesMsg struct {
	pack   string
	query  string
	answer *api.SearchResponse
	err    error
}

// NewSearch makes the screen.
func NewSearch(env *Env) *Search {
	return &Search{env: env, input: view.NewInput("type to search names and values", 200), answers: map[string]*api.SearchResponse{}}
}

// Enter begins typing where nothing was searched yet.
func (s *Search) Enter() tea.Cmd {
	if s.answer == nil {
		s.input.Focus()
		s.offered = true
	}
	return nil
}

// Typing reports whether the query is being typed.
func (s *Search) Typing() bool { return s.input.Focused() }

// Bindings are the keys of the screen.
func (s *Search) Bindings() []key.Binding {
	k := s.env.Keys
	if s.Typing() {
		return []key.Binding{view.KeyGroup("enter", "to the matches"), view.KeyGroup("esc", "stop typing"), view.KeyGroup("^u", "clear")}
	}
	return []key.Binding{view.KeyGroup(view.KeyLabel(k.Filter), "search"), k.Copy, k.CopyPath}
}

// Update applies keys and answers.
func (s *Search) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case restedMsg:
		if msg.typed == s.typed {
			return s.ask()
		}
	case matchesMsg:
		return s.take(msg)
	case SwitchedMsg:
		s.answer = nil
		s.query = ""
		s.answers = map[string]*api.SearchResponse{}
	case ClickMsg:
		if msg.Y <= 1 {
			s.input.Focus()
		} else if s.list.Click(msg.Y-s.first, s.matches()) {
			s.input.Blur()
		}
	case tea.KeyMsg:
		if s.Typing() {
			return s.typeKey(msg)
		}
		return s.press(msg)
	case WheelMsg:
		s.env.Move(&s.list, s.matches(), msg)
	}
	return nil
}

func (s *Search) typeKey(msg tea.KeyMsg) tea.Cmd {
	switch msg.Type {
	case tea.KeyEnter, tea.KeyTab:
		s.input.Blur()
		s.typed++
		return s.ask()
	case tea.KeyEsc:
		s.input.Blur()
		s.typed++
		return nil
	}
	if at := s.env.leaves(msg, s.offered && s.input.Value() == ""); at >= 0 {
		return Send(GotoMsg{at})
	}
	if !s.input.Update(msg) {
		return nil
	}
	s.typed++
	typed := s.typed
	return tea.Tick(searchRest, func(time.Time) tea.Msg { return restedMsg{typed} })
}

func (s *Search) press(msg tea.KeyMsg) tea.Cmd {
	k := s.env.Keys
	switch {
	case s.env.Move(&s.list, s.matches(), msg):
	case key.Matches(msg, k.Filter, k.Query):
		s.input.Focus()
		s.offered = false
	case s.list.Cursor >= s.matches():
	case key.Matches(msg, k.Copy, k.Enter):
		m := s.answer.Matches[s.list.Cursor]
		return CopyText(view.Line(Scalar(m.Value)), view.Line(m.Path))
	case key.Matches(msg, k.CopyPath):
		return CopyText(view.Line(s.answer.Matches[s.list.Cursor].Path), "the path")
	}
	return nil
}

func (s *Search) matches() int {
	if s.answer == nil {
		return 0
	}
	return len(s.answer.Matches)
}

func (s *Search) left() int {
	return max(s.env.Session.Spent.SearchCap-s.env.Session.Spent.Of(api.OpSearch), 0)
}

// ask searches for what was typed, if that is worth it and allowed.
func (s *Search) ask() tea.Cmd {
	query := s.input.Value()
	if !s.env.Session.TS.Equal(s.ts) {
		s.ts, s.answers = s.env.Session.TS, map[string]*api.SearchResponse{}
	}
	switch {
	case len([]rune(query)) < searchLeast || query == s.query && s.answer != nil && s.answers[query] != nil:
		return nil
	case s.answers[query] != nil:
		s.query = query
		s.answer = s.answers[query]
		s.list = view.List{}
		return nil
	case s.env.Service == nil:
		return Notify("a recording has no service to search")
	case s.left() == 0:
		return Notify(fmt.Sprintf("the limit of %d searches for this session is reached", s.env.Session.Spent.SearchCap))
	case s.asking:
		return nil // when the answer comes, what is typed by then is searched
	}
	s.asking = true
	service, ctx, pack := s.env.Service, s.env.Ctx, s.env.Session.Pack
	return func() tea.Msg {
		answer, err := service.Search(ctx, sdk.SearchRequest{Pack: pack, Query: query, K: api.SearchKMax})
		return matchesMsg{pack, query, answer, err}
	}
}

func (s *Search) take(msg matchesMsg) tea.Cmd {
	s.asking = false
	if msg.pack != s.env.Session.Pack {
		return nil
	}
	if msg.err != nil {
		return Send(Fail(msg.err))
	}
	s.env.Session.Pay(api.OpSearch, msg.answer.Freshness)
	s.query = msg.query
	s.answer = msg.answer
	s.list = view.List{}
	s.answers[msg.query] = msg.answer
	if s.input.Value() == msg.query {
		return nil
	}
	typed := s.typed // more was typed while the answer was on its way
	return tea.Tick(searchRest, func(time.Time) tea.Msg { return restedMsg{typed} })
}

// View draws the query over the matches.
func (s *Search) View(width, height int) []string {
	t := *s.env.Theme
	cost := fmt.Sprintf("%d of %d left", s.left(), s.env.Session.Spent.SearchCap)
	if !s.env.Session.Unmetered {
		cost = s.env.Session.Costs(1) + " each, " + cost
	}
	line := " " + s.input.View(t, width-4)
	top := view.Box{Title: "Search", Note: cost, Focus: s.Typing()}.Draw(t, []string{line}, width, 3)
	title, lines := "Matches", s.lines(width-2, height-5)
	if s.answer != nil {
		title = fmt.Sprintf("%d of %d matches for %q", len(s.answer.Matches), s.answer.Total, s.query)
	}
	note := s.list.Place(s.matches())
	if s.asking {
		note = "searching"
	}
	s.first = 4
	return slices.Concat(top, view.Box{Title: title, Note: note, Focus: !s.Typing()}.Draw(t, lines, width, height-3))
}

// lines are the matches, or what to do where there are none.
func (s *Search) lines(width, height int) []string {
	t := *s.env.Theme
	switch {
	case s.answer == nil && s.asking:
		return []string{"", " Searching."}
	case s.answer == nil:
		return []string{"",
			" Names, symbols, values: bitcoin, aave, extreme, 0.61",
			" A search is made when you stop typing, from two letters on."}
	case len(s.answer.Matches) == 0:
		return []string{"", " Nothing in the newest state matches."}
	}
	path := max(min(width*3/5, 60), 20)
	columns := []view.Column{{Title: "WHERE", Width: path}, {Title: "VALUE", Width: max(width-path-9, 8)}, {Title: "MATCH", Width: 5}}
	rows := s.list.Rows(t, len(s.answer.Matches), width, height-1, !s.Typing(), func(i int) string {
		m := s.answer.Matches[i]
		how := "word"
		if m.Score < api.ScoreWord {
			how = "part"
		}
		return view.Row(t, columns, []string{view.Line(m.Path), view.Line(Scalar(m.Value)), t.Dim.On(how)})
	})
	return append([]string{view.Header(t, columns)}, rows...)
}
