package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// toolText is the answer of op, given as its HTTP body, as a model reads it best: prose and tables with a fraction of the tokens of JSON.
// What cannot be read comes out as it is.
func toolText(op api.Op, pack string, body []byte) string {
	var text string
	var err error
	switch op {
	case api.OpFresh, api.OpSnapshot:
		text, err = stateText(pack, "", false, body)
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
	case api.OpQuery:
		text, err = queryText(body)
	case api.OpCheck:
		text, err = checkText(body)
	default:
		text, err = answerText(pack, body)
	}
	if err != nil || text == "" {
		return string(body)
	}
	return text
}

// textOf is toolText for what q asks, whose answer was found as a.
func textOf(q api.Query, a reader.Answer, body []byte) string {
	var text string
	var err error
	switch {
	case q.Op == api.OpSnapshot:
		text, err = stateText(q.Pack, asOf(q.At), false, body)
	case q.Op == api.OpFresh && q.Members != "":
		text, err = stateText(q.Pack, "", true, body)
	case q.Op == api.OpSearch && a.Searched != nil:
		text, err = foundText(q, a.Searched, body)
	}
	if err != nil || text == "" {
		return toolText(q.Op, q.Pack, body)
	}
	return text
}

// answerText renders the answer of an operation that has no text of its own: how old it is, a line or a section for every member, as of a
// state, and the sources.
func answerText(pack string, body []byte) (string, error) {
	var of struct {
		Freshness api.Freshness
		Citations []api.Citation
	}
	doc, err := jsonx.Parse(body)
	if err == nil {
		err = json.Unmarshal(body, &of)
	}
	if err != nil {
		return "", err
	}
	if !doc.IsObject() {
		return "", errors.New("the answer is no object")
	}
	var b strings.Builder
	w := newStateWriter(&b, of.Freshness)
	if !of.Freshness.GeneratedAt.IsZero() {
		fmt.Fprintf(&b, "Pack %s: %s.\n", pack, age(of.Freshness))
	}
	var parts []*jsonx.Value
	for _, m := range doc.Members {
		switch {
		case m.Name == "freshness" || m.Name == "citations":
		case m.IsObject() || isTable(m):
			parts = append(parts, m)
		default:
			fmt.Fprintf(&b, "%s: %s\n", m.Name, w.cell(m))
		}
	}
	for _, m := range parts {
		w.section(m.Name, m)
	}
	if len(of.Citations) > 0 {
		w.sources(of.Citations)
	}
	return b.String(), nil
}

// age says how old a state is, and which sources are not ok.
func age(f api.Freshness) string {
	text := ageOf(f)
	if troubles := state.Troubles(f, func(at time.Time) string { return at.UTC().Format("2006-01-02T15:04Z") }); troubles != "" {
		text += ", STALE: " + troubles
	}
	return text
}

// ageOf says how old a state is, and its data where a source is overdue. overdue are the sources that are, where that is known.
func ageOf(f api.Freshness, overdue ...string) string {
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

const stateKey = "ref and [N] name a source below; an id left out is the name in small letters with -, chain: before a chain."

// stateText renders the answer of fresh and snapshot. of says, in the heading, of which moment it is, and part that some members were asked
// for, which are told alone.
func stateText(pack, of string, part bool, body []byte) (string, error) {
	var m api.StateResponse
	if err := json.Unmarshal(body, &m); err != nil {
		return "", err
	}
	var b strings.Builder
	w := newStateWriter(&b, m.Freshness)
	doc := state.Read(m.State).As(m.Freshness)
	fmt.Fprintf(&b, "Pack %s%s: %s. %s\n", pack, of, ageOf(m.Freshness, doc.Ages().Overdue(w.read)...), stateKey)
	if m.Brief != "" && !part {
		fmt.Fprintf(&b, "\n%s\n%s", m.Brief, dated(m.BriefAt, m.BriefOf, m.Since))
		w.cited(m.Brief)
	}
	if !doc.Root().IsObject() {
		return "", errors.New("the state is no object")
	}
	w.state(doc)
	w.sources(m.Citations)
	return b.String(), nil
}

func asOf(at api.Moment) string {
	if at.Exact {
		return " as of " + at.Key()
	}
	return " as of the minute " + at.Key() + " UTC, its age taken at the end of that"
}

func briefText(pack string, body []byte) (string, error) {
	var r api.BriefResponse
	if err := json.Unmarshal(body, &r); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\nPack %s: %s.\n", r.Brief, dated(r.BriefAt, r.BriefOf, r.Since), pack, age(r.Freshness))
	w := newStateWriter(&b, r.Freshness)
	if w.cited(r.Brief); r.Since != nil {
		w.cited(r.Since.Text)
	}
	w.sources(r.Citations)
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
	writeNotices(&b, r.Notices)
	return b.String(), nil
}

// foundText renders the answer of search to q with the rows of state in which its words are.
func foundText(q api.Query, searched *state.Document, body []byte) (string, error) {
	var r api.SearchResponse
	if err := json.Unmarshal(body, &r); err != nil {
		return "", err
	}
	var b strings.Builder
	w := newStateWriter(&b, r.Freshness)
	rows, total := searched.As(r.Freshness).Find(q.Text, q.Limit)
	if total == 0 {
		word := human.Short(q.Text, human.Quoted)
		fmt.Fprintf(&b, "No row of the state of pack %s has the word %q (%s). ", q.Pack, word, age(r.Freshness))
		fmt.Fprintf(&b, "The state shows a part of all rows: ask lookup with q=%q, or search for one word.\n", word)
		return b.String(), nil
	}
	fmt.Fprintf(&b, "%d of %s in pack %s (%s):\n", len(rows), human.Plural(total, "row"), q.Pack, age(r.Freshness))
	for _, row := range rows {
		w.row(row)
	}
	writeNotices(&b, r.Notices)
	return b.String(), nil
}

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
