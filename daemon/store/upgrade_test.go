package store_test

import (
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// newest is the newest schema.
func newest(t *testing.T) int {
	t.Helper()
	scripts, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("migrations: %v, %v", scripts, err)
	}
	return len(scripts)
}

// TestUpgrade opens a database of every earlier schema: it gets the newest schema and keeps every row, and its books agree.
//
// testdata/schemaN.sql is what "sqlite3 contextd.db .dump" prints of a demo of the last contextd with schema N, in which keys were made,
// used and revoked, credits granted and taken, and, as far as that contextd could, somebody signed in, paid and bought.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	fresh := testbed.Files(t)
	s, err := store.Open(t.Context(), fresh, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := schema(t, fresh)
	for n := 1; n < newest(t); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			dir := testbed.Files(t)
			restore(t, dir, fmt.Sprintf("testdata/schema%d.sql", n))
			columns := common(schema(t, dir), want)
			before := rows(t, dir, columns)
			if before["ledger"] == nil || before["usage"] == nil || before["schema_migrations"] == nil {
				t.Fatal("the dump has no books")
			}
			for range 2 { // the second time there is nothing to upgrade
				checkBooks(t, dir)
			}
			if got := schema(t, dir); !maps.EqualFunc(got, want, slices.Equal[[]string]) {
				t.Errorf("the upgraded database has the tables\n%v\na new one\n%v", got, want)
			}
			after := rows(t, dir, columns)
			for table, list := range before {
				kept := after[table]
				if table == "schema_migrations" { // which has the upgrade too
					kept = slices.DeleteFunc(kept, func(row string) bool { return strings.HasPrefix(row, "1000 ") })
				}
				if !slices.Equal(kept, list) {
					t.Errorf("rows of %s after the upgrade:\n%v\nbefore it:\n%v", table, strings.Join(kept, "\n"), strings.Join(list, "\n"))
				}
			}
			onTheFirstRail(t, dir)
			charge(t, dir)
		})
	}
}

// restore makes the database of dir from a dump.
func restore(t *testing.T, dir, dump string) {
	t.Helper()
	text, err := os.ReadFile(dump)
	if err != nil {
		t.Fatalf("every earlier schema needs a database to upgrade from: %v", err)
	}
	db, err := sql.Open("sqlite3", filepath.Join(dir, store.File))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL;"+string(text)); err != nil {
		t.Fatal(err)
	}
}

// query calls read with each row of a query on the database of dir.
func query(t *testing.T, dir, text string, read func(*sql.Rows) error) {
	t.Helper()
	list, err := testbed.SQL(t, dir, store.File).QueryContext(t.Context(), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer list.Close()
	for list.Next() {
		if err := read(list); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if err := list.Err(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// schema is the columns of each table with their types, and the indexes, in no order of their making.
func schema(t *testing.T, dir string) map[string][]string {
	t.Helper()
	tables := map[string][]string{}
	query(t, dir, `SELECT m.type || ' ' || m.name, '' FROM sqlite_schema m WHERE m.type <> 'table' UNION ALL
		SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_xinfo(m.name) c WHERE m.type = 'table' ORDER BY 1, 2`, func(r *sql.Rows) error {
		var table, column string
		err := r.Scan(&table, &column)
		tables[table] = append(tables[table], column)
		return err
	})
	return tables
}

// common are the columns that both schemas have, by table.
func common(of, with map[string][]string) map[string][]string {
	both := map[string][]string{}
	for table, names := range of {
		both[table] = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(with[table], name) })
	}
	return both
}

// rows are those of each table, as text and in order, in the given columns.
func rows(t *testing.T, dir string, columns map[string][]string) map[string][]string {
	t.Helper()
	list := map[string][]string{}
	for table, names := range columns {
		if len(names) == 0 || names[0] == "" { // an index
			continue
		}
		text := "quote(" + strings.Join(names, ") || ' ' || quote(") + ")"
		query(t, dir, fmt.Sprintf("SELECT %s FROM %s ORDER BY %[1]s", text, table), func(r *sql.Rows) error {
			var row string
			err := r.Scan(&row)
			list[table] = append(list[table], row)
			return err
		})
	}
	return list
}

// books opens the database of dir for the length of a test.
func books(t *testing.T, dir string) (*store.Store, *billing.Credits) {
	t.Helper()
	s, err := store.Open(t.Context(), dir, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	return s, &billing.Credits{Ledger: s}
}

// checkBooks opens the database of dir and checks that the books agree.
func checkBooks(t *testing.T, dir string) {
	t.Helper()
	s, b := books(t, dir)
	if findings, err := b.Audit(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("the books do not agree: %v, %v", findings, err)
	}
	if err := s.CheckWrite(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// onTheFirstRail checks that all that the chain names is of the first rail, which is where readers look for it.
func onTheFirstRail(t *testing.T, dir string) {
	t.Helper()
	for _, table := range []string{"transfers", "paid_calls", "deposits", "settlements", "settlement_txs", "scan", "chain"} {
		query(t, dir, "SELECT rail FROM "+table, func(r *sql.Rows) error {
			var rail string
			err := r.Scan(&rail)
			if rail != api.NetworkL2 {
				t.Errorf("a row of %s is of the rail %q", table, rail)
			}
			return err
		})
	}
}

// charge moves credits of a key that was there before the upgrade, and checks the books again.
func charge(t *testing.T, dir string) {
	t.Helper()
	s, b := books(t, dir)
	var id, owner string
	const anActiveKey = "SELECT id, owner_id FROM keys WHERE revoked_at IS NULL AND id IN (SELECT key_id FROM ledger) LIMIT 1"
	query(t, dir, anActiveKey, func(r *sql.Rows) error {
		return r.Scan(&id, &owner)
	})
	if _, err := b.Move(t.Context(), owner, billing.Entry{KeyID: id, Amount: 7, Kind: billing.KindGrant, Reason: "after the upgrade"}); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	checkBooks(t, dir)
}
