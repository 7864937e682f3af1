package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// migrations holds the scripts of each database, named NNNN_what.sql and applied in that order, each in a transaction of its own.
//
//go:embed migrations
var migrations embed.FS

// ErrNewer is in the chain of the error for a database that a newer program wrote.
var ErrNewer = errors.New("the database was written by a newer version")

// migrate applies what db lacks of the given set of scripts and writes each down in schema_migrations.
func migrate(ctx context.Context, db *sql.DB, set string, now time.Time) error {
	const ledger = `CREATE TABLE IF NOT EXISTS schema_migrations (
		version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`
	if _, err := db.ExecContext(ctx, ledger); err != nil {
		return fmt.Errorf("create migration ledger: %w", err)
	}
	var have int
	if err := db.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM schema_migrations").Scan(&have); err != nil {
		return fmt.Errorf("read migration ledger: %w", err)
	}
	scripts, err := fs.Glob(migrations, path.Join("migrations", set, "*.sql"))
	if err != nil {
		return fmt.Errorf("list migrations: %w", err)
	}
	if have > len(scripts) {
		return fmt.Errorf("%w: it has schema %d, this program knows %d; install a newer contextd", ErrNewer, have, len(scripts))
	}
	for _, script := range scripts[have:] {
		if err := apply(ctx, db, script, now); err != nil {
			return fmt.Errorf("migrate %s: %w", path.Base(script), err)
		}
	}
	return nil
}

// apply runs one script.
func apply(ctx context.Context, db *sql.DB, script string, now time.Time) error {
	name := path.Base(script)
	number, _, _ := strings.Cut(name, "_")
	version, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("read its number: %w", err)
	}
	text, err := migrations.ReadFile(script)
	if err != nil {
		return err
	}
	return (&file{write: db}).tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, string(text)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, ?)",
			version, name, now.UnixMilli())
		return err
	})
}
