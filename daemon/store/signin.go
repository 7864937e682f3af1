package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/sdk/api"
)

// AddChallenge adds c and drops those that have expired by its creation.
func (s *Store) AddChallenge(ctx context.Context, c account.Challenge) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM challenges WHERE expires_at <= ?", c.CreatedAt.UnixMilli()); err != nil {
			return fmt.Errorf("drop expired challenges: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO challenges (hash, kind, subject, links, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?)`, c.Hash[:], c.Kind, c.Subject, sql.NullString{String: c.Links, Valid: c.Links != ""},
			c.CreatedAt.UnixMilli(), c.ExpiresAt.UnixMilli()); err != nil {
			return fmt.Errorf("add challenge: %w", err)
		}
		return nil
	})
}

// Challenge returns the challenge with the given hash, else it is account.ErrNoChallenge.
func (s *Store) Challenge(ctx context.Context, hash [sha256.Size]byte) (account.Challenge, error) {
	c := account.Challenge{Hash: hash}
	var links sql.NullString
	var created, expires sql.NullInt64
	err := s.db.Read.QueryRowContext(ctx, "SELECT kind, subject, links, created_at, expires_at FROM challenges WHERE hash = ?", hash[:]).
		Scan(&c.Kind, &c.Subject, &links, &created, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return c, account.ErrNoChallenge
	}
	c.Links, c.CreatedAt, c.ExpiresAt = links.String, database.FromMillis(created), database.FromMillis(expires)
	return c, err
}

// OwnerOf returns the owner of id, "" if it is nobody's.
func (s *Store) OwnerOf(ctx context.Context, id account.Identity) (owner string, err error) {
	return ownerOf(ctx, s.db.Read, id)
}

func ownerOf(ctx context.Context, from database.Querier, id account.Identity) (owner string, err error) {
	err = from.QueryRowContext(ctx, "SELECT owner_id FROM identities WHERE kind = ? AND subject = ?", id.Kind, id.Subject).Scan(&owner)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return owner, err
}

// OpenSession opens o's session for the owner of its identity, or makes that one as o says. What o names is used up with it: a link, a
// message, an invitation. It fails with account.ErrNoChallenge, ErrNobody, ErrIdentityTaken, ErrNoInvite or ErrDisabled, and then nothing
// is.
func (s *Store) OpenSession(ctx context.Context, o account.Opening) (a account.Session, err error) {
	a = o.Session
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		if o.Token != [sha256.Size]byte{} {
			if err := once(ctx, tx, account.ErrNoChallenge, "DELETE FROM challenges WHERE hash = ?", o.Token[:]); err != nil {
				return err
			}
		}
		if o.Message != [sha256.Size]byte{} {
			if err := useMessage(ctx, tx, o.Message, o.Session.CreatedAt, o.Until); err != nil {
				return err
			}
		}
		if a.OwnerID, err = resolveOwner(ctx, tx, o); err != nil {
			return err
		}
		at := o.Session.CreatedAt.UnixMilli()
		if o.Client != [sha256.Size]byte{} {
			if _, err := tx.ExecContext(ctx, `INSERT INTO known_clients (hash, seen_at) VALUES (?, ?)
				ON CONFLICT (hash) DO UPDATE SET seen_at = excluded.seen_at`, o.Client[:], at); err != nil {
				return fmt.Errorf("remember client: %w", err)
			}
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO sessions (hash, owner_id, created_at, expires_at, proved_at) VALUES (?, ?, ?, ?, ?)",
			a.Hash[:], a.OwnerID, at, a.ExpiresAt.UnixMilli(), a.ProvedAt.UnixMilli()); err != nil {
			return fmt.Errorf("add session: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE owner_id = ?1 AND hash NOT IN (
			SELECT hash FROM sessions WHERE owner_id = ?1 ORDER BY hash <> ?2, expires_at DESC, created_at DESC, hash LIMIT ?3)`,
			a.OwnerID, a.Hash[:], api.MaxSessions); err != nil {
			return fmt.Errorf("end the oldest session: %w", err)
		}
		a, err = session(ctx, tx, a.Hash, o.Session.CreatedAt)
		if errors.Is(err, account.ErrNoSession) {
			return account.ErrDisabled
		}
		return err
	})
	return a, err
}

// resolveOwner returns the owner of o's identity, who gets it or is made where o says so.
func resolveOwner(ctx context.Context, tx *sql.Tx, o account.Opening) (owner string, err error) {
	owner, err = ownerOf(ctx, tx, o.Identity)
	switch at := o.Session.CreatedAt.UnixMilli(); {
	case err != nil:
		return "", fmt.Errorf("find owner of identity: %w", err)
	case owner != "" && o.Adds && owner != o.OwnerID:
		return "", account.ErrIdentityTaken
	case owner != "":
		return owner, nil
	case !o.Adds && !o.New:
		return "", account.ErrNobody
	default:
		if err := addIdentity(ctx, tx, o.Identity, o.OwnerID, at); err != nil || o.Invite == [sha256.Size]byte{} {
			return o.OwnerID, err
		}
		return o.OwnerID, once(ctx, tx, account.ErrNoInvite, "UPDATE invites SET used_at = ?, used_by = ? WHERE hash = ? AND "+inviteHolds,
			at, o.OwnerID, o.Invite[:], at)
	}
}

// once runs what must change one row, and fails with none where it changes nothing.
func once(ctx context.Context, tx *sql.Tx, none error, text string, args ...any) error {
	res, err := tx.ExecContext(ctx, text, args...)
	if err != nil {
		return fmt.Errorf("use up or take: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return none
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
func session(ctx context.Context, from database.Querier, hash [sha256.Size]byte, now time.Time) (account.Session, error) {
	a := account.Session{Hash: hash}
	var created, expires, proved sql.NullInt64
	err := from.QueryRowContext(ctx, `SELECT owner_id, tier, sessions.created_at, expires_at, proved_at,
			coalesce((SELECT subject FROM identities WHERE owner_id = owners.id AND kind = ? ORDER BY created_at, subject LIMIT 1), ''),
			coalesce((SELECT subject FROM identities WHERE owner_id = owners.id AND kind = ? ORDER BY created_at, subject LIMIT 1), '')
		FROM sessions JOIN owners ON owners.id = owner_id WHERE hash = ? AND expires_at > ? AND disabled_at IS NULL`,
		account.KindEmail, account.KindWallet, hash[:], now.UnixMilli()).
		Scan(&a.OwnerID, &a.Tier, &created, &expires, &proved, &a.Email, &a.Address)
	if errors.Is(err, sql.ErrNoRows) {
		return a, account.ErrNoSession
	}
	if err != nil {
		return a, fmt.Errorf("read session: %w", err)
	}
	a.CreatedAt, a.ExpiresAt, a.ProvedAt = database.FromMillis(created), database.FromMillis(expires), database.FromMillis(proved)
	return a, nil
}

// UseSignIn notes that a sign-in of standard x402 was used, until some time, and reports whether this is the first use. Like a signed
// message, it is a row of nobody among the challenges.
func (s *Store) UseSignIn(ctx context.Context, hash [sha256.Size]byte, at, until time.Time) (first bool, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error { return useMessage(ctx, tx, hash, at, until) })
	if errors.Is(err, account.ErrNoChallenge) {
		return false, nil
	}
	return err == nil, err
}

// useMessage notes that a signed message was used. It fails with account.ErrNoChallenge where it was used before.
func useMessage(ctx context.Context, tx *sql.Tx, hash [sha256.Size]byte, at, until time.Time) error {
	// Of nobody, so that what drops the links of an owner leaves it.
	return once(ctx, tx, account.ErrNoChallenge, `INSERT INTO challenges (hash, kind, subject, created_at, expires_at)
		VALUES (?, ?, '', ?, ?) ON CONFLICT (hash) DO NOTHING`, hash[:], account.KindWallet, at.UnixMilli(), until.UnixMilli())
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

// EndSessions ends all sessions of an owner, and drops the links that would open one.
func (s *Store) EndSessions(ctx context.Context, ownerID string) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM challenges WHERE links = ?1
			OR (kind, subject) IN (SELECT kind, subject FROM identities WHERE owner_id = ?1)`, ownerID); err != nil {
			return fmt.Errorf("drop links: %w", err)
		}
		return endSessions(ctx, tx, ownerID, [sha256.Size]byte{})
	})
}

func endSessions(ctx context.Context, tx *sql.Tx, ownerID string, keep [sha256.Size]byte) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE owner_id = ? AND hash <> ?", ownerID, keep[:]); err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return nil
}

// knownFor is how long a client is known after the last link that was redeemed there; inviteKept is how long an invitation is listed after
// its end.
const (
	knownFor   = 180 * 24 * time.Hour
	inviteKept = 30 * 24 * time.Hour
)

// PruneSessions drops sessions and challenges that have ended, and what is remembered of clients and invitations for long enough.
func (s *Store) PruneSessions(ctx context.Context, now time.Time) error {
	return s.db.TxLeading(ctx, func(tx *sql.Tx) error {
		for _, old := range []struct {
			from string
			at   time.Time
		}{
			{"sessions WHERE expires_at", now}, {"challenges WHERE expires_at", now},
			{"known_clients WHERE seen_at", now.Add(-knownFor)}, {"invites WHERE expires_at", now.Add(-inviteKept)},
		} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+old.from+" <= ?", old.at.UnixMilli()); err != nil {
				return fmt.Errorf("prune %s: %w", old.from, err)
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
		ON CONFLICT (owner_id, pack) DO UPDATE SET prompt = excluded.prompt, updated_at = excluded.updated_at`, ownerID, pack, prompt, at.UnixMilli())
}
