package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
)

// reloader runs a daemon and reads its settings again when it is told to.
type reloader struct {
	settings *settings
	cfg      daemon.Config // as the daemon was opened with
	daemon   *daemon.Daemon
	level    slog.LevelVar
	systemd  *Notifier

	mu    sync.Mutex       // guards inUse and packs, and settings while the daemon runs
	inUse map[string]value // by setting
	packs []daemon.Pack    // that are served
}

// value is that of a setting, and what is in the file that it names.
type value struct {
	text string
	sum  [sha256.Size]byte
}

// newReloader reads the settings for the first time.
func newReloader(s *settings, logTo io.Writer) (*reloader, error) {
	cfg, _, err := s.read()
	if err != nil {
		return nil, err
	}
	r := &reloader{settings: s}
	log := newLogger(logTo, cfg.Log.Format, &r.level)
	if err := r.setLevel(cfg); err != nil {
		return nil, err
	}
	if r.cfg, err = cfg.daemon(log); err != nil {
		return nil, err
	}
	r.cfg.Reload, r.systemd, r.inUse, r.packs = r.reload, NewNotifier(log), s.values(), r.cfg.Packs
	return r, nil
}

// setLevel changes how much is logged.
func (r *reloader) setLevel(cfg config) error {
	level, err := cfg.level()
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
	cfg, file, err := r.settings.read()
	var next daemon.Config
	if err == nil {
		next, err = cfg.daemon(log)
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
	done = r.changes(r.settings.values())
	done.Packs, r.packs = changedPacks(r.packs, next.Packs), next.Packs
	log.Info("settings reloaded", "file", file, "changed", done.Changed, "after_restart", done.Restart, "packs", done.Packs)
	return done, nil
}

// changes notes the values that are in use now, and says which are others than before. The caller holds mu.
func (r *reloader) changes(now map[string]value) admin.ReloadResponse {
	done := admin.ReloadResponse{Changed: []string{}, Restart: []string{}}
	sameFiles := r.inUse[certFile].text == now[certFile].text && r.inUse[certKeyFile].text == now[certKeyFile].text
	for _, s := range Table() {
		was, is := r.inUse[s.Key], now[s.Key]
		certificate := s.Key == certFile || s.Key == certKeyFile // what is in them is read again, unless one has another name
		switch {
		case was == is:
		case s.Live || certificate && sameFiles:
			r.inUse[s.Key] = is
			done.Changed = append(done.Changed, s.Key)
		default:
			done.Restart = append(done.Restart, s.Key)
		}
	}
	return done
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

// values are those in effect, after read.
func (s *settings) values() map[string]value {
	values := map[string]value{}
	for _, row := range Table() {
		if row.Section() {
			continue
		}
		v := value{text: fmt.Sprint(s.v.Get(row.Key))}
		if row.Credential() != "" && v.text != "" {
			if text, err := os.ReadFile(v.text); err == nil { // else read has said so
				v.sum = sha256.Sum256(text)
			}
		}
		if row.Members != nil {
			v.sum = s.filesSum(row.Key)
		}
		values[row.Key] = v
	}
	return values
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
