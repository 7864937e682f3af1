package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/sdk/api"
)

// Keys returns the keys of owners, or every key for nil.
func (s *Store) Keys(ctx context.Context, owners []string) ([]account.Key, error) {
	which, args := ofOwners("owner_id", owners)
	rows, err := s.db.Read.QueryContext(ctx,
		`SELECT id, hash, owner_id, name, tier, consent, created_at, last_used_at, revoked_at, revokes_at, unmetered,
			coalesce(daily_credits, 0), oauth FROM keys
		WHERE pruned_at IS NULL AND `+which, args...)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	defer rows.Close()
	var list []account.Key
	for rows.Next() {
		var k account.Key
		var hash []byte
		var created, used, revoked, revokes sql.NullInt64
		var grant sql.NullString
		if err := rows.Scan(&k.ID, &hash, &k.OwnerID, &k.Name, &k.Tier, &k.Consent, &created, &used, &revoked, &revokes,
			&k.Unmetered, &k.Daily, &grant); err != nil {
			return nil, fmt.Errorf("read keys: %w", err)
		}
		if grant.Valid {
			if err := json.Unmarshal([]byte(grant.String), &k.Grant); err != nil {
				return nil, fmt.Errorf("read what was agreed to of key %s: %w", k.ID, err)
			}
		}
		if copy(k.Hash[:], hash) != len(k.Hash) {
			return nil, fmt.Errorf("read keys: the hash of %s has %d bytes", k.ID, len(hash))
		}
		k.CreatedAt, k.LastUsedAt = database.FromMillis(created), database.FromMillis(used)
		k.RevokedAt, k.RevokesAt = database.FromMillis(revoked), database.FromMillis(revokes)
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
		if err := createKey(ctx, tx, k, 0); err != nil {
			return err
		}
		return s.changed(ctx, tx, k.OwnerID)
	})
}

func createKey(ctx context.Context, tx *sql.Tx, k account.Key, credits int64) error {
	var grant sql.NullString
	if k.Grant != nil {
		text, err := json.Marshal(k.Grant)
		if err != nil {
			return fmt.Errorf("write what was agreed to: %w", err)
		}
		grant = sql.NullString{String: string(text), Valid: true}
	}
	_, err := tx.ExecContext(ctx,
		`INSERT INTO keys (id, hash, owner_id, name, tier, consent, created_at, revokes_at, unmetered, credits, daily_credits, oauth)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, 0), ?)`,
		k.ID, k.Hash[:], k.OwnerID, k.Name, k.Tier, k.Consent, k.CreatedAt.UnixMilli(),
		sql.NullInt64{Int64: k.RevokesAt.UnixMilli(), Valid: !k.RevokesAt.IsZero()}, k.Unmetered, credits, k.Daily, grant)
	if database.Refused(err) {
		return account.ErrDuplicate
	}
	if err != nil {
		return fmt.Errorf("create key: %w", err)
	}
	return nil
}

// RotateKey adds next in place of the key with the given id, which ends at revokesAt, and moves the credits of that to next. The ledger
// gets a row for each of the two.
func (s *Store) RotateKey(ctx context.Context, id string, next account.Key, revokesAt time.Time) (moved int64, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		var revoked, revokes sql.NullInt64
		err := tx.QueryRowContext(ctx, "SELECT credits, revoked_at, revokes_at FROM keys WHERE id = ?", id).Scan(&moved, &revoked, &revokes)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return account.NoKey(id)
		case err != nil:
			return fmt.Errorf("read key %s: %w", id, err)
		case revoked.Valid:
			return api.Errorf(api.ReasonInvalidRequest, "key %s was revoked and cannot be rotated", id).WithHint("create a new key")
		case revokes.Valid:
			return api.Errorf(api.ReasonInvalidRequest, "key %s is being replaced already", id).WithHint("rotate the new key")
		}
		if err := errors.Join(createKey(ctx, tx, next, moved), s.changed(ctx, tx, next.OwnerID)); err != nil {
			return err
		}
		over := sql.NullInt64{Int64: revokesAt.UnixMilli(), Valid: revokesAt.UnixMilli() <= next.CreatedAt.UnixMilli()}
		if _, err := tx.ExecContext(ctx, `UPDATE keys SET credits = 0, revokes_at = ?, revoked_at = ? WHERE id = ?`,
			revokesAt.UnixMilli(), over, id); err != nil {
			return fmt.Errorf("replace key %s: %w", id, err)
		}
		if moved == 0 {
			return nil
		}
		for _, e := range []billing.Entry{
			{KeyID: id, Amount: -moved, Reason: "to " + next.ID}, {KeyID: next.ID, Amount: moved, Reason: "from " + id},
		} {
			e.Kind, e.At = billing.KindRotate, next.CreatedAt
			if err := enter(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	return moved, err
}

// EndKeys revokes the keys that were replaced and whose time is over at now, as of when it was over.
func (s *Store) EndKeys(ctx context.Context, now time.Time) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		owners, err := database.Query(ctx, tx, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
			"UPDATE keys SET revoked_at = revokes_at WHERE revokes_at <= ? AND revoked_at IS NULL RETURNING owner_id", now.UnixMilli())
		if err != nil {
			return err
		}
		return s.changed(ctx, tx, owners...)
	})
}

// PruneKeys drops the keys without credits that were revoked at the given time or before, or that are not among the newest so many that
// their owner, but for the operator, has revoked, and returns their ids. What the books need of them stays.
func (s *Store) PruneKeys(ctx context.Context, before, now time.Time, most int) (ids []string, err error) {
	err = s.db.TxLeading(ctx, func(tx *sql.Tx) error {
		var owners []string
		ids, err = database.Query(ctx, tx, func(rows *sql.Rows) (id string, err error) {
			var owner string
			err = rows.Scan(&id, &owner)
			owners = append(owners, owner)
			return id, err
		}, `UPDATE keys SET pruned_at = ?, name = '' WHERE credits = 0 AND pruned_at IS NULL AND (revoked_at <= ? OR id IN (
			SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY owner_id ORDER BY revoked_at DESC, id) AS place FROM keys
				WHERE revoked_at IS NOT NULL AND pruned_at IS NULL AND credits = 0 AND owner_id <> ?) AS ended WHERE place > ?))
			RETURNING id, owner_id`, now.UnixMilli(), before.UnixMilli(), account.OperatorID, most)
		if err != nil {
			return err
		}
		return s.changed(ctx, tx, owners...)
	})
	return ids, err
}

// SetKeyTier sets the tier of one key, and whether its calls are charged.
func (s *Store) SetKeyTier(ctx context.Context, id string, tier api.Tier, unmetered bool) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE keys SET tier = ?, unmetered = ? WHERE id = ?", string(tier), unmetered, id); err != nil {
			return err
		}
		return s.changedKey(ctx, tx, id)
	})
}

// EditKey sets the name of a key, and its bound of credits a day, 0 for none.
func (s *Store) EditKey(ctx context.Context, id, name string, daily int64) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		set := "UPDATE keys SET name = ?, daily_credits = nullif(?, 0) WHERE id = ?"
		if _, err := tx.ExecContext(ctx, set, name, daily, id); err != nil {
			return err
		}
		return s.changedKey(ctx, tx, id)
	})
}

// RevokeKey revokes the key at the given time, once: a later call returns the time of the first. stranded is what credits are left on it.
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (holds time.Time, stranded int64, err error) {
	var revoked sql.NullInt64
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, "UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ? RETURNING revoked_at, credits",
			at.UnixMilli(), id).Scan(&revoked, &stranded); err != nil {
			return err
		}
		return s.changedKey(ctx, tx, id)
	})
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("revoke key %s: %w", id, err)
	}
	return database.FromMillis(revoked), stranded, nil
}

// maxTouched is how many keys TouchKeys writes in one transaction: charges wait for no more.
const maxTouched = 1000

// TouchKeys records when keys were last used. A time never goes back.
func (s *Store) TouchKeys(ctx context.Context, used map[string]time.Time) error {
	text := `UPDATE keys SET last_used_at = max(coalesce(last_used_at, 0), used.value) FROM json_each(?) AS used WHERE keys.id = used.key`
	if s.db.OnServer() { // where charges lock records in this order, too
		text = `UPDATE keys SET last_used_at = greatest(coalesce(last_used_at, 0), used.value::bigint)
			FROM (SELECT id, value FROM json_each_text(?::text::json) JOIN keys ON id = key ORDER BY id FOR UPDATE OF keys) AS used
			WHERE keys.id = used.id`
	}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(used)), maxTouched) {
		times := make(map[string]int64, len(ids))
		for _, id := range ids {
			times[id] = used[id].UnixMilli()
		}
		list, err := json.Marshal(times)
		if err == nil {
			err = s.db.Exec(ctx, text, string(list))
		}
		if err != nil {
			return fmt.Errorf("touch keys: %w", err)
		}
	}
	return nil
}
