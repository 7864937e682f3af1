package main

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack/manifest"
)

// TestPackEval: the program is the process that runs a manifest of somebody else.
func TestPackEval(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("contextd") // of the scripts
	if err != nil {
		t.Fatal(err)
	}
	c := manifest.NewChild([]byte(`{pack: mine, version: 1, title: Mine, members: {all: {from: one}}, sources: [{id: one, name: One, licence: public,
  public_url: "https://example.org/", request: {url: "https://example.org/one"}, kind: thing, fields: {x: number}, rows: '.[] | {key: ., x: 1}'}]}`),
		program, "pack", "eval")
	defer c.Close()
	rows, err := c.Rows(t.Context(), "one", []byte(`["a"]`), time.Time{})
	if fmt.Sprint(rows) != "[map[key:a x:1]]" || err != nil {
		t.Errorf("%v, %v", rows, err)
	}
}
