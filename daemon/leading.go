package daemon

import (
	"context"
	"sync"
)

// leading is what concerns no single pack, and only the leader does. It is the work of a node.
type leading struct{ *Daemon }

// PackID says that it is for all packs.
func (leading) PackID() string { return "" }

// CatchUp forgets what was read of the history while another node led.
func (l leading) CatchUp(context.Context) error {
	l.history.Forget()
	return nil
}

// Lead runs the leader's jobs, backups, alerts and requests to witnesses.
func (l leading) Lead(ctx context.Context) {
	var all sync.WaitGroup
	l.jobs.Schedule(ctx, &all, false)
	if l.cfg.Backup.Every > 0 {
		all.Go(func() { l.backUpOnSchedule(ctx) })
	}
	all.Go(func() { l.alerts.Run(ctx) })
	if len(l.cfg.Witnesses) > 0 {
		all.Go(func() { l.cosign(ctx) })
	}
	all.Wait()
}

// Follow does nothing.
func (leading) Follow(context.Context) {}
