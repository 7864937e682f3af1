package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/sdk/api"
)

// ofOwners is a condition for rows of some owners, which PostgreSQL alone takes, or of all for nil.
func ofOwners(column string, owners []string) (condition string, args []any) {
	if owners == nil {
		return "1 = 1", nil
	}
	return column + " = ANY(?::text[])", []any{owners}
}

// Standings returns tier and standing of owners, or of all for nil, in no order.
func (s *Store) Standings(ctx context.Context, owners []string) ([]account.Owner, error) {
	which, args := ofOwners("id", owners)
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (o account.Owner, err error) {
		var disabled sql.NullInt64
		if err = rows.Scan(&o.ID, &o.Tier, &disabled); disabled.Valid {
			at := database.FromMillis(disabled)
			o.DisabledAt = &at
		}
		return o, err
	}, "SELECT id, tier, disabled_at FROM owners WHERE "+which, args...)
}

// Owners returns every owner, oldest first.
func (s *Store) Owners(ctx context.Context) ([]account.Owner, error) {
	list, err := database.Query(ctx, s.db.Read, func(rows *sql.Rows) (o account.Owner, err error) {
		var created, disabled sql.NullInt64
		err = rows.Scan(&o.ID, &o.Tier, &created, &disabled, &o.Keys, &o.Credits)
		o.CreatedAt, o.Identities = database.FromMillis(created), []api.Identity{}
		if disabled.Valid {
			at := database.FromMillis(disabled)
			o.DisabledAt = &at
		}
		return o, err
	}, `SELECT owners.id, owners.tier, owners.created_at, owners.disabled_at, count(keys.id), coalesce(sum(keys.credits), 0)
		FROM owners LEFT JOIN keys ON keys.owner_id = owners.id AND keys.revoked_at IS NULL
		GROUP BY owners.id ORDER BY owners.created_at, owners.id`)
	if err != nil {
		return nil, err
	}
	place := make(map[string]int, len(list))
	for i, o := range list {
		place[o.ID] = i
	}
	_, err = database.Query(ctx, s.db.Read, func(rows *sql.Rows) (id account.Identity, err error) {
		var owner string
		var added sql.NullInt64
		err = rows.Scan(&owner, &id.Kind, &id.Subject, &added)
		if i, ok := place[owner]; ok { // else they were made after the owners were read
			list[i].Identities = append(list[i].Identities, id.Row(database.FromMillis(added)))
		}
		return id, err
	}, "SELECT owner_id, kind, subject, created_at FROM identities ORDER BY created_at, subject")
	return list, err
}

// HasPaid reports whether an owner has ever bought credits.
func (s *Store) HasPaid(ctx context.Context, ownerID string) (bool, error) {
	return hasPaid(ctx, s.db.Read, ownerID)
}

func hasPaid(ctx context.Context, from database.Querier, ownerID string) (paid bool, err error) {
	err = from.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM deposits WHERE owner_id = ? AND status = ?)", ownerID,
		api.DepositVerified).Scan(&paid)
	if err != nil {
		err = fmt.Errorf("look for a deposit that was paid: %w", err)
	}
	return paid, err
}

// SignedUp returns when the owners since t were made, oldest first, but for the operator and for those whom a purchase made.
func (s *Store) SignedUp(ctx context.Context, t time.Time) ([]time.Time, error) {
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (time.Time, error) {
		var at sql.NullInt64
		err := rows.Scan(&at)
		return database.FromMillis(at), err
	}, `SELECT created_at FROM owners WHERE created_at >= ? AND id <> ? AND id NOT IN (SELECT owner_id FROM purchases)
		ORDER BY created_at`, t.UnixMilli(), account.OperatorID)
}

// SetDisabled disables an owner at the given time, which ends their sessions, or enables them where it is zero, and reports whether there
// is such an owner. An owner who is disabled already keeps the time of that.
func (s *Store) SetDisabled(ctx context.Context, ownerID string, at time.Time) (known bool, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		text, value := "UPDATE owners SET disabled_at = coalesce(disabled_at, ?) WHERE id = ?", database.Millis(at)
		if at.IsZero() {
			text, value = "UPDATE owners SET disabled_at = ? WHERE id = ?", sql.NullInt64{}
		}
		res, err := tx.ExecContext(ctx, text, value, ownerID)
		if err != nil {
			return fmt.Errorf("disable or enable owner: %w", err)
		}
		changed, err := res.RowsAffected()
		if known = changed == 1; err != nil || !known {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE owner_id = ?", ownerID); err != nil {
			return fmt.Errorf("end sessions: %w", err)
		}
		return s.changed(ctx, tx, ownerID)
	})
	return known, err
}

// SetTier sets the tier of an owner and of all their keys, and reports whether there is such an owner.
func (s *Store) SetTier(ctx context.Context, ownerID string, tier api.Tier) (known bool, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
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
		return s.changed(ctx, tx, ownerID)
	})
	return known, err
}
