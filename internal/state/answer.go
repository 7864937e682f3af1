package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Answered is a row of an answer of lookup as faces show it, with at most so many figures: those that were asked for come first.
func Answered(r api.LookupRow, most int) ViewRow {
	v := Row{
		Kind: r.Kind, Key: r.Key, Name: r.Name, Symbol: r.Symbol, Fields: r.Fields, Ref: r.Ref.Ref, URL: r.URL, Of: r.Of,
		FetchedAt: r.FetchedAt, Stale: r.Stale,
	}.View()
	if !r.Match.Sure() {
		v.Label += ", by " + string(r.Match)
		v.Name += ", by " + string(r.Match)
	}
	v.Cells = Figures(r.Shown(most))
	for i, f := range r.Shown(most) {
		v.Cells[i].Text += Since(r, f.Name)
	}
	return v
}

// Since is what became of a field of r over the span that a question names, "" where it names none.
func Since(r api.LookupRow, field string) string {
	m, ok := r.Over[field]
	switch {
	case !ok || !slices.Contains(r.Asked, field):
		return ""
	case m.ChangePct != nil:
		return " (" + human.Percent(*m.ChangePct) + " from " + human.Field(field, m.From) + ")"
	}
	return " (from " + human.Field(field, m.From) + ")"
}

// Moved is a row of an answer of changes as faces show it: from where to where it moved, and by how much.
func Moved(r api.ChangedRow, sources []api.Citation) ViewRow {
	v := Row{Kind: r.Kind, Key: r.Key, Name: r.Name, Symbol: r.Symbol, Ref: r.Ref, URL: r.URL, Of: r.Of, Stale: r.Stale}.View()
	v.Cells = []Cell{{Text: human.FieldMove(r.Field, r.From, r.To)}}
	if r.ChangePct != nil {
		v.Cells = append(v.Cells, Cell{Text: human.Percent(*r.ChangePct), Sign: signOf(*r.ChangePct)})
	}
	if i := slices.IndexFunc(sources, func(c api.Citation) bool { return c.Ref == r.Ref }); i >= 0 {
		v.At = sources[i].FetchedAt
	}
	return v
}

// Age is how old what a row of an answer says is at read, marked where its source is overdue, and what it is about where that is older:
// 42s, STALE 14m, of 2026-11-21.
func (r ViewRow) Age(read time.Time) string {
	switch {
	case r.Stale && r.At.IsZero():
		return joined("STALE", r.About())
	case r.Stale:
		return joined(human.Stale(read.Sub(r.At)), r.About())
	case r.Of != "":
		return r.About()
	}
	return human.Age(read.Sub(r.At))
}

// joined is a before b, as far as they say something.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}

// Closing are the last words on changes: whether all is well, and which sources did not answer. The sign of bad news is below zero.
func Closing(c api.ChangesResponse) (list []Cell) {
	worse := 0
	for _, f := range c.Flags {
		if Worse(f) || Passed(f) {
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

// QueriedAge is how old a row of an answer of query is, as Age has it.
func QueriedAge(r api.QueryRow) string {
	return ViewRow{Stale: r.Stale, At: r.FetchedAt, Of: r.Of}.Age(r.FetchedAt.Add(time.Duration(r.AgeSeconds) * time.Second))
}

// QueryNotes are what an answer of query says beside its rows, a line each: the aggregates, and what is missing.
func QueryNotes(r api.QueryResponse) (notes []string) {
	for _, agg := range r.Query.Agg {
		notes = append(notes, aggregateNote(agg, r.Aggregates[agg]))
	}
	for _, m := range r.Missing {
		switch {
		case m.Why == api.MissingNoRows:
			notes = append(notes, "pack "+strings.Join(m.Instead, " and pack ")+" has such rows")
		case m.What == r.Query.Table:
			notes = append(notes, "not kept: "+human.Line(m.What)+", but for these rows")
		default:
			notes = append(notes, "not kept: "+human.Label(m.What, api.MaxConditionValue))
		}
	}
	return notes
}

// LookupNotes are what an answer to a question says beside its rows, a line each: one figure of many rows, how the question was read where
// that is not plain, and what of it cannot be given.
func LookupNotes(r api.LookupResult) (notes []string) {
	for _, agg := range slices.Sorted(maps.Keys(r.Aggregates)) {
		notes = append(notes, aggregateNote(agg, r.Aggregates[agg]))
	}
	return append(notes, r.Notes()...)
}

func aggregateNote(agg string, a api.Aggregate) string {
	of, name, _ := strings.Cut(agg, ":")
	if strings.HasSuffix(of, "Pct") {
		name = of
	}
	switch {
	case name == "":
		return fmt.Sprintf("%s: %d", of, a.Rows)
	case a.Value == nil:
		return agg + ": no row has it"
	case of == "buys":
		return fmt.Sprintf("%s buys: %s", human.Value(name, a.Of), human.Value("amount", *a.Value))
	case of == "worth":
		return fmt.Sprintf("worth of %s: %s", human.Value("amount", a.Of), human.Value(name, *a.Value))
	}
	text := fmt.Sprintf("%s: %s of %s", agg, human.Value(name, *a.Value), human.Plural(a.Rows, "row"))
	if a.Row != "" {
		text += ", " + human.Label(a.Row, api.MaxConditionValue)
	}
	if a.At != nil {
		text += fmt.Sprintf(" at %s, of %s", a.At.UTC().Format(time.RFC3339), human.Plural(a.States, "state"))
	}
	return text
}
