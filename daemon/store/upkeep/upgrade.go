package upkeep

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/contextd/contextd/daemon/store/datadir"
	"github.com/contextd/contextd/daemon/store/sqlite"
)

// BeforeUpgrade makes a backup of dir where opening its databases would migrate one of them, and returns its path, else "". A database that
// a newer program wrote is refused with sqlite.ErrNewer in the chain of the error. The caller holds the lock on dir.
func BeforeUpgrade(ctx context.Context, dir string, now time.Time) (path string, err error) {
	databases, err := Look(ctx, dir, false)
	if err != nil {
		return "", err
	}
	older := false
	for _, d := range databases {
		if d.Schema > d.Known {
			return "", fmt.Errorf("%w: %s has schema %d, this program knows %d; install a newer contextd", sqlite.ErrNewer, d.Name, d.Schema, d.Known)
		}
		older = older || 0 < d.Schema && d.Schema < d.Known
	}
	if !older {
		return "", nil
	}
	to := filepath.Join(dir, BackupDir)
	if err := makeDir(to); err != nil {
		return "", err
	}
	path = filepath.Join(to, upgradePrefix+datadir.Stamp(now)+suffix)
	if _, err := Save(path, func(w io.Writer) error {
		_, err := BackUp(ctx, dir, now, w)
		return err
	}); err != nil {
		return "", fmt.Errorf("back up before the databases are upgraded: %w", err)
	}
	return path, nil
}
