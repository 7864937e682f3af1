package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/sdk/api"
)

// Records returns the keys of an owner that are not revoked, oldest first.
func (s *Store) Records(ctx context.Context, ownerID string) ([]billing.Record, error) {
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (r billing.Record, err error) {
		return r, rows.Scan(&r.KeyID, &r.Credits)
	}, "SELECT id, credits FROM keys WHERE owner_id = ? AND revoked_at IS NULL ORDER BY created_at, id", ownerID)
}

// FreeCalls returns the free calls after the given time of the owner with an id, or of the key with it, oldest first. Those of keys that
// were revoked since count too.
func (s *Store) FreeCalls(ctx context.Context, id string, after time.Time) ([]billing.Stamp, error) {
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (t billing.Stamp, err error) {
		var at sql.NullInt64
		err = rows.Scan(&at, &t.Calls)
		t.At = database.FromMillis(at)
		return t, err
	}, `SELECT at, sum(calls) FROM free_calls WHERE key_id IN (SELECT id FROM keys WHERE id = ?1 OR owner_id = ?1) AND at > ?2
		GROUP BY at ORDER BY at`, id, after.UnixMilli())
}

// PaidHours returns the calls with credits of a key by the hours after the given time, oldest first.
func (s *Store) PaidHours(ctx context.Context, keyID string, after time.Time) ([]billing.Stamp, error) {
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
	rows, err := rowsOf(batch())
	if err != nil {
		return fmt.Errorf("charge: %w", err)
	}
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		for _, r := range rows {
			res, err := tx.StmtContext(ctx, s.charge[r.table]).ExecContext(ctx, r.json)
			if err != nil {
				return fmt.Errorf("charge: write %s: %w", r.table, err)
			}
			if n, err := res.RowsAffected(); err != nil || r.table == inKeys && n != int64(r.n) {
				return errors.Join(err, fmt.Errorf("debit %d keys: %w", r.n, billing.ErrConflict))
			}
		}
		return nil
	})
}

// The tables that a charge writes to.
const (
	inKeys   = "keys"
	inUsage  = "usage"
	inFree   = "free_calls"
	inTraces = "traces"
)

// prepareCharge prepares what Charge runs, by table. The rows go into a statement as JSON: one for each row would cost more than the
// commit. The first changes no row of a key that is revoked or has too few credits.
func prepareCharge(ctx context.Context, db *sql.DB) (map[string]*sql.Stmt, error) {
	prepared := map[string]*sql.Stmt{}
	for table, text := range map[string]string{
		inKeys: `UPDATE keys SET credits = credits - debit.value, spent = spent + debit.value FROM json_each(?) AS debit
			WHERE keys.id = debit.key AND credits >= debit.value AND revoked_at IS NULL`,
		inUsage: `INSERT INTO usage (key_id, hour, op, paid, free)
			SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?) WHERE true
			ON CONFLICT (key_id, hour, op) DO UPDATE SET paid = paid + excluded.paid, free = free + excluded.free`,
		inFree:   "INSERT INTO free_calls (key_id, at, calls) SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?)",
		inTraces: "INSERT INTO traces (key_id, at, op, pack) SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?)",
	} {
		var err error
		if prepared[table], err = db.PrepareContext(ctx, text); err != nil {
			return nil, fmt.Errorf("prepare charge: %w", err)
		}
	}
	return prepared, nil
}

// chargedRows are the rows of a table that a batch changes.
type chargedRows struct {
	table string
	n     int
	json  string // an object for keys: what is taken from each; else an array of arrays
}

// rowsOf are those of b, by table. Tables without any are left out.
func rowsOf(b billing.Batch) (list []chargedRows, err error) {
	var usage, free, traces [][]any
	for k, c := range b.Usage {
		usage = append(usage, []any{k.KeyID, k.Hour, k.Op, c.Paid, c.Free})
	}
	for id, stamp := range b.Free {
		free = append(free, []any{id, stamp.At.UnixMilli(), stamp.Calls})
	}
	for _, t := range b.Traces {
		traces = append(traces, []any{t.KeyID, t.At.UnixMilli(), t.Op, t.Pack})
	}
	for _, r := range []struct {
		table string
		n     int
		rows  any
	}{{inKeys, len(b.Debits), b.Debits}, {inUsage, len(usage), usage}, {inFree, len(free), free}, {inTraces, len(traces), traces}} {
		if r.n == 0 {
			continue
		}
		text, err := json.Marshal(r.rows)
		if err != nil {
			return nil, err
		}
		list = append(list, chargedRows{r.table, r.n, string(text)})
	}
	return list, nil
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
