package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/sdk/api"
)

// Identities returns those of an owner, oldest first.
func (s *Store) Identities(ctx context.Context, ownerID string) ([]api.Identity, error) {
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (api.Identity, error) {
		var id account.Identity
		var added sql.NullInt64
		err := rows.Scan(&id.Kind, &id.Subject, &added)
		return id.Row(database.FromMillis(added)), err
	}, "SELECT kind, subject, created_at FROM identities WHERE owner_id = ? ORDER BY created_at, subject", ownerID)
}

// RemoveIdentity takes id from its owner and ends their sessions but the one with the hash keep, and drops links to it. It fails with
// account.ErrNoIdentity, or with account.ErrLastIdentity where the owner has no other.
func (s *Store) RemoveIdentity(ctx context.Context, ownerID string, id account.Identity, keep [sha256.Size]byte) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := once(ctx, tx, account.ErrNoIdentity, "DELETE FROM identities WHERE owner_id = ? AND kind = ? AND subject = ?",
			ownerID, id.Kind, id.Subject); err != nil {
			return err
		}
		var left bool
		if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM identities WHERE owner_id = ?)", ownerID).Scan(&left); err != nil {
			return fmt.Errorf("count identities: %w", err)
		}
		if !left {
			return account.ErrLastIdentity
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM challenges WHERE kind = ? AND subject = ?", id.Kind, id.Subject); err != nil {
			return fmt.Errorf("drop links: %w", err)
		}
		return endSessions(ctx, tx, ownerID, keep)
	})
}

// KnowsClient reports whether a link to an address was redeemed by a client, by the hash of both.
func (s *Store) KnowsClient(ctx context.Context, hash [sha256.Size]byte) (known bool, err error) {
	err = s.db.Read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM known_clients WHERE hash = ?)", hash[:]).Scan(&known)
	return known, err
}

// inviteHolds is the condition of an invitation that can be used at a time.
const inviteHolds = "used_at IS NULL AND revoked_at IS NULL AND expires_at > ?"

// InviteHolds reports whether the invitation with the given hash can be used at now.
func (s *Store) InviteHolds(ctx context.Context, hash [sha256.Size]byte, now time.Time) (holds bool, err error) {
	err = s.db.Read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM invites WHERE hash = ? AND "+inviteHolds+")",
		hash[:], now.UnixMilli()).Scan(&holds)
	return holds, err
}

// AddInvite adds i.
func (s *Store) AddInvite(ctx context.Context, i account.Invite) error {
	return s.db.Exec(ctx, "INSERT INTO invites (id, hash, note, created_at, expires_at) VALUES (?, ?, ?, ?, ?)",
		i.ID, i.Hash[:], i.Note, i.CreatedAt.UnixMilli(), i.ExpiresAt.UnixMilli())
}

// Invites returns every invitation, newest first.
func (s *Store) Invites(ctx context.Context) ([]account.Invite, error) {
	return database.Query(ctx, s.db.Read, func(rows *sql.Rows) (i account.Invite, err error) {
		var created, expires, revoked, used sql.NullInt64
		err = rows.Scan(&i.ID, &i.Note, &created, &expires, &revoked, &used, &i.UsedBy)
		i.CreatedAt, i.ExpiresAt = database.FromMillis(created), database.FromMillis(expires)
		for at, from := range map[**time.Time]sql.NullInt64{&i.RevokedAt: revoked, &i.UsedAt: used} {
			if from.Valid {
				moment := database.FromMillis(from)
				*at = &moment
			}
		}
		return i, err
	}, `SELECT id, note, created_at, expires_at, revoked_at, used_at, coalesce(used_by, '') FROM invites ORDER BY created_at DESC, id`)
}

// RevokeInvite revokes an invitation at the given time, or fails with account.ErrNoInvite where it does not hold then.
func (s *Store) RevokeInvite(ctx context.Context, id string, at time.Time) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		return once(ctx, tx, account.ErrNoInvite, "UPDATE invites SET revoked_at = ? WHERE id = ? AND "+inviteHolds,
			at.UnixMilli(), id, at.UnixMilli())
	})
}
