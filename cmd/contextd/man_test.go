package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/handbook"
)

// TestManual checks that every command has a manual page and that none tells of the machine it was written on.
func TestManual(t *testing.T) {
	t.Parallel()
	root := newRoot(cli.System{Out: io.Discard, Err: io.Discard})
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
	for _, topic := range handbook.Topics() {
		if text, err := os.ReadFile(filepath.Join(dir, "contextd-"+topic.Name+".7")); err != nil || !bytes.Contains(text, []byte(topic.Summary)) {
			t.Errorf("%s: %v\n%s", topic.Name, err, text)
		}
	}
}

// TestHelpOfTopics: the help names the topics of the handbook apart from the commands, shows each, and completes their names.
func TestHelpOfTopics(t *testing.T) {
	t.Parallel()
	run := func(args ...string) string {
		var out bytes.Buffer
		root := newRoot(cli.System{Out: &out, Err: io.Discard})
		root.SetArgs(args)
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		return out.String()
	}
	_, topics, _ := strings.Cut(run("--help"), "\nTopics, shown by contextd help TOPIC\n")
	names := run("__complete", "help", "")
	for _, topic := range handbook.Topics() {
		if !strings.Contains(topics, "  "+topic.Name+" ") || !strings.Contains(topics, topic.Summary) {
			t.Errorf("the help does not name %s:\n%s", topic.Name, topics)
		}
		if got := run("help", topic.Name); strings.TrimSpace(got) != strings.TrimSpace(topic.Text) {
			t.Errorf("help %s shows %.100q", topic.Name, got)
		}
		if !strings.Contains(names, topic.Name+"\t"+topic.Summary+"\n") {
			t.Errorf("%s is not completed: %s", topic.Name, names)
		}
	}
	if !strings.Contains(names, "serve\t") {
		t.Errorf("commands are not completed: %s", names)
	}
}
