package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestOverviewShown checks that the overview that the handbook shows is made of lines of the one that ctx state draws, in their order.
func TestOverviewShown(t *testing.T) {
	t.Parallel()
	handbook, err := os.ReadFile(filepath.Join("..", "internal", "handbook", "agents.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(handbook), "`ctx state` shows:\n\n```\n")
	shown, _, ok := strings.Cut(rest, "```\n")
	if !ok {
		t.Fatal("the handbook shows no overview")
	}
	script, err := txtar.ParseFile(filepath.Join("testdata", "script", "fresh.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var drawn string
	for _, f := range script.Files {
		if f.Name == "overview" { // which the script compares with what the program draws
			drawn = ansi.Strip(string(f.Data))
		}
	}
	for line := range strings.Lines(shown) {
		if line == "  …\n" || line == "\n" {
			continue
		}
		_, after, ok := strings.Cut(drawn, line)
		if !ok {
			t.Fatalf("the handbook shows %q, which ctx state does not, there", line)
		}
		drawn = after
	}
}
