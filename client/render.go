package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Page is where and when something is drawn.
type Page struct {
	W     io.Writer
	Width int // columns
	Style cli.Style
	Now   time.Time // its location is that of the times shown
	Saved bool      // it may be read later than now: times are told, and not how long ago they were

	doc  *state.Document // that is drawn
	ages api.Ages        // of it
	read time.Time       // when that was as it is drawn, by the clock of the service
}

// line writes a line, cut to the width.
func (p Page) line(format string, args ...any) {
	fmt.Fprintln(p.W, strings.TrimRight(p.Style.Cut(fmt.Sprintf(format, args...), p.Width), " "))
}

// cited writes a line of a mark, text, and the anchor of its source with what says that it is late. Where it is too long the text gives
// way.
func (p Page) cited(mark, text string, ref int, beside string) {
	source := " " + p.ref(ref)
	if beside != "" {
		source += " " + beside
	}
	p.line("%s%s%s", mark, p.Style.Cut(text, p.Width-ansi.StringWidth(mark+source)), source)
}

// named fits the name of a row in width columns, before what beside says of it. The name gives way.
func (p Page) named(name string, width int, beside string) string {
	if beside == "" || width == 0 {
		return p.Style.Fit(name, width)
	}
	room := max(width-ansi.StringWidth(beside)-1, 0)
	return p.Style.Fit(p.Style.Fit(name, room)+" "+beside, width)
}

// beside is what is said of a row of a state beside its figures: that it is overdue, and what they are about.
func (p Page) beside(r state.ViewRow) string {
	return strings.TrimSpace(p.Style.Warn(r.Late(p.ages, p.read)) + " " + p.Style.Dim(r.About()))
}

// heading writes the heading of a section, after an empty line.
func (p Page) heading(text string) {
	fmt.Fprintf(p.W, "\n%s\n", p.Style.Bold(p.Style.Cut(text, p.Width)))
}

// clock is t as shown: in the local zone, without the date if it is today's.
func (p Page) clock(t time.Time) string {
	t = t.In(p.Now.Location())
	layout := "15:04:05 MST"
	if t.Format(time.DateOnly) != p.Now.Format(time.DateOnly) {
		layout = "2006-01-02 15:04:05 MST"
	}
	return t.Format(layout)
}

// age tells how old the state of an answer is, and its data where a source is overdue, and says so when that is too old. overdue are the
// sources that are, where that is known.
func (p Page) age(f api.Freshness, overdue ...string) string {
	f = f.At(p.Now)
	told := "state age " + human.Age(time.Duration(f.AgeSeconds)*time.Second)
	why := ", the refresh lags"
	if f.DataAgeSeconds > f.AgeSeconds {
		told += ", data up to " + human.Age(time.Duration(f.DataAgeSeconds)*time.Second)
		who := human.List(overdue, 3)
		if who == "" {
			who = "a source"
		}
		if f.AgeSeconds <= api.MaxFreshAge {
			why = ", overdue: " + human.Line(who)
		}
	}
	if f.Stale(p.Now) {
		return p.Style.Warn(p.Style.Mark("stale")+" STALE "+told) + why
	}
	return told
}

// State draws an answer of fresh: the overview of a crypto state, the tables of any other, or the tree of what is neither.
func (p Page) State(pack string, m *api.StateResponse) error {
	p = p.of(m.State, m.Freshness, p.Now)
	if told := m.Freshness.Told(); told.After(p.Now) { // by a clock that is ahead of this one
		p.read = told
	}
	age := p.age(m.Freshness, p.ages.Overdue(p.read)...)
	return p.state(fmt.Sprintf("%s  %s  %s", p.Style.Bold(human.Line(pack)), age, p.clock(m.Freshness.GeneratedAt)), pack, m)
}

// of is p for a state as it is seen beside f.
func (p Page) of(text json.RawMessage, f api.Freshness, read time.Time) Page {
	p.doc, p.read = state.Read(text).As(f), read
	p.ages = p.doc.Ages()
	return p
}

// overdue is what age says of a state that was made at ts, after a gap, where data in it is overdue, else "".
func (p Page) overdue(ts time.Time) string {
	sources := p.ages.Overdue(p.read)
	if len(sources) == 0 {
		return ""
	}
	return "  " + p.age(p.ages.Freshness(ts, p.read), sources...)
}

// Snapshot draws an answer of snapshot as of at, a whole minute or a moment.
func (p Page) Snapshot(pack string, at time.Time, m *api.StateResponse) error {
	layout := "2006-01-02 15:04 MST"
	if !at.Equal(at.Truncate(time.Minute)) {
		layout = "2006-01-02 15:04:05.000 MST"
	}
	p = p.of(m.State, m.Freshness, m.Freshness.Told())
	minute := at.In(p.Now.Location()).Format(layout)
	header := fmt.Sprintf("%s  as of %s  from the state of %s", p.Style.Bold(human.Line(pack)), minute, p.clock(m.Freshness.GeneratedAt))
	return p.state(header, pack, m)
}

// state draws the state under a header. Lines are gathered first, so that the one place where writing can fail is here.
func (p Page) state(header, pack string, m *api.StateResponse) error {
	var b bytes.Buffer
	w := p.W
	p.W = &b
	p.line("%s", header)
	if v, ok := p.doc.View(pack); ok {
		p.overview(v)
	} else if err := p.Tree(p.doc.Text()); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Tree draws any JSON value, as YAML.
func (p Page) Tree(doc []byte) error {
	text, err := cli.YAMLText(doc)
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.W, human.Text(text))
	return err
}
