package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/daemon/source"
)

// answered is a source that always says the same.
type answered string

func (a answered) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(a))), Request: r}, nil
}

// TestPackEval: the manifest of somebody else is run by the program in another process, which its mapping cannot exhaust.
func TestPackEval(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := `{pack: mine, version: 1, title: Mine, members: {all: {from: one}}, sources: [{id: one, name: One, licence: public, kind: thing,
  public_url: "https://example.org/", request: {url: "https://example.org/one"}, fields: {x: number}, rows: '("x" * 900000000) | {key: ., x: 1}'}]}`
	if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := config.Packs{Dir: dir}.Open("mine")
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC) }
	f := source.NewFetcher(source.Config{Transport: answered("[1]"), Now: now})
	out := f.Fetch(t.Context(), p.Sources[0].Connector, nil)
	busy := "bad_content: its mapping took longer than 1s" // where others keep the machine from filling the memory in that time
	if got := fmt.Sprint(out.Err); got != "bad_content: its mapping took more than 256 MB" && got != busy {
		t.Errorf("%v", out.Err)
	}
}
