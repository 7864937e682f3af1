package operate_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/operate"
)

// TestUntilBackup: when the next backup is due, by the age of the newest.
func TestUntilBackup(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	now := time.Unix(1_800_000_000, 0)
	for name, c := range map[string]struct {
		newest time.Time
		every  time.Duration
		failed bool
		want   time.Duration
	}{
		"an hour old":              {now.Add(-time.Hour), day, false, 23 * time.Hour},
		"an hour old after all":    {now.Add(-time.Hour), day, true, 23 * time.Hour},
		"made by what has failed":  {now, day, true, day},
		"of the future":            {now.Add(time.Hour), day, false, day},
		"almost due, failed":       {now.Add(-day + time.Minute), day, true, 10 * time.Minute},
		"overdue, failed":          {now.Add(-2 * day), day, true, 10 * time.Minute},
		"each minute, failed":      {now.Add(-day), time.Minute, true, time.Minute},
		"overdue":                  {now.Add(-2 * day), day, false, -day},
		"overdue by a little":      {now.Add(-day - time.Second), day, false, -time.Second},
		"in need of one this week": {now.Add(-6 * day), 7 * day, false, day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := operate.UntilBackup(c.newest, now, c.every, c.failed); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	if got := operate.UntilBackup(time.Time{}, now, day, false); got > 0 {
		t.Errorf("without a backup the first is made in %s", got)
	}
}

// TestBackupSchedule: a backup is made when the newest is old enough, and one that failed is made again after ten minutes.
func TestBackupSchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		dir := t.TempDir()
		b := operate.Backups{Dir: dir, Every: time.Hour, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
		began := time.Now()
		if err := os.WriteFile(filepath.Join(dir, backup.Name(began.Add(-30*time.Minute))), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var made []time.Duration
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			b.Schedule(ctx, func(context.Context) error {
				made = append(made, time.Since(began))
				if len(made) == 1 {
					return errors.New("the disk is full")
				}
				return os.WriteFile(filepath.Join(dir, backup.Name(time.Now())), nil, 0o600)
			})
		}()
		time.Sleep(2 * time.Hour)
		end()
		<-ended
		if len(made) != 3 || made[0] != 30*time.Minute || made[1] != 40*time.Minute || made[2] != 100*time.Minute {
			t.Errorf("made after %v", made)
		}
		b.Every = 0
		b.Schedule(t.Context(), func(context.Context) error { t.Error("one is made that nobody wants"); return nil })
	})
}

// TestNoRoom: where the disk has no room for a backup, none is begun.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	data, to := t.TempDir(), filepath.Join(t.TempDir(), "backups")
	if err := os.WriteFile(filepath.Join(data, "contextd.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(data, "contextd.db"), 8<<40); err != nil { // a hole
		t.Fatal(err)
	}
	b := operate.Backups{DataDir: data, Dir: to, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
	if err := b.Make(t.Context()); !errors.Is(err, backup.ErrRoom) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", to, err)
	}
}
