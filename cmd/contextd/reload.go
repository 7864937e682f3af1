package main

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
)

// reloader runs a daemon and reads its settings again when it is told to.
type reloader struct {
	settings *settings
	cfg      daemon.Config // as the daemon was opened with
	daemon   *daemon.Daemon
	level    slog.LevelVar
	systemd  *notifier

	mu    sync.Mutex // guards inUse and packs, and settings while the daemon runs
	inUse config.InUse
	packs []daemon.Pack // that are served
}

// newReloader reads the settings for the first time.
func newReloader(s *settings, logTo io.Writer) (*reloader, error) {
	cfg, err := s.Load()
	if err != nil {
		return nil, err
	}
	r := &reloader{settings: s}
	log := newLogger(logTo, cfg.Log.Format, &r.level)
	if err := r.setLevel(cfg); err != nil {
		return nil, err
	}
	if r.cfg, err = cfg.Daemon(log); err != nil {
		return nil, err
	}
	r.cfg.Reload, r.systemd, r.inUse, r.packs = r.reload, newNotifier(log), cfg.InUse(), r.cfg.Packs
	return r, nil
}

// setLevel changes how much is logged.
func (r *reloader) setLevel(cfg *config.Config) error {
	level, err := cfg.Level()
	if err == nil {
		r.level.Set(level)
	}
	return err
}

// run runs the daemon until ctx is done and closes it. Each signal of hangUps makes it read its settings again.
func (r *reloader) run(ctx context.Context, hangUps <-chan os.Signal) error {
	watched, unwatch := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		r.systemd.Supervise(watched, func(ctx context.Context) error { return admin.Alive(ctx, r.cfg.DataDir) })
	})
	all.Go(func() {
		for {
			select {
			case <-watched.Done():
				return
			case <-hangUps:
				_, _ = r.reload(watched) // which has logged what is wrong
			}
		}
	})
	err := run(ctx, r.daemon)
	unwatch()
	all.Wait()
	return err
}

// reload reads the settings again and puts in effect what can change now. Where something is wrong with them, all stay as they were.
func (r *reloader) reload(ctx context.Context) (done admin.ReloadResponse, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.systemd.Reloading()
	defer r.systemd.Ready()
	log := r.cfg.Logger
	cfg, err := r.settings.Load()
	var next daemon.Config
	if err == nil {
		next, err = cfg.Daemon(log)
	}
	if err == nil {
		err = r.daemon.Apply(ctx, next.Reloadable)
	}
	if err == nil {
		err = r.setLevel(cfg)
	}
	if err != nil {
		log.Error("reload failed; settings unchanged", "error", err)
		return done, err
	}
	r.inUse, done.Changed, done.Restart = r.inUse.After(cfg.InUse())
	done.Packs, r.packs = changedPacks(r.packs, next.Packs), next.Packs
	log.Info("settings reloaded", "file", cfg.File, "changed", done.Changed, "after_restart", done.Restart, "packs", done.Packs)
	return done, nil
}

// changedPacks are the ids, sorted, of the packs that only one of was and now has, or that they have in two makes.
func changedPacks(was, now []daemon.Pack) []string {
	made := map[string]daemon.Pack{}
	for _, p := range was {
		made[p.ID] = p
	}
	changed := []string{}
	for _, p := range now {
		if old, is := made[p.ID]; !is || !old.Same(p.Pack) {
			changed = append(changed, p.ID)
		}
		delete(made, p.ID)
	}
	changed = slices.AppendSeq(changed, maps.Keys(made))
	slices.Sort(changed)
	return changed
}

// newReload makes the command that has the daemon read its settings again.
func newReload(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "reload", Short: "Reload the settings of the running daemon", Args: cobra.NoArgs,
		Long: "Reload the settings of the running daemon, like SIGHUP, and print the changes. If anything is wrong, all\n" +
			"settings stay as they were. Packs and their manifests, log level, limits, tiers, alerts, disabled sources,\n" +
			"trusted proxies and the certificate change at once; the command lists other changes, which need a restart.",
		RunE: func(c *cobra.Command, _ []string) error {
			return s.operate(c, func(o *admin.Operator) error {
				done, err := o.Reload(c.Context())
				if err != nil {
					return err
				}
				text := "nothing has changed\n"
				if len(done.Changed)+len(done.Packs)+len(done.Restart) > 0 {
					text = ""
				}
				for _, part := range []struct {
					title string
					names []string
				}{{"changed", done.Changed}, {"packs", done.Packs}, {"after a restart", done.Restart}} {
					if len(part.names) > 0 {
						text += part.title + ": " + strings.Join(part.names, ", ") + "\n"
					}
				}
				_, err = io.WriteString(c.OutOrStdout(), text)
				return err
			})
		},
	}
}
