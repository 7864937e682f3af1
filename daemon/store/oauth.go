package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/sdk/api"
)

// AddCode adds a code, or fails with account.ErrUsed where its form has one already.
func (s *Store) AddCode(ctx context.Context, c account.Code) error {
	consent, err := json.Marshal(c.Consent)
	if err != nil {
		return fmt.Errorf("write consent: %w", err)
	}
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		return once(ctx, tx, account.ErrUsed, `INSERT INTO oauth_codes (hash, form, consent, redirect, challenge, expires_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (form) DO NOTHING`,
			c.Hash[:], c.Form[:], string(consent), c.Redirect, c.Challenge, c.ExpiresAt.UnixMilli())
	})
}

// KeepGrant keeps the grant of a key as it is now.
func (s *Store) KeepGrant(ctx context.Context, keyID string, g api.Grant) error {
	text, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("write what was agreed to: %w", err)
	}
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE keys SET oauth = ? WHERE id = ?", string(text), keyID); err != nil {
			return fmt.Errorf("change what was agreed to: %w", err)
		}
		return s.changedKey(ctx, tx, keyID)
	})
}

// Code returns the code with the given hash, else it is account.ErrNoToken.
func (s *Store) Code(ctx context.Context, hash [sha256.Size]byte) (account.Code, error) {
	c := account.Code{Hash: hash}
	var form []byte
	var consent string
	var expires, used sql.NullInt64
	err := s.db.Read.QueryRowContext(ctx,
		"SELECT form, consent, redirect, challenge, expires_at, used_at, coalesce(key_id, '') FROM oauth_codes WHERE hash = ?", hash[:]).
		Scan(&form, &consent, &c.Redirect, &c.Challenge, &expires, &used, &c.KeyID)
	if errors.Is(err, sql.ErrNoRows) {
		return c, account.ErrNoToken
	}
	if err == nil {
		err = json.Unmarshal([]byte(consent), &c.Consent)
	}
	if err != nil {
		return c, fmt.Errorf("read code: %w", err)
	}
	copy(c.Form[:], form)
	c.ExpiresAt, c.UsedAt = database.FromMillis(expires), database.FromMillis(used)
	return c, nil
}

// UseCode marks a code as used and adds the key that it is for, and its tokens. It fails with account.ErrUsed where it was used before,
// and with account.ErrDuplicate where the key's id is taken.
func (s *Store) UseCode(ctx context.Context, hash [sha256.Size]byte, at time.Time, k account.Key, made []account.Token) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := once(ctx, tx, account.ErrUsed, "UPDATE oauth_codes SET used_at = ? WHERE hash = ? AND used_at IS NULL",
			at.UnixMilli(), hash[:]); err != nil {
			return err
		}
		if err := createKey(ctx, tx, k, 0); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE oauth_codes SET key_id = ? WHERE hash = ?", k.ID, hash[:]); err != nil {
			return fmt.Errorf("note key of code: %w", err)
		}
		return errors.Join(addTokens(ctx, tx, made), s.changed(ctx, tx, k.OwnerID))
	})
}

func addTokens(ctx context.Context, tx *sql.Tx, made []account.Token) error {
	for _, t := range made {
		if _, err := tx.ExecContext(ctx, "INSERT INTO oauth_tokens (hash, key_id, kind, expires_at) VALUES (?, ?, ?, ?)",
			t.Hash[:], t.KeyID, kindOf(t), t.ExpiresAt.UnixMilli()); err != nil {
			return fmt.Errorf("add token: %w", err)
		}
	}
	return nil
}

// The kinds of tokens.
const (
	kindAccess  = "access"
	kindRefresh = "refresh"
)

func kindOf(t account.Token) string {
	if t.Refresh {
		return kindRefresh
	}
	return kindAccess
}

// Token returns the token with the given hash, else it is account.ErrNoToken.
func (s *Store) Token(ctx context.Context, hash [sha256.Size]byte) (account.Token, error) {
	t := account.Token{Hash: hash}
	var kind string
	var expires, used sql.NullInt64
	err := s.db.Read.QueryRowContext(ctx, "SELECT key_id, kind, expires_at, used_at FROM oauth_tokens WHERE hash = ?", hash[:]).
		Scan(&t.KeyID, &kind, &expires, &used)
	if errors.Is(err, sql.ErrNoRows) {
		return t, account.ErrNoToken
	}
	t.Refresh, t.ExpiresAt, t.UsedAt = kind == kindRefresh, database.FromMillis(expires), database.FromMillis(used)
	return t, err
}

// UseToken marks a refresh token as used, if it was not, and adds tokens. It fails with account.ErrUsed where it was used at since or
// before.
func (s *Store) UseToken(ctx context.Context, hash [sha256.Size]byte, since, at time.Time, made []account.Token) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := once(ctx, tx, account.ErrUsed, `UPDATE oauth_tokens SET used_at = coalesce(used_at, ?)
			WHERE hash = ? AND (used_at IS NULL OR used_at > ?)`, at.UnixMilli(), hash[:], since.UnixMilli()); err != nil {
			return err
		}
		return addTokens(ctx, tx, made)
	})
}

// Client returns the document of a client as it was last read, and until when it is fresh, else it is account.ErrNoToken.
func (s *Store) Client(ctx context.Context, id string) (document string, read, fresh time.Time, err error) {
	var at, until sql.NullInt64
	err = s.db.Read.QueryRowContext(ctx, "SELECT document, read_at, expires_at FROM oauth_clients WHERE id = ?", id).
		Scan(&document, &at, &until)
	if errors.Is(err, sql.ErrNoRows) {
		err = account.ErrNoToken
	}
	return document, database.FromMillis(at), database.FromMillis(until), err
}

// SaveClient keeps the document of a client.
func (s *Store) SaveClient(ctx context.Context, id, document string, read, fresh time.Time) error {
	return s.db.Exec(ctx, `INSERT INTO oauth_clients (id, document, read_at, expires_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET document = excluded.document, read_at = excluded.read_at, expires_at = excluded.expires_at`,
		id, document, read.UnixMilli(), fresh.UnixMilli())
}

// For how long codes are kept after their end, so that a second use is noticed; used refresh tokens, for the same; and documents of clients
// after they were last read, for where their host does not answer.
const (
	codesKept   = 24 * time.Hour
	usedKept    = 30 * 24 * time.Hour
	clientsKept = 7 * 24 * time.Hour
)

// PruneTokens drops codes, tokens and documents that nobody needs any more.
func (s *Store) PruneTokens(ctx context.Context, now time.Time) error {
	return s.db.TxLeading(ctx, func(tx *sql.Tx) error {
		for _, old := range []struct {
			from string
			at   time.Time
		}{
			{"oauth_codes WHERE expires_at", now.Add(-codesKept)}, {"oauth_tokens WHERE expires_at", now},
			{"oauth_tokens WHERE used_at", now.Add(-usedKept)}, {"oauth_clients WHERE read_at", now.Add(-clientsKept)},
		} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+old.from+" <= ?", old.at.UnixMilli()); err != nil {
				return fmt.Errorf("prune %s: %w", old.from, err)
			}
		}
		return nil
	})
}
