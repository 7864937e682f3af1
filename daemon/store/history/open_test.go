package history_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store/history"
)

// open opens a history in dir and closes it with the test.
func open(t testing.TB, dir string) *history.History {
	t.Helper()
	s, err := history.Open(t.Context(), dir, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// exec runs SQL on the database in dir behind the history's back.
func exec(t testing.TB, dir, query string, args ...any) {
	t.Helper()
	res, err := openSQL(t, filepath.Join(dir, history.File)).ExecContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := res.RowsAffected(); n == 0 {
		t.Fatalf("%q changed nothing", query)
	}
}

// openSQL opens a database file behind the history's back until the test ends.
func openSQL(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
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
