package daemon_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/sdk/api"
)

// restored restores a backup in a directory of its own.
func restored(t *testing.T, archive []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "restored")
	lock, err := datadir.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := backup.Restore(t.Context(), bytes.NewReader(archive), dir, time.Now(), func(u backup.Unpacked) error {
		if len(u.Problems) > 0 || u.States == 0 {
			t.Errorf("%d states, %v", u.States, u.Problems)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestScheduledBackups lets a daemon back itself up: at once where there is no backup, not again at the next start, and by hand.
func TestScheduledBackups(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")
	scheduled := func(c *daemon.Config) {
		c.Backup = daemon.Backup{Dir: to, Every: 24 * time.Hour, Within: backup.Bounds{Keep: 2}}
	}
	d := daemontest.Start(t, at(dir), scheduled)
	names := func() []string {
		list, err := filepath.Glob(filepath.Join(to, "contextd-*.tar.zst"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	until(t, "there is a backup", func() bool { return len(names()) > 0 })
	first := names()
	d.Stop(t)
	d = daemontest.Start(t, at(dir), scheduled)
	for range 3 {
		d.Clock.Advance(time.Minute)
		if err := d.RunJob(t.Context(), "backup"); err != nil {
			t.Fatal(err)
		}
	}
	for _, job := range d.Jobs() {
		if job.Name == "backup" && job.Runs != 3 {
			t.Errorf("since the second start there were %d backups, 3 of them by hand", job.Runs)
		}
	}
	d.Stop(t)
	if got := names(); len(got) != 2 || slices.Contains(got, first[0]) {
		t.Errorf("there are %v", got)
	}
	for _, name := range names() {
		archive, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		restored(t, archive)
	}
}

// TestFailedBackups: the job fails where the books in a backup do not agree or an older backup cannot be removed. The new one is there
// all the same.
func TestFailedBackups(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	dir, to := t.TempDir(), t.TempDir()
	d := daemontest.Start(t, at(dir), func(c *daemon.Config) { c.Backup = daemon.Backup{Dir: to, Within: backup.Bounds{Keep: 1}} })
	key := d.Key(t, api.TierFree)[:api.KeyIDLength]
	fails := func(with string) {
		t.Helper()
		d.Clock.Advance(time.Hour)
		if err := d.RunJob(t.Context(), "backup"); err == nil || !strings.Contains(err.Error(), with) {
			t.Errorf("the job: %v, want %q", err, with)
		}
		if job := jobOf(t, d, "backup"); job.Failures != job.Runs || !strings.Contains(job.Error, with) {
			t.Errorf("the job stands at %+v", job)
		}
		made, err := backup.Saved(to)
		if err != nil || !made.Newest.Equal(d.Clock.Now()) {
			t.Errorf("the newest backup is of %v, %v", made.Newest, err)
		}
	}
	stuck := filepath.Join(to, backup.Name(d.Clock.Now().Add(-day)))
	if err := errors.Join(os.Mkdir(stuck, 0o700), os.WriteFile(filepath.Join(stuck, "x"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	fails(filepath.Base(stuck))
	db, err := sql.Open("sqlite3", filepath.Join(dir, store.File))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "UPDATE keys SET credits = credits + 1"); err != nil {
		t.Fatal(err)
	}
	fails(key)
}

// TestUpgradeIsBackedUp opens books as an older program left them: by the daemon and by the operator, each after a backup.
func TestUpgradeIsBackedUp(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(dir string){
		"daemon": func(dir string) { daemontest.Open(t, at(dir)).Stop(t) },
		"operator": func(dir string) {
			o, err := admin.Open(t.Context(), admin.Config{DataDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			db, err := sql.Open("sqlite3", filepath.Join(dir, store.File))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			first, err := os.ReadFile("store/migrations/0001_owners_and_keys.sql")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), string(first)+`;
				CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
				INSERT INTO schema_migrations VALUES (1, '0001_owners_and_keys.sql', 0);
				INSERT INTO owners VALUES ('o', 'free', 0)`); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Close(), os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600)); err != nil { // it is contextd's
				t.Fatal(err)
			}
			for range 2 { // the second time there is nothing to upgrade
				open(dir)
			}
			made, err := os.ReadDir(filepath.Join(dir, backup.BackupDir))
			if err != nil || len(made) != 1 || !strings.HasPrefix(made[0].Name(), "before-upgrade-") {
				t.Errorf("there are %v, %v", made, err)
			}
		})
	}
}
