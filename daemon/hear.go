package daemon

import (
	"context"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
)

// listen hears from the other daemons on the database what they have done, until ctx is done. It makes this one faster and no more: all
// look for themselves as well.
func (d *Daemon) listen(ctx context.Context) {
	if err := database.Listen(ctx, d.cfg.StoreURL, d.hear); err != nil {
		d.cfg.Logger.Error("notifications of other nodes are late", "error", err)
	}
}

// hear has those look who follow what was told.
func (d *Daemon) hear(what string) {
	if what != history.NotifyState { // but an owner
		d.share.Hint()
		return
	}
	for _, p := range d.served.all() {
		p.line.Hint()
	}
}
