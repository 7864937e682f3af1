package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/handbook"
	"github.com/contextd/contextd/internal/scripttest"
	"github.com/contextd/contextd/internal/setting"
	"github.com/contextd/contextd/sdk/api"
)

// TestCommandsShown: every command that README.md and the handbook name is one of the program's, with its flags; so is every setting.
func TestCommandsShown(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"README.md": readme(t)}
	for _, topic := range handbook.Topics() {
		texts[topic.Name+".md"] = topic.Text
	}
	commands := 0
	for file, text := range texts {
		for _, line := range commandsIn(text) {
			commands++
			if err := exists(t, line); err != nil {
				t.Errorf("%s: %s: %v", file, strings.Join(line, " "), err)
			}
		}
		for _, name := range settingsIn(text) {
			event := slices.Contains(api.WatchTypes(), api.WatchType(name)) // brief.published is no setting of briefs
			if !event && !slices.ContainsFunc(config.Table(), func(s setting.Setting) bool { return s.Key == name }) {
				t.Errorf("%s: there is no setting %s", file, name)
			}
		}
	}
	const least = 150
	if commands < least {
		t.Errorf("%d commands are found", commands)
	}
	for _, wrong := range []string{
		"contextd keys make", "ctx keys make", "ctx nothing", "ctx state --no", "contextd serve --no", "ctx help nothing",
	} {
		if exists(t, strings.Fields(wrong)) == nil {
			t.Errorf("%s is taken for a command", wrong)
		}
	}
}

// commandsIn are the commands in the blocks and in the prose of text, split at spaces.
func commandsIn(text string) (lines [][]string) {
	start := regexp.MustCompile(`(?:^|sudo |-u contextd |exec contextd |\$\(|\|\|? |&& )(contextd|ctx)( [^|;)&\n#>]*|$)`)
	for _, block := range append(scripttest.Blocks(text, "sh"), scripttest.Blocks(text, "console")...) {
		for line := range strings.Lines(strings.ReplaceAll(strings.ReplaceAll(block, "\\\n", " "), "|\n", "| ")) {
			for _, m := range start.FindAllStringSubmatch(line, -1) {
				lines = append(lines, strings.Fields(m[1]+m[2]))
			}
		}
	}
	for _, m := range regexp.MustCompile("`((?:contextd|ctx) [^`]+)`").FindAllStringSubmatch(text, -1) {
		lines = append(lines, strings.Fields(m[1]))
	}
	return lines
}

// settingsIn are the names of settings in the prose of text.
func settingsIn(text string) (names []string) {
	for _, m := range regexp.MustCompile("`([a-z]+)(\\.[a-z_.]+)`").FindAllStringSubmatch(text, -1) {
		file := m[1]+m[2] == translog.KeyFile
		if !file && slices.ContainsFunc(config.Table(), func(s setting.Setting) bool { return s.Section() && s.Key == m[1] }) {
			names = append(names, m[1]+m[2])
		}
	}
	return names
}

// exists says why a command is none: by asking the program for its help.
func exists(t *testing.T, line []string) error {
	t.Helper()
	program, args := line[0], line[1:]
	if len(args) > 1 && args[0] == "help" {
		args = args[1:]
	}
	if len(args) == 0 || strings.ToUpper(args[0]) == args[0] { // such as TOPIC
		return nil
	}
	var out bytes.Buffer
	withHelp := append(slices.Clone(args), "--help")
	if program == "contextd" {
		root := newRoot(cli.System{Out: &out, Err: io.Discard})
		root.SetArgs(withHelp)
		if err := root.ExecuteContext(t.Context()); err != nil {
			return err
		}
	} else {
		system := cli.OS()
		system.Out, system.Err = &out, &out
		if code := client.Main(t.Context(), withHelp, system); code != 0 {
			return fmt.Errorf("exit code %d: %s", code, out.String())
		}
	}
	path := program // as far as words are commands
	for i, word := range args {
		group := strings.Contains(out.String(), "\n  "+path+" [command]\n") || strings.Contains(out.String(), "\n  "+path+" COMMAND\n")
		packToo := strings.Contains(out.String(), "\n  "+path+" [PACK]")
		if group && !packToo && regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(args[i]) {
			return fmt.Errorf("%s has no command %s", path, args[i])
		}
		path += " " + word
	}
	return nil
}

// TestFormerNamesGone: what the programs and their texts say of commands has the names of now.
func TestFormerNamesGone(t *testing.T) {
	t.Parallel()
	var former []string
	for _, root := range trees() {
		eachCommand(root, func(c *cobra.Command) {
			if strings.HasPrefix(c.Short, "Now "+root.Name()+" ") {
				former = append(former, c.CommandPath())
			}
		})
	}
	named := regexp.MustCompile(`\b(?:` + strings.Join(former, "|") + `)(?:[^-.\w]|\.?$|\.[^\w])`)
	joined := regexp.MustCompile(`ctx(?:Command\(\))? ?\+ ?" `) // ctx + " state"
	files := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return cmp.Or(err, filepath.SkipDir)
		}
		if !slices.Contains([]string{".go", ".md", ".yaml", ".service", ".js", ".html"}, filepath.Ext(path)) || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		if found := named.FindString(joined.ReplaceAllString(string(text), `"ctx `)); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		return err
	})
	if least := 20; err != nil || files < 500 || len(former) < least {
		t.Errorf("%d files, %d names: %v", files, len(former), err)
	}
}
