package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// turnLasts is for how long who has a turn may say nothing before the server gives it to the next.
const turnLasts = 30 * time.Second

// Lock waits, for a bounded time, until nobody has the turn of that name, whichever process they are of, and takes it until end is called
// or its connection ends. held says why it was lost before. Only PostgreSQL has turns.
//
// It is held by a transaction that reads, which a pooler before the database passes on to one server, and which no Tx waits for.
func (f *DB) Lock(ctx context.Context, name string) (held func(ctx context.Context) error, end func(), err error) {
	hash := fnv.New64a()
	hash.Write([]byte("contextd turn " + f.server.schema + " " + name))
	tx, err := f.server.turns.BeginTx(context.WithoutCancel(ctx), &sql.TxOptions{ReadOnly: true}) // it ends by end alone
	if err != nil {
		return nil, nil, fmt.Errorf("begin: %w", err)
	}
	end = func() { _ = tx.Rollback() }
	run := func(ctx context.Context, text string, args ...any) error {
		ctx, cancel := context.WithTimeout(ctx, 2*patience)
		defer cancel()
		_, err := tx.ExecContext(ctx, text, args...)
		return err
	}
	bounds := fmt.Sprintf("SELECT set_config('idle_in_transaction_session_timeout', '%d', true), set_config('lock_timeout', '%d', true)",
		f.server.silent.Milliseconds(), patience.Milliseconds())
	if err = run(ctx, bounds); err == nil {
		err = run(ctx, "SELECT pg_advisory_xact_lock(?)", int64(hash.Sum64()))
	}
	if err != nil {
		end()
		var late *pgconn.PgError
		if errors.As(err, &late) && late.Code == lockNotAvailable {
			err = gone{err} // who has it may be gone, and loses it then
		}
		return nil, nil, fmt.Errorf("wait for turn: %w", err)
	}
	return func(ctx context.Context) error {
		if err := run(ctx, "SELECT 1"); err != nil {
			return fmt.Errorf("keep turn: %w", err)
		}
		return nil
	}, end, nil
}
