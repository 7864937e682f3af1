package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/internal/cli"
)

// newServe makes the command that runs the daemon.
func newServe(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Run the daemon", Args: cobra.NoArgs,
		Example: "  contextd serve\n  contextd serve --listen 0.0.0.0:8402 --data-dir /var/lib/contextd",
	}
	s.BindServe(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		hangUps := make(chan os.Signal, 1)
		signal.Notify(hangUps, syscall.SIGHUP) // from the start: by default it ends a process
		defer signal.Stop(hangUps)
		r, err := newReloader(s, c.ErrOrStderr())
		if err != nil {
			return err
		}
		if r.cfg.Listener, err = handedOver(); err != nil {
			return err
		}
		if r.daemon, err = openDaemon(c.Context(), r.cfg); err != nil {
			return err
		}
		if withdraw, err := cli.Announce(os.LookupEnv, cli.Running{BaseURL: r.daemon.URL(), DataDir: r.cfg.DataDir}); err != nil {
			r.cfg.Logger.Debug("ctx does not find this service by itself", "error", err)
		} else {
			defer func() { _ = withdraw() }()
		}
		if cli.IsTerminal(c.OutOrStdout()) {
			in := ""
			if c.Flags().Changed("data-dir") {
				in = " --data-dir " + r.cfg.DataDir
			}
			greet(c.OutOrStdout(), r.cfg, r.daemon.URL(), in)
		}
		return r.run(c.Context(), hangUps)
	}
	return c
}

// comesIn is how long a database may take to answer when the daemon starts: it may start at the same time.
const comesIn = 30 * time.Second

// openDaemon opens the daemon, with patience for a database that does not answer yet.
func openDaemon(ctx context.Context, cfg daemon.Config) (*daemon.Daemon, error) {
	for end := time.Now().Add(comesIn); ; {
		d, err := daemon.Open(ctx, cfg)
		var away interface{ Unavailable() bool }
		if !errors.As(err, &away) || !away.Unavailable() || time.Now().After(end) {
			return d, err
		}
		cfg.Logger.Warn("the database does not answer; trying again", "error", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

// greet shows on a terminal the address of the daemon and the next commands. in says to other commands on
// which data directory.
func greet(w io.Writer, cfg daemon.Config, url, in string) {
	var packs []string
	for _, p := range cfg.Packs {
		packs = append(packs, p.ID)
	}
	fmt.Fprintf(w, "contextd %s\n\n", build.Read().Version)
	if cfg.Page != web.PageOff {
		fmt.Fprintf(w, "  page     %s/\n", url)
	}
	fmt.Fprintf(w, "  address  %s\n  packs    %s\n  data     %s\n\nIn another terminal:\n\n", url, strings.Join(packs, ", "), cfg.DataDir)
	for _, line := range []string{
		"contextd keys create my-agent" + in, "export CTX_BASE_URL=" + url, "export CTX_API_KEY=KEY",
		ctxCommand() + " state", ctxCommand() + " ui", "contextd doctor" + in,
	} {
		fmt.Fprintln(w, "  "+line)
	}
	fmt.Fprint(w, "\nA new state every five minutes. Ctrl-C ends it.\n\n")
}

// run runs d until ctx is done and closes it.
func run(ctx context.Context, d *daemon.Daemon) error {
	return errors.Join(d.Run(ctx), d.Close())
}
