package ground

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/prose"
)

// figures checks every figure of s against the rows under its anchors.
func (c *checker) figures(s prose.Sentence, anchors []int) {
	r := c.read(s)
	if len(anchors) > 0 { // else the missing anchor is found already
		for i := range r.figures {
			b, ok := c.originOf(r, r.figures[i].Figure, anchors)
			if !ok {
				b, ok = c.figure(r, i, anchors)
			}
			if ok {
				c.claim(s, r.figures[i].Figure, b, anchors)
			}
		}
		for _, f := range r.quoted {
			b, ok := c.originOf(r, f, anchors)
			if !ok {
				b, ok = c.inPhrase(r, f, anchors)
			}
			if ok {
				c.claim(s, f, b, anchors)
			} else {
				c.unfounded(s, f, func(x *row) bool { return c.written(r, &assertion{Figure: f}, x, text{}) != wrongValue })
			}
		}
	}
	c.previous = r.first()
}

// first is what the sentence is about for one that goes on about it: the first name and those listed with it. It stands nowhere in that.
func (r *reading) first() (about []*mention) {
	list := r.mentions
	if at := slices.IndexFunc(list, func(m *mention) bool { return m.name && len(m.rows) > 0 }); at >= 0 {
		list = r.groupAt(list[at])
	}
	for _, m := range list {
		about = append(about, &mention{text: m.text, rows: m.rows, name: m.name, refs: m.refs})
	}
	return about
}

// inPhrase finds the title, message or other text of a row under the anchors that f lies within.
func (c *checker) inPhrase(r *reading, f prose.Figure, anchors []int) (backing, bool) {
	var list []backing
	for _, p := range c.spans {
		of := c.index.phrases[p.Phrase]
		if p.Start <= r.Start+f.Start && r.Start+f.End <= p.End && of.row.under(anchors) && (!p.Named || of.long) {
			list = append(list, backing{of.row, of.path})
		}
	}
	if list == nil {
		return backing{}, false
	}
	return r.nearest(f, list), true
}

// elsewhere reports whether b is a text of another row, where what f is of has one of its own.
func (f *assertion) elsewhere(b backing) bool {
	same := func(t text) bool { return t.path != b.path && keyOf(t.path) == keyOf(b.path) }
	of := func(m *mention) bool { return m.covers(b.row) }
	own := func(m *mention) bool {
		return slices.ContainsFunc(m.rows, func(x *row) bool { return slices.ContainsFunc(x.texts, same) })
	}
	return !slices.ContainsFunc(f.subjects, of) && slices.ContainsFunc(f.subjects, own)
}

// keyOf is the name of the member that a path ends with.
func keyOf(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// counted finds the list whose length f is, or that of a group in it, by the word for its rows behind f.
func (c *checker) counted(f *assertion, anchors []int) (backing, bool) {
	if !f.bareCount() {
		return backing{}, false
	}
	if c.index.counts == nil {
		for _, l := range c.index.lists {
			c.index.counts = append(c.index.counts, l.counts()...)
		}
	}
	for _, n := range c.index.counts {
		if float64(n.n) != f.Value || !slices.ContainsFunc(f.after, n.counts) {
			continue
		}
		if at := slices.IndexFunc(n.rows, func(r *row) bool { return r.under(anchors) }); at >= 0 {
			return backing{n.rows[at], n.path}, true
		}
	}
	return backing{}, false
}

// step is how far a value came to back a figure.
type step int

const (
	wrongValue step = iota
	wrongSubject
	wrongField
	wrongSpan
	wrongWay
	backed
)

// figure checks one figure; any of its readings may hold. It returns what backs the figure, and false where it has found nothing.
func (c *checker) figure(r *reading, i int, anchors []int) (backing, bool) {
	f := &r.figures[i]
	if b, ok := c.inPhrase(r, f.Figure, anchors); ok && !f.elsewhere(b) {
		return b, true
	}
	var best step
	var backs []backing
	for _, x := range c.index.rows {
		if !x.under(anchors) {
			continue
		}
		reached, path := c.backs(r, f, x)
		if reached == backed {
			backs = append(backs, backing{x, path})
		}
		best = max(best, reached)
	}
	if f.shared && best == backed && slices.ContainsFunc(f.subjects, func(m *mention) bool {
		return !slices.ContainsFunc(backs, func(b backing) bool { return m.covers(b.row) })
	}) {
		backs, best = nil, wrongSubject
	}
	if backs = r.closest(backs, f.subjects); len(backs) > 0 {
		return r.nearest(f.Figure, backs), true
	}
	if b, ok := c.counted(f, anchors); ok {
		return b, true
	}
	has := func(x *row) bool { reached, _ := c.backs(r, f, x); return reached > wrongValue }
	switch best {
	case wrongSubject:
		c.add(KindSubject, r.Sentence, f.Raw, "the figure belongs to another row than the one that the sentence names")
	case wrongField:
		c.add(KindField, r.Sentence, f.Raw, "the figure is of another field than the one that the sentence names")
	case wrongSpan:
		c.add(KindSpan, r.Sentence, f.Raw, "the figure is of another time than the sentence says")
	case wrongWay:
		c.add(KindDirection, r.Sentence, f.Raw, "the figure moves the other way")
	default:
		c.unfounded(r.Sentence, f.Figure, has)
	}
	return backing{}, false
}

// closest are those of list whose questions have as many words of the sentence as any question about the same: which one is meant, if none
// is quoted, is told by its words.
func (r *reading) closest(list []backing, subjects []*mention) []backing {
	shared := func(x *row) (n int) {
		for _, t := range x.texts {
			if !t.long || !strings.HasSuffix(t.path, ".question") {
				continue
			}
			title := prose.Words(t.text)
			for i, w := range r.words {
				again := slices.ContainsFunc(r.words[:i], func(o prose.Word) bool { return o.Text == w.Text })
				if !again && slices.ContainsFunc(title, func(o prose.Word) bool { return prose.Stem(o.Text) == prose.Stem(w.Text) }) {
					n++
				}
			}
		}
		return n
	}
	most := 0
	for _, m := range subjects {
		for _, x := range m.rows {
			most = max(most, shared(x))
		}
	}
	return slices.DeleteFunc(list, func(b backing) bool { n := shared(b.row); return n > 0 && n < most })
}

// backs reports how far x comes to back f, and by which of its values.
func (c *checker) backs(r *reading, f *assertion, x *row) (best step, path string) {
	for at := range x.numbers {
		n := &x.numbers[at]
		fits := slices.ContainsFunc(f.readings, func(g prose.Figure) bool {
			return (g.Kind == prose.Number || g.Kind == prose.Span) && equals(g, *n, x)
		})
		if !fits {
			continue
		}
		reached := c.number(r, f, x, n)
		if reached == backed {
			return backed, n.path
		}
		best = max(best, reached)
	}
	if i := c.timed(x, f.Figure, r.text); i >= 0 {
		if c.about(r, f, x, nil) || !c.haveTimes(f) {
			return backed, x.times[i].path
		}
		best = max(best, wrongSubject)
	}
	for _, t := range x.texts {
		reached := c.written(r, f, x, t)
		if reached == backed {
			return backed, t.path
		}
		best = max(best, reached)
	}
	return best, ""
}

// number reports how far n, which equals f, comes to back it.
func (c *checker) number(r *reading, f *assertion, x *row, n *number) step {
	switch {
	case !c.about(r, f, x, n):
		return wrongSubject
	case f.negated, !fieldFits(f, x, n) && !f.comparing(x, n), f.points && !n.differs(), r.mislabels(x), c.beaten(r, f, x, n):
		return wrongField
	case !spanFits(f, x, n):
		return wrongSpan
	case (n.change || x.judges && n.unit == prose.Percent) && (n.value*float64(f.direction) < 0 || n.value*float64(f.Sign) < 0):
		return wrongWay
	}
	return backed
}

// comparing reports whether f may be of n as the figure before it is of its own.
func (f *assertion) comparing(x *row, n *number) bool {
	if len(f.carried) == 0 {
		return false
	}
	g := *f
	g.measures = f.carried
	return fieldFits(&g, x, n)
}

// about reports whether f is said of x, or of what n is about by its name.
func (c *checker) about(r *reading, f *assertion, x *row, n *number) bool {
	if x.source {
		return true
	}
	if refs := r.venue(f); refs != nil && !x.under(refs) {
		return false
	}
	if n != nil { // btcDominancePct is of Bitcoin, whatever row it stands in
		m := r.lastName(f)
		symbol := slices.ContainsFunc(n.words, func(w string) bool { return c.index.symbols[w] })
		switch {
		case m != nil && (symbol || m.shortened(n.words)):
			return !symbol || m.means(n.words)
		case symbol && len(f.subjects) == 0:
			return true
		}
	}
	one := x.named() && !slices.Contains(x.lists, "total")
	totals := one && f.totals()
	covered := slices.ContainsFunc(f.subjects, func(m *mention) bool { return m.covers(x) && !(totals && m.inText) })
	if covered || len(f.subjects) > 0 && !f.inherits {
		return covered || r.perhaps(f, x)
	}
	return !x.named() && x.within.path == "" || r.hints(x, n) && !totals && !(n != nil && one && f.Unit == prose.USD && !r.ranges())
}

// ranges reports whether the sentence has a range, which is of several.
func (r *reading) ranges() bool {
	return slices.ContainsFunc(r.figures, func(f assertion) bool { return len(f.readings) > 1 })
}

// totals reports whether f is said of all there is, so that no row that stands for one thing backs it.
func (f *assertion) totals() bool {
	return slices.ContainsFunc(f.stems, func(w string) bool {
		switch w {
		case "total", "overall", "together", "altogether", "sum", "whole", "combined", "aggregate", "entire":
			return true
		}
		return w == "all" && f.Unit == prose.USD
	})
}

// hints reports whether a sentence without a name has a word for the rows of x, or for what n, or else any number of x, measures.
func (r *reading) hints(x *row, n *number) bool {
	has := func(word string) bool {
		_, found := slices.BinarySearch(r.hinting, word)
		return found && word != "hour" // which is of a span
	}
	measured := func(o number) bool { return (n == nil || n.path == o.path) && slices.ContainsFunc(o.words, has) }
	return slices.ContainsFunc(x.lists, has) || slices.ContainsFunc(x.numbers, measured)
}

// venue is the sources of which the sentence names one directly behind f or the name before it.
func (r *reading) venue(f *assertion) []int {
	for _, m := range r.mentions {
		if m.refs == nil {
			continue
		}
		for _, end := range append([]int{f.End}, ends(f.subjects)...) {
			if m.start >= end && (r.text[end:m.start] == " on " || r.text[end:m.start] == " at ") {
				return m.refs
			}
		}
	}
	return nil
}

func ends(list []*mention) (all []int) {
	for _, m := range list {
		all = append(all, m.end)
	}
	return all
}

// lastName is the last name before f in the sentence, else one of what f is of, else nil.
func (r *reading) lastName(f *assertion) (last *mention) {
	for _, m := range append(slices.Clone(f.subjects), r.mentions...) {
		if m.name && (m.end <= f.Start || last == nil && slices.Contains(f.subjects, m)) {
			last = m
		}
	}
	return last
}

// haveTimes reports whether what f is of has times of its own.
func (c *checker) haveTimes(f *assertion) bool {
	return slices.ContainsFunc(f.subjects, func(m *mention) bool {
		return slices.ContainsFunc(m.rows, func(x *row) bool { return len(x.times) > 0 })
	})
}

// written reports how far a text of x, which says f as it is written, comes to back it: what it says of the figure counts.
func (c *checker) written(r *reading, f *assertion, x *row, t text) step {
	if !t.long || !strings.Contains(t.text, f.Raw) {
		return wrongValue
	}
	body := prose.Sentence{Text: t.text}
	own := &reading{Sentence: body, text: t.text, words: prose.Words(t.text)}
	own.periods = prose.Periods(own.words)
	for _, g := range prose.Figures(t.text) {
		if g.UsualSpan() {
			continue
		}
		own.figures = append(own.figures, assertion{Figure: g, readings: []prose.Figure{g}})
	}
	best := wrongValue
	for i := range own.figures {
		own.describe(i)
		g := &own.figures[i]
		if g.Raw != f.Raw {
			continue
		}
		reached := backed
		shares := func(m string) bool { return slices.Contains(g.measures, m) }
		switch {
		case !c.about(r, f, x, nil):
			reached = wrongSubject
		case f.by && !g.by && g.direction == 0, f.bound && !g.bound, f.points && !g.points, r.mislabels(x),
			len(f.measures) > 0 && len(g.measures) > 0 && !slices.ContainsFunc(f.measures, shares):
			reached = wrongField
		case f.over != 0 && g.over != 0 && f.over != g.over, f.ago != g.ago:
			reached = wrongSpan
		case f.direction*g.direction < 0, x.judges && f.percent() && g.direction != 0 && !f.moves(prose.Percent):
			reached = wrongWay
		}
		best = max(best, reached)
	}
	return best
}

// unfounded adds the finding for a figure that no row under the anchors has.
func (c *checker) unfounded(s prose.Sentence, f prose.Figure, has func(*row) bool) {
	if refs := c.index.elsewhere(c.citations, has); len(refs) > 0 {
		c.add(KindSource, s, f.Raw, "the sentence does not cite a source of this figure; %v would be", refs)
		return
	}
	c.add(KindFigure, s, f.Raw, "the state has no such figure")
}

const months = `(January|February|March|April|May|June|July|August|September|October|November|December)`

var (
	monthBefore = regexp.MustCompile(months + ` $`)
	monthAfter  = regexp.MustCompile(`^(?:st|nd|rd|th)? (?:of )?` + months + `\b`)
)

// timed finds the time of r of which f is the clock time, the date, the year or, beside its month, the day; -1 for none.
func (c *checker) timed(r *row, f prose.Figure, masked string) int {
	return slices.IndexFunc(r.times, func(m moment) bool {
		t := m.UTC()
		switch f.Kind {
		case prose.Clock, prose.Date:
			if m.long {
				return false
			}
		}
		switch f.Kind {
		case prose.Clock:
			return f.Raw == t.Format("15:04") || f.Raw == t.Format("15:04:05")
		case prose.Date:
			return f.Raw == t.Format(time.DateOnly)
		}
		if f.Unit != prose.Plain || f.Half != 0.5 {
			return false
		}
		beside := monthBefore.FindStringSubmatch(masked[max(0, f.Start-12):f.Start])
		if f.Value == float64(t.Year()) {
			return beside == nil || beside[1] == t.Month().String()
		}
		if beside == nil {
			beside = monthAfter.FindStringSubmatch(masked[f.End:])
		}
		return !m.long && beside != nil && beside[1] == t.Month().String() && f.Value == float64(t.Day())
	})
}

// equals reports whether f is n, rounded at the precision that f is written with.
func equals(f prose.Figure, n number, r *row) bool {
	value, half := f.Value, f.Half
	if f.Unit == prose.Basis {
		value, half = value/100, half/100
	}
	if n.share && (f.Unit == prose.Basis || f.Unit == prose.Percent && prose.Near(value, n.value*100, half)) {
		return prose.Near(value, n.value*100, half)
	}
	return counts(f, n, r) && prose.Near(value, math.Abs(n.value), half)
}

// counts reports whether f can be said of n: their units agree. A number without a unit may have any that its row does not use
// for others.
func counts(f prose.Figure, n number, r *row) bool {
	switch f.Unit {
	case prose.USD:
		return (n.unit == prose.USD || n.unit == prose.Plain && slices.ContainsFunc(n.words, amount)) && !coarse(f, n.value)
	case prose.Percent, prose.Basis:
		return n.unit == prose.Percent || n.unit == prose.Plain && !r.typed[prose.Percent] && slices.ContainsFunc(n.words, level)
	case prose.Currency, prose.Other:
		return n.unit == prose.Plain
	}
	return n.unit == prose.Plain || f.Loose
}

// coarse reports whether f is further from an amount than a twentieth of it: $3 trillion is no honest rounding of $3.32 trillion.
func coarse(f prose.Figure, amount float64) bool {
	return math.Abs(f.Value-math.Abs(amount)) > math.Abs(amount)/20
}
