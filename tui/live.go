package tui

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/tui/view"
)

// Live is the screen of the newest state, as panes. Make it with NewLive.
type Live struct {
	env           *Env
	pack          string // whose panes these are
	width, height int    // as drawn last

	seen    []pane // panes that were in focus, the last one last
	lists   map[pane]*view.List
	filters map[pane]*view.Filter
	sorts   map[pane]int
	laid    []cell             // where panes are, nil before it was found out
	tables  map[tableKey]Table // that were made
	detail  bool               // the row at the cursor is shown on the whole screen

	tree    []view.Branch // of the state at treeTS
	treeTS  time.Time
	treeErr string
	folds   view.Folding
}

// NewLive makes the screen.
func NewLive(env *Env) *Live {
	s := &Live{env: env, pack: env.Session.Pack, lists: map[pane]*view.List{}, filters: map[pane]*view.Filter{}, sorts: map[pane]int{}}
	s.recall()
	return s
}

// Enter does nothing.
func (s *Live) Enter() tea.Cmd { return nil }

// Typing reports whether a filter is being typed.
func (s *Live) Typing() bool { return s.filter(s.focus()).Typing() }

// Bindings are the keys of the screen, by the pane in focus.
func (s *Live) Bindings() []key.Binding {
	k := s.env.Keys
	switch s.focus() {
	case paneTree:
		return []key.Binding{view.KeyPair(k.Left, "/", k.Right, "fold"), k.Filter, k.Copy, k.CopyPath, k.NextPane, k.Pause}
	case paneBrief:
		return []key.Binding{k.Open, k.Cite, k.Brief, k.NextPane, k.Pause}
	case paneNews:
		return []key.Binding{k.NextPane, k.Open, k.Cite, k.Copy, k.Pause}
	case paneWatch:
		return []key.Binding{k.NextPane, k.Open, k.Cite, k.Copy, k.Reload, k.Pause}
	case paneHealth:
		return []key.Binding{k.NextPane, k.Pause, k.Reconnect}
	}
	if len(s.table(s.focus(), s.width).Sorts) > 0 {
		return []key.Binding{k.NextPane, k.Enter, k.Filter, k.Sort, k.Span, k.Copy, k.Open, k.Cite, k.Pack, k.Pause, k.Trend,
			k.Drawing, k.Versus, k.Alert}
	}
	return []key.Binding{k.NextPane, k.Enter, k.Filter, k.Copy, k.Open, k.Pause, k.Cite, k.Span, k.Drawing, k.Versus, k.Alert}
}

func (s *Live) members() (list []pane) {
	for _, m := range Members(s.env.Session) {
		list = append(list, pane(m))
	}
	return list
}

// cells is the layout at the size that was drawn last.
func (s *Live) cells() []cell {
	if s.laid == nil {
		s.laid = layout(s.width, s.height, s.parts())
	}
	return s.laid
}

// forget forgets what was found out for one view or one message.
func (s *Live) forget() { s.laid, s.tables = nil, map[tableKey]Table{} }

type tableKey struct {
	p     pane
	width int
}

func (s *Live) parts() parts {
	rows := func(p pane) int { return s.lines(p) }
	if s.env.Session.State == nil { // a pack whose state is a tree is the exception
		return parts{main: pane(Flags), rows: rows}
	}
	members := s.members()
	switch len(members) {
	case 0:
		return parts{rows: rows}
	case 1:
		return parts{main: members[0], rows: rows}
	}
	now, side, tables := s.env.Session, pane(""), []pane(nil)
	for _, p := range members[1 : len(members)-1] {
		if now.View.Table(string(p)).Readings {
			side = p // which is narrower than a table
		} else {
			tables = append(tables, p)
		}
	}
	if side == "" { // those that hold nothing now come last
		slices.SortStableFunc(tables, func(a, b pane) int { return sign(now.Rows(string(b)) > 0) - sign(now.Rows(string(a)) > 0) })
	} else if n := len(tables); s.width < wideWidth && n > 1 { // where there is room the last one stands beside it
		slices.Reverse(tables[n-2:])
	}
	return parts{members[0], append(s.watch(), tables...), side, members[len(members)-1], rows}
}

// watch is the pane of the watchlist, if there is one of which the pack has something, as far as is known.
func (s *Live) watch() []pane {
	found := s.env.Session.Watch
	if len(s.env.Watchlist) == 0 || found != nil && len(watched(found)) == 0 {
		return nil
	}
	return []pane{paneWatch}
}

// lines is how many lines a pane would fill without a filter.
func (s *Live) lines(p pane) int {
	switch p {
	case paneHealth:
		return 6
	case paneNews:
		return len(s.env.Session.Log.News())
	case paneWatch:
		if found := s.env.Session.Watch; found != nil {
			return len(watched(found)) + 1
		}
		return 3
	}
	return s.env.Session.Rows(string(p)) + 1
}

func (s *Live) focus() pane {
	able := focusable(s.cells())
	for i := len(s.seen) - 1; i >= 0; i-- {
		if slices.Contains(able, s.seen[i]) {
			return s.seen[i]
		}
	}
	return able[0]
}

func (s *Live) see(p pane) {
	s.seen = append(slices.DeleteFunc(s.seen, func(q pane) bool { return q == p }), p)
}

func (s *Live) list(p pane) *view.List {
	if s.lists[p] == nil {
		s.lists[p] = &view.List{}
	}
	return s.lists[p]
}

func (s *Live) filter(p pane) *view.Filter {
	if s.filters[p] == nil {
		f := view.NewFilter(s.env.Keys.Filter)
		s.filters[p] = &f
	}
	return s.filters[p]
}

// table is the table of a pane in width columns, filtered and sorted.
func (s *Live) table(p pane, width int) Table {
	if t, made := s.tables[tableKey{p, width}]; made {
		return t
	}
	t := NewTable(Member(p), s.env.Session, *s.env.Theme, width)
	t.Filter(s.filter(p).Value())
	t.Sort(s.sorts[p])
	if s.tables != nil {
		s.tables[tableKey{p, width}] = t
	}
	return t
}

func (s *Live) row(p pane) *Row {
	if !slices.Contains(s.members(), p) {
		return nil
	}
	t := s.table(p, s.width)
	if i := s.list(p).Cursor; i < len(t.Rows) {
		return &t.Rows[i]
	}
	return nil
}

func (s *Live) branches() []view.Branch {
	now := s.env.Session
	if !s.treeTS.Equal(now.TS) {
		tree, err := view.Tree(now.State)
		s.tree = tree
		s.treeTS = now.TS
		s.treeErr = ""
		if err != nil {
			s.treeErr = view.Line(err.Error())
		}
	}
	return s.folds.Visible(s.tree, s.filter(paneTree).Value())
}

func (s *Live) rows(p pane) int {
	switch p {
	case paneTree:
		return len(s.branches())
	case paneBrief:
		return len(Cited(s.env.Session.Brief))
	case paneNews:
		return len(s.env.Session.Log.News())
	case paneWatch:
		return len(watched(s.env.Session.Watch))
	case paneHealth, paneDetail, paneSources:
		return 0
	}
	return len(s.table(p, s.width).Rows)
}

// Update applies keys and clicks. What the chart lacks then is asked for where that costs nothing.
func (s *Live) Update(msg tea.Msg) tea.Cmd {
	s.forget()
	defer s.forget()
	return tea.Batch(s.apply(msg), s.follow())
}

func (s *Live) apply(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case loadSpanMsg:
		if msg.pack == s.env.Session.Pack {
			return s.env.askPast(msg.member, msg.span)
		}
	case loadTrendsMsg:
		if msg.pack == s.env.Session.Pack {
			return s.env.askTrends(s.env.Session.Pasts())
		}
	case SwitchedMsg:
		s.remember()
		fresh := NewLive(s.env)
		fresh.width = s.width
		fresh.height = s.height
		*s = *fresh
	case FlagsMsg:
		s.see(pane(Flags))
	case ClickMsg:
		return s.click(msg)
	case WheelMsg:
		p := s.focus()
		s.env.Move(s.list(p), s.rows(p), msg)
	case tea.KeyMsg:
		return s.press(msg)
	}
	return nil
}

// click gives the focus to the pane at a place, and goes to the row there. On the spans of a chart it goes over to another.
func (s *Live) click(c ClickMsg) tea.Cmd {
	if s.detail {
		if cmd, on := s.clickSpan(c.X, s.width, s.chartNote(true)); c.Y == 0 && on {
			return cmd
		}
		s.detail = false
		return nil
	}
	for _, cell := range s.cells() {
		if c.Y < cell.y || c.Y >= cell.y+cell.height || c.X < cell.x || c.X >= cell.x+cell.width {
			continue
		}
		if cell.panes[0] == paneDetail {
			if cmd, on := s.clickSpan(c.X-cell.x, cell.width, s.chartNote(false)); c.Y == cell.y && on {
				return cmd
			}
		}
		if p := cell.shown(s.seen); slices.Contains(focusable(s.cells()), p) {
			s.see(p)
			s.list(p).Click(c.Y-cell.y-s.firstLine(p, cell.height), s.rows(p))
		}
		return nil
	}
	return nil
}

// firstLine is the line of a pane's box at which its rows begin.
func (s *Live) firstLine(p pane, height int) int {
	switch p {
	case paneTree, paneNews:
		return 1
	case paneBrief:
		return height - 1 - min(s.rows(p), briefSources(height))
	}
	if s.table(p, s.width).Bare {
		return 1
	}
	return 2
}

func (s *Live) press(msg tea.KeyMsg) tea.Cmd {
	k, p := s.env.Keys, s.focus()
	switch {
	case p != paneBrief && p != paneHealth && p != paneNews && p != paneWatch && s.filter(p).Update(msg):
		return nil
	case key.Matches(msg, k.NextPane):
		s.focusNext(1)
	case key.Matches(msg, k.PrevPane):
		s.focusNext(-1)
	case s.env.Move(s.list(p), s.rows(p), msg):
	case key.Matches(msg, k.Back):
		s.detail = false
	case key.Matches(msg, k.Trend):
		return s.askTrend()
	case key.Matches(msg, k.Span):
		return s.nextSpan()
	case key.Matches(msg, k.Drawing):
		s.env.Charts.Drawing = s.env.Charts.next()
		return Notify("charts are drawn as " + string(s.env.Charts.Drawing))
	case key.Matches(msg, k.MinuteBack, k.MinuteOn):
		return intoPast(0)
	case key.Matches(msg, k.HourBack, k.HourOn):
		return intoPast(time.Hour)
	case key.Matches(msg, k.DayBack, k.DayOn):
		return intoPast(24 * time.Hour)
	case key.Matches(msg, k.Brief):
		return tea.Batch(Notify("asking for the brief"+s.env.Session.Cost(1)), s.env.AskBrief())
	case key.Matches(msg, k.Sort) && len(s.table(p, s.width).Sorts) > 0:
		return s.sort(p)
	default:
		return s.pressIn(p, msg)
	}
	return nil
}

// intoPast makes the command that goes back from now.
func intoPast(by time.Duration) tea.Cmd { return Send(PastMsg{By: by, Back: true, now: true}) }

func (s *Live) pressIn(p pane, msg tea.KeyMsg) tea.Cmd {
	switch p {
	case paneTree:
		return s.pressTree(msg)
	case paneBrief:
		return s.pressBrief(msg)
	case paneNews:
		return s.pressNews(msg)
	case paneWatch:
		return s.pressWatch(msg)
	}
	return s.pressRow(msg, s.row(p))
}

// sort puts the rows of a pane in their next order.
func (s *Live) sort(p pane) tea.Cmd {
	orders := s.table(p, s.width).Sorts
	s.sorts[p] = (s.sorts[p] + 1) % len(orders)
	s.list(p).Cursor = 0
	return Notify("sorted: " + orders[s.sorts[p]])
}

func (s *Live) focusNext(by int) {
	able := focusable(s.cells())
	s.see(able[(slices.Index(able, s.focus())+by+len(able))%len(able)])
}

func (s *Live) pressRow(msg tea.KeyMsg, row *Row) tea.Cmd {
	k := s.env.Keys
	switch {
	case row == nil:
	case key.Matches(msg, k.Enter):
		s.detail = !s.detail
	case key.Matches(msg, k.Copy):
		return CopyText(row.Value, row.Label+" "+row.Value)
	case key.Matches(msg, k.CopyPath):
		return CopyText(row.Main, row.Main)
	case key.Matches(msg, k.Versus):
		return s.versus(row)
	case key.Matches(msg, k.Alert) && len(row.numbers) == 0:
		return Notify("this row has no number to watch")
	case key.Matches(msg, k.Alert):
		return Send(AlertMsg{*row})
	case key.Matches(msg, k.Cite):
		return s.env.CopyCite(row.Ref)
	case key.Matches(msg, k.Open) && row.URL != "":
		return Send(OpenMsg{URL: row.URL})
	case key.Matches(msg, k.Open):
		return s.env.OpenCite(row.Ref)
	}
	return nil
}

func (s *Live) pressTree(msg tea.KeyMsg) tea.Cmd {
	shown, k := s.branches(), s.env.Keys
	at := s.list(paneTree).Cursor
	if at >= len(shown) {
		return nil
	}
	b := shown[at]
	switch {
	case key.Matches(msg, k.Enter) && !b.Leaf,
		key.Matches(msg, k.Right) && s.folds.Closed(b),
		key.Matches(msg, k.Left) && !b.Leaf && !s.folds.Closed(b):
		s.folds.Flip(b.Path)
	case key.Matches(msg, k.Copy):
		value := b.Value
		if unquoted := Scalar(json.RawMessage(value)); b.Leaf {
			value = view.Line(unquoted)
		}
		return CopyText(value, view.Line(b.Path))
	case key.Matches(msg, k.CopyPath):
		return CopyText(view.Line(b.Path), view.Line(b.Path))
	}
	return nil
}

func (s *Live) pressBrief(msg tea.KeyMsg) tea.Cmd {
	cited, k := Cited(s.env.Session.Brief), s.env.Keys
	at := s.list(paneBrief).Cursor
	switch {
	case at >= len(cited):
	case key.Matches(msg, k.Open, k.Enter):
		return Send(OpenMsg{URL: cited[at].URL})
	case key.Matches(msg, k.Cite):
		return s.env.CopyCite(cited[at].Ref)
	case key.Matches(msg, k.Copy):
		return CopyText(view.Line(cited[at].URL), "the address of "+view.Line(cited[at].SourceID))
	}
	return nil
}

func (s *Live) pressWatch(msg tea.KeyMsg) tea.Cmd {
	rows, at := watched(s.env.Session.Watch), s.list(paneWatch).Cursor
	switch {
	case key.Matches(msg, s.env.Keys.Reload) && s.env.Service != nil:
		return tea.Batch(Notify("asking for the watchlist"+s.env.Session.Cost(1)), s.env.askWatch())
	case at < len(rows):
		return s.env.pressAnswer(msg, s.env.Session.Watch, rows[at])
	}
	return nil
}

func (s *Live) pressNews(msg tea.KeyMsg) tea.Cmd {
	news, k := s.env.Session.Log.News(), s.env.Keys
	at := s.list(paneNews).Cursor
	switch {
	case at >= len(news):
	case key.Matches(msg, k.Open, k.Enter) && news[at].URL != "":
		return Send(OpenMsg{URL: news[at].URL})
	case key.Matches(msg, k.Open, k.Enter) && news[at].Ref > 0:
		return s.env.OpenCite(news[at].Ref)
	case key.Matches(msg, k.Cite) && news[at].Ref > 0:
		return s.env.CopyCite(news[at].Ref)
	case key.Matches(msg, k.Copy):
		return CopyText(news[at].Text, "the line")
	}
	return nil
}
