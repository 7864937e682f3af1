package policy_test

import (
	"cmp"
	"os"
	"testing"
)

// check is one rule, as code that finds its breaches.
type check struct {
	name string
	find func(*module) []breach
}

// checks are all rules. Each needs a fixture that breaches it and one that does not: see TestEveryCheckHasFixtures.
func checks() []check {
	return []check{
		{"imports", findImports},
		{"servers", findServers},
		{"import depth", findImportDepth},
		{"line length", findLineLength},
		{"one importer", findOneImporter},
		{"one instance", findOneInstance},
		{"init", findInit},
		{"package state", findPackageState},
		{"ambient", findAmbient},
		{"package comment", findPackageComment},
		{"doc comment", findDocComment},
		{"stubs", findStubs},
		{"names", findNames},
		{"words", findWords},
		{"layout", findLayout},
		{"external tests", findExternalTests},
	}
}

// TestModule holds this module to every check.
func TestModule(t *testing.T) {
	t.Parallel()
	m, err := load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if m.pkg("sdk/api") == nil {
		t.Fatal("sdk/api was not found: the tests read the wrong directory")
	}
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, b := range c.find(m) {
				t.Error(b)
			}
		})
	}
}

// TestSizes lists what is long, each with its reason, for a reader to judge; it fails only where a reason is about nothing any more. Run it
// with -v.
func TestSizes(t *testing.T) {
	t.Parallel()
	m, err := load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	reasons, long := sizeReasons(), map[string]bool{}
	for _, s := range sizes(m) {
		t.Logf("%s: %s: %s", s.at, s.size, cmp.Or(reasons[s.what], "no reason is given in sizeReasons"))
		long[s.what] = true
	}
	for what := range reasons {
		if !long[what] {
			t.Errorf("sizeReasons has a reason for %s, which is not long", what)
		}
	}
}
