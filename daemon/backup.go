package daemon

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/contextd/contextd/daemon/backup"
)

const jobBackup = "backup"

func (d *Daemon) backupDir() string {
	if d.cfg.Backup.Dir != "" {
		return d.cfg.Backup.Dir
	}
	return filepath.Join(d.cfg.DataDir, backup.BackupDir)
}

// BackUp makes a backup now, beside the schedule. Where the books in it do not agree, it is there nevertheless, and that is the error.
func (d *Daemon) BackUp(ctx context.Context) error {
	now := d.cfg.Now()
	path, m, err := backup.SaveTo(d.backupDir(), now, d.cfg.Backup.Keep, func(w io.Writer) error {
		_, err := backup.BackUp(ctx, d.cfg.DataDir, now, w)
		return err
	})
	if err != nil {
		return err
	}
	if len(m.Findings) > 0 {
		return fmt.Errorf("the books in %s do not agree, so older backups are kept: %s", path, m.Findings[0])
	}
	return nil
}

// backUpOnSchedule makes a backup whenever the newest is as old as the configuration wants, also if it was made before the start, until
// ctx is done. Many starts in a row thus make no many backups, which would push out the older ones.
func (d *Daemon) backUpOnSchedule(ctx context.Context) {
	failed := false
	for {
		newest, err := backup.Newest(d.backupDir())
		if err != nil {
			d.cfg.Logger.Error("backups not listed", "error", err)
		}
		timer := time.NewTimer(untilBackup(newest, d.cfg.Now(), d.cfg.Backup.Every, failed || err != nil))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		failed = d.RunJob(ctx, jobBackup) != nil // logged
	}
}

// untilBackup is how long the next backup is to wait where the newest was made at the given time, zero for never. One that has failed is
// tried again soon, unless the newest is young enough: it may be what the failure has left, and more like it would push out the older ones.
func untilBackup(newest, now time.Time, every time.Duration, failed bool) time.Duration {
	const again = 10 * time.Minute
	wait := min(newest.Add(every).Sub(now), every)
	if failed {
		wait = max(wait, min(every, again))
	}
	return wait
}
