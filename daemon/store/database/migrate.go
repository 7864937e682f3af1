package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrNewer is in the chain of the error for a database that a newer program wrote.
var ErrNewer = errors.New("the database was written by a newer version")

// ErrOlder is in the chain of the error for a database that has to be migrated first.
var ErrOlder = errors.New("the database was written by an older version")

// compare reports a schema that is not the newest that this program knows.
func compare(have, known int) error {
	switch {
	case have > known:
		return fmt.Errorf("%w: it has schema %d, this program knows %d; install a newer contextd", ErrNewer, have, known)
	case have < known:
		return fmt.Errorf("%w: it has schema %d, this program writes %d", ErrOlder, have, known)
	}
	return nil
}

// scriptNames are the names of the migrations, in order.
func scriptNames(scripts fs.FS) ([]string, error) {
	names, err := fs.Glob(scripts, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	return names, nil
}

// migrate applies what the database lacks of the scripts, in the order of their numbers, and writes each down in schema_migrations. Each
// has its own transaction; those of a new database share one.
func (f *DB) migrate(ctx context.Context, scripts fs.FS, now time.Time) error {
	ledger := "CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at "
	if f.server == nil {
		ledger += "INTEGER NOT NULL) STRICT"
	} else {
		ledger += "BIGINT NOT NULL)"
	}
	if err := f.Exec(ctx, ledger); err != nil {
		return fmt.Errorf("create migration ledger: %w", err)
	}
	have, err := f.version(ctx)
	if err != nil {
		return err
	}
	names, err := scriptNames(scripts)
	if err != nil {
		return err
	}
	if err := compare(have, len(names)); errors.Is(err, ErrNewer) {
		return err
	}
	if have == 0 { // a new database comes to be in one commit, or not at all
		return f.apply(ctx, scripts, names, now)
	}
	for name := range slices.Chunk(names[have:], 1) {
		if err := f.apply(ctx, scripts, name, now); err != nil {
			return err
		}
	}
	return nil
}

// version is that of the newest migration that the database has.
func (f *DB) version(ctx context.Context) (n int, err error) {
	if f.server == nil {
		return Schema(ctx, f.Read)
	}
	if err := f.Read.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM schema_migrations").Scan(&n); err != nil {
		return 0, fmt.Errorf("read migration ledger: %w", err)
	}
	return n, nil
}

// apply runs scripts in one transaction, but for those that another process has run since it was looked.
func (f *DB) apply(ctx context.Context, scripts fs.FS, names []string, now time.Time) error {
	return f.Tx(ctx, func(tx *sql.Tx) error {
		for _, name := range names {
			if err := applyOne(ctx, tx, scripts, name, now); err != nil {
				return fmt.Errorf("migrate %s: %w", name, err)
			}
		}
		return nil
	})
}

func applyOne(ctx context.Context, tx *sql.Tx, scripts fs.FS, name string, now time.Time) error {
	number, _, _ := strings.Cut(name, "_")
	version, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("read its number: %w", err)
	}
	text, err := fs.ReadFile(scripts, name)
	if err != nil {
		return err
	}
	var done bool
	if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM schema_migrations WHERE version = ?)", version).
		Scan(&done); err != nil || done {
		return err
	}
	if _, err := tx.ExecContext(ctx, string(text)); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, ?)",
		version, name, now.UnixMilli())
	return err
}
