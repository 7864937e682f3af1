package ground

import (
	"regexp"
	"slices"
	"time"
)

// figures checks every figure of s against the rows under its anchors.
func (c *checker) figures(s sentence, anchors []int, known names) {
	if len(anchors) == 0 {
		return // the missing anchor is found already
	}
	body := sentence{text: c.text[s.start:s.end]}
	masked := body.masked()
	list := scanFigures(masked)
	for i, f := range list {
		readings := []figure{f}
		if i+1 < len(list) {
			if g, ok := f.within(list[i+1], masked[f.end:list[i+1].start]); ok {
				readings = append(readings, g)
			}
		}
		if f.usualSpan() {
			continue
		}
		backing, ok := c.inPhrase(s.start+f.start, s.start+f.end, anchors)
		if !ok {
			backing, ok = c.counted(f, anchors)
		}
		if !ok {
			backing, ok = c.figure(s, masked, readings, anchors, known)
		}
		if ok {
			c.claim(s, f, backing, anchors)
		}
	}
}

// inPhrase finds the phrase of a row under the anchors that t[start:end] lies within.
func (c *checker) inPhrase(start, end int, anchors []int) (backing, bool) {
	for _, p := range c.spans {
		if p.start <= start && end <= p.end && p.phrase.row.under(anchors) {
			return backing{p.phrase.row, p.phrase.path}, true
		}
	}
	return backing{}, false
}

// counted finds the list whose length f is, or that of a group in it.
func (c *checker) counted(f figure, anchors []int) (backing, bool) {
	if f.kind != figureNumber || f.unit != unitPlain || f.sign != 0 || f.half != 0.5 {
		return backing{}, false
	}
	for _, n := range c.index.counts {
		at := slices.IndexFunc(n.rows, func(r *row) bool { return r.under(anchors) })
		if float64(n.n) == f.value && at >= 0 {
			return backing{n.rows[at], n.path}, true
		}
	}
	return backing{}, false
}

// figure checks one figure; any of its readings may hold. It returns what backs the figure, and false where it has found nothing.
func (c *checker) figure(s sentence, masked string, readings []figure, anchors []int, known names) (backing, bool) {
	f := readings[0]
	counted := func(r *row) bool { return len(matches(r, readings)) > 0 }
	written := func(r *row) bool { return c.writtenAt(r, f, masked) != nil }
	cited := slices.DeleteFunc(slices.Clone(c.index.rows), func(r *row) bool { return !r.under(anchors) })
	quoted := slices.ContainsFunc(cited, written)
	rows := slices.DeleteFunc(slices.Clone(cited), func(r *row) bool { return !counted(r) })
	if len(rows) == 0 {
		if !quoted {
			c.unfounded(s, f, func(r *row) bool { return written(r) || counted(r) })
		}
		return c.quote(cited, f, masked)
	}
	rows, sure := subjects(rows, known)
	lost := !sure && (f.bare() || anyUnder(known.sure, anchors)) // the sentence names other rows than these
	if !quoted && (lost || !c.belongs(s, f, rows, anchors)) {
		c.add(KindSubject, s, f.raw, "the figure belongs to another row than the one that the sentence names")
		return backing{}, false
	}
	if want := direction(c.nameless(s, masked), f); want != 0 && (sure || !quoted) && opposes(rows, readings, want) {
		c.add(KindDirection, s, f.raw, "the figure moves the other way")
		return backing{}, false
	}
	if lost {
		return c.quote(cited, f, masked)
	}
	r := c.nearest(s, f, rows)
	return backing{r, matches(r, readings)[0].path}, true
}

// unfounded adds the finding for a figure that no row under the anchors has.
func (c *checker) unfounded(s sentence, f figure, has func(*row) bool) {
	if refs := c.index.elsewhere(c.citations, has); len(refs) > 0 {
		c.add(KindSource, s, f.raw, "the sentence does not cite a source of this figure; %v would be", refs)
		return
	}
	c.add(KindFigure, s, f.raw, "the state has no such figure")
}

// attached is what stands between a name and a figure that is surely its own.
var attached = regexp.MustCompile(`^(?:,| is| trades at| at| holds| by)? \(?(?:up |down )?$`)

// belongs reports whether one of rows has the name that f directly follows, as in Solana (4.2%). It is true if f follows none.
func (c *checker) belongs(s sentence, f figure, rows []*row, anchors []int) bool {
	at := s.start + f.start
	first := at
	var owners []*row
	for _, p := range c.spans {
		if !p.phrase.name || p.start < s.start || p.end >= at || !attached.MatchString(c.text[p.end:at]) {
			continue
		}
		if c.listed(p) {
			return true
		}
		// The longest name counts: Wrapped Bitcoin is not Bitcoin.
		if p.start < first {
			first, owners = p.start, nil
		}
		if p.start == first && p.sure && p.phrase.row.under(anchors) {
			owners = append(owners, p.phrase.row)
		}
	}
	return len(owners) == 0 || slices.ContainsFunc(rows, func(r *row) bool { return slices.Contains(owners, r) })
}

// listed reports whether another name stands directly before p, so that the figures behind p may belong to several.
func (c *checker) listed(p span) bool {
	joins := []string{" ", ", ", " and ", ", and ", " or ", " & "}
	return slices.ContainsFunc(c.spans, func(q span) bool {
		return q.phrase.name && q.end < p.start && slices.Contains(joins, c.text[q.end:p.start])
	})
}

// nameless blots out the names in the text of s, for a coin may be called Up.
func (c *checker) nameless(s sentence, masked string) string {
	t := []byte(masked)
	for _, p := range c.spans {
		if p.phrase.name && s.start <= p.start && p.end <= s.end {
			for i := p.start; i < p.end; i++ {
				t[i-s.start] = '_'
			}
		}
	}
	return string(t)
}

// subjects narrows the rows that hold a figure to those that the sentence names, or else to those that need no name. It is not
// sure if there are neither.
func subjects(rows []*row, known names) (narrowed []*row, sure bool) {
	for _, fits := range []func(*row) bool{
		func(r *row) bool { return slices.Contains(known.maybe, r) },
		func(r *row) bool { return !r.named },
	} {
		if list := slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return !fits(r) }); len(list) > 0 {
			return list, true
		}
	}
	return rows, false
}

// anyUnder reports whether one of the anchors points to one of rows.
func anyUnder(rows []*row, anchors []int) bool {
	return slices.ContainsFunc(rows, func(r *row) bool { return r.under(anchors) })
}

func matches(r *row, readings []figure) []number {
	var list []number
	for _, n := range r.numbers {
		if slices.ContainsFunc(readings, func(f figure) bool {
			return (f.kind == figureNumber || f.kind == figureSpan) && f.equals(n, r)
		}) {
			list = append(list, n)
		}
	}
	return list
}

const months = `(January|February|March|April|May|June|July|August|September|October|November|December)`

var (
	monthBefore = regexp.MustCompile(months + ` $`)
	monthAfter  = regexp.MustCompile(`^(?:st|nd|rd|th)? (?:of )?` + months + `\b`)
)

// timed finds the time of r of which f is the clock time, the date, the year or, beside its month, the day; -1 for none.
func (c *checker) timed(r *row, f figure, masked string) int {
	return slices.IndexFunc(r.times, func(m moment) bool {
		t := m.UTC()
		switch f.kind {
		case figureClock:
			return f.raw == t.Format("15:04") || f.raw == t.Format("15:04:05")
		case figureDate:
			return f.raw == t.Format(time.DateOnly)
		}
		if f.unit != unitPlain || f.half != 0.5 {
			return false
		}
		if f.value == float64(t.Year()) {
			return true
		}
		beside := monthBefore.FindStringSubmatch(lastBytes(masked[:f.start], 12))
		if beside == nil {
			beside = monthAfter.FindStringSubmatch(masked[f.end:])
		}
		return beside != nil && beside[1] == t.Month().String() && f.value == float64(t.Day())
	})
}
