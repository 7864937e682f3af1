package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestManual checks that every command has a manual page and that none tells of the machine it was written on.
func TestManual(t *testing.T) {
	t.Parallel()
	root := newRoot(io.Discard, io.Discard)
	dir := filepath.Join(t.TempDir(), "man1")
	root.SetArgs([]string{"man", dir})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		page := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		text, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil || !bytes.Contains(text, []byte(c.Short)) || bytes.Contains(text, []byte(home+"/")) {
			t.Errorf("%s: %v\n%s", page, err, text)
		}
		for _, child := range c.Commands() {
			if child.IsAvailableCommand() {
				check(child)
			}
		}
	}
	check(root)
}
