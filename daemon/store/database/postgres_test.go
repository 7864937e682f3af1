package database_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/testbed"
)

// onServer is a layout of a table of numbers.
func onServer() database.Layout {
	return database.Layout{Name: "contextd", Postgres: fstest.MapFS{
		"0001_first.sql": {Data: []byte("CREATE TABLE numbers (n BIGINT NOT NULL UNIQUE, at BIGINT)")},
	}}
}

// openServer opens the database of a place and closes it with the test.
func openServer(t *testing.T, place string, layout database.Layout) *database.DB {
	t.Helper()
	f, err := database.Open(t.Context(), place, layout, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestURLs: no error tells what such a URL holds.
func TestURLs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		place string
		sound bool
	}{
		{"postgres://me:s3cret@db.example/context", true},
		{"postgresql://me:s3cret@db.example:6432/context?sslmode=require&schema=second", true},
		{"postgres://me:s3cret@db.example/context?schema=Second", false},
		{"postgres://me:s3cret@db.example/context?schema=" + strings.Repeat("s", 41), true},
		{"postgres://me:s3cret@db.example/context?schema=" + strings.Repeat("s", 42), false},
		{"postgres://me:s3cret@db.example/context?schema=a;drop", false},
		{"postgres://me:s3cret@db.example:port/context", false},
		{"postgres://me:s3cret@db.example/context?sslmode=s3cret", false},
		{"postgres://me:s3cret%zz@db.example/context", false},
		{"mysql://me:s3cret@db.example/context", false},
	} {
		err := database.CheckURL(c.place)
		if (err == nil) != c.sound {
			t.Errorf("%s: %v", c.place, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") || strings.Contains(database.Host(c.place), "s3cret") {
			t.Errorf("%s shows its secret: %v, %s", c.place, err, database.Host(c.place))
		}
	}
	if got := database.Host("postgres://me:s3cret@db.example/context"); got != "db.example:5432/context" {
		t.Errorf("the host is %q", got)
	}
	_, err := database.Open(t.Context(), "postgres://me:s3cret@127.0.0.1:1/context", onServer(), time.Unix(1, 0))
	if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "127.0.0.1:1/context") {
		t.Errorf("nobody there: %v", err)
	}
}

// TestServerMigrates: once, by several at a time, whole or not at all, and never back.
func TestServerMigrates(t *testing.T) {
	t.Parallel()
	place, layout := testbed.LocalPostgres(t), onServer()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			f, err := database.Open(t.Context(), place, layout, time.Unix(1, 0))
			if err == nil {
				err = f.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	more := onServer()
	more.Postgres.(fstest.MapFS)["0002_broken.sql"] = &fstest.MapFile{Data: []byte("INSERT INTO numbers VALUES (1); INSERT INTO numbers VALUES (1)")}
	if _, err := database.Open(t.Context(), place, more, time.Unix(1, 0)); err == nil {
		t.Error("a script that fails is passed over")
	}
	if _, err := database.OpenRead(t.Context(), place, more); !errors.Is(err, database.ErrOlder) {
		t.Errorf("an older database: %v", err)
	}
	more.Postgres.(fstest.MapFS)["0002_broken.sql"] = &fstest.MapFile{Data: []byte("INSERT INTO numbers VALUES (2)")}
	if got := numbers(t, openServer(t, place, more)); len(got) != 1 || got[0] != 2 {
		t.Errorf("there are %v", got)
	}
	if _, err := database.Open(t.Context(), place, layout, time.Unix(1, 0)); !errors.Is(err, database.ErrNewer) {
		t.Errorf("a newer database: %v", err)
	}
	other := onServer()
	other.Name = "history"
	if got := numbers(t, openServer(t, place, other)); len(got) != 0 {
		t.Errorf("the other database has %v", got)
	}
}

// TestActsFollowEachOther: what an act has read is so until it ends, whichever connection it is on.
func TestActsFollowEachOther(t *testing.T) {
	t.Parallel()
	place := testbed.LocalPostgres(t)
	var all sync.WaitGroup
	for range 3 { // as many processes
		f := openServer(t, place, onServer())
		for range 8 {
			all.Go(func() {
				err := f.Tx(t.Context(), func(tx *sql.Tx) error {
					var n int
					if err := tx.QueryRowContext(t.Context(), "SELECT coalesce(max(n), 0) FROM numbers WHERE n >= ?", 0).Scan(&n); err != nil {
						return err
					}
					_, err := tx.ExecContext(t.Context(), "INSERT INTO numbers (n, at) VALUES (?2, ?1)", true, n+1)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if got := numbers(t, openServer(t, place, onServer())); len(got) != 24 || got[23] != 24 {
		t.Errorf("24 acts made %v", got)
	}
}

// TestGroupsWaitForActs: a group begins when no act goes on any more, and one that fails keeps no act waiting.
func TestGroupsWaitForActs(t *testing.T) {
	t.Parallel()
	place := testbed.LocalPostgres(t)
	f, other := openServer(t, place, onServer()), openServer(t, place, onServer())
	one, err := f.Read.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	more := any(1)
	next := func() []database.Statement { // the number after the greatest
		return []database.Statement{{Text: "INSERT INTO numbers (n) SELECT coalesce(max(n), 0) + ?::bigint FROM numbers", Args: []any{more}}}
	}
	ended := make(chan error, 1)
	if err := f.Tx(t.Context(), func(tx *sql.Tx) error {
		go func() { ended <- other.Group(t.Context(), next) }()
		for waits := false; !waits; time.Sleep(time.Millisecond) {
			if err := one.QueryRowContext(t.Context(), `SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
				AND classid::bigint << 32 | objid::bigint = ?`, f.LockNumber()).Scan(&waits); err != nil {
				return err
			}
			if len(ended) > 0 {
				t.Error("a group went on beside an act")
				break
			}
		}
		_, err := tx.ExecContext(t.Context(), "INSERT INTO numbers (n) VALUES (?)", 7)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := numbers(t, f); len(got) != 2 || got[1] != 8 {
		t.Errorf("an act and a group that waited for it have made %v", got)
	}
	more = struct{}{} // which is not sent, after the group has begun
	if err := other.Group(t.Context(), next); err == nil {
		t.Error("there is no such number")
	}
	var free bool
	if err := one.QueryRowContext(t.Context(), "SELECT pg_try_advisory_lock(?)", f.LockNumber()).Scan(&free); err != nil || !free {
		t.Errorf("after a group that failed acts may go on: %t, %v", free, err)
	}
}

// TestCutCommit: where the answer to a commit is lost, it is asked for; and what was cut before its commit is not there.
func TestCutCommit(t *testing.T) {
	t.Parallel()
	f := openServer(t, testbed.LocalPostgres(t), onServer())
	insert := func(n int, then func(ctx context.Context, tx *sql.Tx) error) error {
		return f.Tx(t.Context(), func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO numbers (n) VALUES (?)", n); err != nil {
				return err
			}
			return then(t.Context(), tx)
		})
	}
	// A constraint at the commit lets the server end the connection of who commits.
	if err := f.Exec(t.Context(), `CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10); RETURN NEW; END $$;
		CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON numbers DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW WHEN (NEW.n < 0) EXECUTE FUNCTION cut()`); err != nil {
		t.Fatal(err)
	}
	none := func(context.Context, *sql.Tx) error { return nil }
	if err := insert(-1, none); err == nil {
		t.Error("a commit that was cut before its end is none")
	}
	if err := insert(1, none); err != nil {
		t.Errorf("after it: %v", err)
	}
	if got := numbers(t, f); len(got) != 1 || got[0] != 1 {
		t.Errorf("there are %v", got)
	}
	if err := database.SettleLost(t.Context(), f, 2, true); err != nil {
		t.Errorf("a commit whose answer was lost: %v", err)
	}
	if err := database.SettleLost(t.Context(), f, 3, false); !errors.Is(err, database.ErrLost) {
		t.Errorf("an end whose answer was lost: %v", err)
	}
	if got := numbers(t, f); len(got) != 2 || got[1] != 2 {
		t.Errorf("there are %v", got)
	}
}
