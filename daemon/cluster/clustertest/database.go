// Package clustertest stands in for the PostgreSQL database that nodes of a cluster share, so that they can be tested without one.
//
// Its Lease and that of daemon/store/database pass the same test, TestLease. Only tests import it.
package clustertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/cluster"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
)

// leaseHolds is the time from a beat after which its sender no longer leads, by its own clock.
const leaseHolds = database.LeaseLasts - time.Second

// Database is what nodes share, in memory. Make one with New; it is safe for concurrent use.
type Database struct {
	now func() time.Time

	mu      sync.Mutex // guards what follows
	epoch   int64
	leader  string
	beatAt  time.Time
	since   time.Time
	nodes   []store.Node
	owners  []string // that were changed, in order
	listens []chan string
}

// New makes a database with the clock now.
func New(now func() time.Time) *Database { return &Database{now: now} }

// Silence lets the last beat be as old as after a time without one.
func (d *Database) Silence(since time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.beatAt = d.beatAt.Add(-since)
}

// Change notes that an owner was changed, and notifies all nodes of that.
func (d *Database) Change(owner string) {
	d.mu.Lock()
	d.owners = append(d.owners, owner)
	d.mu.Unlock()
	d.Notify("owner")
}

// Notify notifies all nodes that listen.
func (d *Database) Notify(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.listens {
		l <- what
	}
}

// Connect connects a node.
func (d *Database) Connect(id string) *Connection { return &Connection{db: d, id: id} }

var (
	_ cluster.Lease     = (*Connection)(nil)
	_ cluster.Registry  = (*Connection)(nil)
	_ cluster.ChangeLog = (*Connection)(nil)
)

// Gone is the error of a database that does not answer.
type Gone struct{}

// Error says so.
func (Gone) Error() string { return "the database is gone" }

// Unavailable reports that it is no defect.
func (Gone) Unavailable() bool { return true }

// Connection is a node's way to the database. It is safe for concurrent use.
type Connection struct {
	db *Database
	id string

	mu    sync.Mutex // guards what follows
	cut   bool
	epoch int64     // 0 while the node does not lead
	sent  time.Time // the last beat that was answered
	end   context.CancelFunc
	late  *time.Timer // that ends the term where no beat is answered
}

// Cut has the database not answer this node, until Mend.
func (c *Connection) Cut() { c.setCut(true) }

// Mend ends what Cut began.
func (c *Connection) Mend() { c.setCut(false) }

func (c *Connection) setCut(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
}

// reach is nil while the database answers.
func (c *Connection) reach(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return Gone{}
	}
	return ctx.Err()
}

// Take is that of cluster.Lease.
func (c *Connection) Take(ctx context.Context) (term context.Context, err error) {
	if err := c.reach(ctx); err != nil {
		return nil, err
	}
	d := c.db
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if d.leader != "" && d.leader != c.id && now.Sub(d.beatAt) <= database.LeaseLasts {
		return nil, nil
	}
	d.epoch++
	d.leader, d.beatAt, d.since = c.id, now, now
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lose()
	c.epoch, c.sent = d.epoch, now
	term, c.end = context.WithCancel(context.WithoutCancel(ctx))
	c.late = time.AfterFunc(leaseHolds, func() { c.Leads() })
	return term, nil
}

// Beat is that of cluster.Lease.
func (c *Connection) Beat(ctx context.Context) error {
	if c.Epoch() == 0 {
		return database.ErrFenced
	}
	if err := c.reach(ctx); err != nil {
		return err
	}
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db.epoch != c.epoch || c.db.leader != c.id {
		c.lose()
		return database.ErrFenced
	}
	c.sent = c.db.now()
	c.db.beatAt = c.sent
	c.late.Reset(leaseHolds)
	return nil
}

// Free is that of cluster.Lease.
func (c *Connection) Free(ctx context.Context) error {
	c.mu.Lock()
	epoch := c.epoch
	c.lose()
	c.mu.Unlock()
	if epoch == 0 {
		return nil
	}
	if err := c.reach(ctx); err != nil {
		return err
	}
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	if c.db.epoch == epoch {
		c.db.leader = ""
	}
	return nil
}

// Epoch is that of cluster.Lease.
func (c *Connection) Epoch() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.epoch
}

// Leads is that of cluster.Lease.
func (c *Connection) Leads() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch != 0 && c.db.now().Sub(c.sent) >= leaseHolds {
		c.lose()
	}
	return c.epoch != 0
}

// lose ends the term. The caller holds mu.
func (c *Connection) lose() {
	if c.epoch != 0 {
		c.epoch = 0
		c.end()
		c.late.Stop()
	}
}

// SaveNode is that of cluster.Registry.
func (c *Connection) SaveNode(ctx context.Context, n store.Node) error {
	if err := c.reach(ctx); err != nil {
		return err
	}
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	n.SeenAt = c.db.now()
	i := slices.IndexFunc(c.db.nodes, func(old store.Node) bool { return old.ID == n.ID })
	if i < 0 {
		n.StartedAt = n.SeenAt
		c.db.nodes = append(c.db.nodes, n)
		return nil
	}
	c.db.nodes[i].SeenAt, c.db.nodes[i].States = n.SeenAt, n.States
	return nil
}

// RemoveNode is that of cluster.Registry.
func (c *Connection) RemoveNode(ctx context.Context, id string) error {
	return c.drop(ctx, func(n store.Node) bool { return n.ID == id })
}

// PruneNodes is that of cluster.Registry.
func (c *Connection) PruneNodes(ctx context.Context) error {
	return c.drop(ctx, func(n store.Node) bool { return c.db.now().Sub(n.SeenAt) > store.NodeKept })
}

func (c *Connection) drop(ctx context.Context, which func(store.Node) bool) error {
	if err := c.reach(ctx); err != nil {
		return err
	}
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	c.db.nodes = slices.DeleteFunc(c.db.nodes, which)
	return nil
}

// Cluster is that of cluster.Registry.
func (c *Connection) Cluster(ctx context.Context) (store.Cluster, error) {
	if err := c.reach(ctx); err != nil {
		return store.Cluster{}, err
	}
	d := c.db
	d.mu.Lock()
	defer d.mu.Unlock()
	return store.Cluster{
		Now: d.now(), Leader: d.leader, Epoch: d.epoch, Since: d.since, BeatAt: d.beatAt, Nodes: slices.Clone(d.nodes),
	}, nil
}

// LastChange is that of cluster.ChangeLog.
func (c *Connection) LastChange(ctx context.Context) (int64, error) {
	if err := c.reach(ctx); err != nil {
		return 0, err
	}
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	return int64(len(c.db.owners)), nil
}

// Changes is that of cluster.ChangeLog. It never says all.
func (c *Connection) Changes(ctx context.Context, after int64) (owners []string, last int64, all bool, err error) {
	if err := c.reach(ctx); err != nil {
		return nil, 0, false, err
	}
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	owners = slices.Clone(c.db.owners[after:])
	slices.Sort(owners)
	return slices.Compact(owners), int64(len(c.db.owners)), false, nil
}

// Listen calls notified with what any node has notified the others of, until ctx is done. Nothing comes through while the node is cut off.
func (c *Connection) Listen(ctx context.Context, notified func(what string)) error {
	events := make(chan string, 64)
	c.db.mu.Lock()
	c.db.listens = append(c.db.listens, events)
	c.db.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return nil
		case what := <-events:
			if !errors.Is(c.reach(ctx), Gone{}) {
				notified(what)
			}
		}
	}
}
