package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// Snapshot is a database as it stood at one moment, whatever is written to it since. While it is open, the write-ahead log is not reset,
// so that it grows by what is written.
type Snapshot struct {
	db   *sql.DB
	conn *sql.Conn // in a reading transaction
}

// Pin takes a snapshot of the database at path, which others may have open and write to.
func Pin(ctx context.Context, path string) (*Snapshot, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db, err := sql.Open("sqlite3", dsn(path, "mode=ro&_query_only=1"))
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	s := &Snapshot{db: db}
	if s.conn, err = db.Conn(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), db.Close())
	}
	// The transaction has to outlive ctx: database/sql would end one of its own with that.
	if _, err := s.conn.ExecContext(ctx, "BEGIN; SELECT count(*) FROM sqlite_schema"); err != nil {
		return nil, errors.Join(fmt.Errorf("read database %s: %w", path, err), s.Close())
	}
	return s, nil
}

// Close ends the snapshot.
func (s *Snapshot) Close() error { return errors.Join(s.conn.Close(), s.db.Close()) }

// Conn reads the snapshot.
func (s *Snapshot) Conn() *sql.Conn { return s.conn }

// copyPages is how many pages are copied between two looks at whether that is still wanted.
const copyPages = 512

// Copy writes the snapshot to a new database at path with mode 0600. It is not flushed to the disk.
func (s *Snapshot) Copy(ctx context.Context, path string) (err error) {
	made, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	if err := made.Close(); err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	db, err := sql.Open("sqlite3", dsn(path, "_synchronous=OFF"))
	if err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	to, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	err = to.Raw(func(target any) error {
		return s.conn.Raw(func(source any) error { return copyPaged(ctx, target, source) })
	})
	if err != nil {
		return fmt.Errorf("copy database to %s: %w", path, err)
	}
	return nil
}

// copyPaged copies from one connection of the driver to another.
func copyPaged(ctx context.Context, target, source any) error {
	to, ok := target.(*sqlite3.SQLiteConn)
	from, alsoOK := source.(*sqlite3.SQLiteConn)
	if !ok || !alsoOK {
		return fmt.Errorf("the driver has connections of %T and %T", target, source)
	}
	b, err := to.Backup("main", from, "main")
	if err != nil {
		return err
	}
	for done := false; !done; {
		if err = ctx.Err(); err != nil {
			break
		}
		if done, err = b.Step(copyPages); err != nil {
			break
		}
	}
	return errors.Join(err, b.Finish())
}

// Problems says what SQLite finds wrong with a database: its structure, its indexes, its foreign keys. Nothing is wrong with a sound one.
func Problems(ctx context.Context, db Querier) ([]string, error) {
	found, err := Query(ctx, db, func(rows *sql.Rows) (text string, err error) { return text, rows.Scan(&text) },
		"PRAGMA integrity_check(20)")
	if err != nil {
		return nil, fmt.Errorf("check integrity: %w", err)
	}
	if len(found) == 1 && found[0] == "ok" {
		found = nil
	}
	keys, err := Query(ctx, db, func(rows *sql.Rows) (string, error) {
		var table, parent string
		var row sql.NullInt64
		err := rows.Scan(&table, &row, &parent)
		return fmt.Sprintf("row %d of %s refers to no row of %s", row.Int64, table, parent), err
	}, `SELECT "table", rowid, parent FROM pragma_foreign_key_check LIMIT 20`)
	if err != nil {
		return nil, fmt.Errorf("check foreign keys: %w", err)
	}
	return append(found, keys...), nil
}

// Foreign names what a database would run by itself or read from elsewhere, triggers, views and virtual tables, and does not have from the
// scripts of its layout. A program that opens such a database runs the code of its maker.
func Foreign(ctx context.Context, db Querier, scripts fs.FS) ([]string, error) {
	names, err := scriptNames(scripts)
	if err != nil {
		return nil, err
	}
	var known strings.Builder
	for _, name := range names {
		text, err := fs.ReadFile(scripts, name)
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		known.Write(text)
	}
	type object struct{ kind, name, text string }
	found, err := Query(ctx, db, func(rows *sql.Rows) (o object, err error) { return o, rows.Scan(&o.kind, &o.name, &o.text) },
		`SELECT type, name, coalesce(sql, '') FROM sqlite_schema
		WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%' ORDER BY type, name`)
	if err != nil {
		return nil, fmt.Errorf("list what is in the database: %w", err)
	}
	var foreign []string
	for _, o := range found {
		if o.text == "" || !strings.Contains(known.String(), o.text) {
			foreign = append(foreign, fmt.Sprintf("the %s %q is not this program's", o.kind, o.name))
		}
	}
	return foreign, nil
}

// Schema is the number of the newest migration that a database has, 0 for none.
func Schema(ctx context.Context, db Querier) (n int, err error) {
	var ledgers int
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'").Scan(&ledgers)
	if err == nil && ledgers > 0 {
		err = db.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM schema_migrations").Scan(&n)
	}
	if err != nil {
		return 0, fmt.Errorf("read migration ledger: %w", err)
	}
	return n, nil
}

// Vacuum rewrites the database at path, which nobody else has open, without the space that is free in it.
func Vacuum(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite3", dsn(path, "mode=rw&_journal_mode=WAL&_synchronous=FULL"))
	if err != nil {
		return fmt.Errorf("open database %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return fmt.Errorf("vacuum %s: %w", path, err)
	}
	return nil
}
