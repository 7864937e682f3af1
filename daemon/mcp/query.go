package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// mostLinked is up to how many rows are told with links of their own.
const mostLinked = 3

// sentence is how long a name is at least that is one, as that of a flag: it says by itself what most fields do.
const sentence = 30

// queryText renders the answer of query: how it was read, a line for each row, the aggregates, and what is missing.
func queryText(body []byte) (string, error) {
	var r api.QueryResponse
	if err := json.Unmarshal(body, &r); err != nil {
		return "", err
	}
	var b strings.Builder
	of := age(r.Freshness)
	if r.Query.At != "" {
		of = "state of " + r.Freshness.GeneratedAt.UTC().Format(time.RFC3339)
	}
	fmt.Fprintf(&b, "%s: %d of %d; %s\n", human.Clip(human.Line(r.Query.Text), api.MaxLookupQuery), len(r.Rows), r.Total, of)
	fields := max(leastLookupFields, mostLookupFields+1-len(r.Rows))
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "%s\n", queriedText(r.Query, row, fields))
	}
	for _, note := range state.QueryNotes(r) {
		fmt.Fprintf(&b, "%s\n", note)
	}
	var uses []api.Use
	for _, c := range r.Citations {
		links := []string{shortLink(c.URL)}
		if len(r.Rows) <= mostLinked {
			links = nil
			for _, row := range r.Rows {
				if link := shortLink(row.URL); row.Ref == c.Ref && !slices.Contains(links, link) {
					links = append(links, link)
				}
			}
		}
		fmt.Fprintf(&b, "[%s] %s\n", c.Ref, strings.Join(links, " "))
		uses = append(uses, c.Use)
	}
	writeNotices(&b, api.Notices(uses...))
	return b.String(), nil
}

// queriedText is a row in a line: the fields that q names, or else the first ones and the one that it is ordered by.
func queriedText(q api.RowQuery, r api.QueryRow, most int) string {
	var shown api.Fields
	add := func(name string) {
		if value := r.Fields.Get(name); value != nil && shown.Get(name) == nil {
			shown = append(shown, api.Field{Name: name, Value: value})
		}
	}
	if len(r.Name) > sentence {
		most = 1
	}
	for _, f := range r.Fields {
		if len(q.Fields) > 0 || len(shown) < most {
			add(f.Name)
		}
	}
	if len(q.Fields) == 0 {
		add(strings.TrimPrefix(q.Order, "-"))
	}
	values := make([]string, 0, len(shown))
	for _, f := range shown {
		if text, ok := f.Value.(string); ok && len(strings.Fields(text)) > 1 {
			f.Value = quoted(human.Label(text, api.MaxLookupQuery))
		}
		text := human.Field(f.Name, f.Value)
		if m, moved := r.Over[f.Name]; moved {
			text += " (from " + human.Value(f.Name, m.From)
			if m.ChangePct != nil {
				text += ", " + human.Percent(*m.ChangePct)
			}
			text += ")"
		}
		values = append(values, text)
	}
	name := state.Called(label(r.Name), label(r.Symbol))
	return fmt.Sprintf("%s %s [%s] %s", name, strings.Join(values, " · "), r.Ref, state.QueriedAge(r))
}

// tablesText lists tables and their fields, a line each.
func tablesText(t api.QueryTables) string {
	var b strings.Builder
	b.WriteString("Every row has name, symbol, key and entity. A field is a number unless it says what it is, in the unit that ends its " +
		"name; * is kept in states of the past, for at and over. In [] what group stands for, behind it the order.\n")
	for _, p := range t.Packs {
		fmt.Fprintf(&b, "Pack %s, %s to %s back:\n", p.Pack, t.Spans.Least, t.Spans.Window)
		for _, table := range p.Tables {
			b.WriteString(table.Table)
			if table.Group != "" {
				fmt.Fprintf(&b, " [%s]", table.Group)
			}
			fmt.Fprintf(&b, " %s:", cmp.Or(table.Order, "as they came"))
			for _, f := range table.Fields {
				b.WriteString(" " + f.Name)
				if f.Past {
					b.WriteString("*")
				}
				if f.Type != api.TypeNumber {
					fmt.Fprintf(&b, " (%s)", f.Type)
				}
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
