package upstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/contextd/contextd/daemon/source/upstream"
)

// row is a row of the lists in these tests.
type row struct {
	ID   string
	N    upstream.Number
	Skip bool
}

// keep keeps the ids of rows.
func keep(r row) (string, string, bool) { return r.ID, r.ID, !r.Skip }

// class is the class of an error, ok for none.
func class(err error) upstream.Class {
	if err == nil {
		return upstream.OK
	}
	return upstream.AsFailure(err).Class
}

func TestList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		kept       string
		dropped    int
		class      upstream.Class
	}{
		{"rows", `[{"id":"a"},{"id":"b"}]`, "[a b]", 0, upstream.OK},
		{"mark and space", "\uFEFF \r\n\t" + `[{"id":"a"}]` + "\n ", "[a]", 0, upstream.OK},
		{"rows without sense", `[{"id":"a"},{},null,7,"x",[1],{"id":{}}]`, "[a]", 6, upstream.OK},
		{"row that is not wanted", `[{"id":"a","skip":true},{"id":"b"}]`, "[b]", 0, upstream.OK},
		{"same id", `[{"id":"a"},{"id":"a"},{"id":"b"}]`, "[a b]", 1, upstream.OK},
		{"overflow", `[{"id":"a","n":1e400},{"id":"b","n":1e300}]`, "[b]", 1, upstream.OK},
		{"none", ` [ ] `, "[]", 0, upstream.Empty},
		{"nothing", "", "[]", 0, upstream.Empty},
		{"space", " \n ", "[]", 0, upstream.Empty},
		{"null", " null\n", "[]", 0, upstream.Empty},
		{"object", `{"error":"moved"}`, "[]", 0, upstream.Empty},
		{"object about limits", `{"error":"Rate LIMIT exceeded"}`, "[]", 0, upstream.RateLimited},
		{"broken object", `{"error":`, "[]", 0, upstream.BadContent},
		{"HTML", "<!DOCTYPE html>", "[]", 0, upstream.BadContent},
		{"text", "down for maintenance", "[]", 0, upstream.BadContent},
		{"text about limits", "Too many requests", "[]", 0, upstream.RateLimited},
		{"cut off", `[{"id":"a"},{"id":`, "[a]", 0, upstream.BadContent},
		{"cut off between rows", `[{"id":"a"},`, "[a]", 0, upstream.BadContent},
		{"not closed", `[{"id":"a"}`, "[a]", 0, upstream.BadContent},
		{"closed wrongly", `[{"id":"a"}}`, "[a]", 0, upstream.BadContent},
		{"more after the end", `[{"id":"a"}] [`, "[a]", 0, upstream.BadContent},
		{"not a number", `[{"id":NaN}]`, "[]", 0, upstream.BadContent},
	} {
		kept, dropped, err := upstream.List(strings.NewReader(tt.body), keep)
		if fmt.Sprint(kept) != tt.kept || dropped != tt.dropped || class(err) != tt.class {
			t.Errorf("%s: %v, %d dropped, %v, want %s, %d, %s", tt.name, kept, dropped, err, tt.kept, tt.dropped, tt.class)
		}
	}
}

func TestListReadsByAnyPieces(t *testing.T) {
	t.Parallel()
	body := iotest.OneByteReader(strings.NewReader("\uFEFF" + `[{"id":"a"},{"id":"b"}]`))
	if kept, _, err := upstream.List(body, keep); err != nil || len(kept) != 2 {
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
	kept, dropped, err := upstream.List(pr, keep)
	if err != nil || len(kept) != 20_000 || dropped != 5_001 {
		t.Errorf("kept %d, dropped %d, %v", len(kept), dropped, err)
	}
}

func TestCollect(t *testing.T) {
	t.Parallel()
	kept, dropped, err := upstream.Collect([]json.RawMessage{[]byte(`{"id":"a"}`), []byte(`{}`)}, keep)
	if fmt.Sprint(kept) != "[a]" || dropped != 1 || err != nil {
		t.Errorf("%v, %d, %v", kept, dropped, err)
	}
	if _, _, err := upstream.Collect(nil, keep); class(err) != upstream.Empty {
		t.Errorf("no rows: %v", err)
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		class      upstream.Class
	}{
		{"object", `{"a":1}`, upstream.OK},
		{"no members", `{}`, upstream.OK}, // whether that is enough is for the caller to say
		{"mark", "\uFEFF{}", upstream.OK},
		{"invalid UTF-8", "{\"b\":\"\xff\xfe\"}", upstream.OK},
		{"no error", `{"status":{"error_code":0,"error_message":null},"a":1}`, upstream.OK},
		{"no error, quoted", `{"status":{"error_code":"0"}}`, upstream.OK},
		{"status of another kind", `{"status":"ok","error":null}`, upstream.OK},
		{"limit of an address", `{"status":{"error_code":1011}}`, upstream.RateLimited},
		{"limit of a minute", `{"status":{"error_code":"1008"}}`, upstream.RateLimited},
		{"limit as a status", `{"status":{"error_code":429}}`, upstream.RateLimited},
		{"key is wrong", `{"status":{"error_code":1001}}`, upstream.Auth},
		{"key is missing", `{"status":{"error_code":10002}}`, upstream.Auth},
		{"other code", `{"status":{"error_code":500}}`, upstream.BadContent},
		{"errors about limits", `{"error":["EGeneral:Too many requests"]}`, upstream.RateLimited},
		{"empty list", ` [ ] `, upstream.Empty},
		{"list", `[1]`, upstream.BadContent},
		{"wrong type", `{"a":"x"}`, upstream.BadContent},
		{"more after the end", `{"a":1}{}`, upstream.BadContent},
		{"cut off", `{"a":`, upstream.BadContent},
		{"nothing", "", upstream.Empty},
		{"null", "null", upstream.Empty},
		{"HTML", "\n<html>", upstream.BadContent},
		{"text about limits", "Throttled", upstream.RateLimited},
	} {
		var v struct{ A int }
		if err := upstream.Object(strings.NewReader(tt.body), &v); class(err) != tt.class {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.class)
		}
	}
}

func TestReadErrorsComeThrough(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	if err := upstream.Object(iotest.ErrReader(broken), new(any)); !errors.Is(err, broken) {
		t.Errorf("object: %v", err)
	}
	if _, _, err := upstream.List(iotest.ErrReader(broken), keep); !errors.Is(err, broken) {
		t.Errorf("list: %v", err)
	}
	if _, err := upstream.Feed(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("feed: %v", err)
	}
}
