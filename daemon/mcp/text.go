package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// toolText is the answer of op, given as its HTTP body, as a model reads it best: prose and tables with a fraction of the tokens of JSON.
// What cannot be read comes out as it is.
func toolText(op api.Op, pack string, body []byte) string {
	var text string
	var err error
	switch op {
	case api.OpFresh, api.OpSnapshot:
		text, err = stateText(pack, body)
	case api.OpBrief:
		text, err = briefText(pack, body)
	case api.OpSearch:
		text, err = searchText(pack, body)
	case api.OpCite:
		text, err = citeText(body)
	case api.OpLookup:
		text, err = lookupText(body)
	case api.OpChanges:
		text, err = changesText(pack, body)
	}
	if err != nil || text == "" {
		return string(body)
	}
	return text
}

// age says how old a state is, and its data where a source is overdue. overdue are the sources that are, where that is known.
func age(f api.Freshness, overdue ...string) string {
	text := fmt.Sprintf("state of %s, %d s old", f.GeneratedAt.UTC().Format(time.RFC3339), f.AgeSeconds)
	if f.DataAgeSeconds > f.AgeSeconds {
		who := human.List(overdue, 3)
		if who == "" {
			who = "a source is"
		}
		text += ", data up to " + human.Age(time.Duration(f.DataAgeSeconds)*time.Second) + " old: " + who + " overdue"
	}
	if max(f.AgeSeconds, f.DataAgeSeconds) > api.MaxFreshAge {
		text += ", LAGGING"
	}
	return text
}

// stateText renders the answer of fresh and snapshot.
func stateText(pack string, body []byte) (string, error) {
	var m api.StateResponse
	if err := json.Unmarshal(body, &m); err != nil {
		return "", err
	}
	var b strings.Builder
	read := m.Freshness.Told().Add(time.Second - 1)
	fmt.Fprintf(&b, "Pack %s: %s. ref and [N] name a source below.\n", pack, age(m.Freshness, api.AgesOf(m.State).Overdue(read)...))
	if m.Brief != "" {
		fmt.Fprintf(&b, "\n%s\n%s", m.Brief, dated(m.BriefAt, m.BriefOf, m.Since))
	}
	if err := writeState(&b, m.State); err != nil {
		return "", err
	}
	writeSources(&b, m.Citations)
	return b.String(), nil
}

// briefText renders the answer of brief.
func briefText(pack string, body []byte) (string, error) {
	var r api.BriefResponse
	if err := json.Unmarshal(body, &r); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\nPack %s: %s.\n", r.Brief, dated(r.BriefAt, r.BriefOf, r.Since), pack, age(r.Freshness))
	writeSources(&b, r.Citations)
	return b.String(), nil
}

// dated tells when a brief was written and of which state, and what came since.
func dated(at, of *time.Time, since *api.Since) string {
	if at == nil {
		return ""
	}
	text := "Brief written " + at.UTC().Format(time.RFC3339)
	if of != nil {
		text += " from the state of " + of.UTC().Format(time.RFC3339Nano)
	}
	text += ".\n"
	if since != nil {
		text += "Since then: " + since.Text + "\n"
	}
	return text
}

// searchText renders the answer of search.
func searchText(pack string, body []byte) (string, error) {
	var r api.SearchResponse
	if err := json.Unmarshal(body, &r); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d matches in pack %s (%s):\n", len(r.Matches), r.Total, pack, age(r.Freshness))
	for _, m := range r.Matches {
		fmt.Fprintf(&b, "%s = %s\n", m.Path, m.Value)
	}
	return b.String(), nil
}

// citeText renders the answer of cite.
func citeText(body []byte) (string, error) {
	var r api.CiteResponse
	if err := json.Unmarshal(body, &r); err != nil {
		return "", err
	}
	fetched := r.Citation.FetchedAt.UTC().Format(time.RFC3339)
	text := fmt.Sprintf("[%d] %s (%s), %s, fetched %s", r.Citation.Ref, r.Source.Name, r.Source.ID, r.Citation.URL, fetched)
	if r.Citation.Excerpt != "" {
		text += ": " + quoted(r.Citation.Excerpt)
	}
	return text + " (" + age(r.Freshness) + ")", nil
}

// writeSources lists citations.
func writeSources(b *strings.Builder, list []api.Citation) {
	b.WriteString("\n## sources\n")
	for _, c := range list {
		fmt.Fprintf(b, "[%d] %s %s\n", c.Ref, c.SourceID, c.URL)
	}
}

// writeState writes a section for every member of a state: a table of an array of objects, a line for each member of an object.
func writeState(b *strings.Builder, state []byte) error {
	list, err := jsonx.Members(state)
	if err != nil {
		return err
	}
	for _, m := range list {
		fmt.Fprintf(b, "\n## %s\n", m.Name)
		var rows []json.RawMessage
		switch {
		case json.Unmarshal(m.Raw, &rows) == nil && len(rows) == 0:
			b.WriteString("none\n")
		case rows != nil && rows[0][0] == '{':
			if err := writeTable(b, rows); err != nil {
				return err
			}
		default:
			writeObject(b, m.Raw)
		}
	}
	return nil
}

// writeTable writes rows under the names that any of them has.
func writeTable(b *strings.Builder, rows []json.RawMessage) error {
	var names []string
	known := map[string]bool{}
	cells := make([]map[string]string, len(rows))
	for i, row := range rows {
		list, err := jsonx.Members(row)
		if err != nil {
			return err
		}
		cells[i] = map[string]string{}
		for _, m := range list {
			if !known[m.Name] {
				known[m.Name] = true
				names = append(names, m.Name)
			}
			cells[i][m.Name] = cell(m.Name, m.Raw)
		}
	}
	b.WriteString(strings.Join(names, " | ") + "\n")
	for _, row := range cells {
		line := make([]string, len(names))
		for i, name := range names {
			line[i] = row[name]
		}
		b.WriteString(strings.Join(line, " | ") + "\n")
	}
	return nil
}

// writeObject writes a line for each member of an object, and any other value as it is.
func writeObject(b *strings.Builder, value json.RawMessage) {
	list, err := jsonx.Members(value)
	if err != nil {
		b.WriteString(plain(value) + "\n")
		return
	}
	for _, m := range list {
		fmt.Fprintf(b, "%s: %s\n", m.Name, cell(m.Name, m.Raw))
	}
}

// foreign reports whether a member holds text that somebody outside chose, such as the name of a coin.
func foreign(member string) bool {
	switch member {
	case "name", "pair", "title", "question", "subject", "category":
		return true
	}
	return false
}

// cell is the value of a member as text. What others chose, and whatever could be a sentence of theirs, is in quotation marks: a model must
// not take it for ours.
func cell(member string, value json.RawMessage) string {
	text := plain(value)
	if len(value) > 0 && value[0] == '"' && (foreign(member) || strings.Contains(text, " ") || human.Instructs(text)) {
		return quoted(text)
	}
	return text
}

// quoted is text in quotation marks that it cannot close.
func quoted(text string) string { return `"` + strings.ReplaceAll(text, `"`, "'") + `"` }

// plain is a JSON value as text: strings without quotes, null as a dash, what has parts in short JSON.
func plain(value json.RawMessage) string {
	var text string
	switch {
	case string(value) == "null":
		return "-"
	case json.Unmarshal(value, &text) == nil:
		return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "/")
	}
	return string(value)
}
