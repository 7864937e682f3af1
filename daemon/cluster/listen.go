package cluster

import (
	"context"
	"log/slog"

	"github.com/contextd/contextd/daemon/store/history"
)

// Listener is told by the database what other nodes have done. It makes this node faster and no more: all poll as well.
type Listener struct {
	// Listen calls notified with what any node has notified the others of, until ctx is done; database.Listen does so.
	Listen func(ctx context.Context, notified func(what string)) error

	Owners func() // called when an owner may have been changed
	States func() // called when a pack may have a new state
	Logger *slog.Logger
}

// Run listens until ctx is done.
func (l Listener) Run(ctx context.Context) {
	err := l.Listen(ctx, func(what string) {
		if what == history.NotifyState {
			l.States()
		} else {
			l.Owners()
		}
	})
	if err != nil {
		l.Logger.Error("notifications of other nodes are late", "error", err)
	}
}
