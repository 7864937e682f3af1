package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
)

// Node is a daemon that works on the database. Times but those of its states are the database's.
type Node struct {
	ID        string               `json:"id"`
	URL       string               `json:"url"`
	Version   string               `json:"version"`
	StartedAt time.Time            `json:"startedAt"`
	SeenAt    time.Time            `json:"seenAt"`
	States    map[string]time.Time `json:"states"` // when the newest of each pack was made that it serves
}

// Cluster is how the nodes stand.
type Cluster struct {
	Now    time.Time
	Leader string // id; "" while none leads
	Epoch  int64  // how often one has begun to lead
	Since  time.Time
	BeatAt time.Time
	Nodes  []Node // the longest running first
}

// Live are the nodes that count as ones that work.
func (c Cluster) Live() (list []Node) {
	for _, n := range c.Nodes {
		if c.Now.Sub(n.SeenAt) <= NodeSeen {
			list = append(list, n)
		}
	}
	return list
}

// Led reports whether a node leads.
func (c Cluster) Led() bool {
	return c.Leader != "" && c.Now.Sub(c.BeatAt).Abs() <= database.LeaseLasts
}

// Lag is by how much the newest state of each pack on a node is older than the newest of all that work.
func (c Cluster) Lag(n Node) map[string]time.Duration {
	lag := make(map[string]time.Duration, len(n.States))
	for pack, at := range n.States {
		lag[pack] = 0
		for _, other := range c.Live() {
			lag[pack] = max(lag[pack], other.States[pack].Sub(at))
		}
	}
	return lag
}

// NodeSeen is how long a node may be silent and still counts as one that works; NodeKept is for how long it is remembered.
const (
	NodeSeen = 10 * time.Second
	NodeKept = time.Minute
)

// dbNow is the time of PostgreSQL in milliseconds.
const dbNow = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

// Lease makes node one of the cluster; nil on SQLite, which has none. See database.DB.Lease.
func (s *Store) Lease(node string) *database.Lease { return s.db.Lease(node) }

// SaveNode notes that a node runs, with what it serves. Its times are those of the database, whatever it says.
func (s *Store) SaveNode(ctx context.Context, n Node) error {
	states := make(map[string]int64, len(n.States))
	for pack, at := range n.States {
		states[pack] = at.UnixMilli()
	}
	text, err := json.Marshal(states)
	if err != nil {
		return fmt.Errorf("note node: %w", err)
	}
	if _, err := s.db.Beats().ExecContext(ctx, `INSERT INTO nodes (id, url, version, started_at, seen_at, states)
		VALUES (?, ?, ?, `+dbNow+", "+dbNow+`, ?) ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, states = excluded.states`,
		n.ID, n.URL, n.Version, string(text)); err != nil {
		return fmt.Errorf("note node: %w", err)
	}
	return nil
}

// RemoveNode notes that a node has ended.
func (s *Store) RemoveNode(ctx context.Context, id string) error {
	if _, err := s.db.Beats().ExecContext(ctx, "DELETE FROM nodes WHERE id = ?", id); err != nil {
		return fmt.Errorf("remove node: %w", err)
	}
	return nil
}

// PruneNodes forgets those that have ended without a word.
func (s *Store) PruneNodes(ctx context.Context) error {
	_, err := s.db.Beats().ExecContext(ctx, "DELETE FROM nodes WHERE seen_at < "+dbNow+" - ?", NodeKept.Milliseconds())
	if err != nil {
		return fmt.Errorf("prune nodes: %w", err)
	}
	return nil
}

// Cluster returns how the nodes stand, the zero Cluster on SQLite.
func (s *Store) Cluster(ctx context.Context) (c Cluster, err error) {
	if !s.db.OnServer() {
		return c, nil
	}
	var now, since, beat sql.NullInt64
	if err := s.db.Read.QueryRowContext(ctx, "SELECT epoch, node, beat_at, since, "+dbNow+" FROM leader").
		Scan(&c.Epoch, &c.Leader, &beat, &since, &now); err != nil {
		return c, fmt.Errorf("read who leads: %w", err)
	}
	c.Now, c.Since, c.BeatAt = database.FromMillis(now), database.FromMillis(since), database.FromMillis(beat)
	c.Nodes, err = database.Query(ctx, s.db.Read, func(rows *sql.Rows) (n Node, err error) {
		var started, seen sql.NullInt64
		var text string
		if err := rows.Scan(&n.ID, &n.URL, &n.Version, &started, &seen, &text); err != nil {
			return n, err
		}
		n.StartedAt, n.SeenAt, n.States = database.FromMillis(started), database.FromMillis(seen), map[string]time.Time{}
		states := map[string]int64{}
		err = json.Unmarshal([]byte(text), &states)
		for pack, at := range states {
			n.States[pack] = time.UnixMilli(at).UTC()
		}
		return n, err
	}, "SELECT id, url, version, started_at, seen_at, states FROM nodes ORDER BY started_at, id")
	if err != nil {
		return c, fmt.Errorf("read nodes: %w", err)
	}
	return c, nil
}

// Free fails with database.ErrHeld in the chain of the error while daemons work on the database.
func (s *Store) Free(ctx context.Context) error {
	c, err := s.Cluster(ctx)
	if err != nil {
		return err
	}
	var urls []string
	for _, n := range c.Live() {
		urls = append(urls, n.URL)
	}
	if len(urls) > 0 {
		return fmt.Errorf("%w: a daemon runs at %s\n  try: the command with its data directory, or stop it first",
			database.ErrHeld, strings.Join(urls, ", "))
	}
	return nil
}
