package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/store/sqlite"
	"github.com/contextd/contextd/sdk/api"
)

// AddChallenge adds c and drops those that have expired by its creation. It fails with account.ErrTooManyChallenges where most are open.
func (s *Store) AddChallenge(ctx context.Context, c account.Challenge, most int) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM challenges WHERE expires_at <= ?", c.CreatedAt.UnixMilli()); err != nil {
			return fmt.Errorf("drop expired challenges: %w", err)
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO challenges (hash, kind, subject, links, created_at, expires_at)
			SELECT ?, ?, ?, ?, ?, ? WHERE (SELECT count(*) FROM challenges) < ?`,
			c.Hash[:], c.Kind, c.Subject, sql.NullString{String: c.Links, Valid: c.Links != ""},
			c.CreatedAt.UnixMilli(), c.ExpiresAt.UnixMilli(), most)
		if err != nil {
			return fmt.Errorf("add challenge: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return err
		}
		return account.ErrTooManyChallenges
	})
}

// TakeChallenge takes out and returns the challenge with the given hash, once. After that it is account.ErrNoChallenge. Looking for one
// that is not there writes nothing.
func (s *Store) TakeChallenge(ctx context.Context, hash [sha256.Size]byte) (account.Challenge, error) {
	c := account.Challenge{Hash: hash}
	var there bool
	if err := s.db.Read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM challenges WHERE hash = ?)",
		hash[:]).Scan(&there); err != nil || !there {
		return c, errors.Join(err, account.ErrNoChallenge)
	}
	err := s.db.Tx(ctx, func(tx *sql.Tx) error {
		var links sql.NullString
		var created, expires sql.NullInt64
		err := tx.QueryRowContext(ctx, "DELETE FROM challenges WHERE hash = ? RETURNING kind, subject, links, created_at, expires_at",
			hash[:]).
			Scan(&c.Kind, &c.Subject, &links, &created, &expires)
		c.Links, c.CreatedAt, c.ExpiresAt = links.String, sqlite.FromMillis(created), sqlite.FromMillis(expires)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return c, account.ErrNoChallenge
	}
	return c, err
}

// OpenSession adds a for the owner of id, who becomes a.OwnerID where id is nobody's and is made where new. It fails with
// account.ErrIdentityTaken where id is another's and links is set, and with account.ErrDisabled for an owner who is disabled.
func (s *Store) OpenSession(ctx context.Context, id account.Identity, links bool, a account.Session) (account.Session, error) {
	at := a.CreatedAt.UnixMilli()
	err := s.db.Tx(ctx, func(tx *sql.Tx) error {
		var owner string
		err := tx.QueryRowContext(ctx, "SELECT owner_id FROM identities WHERE kind = ? AND subject = ?", id.Kind, id.Subject).Scan(&owner)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			if err := addIdentity(ctx, tx, id, a.OwnerID, at); err != nil {
				return err
			}
		case err != nil:
			return fmt.Errorf("find owner of identity: %w", err)
		case links && owner != a.OwnerID:
			return account.ErrIdentityTaken
		default:
			a.OwnerID = owner
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO sessions (hash, owner_id, created_at, expires_at) VALUES (?, ?, ?, ?)",
			a.Hash[:], a.OwnerID, at, a.ExpiresAt.UnixMilli()); err != nil {
			return fmt.Errorf("add session: %w", err)
		}
		a, err = session(ctx, tx, a.Hash, a.CreatedAt)
		if errors.Is(err, account.ErrNoSession) {
			return account.ErrDisabled
		}
		return err
	})
	return a, err
}

// addIdentity gives id to an owner, who is made if new.
func addIdentity(ctx context.Context, tx *sql.Tx, id account.Identity, owner string, at int64) error {
	if _, err := tx.ExecContext(ctx, "INSERT INTO owners (id, tier, created_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
		owner, api.TierFree, at); err != nil {
		return fmt.Errorf("create owner: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO identities (kind, subject, owner_id, created_at) VALUES (?, ?, ?, ?)",
		id.Kind, id.Subject, owner, at); err != nil {
		return fmt.Errorf("add identity: %w", err)
	}
	return nil
}

// session reads the session with the given hash that holds at now, else it is account.ErrNoSession.
func session(ctx context.Context, from sqlite.Querier, hash [sha256.Size]byte, now time.Time) (account.Session, error) {
	a := account.Session{Hash: hash}
	var created, expires sql.NullInt64
	err := from.QueryRowContext(ctx, `SELECT owner_id, tier, sessions.created_at, expires_at,
			coalesce((SELECT subject FROM identities WHERE owner_id = owners.id AND kind = ? ORDER BY created_at, subject LIMIT 1), ''),
			coalesce((SELECT subject FROM identities WHERE owner_id = owners.id AND kind = ? ORDER BY created_at, subject LIMIT 1), '')
		FROM sessions JOIN owners ON owners.id = owner_id WHERE hash = ? AND expires_at > ? AND disabled_at IS NULL`,
		account.KindEmail, account.KindWallet, hash[:], now.UnixMilli()).Scan(&a.OwnerID, &a.Tier, &created, &expires, &a.Email, &a.Address)
	if errors.Is(err, sql.ErrNoRows) {
		return a, account.ErrNoSession
	}
	if err != nil {
		return a, fmt.Errorf("read session: %w", err)
	}
	a.CreatedAt, a.ExpiresAt = sqlite.FromMillis(created), sqlite.FromMillis(expires)
	return a, nil
}

// Session returns the session with the given hash that holds at now, else it is account.ErrNoSession.
func (s *Store) Session(ctx context.Context, hash [sha256.Size]byte, now time.Time) (account.Session, error) {
	return session(ctx, s.db.Read, hash, now)
}

// RenewSession lets a session end at the given time.
func (s *Store) RenewSession(ctx context.Context, hash [sha256.Size]byte, end time.Time) error {
	return s.db.Exec(ctx, "UPDATE sessions SET expires_at = ? WHERE hash = ?", end.UnixMilli(), hash[:])
}

// EndSession ends a session. One that is not there has ended.
func (s *Store) EndSession(ctx context.Context, hash [sha256.Size]byte) error {
	return s.db.Exec(ctx, "DELETE FROM sessions WHERE hash = ?", hash[:])
}

// PruneSessions drops sessions and challenges that have ended.
func (s *Store) PruneSessions(ctx context.Context, now time.Time) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		for _, table := range []string{"sessions", "challenges"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE expires_at <= ?", now.UnixMilli()); err != nil {
				return fmt.Errorf("prune %s: %w", table, err)
			}
		}
		return nil
	})
}

// Prompt returns an owner's prompt for a pack, "" if there is none.
func (s *Store) Prompt(ctx context.Context, ownerID, pack string) (prompt string, err error) {
	err = s.db.Read.QueryRowContext(ctx, "SELECT prompt FROM prompts WHERE owner_id = ? AND pack = ?", ownerID, pack).Scan(&prompt)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return prompt, err
}

// SetPrompt sets an owner's prompt for a pack, or drops it where prompt is "".
func (s *Store) SetPrompt(ctx context.Context, ownerID, pack, prompt string, at time.Time) error {
	if prompt == "" {
		return s.db.Exec(ctx, "DELETE FROM prompts WHERE owner_id = ? AND pack = ?", ownerID, pack)
	}
	return s.db.Exec(ctx, `INSERT INTO prompts (owner_id, pack, prompt, updated_at) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET prompt = excluded.prompt, updated_at = excluded.updated_at`, ownerID, pack, prompt, at.UnixMilli())
}
