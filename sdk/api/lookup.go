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

// LookupRow is one row of a pack's tables: the last data of a source about one thing.
type LookupRow struct {
	Kind       string    `json:"kind"`   // such as asset
	Key        string    `json:"key"`    // of the row among those of its kind, such as cardano
	Entity     string    `json:"entity"` // of the thing, the same in rows of other kinds that speak of it
	Name       string    `json:"name"`
	Symbol     string    `json:"symbol,omitempty"`
	Fields     Fields    `json:"fields"`
	Asked      []string  `json:"asked"` // the fields that the question named, or else the first of the kind
	Ref        int       `json:"ref"`   // anchor of its source
	URL        string    `json:"url"`   // of the row itself, not of its source, where there is such a page
	FetchedAt  time.Time `json:"fetchedAt"`
	AgeSeconds int64     `json:"ageSeconds"`
	Stale      bool      `json:"stale"` // the last attempt of its source failed
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
	Rows []LookupRow `json:"rows"`           // best first
	Near []string    `json:"near,omitempty"` // the nearest names, where no row was found
}

// LookupResponse answers /v1/lookup.
type LookupResponse struct {
	Results   []LookupResult `json:"results"` // in the order of the questions
	Citations []Citation     `json:"citations"`
	Freshness Freshness      `json:"freshness"`
}
