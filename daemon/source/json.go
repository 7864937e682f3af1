package source

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
)

// limitWords are what servers write when they turn a caller away without saying so in the status.
var limitWords = regexp.MustCompile(`(?i)limit|quota|throttl|too many`)

// openBody skips a byte order mark and white space and checks that the body begins with one of the characters of begin; want names
// what is expected. Otherwise it judges what is there instead.
func openBody(r io.Reader, begin, want string) (*bufio.Reader, error) {
	br := bufio.NewReader(r)
	if mark, err := br.Peek(3); err == nil && string(mark) == "\uFEFF" {
		_, _ = br.Discard(len(mark))
	}
	for {
		c, err := br.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil, fail(ClassEmpty, "the answer has no content")
		}
		if err != nil {
			return nil, err
		}
		if strings.IndexByte(" \t\r\n", c) >= 0 {
			continue
		}
		_ = br.UnreadByte()
		if strings.IndexByte(begin, c) >= 0 {
			return br, nil
		}
		return nil, judgeText(br, want)
	}
}

func judgeText(r io.Reader, want string) *failure {
	text, err := io.ReadAll(io.LimitReader(r, 512))
	switch {
	case err != nil:
		return asFailure(err)
	case text[0] == '<':
		return fail(ClassBadContent, "HTML where %s was expected", want)
	case string(bytes.TrimSpace(text)) == "null":
		return fail(ClassEmpty, "the answer is null")
	case limitWords.Match(text):
		return fail(ClassRateLimited, "the answer is a text about limits")
	}
	return fail(ClassBadContent, "text where %s was expected", want)
}

// eachRow decodes a JSON array and hands its elements to row one by one, as they come: large answers are never in memory
// as a whole, as internal/jsonx has documents.
func eachRow(r io.Reader, row func(json.RawMessage)) error {
	br, err := openBody(r, "[{", "JSON")
	if err != nil {
		return err
	}
	if first, _ := br.Peek(1); string(first) == "{" {
		return objectInstead(br)
	}
	dec := json.NewDecoder(br)
	if _, err := dec.Token(); err != nil {
		return malformed(err)
	}
	n := 0
	for ; dec.More(); n++ {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return malformed(err)
		}
		row(raw)
	}
	if _, err := dec.Token(); err != nil {
		return malformed(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fail(ClassBadContent, "data after the end of the JSON")
	}
	if n == 0 {
		return fail(ClassEmpty, "the answer has no rows")
	}
	return nil
}

// decodeObject decodes a JSON object into v as json.Unmarshal does, unless it says that upstream failed.
func decodeObject(r io.Reader, v any) error {
	br, err := openBody(r, "[{", "JSON")
	if err != nil {
		return err
	}
	data, err := io.ReadAll(br)
	if err != nil {
		return err
	}
	if err := envelope(data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		if string(bytes.Join(bytes.Fields(data), nil)) == "[]" {
			return fail(ClassEmpty, "the answer has no rows")
		}
		return malformed(err)
	}
	return nil
}

// objectInstead judges an object that stands where a list was expected: an error message, or nothing we can use.
func objectInstead(r io.Reader) error {
	var object map[string]json.RawMessage
	if err := decodeObject(r, &object); err != nil {
		return err
	}
	return fail(ClassEmpty, "an object where a list was expected")
}

// envelope finds the failures that come with HTTP 200: {"status":{"error_code":1011}} and {"error":"too many requests"}.
// It returns nil for everything else, valid or not.
func envelope(data []byte) error {
	var e struct {
		Status json.RawMessage
		Error  json.RawMessage
	}
	if json.Unmarshal(data, &e) != nil {
		return nil
	}
	if limitWords.Match(e.Error) {
		return fail(ClassRateLimited, "the answer is an error about limits")
	}
	var status struct {
		ErrorCode number `json:"error_code"`
	}
	if len(e.Status) == 0 || json.Unmarshal(e.Status, &status) != nil || status.ErrorCode.Value() == nil {
		return nil
	}
	switch code := int(*status.ErrorCode.Value()); {
	case code == 0:
		return nil
	case code == 429, code >= 1008 && code <= 1011:
		return fail(ClassRateLimited, "HTTP 200 with error code %d", code)
	case code == 1001, code == 1002, code >= 10002 && code <= 10011:
		return fail(ClassAuth, "HTTP 200 with error code %d", code)
	default:
		return fail(ClassBadContent, "HTTP 200 with error code %d", code)
	}
}

// malformed judges an error of encoding/json.
func malformed(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return fail(ClassBadContent, "JSON of an unexpected shape")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fail(ClassBadContent, "the JSON is cut off")
	}
	return fail(ClassBadContent, "malformed JSON")
}
