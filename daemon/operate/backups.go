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
	Keep    int           // how many stay; 0 means all
	Now     func() time.Time
	Logger  *slog.Logger
}

func (b Backups) dir() string { return cmp.Or(b.Dir, filepath.Join(b.DataDir, backup.BackupDir)) }

// Make makes one now, beside the schedule. Where the books in it do not agree, it is there nevertheless, and that is the error.
func (b Backups) Make(ctx context.Context) error {
	now := b.Now()
	path, m, err := backup.SaveTo(b.dir(), now, b.Keep, func(w io.Writer) error {
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
		newest, err := backup.Newest(b.dir())
		if err != nil {
			b.Logger.Error("backups not listed", "error", err)
		}
		timer := time.NewTimer(untilBackup(newest, b.Now(), b.Every, failed || err != nil))
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
