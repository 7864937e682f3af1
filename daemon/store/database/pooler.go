package database

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrPooler is in the chain of the error for a database before which a pooler gives the server of a connection to others between its
// transactions. What a connection was set to, its schema first of all, and statements that it has prepared would be lost, or another's.
var ErrPooler = errors.New("a pooler in transaction mode stands before PostgreSQL\n" +
	"  try: set pool_mode = session for this database, or write the address of PostgreSQL itself into store.url")

// Private fails with ErrPooler in the chain of the error unless connections are to PostgreSQL itself, or each keeps its server.
func (f *DB) Private(ctx context.Context) error {
	one, err := f.Read.Conn(ctx)
	if err != nil {
		return err
	}
	defer one.Close()
	return one.Raw(func(c any) error {
		first := c.(*conn)
		mine, err := first.backend(ctx, "")
		if err != nil || mine == first.Conn.Conn().PgConn().PID() { // a pooler names a number of its own
			return err
		}
		two, err := f.Read.Conn(ctx)
		if err != nil {
			return err
		}
		defer two.Close()
		return two.Raw(func(c any) error { return shared(ctx, first, c.(*conn), mine) })
	})
}

// shared is Private for two connections to a pooler, of which the first had the server mine.
func shared(ctx context.Context, first, second *conn, mine uint32) error {
	const tries = 8 // others may take part in what is shared
	for range tries {
		other, err := second.backend(ctx, "BEGIN READ ONLY; ")
		if err != nil {
			return err
		}
		again, err := first.backend(ctx, "")
		if _, failed := second.Conn.Conn().PgConn().Exec(ctx, "ROLLBACK").ReadAll(); err != nil || failed != nil {
			return errors.Join(err, failed)
		}
		if other == mine || again != mine {
			return ErrPooler
		}
	}
	return nil
}

// backend is the number of the process of the server that a connection has now, after what is said before.
func (c *conn) backend(ctx context.Context, before string) (uint32, error) {
	results, err := c.Conn.Conn().PgConn().Exec(ctx, before+"SELECT pg_backend_pid()").ReadAll() // nothing is prepared
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "08P01" { // statement mode knows no transactions
		return 0, ErrPooler
	}
	if err != nil {
		return 0, c.mark(ctx, err)
	}
	n, err := strconv.ParseUint(string(results[len(results)-1].Rows[0][0]), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("number of a process: %w", err)
	}
	return uint32(n), nil
}
