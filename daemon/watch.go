package daemon

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/contextd/contextd/daemon/metrics"
	"github.com/contextd/contextd/daemon/pipeline"
)

var _ pipeline.Observer = (*metrics.Metrics)(nil)

// openWatch lets the metrics read what they are not told, and begins to listen on the address that shows them.
func (d *Daemon) openWatch(ctx context.Context) error {
	readings := metrics.Readings{Ages: d.ages, Streams: d.streams, Logs: d.logs, Busy: d.busy,
		Jobs: d.jobReadings, Ready: d.Ready, Sessions: d.mcp.Sessions, Alerts: d.waitingAlerts,
		Deposits: d.store.CountDeposits, Chains: d.chainReadings, Settling: d.Settling}
	d.metrics.Read(context.WithoutCancel(ctx), readings)
	if d.cfg.AdminListen == "" {
		return nil
	}
	l, err := net.Listen("tcp", d.cfg.AdminListen)
	if err != nil {
		return fmt.Errorf("listen for metrics on %s: %w", d.cfg.AdminListen, err)
	}
	d.watch = newEndpoint(l, d.metrics.Admin(d.Ready), d.cfg.Logger)
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

func (d *Daemon) ages() map[string]time.Duration {
	ages := map[string]time.Duration{}
	for _, id := range d.served.ids() {
		if edition, _ := d.feed.Latest(id); edition != nil {
			ages[id] = d.cfg.Now().Sub(edition.GeneratedAt)
		}
	}
	return ages
}

func (d *Daemon) streams() metrics.Streams {
	s := d.web.Stats()
	return metrics.Streams{Open: s.Open.Load(), Opened: s.Opened.Load(), Dropped: s.Dropped.Load(), Stalled: s.Stalled.Load()}
}

func (d *Daemon) logs() map[string]int64 {
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
