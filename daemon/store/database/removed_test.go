package database_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
)

// TestRemoved: a database whose file or log is removed or replaced while it is open says so and takes nothing, until the file is back.
func TestRemoved(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x.db", "x.db-wal"} {
		for what, spoil := range map[string]func(path string) error{
			"removed":  func(string) error { return nil },
			"replaced": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				f := open(t, filepath.Join(dir, "x.db"), scripts())
				write := func(n int) error {
					return f.Tx(t.Context(), func(tx *sql.Tx) error { _, err := tx.Exec("INSERT INTO numbers (n) VALUES (?)", n); return err })
				}
				path, away := filepath.Join(dir, name), filepath.Join(dir, "away")
				if err := errors.Join(f.Check(t.Context()), write(1), os.Rename(path, away), spoil(path)); err != nil {
					t.Fatal(err)
				}
				for what, err := range map[string]error{
					"write": write(2), "check": f.Check(t.Context()), "try": f.CheckWrite(t.Context()), "read": readAnew(t, f),
				} {
					var passes interface{ Unavailable() bool }
					if !errors.Is(err, database.ErrRemoved) || !errors.As(err, &passes) {
						t.Errorf("%s: %v", what, err)
					}
				}
				if err := errors.Join(os.Rename(away, path), write(3), f.CheckWrite(t.Context())); err != nil {
					t.Error(err)
				}
				if list := numbers(t, f); len(list) != 2 {
					t.Errorf("numbers: %v", list)
				}
			})
		}
	}
}

// readAnew is why no further connection can be had that reads.
func readAnew(t *testing.T, f *database.DB) error {
	t.Helper()
	for range 100 {
		conn, err := f.Read.Conn(t.Context())
		if err != nil {
			return err
		}
		defer conn.Close()
	}
	return nil
}

// TestFull: a disk without room is nobody's mistake, a row that breaks a rule is the caller's.
func TestFull(t *testing.T) {
	t.Parallel()
	f := open(t, filepath.Join(t.TempDir(), "x.db"), scripts())
	if _, err := f.Write.ExecContext(t.Context(), "PRAGMA max_page_count = 1"); err != nil { // which means as many as there are
		t.Fatal(err)
	}
	for text, full := range map[string]bool{
		"INSERT INTO numbers (n) WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x LIMIT 9999) SELECT n FROM x": true,
		"INSERT INTO numbers (n) VALUES (NULL)": false,
	} {
		var passes interface{ Unavailable() bool }
		if err := f.Exec(t.Context(), text); err == nil || errors.As(err, &passes) != full {
			t.Errorf("%.30s: %v", text, err)
		}
	}
}

// TestLogWithoutDatabase: the log of a database that is gone is not dropped for a new one.
func TestLogWithoutDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.db")
	layout := database.Layout{Scripts: scripts(), PageSize: 8192}
	for _, c := range []struct {
		log     string
		refused bool
	}{{"", false}, {"not merged yet", true}} {
		if err := os.WriteFile(path+"-wal", []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := database.Open(t.Context(), path, layout, time.Unix(1, 0))
		if (err != nil) != c.refused {
			t.Fatalf("a log of %q: %v", c.log, err)
		}
		if err != nil {
			continue
		}
		if err := errors.Join(f.Close(), os.Remove(path)); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(path + "-wal"); err != nil || len(kept) == 0 {
		t.Errorf("the log after the refusal: %q, %v", kept, err)
	}
}
