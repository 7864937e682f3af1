package operate

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/contextd/contextd/daemon/backup"
)

// Backups makes backups of a data directory, as a job and on a schedule.
type Backups struct {
	DataDir string
	Dir     string        // that they go to; "" means backup.BackupDir in DataDir
	Every   time.Duration // from one to the next; 0 means that none is made on a schedule
	Within  backup.Bounds // how much stays
	Now     func() time.Time
	Logger  *slog.Logger
}

// Place is the directory that they go to.
func (b Backups) Place() string { return cmp.Or(b.Dir, filepath.Join(b.DataDir, backup.BackupDir)) }

// Made is what there is.
func (b Backups) Made() (backup.Made, error) { return backup.Saved(b.Place()) }

// Reading is when the newest was made, as far as that can be told, and how often one is to be.
func (b Backups) Reading() (newest time.Time, every time.Duration) {
	made, _ := b.Made() // a directory that cannot be read has none that counts
	return made.Newest, b.Every
}

// Make makes one now, beside the schedule, unless the disk has no room for it. Where the books in it do not agree, it is there
// nevertheless, and that is the error.
func (b Backups) Make(ctx context.Context) error {
	if err := backup.Fits(b.DataDir, b.Place()); err != nil {
		return err
	}
	now := b.Now()
	path, m, err := backup.SaveTo(b.Place(), now, b.Within, func(w io.Writer) error {
		_, err := backup.BackUp(ctx, b.DataDir, now, w)
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

// Schedule calls run, which runs Make as a job and logs its failure, whenever the newest backup is as old as Every says, until ctx is done.
// A backup from before the start counts too: with many starts in a row, many backups would push out the older ones.
func (b Backups) Schedule(ctx context.Context, run func(ctx context.Context) error) {
	if b.Every == 0 {
		return
	}
	failed := false
	for {
		made, err := b.Made()
		if err != nil {
			b.Logger.Error("backups not listed", "error", err)
		}
		timer := time.NewTimer(untilBackup(made.Newest, b.Now(), b.Every, failed || err != nil))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		failed = run(ctx) != nil
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
