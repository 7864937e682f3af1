package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/sdk/api"
)

// Owners returns every owner, oldest first.
func (s *Store) Owners(ctx context.Context) ([]account.Owner, error) {
	return query(ctx, s.main.read, func(rows *sql.Rows) (o account.Owner, err error) {
		var created sql.NullInt64
		err = rows.Scan(&o.ID, &o.Tier, &created, &o.Keys, &o.Credits)
		o.CreatedAt = fromMillis(created)
		return o, err
	}, `SELECT owners.id, owners.tier, owners.created_at, count(keys.id), coalesce(sum(keys.credits), 0)
		FROM owners LEFT JOIN keys ON keys.owner_id = owners.id AND keys.revoked_at IS NULL
		GROUP BY owners.id ORDER BY owners.created_at, owners.id`)
}

// SetTier sets the tier of an owner and of all his keys, and reports whether there is such an owner.
func (s *Store) SetTier(ctx context.Context, ownerID string, tier api.Tier) (known bool, err error) {
	err = s.main.tx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "UPDATE owners SET tier = ? WHERE id = ?", string(tier), ownerID)
		if err != nil {
			return fmt.Errorf("set tier of owner: %w", err)
		}
		changed, err := res.RowsAffected()
		if known = changed == 1; err != nil || !known {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE keys SET tier = ? WHERE owner_id = ?", string(tier), ownerID); err != nil {
			return fmt.Errorf("set tier of keys: %w", err)
		}
		return nil
	})
	return known, err
}
