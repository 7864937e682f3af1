package store

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/contextd/contextd/daemon/store/database"
)

// SealSize is the size in bytes of the key that seals secrets.
const SealSize = 32

// ErrSealed is in the chain of the error for a secret that was sealed with another key than that of the Seal.
var ErrSealed = errors.New("the secret is sealed")

// Seal is the key with which secrets in the database are encrypted. The zero Seal leaves them as they are.
type Seal struct {
	aead cipher.AEAD
	id   int64 // names the key in the database; never 0
}

// NewSeal makes the Seal of a key of SealSize bytes.
func NewSeal(key []byte) (Seal, error) {
	if len(key) != SealSize {
		return Seal{}, fmt.Errorf("the key of the store has %d bytes, not %d", len(key), SealSize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return Seal{}, err
	}
	aead, err := cipher.NewGCM(block)
	sum := sha256.Sum256(append([]byte("contextd store key\n"), key...))
	return Seal{aead, int64(binary.BigEndian.Uint64(sum[:8])>>1 | 1)}, err
}

// close encrypts the value of a secret, for its name alone.
func (s Seal) close(name string, value []byte) ([]byte, error) {
	if s.aead == nil {
		return value, nil
	}
	nonce := make([]byte, s.aead.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("seal secret: %w", err)
	}
	return s.aead.Seal(nonce, nonce, value, []byte(name)), nil
}

// open is the value of a secret as it was before close.
func (s Seal) open(name string, value []byte, sealed int64) ([]byte, error) {
	switch {
	case sealed == 0:
		return value, nil
	case s.aead == nil:
		return nil, fmt.Errorf("%w: set store.key_file to the file that the other nodes have", ErrSealed)
	case sealed != s.id:
		return nil, fmt.Errorf("%w with another key than that in store.key_file: give this node the file of the other nodes", ErrSealed)
	}
	size := s.aead.NonceSize()
	if len(value) < size {
		return nil, errors.New("its value is cut off")
	}
	text, err := s.aead.Open(nil, value[:size], value[size:], []byte(name))
	if err != nil {
		return nil, errors.New("its value was changed by somebody without the key")
	}
	return text, nil
}

// SealWith has secrets sealed from then on. It comes before the first of them.
func (s *Store) SealWith(seal Seal) { s.seal = seal }

// Secret is what the nodes of a cluster share under a name. Where there is none yet, what create makes is kept, once, and what another
// node has kept at the same time wins. One that is not sealed yet is from then on, if there is a key for that. It is for PostgreSQL.
func (s *Store) Secret(ctx context.Context, name string, create func() ([]byte, error)) (value []byte, err error) {
	value, sealed, err := s.secret(ctx, name)
	if errors.Is(err, sql.ErrNoRows) {
		var made []byte
		if made, err = create(); err == nil {
			err = s.putSecret(ctx, name, made, "ON CONFLICT (name) DO NOTHING")
		}
		if err == nil {
			value, sealed, err = s.secret(ctx, name)
		}
	}
	if err == nil && sealed == 0 && s.seal.aead != nil {
		err = s.putSecret(ctx, name, value,
			"ON CONFLICT (name) DO UPDATE SET value = excluded.value, sealed = excluded.sealed WHERE secrets.sealed = 0")
	}
	if err != nil {
		return nil, fmt.Errorf("read secret %s: %w", name, err)
	}
	return value, nil
}

// SetSecret replaces what the nodes of a cluster share under a name.
func (s *Store) SetSecret(ctx context.Context, name string, value []byte) error {
	err := s.putSecret(ctx, name, value, "ON CONFLICT (name) DO UPDATE SET value = excluded.value, sealed = excluded.sealed")
	if err != nil {
		return fmt.Errorf("keep secret %s: %w", name, err)
	}
	return nil
}

func (s *Store) secret(ctx context.Context, name string) (value []byte, sealed int64, err error) {
	err = s.db.Read.QueryRowContext(ctx, "SELECT value, sealed FROM secrets WHERE name = ?", name).Scan(&value, &sealed)
	if err == nil {
		value, err = s.seal.open(name, value, sealed)
	}
	return value, sealed, err
}

// putSecret writes one; conflict says what becomes of one that is there.
func (s *Store) putSecret(ctx context.Context, name string, value []byte, conflict string) error {
	text, err := s.seal.close(name, value)
	if err != nil {
		return err
	}
	return s.db.Exec(ctx, "INSERT INTO secrets (name, value, sealed) VALUES (?, ?, ?) "+conflict, name, text, s.seal.id)
}

// Store keeps a secret that is not there yet, in a transaction of the caller.
func (s Seal) Store(ctx context.Context, on *sql.Conn, name string, value []byte) error {
	text, err := s.close(name, value)
	if err != nil {
		return err
	}
	_, err = on.ExecContext(ctx, "INSERT INTO secrets (name, value, sealed) VALUES (?, ?, ?)", name, text, s.id)
	return err
}

// All are all secrets, by their names.
func (s Seal) All(ctx context.Context, on *sql.Conn) (map[string][]byte, error) {
	all := map[string][]byte{}
	_, err := database.Query(ctx, on, func(rows *sql.Rows) (name string, err error) {
		var value []byte
		var sealed int64
		if err = rows.Scan(&name, &value, &sealed); err == nil {
			all[name], err = s.open(name, value, sealed)
		}
		return name, err
	}, "SELECT name, value, sealed FROM secrets")
	if err != nil {
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	return all, nil
}
