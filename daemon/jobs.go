package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/sdk/api"
)

// How often the jobs run that have no schedule of their own.
const (
	flushEvery  = 30 * time.Second
	retireEvery = 5 * time.Second
	pruneEvery  = time.Hour
	sweepEvery  = 30 * time.Second
	scanEvery   = 15 * time.Second
	watchEvery  = 30 * time.Second
)

const jobBackup = "backup"

// addJobs adds the jobs that concern no single pack.
func (d *Daemon) addJobs(context.Context) error {
	d.addRailJobs()
	d.jobs.Add("expire", "", "end purchases that nobody paid", scanEvery, d.expire)
	d.jobs.Add("prune", "", "drop single calls, revoked keys, sessions, sign-ins and unpaid purchases that have ended", pruneEvery, d.prune)
	d.jobs.Add("flush", "", "write down when keys were last used", flushEvery, d.keys.Flush)
	d.jobs.Add("retire", "", "end keys that others have replaced", retireEvery, d.keys.Retire)
	d.jobs.Add("watches", "", "pay the days of watches, and drop what has ended", watchEvery, d.tidyWatches)
	d.jobs.Add("databases", "", "see that the databases answer and can be written to", flushEvery, d.Alive)
	d.jobs.OnAnyNode("flush", "retire", "databases") // what each remembers of keys, and has open
	d.jobs.Add(jobBackup, "", "back up the databases and keys", 0, d.backups.Make)
	return nil
}

// prune drops what is kept no longer: single calls, revoked keys, sessions, sign-ins, what was to be paid and was not, mails in files.
func (d *Daemon) prune(ctx context.Context) error {
	if err := d.store.PruneCalls(ctx, d.cfg.Now()); err != nil {
		return err
	}
	if err := d.keys.Prune(ctx); err != nil {
		return err
	}
	if err := d.store.PruneSessions(ctx, d.cfg.Now()); err != nil {
		return err
	}
	if err := d.store.PruneTokens(ctx, d.cfg.Now()); err != nil {
		return err
	}
	if err := d.store.PruneWriting(ctx, brief.Day(d.cfg.Now())); err != nil {
		return err
	}
	old := d.cfg.Now().Add(-api.UnpaidRetention)
	if err := d.store.PruneUnpaid(ctx, old); err != nil {
		return err
	}
	if box, ok := d.mailer.(*mail.Outbox); ok {
		if err := box.Prune(d.cfg.Now().Add(-api.OutboxRetention)); err != nil {
			return err
		}
	}
	return d.store.PruneChanges(ctx)
}

// expire ends purchases that nobody paid.
func (d *Daemon) expire(ctx context.Context) error {
	if err := d.deposits.Expire(ctx); err != nil {
		return fmt.Errorf("expire purchases: %w", err)
	}
	return nil
}
