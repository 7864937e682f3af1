// Package cluster decides which of the daemons on one database does what, and when.
//
// Several daemons can work on one PostgreSQL database; each is a node. All nodes answer calls. One of them, the leader, also asks sources,
// writes briefs, looks at the chains and runs the jobs. The others are followers: they publish what the leader saves. On SQLite there is
// one node, which leads from its start to its end.
//
// Who leads is decided by a lease, a row of the database that the leader renews with a beat each second. A Node takes the lease and runs
// its Work by the role that it has. A Membership writes down that a node runs, so that others and the operator see it. Changes are what
// other nodes do to keys and credits that this one remembers, and an Outage is a time in which the database does not answer. Listen is told
// by the database that there is something new: it makes a node faster, and nothing depends on it.
//
// # One takeover
//
// A leads in epoch 7, B follows.
//
//	12:00:00.0  A beats. B tries to take the lease, as it does each second, and gets nothing: the last beat is younger than 5 s.
//	12:00:00.5  A is cut off from the database. Its next beat fails, which is logged once.
//	12:00:03.0  A can no longer be sure that what it remembers of keys is right, and refuses calls with keys.
//	12:00:04.0  By A's own clock 4 s have passed since the beat that was answered last: its term ends. Its pipelines and jobs are stopped,
//	            and when all of them have ended A follows. To the operator it says that it is a follower.
//	12:00:05.0  B's next try takes the lease: epoch 8. B reads what A has saved and not published here yet, then does the leader's work.
//	12:00:20.0  A is connected again, reads what B has saved, and publishes it.
//
// If A was paused instead of cut off, it may believe for a moment that it still leads. It can write nothing: each write of a leader checks
// its epoch in the same transaction. A leader that is asked to stop gives the lease up, so that B leads within a second; A follows while it
// drains. If A is killed, B leads after 5 s.
package cluster

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/sdk/api"
)

const (
	catchUpAgain = 100 * time.Millisecond // from a failure to catch up to the next try
	registerWait = 2 * time.Second        // for the registry to answer what is not tried again
)

// Lease is a node's part in who leads; *database.Lease is one, which says more.
type Lease interface {
	// Take tries to lead, where nobody does, and returns a context that ends when this node no longer leads; nil while another does.
	Take(ctx context.Context) (term context.Context, err error)
	// Beat renews the lease, or fails with database.ErrFenced where another has it.
	Beat(ctx context.Context) error
	// Free gives the lease up. What the leader does has ended before.
	Free(ctx context.Context) error
	// Epoch is that of the term in which this node leads, 0 while it does not.
	Epoch() int64
	// Leads reports whether this node leads, by its own clock.
	Leads() bool
}

// Registry is where the nodes of a database are written down; *store.Store is one.
type Registry interface {
	SaveNode(ctx context.Context, n store.Node) error
	RemoveNode(ctx context.Context, id string) error
	PruneNodes(ctx context.Context) error
	Cluster(ctx context.Context) (store.Cluster, error)
}

var (
	_ Lease    = (*database.Lease)(nil)
	_ Registry = (*store.Store)(nil)
)

// Work is what a node does by its role, for one pack or for all.
type Work interface {
	// PackID is the pack that the work is for, "" for all.
	PackID() string
	// CatchUp reads what the leader before has saved. It is called before Lead in each new term, again and again until it succeeds.
	CatchUp(ctx context.Context) error
	// Lead does what only the leader does, until ctx is done.
	Lead(ctx context.Context)
	// Follow does what only a follower does, until ctx is done.
	Follow(ctx context.Context)
}

// Config is what a Node needs.
type Config struct {
	ID       string
	Lease    Lease       // nil on SQLite, whose only node leads
	Registry Registry    // nil without a Lease
	Stopping func() bool // reports whether the daemon is about to end
	Now      func() time.Time
	Logger   *slog.Logger
}

// Node is this daemon's part in the cluster. Make one with Join; it is safe for concurrent use.
type Node struct {
	cfg   Config
	began time.Time
	tasks Tasks           // of the role; before Run, of what Open does
	term  context.Context // that began with Join, nil where another leads
	leave func()

	mu   sync.Mutex // guards what follows; held while a role begins
	role role
	work []assigned
}

// role is what a node is once it runs.
type role int

const (
	roleNone role = iota
	roleFollower
	roleLeader
)

type assigned struct {
	Work
	within *Tasks // that end it whatever the role; nil for none
}

// Join makes a daemon a node, which leads if nobody does, until Leave.
func Join(ctx context.Context, cfg Config) (*Node, error) {
	n := &Node{cfg: cfg, began: cfg.Now(), leave: func() {}}
	n.tasks.Start(ctx)
	if cfg.Lease == nil {
		return n, nil
	}
	var err error
	if n.term, err = cfg.Lease.Take(ctx); err != nil {
		return nil, err
	}
	beats, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.beat(beats)
	}()
	ctx = context.WithoutCancel(ctx)
	n.leave = sync.OnceFunc(func() {
		end()
		<-ended
		n.resign(ctx)
	})
	return n, nil
}

// Leave gives up the lease, and notes that this node has ended. It is for after Run, or instead of it; leaving again does nothing.
func (n *Node) Leave() { n.leave() }

// Alone reports whether this node is the only one there can be.
func (n *Node) Alone() bool { return n.cfg.Lease == nil }

// Stopping reports whether the daemon is about to end.
func (n *Node) Stopping() bool { return n.cfg.Stopping() }

// Leads reports whether this node leads.
func (n *Node) Leads() bool { return n.Alone() || n.cfg.Lease.Leads() }

// Add has the node do w by its role, from now on if it has one. It ends when within is stopped, where that is not nil.
func (n *Node) Add(w Work, within *Tasks) {
	n.mu.Lock()
	defer n.mu.Unlock()
	one := assigned{w, within}
	n.work = append(n.work, one)
	if n.role != roleNone {
		n.begin(one)
	}
}

// Remove has no later role begin w. What runs of it goes on until its tasks are stopped.
func (n *Node) Remove(w Work) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.work = slices.DeleteFunc(n.work, func(one assigned) bool { return one.Work == w })
}

// beat renews the lease for as long as this node has it.
func (n *Node) beat(ctx context.Context) {
	tick := time.NewTicker(database.BeatEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n.cfg.Lease.Epoch() == 0 {
			continue
		}
		err := n.cfg.Lease.Beat(ctx)
		if err != nil && !failing && ctx.Err() == nil { // once for each outage
			n.cfg.Logger.Warn("leader lease not renewed", "error", err)
		}
		failing = err != nil
	}
}

// Run leads or follows until ctx is done. A node that is asked to stop leads no longer: it follows while it drains.
func (n *Node) Run(ctx context.Context, asked <-chan struct{}) {
	term := n.term
	for ctx.Err() == nil {
		if n.Alone() || term != nil && term.Err() == nil {
			n.lead(ctx, term, asked)
			term = nil
		} else {
			term = n.follow(ctx, asked)
		}
	}
	n.tasks.Stop()
}

// lead does the leader's work until ctx or the term ends, or this node is asked to stop and another can lead.
func (n *Node) lead(ctx, term context.Context, asked <-chan struct{}) {
	if term == nil { // nobody else has led, or will
		term, asked = ctx, nil
	} else {
		n.catchUp(ctx, term)
	}
	n.assume(ctx, roleLeader)
	if !n.Alone() {
		n.cfg.Logger.Info("this node leads", "epoch", n.cfg.Lease.Epoch())
	}
	select {
	case <-ctx.Done():
	case <-term.Done():
		if ctx.Err() == nil {
			n.cfg.Logger.Warn("this node no longer leads")
		}
	case <-asked:
		n.tasks.Stop()
		if err := n.cfg.Lease.Free(context.WithoutCancel(ctx)); err != nil {
			n.cfg.Logger.Warn("lead not given up; another node takes it when the lease has run out", "error", err)
		}
		return
	}
	n.tasks.Stop()
}

// catchUp has this node know what the leader before has saved, unless ctx or the term ends first.
func (n *Node) catchUp(ctx, term context.Context) {
	n.mu.Lock()
	work := slices.Clone(n.work)
	n.mu.Unlock()
	for _, w := range work {
		for {
			err := w.CatchUp(term)
			if err == nil || term.Err() != nil || ctx.Err() != nil {
				break
			}
			n.cfg.Logger.Error("newest state of the previous leader not read yet", "pack", w.PackID(), "error", err)
			select {
			case <-ctx.Done():
			case <-term.Done():
			case <-time.After(catchUpAgain):
			}
		}
	}
}

// follow does a follower's work until ctx is done or this node is to lead: then it returns the term. A node that is asked to stop is not
// to lead.
func (n *Node) follow(ctx context.Context, asked <-chan struct{}) context.Context {
	n.assume(ctx, roleFollower)
	tick := time.NewTicker(database.BeatEvery)
	defer tick.Stop()
	failing := false
	for {
		var term context.Context
		var err error
		select {
		case <-asked:
		default:
			term, err = n.cfg.Lease.Take(ctx)
		}
		if err != nil && !failing && ctx.Err() == nil { // once for each outage
			n.cfg.Logger.Error("leader unknown", "error", err)
		}
		failing = err != nil
		if term != nil {
			n.tasks.Stop()
			return term
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// assume begins the work of a role: that of the last one has ended.
func (n *Node) assume(ctx context.Context, r role) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.role != roleNone { // else what Open began goes on
		n.tasks.Stop()
		n.tasks.Start(ctx)
	}
	n.role = r
	for _, one := range n.work {
		n.begin(one)
	}
}

// begin does one by the role, for as long as that lasts and one is within its tasks. The caller holds mu.
func (n *Node) begin(one assigned) {
	do := one.Follow
	if n.role == roleLeader {
		do = one.Lead
	}
	if one.within == nil {
		n.tasks.Go(do)
		return
	}
	one.within.Go(func(ctx context.Context) {
		_ = n.tasks.Do(ctx, func(ctx context.Context) error { do(ctx); return nil }) // it has no other error
	})
}

// AsLeader runs act, which only the leader does. ctx of act ends when this node leads no longer. A follower refuses it, and says where the
// leader is.
func (n *Node) AsLeader(ctx context.Context, act func(ctx context.Context) error) error {
	err := ErrStopped
	if n.Leads() {
		err = n.tasks.Do(ctx, act)
	}
	switch {
	case !errors.Is(err, ErrStopped):
		return err
	case n.Stopping():
		return Stopping()
	case n.Leads():
		return api.Errorf(api.ReasonStateUnavailable, "this node is taking over as leader").WithHint("try again").
			WithRetryAfter(api.StateUnavailableRetry * time.Second)
	}
	where := "its address is unknown now"
	ctx, cancel := context.WithTimeout(ctx, registerWait)
	defer cancel()
	if c, err := n.cfg.Registry.Cluster(ctx); err == nil {
		for _, node := range c.Live() {
			if node.ID == c.Leader {
				where = "it runs at " + node.URL
			}
		}
	}
	return api.Errorf(api.ReasonInvalidRequest, "this node is a follower, and only the leader does that").
		WithHint("ask the leader: %s; contextd status nodes", where)
}

// Stopping is the error for what is asked of a daemon that is about to end.
func Stopping() error {
	return api.Errorf(api.ReasonStateUnavailable, "the daemon is stopping").WithHint("try again").
		WithRetryAfter(api.StateUnavailableRetry * time.Second)
}

// resign gives up the lease, and notes that this node has ended.
func (n *Node) resign(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, registerWait)
	defer cancel()
	if err := errors.Join(n.cfg.Lease.Free(ctx), n.cfg.Registry.RemoveNode(ctx, n.cfg.ID)); err != nil {
		n.cfg.Logger.Warn("end of this node not written; the others notice by themselves", "error", err)
	}
}
