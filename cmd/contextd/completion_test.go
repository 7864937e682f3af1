package main

import (
	"bytes"
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
