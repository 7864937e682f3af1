package state

import (
	"fmt"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Answered is a row of an answer of lookup as faces show it, with at most so many figures: those that were asked for come first.
func Answered(r api.LookupRow, most int) ViewRow {
	v := Row{
		Kind: r.Kind, Key: r.Key, Name: r.Name, Symbol: r.Symbol, Fields: r.Fields, Ref: r.Ref, URL: r.URL, FetchedAt: r.FetchedAt,
		Stale: r.Stale,
	}.View()
	v.Cells = labelled(r.Shown(most))
	return v
}

// Moved is a row of an answer of changes as faces show it: from where to where it moved, and by how much.
func Moved(r api.ChangedRow, sources []api.Citation) ViewRow {
	v := Row{Kind: r.Kind, Key: r.Key, Name: r.Name, Symbol: r.Symbol, Ref: r.Ref, URL: r.URL, Stale: r.Stale}.View()
	v.Cells = []Cell{{Text: human.FieldMove(r.Field, r.From, r.To)}}
	if r.ChangePct != nil {
		v.Cells = append(v.Cells, Cell{Text: human.Percent(*r.ChangePct), Sign: signOf(*r.ChangePct)})
	}
	if i := slices.IndexFunc(sources, func(c api.Citation) bool { return c.Ref == r.Ref }); i >= 0 {
		v.At = sources[i].FetchedAt
	}
	return v
}

// Age is how old what a row of an answer says is at read, marked where its source is overdue: 42s, STALE 14m.
func (r ViewRow) Age(read time.Time) string {
	switch {
	case r.Stale && r.At.IsZero():
		return "STALE"
	case r.Stale:
		return human.Stale(read.Sub(r.At))
	}
	return human.Age(read.Sub(r.At))
}

// Closing are the last words on changes: whether all is well, and which sources did not answer. The sign of bad news is below zero.
func Closing(c api.ChangesResponse) (list []Cell) {
	worse := 0
	for _, f := range c.Flags {
		if Worse(f) {
			worse++
		}
	}
	switch {
	case !c.To.After(c.From):
		list = append(list, Cell{Text: "no newer state"})
	case c.Clear:
		list = append(list, Cell{Text: "all clear", Sign: 1})
	case worse > 0:
		list = append(list, Cell{Text: human.Plural(worse, "flag") + " appeared or rose", Sign: -1})
	}
	if c.SourcesAsked > 0 {
		list = append(list, Cell{Text: fmt.Sprintf("%d of %d sources answered", c.SourcesAnswered, c.SourcesAsked)})
	}
	for _, s := range c.Sources {
		id := human.Line(s.ID)
		switch {
		case s.To == api.HealthOK:
			list = append(list, Cell{Text: id + " answers again", Sign: 1})
		case s.From == s.To:
			list = append(list, Cell{Text: id + " still " + string(s.To), Sign: -1})
		default:
			list = append(list, Cell{Text: id + " " + string(s.To), Sign: -1})
		}
	}
	return list
}
