package web

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// pageSpan is a span of a chart: of so many points, and read again after a while. All rows of a pack are read at once, for all visitors.
type pageSpan struct {
	Name   string
	Span   time.Duration
	points int
	keeps  time.Duration
}

func pageSpans() []pageSpan {
	const day = 24 * time.Hour
	return []pageSpan{
		{"1h", time.Hour, 61, time.Minute}, {"24h", day, 97, 10 * time.Minute},
		{"7d", 7 * day, 85, time.Hour}, {"30d", 30 * day, 91, 4 * time.Hour},
	}
}

// maxDrawers is how many views of rows of a state are kept. Those beyond are made for whoever asks.
const maxDrawers = 512

// pageDrawers are the views of rows of a state, by what was asked. The zero pageDrawers is empty; it is safe for concurrent use.
type pageDrawers struct {
	made sync.Map // *feed.Frame by drawerKey
	n    atomic.Int32
}

type drawerKey struct {
	root, row, with, span string
	window                time.Duration
}

// pageCourse is how the rows of a pack moved over a span, when it was last read.
type pageCourse struct {
	mu     sync.Mutex // held while it is read, so that it is read once
	course *reader.Course
	at     time.Time
}

// drawer is what stands in the view of a row.
type drawer struct {
	place
	reader.SheetRow
	With    *reader.SheetRow // that it is compared with
	Spans   []drawerLink
	Span    string
	Chart   template.HTML
	Pairs   []drawerPair
	At      string // of a past state, as in links
	Proof   api.Proof
	Made    time.Time // when the state was
	Problem string
}

// Link is that to this view.
func (d drawer) Link() string {
	with := ""
	if d.With != nil {
		with = d.With.ID
	}
	return rowQuery(d.At, d.ID, d.Span, with)
}

// Shut is the link to the page without the view.
func (d drawer) Shut() string {
	if d.At == "" {
		return d.self()
	}
	return "?" + url.Values{"at": {d.At}}.Encode()
}

// self is the link to the newest state on the page itself.
func (p place) self() string {
	if p.Root == "" {
		return "./"
	}
	return p.Pack
}

// Exactly is the moment of the state, as commands take it.
func (d drawer) Exactly() string { return api.MomentOf(d.Made).Key() }

// RowProof is where the log proves the row.
func (d drawer) RowProof() string {
	kind, key, _ := strings.Cut(d.ID, "/")
	return d.Root + "log/" + d.Pack + "/row?" + url.Values{"kind": {kind}, "key": {key}}.Encode()
}

type drawerLink struct {
	Text, URL string
	Current   bool
}

// drawerPair is a figure of a row, beside that of the other one.
type drawerPair struct {
	Label, Class, Other, OtherClass string
	Text                            template.HTML
}

// rowQuery is the link to the view of a row.
func rowQuery(at, row, span, with string) string {
	q := url.Values{"row": {row}}
	for name, text := range map[string]string{"at": at, "span": span, "with": with} {
		if text != "" {
			q.Set(name, text)
		}
	}
	return "?" + q.Encode() + "#row"
}

// row answers the scripts of the pages with the view of a row.
func (p *Page) row(w http.ResponseWriter, r *http.Request) error {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return api.Errorf(api.ReasonCrossOrigin, "the view is for the pages of this service")
	}
	at, known := p.placeOf(r)
	if !known {
		return api.Errorf(api.ReasonPackNotFound, "pack %q is not served here", at.Pack)
	}
	v, err := p.visitor(w, r)
	if err == nil {
		err = v.may(at.Pack)
	}
	if err != nil {
		return err
	}
	if r.URL.Query().Has("front") {
		at.Root = ""
	}
	made, err := p.asked(r, at.Pack, v)
	if err != nil {
		return err
	}
	frame, err := p.drawer(r, at, v, made)
	if err != nil {
		return err
	}
	h := w.Header()
	pageHeaders(h, "")
	h.Set("Cache-Control", "private, no-cache")
	h.Set(robots, "noindex")
	if r.URL.Query().Get("row") == "" || frame == nil {
		return api.Errorf(api.ReasonNothingFound, "there is no such row").WithHint("open a row of the page")
	}
	Send(w, http.StatusOK, contentHTML, frame.Text())
	return nil
}

const robots = "X-Robots-Tag"

// viewed takes a view of a row or a past minute for r from what visitors may have in a minute.
func (p *Page) viewed(r *http.Request, v pageVisitor) error {
	if v.owner {
		return nil
	}
	return p.looks.AllowAll(p.cfg.Console.cfg.TrustedProxies.ClientsOf(r)...)
}

// reads takes for r what it costs to read the past from what all who are nobody may have.
func (p *Page) reads(r *http.Request, v pageVisitor) error {
	if v.owner {
		return nil
	}
	return p.cfg.Crowd.Take(r, CostOf(api.Query{Op: api.OpSeries}))
}

// drawer is the view of the row of made that r asks for, nil for none.
func (p *Page) drawer(r *http.Request, at place, v pageVisitor, made *pageMade) (*feed.Frame, error) {
	q := r.URL.Query()
	key := drawerKey{at.Root, q.Get("row"), q.Get("with"), q.Get("span"), v.window}
	if key.row == "" {
		return nil, nil
	}
	if !slices.ContainsFunc(spansIn(v.window), func(s pageSpan) bool { return s.Name == key.span }) {
		key.span = "24h"
	}
	if kept, ok := made.drawers.made.Load(key); ok {
		return kept.(*feed.Frame), nil
	}
	if err := p.reads(r, v); err != nil {
		return nil, err
	}
	d := drawer{place: at, Span: key.span, Proof: made.sheet.Proof(), Made: made.sheet.GeneratedAt, At: made.moment}
	var known bool
	if d.SheetRow, known = made.sheet.Row(key.row); !known {
		d.Problem = "The state has no such row any more."
		return p.drawn(d)
	}
	if other, ok := made.sheet.Row(key.with); ok && key.with != key.row {
		d.With = &other
	} else {
		key.with = ""
	}
	for _, s := range spansIn(v.window) {
		d.Spans = append(d.Spans, drawerLink{s.Name, rowQuery("", key.row, s.Name, key.with), s.Name == key.span})
	}
	d.Pairs = pairs(d.SheetRow, d.With)
	if made.moment == "" {
		if err := p.chart(r.Context(), &d, made); err != nil {
			return nil, err
		}
	}
	frame, err := p.drawn(d)
	if err == nil && made.drawers.n.Add(1) <= maxDrawers {
		made.drawers.made.Store(key, frame)
	}
	return frame, err
}

func (p *Page) drawn(d drawer) (*feed.Frame, error) {
	text, err := p.text("row", d)
	return feed.NewText([]byte(text)), err
}

// spansIn are the spans that a reader with a window of history may see.
func spansIn(window time.Duration) (list []pageSpan) {
	for _, s := range pageSpans() {
		if s.Span <= window {
			list = append(list, s)
		}
	}
	return list
}

// pairs are the figures of row, each beside that of another one.
func pairs(row reader.SheetRow, with *reader.SheetRow) (list []drawerPair) {
	for i, cell := range row.Figures {
		label := cmp.Or(cell.Label, human.FieldHead(row.Fields[i].Name, ""))
		pair := drawerPair{Label: label, Text: cellText(cell), Class: strings.TrimSpace(signClass(cell.Sign))}
		if with != nil {
			name := row.Fields[i].Name
			if j := slices.IndexFunc(with.Fields, func(f api.Field) bool { return f.Name == name }); j >= 0 {
				pair.Other, pair.OtherClass = with.Figures[j].Text, strings.TrimSpace(signClass(with.Figures[j].Sign))
			}
		}
		list = append(list, pair)
	}
	return list
}

// chart draws how the rows of d moved.
func (p *Page) chart(ctx context.Context, d *drawer, made *pageMade) error {
	i := slices.IndexFunc(pageSpans(), func(s pageSpan) bool { return s.Name == d.Span })
	c, err := p.set(d.Pack).course(ctx, made.sheet, i)
	if err != nil {
		return err
	}
	rows := []reader.SheetRow{d.SheetRow}
	if d.With != nil {
		rows = append(rows, *d.With)
	}
	d.Chart = courseSVG(c, rows, d.Made, d.Span)
	return nil
}

// course is how the rows of s moved over a span.
func (s *pageSet) course(ctx context.Context, sheet *reader.Sheet, span int) (*reader.Course, error) {
	one := &s.courses[span]
	one.mu.Lock()
	defer one.mu.Unlock()
	now, of := s.page.cfg.Now(), pageSpans()[span]
	if one.course != nil && now.Sub(one.at) < of.keeps {
		return one.course, nil
	}
	c, err := s.page.cfg.Sheets.Course(ctx, sheet, of.Span, of.points)
	if err == nil {
		one.course, one.at = c, now
	}
	return c, err
}

// Size of a chart, which is stretched to the room that it has.
const (
	chartWide = 600
	chartHigh = 160
	chartEdge = 6
)

// courseSVG draws how rows moved over a span: one in its own unit, two by how much each has changed since the first time that it is known.
// It ends with what the rows themselves say of the state made then: c is older, and a chart and the figures beside it must agree.
func courseSVG(c *reader.Course, rows []reader.SheetRow, made time.Time, span string) template.HTML {
	var lines [][]*float64
	low, high, known := 0.0, 0.0, 0
	from, to := c.Times[0], c.Times[len(c.Times)-1]
	times := slices.Clone(c.Times)
	if made.After(to) {
		times, to = append(times, made), made
	}
	for _, row := range rows {
		var line []*float64
		var first *float64
		values := make([]*float64, len(times))
		copy(values, c.Values[row.ID])
		if v, ok := row.Fields.Get(c.Fields[row.ID]).(float64); ok {
			values[len(times)-1] = &v
		}
		for _, v := range values {
			if first = cmp.Or(first, v); v != nil && len(rows) > 1 {
				change := 0.0
				if *first != 0 {
					change = (*v / *first - 1) * 100
				}
				v = &change
			}
			if line = append(line, v); v != nil {
				if known == 0 {
					low, high = *v, *v
				}
				low, high, known = min(low, *v), max(high, *v), known+1
			}
		}
		lines = append(lines, line)
	}
	if known < 2 {
		return ""
	}
	field := "changePct"
	if len(rows) == 1 {
		field = c.Fields[rows[0].ID]
	}
	text := func(v float64) string { return state.NewCell(field, v).Text }
	var b strings.Builder
	said := fmt.Sprintf("%s over %s: low %s, high %s", rows[0].Name, span, text(low), text(high))
	if len(rows) > 1 {
		said = rows[0].Name + " and " + fmt.Sprintf("%s over %s: lowest change %s, highest %s", rows[1].Name, span, text(low), text(high))
	}
	fmt.Fprintf(&b, `<figure class="chart"><p class="hi">%s</p><svg viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="%s">`,
		template.HTMLEscapeString(text(high)), chartWide, chartHigh, template.HTMLEscapeString(said))
	room := cmp.Or(high-low, 1)
	for i, line := range lines {
		var points []string
		for j, v := range line {
			if v != nil {
				x, y := chartWide*float64(times[j].Sub(from))/float64(to.Sub(from)), chartEdge+(high-*v)/room*(chartHigh-2*chartEdge)
				points = append(points, fmt.Sprintf("%.0f,%.1f", x, y))
			}
		}
		fmt.Fprintf(&b, `<polyline class="c%d" points="%s"/>`, i, strings.Join(points, " "))
	}
	layout := "15:04Z"
	if to.Sub(from) > 25*time.Hour { // a chart of a day ends minutes after it, at the state's own time
		layout = "2 Jan"
	}
	fmt.Fprintf(&b, `</svg><p class="lo">%s</p><figcaption><span>%s</span><span>%s</span><span>now</span></figcaption></figure>`,
		template.HTMLEscapeString(text(low)), from.UTC().Format(layout), from.Add(to.Sub(from)/2).UTC().Format(layout))
	return template.HTML(b.String())
}
