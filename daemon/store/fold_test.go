package store_test

import (
	"database/sql"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
)

// count is how many rows a table of SQLite has.
func count(t *testing.T, dir, table string) (n int64) {
	t.Helper()
	query(t, dir, "SELECT count(*) FROM "+table, func(r *sql.Rows) error { return r.Scan(&n) })
	return n
}

// TestFoldOfThePast: of a database with charges that are in no table yet, migration 14 makes what the program of commit 30f57cb made.
//
// testdata/journal13.sql is the dump of contextd.db in daemon/testdata/30f57cb.tar.gz, and testdata/schema13.sql is that dump after the
// program of that commit had opened the database once. In both, answers that were kept are {}.
func TestFoldOfThePast(t *testing.T) {
	t.Parallel()
	var upgraded [2]map[string][]string
	for i, dump := range []string{"testdata/schema13.sql", "testdata/journal13.sql"} {
		dir := testbed.Files(t)
		restore(t, dir, dump)
		if waiting := count(t, dir, "charges"); (waiting > 0) != (i == 1) {
			t.Fatalf("%d charges wait in %s", waiting, dump)
		}
		checkBooks(t, dir)
		all := schema(t, dir)
		upgraded[i] = rows(t, dir, common(all, all))
	}
	if !reflect.DeepEqual(upgraded[0], upgraded[1]) {
		for table, want := range upgraded[0] {
			if got := upgraded[1][table]; !slices.Equal(got, want) {
				t.Errorf("%s:\n%v\nwant\n%v", table, got, want)
			}
		}
	}
}

// folded is what the tables have of charges: credits and what was spent by key, calls, free calls and traces.
type folded struct {
	Credits             map[string]int64
	Paid, Free, Stamped int64
	Traces              int64
}

func foldedIn(t *testing.T, dir string) folded {
	t.Helper()
	f := folded{Credits: map[string]int64{}}
	query(t, dir, "SELECT id, credits FROM keys WHERE id IN ('a', 'b')", func(r *sql.Rows) error {
		var id string
		var credits int64
		err := r.Scan(&id, &credits)
		f.Credits[id] = credits
		return err
	})
	query(t, dir, "SELECT coalesce(sum(paid), 0), coalesce(sum(free), 0) FROM usage WHERE key_id IN ('a', 'b')", func(r *sql.Rows) error {
		return r.Scan(&f.Paid, &f.Free)
	})
	query(t, dir, `SELECT (SELECT coalesce(sum(calls), 0) FROM free_calls WHERE key_id IN ('a', 'b')),
		(SELECT count(*) FROM traces WHERE key_id IN ('a', 'b'))`, func(r *sql.Rows) error { return r.Scan(&f.Stamped, &f.Traces) })
	return f
}

// journalled makes a database of schema 13 with two keys, a and b, of 10 credits, and rows of charges that wait.
func journalled(t *testing.T, waiting []string) (dir string) {
	t.Helper()
	dir = testbed.Files(t)
	restore(t, dir, "testdata/schema13.sql")
	db := testbed.SQL(t, dir, store.File)
	run := func(text string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), text, args...); err != nil {
			t.Fatal(err)
		}
	}
	run("INSERT INTO owners (id, tier, created_at) VALUES ('o', 'free', 1)")
	for _, id := range []string{"a", "b"} {
		run(`INSERT INTO keys (id, hash, owner_id, name, tier, consent, created_at, credits)
			VALUES (?1, CAST(?1 AS BLOB), 'o', 'k', 'free', 'full', 1, 10)`, id)
		run("INSERT INTO ledger (key_id, amount, kind, reason, at) VALUES (?, 10, 'grant', 'x', 1)", id)
	}
	for _, batch := range waiting {
		run("INSERT INTO charges (batch) VALUES (?)", batch)
	}
	return dir
}

// batchOf is a row of charges: a paid call, a free one and a trace of each key.
func batchOf(keys ...string) string {
	var debits, usage, free, traces string
	for i, k := range keys {
		if i > 0 {
			debits, usage, free, traces = debits+",", usage+",", free+",", traces+","
		}
		debits += fmt.Sprintf(`%q:1`, k)
		usage += fmt.Sprintf(`{"k":%q,"h":5,"o":"fresh","p":1,"f":1}`, k)
		free += fmt.Sprintf(`{"k":%q,"at":7,"n":1}`, k)
		traces += fmt.Sprintf(`{"k":%q,"at":7,"o":"fresh","pack":"ai"}`, k)
	}
	return `{"debits":{` + debits + `},"usage":[` + usage + `],"free":[` + free + `],"traces":[` + traces + `]}`
}

// TestFold moves charges that wait into the tables when the database is upgraded, but for what rows say of others is there already.
func TestFold(t *testing.T) {
	t.Parallel()
	credits := func(a, b int64) map[string]int64 { return map[string]int64{"a": a, "b": b} }
	for _, test := range []struct {
		name    string
		waiting []string
		want    folded
		agrees  bool // else the tables lack what the test says is there
	}{
		{"nothing", nil, folded{Credits: credits(10, 10)}, true},
		{"one", []string{batchOf("a")}, folded{credits(9, 10), 1, 1, 1, 1}, true},
		{"two of a key", []string{batchOf("a"), batchOf("a", "b")}, folded{credits(8, 9), 3, 3, 3, 3}, true},
		{"all of a key there", []string{batchOf("a", "b"), `[1,["a"],["a"]]`}, folded{credits(10, 9), 1, 1, 1, 2}, true},
		{"of a key before and after", []string{batchOf("a"), `[1,["a"],["a"]]`, batchOf("a")}, folded{credits(9, 10), 1, 1, 1, 2}, true},
		{"twice there", []string{batchOf("a"), `[1,["a"],["a"]]`, batchOf("a"), `[3,["a"],["a"]]`, batchOf("a")},
			folded{credits(9, 10), 1, 1, 1, 3}, true},
		{"debits there", []string{batchOf("a"), `[1,["a"],null]`}, folded{credits(10, 10), 1, 1, 1, 1}, false},
		{"counts there", []string{batchOf("a"), `[1,null,["a"]]`}, folded{credits(9, 10), 0, 0, 0, 1}, false},
		{"no JSON", []string{"", batchOf("a")}, folded{credits(9, 10), 1, 1, 1, 1}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := journalled(t, test.waiting)
			for range 2 { // the second time there is nothing to upgrade
				s := open(t, dir)
				if findings, err := s.Audit(t.Context()); err != nil || test.agrees != (len(findings) == 0) {
					t.Errorf("audit: %v, %v", findings, err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if have := foldedIn(t, dir); !reflect.DeepEqual(have, test.want) {
					t.Errorf("%+v, want %+v", have, test.want)
				}
			}
		})
	}
}

// TestFoldThatFails: wherever the upgrade fails, the database is as it was, and the next upgrade goes through.
func TestFoldThatFails(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"UPDATE ON keys", "INSERT ON usage", "INSERT ON free_calls", "INSERT ON traces", "INSERT ON schema_migrations"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			dir := journalled(t, []string{batchOf("a", "b"), `[1,["b"],["b"]]`, batchOf("a")})
			all := schema(t, dir)
			before := rows(t, dir, common(all, all))
			db := testbed.SQL(t, dir, store.File)
			run := func(text string) {
				t.Helper()
				if _, err := db.ExecContext(t.Context(), text); err != nil {
					t.Fatal(err)
				}
			}
			run("CREATE TRIGGER fails BEFORE " + at + " BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END")
			if s, err := store.Open(t.Context(), dir, opened()); err == nil {
				_ = s.Close()
				t.Fatal("it was upgraded")
			}
			run("DROP TRIGGER fails")
			if after := rows(t, dir, common(all, all)); !maps.EqualFunc(after, before, slices.Equal[[]string]) {
				t.Errorf("after the failure:\n%v\nbefore it:\n%v", after, before)
			}
			s := open(t, dir)
			if findings, err := (&billing.Credits{Ledger: s}).Audit(t.Context()); err != nil || len(findings) > 0 {
				t.Errorf("audit: %v, %v", findings, err)
			}
			if have, want := foldedIn(t, dir), (folded{map[string]int64{"a": 8, "b": 10}, 2, 2, 2, 3}); !reflect.DeepEqual(have, want) {
				t.Errorf("%+v, want %+v", have, want)
			}
		})
	}
}
