package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/diff"
)

// changeReport is what changed between two states, as programs read it.
type changeReport struct {
	Type    string        `json:"type"` // changes
	Pack    string        `json:"pack"`
	From    time.Time     `json:"from"` // of the older state
	TS      time.Time     `json:"ts"`   // of the newer state
	Changes []diff.Change `json:"changes"`

	Freshness api.Freshness `json:"freshness,omitzero"` // of the newer state, where that came over a stream

	state json.RawMessage // the newer one where it is of now, else nil
}

// within are the changes at a path of the state or below it; all for "". Both top_movers[0] and top_movers.0 name an element.
func within(changes []diff.Change, path string) []diff.Change {
	path = plain(path)
	kept := make([]diff.Change, 0, len(changes))
	for _, c := range changes {
		if at := plain(c.Path); path == "" || at == path || strings.HasPrefix(at, path+".") || strings.HasPrefix(path, at+".") {
			kept = append(kept, c)
		}
	}
	return kept
}

// plain is a path with dots alone.
func plain(path string) string {
	return strings.Trim(strings.NewReplacer("[", ".", "]", "").Replace(path), ".")
}

// write writes for people what the changes come to, or all of them, a line each. What is of now says how old the data is that is overdue.
func (r changeReport) write(p Page, o digestOptions) error {
	p = p.of(r.state, r.Freshness, p.Now)
	var list []news
	told := counted(len(r.Changes))
	if o.all {
		for _, c := range r.Changes {
			list = append(list, news{text: line(c, p.Style), ref: c.Ref})
		}
	} else if list = digest(r.Changes, o.min, p.Style); len(r.Changes) > 0 {
		told = human.Plural(len(list), "line") + " of " + told
	}
	head := fmt.Sprintf("%s  %s  %s", r.TS.In(p.Now.Location()).Format(time.TimeOnly), r.Pack, told)
	if _, err := fmt.Fprintln(p.W, p.Style.Bold(head)+p.overdue(r.TS)); err != nil {
		return err
	}
	for _, n := range list {
		late := state.ViewRow{Ref: n.ref}.Late(p.ages, p.read)
		if late != "" {
			late = "  " + p.Style.Warn(late)
		}
		text := p.Style.Cut("  "+n.text, p.Width-ansi.StringWidth(late))
		if _, err := fmt.Fprintln(p.W, text+late); err != nil {
			return err
		}
	}
	return nil
}

// counted says how many changes there are.
func counted(n int) string {
	if n == 0 {
		return "no change"
	}
	return human.Plural(n, "change")
}

func line(c diff.Change, style cli.Style) string {
	where := human.Line(c.Path)
	if c.Row != "" {
		where = human.Line(c.Row) + "  " + style.Dim(where)
	}
	switch {
	case c.Old == nil:
		return style.Good("+ ") + where + "  " + value(c.New)
	case c.New == nil:
		return style.Bad("- ") + where + "  " + value(c.Old)
	}
	return "  " + where + "  " + value(c.Old) + arrow(style) + style.Bold(value(c.New))
}

func value(text json.RawMessage) string { return human.Line(cli.Scalar(text)) }
