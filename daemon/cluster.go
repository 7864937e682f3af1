package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/sdk/api"
)

// nodeEvery is how often a node notes that it runs.
const nodeEvery = 2 * time.Second

// Roles of a node, once it runs.
const (
	roleNone = iota
	roleFollows
	roleLeads
)

// cluster is this daemon's part in the nodes of its database. On SQLite it leads from the start to the end.
type cluster struct {
	lease *database.Lease // nil on SQLite
	id    string
	began time.Time
	duty  life // of what belongs to the role: the leader's work, or following

	role int             // guarded by packSet.changing
	term context.Context // that began with Open, nil where another leads
}

// openCluster makes the daemon a node, which leads if nobody does.
func (d *Daemon) openCluster(ctx context.Context) error {
	d.cluster.id, d.cluster.began = uuid.NewString(), d.cfg.Now()
	d.cluster.lease = d.store.Lease(d.cluster.id)
	d.jobs.Lead = d.asLeader
	d.cluster.duty.begin(ctx)
	d.leave = func() {}
	if d.cluster.lease == nil {
		return nil
	}
	d.history.Use(d.cluster.lease)
	term, err := d.cluster.lease.Take(ctx)
	if err != nil {
		return err
	}
	d.cluster.term = term
	beats, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.beat(beats)
	}()
	ctx = context.WithoutCancel(ctx)
	d.leave = sync.OnceFunc(func() {
		end()
		<-ended
		d.handOver(ctx)
	})
	return nil
}

// leads reports whether this daemon leads.
func (d *Daemon) leads() bool { return d.cluster.lease.Leads() }

// beat keeps the lease, for as long as this node has it.
func (d *Daemon) beat(ctx context.Context) {
	tick := time.NewTicker(database.BeatEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if d.cluster.lease.Epoch() == 0 {
			continue
		}
		err := d.cluster.lease.Beat(ctx)
		if err != nil && !failing && ctx.Err() == nil { // once for each outage
			d.cfg.Logger.Warn("leader lease not renewed", "error", err)
		}
		failing = err != nil
	}
}

// runRoles leads or follows until ctx is done. A node that is asked to stop leads no longer: it follows while it drains.
func (d *Daemon) runRoles(ctx context.Context, asked <-chan struct{}) {
	term := d.cluster.term
	for ctx.Err() == nil {
		if d.cluster.lease == nil || term != nil && term.Err() == nil {
			d.lead(ctx, term, asked)
			term = nil
		} else {
			term = d.follow(ctx, asked)
		}
	}
	d.cluster.duty.stop()
}

// lead does the leader's work until ctx or the term ends, or this node is asked to stop and another can lead.
func (d *Daemon) lead(ctx, term context.Context, asked <-chan struct{}) {
	if term == nil { // nobody else has led, or will
		term, asked = ctx, nil
	} else {
		d.catchUp(ctx, term)
	}
	d.turn(ctx, true)
	if d.cluster.lease != nil {
		d.cfg.Logger.Info("this node leads", "epoch", d.cluster.lease.Epoch())
	}
	select {
	case <-ctx.Done():
	case <-term.Done():
		if ctx.Err() == nil {
			d.cfg.Logger.Warn("this node no longer leads")
		}
	case <-asked:
		d.cluster.duty.stop()
		if err := d.cluster.lease.Free(context.WithoutCancel(ctx)); err != nil {
			d.cfg.Logger.Warn("lead not given up; another node takes it when the lease has run out", "error", err)
		}
		return
	}
	d.cluster.duty.stop()
}

// catchUp has this node know what the leader before has saved, unless ctx or the term ends first.
func (d *Daemon) catchUp(ctx, term context.Context) {
	d.history.Forget()
	for _, p := range d.served.all() {
		for {
			err := p.line.CatchUp(term)
			if err == nil || term.Err() != nil || ctx.Err() != nil {
				break
			}
			d.cfg.Logger.Error("newest state of the previous leader not read yet", "pack", p.ID, "error", err)
			select {
			case <-ctx.Done():
			case <-term.Done():
			case <-time.After(time.Second / 10):
			}
		}
	}
}

// follow publishes what another node saves, until ctx is done or this node is to lead: then it returns the term. One that is asked to stop
// is not to lead.
func (d *Daemon) follow(ctx context.Context, asked <-chan struct{}) context.Context {
	d.turn(ctx, false)
	tick := time.NewTicker(database.BeatEvery)
	defer tick.Stop()
	failing := false
	for {
		var term context.Context
		var err error
		select {
		case <-asked:
		default:
			term, err = d.cluster.lease.Take(ctx)
		}
		if err != nil && !failing && ctx.Err() == nil { // once for each outage
			d.cfg.Logger.Error("leader unknown", "error", err)
		}
		failing = err != nil
		if term != nil {
			d.cluster.duty.stop()
			return term
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// turn begins what belongs to a role: the last one's has ended.
func (d *Daemon) turn(ctx context.Context, leads bool) {
	d.served.changing.Lock()
	defer d.served.changing.Unlock()
	if d.cluster.role != roleNone { // else what Open began goes on
		d.cluster.duty.stop()
		d.cluster.duty.begin(ctx)
	}
	if d.cluster.role = roleFollows; leads {
		d.cluster.role = roleLeads
	}
	for _, p := range d.served.all() {
		d.runLine(p, leads, false)
	}
	if leads {
		d.cluster.duty.spend(d.runLeading)
	}
}

// runLeading does what concerns no single pack, and only the leader does, until ctx is done.
func (d *Daemon) runLeading(ctx context.Context) {
	var all sync.WaitGroup
	d.jobs.Schedule(ctx, &all, false)
	if d.cfg.Backup.Every > 0 {
		all.Go(func() { d.backUpOnSchedule(ctx) })
	}
	all.Go(func() { d.alerts.Run(ctx) })
	if len(d.cfg.Witnesses) > 0 {
		all.Go(func() { d.cosign(ctx) })
	}
	all.Wait()
}

// runLine keeps p fresh and tells of its states, or follows who does, for as long as it is served and the role lasts. One that has come
// while the daemon runs is refreshed at once, all of it: what is stored was made by another of its id, or long ago.
func (d *Daemon) runLine(p *servedPack, leads, came bool) {
	spend := func(f func(context.Context)) {
		p.life.spend(func(ctx context.Context) {
			_ = d.cluster.duty.join(ctx, func(ctx context.Context) error { f(ctx); return nil }) // it has no other error
		})
	}
	if !leads {
		spend(p.line.Follow)
		return
	}
	spend(func(ctx context.Context) {
		if came {
			_ = d.jobs.RunFor(ctx, pipeline.JobRefresh, p.ID) // logged; the schedule goes on
		}
		p.line.Run(ctx)
	})
	spend(func(ctx context.Context) { d.watchForAlerts(ctx, p.ID) })
}

// asLeader does what only the leader does. It ends when this node leads no longer.
func (d *Daemon) asLeader(ctx context.Context, act func(ctx context.Context) error) error {
	err := errOver
	if d.leads() {
		err = d.cluster.duty.join(ctx, act)
	}
	switch {
	case !errors.Is(err, errOver):
		return err
	case d.stopping.Load():
		return errStopping()
	case d.leads():
		return api.Errorf(api.ReasonStateUnavailable, "this node is taking over as leader").WithHint("try again").
			WithRetryAfter(api.StateUnavailableRetry * time.Second)
	}
	return d.notLeading(ctx)
}

// notLeading is the error for what only the leader does.
func (d *Daemon) notLeading(ctx context.Context) error {
	where := "its address is unknown now"
	if c, _, err := d.Cluster(ctx); err == nil {
		for _, n := range c.Live() {
			if n.ID == c.Leader {
				where = "it runs at " + n.URL
			}
		}
	}
	return api.Errorf(api.ReasonInvalidRequest, "this node is a follower, and only the leader does that").
		WithHint("ask the leader: %s; contextd cluster status", where)
}

// Cluster says how the nodes stand, of which this one is self.
func (d *Daemon) Cluster(ctx context.Context) (c store.Cluster, self string, err error) {
	if d.cluster.lease != nil {
		ctx, cancel := context.WithTimeout(ctx, nodeEvery)
		defer cancel()
		c, err = d.store.Cluster(ctx)
		return c, d.cluster.id, err
	}
	n, now := d.node(), d.cfg.Now()
	n.StartedAt, n.SeenAt = d.cluster.began, now
	return store.Cluster{Now: now, Leader: n.ID, Epoch: 1, Since: n.StartedAt, BeatAt: now, Nodes: []store.Node{n}}, n.ID, nil
}

// node is this daemon as the others know it.
func (d *Daemon) node() store.Node {
	n := store.Node{ID: d.cluster.id, URL: d.URL(), Version: build.Read().Version, States: map[string]time.Time{}}
	scheme, _, _ := strings.Cut(n.URL, "://")
	// Not the public URL, which all share.
	if host, port, err := net.SplitHostPort(d.listener.Addr().String()); err == nil && net.ParseIP(host).IsUnspecified() {
		if host, err := os.Hostname(); err == nil {
			n.URL = scheme + "://" + net.JoinHostPort(host, port)
		}
	}
	for _, id := range d.served.ids() {
		if edition, _ := d.feed.Latest(id); edition != nil {
			n.States[id] = edition.GeneratedAt
		}
	}
	return n
}

// runNode notes that this daemon runs until ctx is done, and then that it has ended.
func (d *Daemon) runNode(ctx context.Context) {
	tick := time.NewTicker(nodeEvery)
	defer tick.Stop()
	failing := false
	for {
		d.priceEther() // settlements are begun on every node
		err := d.store.SaveNode(ctx, d.node())
		if err == nil && d.leads() {
			err = d.store.PruneNodes(ctx)
		}
		if err != nil && !failing && ctx.Err() == nil {
			d.cfg.Logger.Warn("node heartbeat not written", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// handOver gives up the lead, and notes that this node has ended.
func (d *Daemon) handOver(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, nodeEvery)
	defer cancel()
	if err := errors.Join(d.cluster.lease.Free(ctx), d.store.RemoveNode(ctx, d.cluster.id)); err != nil {
		d.cfg.Logger.Warn("end of this node not written; the others notice by themselves", "error", err)
	}
}
