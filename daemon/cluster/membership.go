package cluster

import (
	"context"
	"net"
	"os"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/store"
)

// nodeEvery is how often a node writes down that it runs.
const nodeEvery = 2 * time.Second

// Membership is this node among those of its database, as the others and the operator see it.
type Membership struct {
	Node    *Node
	URL     string // at which the others reach it
	Version string
	States  func() map[string]time.Time // when the newest state of each pack was made that it serves
}

// NodeURL is the URL of a node at which others reach it, which is not the public URL that all of them have: that which listens on addr, and
// has url for clients on the same machine.
func NodeURL(url string, addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil || !net.ParseIP(host).IsUnspecified() {
		return url
	}
	name, err := os.Hostname()
	if err != nil {
		return url
	}
	scheme, _, _ := strings.Cut(url, "://")
	return scheme + "://" + net.JoinHostPort(name, port)
}

// Self is this node as the others see it.
func (m *Membership) Self() store.Node {
	return store.Node{ID: m.Node.cfg.ID, URL: m.URL, Version: m.Version, States: m.States()}
}

// Run writes down that this node runs, until ctx is done. On SQLite it does nothing.
func (m *Membership) Run(ctx context.Context) {
	if m.Node.Alone() {
		return
	}
	tick := time.NewTicker(nodeEvery)
	defer tick.Stop()
	failing := false
	for {
		err := m.Node.cfg.Registry.SaveNode(ctx, m.Self())
		if err == nil && m.Node.Leads() {
			err = m.Node.cfg.Registry.PruneNodes(ctx)
		}
		if err != nil && !failing && ctx.Err() == nil { // once for each outage
			m.Node.cfg.Logger.Warn("node heartbeat not written", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Cluster says how the nodes stand, of which this one is self.
func (m *Membership) Cluster(ctx context.Context) (c store.Cluster, self string, err error) {
	if !m.Node.Alone() {
		ctx, cancel := context.WithTimeout(ctx, registerWait)
		defer cancel()
		c, err = m.Node.cfg.Registry.Cluster(ctx)
		return c, m.Node.cfg.ID, err
	}
	n, now := m.Self(), m.Node.cfg.Now()
	n.StartedAt, n.SeenAt = m.Node.began, now
	return store.Cluster{Now: now, Leader: n.ID, Epoch: 1, Since: n.StartedAt, BeatAt: now, Nodes: []store.Node{n}}, n.ID, nil
}
