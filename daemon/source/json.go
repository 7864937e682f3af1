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

// Open skips a byte order mark and white space and checks that the body begins with one of the characters of begin; want names
// what is expected. Otherwise it judges what is there instead.
func Open(r io.Reader, begin, want string) (*bufio.Reader, error) {
	br := bufio.NewReader(r)
	if mark, err := br.Peek(3); err == nil && string(mark) == "\uFEFF" {
		_, _ = br.Discard(len(mark))
	}
	for {
		c, err := br.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil, Fail(ClassEmpty, "the answer has no content")
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

// judgeText judges a body that is not what was expected.
func judgeText(r io.Reader, want string) *Failure {
	text, err := io.ReadAll(io.LimitReader(r, 512))
	switch {
	case err != nil:
		return AsFailure(err)
	case text[0] == '<':
		return Fail(ClassBadContent, "HTML where %s was expected", want)
	case string(bytes.TrimSpace(text)) == "null":
		return Fail(ClassEmpty, "the answer is null")
	case limitWords.Match(text):
		return Fail(ClassRateLimited, "the answer is a text about limits")
	}
	return Fail(ClassBadContent, "text where %s was expected", want)
}

// eachElement decodes a JSON array and hands its elements to row one by one, as they come: large answers are never in memory
// as a whole, as internal/jsonx has documents.
func eachElement(r io.Reader, row func(json.RawMessage)) error {
	br, err := Open(r, "[{", "JSON")
	if err != nil {
		return err
	}
	if first, _ := br.Peek(1); string(first) == "{" {
		return notList(br)
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
		return Fail(ClassBadContent, "data after the end of the JSON")
	}
	if n == 0 {
		return Fail(ClassEmpty, "the answer has no rows")
	}
	return nil
}

// Object decodes a JSON object into v as json.Unmarshal does, unless it says that upstream failed.
func Object(r io.Reader, v any) error {
	br, err := Open(r, "[{", "JSON")
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
			return Fail(ClassEmpty, "the answer has no rows")
		}
		return malformed(err)
	}
	return nil
}

// notList judges an object that stands where a list was expected: an error message, or nothing we can use.
func notList(r io.Reader) error {
	var object map[string]json.RawMessage
	if err := Object(r, &object); err != nil {
		return err
	}
	return Fail(ClassEmpty, "an object where a list was expected")
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
		return Fail(ClassRateLimited, "the answer is an error about limits")
	}
	var status struct {
		ErrorCode Number `json:"error_code"`
	}
	if len(e.Status) == 0 || json.Unmarshal(e.Status, &status) != nil || status.ErrorCode.Value() == nil {
		return nil
	}
	switch code := int(*status.ErrorCode.Value()); {
	case code == 0:
		return nil
	case code == 429, code >= 1008 && code <= 1011:
		return Fail(ClassRateLimited, "HTTP 200 with error code %d", code)
	case code == 1001, code == 1002, code >= 10002 && code <= 10011:
		return Fail(ClassAuth, "HTTP 200 with error code %d", code)
	default:
		return Fail(ClassBadContent, "HTTP 200 with error code %d", code)
	}
}

// malformed judges an error of encoding/json.
func malformed(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return Fail(ClassBadContent, "JSON of an unexpected shape")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return Fail(ClassBadContent, "the JSON is cut off")
	}
	return Fail(ClassBadContent, "malformed JSON")
}
