package web

import (
	"bytes"
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// pageSet is the page of one pack: the newest that was made, which all who may see it share.
type pageSet struct {
	page *Page
	pack string

	mu   sync.Mutex // held while the next is made, so that it is made once
	last atomic.Pointer[pageMade]

	courses [4]pageCourse // by their places in pageSpans

	followed atomic.Bool // each state's page is made as it comes
}

// pageMade is the page of a state, but for what changes with every second. It never changes.
type pageMade struct {
	sheet   *reader.Sheet
	version int64
	top     *feed.Frame // tiles and flags
	main    *feed.Frame
	tables  []pageTable
	parts   map[string]string // by the ids of their elements
	news    *feed.Frame       // what changed since the version before
	page    *Page

	whole   sync.Once // makes all for the first who missed a version
	all     *feed.Frame
	seconds [2]atomic.Pointer[pageSecond] // of the front page, of the others
	moment  string                        // of a past state, as links have it; "" for the newest
	asOf    time.Time                     // that moment
	drawers pageDrawers
}

type pageSecond struct {
	at         int64
	head, foot *feed.Frame
}

func (p *Page) set(pack string) *pageSet {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sets[pack]
	if s == nil {
		s = &pageSet{page: p, pack: pack}
		p.sets[pack] = s
	}
	return s
}

// Follow makes the page of pack with every state, until ctx is done or the pack is served no more, so that nobody waits for it.
func (p *Page) Follow(ctx context.Context, pack string) {
	if p.cfg.Mode == PageOff {
		return
	}
	watch := p.cfg.Streams.Watch(pack)
	if watch == nil {
		return
	}
	defer watch.Close()
	p.mu.Lock()
	delete(p.sets, pack) // what was made of another pack of the id is shown no more
	p.mu.Unlock()
	set := p.set(pack)
	set.followed.Store(true)
	defer set.followed.Store(false)
	for {
		if edition, _ := watch.Latest(); edition != nil {
			if _, err := set.newest(ctx); err != nil && ctx.Err() == nil {
				p.cfg.Logger.Error("page not rendered", "pack", pack, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-watch.Ended():
			p.mu.Lock()
			delete(p.sets, pack)
			p.mu.Unlock()
			return
		case <-watch.Wake():
		}
	}
}

// ready is the page of the newest state, or of the one before while Follow makes that of the newest: nobody who opens a page waits for it.
func (s *pageSet) ready(ctx context.Context) (*pageMade, error) {
	if last := s.last.Load(); last != nil && s.followed.Load() {
		return last, nil
	}
	return s.newest(ctx)
}

// newest is the page of the newest state, made for the first who asks.
func (s *pageSet) newest(ctx context.Context) (*pageMade, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last.Load()
	var known *reader.Sheet
	if last != nil {
		known = last.sheet
	}
	sheet, err := s.page.cfg.Sheets.Sheet(ctx, s.pack, known)
	if err != nil {
		return nil, err
	}
	if last != nil && sheet == known {
		return last, nil
	}
	made := &pageMade{sheet: sheet, tables: tablesOf(sheet, ""), page: s.page, version: s.page.cfg.Now().UnixMilli()}
	if last != nil {
		made.version = last.version + 1
	}
	if err := made.render(); err != nil {
		return nil, err
	}
	if last != nil {
		made.news = made.event(last)
	}
	var zip feed.Zip
	for _, frame := range []*feed.Frame{made.top, made.main, made.news} {
		if frame != nil {
			zip.Next(frame) // compresses it, for which the first visitor would wait else
		}
	}
	s.last.Store(made)
	return made, nil
}

func (p *Page) text(name string, data any) (string, error) {
	var b bytes.Buffer
	err := p.html.ExecuteTemplate(&b, name, data)
	return b.String(), err
}

// pageParts are the parts of a page beside its tables, by the ids of their elements.
func pageParts() [3]string { return [...]string{"tiles", "flags", "brief"} }

// render makes the parts of m and puts them together.
func (m *pageMade) render() error {
	m.parts = map[string]string{}
	data := map[string]any{"tiles": tilesOf(m.sheet, m.moment), "flags": flagsOf(m.sheet), "brief": m.sheet}
	for _, part := range pageParts() {
		text, err := m.page.text(part, data[part])
		if err != nil {
			return err
		}
		m.parts[part] = text
	}
	var b strings.Builder
	if m.moment == "" {
		b.WriteString(`<section class="card brief" id="brief" aria-labelledby="h-brief">` + m.parts["brief"] + "</section>\n")
	}
	for i, t := range m.tables {
		text, err := m.page.text("table", t)
		if err != nil {
			return err
		}
		m.parts[t.ID] = text
		class := "card"
		if t.Readings {
			class += " side"
		} else if i == 0 || m.tables[i-1].Readings {
			b.WriteString("<div class=\"tables\">\n")
		}
		b.WriteString(`<section class="` + class + `" id="` + t.ID + `" aria-labelledby="h-` + t.ID + `">` + text + "</section>\n")
	}
	if n := len(m.tables); n > 0 && !m.tables[n-1].Readings {
		b.WriteString("</div>\n")
	}
	m.top = feed.NewText([]byte(`<section class="tiles" id="tiles" aria-label="At a glance">` + m.parts["tiles"] + "</section>\n" +
		`<div id="flags">` + m.parts["flags"] + "</div>\n"))
	m.main = feed.NewText([]byte(b.String()))
	return nil
}

// pageHead is what stands above a page, and in its title.
type pageHead struct {
	place
	Packs   []api.PackInfo
	Sheet   *reader.Sheet // nil where the state is not shown
	Version int64
	Now     time.Time
	Fresh   api.Freshness
	Age     string // of the state
	Oldest  string // of what is overdue, "" where nothing is
	Good    int    // sources
	Title   string // {} stands for the age
	Demo    bool
	Then    *pageThen // of a past state
}

// pageThen is the moment of a page of a past state, and the ways to others.
type pageThen struct {
	Moment string
	Steps  []drawerLink
	Self   string // the page of the newest
}

// past makes h the head of m, the page of a past state.
func (h *pageHead) past(m *pageMade, now time.Time) {
	h.Then = &pageThen{Moment: m.moment, Self: h.self()}
	for _, step := range [...]struct {
		text string
		by   time.Duration
	}{{"−1 h", -time.Hour}, {"−1 min", -time.Minute}, {"+1 min", time.Minute}, {"+1 h", time.Hour}} {
		if to := m.asOf.Add(step.by); api.Minute(to).End().Before(now) {
			h.Then.Steps = append(h.Then.Steps, drawerLink{Text: step.text, URL: "?" + url.Values{"at": {api.Minute(to).Key()}}.Encode()})
		}
	}
	h.Title = h.Sheet.Pack + " as of " + h.Sheet.GeneratedAt.UTC().Format("2006-01-02 15:04:05Z") + " · contextd"
}

// TitleNow is the title with the age.
func (h pageHead) TitleNow() string { return strings.Replace(h.Title, "{}", h.Age, 1) }

// Bar is how much of the bar of the age is full, at most pageBar.
func (h pageHead) Bar() int64 { return min(h.Fresh.AgeSeconds, pageBar) }

// Full is the end of that bar.
func (pageHead) Full() int64 { return pageBar }

// pageBar is the age in seconds at which its bar is full.
const pageBar = 300

func (p *Page) headOf(s *reader.Sheet, at place, now time.Time) pageHead {
	h := pageHead{place: at, Packs: p.cfg.Packs(), Sheet: s, Now: now, Title: "contextd", Demo: p.cfg.Demo}
	if s == nil {
		return h
	}
	h.Fresh = s.Freshness(now)
	h.Age = secondsAge(h.Fresh.AgeSeconds)
	if h.Fresh.DataAgeSeconds > h.Fresh.AgeSeconds {
		h.Oldest = secondsAge(h.Fresh.DataAgeSeconds)
	}
	for _, one := range s.Sources {
		if one.Status == api.SourceOK {
			h.Good++
		}
	}
	h.Title = s.Pack + " {} old · contextd"
	if len(s.Groups) > 0 {
		worst := s.Groups[0]
		h.Title = severityMark(worst.Severity) + " " + string(worst.Severity) + ": " + worst.Text + " · " + h.Title
	}
	return h
}

func secondsAge(seconds int64) string { return reader.SheetAge(time.Duration(seconds) * time.Second) }

// at is what of m changes with every second, at now.
func (m *pageMade) at(now time.Time, root string) (*pageSecond, error) {
	kept := &m.seconds[0]
	if root != "" {
		kept = &m.seconds[1]
	}
	if s := kept.Load(); s != nil && s.at == now.Unix() {
		return s, nil
	}
	of := now
	if m.moment != "" { // nothing ages there
		of = m.sheet.GeneratedAt
	}
	h := m.page.headOf(m.sheet, place{root, m.sheet.Pack}, of)
	h.Version = m.version
	if m.moment != "" {
		h.past(m, now)
	}
	head, err := m.page.text("head", h)
	if err != nil {
		return nil, err
	}
	foot, err := m.page.text("foot", h)
	if err != nil {
		return nil, err
	}
	s := &pageSecond{now.Unix(), feed.NewText([]byte(head)), feed.NewText([]byte(foot))}
	kept.Store(s)
	return s, nil
}

// pageEvent is what changed on a page. A script puts it in place.
type pageEvent struct {
	Version int64       `json:"v"`
	Parts   [][2]string `json:"parts,omitempty"` // the id of an element and what is in it
	Cells   [][4]any    `json:"cells,omitempty"` // the id of a row, the place in it, what is in it and its classes
}

// event is what changed since last, all for nil.
func (m *pageMade) event(last *pageMade) *feed.Frame {
	e := pageEvent{Version: m.version}
	for _, name := range pageParts() {
		if last == nil || last.parts[name] != m.parts[name] {
			e.Parts = append(e.Parts, [2]string{name, m.parts[name]})
		}
	}
	for i, t := range m.tables {
		if last != nil && i < len(last.tables) && sameRows(last.tables[i], t) {
			e.Cells = append(e.Cells, changedCells(last.tables[i], t)...)
		} else {
			e.Parts = append(e.Parts, [2]string{t.ID, m.parts[t.ID]})
		}
	}
	h := m.page.headOf(m.sheet, place{Pack: m.sheet.Pack}, m.sheet.GeneratedAt)
	for _, name := range []string{"live", "sources"} {
		if text, err := m.page.text(name, h); err == nil { // they were rendered before
			e.Parts = append(e.Parts, [2]string{name, text})
		}
	}
	data, _ := jsonx.Encode(e) // texts and numbers can always be written
	return feed.NewEvent(m.version, data)
}

// everything is m as an event, for who missed a version.
func (m *pageMade) everything() *feed.Frame {
	m.whole.Do(func() { m.all = m.event(nil) })
	return m.all
}

// sameRows reports whether the elements of a are those of b, so that single cells can be put in place.
func sameRows(a, b pageTable) bool {
	return a.Title == b.Title && slices.Equal(a.Heads, b.Heads) && slices.EqualFunc(a.Rows, b.Rows, func(x, y pageRow) bool {
		return x.ID == y.ID && x.Class == y.Class && len(x.Cells) == len(y.Cells)
	})
}

func changedCells(a, b pageTable) (list [][4]any) {
	for i, row := range b.Rows {
		for j, cell := range row.Cells {
			if old := a.Rows[i].Cells[j]; old.HTML != cell.HTML || old.Class != cell.Class {
				list = append(list, [4]any{row.ID, j, cell.HTML, cell.Class})
			}
		}
	}
	return list
}
