package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/tui/session"
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
		facts = append([]string{""}, facts...) // for the range
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
	box := view.Box{Focus: whole}
	if whole || row.Series != "" {
		box.Note = s.chartNote(whole)
	}
	said := c.summary()
	label := view.Cut(row.Label, max(width-12-view.Width(said)-view.Width(box.Note), 12), t.Glyphs.Ellipsis)
	box.Title = strings.TrimSpace(label + "  " + said)
	most := 18
	if !whole {
		most = room
	}
	c, second := s.compared(c)
	chart, candle := s.chart(c, second, width-2, min(room, most))
	if c.drawable() {
		facts[0] = s.rangeLine(c, second, candle)
	}
	return box.Draw(t, append(chart, facts...), width, height)
}

// curve is the past of a row, ready to be drawn.
type curve struct {
	row       *Row
	field     string
	points    []session.Point // what is known, oldest first
	low, high float64
	from, to  time.Time
	span      time.Duration
}

func (s *Live) curve(row *Row) curve {
	now, over := s.env.Session, s.env.Charts.span()
	c := curve{row: row, field: row.field, to: now.TS, span: now.Reach(over), points: now.PointsOver(row.Series, over)}
	c.from = c.to.Add(-c.span)
	for i, p := range c.points {
		if i == 0 {
			c.low, c.high = p.V, p.V
		}
		c.low, c.high = min(c.low, p.V), max(c.high, p.V)
	}
	return c
}

// relative is c in per cent from its first number. ok is false where that is 0.
func (c curve) relative() (r curve, ok bool) {
	if !c.drawable() || c.points[0].V == 0 {
		return c, false
	}
	r, first := c, c.points[0].V
	r.field, r.points = "changePct", slices.Clone(c.points)
	for i := range r.points {
		r.points[i].V = (r.points[i].V - first) / math.Abs(first) * 100
	}
	low, high := (c.low-first)/math.Abs(first)*100, (c.high-first)/math.Abs(first)*100
	r.low, r.high = low, high
	return r, true
}

// compared is c and the curve that is drawn beside it, both in per cent from the start of their span. second is nil where there is none.
func (s *Live) compared(c curve) (main curve, second *curve) {
	other := s.env.Charts.beside(c.row, s.env.Session.Pack)
	if other == nil {
		return c, nil
	}
	main, ok := c.relative()
	beside, known := s.curve(other).relative()
	if !ok || !known {
		return c, nil
	}
	main.low, main.high = min(main.low, beside.low), max(main.high, beside.high)
	return main, &beside
}

func (c curve) drawable() bool { return len(c.points) > 1 && c.span > 0 }

func (c curve) texts(values ...float64) []string {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v
	}
	return human.FieldColumn(c.field, list)
}

// summary is the newest value of a curve and how it changed over its span.
func (c curve) summary() string {
	if len(c.points) == 0 {
		return ""
	}
	first, last := c.points[0].V, c.points[len(c.points)-1].V
	text := c.texts(last)[0]
	change := last - first
	switch {
	case !c.drawable():
		return text
	case strings.HasSuffix(c.field, "Pct"):
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

// rangeLine says between which values the curve went, how the second one did, and over what time where less is known than was asked for.
func (s *Live) rangeLine(c curve, second *curve, candle time.Duration) string {
	t, texts := *s.env.Theme, c.texts(c.low, c.high)
	line := " " + t.Dim.On("low") + " " + texts[0] + "  " + t.Dim.On("high") + " " + texts[1]
	if second != nil {
		change := second.points[len(second.points)-1].V
		line = " " + t.Accent.On(t.Glyphs.Offline+" "+second.row.Label) + " " + state.Change(change).Text + " " + line
	}
	if over := s.env.Charts.span(); c.span < over*9/10 {
		line += "  " + t.Dim.On("known") + " " + shortSpan(c.span)
	}
	if candle > 0 {
		line += "  " + t.Dim.On("by") + " " + spanName(candle)
	}
	return line
}

// mostChart is how wide a chart is drawn at most.
const mostChart = 160

// chart draws a curve between its scale at the left and now at the right, over the times. Where there are too few numbers it says how to
// get more. candle is the time of one, 0 where none are drawn.
func (s *Live) chart(c curve, second *curve, width, height int) (lines []string, candle time.Duration) {
	t := *s.env.Theme
	if height < 3 {
		return nil, 0
	}
	if !c.drawable() {
		return s.noChart(height), 0
	}
	rows := height - 1
	marks := slices.Concat([]float64{c.low}, view.Values(c.low, c.high, max(rows/3, 1)), []float64{c.high})
	labels, scale := c.texts(marks...), 0
	for _, label := range labels {
		scale = max(scale, view.Width(label))
	}
	field := min(width-scale-3-len("  * now"), mostChart)
	if field < 2 {
		return nil, 0
	}
	canvas := view.NewCanvas(field, rows, c.low, c.high, t.Glyphs)
	last := c.points[len(c.points)-1].V
	candle = s.drawNumbers(canvas, c, second, field)
	axis, columns := s.axis(c, field)
	at, ruled, beside := canvas.Row(last), []int(nil), make([]string, rows)
	for i := range marks { // the ends first, which a round value beside them gives way to
		i = (i + len(marks) - 1) % len(marks)
		y := canvas.Row(marks[i])
		free := beside[y] == "" && (i == 0 || i == len(marks)-1 || beside[max(y-1, 0)] == "" && beside[min(y+1, rows-1)] == "")
		if !free {
			continue
		}
		beside[y] = labels[i]
		if i > 0 && i < len(marks)-1 {
			ruled = append(ruled, y)
		}
	}
	canvas.Rule(ruled, columns)
	style, under := t.Accent, -1 // where the second one ends
	if second != nil {
		under = canvas.Row(second.points[len(second.points)-1].V)
	}
	switch first := c.points[0].V; { // by what is drawn, whatever the row's figures say of other spans
	case last > first:
		style = t.Good
	case last < first:
		style = t.Bad
	}
	lines = make([]string, 0, height)
	styles := view.Styles{view.Main: style, view.Second: t.Accent, view.Rise: t.Good, view.Fall: t.Bad, view.Ruled: t.Border}
	for i, line := range canvas.Lines(styles) {
		line = " " + t.Dim.On(view.AlignRight(beside[i], scale, "")) + " " + line
		if i == at {
			line += " " + style.On(t.Bold.On(t.Glyphs.Live))
			if !s.env.Session.Recorded {
				line += t.Dim.On(" now")
			}
		} else if i == under {
			line += " " + t.Accent.On(t.Glyphs.Offline+" "+view.Cut(second.row.Label, 4, ""))
		}
		lines = append(lines, line)
	}
	return append(lines, view.Spaces(scale+2)+t.Dim.On(axis)), candle
}

// noChart says how to get more where there are too few numbers.
func (s *Live) noChart(height int) []string {
	t, now := *s.env.Theme, s.env.Session
	lines := []string{t.Dim.On(" The curve begins with the second state.")}
	switch cost := len(now.Pasts()); {
	case now.Loading > 0:
		lines = append(lines, t.Dim.On(" The past is on its way."))
	case s.env.Service != nil:
		if s.env.Charts.span() != session.MostSpan {
			cost = 1
		}
		lines = append(lines, t.Dim.On(" "+view.KeyLabel(s.env.Keys.Trend)+" loads the past"+now.Cost(cost)+"."))
	}
	return append(lines, make([]string, height)...)[:height]
}

// drawNumbers draws a curve in the way that was chosen. Candles of which there are too few numbers, or two, are curves.
func (s *Live) drawNumbers(canvas *view.Canvas, c curve, second *curve, width int) (candle time.Duration) {
	spread := func(c curve, n int) []float64 { return s.env.Session.Spread(c.points, c.span, n) }
	switch step := c.candles(width); {
	case second != nil && s.env.Charts.Drawing == view.Blocks:
		canvas.Fill(spread(c, width), view.Main)
		canvas.Curve(spread(*second, 2*width), view.Second)
	case second != nil:
		canvas.Curve(spread(*second, 2*width), view.Second)
		canvas.Curve(spread(c, 2*width), view.Main)
	case s.env.Charts.Drawing == view.Candles && step > 0:
		s.drawCandles(canvas, c, width, step)
		return step
	case s.env.Charts.Drawing == view.Blocks:
		canvas.Fill(spread(c, width), view.Main)
	default:
		canvas.Curve(spread(c, 2*width), view.Main)
	}
	return 0
}

// candles is the time of a candle: a round one of which each has some numbers and two columns, 0 where there are too few.
func (c curve) candles(width int) time.Duration {
	const least, numbers, columns = 4, 3, 2
	n := min(len(c.points)/numbers, width/columns)
	if n < least {
		return 0
	}
	return view.Step(c.span, n)
}

// drawCandles draws what the numbers did in each step, which begins with the last one of the step before.
func (s *Live) drawCandles(canvas *view.Canvas, c curve, width int, step time.Duration) {
	zone, at := s.env.Session.Now.Location(), 0
	for _, from := range view.Rounds(c.from.In(zone).Add(-step), c.to.In(zone), step) {
		to := from.Add(step)
		begin := at
		for at < len(c.points) && c.points[at].At.Before(to) {
			at++
		}
		if at == begin {
			continue
		}
		part := c.points[max(begin-1, 0):at]
		one := view.Candle{Open: part[0].V, Close: part[len(part)-1].V, High: part[0].V, Low: part[0].V}
		for _, p := range part {
			one.High, one.Low = max(one.High, p.V), min(one.Low, p.V)
		}
		middle := from.Add(step / 2).Sub(c.from)
		canvas.Candle(min(max(int(float64(width)*float64(middle)/float64(c.span)), 0), width-1), one)
	}
}

// axis are round times below a curve, as many as there is room for, and the columns that they stand under.
func (s *Live) axis(c curve, width int) (line string, columns []int) {
	const day, room = 24 * time.Hour, 3
	zone, layout := s.env.Session.Now.Location(), "15:04"
	step := view.Step(c.span, max(width/(len(layout)+room), 1))
	if step < time.Minute {
		layout = time.TimeOnly
		step = view.Step(c.span, max(width/(len(layout)+room), 1))
	}
	for _, at := range view.Rounds(c.from.In(zone), c.to.In(zone), step) {
		label := at.Format(layout)
		if midnight := at.Hour() == 0 && at.Minute() == 0; midnight && c.span > 2*time.Hour && step >= time.Minute {
			label = at.Format("Jan 2")
		}
		x := int(float64(width-1) * float64(at.Sub(c.from)) / float64(c.span))
		begin := min(max(x-len(label)/2, 0), width-len(label))
		if begin < 0 || line != "" && begin <= len(line) {
			continue
		}
		line += view.Spaces(begin-len(line)) + label
		columns = append(columns, x)
	}
	return line, columns
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
