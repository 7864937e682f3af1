package database_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
)

// scripts makes a table of numbers.
func scripts() fstest.MapFS {
	return fstest.MapFS{"0001_first.sql": {Data: []byte("CREATE TABLE numbers (n INTEGER NOT NULL UNIQUE, at INTEGER) STRICT")}}
}

// open opens the database at path with the given scripts and closes it with the test.
func open(t *testing.T, path string, scripts fs.FS) *database.DB {
	t.Helper()
	f, err := database.Open(t.Context(), path, database.Layout{Scripts: scripts, PageSize: 8192}, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// numbers are those in the table.
func numbers(t *testing.T, f *database.DB) []int {
	t.Helper()
	list, err := database.Query(t.Context(), f.Read, func(rows *sql.Rows) (n int, err error) { return n, rows.Scan(&n) }, "SELECT n FROM numbers ORDER BY n")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestFilesAreForTheUserAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, filepath.Join(dir, "x.db"), scripts())
	if err := f.Exec(t.Context(), "INSERT INTO numbers (n) VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 2 { // the database and its log at least
		t.Fatalf("files: %v, %v", entries, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
}

func TestMigrations(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	f := open(t, path, scripts())
	if err := f.Exec(t.Context(), "INSERT INTO numbers (n) VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	more := scripts()
	more["0002_second.sql"] = &fstest.MapFile{Data: []byte("INSERT INTO numbers (n) VALUES (2)")}
	for range 2 { // the second time there is nothing to do
		f = open(t, path, more)
		if got := numbers(t, f); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("after migration: %v", got)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	more["0003_broken.sql"] = &fstest.MapFile{Data: []byte("INSERT INTO numbers (n) VALUES (3); INSERT INTO numbers (n) VALUES (3)")}
	if _, err := database.Open(t.Context(), path, database.Layout{Scripts: more, PageSize: 8192}, time.Unix(1, 0)); err == nil {
		t.Error("a script that fails is passed over")
	}
	fresh := filepath.Join(t.TempDir(), "x.db")
	if _, err := database.Open(t.Context(), fresh, database.Layout{Scripts: more, PageSize: 8192}, time.Unix(1, 0)); err == nil {
		t.Error("a new database has what a script that fails leaves")
	}
	delete(more, "0003_broken.sql")
	if got := numbers(t, open(t, path, more)); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("a script that failed left %v", got)
	}
	f = open(t, fresh, scripts())
	if n, err := database.Schema(t.Context(), f.Read); err != nil || n != 1 {
		t.Errorf("a new database whose scripts failed goes on with schema %d, %v", n, err)
	}
	if got := numbers(t, f); len(got) > 0 {
		t.Errorf("a new database whose scripts failed has %v", got)
	}
	_, err := database.Open(t.Context(), path, database.Layout{Scripts: scripts(), PageSize: 8192}, time.Unix(1, 0))
	if !errors.Is(err, database.ErrNewer) {
		t.Errorf("a newer database: %v, want ErrNewer", err)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	for range 2 { // made, and opened again
		f := open(t, path, scripts())
		if err := f.Check(t.Context()); err != nil {
			t.Error(err)
		}
		var size, synchronous, keys int
		var mode string
		if err := f.Write.QueryRowContext(t.Context(), "SELECT page_size, journal_mode, synchronous, foreign_keys FROM pragma_page_size, pragma_journal_mode, pragma_synchronous, pragma_foreign_keys").
			Scan(&size, &mode, &synchronous, &keys); err != nil {
			t.Fatal(err)
		}
		if size != 8192 || mode != "wal" || synchronous != 2 || keys != 1 {
			t.Errorf("page size %d, journal %s, synchronous %d, foreign keys %d; want 8192, wal, 2 (FULL), 1", size, mode, synchronous, keys)
		}
		if _, err := f.Read.ExecContext(t.Context(), "DELETE FROM numbers"); err == nil {
			t.Error("the reading connections write")
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPathWithOddCharacters(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b?c#d%20e&mode=ro")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	open(t, filepath.Join(dir, "x.db"), scripts())
	if _, err := os.Stat(filepath.Join(dir, "x.db")); err != nil {
		t.Error(err)
	}
}

func TestTxIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	f := open(t, filepath.Join(t.TempDir(), "x.db"), scripts())
	failed := errors.New("no")
	insert := func(ctx context.Context, tx *sql.Tx, list ...int) error {
		for _, n := range list {
			if _, err := tx.ExecContext(ctx, "INSERT INTO numbers (n) VALUES (?)", n); err != nil {
				return err
			}
		}
		return nil
	}
	for _, act := range []func(*sql.Tx) error{
		func(tx *sql.Tx) error { return insert(t.Context(), tx, 1, 2, 1) },
		func(tx *sql.Tx) error { return errors.Join(insert(t.Context(), tx, 1), failed) },
	} {
		if err := f.Tx(t.Context(), act); err == nil {
			t.Error("an act that failed is no error")
		}
	}
	if got := numbers(t, f); len(got) != 0 {
		t.Errorf("acts that failed left %v", got)
	}
	if err := f.Tx(t.Context(), func(tx *sql.Tx) error { return insert(t.Context(), tx, 1, 2) }); err != nil {
		t.Error(err)
	}
	if got := numbers(t, f); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("an act left %v", got)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{{}, time.UnixMilli(0).UTC(), time.Date(2026, 11, 20, 20, 0, 0, 123_000_000, time.UTC)} {
		if got := database.FromMillis(database.Millis(at)); !got.Equal(at) {
			t.Errorf("%v is stored as %v", at, got)
		}
	}
}
