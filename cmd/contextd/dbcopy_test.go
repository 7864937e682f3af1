package main

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/cli"
)

// dump are all rows of the databases in dir, but those of the ledgers of migrations, and the secrets.
func dump(t *testing.T, dir string) (lines []string) {
	t.Helper()
	for _, file := range backup.Files() {
		db := testbed.SQL(t, dir, file)
		tables, err := database.Query(t.Context(), db, func(rows *sql.Rows) (s string, err error) { return s, rows.Scan(&s) },
			"SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('schema_migrations', 'charges')")
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			names, err := rows.Columns()
			if err != nil {
				t.Fatal(err)
			}
			row, into := make([]any, len(names)), make([]any, len(names))
			for i := range row {
				into[i] = &row[i]
			}
			for rows.Next() {
				if err := rows.Scan(into...); err != nil {
					t.Fatal(err)
				}
				lines = append(lines, fmt.Sprintf("%s %q", table, row))
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"quote.keys", "purchase.keys", "log.key"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, name+" "+string(text))
	}
	slices.Sort(lines)
	return lines
}

// lockSoon takes the lock on dir. One that was just given back may be held a moment longer, by a program that is being started by another
// test and has not closed yet what it inherits.
func lockSoon(t *testing.T, dir string) *datadir.Held {
	t.Helper()
	var lock *datadir.Held
	soon(t, "the lock", func() bool {
		var err error
		if lock, err = datadir.Lock(dir); err != nil && !errors.Is(err, datadir.ErrLocked) {
			t.Fatal(err)
		}
		return err == nil
	})
	return lock
}

// newRootFor runs the program in this process.
func newRootFor(t *testing.T, args ...string) error {
	t.Helper()
	root := newRoot(cli.System{Out: t.Output(), Err: t.Output()})
	root.SetArgs(args)
	return root.ExecuteContext(t.Context())
}

// bought is the data directory of a demo in which something was bought in every way that there is.
func bought(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if told, err := program(t, "demo", "--once", "--data-dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("demo: %v: %s", err, told)
	}
	_, err := testbed.SQL(t, dir, "history.db").ExecContext(t.Context(), "UPDATE sqlite_sequence SET seq = seq + 1000 WHERE name = 'pulses'")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// copied copies the databases as the command does, with the settings of a node whose secrets are sealed.
func copied(t *testing.T, dir, way, place string) error {
	t.Helper()
	key, file := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "config.yaml")
	settings := fmt.Sprintf("store: {url: %q, key_file: %q}\n", place, key)
	if err := errors.Join(os.WriteFile(key, []byte(strings.Repeat("5a", store.SealSize)), 0o600), os.WriteFile(file, []byte(settings), 0o600)); err != nil {
		t.Fatal(err)
	}
	return newRootFor(t, "db", "copy", way, "store.url", "--config", file, "--data-dir", dir)
}

// TestCopyDatabases: what goes to PostgreSQL and comes back is what it was, and nothing is copied over anything, or beside who works on it.
func TestCopyDatabases(t *testing.T) {
	t.Parallel()
	place := testbed.Postgres(t)
	dir := bought(t)
	copyBothWays(t, dir, place)
	killCopies(t, dir)
}

// copyBothWays copies to an empty place and back.
func copyBothWays(t *testing.T, dir, place string) {
	t.Helper()
	lock := lockSoon(t, dir)
	if err := copied(t, dir, "--to", place); !errors.Is(err, datadir.ErrLocked) {
		t.Errorf("beside a daemon on the files: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	server := testbed.SQL(t, place, store.File)
	node := func(ago int) {
		t.Helper()
		if _, err := server.ExecContext(t.Context(), `INSERT INTO nodes VALUES ('n', '', '', 0, extract(epoch FROM clock_timestamp()) * 1000 - ?, '')
			ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`, ago); err != nil {
			t.Fatal(err)
		}
	}
	node(5_000)
	if err := copied(t, dir, "--to", place); !errors.Is(err, database.ErrHeld) {
		t.Errorf("beside a daemon on the server: %v", err)
	}
	node(15_000)
	if err := copied(t, dir, "--to", place); err != nil {
		t.Fatal(err)
	}
	if err := copied(t, dir, "--to", place); !errors.Is(err, database.ErrNotEmpty) {
		t.Errorf("over what is there: %v", err)
	}
	back := filepath.Join(t.TempDir(), "back")
	node(0)
	if err := copied(t, back, "--from", place); !errors.Is(err, database.ErrHeld) {
		t.Errorf("from under a daemon: %v", err)
	}
	node(15_000)
	if err := newRootFor(t, "db", "copy", "--from", place, "--data-dir", back); !errors.Is(err, store.ErrSealed) {
		t.Errorf("without the key of the secrets: %v", err)
	}
	if err := copied(t, back, "--from", place); err != nil {
		t.Fatal(err)
	}
	if err := copied(t, back, "--from", place); !errors.Is(err, database.ErrNotEmpty) {
		t.Errorf("over files: %v", err)
	}
	was, is := dump(t, dir), dump(t, back)
	if !slices.Equal(was, is) {
		for _, line := range slices.DeleteFunc(slices.Clone(was), func(s string) bool { return slices.Contains(is, s) }) {
			t.Errorf("lost: %.200s", line)
		}
	}
	if len(was) < 100 {
		t.Errorf("only %d rows were copied", len(was))
	}
	if r, err := backup.Verify(t.Context(), place); err != nil || r.States == 0 {
		t.Errorf("verified on the server: %+v, %v", r, err)
	}
	numbers(t, place)
}

// numbers checks that the server goes on where the files have stopped numbering.
func numbers(t *testing.T, place string) {
	t.Helper()
	for file, text := range map[string]string{
		store.File: "INSERT INTO ledger (key_id, amount, kind, reason, at) SELECT key_id, 0, kind, reason, at FROM ledger LIMIT 1 " +
			"RETURNING id - (SELECT max(id) FROM ledger)",
		"history.db": "INSERT INTO pulses (pack, version, generated_at, sum, body) SELECT pack, version, 1, sum, body FROM pulses LIMIT 1 " +
			"RETURNING id - (SELECT max(id) FROM pulses) - 1000",
	} {
		var beyond int64
		if err := testbed.SQL(t, place, file).QueryRowContext(t.Context(), text).Scan(&beyond); err != nil || beyond != 1 {
			t.Errorf("%s: the next number is %d after the last one, %v", file, beyond, err)
		}
	}
}

// killCopies kills copies at all moments. What they are to make is there as a whole or not at all: a second one makes it, or says that it
// is there.
func killCopies(t *testing.T, dir string) {
	t.Helper()
	const rounds = 4
	random := rand.New(rand.NewPCG(21, rounds))
	want, ends := dump(t, dir), map[string]int{}
	whole := map[string]time.Duration{} // how long a copy takes
	for range rounds {
		place, back := testbed.Postgres(t), filepath.Join(t.TempDir(), "back")
		for _, way := range []struct{ dir, flag string }{{dir, "--to"}, {back, "--from"}} {
			c := program(t, "db", "copy", way.flag, place, "--data-dir", way.dir)
			began := time.Now()
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			if whole[way.flag] > 0 {
				time.Sleep(time.Duration((0.3 + random.Float64()) * float64(whole[way.flag])))
				_ = c.Process.Kill() // or it has ended
			}
			_ = c.Wait()
			whole[way.flag] = max(whole[way.flag], time.Since(began))
			err := copied(t, way.dir, way.flag, place)
			if err != nil && !errors.Is(err, database.ErrNotEmpty) {
				t.Fatalf("%s after a kill: %v", way.flag, err)
			}
			ends[fmt.Sprintf("%s was there: %t", way.flag, err != nil)]++
		}
		if is := dump(t, back); !slices.Equal(want, is) {
			t.Fatalf("%d rows are not the %d that were copied", len(is), len(want))
		}
		left, err := os.ReadDir(back)
		if err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "restore") }) {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	t.Logf("after the kills: %v", ends)
}
