package daemon

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/internal/atomicfile"
)

const secretKeySize = 32

// secrets are keys that the daemon makes for itself: files of the data directory or, for all nodes of a cluster, in the database.
type secrets struct {
	dir    string
	shared *store.Store // nil where they are files
	logger *slog.Logger
}

// keys reads the keys of what is named, and makes one where there is none.
func (s secrets) keys(ctx context.Context, name, of string, fits func(text []byte) error) (keys [][]byte, err error) {
	path := filepath.Join(s.dir, name)
	text, err := os.ReadFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case s.shared != nil && (err == nil || missing):
		text, err = s.sharedKeys(ctx, path, text, fits)
	case missing:
		if text, err = newSecretKey(); err == nil {
			err = atomicfile.Write(path, text, 0o600)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read keys of %s: %w", of, err)
	}
	for line := range strings.Lines(string(text)) {
		key, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("read keys of %s: %s has a line that is not hexadecimal", of, s.place(name))
		}
		if len(key) > 0 {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// sharedKeys reads those of all nodes. What the data directory of the first one has at path, if anything, is theirs from then on, unless
// fits says that it, or nil where a key is to be made, is wrong; a nil fits takes everything.
func (s secrets) sharedKeys(ctx context.Context, path string, mine []byte, fits func(text []byte) error) ([]byte, error) {
	text, err := s.shared.Secret(ctx, filepath.Base(path), func() ([]byte, error) {
		if fits != nil {
			if err := fits(mine); err != nil {
				return nil, err
			}
		}
		if mine != nil {
			return mine, nil
		}
		return newSecretKey()
	})
	if err == nil && mine != nil && string(mine) != string(text) {
		s.logger.Warn("the data directory holds unused keys: all nodes use those in the database", "file", path)
	}
	return text, err
}

func newSecretKey() ([]byte, error) {
	key := make([]byte, secretKeySize)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	return []byte(hex.EncodeToString(key) + "\n"), nil
}

// place is where keys reads, in words.
func (s secrets) place(name string) string {
	if s.shared != nil {
		return name + " in the database"
	}
	return filepath.Join(s.dir, name)
}
