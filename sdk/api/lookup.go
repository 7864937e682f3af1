package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Limits of a lookup.
const (
	MaxQuestions       = 20  // in one call, with commas between
	MaxLookupQuery     = 200 // characters in all of them
	MaxLookupRows      = 10  // per question
	DefaultLookupLimit = 3   // rows per question
)

// Field is a named value of a row: a number, a text or a boolean, in the unit at the end of its name.
type Field struct {
	Name  string
	Value any
}

// Fields are the fields of a row, the most important first. They are encoded as one object.
type Fields []Field

// Get returns the value of a field, nil if there is no such field.
func (f Fields) Get(name string) any {
	for _, field := range f {
		if field.Name == name {
			return field.Value
		}
	}
	return nil
}

// MarshalJSON writes the fields as an object, in their order.
func (f Fields) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 32*len(f)+2), '{')
	for i, field := range f {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, field.Name); err != nil {
			return nil, err
		}
		if b, err = appendValue(append(b, ':'), field.Value); err != nil {
			return nil, fmt.Errorf("field %s: %w", field.Name, err)
		}
	}
	return append(b, '}'), nil
}

// appendValue appends v as JSON. What most rows have is written here, as encoding/json would: a lookup writes many.
func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case float64:
		if size := math.Abs(v); v == 0 || size >= 1e-6 && size < 1e21 { // others have an exponent, or no JSON
			return strconv.AppendFloat(b, v, 'f', -1, 64), nil
		}
	case string:
		if !strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
			return append(append(append(b, '"'), v...), '"'), nil
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...), err
}

// UnmarshalJSON reads an object, in the order of its members.
func (f *Fields) UnmarshalJSON(text []byte) error {
	*f = Fields{}
	return eachMember(text, func(name string, d *json.Decoder) error {
		var value any
		if err := d.Decode(&value); err != nil {
			return err
		}
		*f = append(*f, Field{name, value})
		return nil
	})
}

// Match is how a row was found.
type Match string

// The ways to find a row. A row by one of the last three may not be what was meant.
const (
	MatchExact    Match = "exact"    // by its name or key, or as one of the rows of a kind
	MatchSymbol   Match = "symbol"   // by its symbol
	MatchAlias    Match = "alias"    // by another name that it has
	MatchPrefix   Match = "prefix"   // by the beginning of a name
	MatchWords    Match = "words"    // by words of its name
	MatchSpelling Match = "spelling" // by a name that is written in nearly the same way
)

// Matches returns the ways to find a row, the surest first.
func Matches() []Match {
	return []Match{MatchExact, MatchSymbol, MatchAlias, MatchPrefix, MatchWords, MatchSpelling}
}

// Sure reports whether a row that was found so is what was named.
func (m Match) Sure() bool { return m == MatchExact || m == MatchSymbol || m == MatchAlias || m == "" }

// The reasons of words of a lookup.
const (
	MissingNoSuchField  MissingWhy = "no_such_field"  // the rows that are meant have no such figure
	MissingNoSuchSpan   MissingWhy = "no_such_span"   // or not over that span
	MissingNoSuchMoment MissingWhy = "no_such_moment" // or not of that moment
	MissingUnknownWord  MissingWhy = "unknown_word"
	MissingAmbiguous    MissingWhy = "ambiguous"
)

// LookupMissing is a word of a question that the answer cannot give.
type LookupMissing struct {
	Word    string     `json:"word"`
	Why     MissingWhy `json:"why"`
	Instead []string   `json:"instead,omitempty"` // what can be asked in its place
}

// String is m in words.
func (m LookupMissing) String() string {
	if m.Why == MissingNoRows {
		return "pack " + strings.Join(m.Instead, " and pack ") + " answers this"
	}
	why := map[MissingWhy]string{
		MissingNoSuchField: "no such figure", MissingNoSuchSpan: "not over that span", MissingNoSuchMoment: "not of that moment",
		MissingNotKept: "not kept", MissingUnknownWord: "not known", MissingAmbiguous: "may mean several things",
	}[m.Why]
	text := fmt.Sprintf("%q %s", m.Word, why)
	if len(m.Instead) > 0 {
		text += ", instead: " + strings.Join(m.Instead, ", ")
	}
	return text
}

// Read is how a question was read: a query, and the further ones of a question for several things.
type Read struct {
	RowQuery
	And []RowQuery `json:"and,omitempty"`
}

// String is r in a line, for people.
func (r Read) String() string {
	text := r.RowQuery.Text
	for _, q := range r.And {
		text += "; " + q.Text
	}
	return text
}

// LookupRow is one row of a pack's tables: the last data of a source about one thing.
type LookupRow struct {
	Kind       string          `json:"kind"`   // such as asset
	Key        string          `json:"key"`    // of the row among those of its kind, such as cardano
	Entity     string          `json:"entity"` // of the thing, the same in rows of other kinds that speak of it
	Name       string          `json:"name"`
	Symbol     string          `json:"symbol,omitempty"`
	Fields     Fields          `json:"fields"`
	Asked      []string        `json:"asked"` // the fields that the question named; empty where it named none
	Match      Match           `json:"match"`
	Over       map[string]Move `json:"over,omitempty"` // by field, where the question has a span of history
	Ref        Anchor          `json:"ref"`            // of its source
	URL        string          `json:"url"`            // of the row itself, not of its source, where there is such a page
	Of         string          `json:"of,omitempty"`   // what its figures are about, where that is older than the poll: 2026-11-21, 2026-10
	FetchedAt  time.Time       `json:"fetchedAt"`
	AgeSeconds int64           `json:"ageSeconds"`
	Stale      bool            `json:"stale"` // the last attempt of its source failed
}

// Shown returns the fields for a one-line view of the row: first the asked ones, then others by importance, at most most.
func (r LookupRow) Shown(most int) Fields {
	var list Fields
	for _, name := range r.Asked {
		list = append(list, Field{name, r.Fields.Get(name)})
	}
	for _, f := range r.Fields {
		if len(list) < most && list.Get(f.Name) == nil {
			list = append(list, f)
		}
	}
	return list
}

// LookupResult answers one question.
type LookupResult struct {
	Q    string      `json:"q"`
	Read *Read       `json:"read,omitempty"` // left out where no part of it could be read
	Rows []LookupRow `json:"rows"`           // best first
	// as query has them, where the question asks for one figure of many rows, and sharePct, difference, worth and buys of a field
	Aggregates map[string]Aggregate `json:"aggregates,omitempty"`
	// what cannot be given; then there are no rows but those of an unsure match
	Missing []LookupMissing `json:"missing,omitempty"`
	Near    []string        `json:"near,omitempty"` // the nearest names, where no row was found
}

// Notes is what people are told beside the rows: how the question was read, unless that is plain, and what of it cannot be given.
func (r LookupResult) Notes() (lines []string) {
	if r.Read != nil && !r.plain() {
		lines = append(lines, "read: "+r.Read.String())
	}
	for _, m := range r.Missing {
		lines = append(lines, m.String())
	}
	return lines
}

// plain reports whether r is read as a figure of one thing that is named, now.
func (r LookupResult) plain() bool {
	q := r.Read.RowQuery
	return len(r.Read.And) == 0 && q.At == "" && q.Over == "" && q.Order == "" && len(q.Where) == 1 && len(r.Rows) == 1 &&
		r.Rows[0].Match.Sure()
}

// LookupResponse answers /v1/lookup.
type LookupResponse struct {
	Results   []LookupResult     `json:"results"` // in the order of the questions
	Citations []AnchoredCitation `json:"citations"`
	Freshness Freshness          `json:"freshness"` // of the oldest state that was read
}
