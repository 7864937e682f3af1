package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/tui/view"
)

// drawDetail draws all that is known of the row at the cursor of a pane, on the whole screen or beside it.
func (s *Live) drawDetail(from pane, width, height int, whole bool) []string {
	t := *s.env.Theme
	row := s.row(from)
	if row == nil {
		return view.Box{Title: "Detail", Focus: whole}.Draw(t, nil, width, height)
	}
	c := s.curve(row)
	facts := s.facts(row, width-2)
	if c.drawable() {
		facts = append([]string{c.rangeLine(t)}, facts...)
	}
	room := height - 2 - len(facts)
	const leastCurve = 7
	if least := max(leastCurve, (height-2)*6/10); !whole && room < least && row.Series != "" { // the curve says more than the last facts
		keep := max(height-2-least, 2)
		facts = facts[:min(keep, len(facts))]
		room = height - 2 - len(facts)
	}
	if row.Series == "" {
		room = 0
	}
	box := view.Box{Note: c.spanned(), Focus: whole}
	if whole {
		box.Note = join(box.Note, "esc back")
	}
	said := c.summary()
	label := view.Cut(row.Label, max(width-12-view.Width(said)-view.Width(box.Note), 12), t.Glyphs.Ellipsis)
	box.Title = strings.TrimSpace(label + "  " + said)
	most := 18
	if !whole {
		most = room
	}
	chart := s.chart(c, width-2, min(room, most))
	return box.Draw(t, append(chart, facts...), width, height)
}

// curve is the past of a row, ready to be drawn.
type curve struct {
	row       *Row
	values    []float64 // what is known, oldest first
	low, high float64
	from, to  time.Time
	span      time.Duration
}

func (s *Live) curve(row *Row) curve {
	c := curve{row: row, to: s.env.Session.TS, span: s.env.Session.Span()}
	c.from = c.to.Add(-c.span)
	for _, p := range s.env.Session.Points(row.Series) {
		c.values = append(c.values, p.V)
	}
	if len(c.values) > 0 {
		c.low, c.high = slices.Min(c.values), slices.Max(c.values)
	}
	return c
}

func (c curve) drawable() bool { return len(c.values) > 1 && c.span > 0 }

func (c curve) texts(values ...float64) []string {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v
	}
	return human.FieldColumn(c.row.field, list)
}

// summary is the newest value of a curve and how it changed over its span.
func (c curve) summary() string {
	if len(c.values) == 0 {
		return ""
	}
	first, last := c.values[0], c.values[len(c.values)-1]
	text := c.texts(last)[0]
	change := last - first
	switch {
	case !c.drawable():
		return text
	case strings.HasSuffix(c.row.field, "Pct"):
		moved := strings.TrimSuffix(c.texts(last, change)[1], "%")
		if change > 0 && moved[0] != '+' && strings.ContainsAny(moved, "123456789") {
			moved = "+" + moved
		}
		return text + "  " + moved + " pt"
	case first == 0:
		return text
	}
	change = change / math.Abs(first) * 100
	return text + "  " + state.Change(change).Text
}

// spanned is how long the curve goes back, "" where there is none.
func (c curve) spanned() string {
	if !c.drawable() {
		return ""
	}
	return shortSpan(c.span)
}

// rangeLine says between which values the curve went.
func (c curve) rangeLine(t view.Theme) string {
	texts := c.texts(c.low, c.high)
	return " " + t.Dim.On("low") + " " + texts[0] + "  " + t.Dim.On("high") + " " + texts[1]
}

// chart draws a curve between its scale at the left and now at the right, over the times. Where there are too few numbers it says how to
// get more.
func (s *Live) chart(c curve, width, height int) []string {
	t := *s.env.Theme
	if height < 3 {
		return nil
	}
	if !c.drawable() {
		lines := []string{t.Dim.On(" The curve begins with the second state.")}
		switch now := s.env.Session; {
		case now.Loading > 0:
			lines = append(lines, t.Dim.On(" The past is on its way."))
		case s.env.Service != nil:
			lines = append(lines, t.Dim.On(" "+view.KeyLabel(s.env.Keys.Trend)+" loads the past"+now.Cost(len(now.Pasts()))+"."))
		}
		return append(lines, make([]string, height)...)[:height]
	}
	labels := c.texts(c.low, c.high)
	scale := max(view.Width(labels[0]), view.Width(labels[1]))
	field := min(width-scale-3-len("  * now"), 160)
	values := s.env.Session.Window(c.row.Series, 2*field)
	curve := view.Chart(values, field, height-1, t.Glyphs)
	if curve == nil {
		return nil
	}
	last := values[len(values)-1]
	style := t.Accent
	switch first := c.values[0]; { // by what is drawn, whatever the row's figures say of other spans
	case last > first:
		style = t.Good
	case last < first:
		style = t.Bad
	}
	at := len(curve) / 2
	if c.high > c.low {
		at = int(math.Round((c.high - last) / (c.high - c.low) * float64(len(curve)-1)))
	}
	lines := make([]string, 0, height)
	for i, line := range curve {
		label := ""
		switch {
		case c.high == c.low && i != at:
		case c.high == c.low, i == len(curve)-1:
			label = labels[0]
		case i == 0:
			label = labels[1]
		}
		line = " " + t.Dim.On(view.AlignRight(label, scale, "")) + " " + style.On(line)
		if i == min(max(at, 0), len(curve)-1) {
			line += " " + style.On(t.Bold.On(t.Glyphs.Live))
			if !s.env.Session.Recorded {
				line += t.Dim.On(" now")
			}
		}
		lines = append(lines, line)
	}
	return append(lines, view.Spaces(scale+2)+t.Dim.On(s.axis(c, field)))
}

// axis are times below a curve: of its ends, and as many between as there is room for.
func (s *Live) axis(c curve, width int) string {
	layout := "15:04"
	if c.span < 10*time.Minute {
		layout = time.TimeOnly
	}
	steps := min(max(width/(2*len(layout)+2), 1), 6)
	line := ""
	for i := range steps + 1 {
		at := c.from.Add(c.span * time.Duration(i) / time.Duration(steps)).In(s.env.Session.Now.Location()).Format(layout)
		x := (width - len(at)) * i / steps
		if len(line) < x || i == 0 {
			line += view.Spaces(x-len(line)) + at
		}
	}
	return line
}

// facts are what is known of a row, in two columns where there is room, and where it comes from.
func (s *Live) facts(row *Row, width int) []string {
	t := *s.env.Theme
	var lines []string
	half, label, facts := width/2, 11, row.Facts()
	for _, f := range facts {
		label = max(label, min(view.Width(f[0]), 20))
	}
	long := func(f [2]string) bool { return view.Width(f[1])+label+3 > half }
	for i := 0; i < len(facts); i++ {
		f := facts[i]
		line := " " + t.Dim.On(view.Fit(f[0], label, "")) + " " + f[1]
		if width >= 40 && !long(f) && i+1 < len(facts) && !long(facts[i+1]) {
			i++
			next := facts[i]
			line = view.Fit(line, half, t.Glyphs.Ellipsis) + " " + t.Dim.On(view.Fit(next[0], label, "")) + " " + next[1]
		}
		if view.Width(line) <= width {
			lines = append(lines, line)
			continue
		}
		for j, part := range view.Wrap(f[1], width-label-3) { // a long one stands alone
			if j > 0 {
				f[0] = ""
			}
			lines = append(lines, " "+t.Dim.On(view.Fit(f[0], label, ""))+" "+part)
		}
	}
	lines = append(lines, " "+t.Dim.On(view.Fit("path", label+1, ""))+view.Line(row.Main))
	source := fmt.Sprintf("[%d]", row.Ref)
	if c := s.env.Session.Citation(row.Ref); c != nil {
		source += " " + view.Line(c.SourceID)
	}
	if said := row.beside(t); said != "" {
		source += " " + said
	}
	return append(lines, " "+t.Dim.On(view.Fit("source", label+1, ""))+source)
}
