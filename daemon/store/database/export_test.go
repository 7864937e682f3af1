package database

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// ErrLost is that of an answer that SettleLost has lost.
var ErrLost = errors.New("the answer was lost")

// SettleLost inserts n, commits that or not, and asks for the outcome as after a commit without an answer.
func SettleLost(ctx context.Context, f *DB, n int, commit bool) error {
	tx, err := f.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	var id string
	if err := tx.QueryRowContext(ctx, "INSERT INTO numbers (n) VALUES (?) RETURNING pg_current_xact_id()::text", n).Scan(&id); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	ended := make(chan error, 1)
	go func() { // the outcome is not there yet when it is asked for
		if commit {
			ended <- tx.Commit()
		} else {
			ended <- tx.Rollback()
		}
	}()
	err = f.resolve(ctx, &unknown{id, ErrLost})
	return errors.Join(err, <-ended)
}

// SetClock gives a lease another clock, and another of the database, which is an expression in SQL.
func (l *Lease) SetClock(now func() time.Time, clock string) { l.now, l.clock = now, clock }

// SetTurnLasts lets who has a turn say nothing for that long.
func (f *DB) SetTurnLasts(d time.Duration) { f.server.silent = d }

// ClockAt is a clock of the database that stands, in milliseconds.
func ClockAt(millis int64) string { return strconv.FormatInt(millis, 10) + "::bigint" }

// LockNumber is that of the lock under which acts follow each other.
func (f *DB) LockNumber() int64 { return f.server.lock }
