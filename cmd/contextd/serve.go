package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

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
	s.bind("admin.listen", c.Flags().Lookup("admin-listen"))
	c.RunE = func(c *cobra.Command, _ []string) error {
		hangUps := make(chan os.Signal, 1)
		signal.Notify(hangUps, syscall.SIGHUP) // from the start: by default it ends a process
		defer signal.Stop(hangUps)
		r, err := newReloader(s, c.ErrOrStderr())
		if err != nil {
			return err
		}
		if r.cfg.Listener, err = Listener(); err != nil {
			return err
		}
		if r.daemon, err = daemon.Open(c.Context(), r.cfg); err != nil {
			return err
		}
		return r.run(c.Context(), hangUps)
	}
	return c
}

// run runs d until ctx is done and closes it.
func run(ctx context.Context, d *daemon.Daemon) error {
	return errors.Join(d.Run(ctx), d.Close())
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
	c.RunE = func(c *cobra.Command, args []string) error {
		complete := func(w io.Writer) error {
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
		if out == "" {
			return complete(c.OutOrStdout())
		}
		return writeFile(out, complete)
	}
	return c
}

// writeFile writes what write writes to the file at path. It has not been written before it is closed.
func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(filepath.Clean(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f)
}
