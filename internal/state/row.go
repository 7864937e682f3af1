package state

import (
	"bytes"
	"strconv"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// encoded is a row as JSON, but for what a question and time change in it.
type encoded struct{ head, tail []byte }

// AppendRow appends row, which is one of t, to b as an api.LookupRow in JSON. What does not change with the last three is encoded once,
// for the first who asks.
func (t *Tables) AppendRow(b []byte, row *Row, asked []string, ageSeconds int64, stale bool) ([]byte, error) {
	kept, ok := t.encoded.Load(row)
	if !ok {
		made, err := encode(row)
		if err != nil {
			return nil, err
		}
		kept, _ = t.encoded.LoadOrStore(row, made)
	}
	text := kept.(encoded)
	b = append(append(b, text.head...), '[')
	for i, name := range asked {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, name) // of a field, which has nothing that JSON escapes in another way
	}
	b = strconv.AppendInt(append(append(b, ']'), text.tail...), ageSeconds, 10)
	return append(strconv.AppendBool(append(b, `,"stale":`...), stale), '}'), nil
}

func encode(row *Row) (encoded, error) {
	fields := row.Fields
	if fields == nil {
		fields = api.Fields{}
	}
	text, err := jsonx.Encode(api.LookupRow{
		Kind: row.Kind, Key: row.Key, Entity: row.Entity, Name: row.Name, Symbol: row.Symbol, Fields: fields, Asked: []string{},
		Ref: row.Ref, URL: row.URL, FetchedAt: row.FetchedAt,
	})
	if err != nil {
		return encoded{}, err
	}
	const asked = `"asked":` // in a string its quotes would be escaped, and no field is an array
	head, tail, _ := bytes.Cut(text, []byte(asked+"[]"))
	return encoded{append(bytes.Clone(head), asked...), bytes.TrimSuffix(tail, []byte(`0,"stale":false}`))}, nil
}
