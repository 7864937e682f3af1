package backup

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store/database"
)

// BeforeUpgrade makes a backup of dir where opening its databases would migrate one of them, and returns its path, else "". Where the last
// such backup holds the same, that one stays the only one: a migration that fails at every start must not fill the disk. A database that
// a newer program wrote is refused with database.ErrNewer in the chain of the error. The caller holds the lock on dir.
func BeforeUpgrade(ctx context.Context, dir string, now time.Time) (path string, err error) {
	if database.IsURL(dir) { // whose scripts run whole or not at all, and whose backups are others' matter
		return "", nil
	}
	databases, err := Status(ctx, dir, false)
	if err != nil {
		return "", err
	}
	older := false
	for _, d := range databases {
		if d.Schema > d.Known {
			return "", fmt.Errorf("%w: %s has schema %d, this program knows %d; install a newer contextd",
				database.ErrNewer, d.Name, d.Schema, d.Known)
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
	m, err := Save(path, func(w io.Writer) error {
		_, err := BackUp(ctx, dir, now, w)
		return err
	})
	if err == nil {
		err = datadir.GiveTo(path, to)
	}
	if err != nil {
		return "", fmt.Errorf("back up before the databases are upgraded: %w", err)
	}
	last, err := lastUpgrade(to, path)
	if err != nil || last == "" || !holds(last, m) {
		return path, err
	}
	return last, os.Remove(path)
}

// lastUpgrade is the newest of the backups in dir that were made before upgrades, but for fresh; "" if there is none.
func lastUpgrade(dir, fresh string) (path string, err error) {
	entries, err := os.ReadDir(dir) // by name, which is by moment
	if err != nil {
		return "", fmt.Errorf("list backups: %w", err)
	}
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), upgradePrefix) && strings.HasSuffix(e.Name(), suffix) && at != fresh {
			path = at
		}
	}
	return path, nil
}

// holds reports whether the archive at path is whole and has the files of m.
func holds(path string, m Manifest) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	have, err := Check(f)
	return err == nil && slices.Equal(have.Files, m.Files)
}
