package ground

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Claim is a figure of a brief and where the state has it.
type Claim struct {
	Start, End int    // in code points of the text
	Text       string // of the figure, as written
	Ref        int    // the anchor that it is told under
	Row        string // path of the object that holds it
	Path       string // of the value, or of the list whose length it is
}

// Origin is a part of a text and what its writer has it from.
type Origin struct {
	Start, End int    // in code points of the text
	Path       string // of the value, or of the list whose length it is
}

// Claims lists the figures of a brief that hold, in the order of the text, but for the usual spans such as 24 hours. In a text that Check
// has nothing against these are all figures. Those in the origins that its writer tells are of them, the others are looked for.
func Claims(text string, doc *state.Document, citations []api.Citation, origins ...Origin) ([]Claim, error) {
	c, err := read(text, doc, citations, origins...)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(c.claims, func(a, b Claim) int { return a.Start - b.Start })
	runes := []rune(text)
	for i, claim := range c.claims { // with the signs and spaces that the text has
		c.claims[i].Text = string(runes[claim.Start:min(claim.End, len(runes))])
	}
	return c.claims, nil
}

// read checks every sentence of a text.
func read(text string, doc *state.Document, citations []api.Citation, origins ...Origin) (*checker, error) {
	x, err := readIndex(doc, citations)
	if err != nil {
		return nil, err
	}
	t := prose.Fold(strings.ToValidUTF8(text, "\uFFFD"))
	c := &checker{index: x, citations: citations, text: t, spans: prose.Find(t, x.texts), origins: origins}
	c.links()
	c.orders()
	for _, s := range prose.Sentences(t, c.spans) {
		c.check(s)
	}
	return c, nil
}

// backing is what backs a figure: a row, and the value in it.
type backing struct {
	row  *row
	path string
}

// originOf is what the writer of the text has f from, if that is known and says it.
func (c *checker) originOf(r *reading, f prose.Figure, anchors []int) (backing, bool) {
	if len(c.origins) == 0 {
		return backing{}, false
	}
	start := utf8.RuneCountInString(c.text[:r.Start+f.Start])
	end := start + utf8.RuneCountInString(f.Raw)
	at := slices.IndexFunc(c.origins, func(o Origin) bool { return o.Start < end && start < o.End })
	if at < 0 {
		return backing{}, false
	}
	path := c.origins[at].Path
	for _, x := range c.index.rows {
		number := slices.ContainsFunc(x.numbers, func(n number) bool { return n.path == path && equals(f, n, x) })
		written := slices.ContainsFunc(x.texts, func(t text) bool { return t.path == path && strings.Contains(prose.Fold(t.text), f.Raw) })
		time := c.timed(x, f, r.text)
		if x.under(anchors) && (number || written || time >= 0 && x.times[time].path == path) {
			return backing{x, path}, true
		}
	}
	for _, l := range c.index.lists {
		if i := slices.IndexFunc(l.counts()[0].rows, func(x *row) bool { return x.under(anchors) }); l.path == path && i >= 0 {
			return backing{l.counts()[0].rows[i], path}, float64(len(l.rows)) == f.Value
		}
	}
	return backing{}, false
}

// claim notes that b backs f. What backs it outside of the state, as the time at which a source was asked, is no claim about it.
func (c *checker) claim(s prose.Sentence, f prose.Figure, b backing, anchors []int) {
	ref := slices.IndexFunc(anchors, func(n int) bool { return slices.Contains(b.row.refs, n) })
	if b.path == "" || ref < 0 {
		return
	}
	start := utf8.RuneCountInString(c.text[:s.Start+f.Start])
	c.claims = append(c.claims, Claim{
		Start: start, End: start + utf8.RuneCountInString(f.Raw), Text: f.Raw, Ref: anchors[ref], Row: b.row.path, Path: b.path,
	})
}

// nearest is the one of several that the sentence names last before f, else the first. A figure is of what it measures, and only then
// of what was judged by it.
func (r *reading) nearest(f prose.Figure, list []backing) backing {
	if measured := slices.DeleteFunc(slices.Clone(list), func(b backing) bool { return b.row.judges }); len(measured) > 0 {
		list = measured
	}
	best, last := list[0], -1
	for _, m := range r.mentions {
		for _, b := range list {
			if m.end <= f.Start && m.end > last && slices.Contains(m.rows, b.row) {
				best, last = b, m.end
			}
		}
	}
	return best
}
