package database_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/contextd/contextd/daemon/store/database"
)

// TestSnapshot: what is copied is the moment at which it was pinned, whatever is written since, into a file for the user alone.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "x.db"), filepath.Join(dir, "copy.db")
	if _, err := database.Pin(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no database: %v", err)
	}
	f := open(t, path, scripts())
	insert := func(n int) {
		t.Helper()
		if err := f.Exec(t.Context(), "INSERT INTO numbers (n) VALUES (?)", n); err != nil {
			t.Fatal(err)
		}
	}
	insert(1)
	gone, end := context.WithCancel(t.Context())
	s, err := database.Pin(gone, path)
	if err != nil {
		t.Fatal(err)
	}
	end() // the snapshot outlives who asked for it
	insert(2)
	if err := s.Copy(gone, filepath.Join(dir, "none.db")); !errors.Is(err, context.Canceled) {
		t.Errorf("for who has left: %v", err)
	}
	if err := s.Copy(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	if err := s.Copy(t.Context(), copied); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over what is there: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(copied)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", info, err)
	}
	if got := numbers(t, open(t, copied, scripts())); !slices.Equal(got, []int{1}) {
		t.Errorf("the copy has %v", got)
	}
	if got := numbers(t, f); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("the database has %v", got)
	}
}

// TestProblems: what is wrong with a database is named, and what would run by itself.
func TestProblems(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	made := fstest.MapFS{"0007_first.sql": {Data: []byte("CREATE TABLE a (id INTEGER PRIMARY KEY);" +
		"CREATE TABLE b (a INTEGER REFERENCES a (id));" +
		"CREATE TRIGGER ours AFTER INSERT ON a BEGIN SELECT 1; END")}}
	f := open(t, path, made)
	ask := func() (problems, foreign string) {
		t.Helper()
		found, err := database.Problems(t.Context(), f.Read)
		named, failed := database.Foreign(t.Context(), f.Read, made)
		if err = errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		return strings.Join(found, "; "), strings.Join(named, "; ")
	}
	if problems, foreign := ask(); problems+foreign != "" {
		t.Errorf("a sound one has %s, %s", problems, foreign)
	}
	for _, text := range []string{
		"CREATE TRIGGER theirs AFTER INSERT ON b BEGIN DELETE FROM a; END", "CREATE VIEW v AS SELECT 1", "PRAGMA foreign_keys = 0",
		"INSERT INTO b VALUES (9)",
	} {
		if _, err := f.Write.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	problems, foreign := ask()
	if problems != "row 1 of b refers to no row of a" {
		t.Errorf("the problems are %q", problems)
	}
	if foreign != `the trigger "theirs" is not this program's; the view "v" is not this program's` {
		t.Errorf("foreign are %q", foreign)
	}
	if n, err := database.Schema(t.Context(), f.Read); err != nil || n != 7 {
		t.Errorf("the schema is %d, %v", n, err)
	}
	if _, err := f.Write.ExecContext(t.Context(), "DROP TABLE schema_migrations"); err != nil {
		t.Fatal(err)
	}
	if n, err := database.Schema(t.Context(), f.Read); err != nil || n != 0 {
		t.Errorf("without a ledger the schema is %d, %v", n, err)
	}
}

// TestVacuum: the space of what was deleted is given back, and nothing else goes.
func TestVacuum(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	f := open(t, path, scripts())
	size := func() int64 {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for _, text := range []string{
		"WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20000) INSERT INTO numbers SELECT i, i FROM c",
		"DELETE FROM numbers WHERE n > 2", "PRAGMA wal_checkpoint(TRUNCATE)",
	} {
		if _, err := f.Write.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	before := size()
	if err := database.Vacuum(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if after := size(); after*4 > before {
		t.Errorf("%d bytes of %d are left", after, before)
	}
	if got := numbers(t, open(t, path, scripts())); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("the database has %v", got)
	}
	if err := database.Vacuum(t.Context(), filepath.Join(t.TempDir(), "none.db")); err == nil {
		t.Error("there was nothing to vacuum")
	}
}
