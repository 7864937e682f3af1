package client

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
)

func localCommands(f *factory) []*cobra.Command {
	return []*cobra.Command{newConfig(f), newDoctor(f), newVersion(f), cli.NewCompletion("ctx"), cli.NewManual("ctx")}
}

type configOptions struct {
	*streams
	paths  func() (config.Paths, error)
	config func() (*config.Config, error)
	key    func() (key sdk.Key, origin string, err error)

	showOrigin bool
}

// configRow is one setting, as JSON shows it.
type configRow struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// newConfig makes the group of commands that show and change settings.
func newConfig(f *factory) *cobra.Command {
	o := configOptions{streams: f.streams, paths: f.Paths, config: f.Config, key: f.Key}
	fields := []string{"name", "value", "origin"}
	settings := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, s := range config.Settings() {
			names = append(names, s.Name+"\t"+s.Help)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	get := f.Command(&cobra.Command{Use: "get NAME", Short: "Show a setting", Args: cobra.ExactArgs(1), ValidArgsFunction: settings,
		Example: "  ctx config get base_url --show-origin"}, fields, o.get)
	list := f.Command(&cobra.Command{Use: "list", Short: "Show every setting", Aliases: []string{"ls"},
		Example: "  ctx config list --show-origin"}, fields, o.list)
	for _, c := range []*cobra.Command{get, list} {
		c.Flags().BoolVar(&o.showOrigin, "show-origin", false, "show the origin of each value")
	}
	set := lenient(&cobra.Command{Use: "set NAME VALUE", Short: "Write a setting to the file or to a profile",
		Args: cobra.ExactArgs(2), ValidArgsFunction: settings,
		Example: "  ctx config set output json\n  ctx config set base_url https://ctx.example -p prod"}, o.set)
	unset := lenient(&cobra.Command{Use: "unset NAME", Short: "Remove a setting from the file or from a profile",
		Args: cobra.ExactArgs(1), ValidArgsFunction: settings, SuggestFor: []string{"rm", "delete"}}, o.unset)
	edit := lenient(&cobra.Command{Use: "edit", Short: "Open the file in $VISUAL or $EDITOR", Args: cobra.NoArgs}, o.edit)
	path := lenient(&cobra.Command{Use: "path", Short: "Show the path of the file", Args: cobra.NoArgs}, o.path)
	return cli.Group(&cobra.Command{Use: "config", Short: "Show and change settings",
		Long: "Show and change settings. An option overrides the environment, the environment the profile, and the profile the\n" +
			"file.",
		Example: "  ctx config list --show-origin\n  ctx config set base_url https://ctx.example\n  ctx config get pack"},
		get, set, unset, list, edit, path, newProfile(f), newWatchlist(f))
}

// lenient completes c so that it runs where the configuration cannot be read too: it is how one mends it.
func lenient(c *cobra.Command, run func(c *cobra.Command, args []string) error) *cobra.Command {
	c.RunE = run
	return c
}

func (o *configOptions) get(ctx context.Context, args []string) error {
	s, err := config.Find(args[0])
	if err != nil {
		return cli.Invalid("%w", err)
	}
	c, err := o.config()
	if err != nil {
		return err
	}
	v := c.Get(s.Name)
	doc, err := cli.Marshal(configRow{s.Name, v.Text, v.Origin})
	if err != nil {
		return err
	}
	rows := &cli.Rows{Columns: []string{"value"}, Rows: [][]string{{v.Text}}}
	if o.showOrigin {
		rows = &cli.Rows{Columns: []string{"value", "origin"}, Rows: [][]string{{v.Text, v.Origin}}}
	}
	return o.Print(ctx, cli.Answer{JSON: doc, Rows: rows})
}

// list shows every setting, and the key as far as it may be shown.
func (o *configOptions) list(ctx context.Context, _ []string) error {
	c, err := o.config()
	if err != nil {
		return err
	}
	var list []configRow
	for _, s := range config.Settings() {
		v := c.Get(s.Name)
		list = append(list, configRow{s.Name, v.Text, v.Origin})
	}
	key, origin, err := o.key()
	if err != nil {
		return err
	}
	if key.IsZero() {
		origin = "none"
	}
	list = append(list, configRow{"api_key", key.String(), origin})
	rows := &cli.Rows{Columns: []string{"name", "value"}, Wide: 1}
	if o.showOrigin {
		rows.Columns = append(rows.Columns, "origin")
	}
	for _, r := range list {
		row := []string{r.Name, r.Value, r.Origin}
		rows.Rows = append(rows.Rows, row[:len(rows.Columns)])
	}
	doc, err := cli.Marshal(list)
	if err != nil {
		return err
	}
	return o.Print(ctx, cli.Answer{JSON: doc, Rows: rows})
}

// setting is the setting called name that a profile, "" for none, may have.
func setting(profile, name string) (config.Setting, error) {
	s, err := config.Find(name)
	if err != nil {
		return s, cli.Invalid("%w", err)
	}
	if profile != "" && s.Name == config.Profile {
		return s, cli.Invalid("a profile cannot name a profile").WithHint("ctx config profile use %s", profile)
	}
	return s, nil
}

// profileFlag is the profile given by flag, "" if none: what is written goes there.
func profileFlag(c *cobra.Command) (string, error) {
	profile, err := c.Flags().GetString("profile")
	if err == nil && profile != "" {
		s, _ := config.Find(config.Profile)
		if err := s.Check(profile); err != nil {
			return "", cli.Invalid("%w", err)
		}
	}
	return profile, err
}

// set writes a setting, checked: what is in the file can be used.
func (o *configOptions) set(c *cobra.Command, args []string) error {
	profile, err := profileFlag(c)
	if err != nil {
		return err
	}
	s, err := setting(profile, args[0])
	if err != nil {
		return err
	}
	if err := s.Check(args[1]); err != nil {
		return cli.Invalid("%w", err)
	}
	paths, err := o.paths()
	if err != nil {
		return cli.Invalid("%w", err)
	}
	return paths.Set(profile, s.Name, args[1])
}

// unset takes a setting out, so that the layer below shows.
func (o *configOptions) unset(c *cobra.Command, args []string) error {
	profile, err := profileFlag(c)
	if err != nil {
		return err
	}
	s, err := setting(profile, args[0])
	if err != nil {
		return err
	}
	paths, err := o.paths()
	if err != nil {
		return cli.Invalid("%w", err)
	}
	return paths.Unset(profile, s.Name)
}

// path shows where the file is, whether it is there or not.
func (o *configOptions) path(*cobra.Command, []string) error {
	paths, err := o.paths()
	if err != nil {
		return cli.Invalid("%w", err)
	}
	_, err = fmt.Fprintln(o.Out, paths.File)
	return err
}

// edit opens the file in an editor and reads it afterwards, so that a mistake is told at once.
func (o *configOptions) edit(cmd *cobra.Command, _ []string) error {
	paths, err := o.paths()
	if err != nil {
		return cli.Invalid("%w", err)
	}
	editor := strings.Fields(o.Env("VISUAL"))
	if len(editor) == 0 {
		editor = strings.Fields(o.Env("EDITOR"))
	}
	if len(editor) == 0 {
		return cli.Invalid("neither VISUAL nor EDITOR is set").WithHint("EDITOR=vi ctx config edit, or edit %s", paths.File)
	}
	if err := os.MkdirAll(paths.Dir, 0o700); err != nil {
		return fmt.Errorf("edit configuration: %w", err)
	}
	run := exec.CommandContext(cmd.Context(), editor[0], append(editor[1:], paths.File)...)
	run.Stdin, run.Stdout, run.Stderr = o.In, o.Out, o.Err
	if err := run.Run(); err != nil {
		return fmt.Errorf("edit configuration with %s: %w", editor[0], err)
	}
	c, err := o.config()
	if err == nil {
		_, err = keymap(c)
	}
	return err
}
