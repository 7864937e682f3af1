package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
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
