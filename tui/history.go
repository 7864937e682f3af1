package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/diff"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// stepRest is how long no step must be made before the minute is asked for, so that running through an hour costs one call.
const stepRest = 450 * time.Millisecond

const maxMinutes = 64

// History is the screen of a minute of the past: all panes as they stood then, or what differs. A minute never changes, so one that was
// seen is not asked for again.
type History struct {
	env     *Env
	at      time.Time // minute that is shown or asked for, zero before the first
	held    time.Time // minute that is shown, zero before the first
	steps   int       // counts steps, so that a rest that was disturbed is known
	asking  time.Time
	minutes map[time.Time]*minute
	before  time.Time     // minute that was shown before
	gap     time.Duration // between the states of the last two minutes
	form    form
	changes []diff.Change
	list    view.List
	filter  view.Filter
}

// form is how a minute is shown.
type form int

const (
	panes form = iota
	fromNow
	fromBefore
	forms
)

// minute is one of the past.
type minute struct {
	answer *api.StateResponse
	live   *Live // its panes
}

type steppedMsg struct{ steps int }

type minuteMsg struct {
	pack   string
	at     time.Time
	answer *api.StateResponse
	err    error
}

// PastMsg goes a step into the past, on the screen that shows it. By is 0 for a state.
type PastMsg struct {
	By   time.Duration
	Back bool
	now  bool // from now, wherever one was before
}

// NewHistory makes the screen.
func NewHistory(env *Env) *History {
	return &History{env: env, minutes: map[time.Time]*minute{}, filter: view.NewFilter(env.Keys.Filter)}
}

// Enter does nothing: a minute costs a credit, and only a key asks for it.
func (s *History) Enter() tea.Cmd { return nil }

// Typing reports whether a filter is being typed.
func (s *History) Typing() bool {
	if here := s.shownLive(); here != nil {
		return here.Typing()
	}
	return s.filter.Typing()
}

// shownLive are the panes of the minute that is shown, nil where none are.
func (s *History) shownLive() *Live {
	if here := s.minutes[s.held]; here != nil && s.form == panes {
		return here.live
	}
	return nil
}

// Past is the session of the minute that is shown, nil for none.
func (s *History) Past() *session.Session {
	if here := s.minutes[s.held]; here != nil {
		return here.live.env.Session
	}
	return nil
}

// Bindings are the keys of the screen.
func (s *History) Bindings() []key.Binding {
	k := s.env.Keys
	list := []key.Binding{view.KeyPair(k.MinuteBack, " ", k.MinuteOn, "state"), view.KeyPair(k.HourBack, " ", k.HourOn, "hour"),
		view.KeyPair(k.DayBack, " ", k.DayOn, "day"), k.Compare, k.Now}
	if s.shownLive() != nil {
		return append(list, k.NextPane, k.Enter, k.Filter, k.Copy, k.Cite, k.Span, k.Drawing, k.Versus)
	}
	return append(list, k.Filter, k.Copy, k.CopyPath)
}

// Update applies keys and answers.
func (s *History) Update(msg tea.Msg) tea.Cmd {
	here := s.shownLive()
	switch pressed, ok := msg.(tea.KeyMsg); {
	case ok && here != nil && here.Typing():
		return here.Update(msg)
	case ok && here == nil && s.filter.Update(pressed):
		return nil
	}
	switch msg := msg.(type) {
	case steppedMsg:
		if msg.steps == s.steps {
			return s.ask()
		}
	case PastMsg:
		return s.jump(msg)
	case minuteMsg:
		return s.take(msg)
	case SwitchedMsg:
		*s = *NewHistory(s.env)
	case ClickMsg:
		return s.click(msg)
	case tea.KeyMsg:
		return s.press(msg)
	case WheelMsg:
		if here != nil {
			return here.Update(msg)
		}
		s.env.Move(&s.list, len(s.shown()), msg)
	}
	return nil
}

// step is a way to another minute, by a key and by a click.
type step struct {
	key  key.Binding
	does string
	run  func() tea.Cmd
}

// ways are the steps that there are, in the order of the line that is clicked.
func (s *History) ways() []step {
	k := s.env.Keys
	jump := func(by time.Duration, back bool) func() tea.Cmd {
		return func() tea.Cmd { return s.jump(PastMsg{By: by, Back: back}) }
	}
	const day = 24 * time.Hour
	return []step{
		{k.DayBack, "day back", jump(day, true)}, {k.HourBack, "hour back", jump(time.Hour, true)},
		{k.MinuteBack, "state back", jump(0, true)}, {k.MinuteOn, "on", jump(0, false)},
		{k.HourOn, "hour on", jump(time.Hour, false)}, {k.DayOn, "day on", jump(day, false)},
		{k.Compare, "differences", s.nextForm}, {k.Now, "live", func() tea.Cmd { return Send(GotoMsg{0}) }},
	}
}

// line draws the steps in width columns, as many as there is room for, and where each ends.
func (s *History) line(width int) (line string, ends []int) {
	t := *s.env.Theme
	for i, w := range s.ways() {
		gap := " "
		if i > 0 {
			gap = "  "
		}
		word := w.does
		if s.form != panes && i == 6 {
			word = "panes"
		}
		next := gap + t.Key.On(view.KeyLabel(w.key)) + " " + word
		if view.Width(line+next) > width {
			next = gap + t.Key.On(view.KeyLabel(w.key))
		}
		line += next
		ends = append(ends, view.Width(line))
	}
	return line, ends
}

func (s *History) click(c ClickMsg) tea.Cmd {
	if c.Y < topHeight {
		_, ends := s.line(c.width - 2)
		for i, end := range ends {
			if c.Y == 1 && c.X-1 < end {
				return s.ways()[i].run()
			}
		}
		return nil
	}
	if here := s.shownLive(); here != nil {
		c.Y -= topHeight
		return here.Update(c)
	}
	s.list.Click(c.Y-topHeight-2, len(s.shown()))
	return nil
}

func (s *History) press(msg tea.KeyMsg) tea.Cmd {
	here, k := s.shownLive(), s.env.Keys
	for _, w := range s.ways() {
		if key.Matches(msg, w.key) {
			return w.run()
		}
	}
	switch {
	case key.Matches(msg, k.Enter) && s.at.IsZero():
		return s.jump(PastMsg{})
	case key.Matches(msg, k.Back) && (here == nil || !here.detail):
		return Send(GotoMsg{0})
	case key.Matches(msg, k.Trend, k.Brief, k.Reload, k.Alert): // which are of now
		return Notify(view.KeyLabel(k.Now) + " goes back to now first")
	case here != nil:
		return here.Update(msg)
	}
	shown := s.shown()
	if s.env.Move(&s.list, len(shown), msg) || s.list.Cursor >= len(shown) {
		return nil
	}
	switch c := shown[s.list.Cursor]; {
	case key.Matches(msg, k.Copy):
		return CopyText(view.Line(Scalar(c.New)), view.Line(c.Path))
	case key.Matches(msg, k.CopyPath):
		return CopyText(view.Line(c.Path), "the path")
	}
	return nil
}

func (s *History) nextForm() tea.Cmd {
	s.form = (s.form + 1) % forms
	s.compare()
	return nil
}

// newest is the last minute that is over.
func (s *History) newest() time.Time {
	return s.env.Session.ServiceNow().Truncate(time.Minute).Add(-time.Minute)
}

// jump goes to another minute and asks for it once the user rests there. A step back by a state goes before the one that is shown; one on
// goes as far as the last two were apart.
func (s *History) jump(p PastMsg) tea.Cmd {
	newest, to := s.newest(), s.at
	if p.now {
		to = time.Time{}
	}
	if to.IsZero() {
		to = newest
		p.By = max(p.By, 0)
	} else if p.By == 0 {
		p.By = time.Minute
		if here := s.minutes[s.at]; here != nil && p.Back {
			p.By = max(s.at.Sub(here.answer.Freshness.GeneratedAt.Truncate(time.Minute)), 0) + time.Minute
		} else if !p.Back {
			p.By = max(s.gap.Truncate(time.Minute), time.Minute)
		}
	}
	if p.Back {
		p.By = -p.By
	}
	if to = to.Add(p.By); to.After(newest) {
		to = newest
	}
	s.steps++
	if to.Equal(s.at) && s.minutes[to] != nil && !p.now {
		return Notify("that is the newest minute that is over")
	}
	if s.at = to; s.minutes[to] != nil {
		s.arrive()
		return nil
	}
	steps := s.steps
	return tea.Tick(stepRest, func(time.Time) tea.Msg { return steppedMsg{steps} })
}

func (s *History) ask() tea.Cmd {
	if s.env.Service == nil {
		s.at = s.held
		return Notify("a recording has no service to ask")
	}
	s.asking = s.at
	service, ctx, pack, at := s.env.Service, s.env.Ctx, s.env.Session.Pack, s.at
	return func() tea.Msg {
		answer, err := service.Snapshot(ctx, pack, at)
		return minuteMsg{pack, at, answer, err}
	}
}

// take takes a minute. One that there is not is told, and the one before stays.
func (s *History) take(msg minuteMsg) tea.Cmd {
	if msg.pack != s.env.Session.Pack {
		return nil
	}
	if s.asking.Equal(msg.at) {
		s.asking = time.Time{}
	}
	if msg.err != nil {
		if s.at.Equal(msg.at) {
			s.at = s.held
		}
		return Send(Fail(msg.err))
	}
	if len(s.minutes) >= maxMinutes {
		kept := map[time.Time]*minute{}
		for _, at := range []time.Time{s.before, s.held} {
			if s.minutes[at] != nil {
				kept[at] = s.minutes[at]
			}
		}
		s.minutes = kept
	}
	env := *s.env
	env.Session, env.Watchlist = s.env.Session.Back(msg.answer, msg.at.Add(time.Minute)), nil
	s.minutes[msg.at] = &minute{msg.answer, NewLive(&env)}
	s.env.Session.Pay(api.OpSnapshot, api.Freshness{})
	s.env.Session.Past(msg.answer.State, msg.answer.Freshness.GeneratedAt)
	if s.at.Equal(msg.at) {
		s.arrive()
	}
	return nil
}

// arrive shows the minute at which one is, with the same pane in focus.
func (s *History) arrive() {
	here := s.minutes[s.at]
	if there := s.minutes[s.held]; there != nil && !s.held.Equal(s.at) {
		s.before = s.held
		here.live.see(there.live.focus())
		here.live.sorts, here.live.filters, here.live.detail = there.live.sorts, there.live.filters, there.live.detail
		*here.live.list(there.live.focus()) = *there.live.list(there.live.focus())
		if gap := here.answer.Freshness.GeneratedAt.Sub(there.answer.Freshness.GeneratedAt).Abs(); gap > 0 && gap < time.Hour {
			s.gap = gap
		}
	}
	s.held = s.at
	s.compare()
}

// compare finds what changed between the minute and now, or between the minute before and it, the older one first.
func (s *History) compare() {
	s.changes, s.list = nil, view.List{}
	here := s.minutes[s.held]
	if here == nil || s.form == panes {
		return
	}
	older, newer := here.answer.State, s.env.Session.State
	if s.form == fromBefore {
		there := s.minutes[s.before]
		if there == nil {
			return
		}
		older, newer = there.answer.State, here.answer.State
		if s.before.After(s.held) {
			older, newer = newer, older
		}
	}
	if len(newer) == 0 {
		return
	}
	changes, err := diff.States(older, newer)
	if err != nil {
		return
	}
	slices.SortStableFunc(changes, func(a, b diff.Change) int { return changeRank(a) - changeRank(b) })
	s.changes = changes
}

// changeRank puts numbers that moved first, then what came and went, then words, then times.
func changeRank(c diff.Change) int {
	var at time.Time
	switch up, down := session.Moved(c); {
	case up || down:
		return 0
	case c.Old == nil || c.New == nil:
		return 1
	case json.Unmarshal(c.New, &at) == nil:
		return 3
	}
	return 2
}

func (s *History) shown() []diff.Change {
	if s.filter.Value() == "" {
		return s.changes
	}
	var kept []diff.Change
	for _, c := range s.changes {
		if view.Matches(s.filter.Value(), c.Row+" "+c.Path) {
			kept = append(kept, c)
		}
	}
	return kept
}

// topHeight is how many lines say where one stands.
const topHeight = 3

// View draws where one stands over the panes of that minute, or over what changed.
func (s *History) View(width, height int) []string {
	t, zone := *s.env.Theme, s.env.Session.Now.Location()
	title, cost := "A minute of the past", "a minute not seen yet costs "+s.env.Session.Costs(1)
	if s.env.Session.Unmetered {
		cost = ""
	}
	note := cost
	if !s.held.IsZero() {
		title = "Past: " + s.held.In(zone).Format("Mon 2006-01-02 15:04 MST")
		note = human.Age(s.env.Session.ServiceNow().Sub(s.held)) + " ago, state of " +
			s.minutes[s.held].answer.Freshness.GeneratedAt.In(zone).Format(time.TimeOnly)
		if both := join(note, cost); view.Width(title+both)+10 <= width {
			note = both
		}
	}
	if s.asking.Equal(s.at) && !s.at.IsZero() {
		note = "loading " + s.at.In(zone).Format("Jan 2 15:04")
	}
	line, _ := s.line(width - 2)
	top := view.Box{Title: title, Note: note, Focus: true}.Draw(t, []string{line}, width, topHeight)
	if here := s.shownLive(); here != nil {
		return slices.Concat(top, here.View(width, height-topHeight))
	}
	lines := s.lines(width-2, height-topHeight-2)
	note = firstOf(s.filter.Note(), s.list.Place(len(s.shown())))
	return slices.Concat(top, view.Box{Title: s.title(), Note: note}.Draw(t, lines, width, height-topHeight))
}

func (s *History) title() string {
	zone := s.env.Session.Now.Location()
	switch {
	case s.minutes[s.held] == nil:
		return "The panes of then"
	case s.form == fromNow:
		return human.Plural(len(s.changes), "difference") + " from now"
	case s.minutes[s.before] == nil:
		return "Changes from the minute before"
	}
	from, to := s.before, s.held
	if from.After(to) {
		from, to = to, from
	}
	return fmt.Sprintf("%d changed from %s to %s", len(s.changes), from.In(zone).Format("15:04"), to.In(zone).Format("15:04"))
}

func (s *History) lines(width, height int) []string {
	t := *s.env.Theme
	shown := s.shown()
	switch {
	case s.minutes[s.held] == nil:
		enter := " Enter loads the newest minute that is over, " + s.newest().In(s.env.Session.Now.Location()).Format("15:04")
		if cost := s.env.Session.Cost(1) + "."; view.Width(enter+cost) <= width {
			enter += cost
		}
		return []string{"", enter, t.Dim.On(" All panes are shown as they stood at its end.")}
	case s.form == fromBefore && s.minutes[s.before] == nil:
		return []string{"", " Step to another minute to compare the two."}
	case len(s.changes) == 0:
		return []string{"", " Nothing changed."}
	case len(shown) == 0:
		return []string{"", " No change matches the filter."}
	}
	columns := []view.Column{{Title: "ROW", Width: max(min(width/5, 22), 8)}, {Title: "WHERE", Width: max(width*2/5-4, 14)}}
	columns = append(columns, view.Column{Title: "CHANGE", Width: max(width-columns[0].Width-columns[1].Width-4, 8)})
	rows := s.list.Rows(t, len(shown), width, height-1, true, func(i int) string {
		c := shown[i]
		path := view.CutLeft(view.Line(c.Path), columns[1].Width, t.Glyphs.Ellipsis)
		return view.Row(t, columns, []string{view.Line(c.Row), t.Dim.On(path), s.change(c)})
	})
	return append([]string{view.Header(t, columns)}, rows...)
}

func (s *History) change(c diff.Change) string {
	t := *s.env.Theme
	field := c.Path[strings.LastIndexByte(c.Path, '.')+1:]
	old, now := s.value(field, c.Old), s.value(field, c.New)
	if old == now { // too small a move for round figures
		old, now = view.Line(Scalar(c.Old)), view.Line(Scalar(c.New))
	}
	switch {
	case c.Old == nil:
		return t.Good.On("+ " + now)
	case c.New == nil:
		return t.Bad.On("- " + old)
	}
	mark := " "
	switch up, down := session.Moved(c); {
	case up:
		mark = t.Good.On(t.Glyphs.Up)
	case down:
		mark = t.Bad.On(t.Glyphs.Down)
	}
	return mark + " " + old + " " + t.Dim.On(t.Glyphs.Arrow) + " " + now
}

// value is the JSON text of a field as it is shown: a time in the user's zone, a number in its unit, what else as Scalar has it.
func (s *History) value(field string, doc json.RawMessage) string {
	var at time.Time
	var x float64
	if len(doc) > 0 && doc[0] == '"' && json.Unmarshal(doc, &at) == nil {
		return at.In(s.env.Session.Now.Location()).Format("Jan 2 15:04:05")
	}
	if len(doc) > 0 && doc[0] != 'n' && json.Unmarshal(doc, &x) == nil {
		return human.Value(field, x)
	}
	return view.Line(Scalar(doc))
}

// Scalar is a JSON text as people read it: a string without its quotes, what else is short as it is, and a row by its size.
func Scalar(doc json.RawMessage) string {
	var s string
	if json.Unmarshal(doc, &s) == nil && len(doc) > 0 && doc[0] == '"' {
		return s
	}
	if len(doc) > 200 {
		return string(doc[:200])
	}
	return string(doc)
}
