package source_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/contextd/contextd/daemon/source"
)

// seeds adds every payload of the recording and of the failures whose name ends in one of suffixes.
func seeds(f *testing.F, add func([]byte), suffixes ...string) {
	f.Helper()
	for _, root := range []string{"replay/failures", "replay/recorded/tick1", "replay/recorded/tick3", "replay/recorded/shared"} {
		err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			for _, suffix := range suffixes {
				if strings.HasSuffix(path, suffix) {
					data, err := os.ReadFile(path)
					if err != nil {
						return err
					}
					add(data)
				}
			}
			return nil
		})
		if err != nil {
			f.Fatal(err)
		}
	}
}

// judge fetches data through c and checks what has to hold whatever upstream says.
func judge(t *testing.T, c source.Connector, data []byte) {
	transport := roundTrip(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: make(http.Header), Body: io.NopCloser(bytes.NewReader(data)), Request: req}, nil
	})
	cfg := source.Config{Transport: transport, Now: atRecording, Shift: func(string) time.Duration { return 0 }}
	out := source.NewFetcher(cfg).Fetch(t.Context(), c, nil)
	if (out.Doc == nil) != (out.Err != nil) {
		t.Fatalf("%s: error %v with Doc %v", c.ID, out.Err, out.Doc)
	}
	if out.Err != nil {
		text := out.Err.Error()
		if !utf8.ValidString(text) || utf8.RuneCountInString(text) > 120 || strings.ContainsFunc(text, unicode.IsControl) {
			t.Fatalf("%s: error %q", c.ID, text)
		}
		return
	}
	if n := out.Doc.Len(); n == 0 || n > source.MaxRows {
		t.Fatalf("%s: %d rows", c.ID, n)
	}
	checkDoc(t, c, out.Doc)
}

// checkDoc checks that a Doc can be stored and that its texts are clean.
func checkDoc(t *testing.T, c source.Connector, doc source.Doc) {
	data := mustMarshal(t, c.ID, doc)
	stored := c.New()
	mustUnmarshal(t, c.ID, data, stored)
	if again := mustMarshal(t, c.ID, stored); !bytes.Equal(again, data) {
		t.Fatalf("%s: stored %s, read %s", c.ID, data, again)
	}
	for _, text := range texts(doc) {
		if !utf8.ValidString(text) || utf8.RuneCountInString(text) > 500 || strings.ContainsFunc(text, unicode.IsControl) {
			t.Fatalf("%s: text %q", c.ID, text)
		}
	}
}

func FuzzDecodeJSON(f *testing.F) {
	seeds(f, func(data []byte) { f.Add(data) }, ".json", ".html", ".txt", ".csv")
	var list []source.Connector
	for _, c := range connectors() {
		if !strings.HasPrefix(c.ID, "news-") {
			list = append(list, c)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, c := range list {
			judge(t, c, data)
		}
	})
}

func FuzzDecodeFeed(f *testing.F) {
	seeds(f, func(data []byte) { f.Add(data) }, ".xml", ".html")
	f.Fuzz(func(t *testing.T, data []byte) { judge(t, source.NewsDecrypt(), data) })
}

func mustMarshal(t *testing.T, id string, doc source.Doc) []byte {
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return data
}

func mustUnmarshal(t *testing.T, id string, data []byte, doc source.Doc) {
	if err := json.Unmarshal(data, doc); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
}

// texts are all strings of a Doc.
func texts(doc source.Doc) []string {
	var found []string
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			found = append(found, v.String())
		case reflect.Pointer:
			if !v.IsNil() && v.Type() != reflect.TypeFor[*time.Time]() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			if v.Type() != reflect.TypeFor[time.Time]() {
				for i := range v.NumField() {
					walk(v.Field(i))
				}
			}
		}
	}
	walk(reflect.ValueOf(doc))
	return found
}
