package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/sdk/api"
)

// Move adds e to the ledger, changes the credits of its key and returns the pool of the key's owner afterwards.
func (s *Store) Move(ctx context.Context, e billing.Entry) (pool int64, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		var owner string
		var have int64
		var agent bool
		var revoked, revokes sql.NullInt64
		err := tx.QueryRowContext(ctx, `SELECT owner_id, credits, oauth IS NOT NULL, revoked_at, revokes_at FROM keys
			WHERE id = ? AND pruned_at IS NULL`, e.KeyID).Scan(&owner, &have, &agent, &revoked, &revokes)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return account.NoKey(e.KeyID)
		case err != nil:
			return fmt.Errorf("read key %s: %w", e.KeyID, err)
		case revoked.Valid:
			return api.Errorf(api.ReasonInvalidRequest, "key %s was revoked; its credits stay as they are", e.KeyID).
				WithHint("name an active key of the owner")
		case agent:
			return api.Errorf(api.ReasonInvalidRequest, "key %s is of an agent, and ends with it", e.KeyID).
				WithHint("name another key of its owner: an agent spends their credits")
		case revokes.Valid:
			return api.Errorf(api.ReasonInvalidRequest, "key %s is being replaced by another", e.KeyID).WithHint("name the new key")
		case have+e.Amount < 0:
			return api.Errorf(api.ReasonInvalidRequest, "key %s has %d credits, fewer than %d", e.KeyID, have, -e.Amount).
				WithHint("take at most %d", have)
		}
		if _, err := tx.ExecContext(ctx, "UPDATE keys SET credits = credits + ? WHERE id = ?", e.Amount, e.KeyID); err != nil {
			return fmt.Errorf("move credits of key %s: %w", e.KeyID, err)
		}
		if err := errors.Join(enter(ctx, tx, e), s.changed(ctx, tx, owner)); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "SELECT sum(credits) FROM keys WHERE owner_id = ? AND revoked_at IS NULL", owner).Scan(&pool)
	})
	return pool, err
}

// enter writes e into the ledger.
func enter(ctx context.Context, tx *sql.Tx, e billing.Entry) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO ledger (key_id, amount, kind, reason, at) VALUES (?, ?, ?, ?, ?)",
		e.KeyID, e.Amount, string(e.Kind), e.Reason, e.At.UnixMilli())
	if err != nil {
		return fmt.Errorf("write ledger of key %s: %w", e.KeyID, err)
	}
	return nil
}

// Entries returns the ledger of an owner, or of all for "", newest first, at most limit rows.
func (s *Store) Entries(ctx context.Context, ownerID string, limit int) ([]billing.Entry, error) {
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (e billing.Entry, err error) {
		var at sql.NullInt64
		err = rows.Scan(&e.ID, &e.KeyID, &e.Amount, &e.Kind, &e.Reason, &at)
		e.At = database.FromMillis(at)
		return e, err
	}, `SELECT ledger.id, key_id, amount, kind, reason, at FROM ledger JOIN keys ON keys.id = key_id
		WHERE ?1 = '' OR owner_id = ?1 ORDER BY ledger.id DESC LIMIT ?2`, ownerID, limit)
}

// Balance returns the pool of an owner and how many of their keys are not revoked; with keyID the credits of that key alone.
func (s *Store) Balance(ctx context.Context, ownerID, keyID string) (credits int64, keys int, err error) {
	err = s.db.Read.QueryRowContext(ctx, "SELECT coalesce(sum(credits), 0), count(*) FROM keys WHERE owner_id = ? AND revoked_at IS NULL",
		ownerID).Scan(&credits, &keys)
	if err == nil && keyID != "" {
		err = s.db.Read.QueryRowContext(ctx, "SELECT credits FROM keys WHERE owner_id = ? AND id = ? AND pruned_at IS NULL",
			ownerID, keyID).Scan(&credits)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, 0, account.NoKey(keyID)
		}
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read balance: %w", err)
	}
	return credits, keys, nil
}

// Usage returns the calls of an owner's keys by day, from the day that from is in, oldest first.
func (s *Store) Usage(ctx context.Context, ownerID string, from time.Time) ([]api.UsageRow, error) {
	const hoursPerDay = 24
	rows, err := database.Query(ctx, s.db.Read, func(rows *sql.Rows) (r api.UsageRow, err error) {
		var day int64
		err = rows.Scan(&day, &r.KeyID, &r.Op, &r.Calls)
		r.Day = fromHour(day * hoursPerDay).Format(time.DateOnly)
		return r, err
	}, `SELECT hour / 24 AS day, key_id, op, sum(paid + free) FROM usage JOIN keys ON keys.id = key_id
		WHERE owner_id = ? AND hour >= ? AND op <> '' GROUP BY day, key_id, op ORDER BY day, key_id, op`,
		ownerID, toHour(from)/hoursPerDay*hoursPerDay)
	if rows == nil {
		rows = []api.UsageRow{}
	}
	return rows, err
}

// Calls counts the calls with a key since the hour that a time is in.
func (s *Store) Calls(ctx context.Context, since time.Time) (n int64, err error) {
	err = s.db.Read.QueryRowContext(ctx, "SELECT coalesce(sum(paid + free), 0) FROM usage WHERE op <> '' AND hour >= ?",
		toHour(since)).Scan(&n)
	if err != nil {
		err = fmt.Errorf("count calls: %w", err)
	}
	return n, err
}

// Bounds returns the bounds of an owner's active keys and what each has spent in the UTC day of now, oldest key first.
func (s *Store) Bounds(ctx context.Context, ownerID string, now time.Time) ([]api.KeyBound, error) {
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (b api.KeyBound, err error) {
		return b, rows.Scan(&b.KeyID, &b.DailyCredits, &b.SpentToday)
	}, `SELECT id, daily_credits, coalesce((SELECT sum(paid) FROM usage WHERE key_id = keys.id AND hour >= ?), 0) FROM keys
		WHERE owner_id = ? AND daily_credits IS NOT NULL AND revoked_at IS NULL AND (revokes_at IS NULL OR revokes_at > ?)
		ORDER BY created_at, id`, toHour(now.UTC().Truncate(24*time.Hour)), ownerID, now.UnixMilli())
}

// Audit recomputes every balance from the ledger and the counters and says what does not agree.
func (s *Store) Audit(ctx context.Context) ([]billing.Finding, error) {
	records, err := database.Query(ctx, s.db.Read, func(rows *sql.Rows) (f billing.Finding, err error) {
		var credits, spent, moved int64
		err = rows.Scan(&f.Subject, &credits, &spent, &moved)
		f.Text = fmt.Sprintf("has %d credits and %d spent, but the ledger says %d", credits, spent, moved)
		return f, err
	}, `SELECT id, credits, spent, moved FROM
		(SELECT id, credits, spent, coalesce((SELECT sum(amount) FROM ledger WHERE key_id = keys.id), 0) AS moved FROM keys) AS sums
		WHERE credits + spent <> moved ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("audit records: %w", err)
	}
	owners, err := database.Query(ctx, s.db.Read, func(rows *sql.Rows) (f billing.Finding, err error) {
		var spent, paid int64
		err = rows.Scan(&f.Subject, &spent, &paid)
		f.Subject = "owner " + f.Subject
		f.Text = fmt.Sprintf("was debited %d credits for %d paid calls", spent, paid)
		return f, err
	}, `SELECT owner_id, debited, called FROM (SELECT owner_id, sum(spent) AS debited,
			coalesce((SELECT sum(paid) FROM usage JOIN keys AS k ON k.id = usage.key_id WHERE k.owner_id = keys.owner_id), 0) AS called
		FROM keys GROUP BY owner_id) AS sums WHERE debited <> called ORDER BY owner_id`)
	if err != nil {
		return nil, fmt.Errorf("audit calls: %w", err)
	}
	return append(records, owners...), nil
}
