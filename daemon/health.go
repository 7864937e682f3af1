package daemon

import (
	"context"
	"errors"
	"fmt"
)

// Ready says why the daemon cannot answer calls now, nil if it can.
func (d *Daemon) Ready(ctx context.Context) error {
	if d.stopping.Load() {
		return errors.New("stopping")
	}
	for id := range d.pipelines {
		if edition, _ := d.feed.Latest(id); edition == nil {
			return fmt.Errorf("pack %s has no state yet", id)
		}
	}
	return errors.Join(d.store.Check(ctx), d.history.Check(ctx))
}

// Alive says why the daemon cannot work, nil if it can: whether its databases answer and can be written to. It is true of a daemon that has
// nothing to serve yet, or that is stopping.
func (d *Daemon) Alive(ctx context.Context) error {
	return errors.Join(d.store.CheckWrite(ctx), d.history.CheckWrite(ctx))
}
