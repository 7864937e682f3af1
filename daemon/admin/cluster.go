package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/web"
)

// Roles of a node.
const (
	RoleLeads   = "leads"
	RoleFollows = "follows"
	RoleSilent  = "silent" // for store.NodeSeen, and perhaps dead
)

// Cluster answers a GET of PathCluster: how the daemons on a database stand.
type Cluster struct {
	Leader string     `json:"leader,omitempty"` // id; absent while none leads
	Epoch  int64      `json:"epoch"`            // how often one has begun to lead
	Since  *time.Time `json:"since"`            // when the leader began; null while none leads
	Self   string     `json:"self,omitempty"`   // id of the node that answers; absent where the database was read
	Nodes  []Node     `json:"nodes"`            // the longest running first
}

// Node is one of them.
type Node struct {
	ID         string               `json:"id"`
	URL        string               `json:"url"`
	Role       string               `json:"role"`
	Version    string               `json:"version"`
	StartedAt  time.Time            `json:"startedAt"`
	SeenAt     time.Time            `json:"seenAt"`
	States     map[string]time.Time `json:"states"`     // when the newest of each pack was made that it serves
	LagSeconds map[string]float64   `json:"lagSeconds"` // by how much that is older than the newest on any node
}

// ClusterOf is what is told of c by the node self, or by none for "".
func ClusterOf(c store.Cluster, self string) Cluster {
	told := Cluster{Epoch: c.Epoch, Self: self, Nodes: []Node{}}
	if c.Led() {
		told.Leader, told.Since = c.Leader, &c.Since
	}
	for _, n := range c.Nodes {
		one := Node{ID: n.ID, URL: n.URL, Role: RoleFollows, Version: n.Version, StartedAt: n.StartedAt, SeenAt: n.SeenAt, States: n.States,
			LagSeconds: map[string]float64{}}
		switch {
		case n.ID == told.Leader:
			one.Role = RoleLeads
		case c.Now.Sub(n.SeenAt) > store.NodeSeen:
			one.Role = RoleSilent
		}
		for pack, lag := range c.Lag(n) {
			one.LagSeconds[pack] = lag.Seconds()
		}
		told.Nodes = append(told.Nodes, one)
	}
	return told
}

func (s Server) cluster(w http.ResponseWriter, r *http.Request) error {
	c, self, err := s.Daemon.Cluster(r.Context())
	if err != nil {
		return explained(err)
	}
	return web.WriteJSON(w, http.StatusOK, ClusterOf(c, self))
}

// ReadCluster asks the daemon on dir how the nodes stand or, where none runs, reads the database at storeURL.
func ReadCluster(ctx context.Context, dir, storeURL string) (Cluster, error) {
	runs, err := datadir.Runs(ctx, dir)
	switch {
	case err != nil:
		return Cluster{}, err
	case runs:
		o := through(dir)
		defer func() { _ = o.Close() }() // nothing is left open
		return ask[Cluster](ctx, o, http.MethodGet, PathCluster, nil)
	case storeURL == "":
		return Cluster{}, errNotRunning
	}
	s, err := store.OpenRead(ctx, storeURL)
	if err != nil {
		return Cluster{}, err
	}
	c, err := s.Cluster(ctx)
	return ClusterOf(c, ""), errors.Join(err, s.Close())
}

// Behind says how far a node is behind, pack by pack.
func (n Node) Behind() string {
	var packs []string
	for _, pack := range slices.Sorted(maps.Keys(n.LagSeconds)) {
		if lag := n.LagSeconds[pack]; lag > 0 {
			packs = append(packs, fmt.Sprintf("%s %.1fs", pack, lag))
		}
	}
	return cmp.Or(strings.Join(packs, ", "), "no")
}

// Leading is the node that leads, nil while none does or it is not known.
func (c Cluster) Leading() *Node {
	i := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.Role == RoleLeads })
	if i < 0 {
		return nil
	}
	return &c.Nodes[i]
}

// Summary says how many nodes work, and who leads.
func (c Cluster) Summary() string {
	live := 0
	for _, n := range c.Nodes {
		if n.Role != RoleSilent {
			live++
		}
	}
	nodes := fmt.Sprintf("%d nodes; ", live)
	if live == 1 {
		nodes = "1 node; "
	}
	switch leads := c.Leading(); {
	case c.Leader == "":
		return nodes + "none leads"
	case leads == nil:
		return nodes + "one leads that has not said where it is"
	case leads.ID == c.Self:
		return nodes + "this one leads since " + c.Since.Local().Format(time.DateTime)
	default:
		return fmt.Sprintf("%s%s leads since %s", nodes, leads.URL, c.Since.Local().Format(time.DateTime))
	}
}
