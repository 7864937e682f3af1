package source

import (
	"encoding/json"
	"io"
	"strings"
)

// identifier is an id by which another document names a thing. Upstreams write it as a text or a number; anything else, and one that is
// too long or has odd characters, is "", so that a link that makes no sense costs no row.
type identifier string

// UnmarshalJSON decodes data.
func (i *identifier) UnmarshalJSON(data []byte) error {
	*i = ""
	var text string
	if json.Unmarshal(data, &text) != nil && data[0] >= '0' && data[0] <= '9' {
		text = string(data)
	}
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	}
	if len(text) <= 2*capID && !strings.ContainsFunc(text, odd) {
		*i = identifier(text)
	}
	return nil
}

// maxDecoded bounds what a hostile list can make us hold. The longest real list has under half as many rows.
const maxDecoded = 20_000

// decodeRows decodes a body that is a JSON array of rows, see convertRows. Rows are decoded one by one, so that the whole body is never
// held. An array without rows is a failure of class empty.
func decodeRows[T, R any](body io.Reader, convert func(T) (row R, id string, wanted bool)) (kept []R, dropped int, err error) {
	rows := collector[T, R]{convert: convert}
	err = eachRow(body, rows.add)
	return rows.rows, rows.dropped, err
}

// convertRows decodes each element of list as a T and keeps what convert makes of it. convert returns the row's id, "" if the row
// makes no sense, and whether the row is wanted. The first of several rows with one id wins. dropped counts the rows that could
// not be decoded, made no sense or came twice. An empty list is a failure of class empty.
func convertRows[T, R any](list []json.RawMessage, convert func(T) (row R, id string, wanted bool)) (kept []R, dropped int, err error) {
	if len(list) == 0 {
		return nil, 0, fail(ClassEmpty, "the answer has no rows")
	}
	rows := collector[T, R]{convert: convert}
	for _, raw := range list {
		rows.add(raw)
	}
	return rows.rows, rows.dropped, nil
}

type collector[T, R any] struct {
	convert func(T) (row R, id string, wanted bool)
	rows    []R
	ids     map[string]bool
	dropped int
}

func (c *collector[T, R]) add(raw json.RawMessage) {
	var in T
	if json.Unmarshal(raw, &in) != nil || len(c.rows) >= maxDecoded {
		c.dropped++
		return
	}
	row, id, wanted := c.convert(in)
	if id == "" || c.ids[id] {
		c.dropped++
		return
	}
	if !wanted {
		return
	}
	if c.ids == nil {
		c.ids = make(map[string]bool)
	}
	c.ids[id] = true
	c.rows = append(c.rows, row)
}
