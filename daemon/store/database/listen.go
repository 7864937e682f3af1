package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Snapshot runs act, which only reads, in a transaction that sees the database as of one moment.
func (f *DB) Snapshot(ctx context.Context, act func(*sql.Tx) error) error {
	tx, err := f.Read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return errors.Join(act(tx), ignoreDone(tx.Rollback()))
}

// Notify tells those that Listen what is new, once tx has committed. SQLite has none of them.
func (f *DB) Notify(ctx context.Context, tx *sql.Tx, what string) error {
	if f.server == nil {
		return nil
	}
	if _, err := tx.ExecContext(ctx, "SELECT pg_notify(?, ?)", f.server.notify, what); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

// Listen tells heard what any process has told by Notify, until ctx is done. place is the URL of a database; a pooler that shares
// connections passes nothing on. What is told while there is no connection is not heard: a listener looks now and then all the same.
func Listen(ctx context.Context, place string, heard func(what string)) error {
	cfg, err := parseURL(place, "contextd")
	if err != nil {
		return err
	}
	const first, longest = 100 * time.Millisecond, patience // between two tries
	for pause := first; ; pause = min(longest, 2*pause) {
		if listen(ctx, cfg, heard) {
			pause = first
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// listen is Listen for as long as one connection lasts. It reports whether there was one.
func listen(ctx context.Context, cfg settings, heard func(what string)) (connected bool) {
	conn, err := pgx.ConnectConfig(ctx, cfg.ConnConfig.Copy())
	if err != nil {
		return false
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx) // it is of no more use, whatever becomes of it
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+cfg.first); err != nil {
		return false
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return true
		}
		heard(n.Payload)
	}
}
