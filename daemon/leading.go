package daemon

import (
	"context"
	"sync"

	"github.com/contextd/contextd/daemon/cluster"
	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/translog/witness"
)

// leaderWork is what concerns no single pack, and only the leader does.
type leaderWork struct {
	history   *history.History
	jobs      *operate.Scheduler
	backups   operate.Backups
	alerts    *operate.Alerts
	witnesses *witness.Set
	deliver   func(ctx context.Context) // to watches
}

var _ cluster.Work = leaderWork{}

// PackID says that it is for all packs.
func (leaderWork) PackID() string { return "" }

// CatchUp forgets what was read of the history while another node led.
func (w leaderWork) CatchUp(context.Context) error {
	w.history.Forget()
	return nil
}

// Lead runs the leader's jobs, backups, alerts and requests to witnesses.
func (w leaderWork) Lead(ctx context.Context) {
	var all sync.WaitGroup
	w.jobs.Schedule(ctx, &all, false)
	all.Go(func() {
		w.backups.Schedule(ctx, func(ctx context.Context) error { return w.jobs.Run(ctx, jobBackup) })
	})
	all.Go(func() { w.alerts.Run(ctx) })
	all.Go(func() { w.witnesses.Run(ctx) })
	all.Go(func() { w.deliver(ctx) })
	all.Wait()
}

// Follow does nothing.
func (leaderWork) Follow(context.Context) {}
