package daemon

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/metrics"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/web"
)

var _ pipeline.Observer = (*metrics.Metrics)(nil)

// listenMetrics lets the metrics read what they are not told, and begins to listen on the address that shows them.
func (d *Daemon) listenMetrics(ctx context.Context) error {
	readings := metrics.Readings{Ages: d.ages, Streams: d.streams, Connections: d.connectionReadings, Logs: d.walSizes, Busy: d.busy,
		Jobs: d.jobs.Readings, Backups: d.backups.Reading, Ready: d.health.Ready, Sessions: d.mcp.Sessions, Alerts: d.alerts.Waiting,
		Watches:  d.watchStanding,
		Deposits: d.store.CountDeposits, Chains: d.chainReadings, Settling: d.Settling,
		Proven: d.logReadings, Leads: d.node.Leads, Cluster: d.clusterReading}
	if d.evidence != nil {
		readings.Evidence = func() metrics.Evidence {
			s := d.evidence.Standing()
			return metrics.Evidence{Bytes: s.Bytes, Most: s.Most, Dropped: s.Dropped, Lost: s.Lost}
		}
	}
	d.metrics.Read(context.WithoutCancel(ctx), readings)
	if d.cfg.AdminListen == "" {
		return nil
	}
	l, err := net.Listen("tcp", d.cfg.AdminListen)
	if err != nil {
		return fmt.Errorf("listen for metrics on %s: %w", d.cfg.AdminListen, err)
	}
	d.watch = newEndpoint(l, d.metrics.Admin(d.health.Ready), d.cfg.Logger)
	d.watch.server.WriteTimeout = profileTimeout
	return nil
}

// profileTimeout bounds an answer of the admin address: a profile takes as long as it is asked to.
const profileTimeout = 5 * time.Minute

// AdminURL is the base URL of metrics and profiles, "" without an address for them.
func (d *Daemon) AdminURL() string {
	if d.watch == nil {
		return ""
	}
	return reachable("http", d.watch.listener, d.cfg.AdminListen)
}

// clusterReading is how the nodes stand, as seen from this one.
func (d *Daemon) clusterReading(ctx context.Context) (metrics.Cluster, error) {
	c, self, err := d.membership.Cluster(ctx)
	m := metrics.Cluster{Nodes: len(c.Live()), Takeovers: c.Epoch, Lag: c.Lag(d.membership.Self())}
	if err != nil || d.node.Alone() {
		return m, err
	}
	told := admin.ClusterOf(c, self)
	m.Summary, m.Beat = told.Summary(), max(0, c.Now.Sub(c.BeatAt))
	for _, n := range told.Nodes {
		m.Members = append(m.Members, metrics.Member{URL: n.URL, Role: n.Role, Behind: n.Behind(), Seen: max(0, c.Now.Sub(n.SeenAt)),
			Self: n.ID == self})
	}
	return m, nil
}

func (d *Daemon) ages() map[string]time.Duration {
	ages := map[string]time.Duration{}
	for id, at := range d.packs.stateTimes() {
		ages[id] = d.cfg.Now().Sub(at)
	}
	return ages
}

func (d *Daemon) streams() metrics.Streams {
	s := d.web.Stats()
	return metrics.Streams{Open: s.Open.Load(), Opened: s.Opened.Load(), Dropped: s.Dropped.Load(), Stalled: s.Stalled.Load()}
}

// Connections says how the connections of the public address stand.
func (d *Daemon) Connections() web.ConnectionStats { return d.connections.Stats() }

func (d *Daemon) connectionReadings() metrics.Connections {
	s := d.Connections()
	return metrics.Connections{Open: s.Open, Most: s.Most, Closed: map[string]int64{
		"crowded": s.Crowded, "full": s.Full, "client": s.Client, "refused": s.Refused, "slow": s.Slow,
	}}
}

// logReadings are the transparency logs that go on, of the packs that are served.
func (d *Daemon) logReadings(ctx context.Context) ([]metrics.Log, error) {
	logs, err := d.history.Logs(ctx)
	var list []metrics.Log
	for _, l := range logs {
		if l.Ended || d.packs.of(l.Pack) == nil {
			continue
		}
		m := metrics.Log{Pack: l.Pack, Leaves: l.Size, Appended: l.AppendedAt, Anchored: l.AnchoredAt}
		for _, w := range d.logs.Witnesses(l.Pack) {
			if w.Since != nil {
				m.Missing++
				m.Unsigned = max(m.Unsigned, d.cfg.Now().Sub(*w.Since))
			}
		}
		list = append(list, m)
	}
	return list, err
}

func (d *Daemon) walSizes() map[string]int64 {
	books, _ := d.store.Log()
	history, _ := d.history.Log()
	return map[string]int64{"books": books, "history": history}
}

// busy counts transactions that found a database busy for too long.
func (d *Daemon) busy() int64 {
	_, books := d.store.Log()
	_, history := d.history.Log()
	return books + history
}
