package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/state"
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
	if s.View == nil {
		return nil
	}
	for _, t := range s.View.Tables {
		list = append(list, Member(t.Member))
	}
	return append(list, Flags)
}

// Title is the name of a member for people.
func Title(s *session.Session, m Member) string {
	if t := s.View.Table(string(m)); t != nil {
		return view.Line(t.Title)
	}
	return view.Line(state.Title(string(m)))
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
	Late   string // see state.ViewRow.Late
	About  string // see state.ViewRow.About

	facts   func() [][2]string
	field   string // that Series is of
	id      string
	numbers []number // that it has
	cells   []string
	sort    []float64 // by the orders of the table but the first
}

// beside is what a row says of its age.
func (r Row) beside(t view.Theme) string {
	return strings.TrimSpace(t.Warn.On(r.Late) + " " + t.Dim.On(r.About))
}

// Facts are all that is known of a row, by their names.
func (r Row) Facts() [][2]string { return r.facts() }

// Table is the rows of a member.
type Table struct {
	Member  Member
	Columns []view.Column
	Rows    []Row
	Bare    bool               // the columns need no names
	lates   int                // columns beside the others for what the rows say of their age
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
	switch r := t.Rows[i]; {
	case t.lates > 0:
		return strings.TrimRight(view.Row(th, t.Columns, cells)+" "+r.beside(th), " ")
	case r.Late != "":
		return view.Marked(th, t.Columns, cells, r.beside(th))
	case r.About != "" && view.Width(r.About) < view.Spare(t.Columns): // else it would cost a figure; the row's facts have it
		return view.Marked(th, t.Columns, cells, r.beside(th))
	}
	return view.Row(th, t.Columns, cells)
}

// leastBeside is the least width of columns beside which something stands.
const leastBeside = 34

// NewTable makes the table of a member in width columns. Where there is room for it, rows tell their age beside its columns, which
// stay below their headings.
func NewTable(m Member, s *session.Session, th view.Theme, width int) Table {
	t, lates := newTable(m, s, th, width, 0), 0
	for _, r := range t.Rows {
		lates = max(lates, view.Width(r.beside(th)))
	}
	if lates > 0 && m != Flags && width-1-lates >= leastBeside {
		return newTable(m, s, th, width-1-lates, lates)
	}
	return t
}

// newTable makes the table, with so many columns beside it for what rows say of their age.
func newTable(m Member, s *session.Session, th view.Theme, width, lates int) Table {
	p := painter{s: s, t: th, width: width - 1, beside: lates > 0}
	t := Table{Member: m, lates: lates}
	from := s.View.Table(string(m))
	switch {
	case m == Flags:
		p.flags(&t)
	case from == nil:
	case from.Readings:
		p.readings(&t, from)
	default:
		p.table(&t, from)
	}
	return t
}

type painter struct {
	s      *session.Session
	t      view.Theme
	width  int
	beside bool // rows tell their age beside the columns
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

// signed is text in the colour of its sign.
func signed(t view.Theme, text string, sign int) string {
	switch sign {
	case 1:
		return t.Good.On(text)
	case -1:
		return t.Bad.On(text)
	}
	return text
}

// trend is the curve of a row over the span of the session. It leaves room for what the row says of its age.
func (p painter) trend(r Row, width int) string {
	if said := r.beside(p.t); said != "" && !p.beside {
		width -= view.Width(said) + 1
	}
	if width < 2 || r.Series == "" {
		return ""
	}
	return view.Trend(p.s.Window(r.Series, 2*width), width, p.t)
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
