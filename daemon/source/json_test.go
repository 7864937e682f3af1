package source_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/contextd/contextd/daemon/source"
)

// row is a row of the lists in these tests.
type row struct {
	ID   string
	N    source.Number
	Skip bool
}

// keep keeps the ids of rows.
func keep(r row) (string, string, bool) { return r.ID, r.ID, !r.Skip }

// class is the class of an error, ok for none.
func class(err error) source.Class {
	if err == nil {
		return source.ClassOK
	}
	return source.AsFailure(err).Class
}

func TestList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		kept       string
		dropped    int
		class      source.Class
	}{
		{"rows", `[{"id":"a"},{"id":"b"}]`, "[a b]", 0, source.ClassOK},
		{"mark and space", "\uFEFF \r\n\t" + `[{"id":"a"}]` + "\n ", "[a]", 0, source.ClassOK},
		{"rows without sense", `[{"id":"a"},{},null,7,"x",[1],{"id":{}}]`, "[a]", 6, source.ClassOK},
		{"row that is not wanted", `[{"id":"a","skip":true},{"id":"b"}]`, "[b]", 0, source.ClassOK},
		{"same id", `[{"id":"a"},{"id":"a"},{"id":"b"}]`, "[a b]", 1, source.ClassOK},
		{"overflow", `[{"id":"a","n":1e400},{"id":"b","n":1e300}]`, "[b]", 1, source.ClassOK},
		{"none", ` [ ] `, "[]", 0, source.ClassEmpty},
		{"nothing", "", "[]", 0, source.ClassEmpty},
		{"space", " \n ", "[]", 0, source.ClassEmpty},
		{"null", " null\n", "[]", 0, source.ClassEmpty},
		{"object", `{"error":"moved"}`, "[]", 0, source.ClassEmpty},
		{"object about limits", `{"error":"Rate LIMIT exceeded"}`, "[]", 0, source.ClassRateLimited},
		{"broken object", `{"error":`, "[]", 0, source.ClassBadContent},
		{"HTML", "<!DOCTYPE html>", "[]", 0, source.ClassBadContent},
		{"text", "down for maintenance", "[]", 0, source.ClassBadContent},
		{"text about limits", "Too many requests", "[]", 0, source.ClassRateLimited},
		{"cut off", `[{"id":"a"},{"id":`, "[a]", 0, source.ClassBadContent},
		{"cut off between rows", `[{"id":"a"},`, "[a]", 0, source.ClassBadContent},
		{"not closed", `[{"id":"a"}`, "[a]", 0, source.ClassBadContent},
		{"closed wrongly", `[{"id":"a"}}`, "[a]", 0, source.ClassBadContent},
		{"more after the end", `[{"id":"a"}] [`, "[a]", 0, source.ClassBadContent},
		{"not a number", `[{"id":NaN}]`, "[]", 0, source.ClassBadContent},
	} {
		kept, dropped, err := source.DecodeRows(strings.NewReader(tt.body), keep)
		if fmt.Sprint(kept) != tt.kept || dropped != tt.dropped || class(err) != tt.class {
			t.Errorf("%s: %v, %d dropped, %v, want %s, %d, %s", tt.name, kept, dropped, err, tt.kept, tt.dropped, tt.class)
		}
	}
}

func TestListReadsByAnyPieces(t *testing.T) {
	t.Parallel()
	body := iotest.OneByteReader(strings.NewReader("\uFEFF" + `[{"id":"a"},{"id":"b"}]`))
	if kept, _, err := source.DecodeRows(body, keep); err != nil || len(kept) != 2 {
		t.Errorf("%v, %v", kept, err)
	}
}

func TestListIsBounded(t *testing.T) {
	t.Parallel()
	pr, pw := io.Pipe()
	go func() {
		_, _ = io.WriteString(pw, `[{"id":"first"}`)
		for i := range 25_000 {
			_, _ = fmt.Fprintf(pw, `,{"id":"%d"}`, i)
		}
		_, err := io.WriteString(pw, "]")
		_ = pw.CloseWithError(err)
	}()
	kept, dropped, err := source.DecodeRows(pr, keep)
	if err != nil || len(kept) != 20_000 || dropped != 5_001 {
		t.Errorf("kept %d, dropped %d, %v", len(kept), dropped, err)
	}
}

func TestCollect(t *testing.T) {
	t.Parallel()
	kept, dropped, err := source.ConvertRows([]json.RawMessage{[]byte(`{"id":"a"}`), []byte(`{}`)}, keep)
	if fmt.Sprint(kept) != "[a]" || dropped != 1 || err != nil {
		t.Errorf("%v, %d, %v", kept, dropped, err)
	}
	if _, _, err := source.ConvertRows(nil, keep); class(err) != source.ClassEmpty {
		t.Errorf("no rows: %v", err)
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		class      source.Class
	}{
		{"object", `{"a":1}`, source.ClassOK},
		{"no members", `{}`, source.ClassOK}, // whether that is enough is for the caller to say
		{"mark", "\uFEFF{}", source.ClassOK},
		{"invalid UTF-8", "{\"b\":\"\xff\xfe\"}", source.ClassOK},
		{"no error", `{"status":{"error_code":0,"error_message":null},"a":1}`, source.ClassOK},
		{"no error, quoted", `{"status":{"error_code":"0"}}`, source.ClassOK},
		{"status of another kind", `{"status":"ok","error":null}`, source.ClassOK},
		{"limit of an address", `{"status":{"error_code":1011}}`, source.ClassRateLimited},
		{"limit of a minute", `{"status":{"error_code":"1008"}}`, source.ClassRateLimited},
		{"limit as a status", `{"status":{"error_code":429}}`, source.ClassRateLimited},
		{"key is wrong", `{"status":{"error_code":1001}}`, source.ClassAuth},
		{"key is missing", `{"status":{"error_code":10002}}`, source.ClassAuth},
		{"other code", `{"status":{"error_code":500}}`, source.ClassBadContent},
		{"errors about limits", `{"error":["EGeneral:Too many requests"]}`, source.ClassRateLimited},
		{"empty list", ` [ ] `, source.ClassEmpty},
		{"list", `[1]`, source.ClassBadContent},
		{"wrong type", `{"a":"x"}`, source.ClassBadContent},
		{"more after the end", `{"a":1}{}`, source.ClassBadContent},
		{"cut off", `{"a":`, source.ClassBadContent},
		{"nothing", "", source.ClassEmpty},
		{"null", "null", source.ClassEmpty},
		{"HTML", "\n<html>", source.ClassBadContent},
		{"text about limits", "Throttled", source.ClassRateLimited},
	} {
		var v struct{ A int }
		if err := source.DecodeObject(strings.NewReader(tt.body), &v); class(err) != tt.class {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.class)
		}
	}
}

func TestReadErrorsComeThrough(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	if err := source.DecodeObject(iotest.ErrReader(broken), new(any)); !errors.Is(err, broken) {
		t.Errorf("object: %v", err)
	}
	if _, _, err := source.DecodeRows(iotest.ErrReader(broken), keep); !errors.Is(err, broken) {
		t.Errorf("list: %v", err)
	}
	if _, err := source.ParseFeed(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("feed: %v", err)
	}
}
