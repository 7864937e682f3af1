package ground

import (
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/prose"
)

// figures checks every figure of s against the rows under its anchors.
func (c *checker) figures(s prose.Sentence, anchors []int, known names) {
	if len(anchors) == 0 {
		return // the missing anchor is found already
	}
	body := prose.Sentence{Text: c.text[s.Start:s.End]}
	masked := body.Masked()
	list := prose.Figures(masked)
	for i, f := range list {
		readings := []prose.Figure{f}
		if i+1 < len(list) {
			if g, ok := f.Within(list[i+1], masked[f.End:list[i+1].Start]); ok {
				readings = append(readings, g)
			}
		}
		if f.UsualSpan() {
			continue
		}
		backing, ok := c.inPhrase(s.Start+f.Start, s.Start+f.End, anchors)
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
		if p.Start <= start && end <= p.End && c.index.phrases[p.Phrase].row.under(anchors) {
			return backing{c.index.phrases[p.Phrase].row, c.index.phrases[p.Phrase].path}, true
		}
	}
	return backing{}, false
}

// counted finds the list whose length f is, or that of a group in it.
func (c *checker) counted(f prose.Figure, anchors []int) (backing, bool) {
	if f.Kind != prose.Number || f.Unit != prose.Plain || f.Sign != 0 || f.Half != 0.5 {
		return backing{}, false
	}
	for _, n := range c.index.counts {
		at := slices.IndexFunc(n.rows, func(r *row) bool { return r.under(anchors) })
		if float64(n.n) == f.Value && at >= 0 {
			return backing{n.rows[at], n.path}, true
		}
	}
	return backing{}, false
}

// figure checks one figure; any of its readings may hold. It returns what backs the figure, and false where it has found nothing.
func (c *checker) figure(s prose.Sentence, masked string, readings []prose.Figure, anchors []int, known names) (backing, bool) {
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
	lost := !sure && (f.Bare() || anyUnder(known.sure, anchors)) // the sentence names other rows than these
	if !quoted && (lost || !c.belongs(s, f, rows, anchors)) {
		c.add(KindSubject, s, f.Raw, "the figure belongs to another row than the one that the sentence names")
		return backing{}, false
	}
	if want := prose.Direction(c.nameless(s, masked), f); want != 0 && (sure || !quoted) && opposes(rows, readings, want) {
		c.add(KindDirection, s, f.Raw, "the figure moves the other way")
		return backing{}, false
	}
	if lost {
		return c.quote(cited, f, masked)
	}
	r := c.nearest(s, f, rows)
	return backing{r, matches(r, readings)[0].path}, true
}

// unfounded adds the finding for a figure that no row under the anchors has.
func (c *checker) unfounded(s prose.Sentence, f prose.Figure, has func(*row) bool) {
	if refs := c.index.elsewhere(c.citations, has); len(refs) > 0 {
		c.add(KindSource, s, f.Raw, "the sentence does not cite a source of this figure; %v would be", refs)
		return
	}
	c.add(KindFigure, s, f.Raw, "the state has no such figure")
}

// attached is what stands between a name and a figure that is surely its own.
var attached = regexp.MustCompile(`^(?:,| is| trades at| at| holds| by)? \(?(?:up |down )?$`)

// belongs reports whether one of rows has the name that f directly follows, as in Solana (4.2%). It is true if f follows none.
func (c *checker) belongs(s prose.Sentence, f prose.Figure, rows []*row, anchors []int) bool {
	at := s.Start + f.Start
	first := at
	var owners []*row
	for _, p := range c.spans {
		if !p.Named || p.Start < s.Start || p.End >= at || !attached.MatchString(c.text[p.End:at]) {
			continue
		}
		if c.listed(p) {
			return true
		}
		// The longest name counts: Wrapped Bitcoin is not Bitcoin.
		if p.Start < first {
			first, owners = p.Start, nil
		}
		if p.Start == first && p.Sure && c.index.phrases[p.Phrase].row.under(anchors) {
			owners = append(owners, c.index.phrases[p.Phrase].row)
		}
	}
	return len(owners) == 0 || slices.ContainsFunc(rows, func(r *row) bool { return slices.Contains(owners, r) })
}

// listed reports whether another name stands directly before p, so that the figures behind p may belong to several.
func (c *checker) listed(p prose.Found) bool {
	joins := []string{" ", ", ", " and ", ", and ", " or ", " & "}
	return slices.ContainsFunc(c.spans, func(q prose.Found) bool {
		return q.Named && q.End < p.Start && slices.Contains(joins, c.text[q.End:p.Start])
	})
}

// nameless blots out the names in the text of s, for a coin may be called Up.
func (c *checker) nameless(s prose.Sentence, masked string) string {
	t := []byte(masked)
	for _, p := range c.spans {
		if p.Named && s.Start <= p.Start && p.End <= s.End {
			for i := p.Start; i < p.End; i++ {
				t[i-s.Start] = '_'
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

func matches(r *row, readings []prose.Figure) []number {
	var list []number
	for _, n := range r.numbers {
		if slices.ContainsFunc(readings, func(f prose.Figure) bool {
			return (f.Kind == prose.Number || f.Kind == prose.Span) && equals(f, n, r)
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
func (c *checker) timed(r *row, f prose.Figure, masked string) int {
	return slices.IndexFunc(r.times, func(m moment) bool {
		t := m.UTC()
		switch f.Kind {
		case prose.Clock:
			return f.Raw == t.Format("15:04") || f.Raw == t.Format("15:04:05")
		case prose.Date:
			return f.Raw == t.Format(time.DateOnly)
		}
		if f.Unit != prose.Plain || f.Half != 0.5 {
			return false
		}
		if f.Value == float64(t.Year()) {
			return true
		}
		beside := monthBefore.FindStringSubmatch(masked[max(0, f.Start-12):f.Start])
		if beside == nil {
			beside = monthAfter.FindStringSubmatch(masked[f.End:])
		}
		return beside != nil && beside[1] == t.Month().String() && f.Value == float64(t.Day())
	})
}

// opposes reports whether every percentage in rows that one of the readings shows goes against want.
func opposes(rows []*row, readings []prose.Figure, want int) bool {
	for _, r := range rows {
		for _, n := range matches(r, readings) {
			if n.unit != prose.Percent || n.value*float64(want) >= 0 {
				return false
			}
		}
	}
	return true
}

// equals reports whether f is n, rounded at the precision that f is written with.
func equals(f prose.Figure, n number, r *row) bool {
	value, half := f.Value, f.Half
	if f.Unit == prose.Basis {
		value, half = value/100, half/100
	}
	if n.share && (f.Unit == prose.Percent || f.Unit == prose.Basis) && prose.Near(value, n.value*100, half) {
		return true
	}
	return counts(f, n, r) && prose.Near(value, math.Abs(n.value), half)
}

// counts reports whether f can be said of n: their units agree. A number without a unit may have any that its row does not use
// for others.
func counts(f prose.Figure, n number, r *row) bool {
	switch f.Unit {
	case prose.USD:
		return (n.unit == prose.USD || n.unit == prose.Plain && !r.typed[prose.USD]) && !coarse(f, n.value)
	case prose.Percent, prose.Basis:
		return n.unit == prose.Percent || n.unit == prose.Plain && !r.typed[prose.Percent]
	case prose.Currency:
		return n.unit == prose.Plain
	}
	return n.unit == prose.Plain || f.Loose
}

// coarse reports whether f is further from an amount than a twentieth of it: $3 trillion is no honest rounding of $3.32 trillion.
func coarse(f prose.Figure, amount float64) bool {
	return math.Abs(f.Value-math.Abs(amount)) > math.Abs(amount)/20
}
