package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Fields of a row in text: of the only row of an answer, and of one among many, which are compared by few.
const (
	mostLookupFields  = 5
	leastLookupFields = 3
	listLookupFields  = 1 // beside what is asked for, of a list
	listLookupRows    = 6 // from which on an answer is a list
)

// lookupText renders the answer of lookup: a line for each row, the first of a question begun by it so that answers can be matched, and the
// links once.
func lookupText(body []byte) (string, error) {
	var r api.LookupResponse
	if err := json.Unmarshal(body, &r); err != nil {
		return "", err
	}
	rows := 0
	for _, result := range r.Results {
		rows += len(result.Rows)
	}
	fields := max(leastLookupFields, mostLookupFields+1-rows)
	if rows >= listLookupRows {
		fields = listLookupFields
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", age(r.Freshness))
	last := ""
	for _, result := range r.Results {
		q := human.Clip(human.Line(result.Q), api.MaxLookupQuery)
		if len(result.Rows) == 0 {
			near := make([]string, len(result.Near))
			for i, name := range result.Near {
				near[i] = label(name)
			}
			fmt.Fprintf(&b, "%s: nothing", q)
			if result.Read != nil && len(result.Missing) == 0 {
				b.WriteString(" of the kind is there now")
			}
			if len(near) > 0 {
				fmt.Fprintf(&b, "; near: %s", strings.Join(near, ", "))
			}
			b.WriteString("\n")
		}
		for i, row := range result.Rows {
			asked := q + ": "
			if i > 0 {
				asked = "- "
			}
			text, age := rowText(q, row, fields)
			if rows < listLookupRows || age != last { // else it is as old as the row before it
				text += " " + age
			}
			last = age
			fmt.Fprintf(&b, "%s%s\n", asked, text)
		}
		for _, line := range state.LookupNotes(result) {
			fmt.Fprintf(&b, "  %s\n", human.Clip(human.Line(line), 2*api.MaxLookupQuery))
		}
	}
	writeLinks(&b, r)
	return b.String(), nil
}

// rowText is a row in a line, with some fields at most beside those that q asked for, and without what q or the link says already, and how
// old it is.
func rowText(q string, r api.LookupRow, fields int) (text, age string) {
	shown := r.Shown(fields)
	values := make([]string, 0, len(shown))
	for _, f := range shown {
		if f.Name == "publisher" && !slices.Contains(r.Asked, f.Name) {
			continue
		}
		if text, ok := f.Value.(string); ok && len(strings.Fields(text)) > 1 {
			f.Value = quoted(text)
		}
		values = append(values, human.Field(f.Name, f.Value)+state.Since(r, f.Name))
	}
	age = state.Answered(r, 0).Age(r.FetchedAt.Add(time.Duration(r.AgeSeconds) * time.Second))
	name := state.Called(label(r.Name), label(r.Symbol))
	if !r.Match.Sure() {
		name = "(by " + string(r.Match) + ") " + name
	}
	if (r.Kind == "stablecoin" || r.Kind == "protocol" || r.Kind == "chain") && !strings.Contains(strings.ToLower(q), r.Kind) {
		name += " " + r.Kind
	}
	return fmt.Sprintf("%s %s [%s]", name, strings.Join(values, " · "), r.Ref), age
}

// label is a name that somebody outside chose: in quotation marks unless it is as short as names are, and could be no sentence.
func label(name string) string {
	const words = 3
	if len(strings.Fields(name)) > words || len(name) > 30 || strings.ContainsAny(name, `:;!?"`) || human.Instructs(name) {
		return quoted(name)
	}
	return name
}

// shortLink is an address as people write it.
func shortLink(url string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(url, "https://"), "www."), "/")
}

// folded are links of which those in one folder, where they are more than two, are one: defillama.com/protocol/{lido,sky}.
func folded(links []string) (list []string) {
	folders := map[string][]string{}
	for _, l := range links {
		folder := l[:strings.LastIndexByte(l, '/')+1]
		folders[folder] = append(folders[folder], l[len(folder):])
	}
	for _, l := range links {
		folder := l[:strings.LastIndexByte(l, '/')+1]
		switch names := folders[folder]; {
		case len(names) < 3 || folder == "" || strings.ContainsAny(strings.Join(names, ""), ",{}"):
			list = append(list, l)
		case names[0] == l[len(folder):]:
			list = append(list, folder+"{"+strings.Join(names, ",")+"}")
		}
	}
	return list
}

// writeLinks lists the links of the rows, by source.
func writeLinks(b *strings.Builder, r api.LookupResponse) {
	links := map[api.Anchor][]string{}
	seen := map[string]bool{}
	for _, result := range r.Results {
		for _, row := range result.Rows {
			if !seen[row.URL] {
				seen[row.URL] = true
				links[row.Ref] = append(links[row.Ref], shortLink(row.URL))
			}
		}
	}
	var uses []api.Use
	for _, c := range r.Citations {
		fmt.Fprintf(b, "[%s] %s\n", c.Ref, strings.Join(folded(links[c.Ref]), " "))
		uses = append(uses, c.Use)
	}
	writeNotices(b, api.Notices(uses...))
}
