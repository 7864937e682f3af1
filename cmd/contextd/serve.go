package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon"
)

// newServe makes the command that runs the daemon.
func newServe(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Run the daemon", Args: cobra.NoArgs,
		Example: "  contextd serve\n  contextd serve --listen 0.0.0.0:8402 --data-dir /var/lib/contextd",
	}
	s.bindListen(c)
	c.Flags().String("admin-listen", "", "address for metrics and profiles, such as 127.0.0.1:8403; none unless set")
	_ = s.v.BindPFlag("admin.listen", c.Flags().Lookup("admin-listen"))
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, _, err := s.read()
		if err != nil {
			return err
		}
		log, err := cfg.logger(c.ErrOrStderr())
		if err != nil {
			return err
		}
		settings, err := cfg.daemon(log)
		if err != nil {
			return err
		}
		d, err := daemon.Open(c.Context(), settings)
		if err != nil {
			return err
		}
		return run(c.Context(), d)
	}
	return c
}

// run runs d until ctx is done and closes it.
func run(ctx context.Context, d *daemon.Daemon) error {
	return errors.Join(d.Run(ctx), d.Close())
}

// newCheckConfig makes the command that checks the configuration without starting anything.
func newCheckConfig(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "check-config", Short: "Check the configuration and print what is in effect", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, file, err := s.read()
			if err != nil {
				return err
			}
			if _, err := cfg.daemon(nil); err != nil {
				return err
			}
			if file == "" {
				file = "none (defaults, environment and flags)"
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, row := range append([][2]string{
				{"file", file}, {"data_dir", cfg.DataDir}, {"listen", cfg.Listen}, {"log.level", cfg.Log.Level}, {"log.format", cfg.Log.Format},
				{"log.calls", fmt.Sprint(cfg.Log.Calls)}, {"admin.listen", cfg.Admin.Listen}, {"jobs.key_file", cfg.Jobs.KeyFile},
				{"backup", fmt.Sprintf("every %q, keep %d, dir %q", cfg.Backup.Every, cfg.Backup.Keep, cfg.Backup.Dir)}, {"litestream", fmt.Sprint(cfg.Litestream)},
				{"sources.disabled", fmt.Sprint(cfg.Sources.Disabled)},
				{"mcp", fmt.Sprintf("%+v", cfg.MCP)},
			}, append(cfg.Brief.Rows(), cfg.rows()...)...) {
				fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
			}
			return w.Flush()
		},
	}
}

// newCompletion makes the command that prints shell completions.
func newCompletion() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print the completion script of a shell",
		Args: cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs), ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Example: "  contextd completion bash > /etc/bash_completion.d/contextd",
	}
	c.Flags().StringVar(&out, "out", "", "write to this file instead of standard output")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		w := c.OutOrStdout()
		if out != "" {
			f, err := os.Create(filepath.Clean(out))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, f.Close()) }()
			w = f
		}
		switch root := c.Root(); args[0] {
		case "bash":
			return root.GenBashCompletionV2(w, true)
		case "zsh":
			return root.GenZshCompletion(w)
		case "fish":
			return root.GenFishCompletion(w, true)
		default:
			return root.GenPowerShellCompletionWithDesc(w)
		}
	}
	return c
}
