package history_test

import (
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
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
	db := testbed.SQL(t, dir, history.File)
	if database.IsURL(dir) {
		query = strings.NewReplacer("BLOB", "BYTEA", "x'5a'", `'\x5a'`, "x''", "''", "zeroblob(16)", `decode(repeat('00', 16), 'hex')`).Replace(query)
		if _, err := db.ExecContext(t.Context(), "ALTER TABLE pulses DROP CONSTRAINT pulses_keyframe_fkey"); err != nil {
			t.Fatal(err)
		}
	}
	res, err := db.ExecContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := res.RowsAffected(); n == 0 {
		t.Fatalf("%q changed nothing", query)
	}
}

func TestReopenKeepsEverything(t *testing.T) {
	t.Parallel()
	dir := testbed.Place(t)
	s := open(t, dir)
	want := pulseAt(0, "x")
	save(t, s, want)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	same(t, newest(t, open(t, dir)), want)
}
