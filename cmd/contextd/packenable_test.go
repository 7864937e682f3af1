package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/contextd/contextd/cmd/contextd/config"
)

// serveAnswers serves the files of a directory, and puts its address into a variable: answers URL DIR.
func serveAnswers(ts *testscript.TestScript, _ bool, args []string) {
	server := httptest.NewServer(http.FileServer(http.Dir(ts.MkAbs(args[1]))))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}

// TestSetEnabled: a list of packs is put where a configuration file has it, and all other lines stay.
func TestSetEnabled(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                 "\npacks:\n  enabled: [a, b]\n",
		"listen: x # here": "listen: x # here\n\npacks:\n  enabled: [a, b]\n",
		"packs:\n  enabled: [z] # old\nhosts: [y]\n":                      "packs:\n  enabled: [a, b]\nhosts: [y]\n",
		"packs:\n    enabled:\n    - y\n    # two\n    - z\n    dir: q\n": "packs:\n    enabled: [a, b]\n    dir: q\n",
		"packs:\n  enabled: [x,\n    y]\n  dir: q\n":                      "packs:\n  enabled: [a, b]\n  dir: q\n",
		"packs:\n   dir: q\n":                                             "packs:\n   enabled: [a, b]\n   dir: q\n",
		"packs:\n  # Ids.\n  #enabled: []\n  #dir: \"\"\nhosts: []\n":     "packs:\n  # Ids.\n  enabled: [a, b]\n  #dir: \"\"\nhosts: []\n",
		"packs:\nhosts: []\n#enabled: x\n":                                "packs:\n  enabled: [a, b]\nhosts: []\n#enabled: x\n",
	} {
		got, err := setEnabled([]byte(text), []string{"a", "b"})
		if err != nil || string(got) != want {
			t.Errorf("%q\nbecomes %q\nwant    %q, %v", text, got, want, err)
		}
	}
	for _, text := range []string{"packs: {dir: q}\n", "packs: {enabled: [z]}\n", "packs: [\n", "unknown: 1\n", "packs:\n  enabled: []\npacks:\n  dir: q\n"} {
		if got, err := setEnabled([]byte(text), []string{"a"}); err == nil {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	example, err := config.Example(nil)
	if err != nil {
		t.Fatal(err)
	}
	on, err := setEnabled(example, []string{"markets"})
	if err != nil {
		t.Fatal(err)
	}
	before, after := strings.Split(string(example), "\n"), strings.Split(string(on), "\n")
	i := slices.Index(after, "  enabled: [markets]")
	if i < 0 || len(before) != len(after) || before[i] != "  #enabled: []" {
		t.Errorf("the example becomes\n%s", on)
	}
}
