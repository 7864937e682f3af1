package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/store/sqlite"
	"github.com/contextd/contextd/sdk/api"
)

// Keys returns every key.
func (s *Store) Keys(ctx context.Context) ([]account.Key, error) {
	rows, err := s.db.Read.QueryContext(ctx,
		"SELECT id, hash, owner_id, name, tier, consent, created_at, last_used_at, revoked_at FROM keys")
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	defer rows.Close()
	var list []account.Key
	for rows.Next() {
		var k account.Key
		var hash []byte
		var created, used, revoked sql.NullInt64
		if err := rows.Scan(&k.ID, &hash, &k.OwnerID, &k.Name, &k.Tier, &k.Consent, &created, &used, &revoked); err != nil {
			return nil, fmt.Errorf("read keys: %w", err)
		}
		if copy(k.Hash[:], hash) != len(k.Hash) {
			return nil, fmt.Errorf("read keys: the hash of %s has %d bytes", k.ID, len(hash))
		}
		k.CreatedAt, k.LastUsedAt, k.RevokedAt = sqlite.FromMillis(created), sqlite.FromMillis(used), sqlite.FromMillis(revoked)
		list = append(list, k)
	}
	return list, rows.Err()
}

// CreateKey adds k, and its owner where that is new. It fails with account.ErrDuplicate where the id or the hash exists.
func (s *Store) CreateKey(ctx context.Context, k account.Key) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO owners (id, tier, created_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
			k.OwnerID, api.TierFree, k.CreatedAt.UnixMilli()); err != nil {
			return fmt.Errorf("create owner: %w", err)
		}
		_, err := tx.ExecContext(ctx,
			"INSERT INTO keys (id, hash, owner_id, name, tier, consent, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
			k.ID, k.Hash[:], k.OwnerID, k.Name, k.Tier, k.Consent, k.CreatedAt.UnixMilli())
		var constraint sqlite3.Error
		if errors.As(err, &constraint) && constraint.Code == sqlite3.ErrConstraint {
			return account.ErrDuplicate
		}
		if err != nil {
			return fmt.Errorf("create key: %w", err)
		}
		return nil
	})
}

// RevokeKey revokes the key at the given time, once: a later call returns the time of the first. stranded is what credits are left on it.
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (holds time.Time, stranded int64, err error) {
	var revoked sql.NullInt64
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ? RETURNING revoked_at, credits",
			at.UnixMilli(), id).Scan(&revoked, &stranded)
	})
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("revoke key %s: %w", id, err)
	}
	return sqlite.FromMillis(revoked), stranded, nil
}

// TouchKeys records when keys were last used. A time never goes back.
func (s *Store) TouchKeys(ctx context.Context, used map[string]time.Time) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		for id, at := range used {
			if _, err := tx.ExecContext(ctx, "UPDATE keys SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?",
				at.UnixMilli(), id); err != nil {
				return fmt.Errorf("touch key %s: %w", id, err)
			}
		}
		return nil
	})
}
