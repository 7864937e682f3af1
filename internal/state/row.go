package state

import (
	"bytes"
	"strconv"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// encoded is a row as JSON, but for what a question and time change in it.
type encoded struct{ head, tail []byte } // between them stand what was asked, and the anchor

// AppendRow appends row, which is one of t, to b as an api.LookupRow in JSON. What no question and no time changes is encoded once, for the
// first who asks. pack stands in its anchor, unless it is empty.
func (t *Tables) AppendRow(b []byte, row FoundRow, pack string, ageSeconds int64, stale bool) ([]byte, error) {
	text, err := t.encode(row.Row)
	if err != nil {
		return nil, err
	}
	b = append(append(b, text.head...), '[')
	for i, name := range row.Asked {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, name) // of a field, which has nothing that JSON escapes in another way
	}
	b = strconv.AppendQuote(append(b, `],"match":`...), string(row.Match))
	if len(row.Over) > 0 {
		over, err := jsonx.Encode(row.Over)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"over":`...), over...)
	}
	ref, err := api.Anchor{Pack: pack, Ref: row.Ref}.MarshalJSON()
	if err != nil {
		return nil, err
	}
	b = append(append(append(b, `,"ref":`...), ref...), text.tail...)
	b = strconv.AppendInt(b, ageSeconds, 10)
	return append(strconv.AppendBool(append(b, `,"stale":`...), stale), '}'), nil
}

// encode is a row of t as it is kept, or one of the past.
func (t *Tables) encode(row *Row) (encoded, error) {
	if kept, ok := t.encoded.Load(row); ok {
		return kept.(encoded), nil
	}
	fields := row.Fields
	if fields == nil {
		fields = api.Fields{}
	}
	text, err := jsonx.Encode(api.LookupRow{
		Kind: row.Kind, Key: row.Key, Entity: row.Entity, Name: row.Name, Symbol: row.Symbol, Fields: fields, Asked: []string{},
		URL: row.URL, Of: row.Of, FetchedAt: row.FetchedAt,
	})
	if err != nil {
		return encoded{}, err
	}
	const asked = `"asked":` // in a string its quotes would be escaped, and no field is an array
	head, tail, _ := bytes.Cut(text, []byte(asked+`[],"match":"","ref":0`))
	made := encoded{append(bytes.Clone(head), asked...), bytes.TrimSuffix(tail, []byte(`0,"stale":false}`))}
	if len(t.rows) > 0 && t.Row(row.Kind, row.Key) == row {
		t.encoded.Store(row, made)
	}
	return made, nil
}
