package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/sdk/api"
)

// Records returns the keys of an owner that are not revoked, oldest first.
func (s *Store) Records(ctx context.Context, ownerID string) ([]billing.Record, error) {
	if err := s.settle(ctx, ofOwnerOrKey, ownerID); err != nil {
		return nil, err
	}
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (r billing.Record, err error) {
		return r, rows.Scan(&r.KeyID, &r.Credits)
	}, "SELECT id, credits FROM keys WHERE owner_id = ? AND revoked_at IS NULL ORDER BY created_at, id", ownerID)
}

// FreeCalls returns the free calls after the given time of the owner with an id, or of the key with it, oldest first. Those of keys that
// were revoked since count too.
func (s *Store) FreeCalls(ctx context.Context, id string, after time.Time) ([]billing.Stamp, error) {
	if err := s.settle(ctx, ofOwnerOrKey, id); err != nil {
		return nil, err
	}
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (t billing.Stamp, err error) {
		var at sql.NullInt64
		err = rows.Scan(&at, &t.Calls)
		t.At = database.FromMillis(at)
		return t, err
	}, `SELECT at, sum(calls) FROM free_calls WHERE key_id IN (`+ofOwnerOrKey+`) AND at > ?2
		GROUP BY at ORDER BY at`, id, after.UnixMilli())
}

// PaidHours returns the calls with credits of a key by the hours after the given time, oldest first.
func (s *Store) PaidHours(ctx context.Context, keyID string, after time.Time) ([]billing.Stamp, error) {
	if err := s.settle(ctx, ofOwnerOrKey, keyID); err != nil {
		return nil, err
	}
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (t billing.Stamp, err error) {
		var hour int64
		err = rows.Scan(&hour, &t.Calls)
		t.At = fromHour(hour)
		return t, err
	}, "SELECT hour, sum(paid) FROM usage WHERE key_id = ? AND hour > ? GROUP BY hour HAVING sum(paid) > 0 ORDER BY hour",
		keyID, toHour(after))
}

// toHour is t in whole hours since 1970, fromHour the beginning of that hour.
func toHour(t time.Time) int64   { return t.Unix() / 3600 }
func fromHour(h int64) time.Time { return time.Unix(h*3600, 0).UTC() }

// Charge books a batch whole, or nothing of it and billing.ErrConflict where a record has not the credits that it takes from it.
func (s *Store) Charge(ctx context.Context, batch func() billing.Batch) error {
	if s.db.OnServer() {
		return s.chargeGroup(ctx, batch)
	}
	b := batch()
	s.journal.turn.Lock()
	defer s.journal.turn.Unlock()
	err := s.reload(ctx)
	if err == nil && s.journal.size > maxJournal {
		err = s.slice(ctx)
	}
	if err != nil {
		return err
	}
	return s.append(ctx, entriesOf(b))
}

// PruneCalls drops free calls that have left their window and traces that are kept no longer.
func (s *Store) PruneCalls(ctx context.Context, now time.Time) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := s.db.Fence(ctx, tx); err != nil {
			return err
		}
		for _, d := range []struct {
			text  string
			limit time.Time
		}{
			{"DELETE FROM free_calls WHERE at <= ?", now.Add(-api.FreeWindow)},
			{"DELETE FROM traces WHERE at <= ?", now.Add(-api.TraceRetention)},
		} {
			if _, err := tx.ExecContext(ctx, d.text, d.limit.UnixMilli()); err != nil {
				return fmt.Errorf("prune calls: %w", err)
			}
		}
		return nil
	})
}
