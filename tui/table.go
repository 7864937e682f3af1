package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// Member is a member of the state that has a table, by its name there.
type Member string

// Flags is the member that the states of all packs have.
const Flags Member = api.MemberFlags

// Members are those of the state that is shown, in the order in which they are visited; none where it is shown as a tree.
func Members(s *session.Session) (list []Member) {
	switch {
	case s.Crypto != nil:
		return CryptoMembers()
	case s.Tables == nil:
		return nil
	}
	for _, m := range s.Tables.Members {
		list = append(list, Member(m.Name))
	}
	return append(list, Flags)
}

// Title is the name of a member for people.
func (m Member) Title() string {
	switch m {
	case Movers:
		return "Movers"
	case Protocols:
		return "Value locked"
	case "fx":
		return "FX"
	}
	words := view.Line(strings.ReplaceAll(string(m), "_", " "))
	for i, first := range words {
		return words[:i] + strings.ToUpper(string(first)) + words[i+len(string(first)):]
	}
	return ""
}

const asSent = "as sent"

// Row is a row of a table.
type Row struct {
	Path   string // of the row
	Main   string // of its main value
	Label  string // what it is called
	Value  string // the main value, exact, as it is copied
	Find   string // what filters look in, besides Label
	Series string // key of its numbers over time, "" for none
	URL    string // of its own, "" for that of its source
	Ref    int    // of its source
	Late   string // how old it is where its source is overdue, else ""
	Facts  [][2]string

	field string // of the main value where its name has a unit, else ""
	cells []string
	sort  []float64 // by the orders of the table but the first
}

// Table is the rows of a member.
type Table struct {
	Member  Member
	Columns []view.Column
	Rows    []Row
	Bare    bool               // the columns need no names
	lates   int                // columns beside the others for what is overdue
	curve   func(r Row) string // draws the last column, nil where that is none of curves
	// Sorts are orders that the rows can be put in, the first that of the service; none where there is no other.
	Sorts []string
}

// Sort puts the rows in one of the orders of Sorts, largest first. Unknown values come last.
func (t *Table) Sort(by int) {
	if by <= 0 {
		return
	}
	slices.SortStableFunc(t.Rows, func(a, b Row) int {
		if by > len(a.sort) || by > len(b.sort) {
			return 0
		}
		x, y := a.sort[by-1], b.sort[by-1]
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
}

// Filter keeps the rows that match.
func (t *Table) Filter(filter string) {
	if filter != "" {
		t.Rows = slices.DeleteFunc(t.Rows, func(r Row) bool { return !view.Matches(filter, r.Label+" "+r.Find) })
	}
}

// Draw is row i as a line.
func (t *Table) Draw(th view.Theme, i int) string {
	cells := t.Rows[i].cells
	if t.curve != nil { // drawn for the rows that are seen alone
		cells = append(slices.Clone(cells[:len(cells)-1]), t.curve(t.Rows[i]))
	}
	switch late := th.Warn.On(t.Rows[i].Late); {
	case late != "" && t.lates > 0:
		return view.Row(th, t.Columns, cells) + " " + late
	case late != "":
		return view.Marked(th, t.Columns, cells, late)
	}
	return view.Row(th, t.Columns, cells)
}

// leastBeside is the least width of columns beside which something stands.
const leastBeside = 34

// NewTable makes the table of a member in width columns. Where there is room for it, what is overdue says so beside its columns, which
// stay below their headings.
func NewTable(m Member, s *session.Session, th view.Theme, width int) Table {
	t, lates := newTable(m, s, th, width, 0), 0
	for _, r := range t.Rows {
		lates = max(lates, view.Width(r.Late))
	}
	if lates > 0 && m != Flags && width-1-lates >= leastBeside {
		return newTable(m, s, th, width-1-lates, lates)
	}
	return t
}

// newTable makes the table, with so many columns beside it for what is overdue.
func newTable(m Member, s *session.Session, th view.Theme, width, lates int) Table {
	p := painter{s: s, t: th, width: width - 1, beside: lates > 0}
	t := Table{Member: m, lates: lates}
	switch {
	case m == Flags:
		t.Columns, t.Rows = p.flags(s.Flags)
		t.Bare = true
	case s.Crypto != nil:
		p.crypto(&t, s.Crypto)
		for i, r := range t.Rows {
			t.Rows[i].Facts = p.factsAt(r.Path)
		}
	case s.Tables != nil:
		p.tabular(&t, s.Tables)
	}
	if n := len(t.Columns); n > 0 && strings.HasPrefix(t.Columns[n-1].Title, "TREND") && t.Columns[n-1].Width > 0 {
		t.curve = func(r Row) string { return p.trend(r.Series, r.Ref, t.Columns[n-1].Width) }
	}
	for i, r := range t.Rows {
		if m != Flags || !aboutSource(s.Flags[i].Kind) {
			t.Rows[i].Late = s.Late(r.Ref)
		}
	}
	return t
}

// aboutSource reports whether a kind of flag is a warning about a source and no data of it.
func aboutSource(kind string) bool { return kind == api.FlagSourceStale || kind == api.FlagSourceError }

type painter struct {
	s      *session.Session
	t      view.Theme
	width  int
	beside bool // what is overdue says so beside the columns
}

// mark is the sign of a value that changed in the last seconds, and a space else.
func (p painter) mark(path string) string {
	switch changed, up, down := p.s.Flash(path); {
	case up:
		return p.t.Good.On(p.t.Glyphs.Up)
	case down:
		return p.t.Bad.On(p.t.Glyphs.Down)
	case changed:
		return p.t.Flash.On("*")
	}
	return " "
}

// flashed is value, bold if it changed in the last seconds.
func (p painter) flashed(path, value string) string {
	if changed, _, _ := p.s.Flash(path); changed {
		return p.t.Flash.On(value)
	}
	return value
}

// change is a percent with its sign, coloured by it, bold if it changed in the last seconds.
func (p painter) change(path string, v *float64) string {
	s := human.Change(v)
	if v != nil && *v > 0 {
		s = p.t.Good.On(s)
	} else if v != nil && *v < 0 {
		s = p.t.Bad.On(s)
	}
	return p.flashed(path, s)
}

// trend is the curve of a row over the span of the session. It leaves room for the mark of a source that is overdue.
func (p painter) trend(key string, ref, width int) string {
	if late := p.s.Late(ref); late != "" && !p.beside {
		width -= view.Width(late) + 1
	}
	if width < 2 || key == "" {
		return ""
	}
	return view.Trend(p.s.Window(key, 2*width), width, p.t)
}

// trended are columns without that of the curves where none has moved yet.
func (p painter) trended(columns []view.Column, rows []Row) {
	for _, r := range rows {
		if p.s.Moves(r.Series) {
			return
		}
	}
	columns[len(columns)-1].Width = 0
}

// trendTitle heads the column of the curves with the time that they span.
func (p painter) trendTitle() string {
	if span := p.s.Span(); span > 0 {
		return "TREND " + shortSpan(span)
	}
	return "TREND"
}

// shortSpan is a span as one number: 24h, 63m, 45s.
func shortSpan(span time.Duration) string {
	switch {
	case span >= 2*time.Hour:
		return fmt.Sprintf("%dh", int(span.Round(time.Hour).Hours()))
	case span >= 2*time.Minute:
		return fmt.Sprintf("%dm", int(span.Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf("%ds", int(span.Seconds()))
}

func at(m Member, i int) string { return string(m) + "[" + strconv.Itoa(i) + "]" }

// known is v, or less than every number where it is not known.
func known[T int64 | float64](v *T) float64 {
	if v == nil {
		return -1e300
	}
	return float64(*v)
}

// exact is v in its shortest form, as it stands in the state.
func exact(v *float64) string {
	if v == nil {
		return "null"
	}
	return human.Plain(*v)
}

func whole(n *int64) string {
	if n == nil {
		return "null"
	}
	return strconv.FormatInt(*n, 10)
}

func signed(v *float64) string {
	if v == nil {
		return "not known"
	}
	return human.Change(v) + "%"
}

func dollars(n *int64) string {
	if n == nil {
		return "not known"
	}
	return "$" + human.Compact(n)
}
