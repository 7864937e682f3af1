package backup

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/atomicfile"
)

// RenewLogs makes another key for the logs of a data directory, whose lock is held, or of all nodes on a database, and ends the logs that
// there are. seal is the key that seals what is in the database, nil for none. It fails with database.ErrHeld in the chain of the error
// while a node works: each has the key that it began with.
func RenewLogs(ctx context.Context, dir, storeURL string, seal []byte, now time.Time) (err error) {
	seed := make([]byte, 32)
	if _, err := rand.Read(seed); err != nil {
		return fmt.Errorf("make key of logs: %w", err)
	}
	text := []byte(hex.EncodeToString(seed) + "\n")
	h, err := history.Open(ctx, cmp.Or(storeURL, dir), now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if storeURL != "" {
		return shareLogKey(ctx, h, storeURL, seal, text, now)
	}
	if err := h.EndLogs(ctx); err != nil { // first: a new key must not sign an old log
		return err
	}
	path := filepath.Join(dir, translog.KeyFile)
	if err := atomicfile.Write(path, text, 0o600); err != nil {
		return fmt.Errorf("write key of logs: %w", err)
	}
	return datadir.GiveTo(path, dir)
}

// shareLogKey ends the logs of all nodes and gives those another key.
func shareLogKey(ctx context.Context, h *history.History, storeURL string, key, text []byte, now time.Time) (err error) {
	s, err := store.Open(ctx, storeURL, now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if len(key) > 0 {
		seal, err := store.NewSeal(key)
		if err != nil {
			return err
		}
		s.SealWith(seal)
	}
	lease := s.Lease(uuid.NewString())
	h.Use(lease)
	term, err := lease.Take(ctx) // so that none that starts now leads, and signs, before it is done
	if err != nil {
		return err
	}
	if term == nil {
		return cmp.Or(s.Free(ctx), fmt.Errorf("%w: one led a moment ago\n  try: that command again in ten seconds", database.ErrHeld))
	}
	defer func() { err = errors.Join(err, lease.Free(ctx)) }()
	if err := s.Free(ctx); err != nil {
		return err
	}
	if err := errors.Join(h.EndLogs(ctx), s.SetSecret(ctx, translog.KeyFile, text)); err != nil {
		return err
	}
	if err := s.Free(ctx); err != nil {
		return fmt.Errorf("the key was made, but not for a daemon that has started in this moment; restart it: %w", err)
	}
	return nil
}
