package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/sqlite"
	"github.com/contextd/contextd/sdk/api"
)

// Records returns the keys of an owner that are not revoked, oldest first.
func (s *Store) Records(ctx context.Context, ownerID string) ([]billing.Record, error) {
	return sqlite.Query(ctx, s.db.Read, func(rows *sql.Rows) (r billing.Record, err error) {
		return r, rows.Scan(&r.KeyID, &r.Credits)
	}, "SELECT id, credits FROM keys WHERE owner_id = ? AND revoked_at IS NULL ORDER BY created_at, id", ownerID)
}

// FreeCalls returns the free calls after the given time of the owner with an id, or of the key with it, oldest first. Those of keys that
// were revoked since count too.
func (s *Store) FreeCalls(ctx context.Context, id string, after time.Time) ([]billing.Stamp, error) {
	return sqlite.Query(ctx, s.db.Read, func(rows *sql.Rows) (t billing.Stamp, err error) {
		var at sql.NullInt64
		err = rows.Scan(&at, &t.Calls)
		t.At = sqlite.FromMillis(at)
		return t, err
	}, `SELECT at, sum(calls) FROM free_calls WHERE key_id IN (SELECT id FROM keys WHERE id = ?1 OR owner_id = ?1) AND at > ?2
		GROUP BY at ORDER BY at`, id, after.UnixMilli())
}

// PaidHours returns the calls with credits of a key by the hours after the given time, oldest first.
func (s *Store) PaidHours(ctx context.Context, keyID string, after time.Time) ([]billing.Stamp, error) {
	return sqlite.Query(ctx, s.db.Read, func(rows *sql.Rows) (t billing.Stamp, err error) {
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

// statements are those of Charge, prepared once: they run for every batch. What is in every batch goes in as one JSON text, because a
// statement for each key costs more than the commit does.
type statements struct{ debit, count, free, trace *sql.Stmt }

// prepareCharge prepares the statements of Charge.
func prepareCharge(ctx context.Context, db *sql.DB) (st statements, err error) {
	for _, p := range []struct {
		into **sql.Stmt
		text string
	}{
		{&st.debit, `UPDATE keys SET credits = credits - debit.value, spent = spent + debit.value
			FROM json_each(?) AS debit WHERE keys.id = debit.key AND credits >= debit.value AND revoked_at IS NULL`},
		{&st.count, `INSERT INTO usage (key_id, hour, op, paid, free)
			SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?) WHERE true
			ON CONFLICT (key_id, hour, op) DO UPDATE SET paid = paid + excluded.paid, free = free + excluded.free`},
		{&st.free, "INSERT INTO free_calls (key_id, at, calls) VALUES (?, ?, ?)"},
		{&st.trace, "INSERT INTO traces (key_id, at, op, pack) VALUES (?, ?, ?, ?)"},
	} {
		if *p.into, err = db.PrepareContext(ctx, p.text); err != nil {
			return st, fmt.Errorf("prepare charge: %w", err)
		}
	}
	return st, nil
}

// Charge books b whole, or nothing of it and billing.ErrConflict where a record has not the credits that b takes from it.
func (s *Store) Charge(ctx context.Context, b billing.Batch) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := s.charge.debits(ctx, tx, b.Debits); err != nil {
			return err
		}
		if err := s.charge.counts(ctx, tx, b.Usage); err != nil {
			return err
		}
		free, trace := tx.StmtContext(ctx, s.charge.free), tx.StmtContext(ctx, s.charge.trace)
		for id, stamp := range b.Free {
			if _, err := free.ExecContext(ctx, id, stamp.At.UnixMilli(), stamp.Calls); err != nil {
				return fmt.Errorf("count free calls of key %s: %w", id, err)
			}
		}
		for _, t := range b.Traces {
			if _, err := trace.ExecContext(ctx, t.KeyID, t.At.UnixMilli(), string(t.Op), t.Pack); err != nil {
				return fmt.Errorf("trace call of key %s: %w", t.KeyID, err)
			}
		}
		return nil
	})
}

// debits takes credits from the records of keys: from all, or it fails.
func (st statements) debits(ctx context.Context, tx *sql.Tx, list map[string]int64) error {
	if len(list) == 0 {
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("debit keys: %w", err)
	}
	res, err := tx.StmtContext(ctx, st.debit).ExecContext(ctx, string(text))
	if err != nil {
		return fmt.Errorf("debit keys: %w", err)
	}
	if changed, err := res.RowsAffected(); err != nil || changed != int64(len(list)) {
		return fmt.Errorf("debit %d keys: %w", len(list), billing.ErrConflict)
	}
	return nil
}

// counts counts calls.
func (st statements) counts(ctx context.Context, tx *sql.Tx, usage map[billing.UsageKey]billing.Count) error {
	rows := make([][5]any, 0, len(usage))
	for k, c := range usage {
		rows = append(rows, [5]any{k.KeyID, k.Hour, k.Op, c.Paid, c.Free})
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("count calls: %w", err)
	}
	if _, err := tx.StmtContext(ctx, st.count).ExecContext(ctx, string(text)); err != nil {
		return fmt.Errorf("count calls: %w", err)
	}
	return nil
}

// PruneCalls drops free calls that have left their window and traces that are kept no longer.
func (s *Store) PruneCalls(ctx context.Context, now time.Time) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
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
