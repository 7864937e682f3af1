package store_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store"
)

// open opens a store in dir and closes it with the test.
func open(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dir, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// exec runs SQL on a database file behind the store's back.
func exec(t testing.TB, dir, file, query string, args ...any) {
	t.Helper()
	res, err := openSQL(t, filepath.Join(dir, file)).ExecContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := res.RowsAffected(); n == 0 {
		t.Fatalf("%q changed nothing", query)
	}
}

// openSQL opens a database file behind the store's back until the test ends.
func openSQL(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestFilesAreForTheUserAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	save(t, s, pulseAt(0, "x"))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 4 { // two databases, two logs at least
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

func TestReopenKeepsEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	want := pulseAt(0, "x")
	save(t, s, want)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	same(t, newest(t, open(t, dir)), want)
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	for _, file := range []string{store.MainFile, store.HistoryFile} {
		dir := t.TempDir()
		s := open(t, dir)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		exec(t, dir, file, "INSERT INTO schema_migrations VALUES (99, '0099_future.sql', 0)")
		_, err := store.Open(t.Context(), dir, time.Unix(2, 0))
		if !errors.Is(err, store.ErrNewer) {
			t.Errorf("%s: %v, want ErrNewer", file, err)
		}
	}
}

func TestCommitsAreDurable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if got := s.Synchronous(t.Context()); got[0] != 2 || got[1] != 2 {
		t.Errorf("synchronous of the writing connections is %v, want FULL (2)", got)
	}
}

func TestPathWithOddCharacters(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b?c#d%20e&mode=ro")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	save(t, s, pulseAt(0, "x"))
	if _, err := os.Stat(filepath.Join(dir, store.HistoryFile)); err != nil {
		t.Error(err)
	}
}

func TestPageSizes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 { // made, and opened again
		s := open(t, dir)
		for file, want := range map[string]int{store.MainFile: 4096, store.HistoryFile: 32768} {
			var got int
			var mode string
			db := openSQL(t, filepath.Join(dir, file))
			if err := db.QueryRowContext(t.Context(), "SELECT page_size, journal_mode FROM pragma_page_size, pragma_journal_mode").Scan(&got, &mode); err != nil {
				t.Fatal(err)
			}
			if got != want || mode != "wal" {
				t.Errorf("%s has pages of %d bytes and journal %s, want %d and wal", file, got, mode, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
