package backup_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/sdk/api"
)

// TestPair backs up while states are saved and calls that use them are charged. In every copy the books agree, and the state of the last
// call in the books is in history.
func TestPair(t *testing.T) {
	t.Parallel()
	d := newData(t)
	d.writeAll(0, 5)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	written := make(chan int, 1)
	go func() {
		n := 5
		for ; ctx.Err() == nil; n++ {
			if err := d.write(n); err != nil {
				ended <- err
				return
			}
		}
		written <- n
		ended <- nil
	}()
	var archives [][]byte
	for range 8 {
		archives = append(archives, backUp(t, d.dir))
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	last := -1
	for _, a := range archives {
		copied := openData(t, restore(t, a))
		moved, saved := copied.newest()
		if moved < last || moved < 4 || saved < moved {
			t.Errorf("a copy has the call of state %d and the states to %d; the copy before had the call of %d", moved, saved, last)
		}
		last = moved
		if text, err := os.ReadFile(filepath.Join(copied.dir, "quote.keys")); err != nil || string(text) != "secret\n" {
			t.Errorf("the keys are %q, %v", text, err)
		}
	}
	t.Logf("%d states while %d backups were made", <-written, len(archives))
	if entries, err := filepath.Glob(filepath.Join(d.dir, "backup-*")); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestBooksComeFirst holds the history up: the books of the copy are those of before it could be read.
func TestBooksComeFirst(t *testing.T) {
	t.Parallel()
	d := newData(t)
	d.writeAll(0, 3)
	if err := d.history.Close(); err != nil {
		t.Fatal(err)
	}
	held := connect(t, filepath.Join(d.dir, "history.db"))
	if _, err := held.ExecContext(t.Context(), "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT"); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		_, err := backup.BackUp(t.Context(), d.dir, epoch(), &archive)
		ended <- err
	}()
	books := connect(t, filepath.Join(d.dir, store.File))
	n := 2
	move := func() {
		n++
		if err := d.move(n); err != nil {
			t.Fatal(err)
		}
	}
	// A log with something new cannot be begun again while somebody reads what was before. One look at the schema is over soon.
	for inRow := 0; inRow < 5; {
		move()
		var pinned, log, done int
		if err := books.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(RESTART)").Scan(&pinned, &log, &done); err != nil {
			t.Fatal(err)
		}
		if inRow++; pinned == 0 {
			inRow = 0
		}
		select {
		case err := <-ended:
			t.Fatalf("the books were not read while history could not be: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	move()
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	copied := openData(t, restore(t, archive.Bytes()))
	if moved, saved := copied.newest(); moved >= n || saved != 2 {
		t.Errorf("the copy has movement %d, made when only the history was missing", moved)
	}
}

// TestChargesAroundABackup backs books up between two charges: the copy has the first, once, and agrees.
func TestChargesAroundABackup(t *testing.T) {
	t.Parallel()
	d := newData(t)
	d.writeAll(0, 5)
	charge := func() {
		err := d.books.Charge(t.Context(), billing.Batch{
			Debits: map[string]int64{keyID: 2},
			Usage:  map[billing.UsageKey]billing.Count{{KeyID: keyID, Hour: epoch().Unix() / 3600, Op: api.OpFresh}: {Paid: 2}},
		}.Whole)
		if err != nil {
			t.Fatal(err)
		}
	}
	charge()
	archive := backUp(t, d.dir)
	charge()
	copied := openData(t, restore(t, archive))
	for have, books := range map[int64]*store.Store{1: d.books, 3: copied.books} {
		if findings, err := books.Audit(t.Context()); err != nil || len(findings) > 0 {
			t.Errorf("the audit finds %v, %v", findings, err)
		}
		usage, err := books.Usage(t.Context(), account.OperatorID, epoch())
		if got, _, err := books.Balance(t.Context(), account.OperatorID, keyID); err != nil || got != have {
			t.Errorf("there are %d credits, %v; want %d", got, err, have)
		}
		if err != nil || len(usage) != 1 || usage[0].Calls != 5-have {
			t.Errorf("the calls are %v, %v; want %d", usage, err, 5-have)
		}
	}
}

// connect is one connection to a database behind the back of the program.
func connect(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?_busy_timeout=0")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestDamagedArchives(t *testing.T) {
	t.Parallel()
	d := newData(t)
	d.writeAll(0, 3)
	whole := backUp(t, d.dir)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for name, archive := range map[string][]byte{
		"nothing": nil, "text": []byte("no archive"), "half": whole[:len(whole)/2], "no end": whole[:len(whole)-1], "a bit": flipped,
	} {
		if _, err := backup.Check(bytes.NewReader(archive)); !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		dir := t.TempDir()
		if _, err := backup.Restore(t.Context(), bytes.NewReader(archive), dir, epoch(), func(backup.Unpacked) error { return nil }); err == nil {
			t.Errorf("%s was restored", name)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%s left %v, %v", name, entries, err)
		}
	}
	if m, err := backup.Check(bytes.NewReader(whole)); err != nil || len(m.Files) != 3 {
		t.Errorf("%+v, %v", m, err)
	}
}

// change changes the books in dir behind the back of the program.
func change(t *testing.T, path, text string) {
	t.Helper()
	if _, err := connect(t, path).ExecContext(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

// TestFindings backs up books that do not agree: the backup is made and says so, older ones stay, and to restore it is a decision.
func TestFindings(t *testing.T) {
	t.Parallel()
	d := newData(t)
	d.writeAll(0, 3)
	change(t, filepath.Join(d.dir, store.File), "UPDATE keys SET credits = credits + 1")
	var archive bytes.Buffer
	m, err := backup.BackUp(t.Context(), d.dir, epoch(), &archive)
	if err != nil || len(m.Findings) != 1 || !strings.Contains(m.Findings[0].String(), keyID) {
		t.Fatalf("%+v, %v", m, err)
	}
	to := t.TempDir()
	for i := range 3 {
		if _, _, err := backup.SaveTo(to, epoch().Add(time.Duration(i)*time.Hour), backup.Bounds{Keep: 1}, func(w io.Writer) error {
			_, err := w.Write(archive.Bytes())
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(to); err != nil || len(entries) != 3 {
		t.Errorf("of three backups there are %d, %v", len(entries), err)
	}
	refused := errors.New("refused")
	if _, err := backup.Restore(t.Context(), &archive, to, epoch(), func(u backup.Unpacked) error {
		if len(u.Problems) != 1 {
			t.Errorf("problems: %v", u.Problems)
		}
		return refused
	}); !errors.Is(err, refused) {
		t.Error(err)
	}
}

// TestBroken backs up a database whose foreign keys lead nowhere, and one whose pages are scribbled over: neither becomes a backup.
func TestBroken(t *testing.T) {
	t.Parallel()
	d := newData(t)
	d.writeAll(0, 3)
	change(t, filepath.Join(d.dir, store.File), "PRAGMA foreign_keys = OFF; INSERT INTO prompts VALUES ('nobody', 'crypto', '', 1)")
	if _, err := backup.BackUp(t.Context(), d.dir, epoch(), io.Discard); !errors.Is(err, backup.ErrBroken) || !strings.Contains(err.Error(), "prompts") {
		t.Error(err)
	}

	scribbled := restore(t, backUp(t, newData(t).dir))
	path := filepath.Join(scribbled, store.File)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 2 * 4096; i < len(text); i++ {
		text[i] ^= 0x55
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.BackUp(t.Context(), scribbled, epoch(), io.Discard); err == nil {
		t.Error("a scribbled database was backed up")
	}
	if r, err := backup.Verify(t.Context(), scribbled); err != nil || len(r.Problems) == 0 {
		t.Errorf("a scribbled database is sound: %v", err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := backup.Verify(t.Context(), scribbled); err != nil || len(r.Problems) != 1 {
		t.Errorf("a text is a database: %v, %v", r.Problems, err)
	}
	if _, err := backup.BackUp(t.Context(), t.TempDir(), epoch(), io.Discard); !errors.Is(err, backup.ErrNothing) {
		t.Error(err)
	}
}

// TestDamagedState verifies a history of which one state was changed: SQLite does not see it, its checksum and its log do.
func TestDamagedState(t *testing.T) {
	t.Parallel()
	d := newData(t)
	d.writeAll(0, 3)
	if r, err := backup.Verify(t.Context(), d.dir); err != nil || r.States != 3 || len(r.Problems) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	change(t, filepath.Join(d.dir, "history.db"), "UPDATE pulses SET version = 7 WHERE id = 2")
	if r, err := backup.Verify(t.Context(), d.dir); err != nil || len(r.Problems) != 2 ||
		!strings.Contains(r.Problems[0].String(), "state 2") || !strings.Contains(r.Problems[1].String(), "leaf 1 proves") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestBoundInBytes: as many of the newest stay as fit together, but always the one just made.
func TestBoundInBytes(t *testing.T) {
	t.Parallel()
	archive := backUp(t, newData(t).dir)
	produce := func(w io.Writer) error { _, err := w.Write(archive); return err }
	size := int64(len(archive))
	for name, c := range map[string]struct {
		within backup.Bounds
		want   int
	}{
		"room for three":           {backup.Bounds{Bytes: 3 * size}, 3},
		"a byte less":              {backup.Bounds{Bytes: 3*size - 1}, 2},
		"less than one takes":      {backup.Bounds{Bytes: 1}, 1},
		"number below the room":    {backup.Bounds{Keep: 2, Bytes: 3 * size}, 2},
		"room below the number":    {backup.Bounds{Keep: 4, Bytes: 3 * size}, 3},
		"neither is bounded":       {backup.Bounds{}, 5},
		"a number, and no bytes":   {backup.Bounds{Keep: 5}, 5},
		"more room than there are": {backup.Bounds{Bytes: 9 * size}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for i := range 5 {
				if _, _, err := backup.SaveTo(dir, epoch().Add(time.Duration(i)*time.Hour), c.within, produce); err != nil {
					t.Fatal(err)
				}
			}
			want := backup.Made{Newest: epoch().Add(4 * time.Hour), Count: c.want, Bytes: int64(c.want) * size}
			if made, err := backup.Saved(dir); err != nil || made != want {
				t.Errorf("there is %+v, %v, want %+v", made, err, want)
			}
		})
	}
}

// TestLate: backups are late from two intervals on, where some are to be made.
func TestLate(t *testing.T) {
	t.Parallel()
	now := epoch()
	for _, c := range []struct {
		newest time.Time
		every  time.Duration
		want   bool
	}{
		{now.Add(-48 * time.Hour), 24 * time.Hour, false},
		{now.Add(-48*time.Hour - time.Second), 24 * time.Hour, true},
		{time.Time{}, 24 * time.Hour, true},
		{time.Time{}, 0, false},
	} {
		if got := (backup.Made{Newest: c.newest}).Late(c.every, now); got != c.want {
			t.Errorf("%v with %s: %t", c.newest, c.every, got)
		}
	}
}

// TestFits: no backup is made that leaves no room on the disk. A file with a hole is as large as no disk here.
func TestFits(t *testing.T) {
	t.Parallel()
	d := newData(t)
	to := filepath.Join(t.TempDir(), "not", "there", "yet")
	if err := backup.Fits(d.dir, to); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.dir, "history.db-wal")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(f.Truncate(8<<40), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := backup.Fits(d.dir, to); !errors.Is(err, backup.ErrRoom) || !strings.Contains(err.Error(), "backup.dir") {
		t.Errorf("%v", err)
	}
	if sizes, err := backup.Sizes(d.dir); err != nil || sizes["history.db"] < 8<<40 || sizes["contextd.db"] == 0 {
		t.Errorf("%v, %v", sizes, err)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	d := newData(t)
	archive := backUp(t, d.dir)
	produce := func(w io.Writer) error { _, err := w.Write(archive); return err }
	dir := filepath.Join(t.TempDir(), "new", "backups")
	if at, err := backup.Saved(dir); err != nil || at != (backup.Made{}) {
		t.Errorf("%v, %v", at, err)
	}
	for i := range 5 {
		if _, _, err := backup.SaveTo(dir, epoch().Add(time.Duration(i)*time.Hour), backup.Bounds{Keep: 3}, produce); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"before-upgrade-20261120T200000.000Z.tar.zst", "contextd-mine.tar.zst"} { // nobody else's business
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left := filepath.Join(dir, ".contextd-backup-1.partial")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(left, epoch().Add(-72*time.Hour), epoch().Add(-72*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if at, err := backup.Saved(dir); err != nil || !at.Newest.Equal(epoch().Add(4*time.Hour)) {
		t.Errorf("%v, %v", at, err)
	}
	path, _, err := backup.SaveTo(dir, epoch().Add(-time.Hour), backup.Bounds{Keep: 2}, produce) // the clock went back
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode of %s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
	want := []string{
		"before-upgrade-20261120T200000.000Z.tar.zst", "contextd-20261120T190000.000Z.tar.zst", "contextd-20261121T000000.000Z.tar.zst", "contextd-mine.tar.zst",
	}
	if !slices.Equal(names, want) || filepath.Base(path) != want[1] {
		t.Errorf("there are %v", names)
	}
	if _, err := backup.Save(dir, produce); err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Errorf("a directory was replaced: %v", err)
	}
	failed := errors.New("no")
	if _, _, err := backup.SaveTo(dir, epoch(), backup.Bounds{Keep: 1}, func(io.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	if now, err := os.ReadDir(dir); err != nil || len(now) != len(entries) {
		t.Errorf("after a failure there are %v, %v", now, err)
	}
}

// TestDirectoryOfAnother: the directory for backups that root makes is for the owner of the one that it is in.
func TestDirectoryOfAnother(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make files for others")
	}
	const user, group = 54321, 54322
	dir := t.TempDir()
	if err := os.Chown(dir, user, group); err != nil {
		t.Fatal(err)
	}
	archive := backUp(t, newData(t).dir)
	to := filepath.Join(dir, "new", "backups")
	if _, _, err := backup.SaveTo(to, epoch(), backup.Bounds{}, func(w io.Writer) error { _, err := w.Write(archive); return err }); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Dir(to), to} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != user || s.Gid != group || info.Mode().Perm() != 0o700 {
			t.Errorf("%s is of %d:%d with mode %04o", path, s.Uid, s.Gid, info.Mode().Perm())
		}
	}
}

// TestUpgrade opens books of every older schema: each is backed up first, and the backup restores to the newest schema.
func TestUpgrade(t *testing.T) {
	long.Test(t)
	t.Parallel()
	layout, err := store.Layout()
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob("../store/migrations/*.sql")
	if err != nil || layout.PageSize == 0 {
		t.Fatal(err)
	}
	for n := 1; n < len(scripts); n++ {
		dir := t.TempDir()
		older(t, dir, n)
		path, err := backup.BeforeUpgrade(t.Context(), dir, epoch())
		if err != nil || filepath.Base(path) != "before-upgrade-20261120T200000.000Z.tar.zst" {
			t.Fatalf("schema %d: %q, %v", n, path, err)
		}
		archive, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := backup.Check(bytes.NewReader(archive)); err != nil || m.Files[0].Schema != n {
			t.Errorf("schema %d: %+v, %v", n, m, err)
		}
		databases, err := backup.Status(t.Context(), restore(t, archive), false)
		if err != nil || databases[0].Schema != len(scripts) {
			t.Errorf("schema %d is restored as %+v, %v", n, databases, err)
		}
	}
	dir := t.TempDir()
	older(t, dir, len(scripts))
	if path, err := backup.BeforeUpgrade(t.Context(), dir, epoch()); path != "" || err != nil {
		t.Errorf("the newest schema: %q, %v", path, err)
	}
	older(t, dir, len(scripts)+1)
	if _, err := backup.BeforeUpgrade(t.Context(), dir, epoch()); !errors.Is(err, database.ErrNewer) || !strings.Contains(err.Error(), "newer contextd") {
		t.Errorf("a newer schema: %v", err)
	}
	var archive bytes.Buffer
	if _, err := backup.BackUp(t.Context(), dir, epoch(), &archive); !errors.Is(err, database.ErrNewer) {
		t.Errorf("a newer schema was backed up: %v", err)
	}
}

// TestUpgradeFails at every start: after the first there is a backup of what the migrations have left, and no more as long as that stays.
func TestUpgradeFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	older(t, dir, 3)
	scripts, err := os.ReadDir("../store/history/migrations")
	if err != nil || len(scripts) < 2 {
		t.Fatalf("history has %d migrations, %v", len(scripts), err)
	}
	change(t, filepath.Join(dir, "history.db"), `CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
		INSERT INTO schema_migrations VALUES (1, '`+scripts[0].Name()+`', 0)`)
	var paths []string
	start := func() {
		path, err := backup.BeforeUpgrade(t.Context(), dir, epoch().Add(time.Duration(len(paths))*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
		books, err := store.Open(t.Context(), dir, epoch())
		if err != nil {
			t.Fatal(err)
		}
		if err := books.Close(); err != nil {
			t.Error(err)
		}
		if _, err := history.Open(t.Context(), dir, epoch()); err == nil {
			t.Fatal("the migration does not fail")
		}
	}
	kept := func(n int) {
		t.Helper()
		made, err := os.ReadDir(filepath.Join(dir, backup.BackupDir))
		if err != nil || len(made) != n {
			t.Errorf("after %d starts there are %v, %v", len(paths), made, err)
		}
	}
	for range 4 {
		start()
	}
	kept(2) // the books were migrated at the first start
	if paths[1] == paths[0] || paths[2] != paths[1] || paths[3] != paths[1] {
		t.Errorf("the backups are %v", paths)
	}
	change(t, filepath.Join(dir, store.File), "INSERT INTO owners (id, tier, created_at) VALUES ('o', 'free', 0)")
	start()
	kept(3)
	if err := os.WriteFile(paths[4], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	start()
	kept(4)
}
