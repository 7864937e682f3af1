package policy_test

import (
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
		{"file size", findFileSize},
		{"function size", findFuncSize},
		{"complexity", findComplexity},
		{"package size", findPackageSize},
		{"line length", findLineLength},
		{"package count", findPackageCount},
		{"one importer", findOneImporter},
		{"same name", findSameName},
		{"fan-out", findFanOut},
		{"one instance", findOneInstance},
		{"init", findInit},
		{"package state", findPackageState},
		{"ambient", findAmbient},
		{"package comment", findPackageComment},
		{"doc comment", findDocComment},
		{"stubs", findStubs},
		{"names", findNames},
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
