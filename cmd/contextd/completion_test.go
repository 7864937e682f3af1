package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/contextd/contextd/internal/cli"
)

func TestCompletionsAreFresh(t *testing.T) {
	t.Parallel()
	for shell, ext := range map[string]string{"bash": "bash", "zsh": "zsh", "fish": "fish", "powershell": "ps1"} {
		var out bytes.Buffer
		root := newRoot(cli.System{Out: &out, Err: io.Discard})
		root.SetArgs([]string{"completion", shell})
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("..", "..", "completions", "contextd."+ext)
		kept, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(kept, out.Bytes()) {
			t.Errorf("%s is stale: go generate ./cmd/contextd", file)
		}
	}
}

// TestCompletionIntoFile: --out writes a file, and says so where it cannot.
func TestCompletionIntoFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "contextd.bash")
	for name, want := range map[string]int{file: cli.ExitOK, filepath.Join(file, "below"): cli.ExitUsage} {
		if code := start(t.Context(), []string{"completion", "bash", "--out", name}, cli.System{Out: io.Discard, Err: io.Discard}); code != want {
			t.Errorf("%s: exit %d, want %d", name, code, want)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Size() == 0 {
		t.Errorf("nothing is written: %v", err)
	}
}
