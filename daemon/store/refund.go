package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/database"
)

// refund takes a batch back if it turns out to be booked: its calls are refused, because that could not be told in time. It goes on until
// the database is back, or the store is closed.
func (s *Store) refund(lost *database.Unsettled, b billing.Batch) {
	s.refunds.Go(func() {
		booked, err := lost.Committed(s.background)
		for booked && err == nil {
			again := new(database.Unsettled)
			switch err := s.db.Tx(s.background, func(tx *sql.Tx) error { return s.takeBack(s.background, tx, b) }); {
			case err == nil:
				return
			case errors.As(err, &again):
				if taken, err := again.Committed(s.background); taken || err != nil {
					return
				}
			}
			select {
			case <-s.background.Done():
				return
			case <-time.After(time.Second / 2):
			}
		}
	})
}

// takeBack undoes what chargeGroup does.
func (s *Store) takeBack(ctx context.Context, tx *sql.Tx, b billing.Batch) error {
	run := func(text string, args ...any) error {
		if _, err := tx.ExecContext(ctx, text, args...); err != nil {
			return fmt.Errorf("take a charge back: %w", err)
		}
		return nil
	}
	keys := slices.Sorted(maps.Keys(b.Debits))
	for _, id := range keys {
		if err := run("UPDATE keys SET credits = credits + ?2, spent = spent - ?2 WHERE id = ?1", id, b.Debits[id]); err != nil {
			return err
		}
	}
	for k, c := range b.Usage {
		if err := run("UPDATE usage SET paid = paid - ?, free = free - ? WHERE key_id = ? AND hour = ? AND op = ?",
			c.Paid, c.Free, k.KeyID, k.Hour, string(k.Op)); err != nil {
			return err
		}
	}
	for id, stamp := range b.Free {
		if err := run(`DELETE FROM free_calls WHERE ctid = (SELECT min(ctid) FROM free_calls WHERE key_id = ? AND at = ? AND calls = ?)`,
			id, stamp.At.UnixMilli(), stamp.Calls); err != nil {
			return err
		}
	}
	for _, t := range b.Traces {
		if err := run(`DELETE FROM traces WHERE ctid = (SELECT min(ctid) FROM traces WHERE key_id = ? AND at = ? AND op = ? AND pack = ?)`,
			t.KeyID, t.At.UnixMilli(), string(t.Op), t.Pack); err != nil {
			return err
		}
	}
	owners, err := database.Query(ctx, tx, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
		"SELECT DISTINCT owner_id FROM keys WHERE id = ANY(?::text[])", keys)
	if err != nil {
		return fmt.Errorf("take a charge back: %w", err)
	}
	return s.changed(ctx, tx, owners...)
}
