package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

const enabledPacks = "packs.enabled"

// newPackEnable makes the command that enables packs, or disables them.
func newPackEnable(s *settings, on bool) *cobra.Command {
	c := &cobra.Command{
		Use: "enable NAME", Short: "Enable a pack", Args: cobra.ExactArgs(1), ValidArgsFunction: s.completeNames,
		Long: "Check the manifest of a pack, add the pack to packs.enabled in the configuration file, and reload the running\n" +
			"daemon. If the daemon refuses the pack, the file stays unchanged.",
		Example: "  contextd packs enable my-coins",
	}
	if !on {
		c.Use, c.Short = "disable NAME", "Disable a pack"
		c.Long = "Remove a pack from packs.enabled in the configuration file and reload the running daemon. The pack's history stays."
		c.Example = "  contextd packs disable my-coins"
	}
	out := cli.AddOutput(c, cli.FieldsIn(enablement{})...)
	c.RunE = func(c *cobra.Command, args []string) error {
		done, err := s.enablePack(c, args[0], on)
		if err != nil {
			return err
		}
		return out.Print(done, prose(func(w io.Writer) error {
			_, err := fmt.Fprintln(w, done.text())
			return err
		}))
	}
	return c
}

// enablement is what came of enabling a pack, or of disabling it.
type enablement struct {
	Pack    string   `json:"pack"`
	Enabled []string `json:"enabled"` // in the file
	File    string   `json:"file"`
	Changed bool     `json:"changed"` // the file is another one now
	Daemon  string   `json:"daemon"`  // reloaded, or none where none runs
}

func (e enablement) text() string {
	text := fmt.Sprintf("%s has packs.enabled: [%s]", e.File, strings.Join(e.Enabled, ", "))
	if !e.Changed {
		return text + " already"
	}
	if e.Daemon == "none" {
		return text + "; no daemon runs here, contextd serve takes it"
	}
	return text + "; the daemon has read it"
}

func (s *settings) enablePack(c *cobra.Command, id string, on bool) (enablement, error) {
	cfg, err := s.Load()
	switch {
	case err != nil:
		return enablement{}, err
	case id == api.PackCrypto:
		return enablement{}, cli.Invalid("the pack crypto is served unless packs.no_crypto is true").
			WithHint("set packs.no_crypto: %t in the configuration file", !on)
	case os.Getenv(config.Env(enabledPacks)) != "":
		return enablement{}, cli.Invalid("%s sets the enabled packs and overrides the file", config.Env(enabledPacks))
	case cfg.File == "":
		return enablement{}, cli.Invalid("there is no configuration file").WithHint("contextd config init, or --config FILE")
	case !on && !slices.Contains(cfg.Packs.Enabled, id):
		return enablement{}, cli.Invalid("the pack %s is not enabled", id).WithHint("contextd packs list")
	}
	if on {
		if isFile(id) {
			return enablement{}, cli.Invalid("%s is a file; packs are enabled by name", id).
				WithHint("put it into %s first", cfg.Packs.Directory())
		}
		p, _, err := s.manifestOf(id)
		if err != nil {
			return enablement{}, err
		}
		if _, _, err := p.read(); err != nil {
			return enablement{}, err
		}
	}
	enabled := slices.DeleteFunc(slices.Clone(cfg.Packs.Enabled), func(e string) bool { return e == id })
	if on {
		enabled = append(enabled, id)
	}
	done := enablement{Pack: id, Enabled: append([]string{}, enabled...), File: cfg.File, Daemon: "none"}
	if done.Changed = !slices.Equal(enabled, cfg.Packs.Enabled); !done.Changed {
		return done, nil
	}
	return done, s.putEnabled(c, cfg, &done)
}

// putEnabled writes the list of done into its file and has a running daemon read it. Where that refuses, the file is put back.
func (s *settings) putEnabled(c *cobra.Command, cfg *config.Config, done *enablement) error {
	before, err := os.ReadFile(done.File)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	after, err := setEnabled(before, done.Enabled)
	if err != nil {
		return err
	}
	if err := rewrite(done.File, after); err != nil {
		return err
	}
	reloaded, err := s.reloadIfRunning(c, cfg)
	if err != nil {
		if back := rewrite(done.File, before); back != nil {
			return errors.Join(err, back)
		}
		fmt.Fprintf(c.ErrOrStderr(), "%s is as it was\n", done.File)
		return err
	}
	if reloaded {
		done.Daemon = "reloaded"
	}
	return nil
}

// reloadIfRunning has a daemon read its settings again, if one runs.
func (s *settings) reloadIfRunning(c *cobra.Command, cfg *config.Config) (reloaded bool, err error) {
	if _, err := os.Stat(cfg.DataDir); errors.Is(err, fs.ErrNotExist) || admin.Alive(c.Context(), cfg.DataDir) != nil {
		return false, nil
	}
	err = s.operate(c, func(o *admin.Operator) error {
		if o.Direct {
			return nil // it has just ended
		}
		reloaded = true
		_, err := o.Reload(context.WithoutCancel(c.Context()))
		return err
	})
	return reloaded, err
}

// rewrite replaces a file, whose owner and mode stay.
func rewrite(file string, text []byte) error {
	var was unix.Stat_t
	if err := unix.Stat(file, &was); err != nil {
		return fmt.Errorf("look at %s: %w", file, err)
	}
	keep := func(f *os.File) error {
		if os.Geteuid() != 0 {
			return nil
		}
		return f.Chown(int(was.Uid), int(was.Gid))
	}
	return atomicfile.File{Path: file, Mode: os.FileMode(was.Mode & 0o777), Check: keep}.Write(func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// setEnabled is the text of a configuration file with another list of enabled packs. All other lines stay as they are.
func setEnabled(text []byte, packs []string) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if n := len(lines); lines[n-1] == "" {
		lines = lines[:n-1]
	}
	if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
		lines[n-1] += "\n"
	}
	line := fmt.Sprintf("enabled: [%s]\n", strings.Join(packs, ", "))
	var section, value *yaml.Node
	if len(doc.Content) > 0 {
		section = entry(doc.Content[0], "packs")
	}
	if section != nil {
		value = entry(section, "enabled")
	}
	switch {
	case section == nil:
		lines = append(lines, "\npacks:\n", "  "+line)
	case section.Style&yaml.FlowStyle != 0:
		return nil, byHand(packs)
	case value != nil:
		first, last := keyLine(section, "enabled")-1, lastLine(value)
		indent := lines[first][:len(lines[first])-len(strings.TrimLeft(lines[first], " "))]
		lines = slices.Replace(lines, first, max(last, first+1), indent+line)
	default:
		at := keyLine(doc.Content[0], "packs")
		indent := "  "
		if len(section.Content) > 0 {
			indent = strings.Repeat(" ", section.Content[0].Column-1)
		}
		if i := commented(lines, at); i >= 0 {
			lines[i] = indent + line
		} else {
			lines = slices.Insert(lines, at, indent+line)
		}
	}
	after := []byte(strings.Join(lines, ""))
	var read struct {
		Packs struct{ Enabled []string }
	}
	_, err := config.Parse(after)
	if err := errors.Join(err, yaml.Unmarshal(after, &read)); err != nil || !slices.Equal(read.Packs.Enabled, packs) {
		return nil, byHand(packs)
	}
	if bytes.Equal(after, text) {
		return text, nil
	}
	return after, nil
}

// byHand is that a file is written in a way that is not changed here, such as in braces.
func byHand(packs []string) error {
	return cli.Invalid("packs cannot be changed in the configuration file line by line").
		WithHint("write packs.enabled: [%s] there yourself", strings.Join(packs, ", "))
}

// entry is the value of a name in a mapping, nil if there is none.
func entry(n *yaml.Node, name string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// keyLine is the line, from 1, of a name in a mapping.
func keyLine(n *yaml.Node, name string) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i].Line
		}
	}
	return 0
}

// lastLine is the last line of a value.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, child := range n.Content {
		last = max(last, lastLine(child))
	}
	return last
}

// commented is the index of the line that has the setting as a comment, as contextd config init writes it, from a line of its section on;
// -1 if there is none.
func commented(lines []string, from int) int {
	for i := from; i < len(lines); i++ {
		switch text := strings.TrimSpace(lines[i]); {
		case strings.HasPrefix(strings.ReplaceAll(text, " ", ""), "#enabled:"):
			return i
		case text != "" && lines[i][0] != ' ' && lines[i][0] != '#':
			return -1
		}
	}
	return -1
}
