package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Ready says why the daemon cannot answer calls now, nil if it can. Calls on a pack without a state are refused, and hinder no others: one
// whose sources have never answered must not take the rest out of service.
func (d *Daemon) Ready(ctx context.Context) error {
	if d.stopping.Load() {
		return errors.New("stopping")
	}
	ids := d.packs.ids()
	if !slices.ContainsFunc(ids, d.packs.hasState) {
		return fmt.Errorf("no pack has a state yet: %s", strings.Join(ids, ", "))
	}
	lost := d.changes.Lost()
	if d.node.Alone() { // on a server that is back, calls are charged again; a proxy that sends none would never know
		lost = d.meter.Check()
	}
	if lost != nil {
		return lost
	}
	return errors.Join(d.store.Check(ctx), d.history.Check(ctx), d.writable.check(d.cfg.Now(), func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writableLasts) // others hear what is found
		defer cancel()
		return d.Alive(ctx)
	}))
}

// writable remembers whether the databases could be written to: to try costs a write, and anybody may ask.
type writable struct {
	mu    sync.Mutex // guards what follows
	tried time.Time
	err   error
}

// For how long what was found holds, and what was not.
const (
	writableLasts   = 5 * time.Second
	unwritableLasts = time.Second
)

// check tries, unless that was done just now.
func (w *writable) check(now time.Time, try func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	lasts := writableLasts
	if w.err != nil {
		lasts = unwritableLasts
	}
	if since := now.Sub(w.tried); w.tried.IsZero() || since < 0 || since >= lasts {
		w.tried, w.err = now, try()
	}
	return w.err
}

// Alive says why the daemon cannot work, nil if it can: whether its databases answer and can be written to. It is true of a daemon that has
// nothing to serve yet, or that is stopping.
func (d *Daemon) Alive(ctx context.Context) error {
	return errors.Join(d.store.CheckWrite(ctx), d.history.CheckWrite(ctx))
}
