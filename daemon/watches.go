package daemon

import (
	"context"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/daemon/watch"
	"github.com/contextd/contextd/daemon/web"
)

// maxChallenges is how often a key may have receivers challenged in a minute.
const maxChallenges = 10

// openWatches makes what keeps watches of owners and tells them.
func (d *Daemon) openWatches(context.Context) error {
	d.watches = watch.New(watch.Config{
		Store: d.store, History: d.history, Keys: d.keys, Gate: d.gate, Packs: d.packs.watchable,
		PrivateHosts: d.cfg.Watches.PrivateHosts, Loopback: d.cfg.Watches.HTTPLoopback, Mailer: d.mailer, Identities: d.store.Identities,
		Challenges: web.NewLimiter(maxChallenges, time.Minute/maxChallenges, d.cfg.Now).Allow, Delivered: d.metrics.WatchDelivered,
		PublicURL: strings.TrimRight(d.publicURL.String(), "/"), Demo: d.cfg.Recording != nil, Now: d.cfg.Now, Logger: d.cfg.Logger,
	})
	return nil
}

// watchStanding is how the watches stand now.
func (d *Daemon) watchStanding(ctx context.Context) (event.Standing, error) {
	return d.store.WatchStanding(ctx, d.cfg.Now())
}

// tidyWatches is a job: it pays the days of watches and drops what has ended.
func (d *Daemon) tidyWatches(ctx context.Context) error { return d.watches.Tidy(ctx) }

// deliverToWatches and lookForWatches are the leader's. Nodes lead once all is open.
func (d *Daemon) deliverToWatches(ctx context.Context) { d.watches.Run(ctx) }

// lookForWatches has the states of a pack looked at while this node leads, which begins once all is open.
func (d *Daemon) lookForWatches(ctx context.Context, pack string) {
	if states := d.feed.Watch(pack); states != nil {
		d.watches.Lead(ctx, pack, states)
	}
}

// watchable is what watches need to know of a pack; ok is false for one that is not served.
func (s *packSet) watchable(id string) (p watch.Pack, ok bool) {
	served := s.of(id)
	if served == nil {
		return p, false
	}
	p = watch.Pack{Shown: served.Shown, Sources: map[string]string{}, Flags: served.FlagKinds}
	for _, source := range served.Sources {
		p.Sources[source.ID] = source.Name
	}
	return p, true
}
