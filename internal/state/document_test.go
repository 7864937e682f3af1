package state_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestDocumentAges: they are those that the SDK reads.
func TestDocumentAges(t *testing.T) {
	t.Parallel()
	recorded, _ := filepath.Glob("../../daemon/pack/testdata/tick*.golden.json")
	if len(recorded) == 0 {
		t.Fatal("no state is recorded")
	}
	texts := map[string][]byte{
		"of a flag about a source": []byte(`{"flags":[{"kind":"source_stale","ref":1},{"kind":"x","ref":2}],
			"source_status":[{"ref":1,"id":"a","fetchedAt":"2026-11-20T20:00:00Z"},{"ref":2,"id":"b","fetchedAt":"2026-11-20T20:00:00Z"}]}`),
		"not JSON": []byte(`{`), "no sources": []byte(`{"a":[{"ref":1}]}`), "empty": nil,
	}
	for _, name := range recorded {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = text
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, want := state.Read(text).Ages(), api.AgesOf(text); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// TestNoDocument: a state that there is none of says nothing.
func TestNoDocument(t *testing.T) {
	t.Parallel()
	var d *state.Document
	if d.Flags() != nil || d.Sources() != nil || d.Rows(nil) != nil || d.Names() != nil || d.Text() != nil || d.Err() != nil ||
		d.Decode("a", nil) != nil {
		t.Error("it says something")
	}
	if f := d.Ages().Freshness(time.Unix(0, 0), time.Unix(9, 0)); f.DataAgeSeconds != 9 {
		t.Errorf("%+v", f)
	}
}

// TestPart has the named members in the order of the state, as they are written there.
func TestPart(t *testing.T) {
	t.Parallel()
	const text = `{"b":{"x":"<&>"},"a":1.50,"b":2}`
	for names, want := range map[string]string{"": text, "a": `{"a":1.50}`, "a,b": text, "x": `{}`} {
		if got := string(state.Read([]byte(text)).Part(names)); got != want {
			t.Errorf("%q: %s, want %s", names, got, want)
		}
	}
	if got := string(state.Read([]byte(`[1]`)).Part("a")); got != `{}` {
		t.Errorf("of no object: %s", got)
	}
}
