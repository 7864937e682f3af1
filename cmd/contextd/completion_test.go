package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestCompletionsAreFresh(t *testing.T) {
	t.Parallel()
	for shell, ext := range map[string]string{"bash": "bash", "zsh": "zsh", "fish": "fish", "powershell": "ps1"} {
		var out bytes.Buffer
		root := newRoot(&out, io.Discard)
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

// TestFailedClose: what could not be closed may not be whole, and is an error.
func TestFailedClose(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "contextd.bash")
	if err := writeFile(file, func(w io.Writer) error { return w.(*os.File).Close() }); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a file that cannot be closed: %v", err)
	}
	root := newRoot(io.Discard, io.Discard)
	root.SetArgs([]string{"completion", "bash", "--out", file})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Size() == 0 {
		t.Errorf("nothing is written: %v", err)
	}
}
