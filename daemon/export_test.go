package daemon

import (
	"context"
	"log/slog"
	"time"
)

// UntilBackup is untilBackup, for tests.
var UntilBackup = untilBackup

// Hurry gives every caller whose time is bounded as little as that to send a request and to take its answer. It comes before Run.
func (d *Daemon) Hurry(read, write time.Duration) {
	for _, e := range []*endpoint{d.public, d.admin} {
		if e.server.ReadTimeout > 0 {
			e.server.ReadTimeout = read
		}
		if e.server.WriteTimeout > 0 {
			e.server.WriteTimeout = write
		}
	}
}

// NewShare is a share that reads with a function, which ends with ctx.
func NewShare(ctx context.Context, read func() error, log *slog.Logger) (lost, catchUp func() error, away func(error) bool, hint func()) {
	now := time.Now()
	s := &share{log: log, clock: time.Now, hint: make(chan struct{}, 1), read: read}
	s.fresh.Store(&now)
	go s.run(ctx)
	return s.Lost, s.CatchUp, s.Away, s.Hint
}
