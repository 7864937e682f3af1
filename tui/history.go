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

// History is the screen that steps through the minutes of the past. A minute never changes, so one that was seen is not asked for
// again.
type History struct {
	env     *Env
	at      time.Time // minute that is shown, zero before the first
	steps   int       // counts steps, so that a rest that was disturbed is known
	asking  time.Time
	failed  string // why the minute at is not shown, "" if it is or may be
	minutes map[time.Time]*api.StateResponse
	before  time.Time // minute that was shown before
	toNow   bool      // compare with now, not with the minute before
	changes []diff.Change
	list    view.List
	filter  view.Filter
}

type steppedMsg struct{ steps int }

type minuteMsg struct {
	pack   string
	at     time.Time
	answer *api.StateResponse
	err    error
}

// NewHistory makes the screen.
func NewHistory(env *Env) *History {
	return &History{env: env, minutes: map[time.Time]*api.StateResponse{}, toNow: true, filter: view.NewFilter(env.Keys.Filter)}
}

// Enter does nothing: a minute costs a credit, and only a key asks for it.
func (s *History) Enter() tea.Cmd { return nil }

// Typing reports whether a filter is being typed.
func (s *History) Typing() bool { return s.filter.Typing() }

// Bindings are the keys of the screen.
func (s *History) Bindings() []key.Binding {
	k := s.env.Keys
	return []key.Binding{view.KeyPair(k.MinuteBack, " ", k.MinuteOn, "minute"), view.KeyPair(k.HourBack, " ", k.HourOn, "hour"),
		k.Compare, k.Now, k.Filter, k.Copy, k.CopyPath}
}

// Update applies keys and answers.
func (s *History) Update(msg tea.Msg) tea.Cmd {
	if s.filter.Update(msg) {
		return nil
	}
	switch msg := msg.(type) {
	case steppedMsg:
		if msg.steps == s.steps {
			return s.ask()
		}
	case minuteMsg:
		return s.take(msg)
	case SwitchedMsg:
		*s = *NewHistory(s.env)
	case ClickMsg:
		s.list.Click(msg.Y-6, len(s.shown()))
	case tea.KeyMsg, WheelMsg:
		return s.press(msg)
	}
	return nil
}

func (s *History) press(msg tea.Msg) tea.Cmd {
	shown := s.shown()
	if s.env.Move(&s.list, len(shown), msg) {
		return nil
	}
	pressed, ok := msg.(tea.KeyMsg)
	k := s.env.Keys
	switch {
	case !ok:
	case key.Matches(pressed, k.MinuteBack):
		return s.step(-time.Minute)
	case key.Matches(pressed, k.MinuteOn):
		return s.step(time.Minute)
	case key.Matches(pressed, k.HourBack):
		return s.step(-time.Hour)
	case key.Matches(pressed, k.HourOn):
		return s.step(time.Hour)
	case key.Matches(pressed, k.Now):
		return s.step(s.newest().Sub(s.at))
	case key.Matches(pressed, k.Enter) && s.at.IsZero():
		return s.step(0)
	case key.Matches(pressed, k.Compare):
		s.toNow = !s.toNow
		s.compare()
	case s.list.Cursor >= len(shown):
	case key.Matches(pressed, k.Copy):
		c := shown[s.list.Cursor]
		return CopyText(view.Line(Scalar(c.New)), view.Line(c.Path))
	case key.Matches(pressed, k.CopyPath):
		return CopyText(view.Line(shown[s.list.Cursor].Path), "the path")
	}
	return nil
}

// newest is the last minute that is over.
func (s *History) newest() time.Time {
	return s.env.Session.ServiceNow().Truncate(time.Minute).Add(-time.Minute)
}

// step goes to another minute and asks for it once the user rests there.
func (s *History) step(by time.Duration) tea.Cmd {
	newest := s.newest()
	to := s.at.Add(by)
	if s.at.IsZero() {
		to = newest.Add(min(by, 0))
	}
	if to.After(newest) {
		to = newest
	}
	if to.Equal(s.at) && s.minutes[to] != nil {
		return Notify("that is the newest minute that is over")
	}
	if s.minutes[s.at] != nil {
		s.before = s.at
	}
	s.at, s.failed = to, ""
	s.steps++
	if s.minutes[to] != nil {
		s.compare()
		return nil
	}
	s.changes = nil
	steps := s.steps
	return tea.Tick(stepRest, func(time.Time) tea.Msg { return steppedMsg{steps} })
}

func (s *History) ask() tea.Cmd {
	if s.env.Service == nil {
		s.failed = "a recording has no service to ask"
		return nil
	}
	s.asking = s.at
	service, ctx, pack, at := s.env.Service, s.env.Ctx, s.env.Session.Pack, s.at
	return func() tea.Msg {
		answer, err := service.Snapshot(ctx, pack, at)
		return minuteMsg{pack, at, answer, err}
	}
}

func (s *History) take(msg minuteMsg) tea.Cmd {
	if msg.pack != s.env.Session.Pack {
		return nil
	}
	if s.asking.Equal(msg.at) {
		s.asking = time.Time{}
	}
	if msg.err != nil {
		if s.at.Equal(msg.at) {
			s.failed = Explain(s.env.Keys, msg.err).What
		}
		return Send(Fail(msg.err))
	}
	if len(s.minutes) >= maxMinutes {
		kept := s.minutes[s.before]
		s.minutes = map[time.Time]*api.StateResponse{s.before: kept}
	}
	s.minutes[msg.at] = msg.answer
	s.env.Session.Pay(api.OpSnapshot, api.Freshness{})
	s.env.Session.Past(msg.answer.State, msg.answer.Freshness.GeneratedAt)
	if s.at.Equal(msg.at) {
		s.compare()
	}
	return nil
}

// compare finds what changed between the minute and now, or between the minute before and it, the older one first.
func (s *History) compare() {
	s.changes, s.list = nil, view.List{}
	here := s.minutes[s.at]
	if here == nil {
		return
	}
	older, newer := here.State, s.env.Session.State
	if !s.toNow {
		there := s.minutes[s.before]
		if there == nil {
			return
		}
		older, newer = there.State, here.State
		if s.before.After(s.at) {
			older, newer = newer, older
		}
	}
	if len(newer) == 0 {
		return
	}
	changes, err := diff.States(older, newer)
	if err != nil {
		s.failed = view.Line(err.Error())
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

// View draws where one stands over what changed.
func (s *History) View(width, height int) []string {
	t := *s.env.Theme
	lines := s.lines(width-2, height-6)
	note := "a minute not seen yet costs " + s.env.Session.Costs(1)
	if s.env.Session.Unmetered {
		note = ""
	}
	top := view.Box{Title: "Minute", Note: note, Focus: true}.Draw(t, s.where(width-2), width, 4)
	note = firstOf(s.filter.Note(), s.list.Place(len(s.shown())))
	return slices.Concat(top, view.Box{Title: s.title(), Note: note}.Draw(t, lines, width, height-4))
}

func (s *History) where(width int) []string {
	t, zone := *s.env.Theme, s.env.Session.Now.Location()
	if s.at.IsZero() {
		k := s.env.Keys
		enter := " Enter loads the newest minute that is over, " + s.newest().In(zone).Format("15:04")
		if cost := s.env.Session.Cost(1) + "."; view.Width(enter+cost) <= width {
			enter += cost
		}
		return []string{enter,
			fmt.Sprintf(" %s and %s step by a minute, %s and %s by an hour.",
				view.KeyLabel(k.MinuteBack), view.KeyLabel(k.MinuteOn), view.KeyLabel(k.HourBack), view.KeyLabel(k.HourOn))}
	}
	head := t.Bold.On(s.at.In(zone).Format("Mon 2006-01-02 15:04 MST")) + "   " + human.Age(s.env.Session.ServiceNow().Sub(s.at)) + " ago"
	here := s.minutes[s.at]
	second := " not loaded"
	switch {
	case here != nil:
		second = fmt.Sprintf(" from the state made %s, %s before the minute's end",
			here.Freshness.GeneratedAt.In(zone).Format(time.TimeOnly), human.Age(time.Duration(here.Freshness.AgeSeconds)*time.Second))
	case s.asking.Equal(s.at):
		second = " loading"
	case s.failed != "":
		second = " " + t.Warn.On(t.Glyphs.Warn+" "+s.failed)
	}
	return []string{view.Fit(" "+head, width, t.Glyphs.Ellipsis), second}
}

func (s *History) title() string {
	zone := s.env.Session.Now.Location()
	switch {
	case s.minutes[s.at] == nil:
		return "Changes"
	case s.toNow:
		return human.Plural(len(s.changes), "difference") + " from now"
	case s.minutes[s.before] == nil:
		return "Changes from the minute before"
	}
	from, to := s.before, s.at
	if from.After(to) {
		from, to = to, from
	}
	return fmt.Sprintf("%d changed from %s to %s", len(s.changes), from.In(zone).Format("15:04"), to.In(zone).Format("15:04"))
}

func (s *History) lines(width, height int) []string {
	t := *s.env.Theme
	shown := s.shown()
	switch {
	case s.minutes[s.at] == nil:
		return []string{"", t.Dim.On(" What differs between that minute and now appears here.")}
	case !s.toNow && s.minutes[s.before] == nil:
		return []string{"", " Step to another minute to compare the two; " + view.KeyLabel(s.env.Keys.Compare) + " compares with now."}
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
