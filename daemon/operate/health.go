package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Database is a database that a daemon cannot do without.
type Database interface {
	// Check says why the database does not answer, nil if it does.
	Check(ctx context.Context) error
	// CheckWrite says why it cannot be written to, nil if it can.
	CheckWrite(ctx context.Context) error
}

// Health says whether a daemon can answer, and whether it works at all. Its fields are set before it is used; it is safe for concurrent use
// then.
type Health struct {
	Stopping  func() bool            // reports whether the daemon is about to end
	Packs     func() []string        // that are served
	HasState  func(pack string) bool // reports whether calls on a pack can be answered
	Charges   func() error           // says why calls with keys cannot be charged, nil if they can
	Databases []Database
	Now       func() time.Time

	mu    sync.Mutex // guards what follows: whether the databases could be written to
	tried time.Time
	err   error
}

// For how long what was found holds, and what was not: to try costs a write, and anybody may ask.
const (
	writableLasts   = 5 * time.Second
	unwritableLasts = time.Second
)

// Ready says why the daemon cannot answer calls now, nil if it can. Calls on a pack without a state are refused, and hinder no others: one
// whose sources have never answered must not take the rest out of service.
func (h *Health) Ready(ctx context.Context) error {
	if h.Stopping() {
		return errors.New("stopping")
	}
	if ids := h.Packs(); !slices.ContainsFunc(ids, h.HasState) {
		return fmt.Errorf("no pack has a state yet: %s", strings.Join(ids, ", "))
	}
	if err := h.Charges(); err != nil {
		return err
	}
	var errs []error
	for _, d := range h.Databases {
		errs = append(errs, d.Check(ctx))
	}
	return errors.Join(append(errs, h.writable(ctx))...)
}

// Alive says why the daemon cannot work, nil if it can: whether its databases answer and can be written to. It is true of a daemon that has
// nothing to serve yet, or that is stopping.
func (h *Health) Alive(ctx context.Context) error {
	var errs []error
	for _, d := range h.Databases {
		errs = append(errs, d.CheckWrite(ctx))
	}
	return errors.Join(errs...)
}

// writable is Alive, unless that was asked just now: then it is what was found.
func (h *Health) writable(ctx context.Context) error {
	now := h.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	lasts := writableLasts
	if h.err != nil {
		lasts = unwritableLasts
	}
	if since := now.Sub(h.tried); h.tried.IsZero() || since < 0 || since >= lasts {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writableLasts) // others are answered with what is found
		defer cancel()
		h.tried, h.err = now, h.Alive(ctx)
	}
	return h.err
}
