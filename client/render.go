package client

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Page is where and when something is drawn.
type Page struct {
	W     io.Writer
	Width int // columns
	Style cli.Style
	Now   time.Time // its location is that of the times shown
}

// line writes a line, cut to the width.
func (p Page) line(format string, args ...any) {
	fmt.Fprintln(p.W, strings.TrimRight(p.Style.Cut(fmt.Sprintf(format, args...), p.Width), " "))
}

// cited writes a line of a mark, text and the anchor of its source. Where it is too long the text gives way.
func (p Page) cited(mark, text string, ref int) {
	anchor := fmt.Sprintf("[%d]", ref)
	room := p.Width - ansi.StringWidth(mark) - ansi.StringWidth(anchor) - 1
	p.line("%s%s %s", mark, p.Style.Cut(human.Line(text), room), p.Style.Link(anchor))
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

// State draws an answer of fresh: the overview of a crypto state, or the tree of any other.
func (p Page) State(pack string, m *api.StateResponse) error {
	age := p.age(m.Freshness, api.AgesOf(m.State).Overdue(p.Now)...)
	return p.state(fmt.Sprintf("%s  %s  %s", p.Style.Bold(human.Line(pack)), age, p.clock(m.Freshness.GeneratedAt)), pack, m)
}

// Snapshot draws an answer of snapshot as of at, a whole minute or a moment.
func (p Page) Snapshot(pack string, at time.Time, m *api.StateResponse) error {
	layout := "2006-01-02 15:04 MST"
	if !at.Equal(at.Truncate(time.Minute)) {
		layout = "2006-01-02 15:04:05.000 MST"
	}
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
	if crypto, ok := decodeCrypto(pack, m.State); ok {
		p.crypto(crypto)
	} else if err := p.Tree(m.State); err != nil {
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
