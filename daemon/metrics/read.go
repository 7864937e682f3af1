package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/daemon/x402"
)

// Readings are what is read when the metrics are asked for. A function that is nil is left out.
type Readings struct {
	Ages        func() map[string]time.Duration                     // of the newest state, by pack
	Streams     func() Streams                                      // that were and are open
	Connections func() Connections                                  // of the public address
	Deposits    func(ctx context.Context) (map[string]int64, error) // purchases by status
	Chains      func() map[string]Chain                             // by rail
	Settling    func(ctx context.Context) ([]x402.Standing, error)  // how the rails stand on which payments are settled
	Logs        func() map[string]int64                             // bytes of the write-ahead logs, by database
	Busy        func() int64                                        // times that a database was busy for too long
	Jobs        func() map[string]Job                               // by name
	Backups     func() (newest time.Time, every time.Duration)      // when one was made, zero for never, and is to be, 0 for never
	Ready       func(ctx context.Context) error                     // why calls cannot be answered
	Sessions    func() int                                          // of MCP, open now
	Proven      func(ctx context.Context) ([]Log, error)            // the transparency logs that go on
	Evidence    func() Evidence                                     // of what sources answered
	Alerts      func() int                                          // events that wait to be delivered to the operator
	Watches     func(ctx context.Context) (event.Standing, error)   // how the watches of owners stand
	Leads       func() bool                                         // whether this daemon does
	Cluster     func(ctx context.Context) (Cluster, error)          // how the nodes stand
}

// Cluster is how the daemons on a database stand.
type Cluster struct {
	Nodes     int                      // that work
	Takeovers int64                    // how often one has begun to lead
	Lag       map[string]time.Duration // by how much the newest state here is older than the newest on any node, by pack

	// What people read, of daemons on PostgreSQL.
	Summary string
	Beat    time.Duration // since who leads has renewed the lease
	Members []Member
}

// Member is a node as people read of it.
type Member struct {
	URL, Role, Behind string
	Seen              time.Duration // ago
	Self              bool
}

// Log is how the transparency log of a pack stands.
type Log struct {
	Pack     string
	Leaves   int64
	Appended time.Time     // to it, the last time
	Anchored time.Time     // the hour of the newest checkpoint that is kept with signatures of witnesses, zero for none
	Missing  int           // witnesses that have not signed the newest checkpoint
	Unsigned time.Duration // that the one of them has not signed which is missing for longest, 0 for none
}

// Evidence is how much is kept of what sources answered, and counts what is not, since the start.
type Evidence struct {
	Bytes, Most   int64
	Dropped, Lost map[string]int64 // by the setting that left no room, and by why
}

// Streams counts streams.
type Streams struct{ Open, Opened, Dropped, Stalled int64 }

// Connections says how the connections of the public address stand, and counts those closed to make room, and bodies given up.
type Connections struct {
	Open, Most int
	Closed     map[string]int64 // by why
}

// Chain is how far a chain was looked at, in blocks: the newest known, and up to which deposits were looked for.
type Chain struct{ Newest, Looked uint64 }

// Job is how a job stands.
type Job struct {
	Succeeded time.Time // the last time, zero for never since the start
	Failures  int64     // since the start
}

// scrapeTimeout bounds what is read from the databases.
const scrapeTimeout = 2 * time.Second

// Read adds r, which is read with ctx, to what is shown. It is called once.
func (m *Metrics) Read(ctx context.Context, r Readings) {
	m.readings = r
	m.registry.MustRegister(&reader{r, ctx, m.now})
}

// reader reads Readings for each answer.
type reader struct {
	Readings
	ctx context.Context
	now func() time.Time
}

type value struct {
	name, help string
	kind       prometheus.ValueType
	label      string // "" for none
}

func values() map[string]value {
	g, c := prometheus.GaugeValue, prometheus.CounterValue
	list := map[string]value{}
	for _, v := range []value{
		{"state_age_seconds", "Age of the newest state.", g, "pack"},
		{"streams_open", "Streams open now.", g, ""},
		{"streams_opened_total", "Streams opened.", c, ""},
		{"stream_states_dropped_total", "States that slow readers did not get, because a newer one was there.", c, ""},
		{"streams_stalled_total", "Streams closed because their readers took nothing.", c, ""},
		{"connections_open", "Connections of the public address open now.", g, ""},
		{"connections_most", "Connections of the public address that may be open: there are no descriptors for more.", g, ""},
		{"connections_closed_total", "Connections closed to make room, and bodies given up, by why.", c, "why"},
		{"deposits", "Purchases of credits, by status.", g, "status"},
		{"chain_block", "Newest block of the chain that is known.", g, "rail"},
		{"scanner_lag_blocks", "Blocks in which deposits were not looked for yet.", g, "rail"},
		{"standard_offered", "1 while payments by standard x402 are offered.", g, "rail"},
		{"standard_limited", "1 while, above the budget of lost gas, calls are settled only for wallets that have paid before.", g, "rail"},
		{"settlements_foreign", "Payments of the last day that transactions of others have settled.", g, "rail"},
		{"settlements_pending", "Payments by standard x402 that are being settled.", g, "rail"},
		{"settlement_pending_age_seconds", "Age of the oldest of those, 0 without one.", g, "rail"},
		{"gas_key_balance_wei", "What the key has that pays the gas.", g, "rail"},
		{"gas_price_wei", "What a unit of gas costs.", g, "rail"},
		{"gas_lost_wei", "What transactions that moved nothing have cost in the last day.", g, "rail"},
		{"sqlite_wal_bytes", "Size of the write-ahead log.", g, "database"},
		{"sqlite_busy_total", "Transactions that found the database busy for too long.", c, ""},
		{"job_success_timestamp_seconds", "When a job last ended well; 0 for never since the start.", g, "job_name"},
		{"job_failures_total", "Runs of a job that failed.", c, "job_name"},
		{"backup_newest_timestamp_seconds", "When the newest backup was made in the directory of this daemon; 0 for never.", g, ""},
		{"backup_every_seconds", "How often a backup is made; 0 for never.", g, ""},
		{"mcp_sessions", "Sessions of MCP open now.", g, ""},
		{"alert_events_waiting", "Events that wait to be delivered to the operator.", g, ""},
		{"watches", "Watches of owners, by state: active, failing (of those), suspended, paused, or with a gap.", g, "state"},
		{"watch_deliveries_waiting", "Deliveries of watches that wait, with those that are tried again later.", g, ""},
		{"watch_delivery_overdue_seconds", "For how long a delivery of a watch is due, at most; 0 without one.", g, ""},
		{"log_leaves", "Leaves of the transparency log.", g, "pack"},
		{"log_checkpoint_age_seconds", "Age of the newest checkpoint of the transparency log.", g, "pack"},
		{"log_anchor_age_seconds", "Age of the hour of the newest checkpoint that is kept with signatures of witnesses.", g, "pack"},
		{"log_witnesses_missing", "Witnesses that have not signed the newest checkpoint.", g, "pack"},
		{"log_unwitnessed_seconds", "For how long the witness that is missing for longest has not signed, 0 without one.", g, "pack"},
		{"evidence_bytes", "Size on disk of what is kept of the answers of sources.", g, ""},
		{"evidence_most_bytes", "Size that it may have.", g, ""},
		{"evidence_dropped_total", "Answers that went before their time, by the setting that left no room.", c, "setting"},
		{"evidence_lost_total", "Answers that were not kept, by why.", c, "why"},
		{"leader", "1 while this daemon leads: it asks sources, writes briefs and scans the chain.", g, ""},
		{"cluster_nodes", "Daemons that work on the database.", g, ""},
		{"takeovers_total", "Times that a daemon on the database has begun to lead.", c, ""},
		{"state_lag_seconds", "By how much the newest state here is older than the newest on any node.", g, "pack"},
		{"ready", "1 while calls can be answered.", g, ""},
	} {
		list[v.name] = v
	}
	return list
}

// Describe says nothing: what is there is known when it is read.
func (r *reader) Describe(chan<- *prometheus.Desc) {}

// Collect reads.
func (r *reader) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(r.ctx, scrapeTimeout)
	defer cancel()
	known := values()
	emit := func(name string, n float64, label ...string) {
		v := known[name]
		var labels []string
		if v.label != "" {
			labels = []string{v.label}
		}
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(prefix+v.name, v.help, labels, nil), v.kind, n, label...)
	}
	r.money(ctx, emit)
	if r.Settling != nil {
		r.settling(ctx, emit)
	}
	if r.Ages != nil {
		for pack, age := range r.Ages() {
			emit("state_age_seconds", age.Seconds(), pack)
		}
	}
	if r.Streams != nil {
		s := r.Streams()
		emit("streams_open", float64(s.Open))
		emit("streams_opened_total", float64(s.Opened))
		emit("stream_states_dropped_total", float64(s.Dropped))
		emit("streams_stalled_total", float64(s.Stalled))
	}
	if r.Connections != nil {
		s := r.Connections()
		emit("connections_open", float64(s.Open))
		emit("connections_most", float64(s.Most))
		for why, n := range s.Closed {
			emit("connections_closed_total", float64(n), why)
		}
	}
	if r.Sessions != nil {
		emit("mcp_sessions", float64(r.Sessions()))
	}
	if r.Alerts != nil {
		emit("alert_events_waiting", float64(r.Alerts()))
	}
	if r.Watches != nil {
		if w, err := r.Watches(ctx); err == nil { // a database that does not answer is seen at contextd_ready
			for state, n := range map[string]int{
				"active": w.Active, "failing": w.Failing, "suspended": w.Suspended, "paused": w.Paused, "gap": w.Gaps,
			} {
				emit("watches", float64(n), state)
			}
			emit("watch_deliveries_waiting", float64(w.Waiting))
			emit("watch_delivery_overdue_seconds", float64(w.OverdueSeconds))
		}
	}
	if r.Jobs != nil {
		for name, j := range r.Jobs() {
			at := 0.0
			if !j.Succeeded.IsZero() {
				at = float64(j.Succeeded.Unix())
			}
			emit("job_success_timestamp_seconds", at, name)
			emit("job_failures_total", float64(j.Failures), name)
		}
	}
	if r.Backups != nil {
		newest, every := r.Backups()
		emit("backup_newest_timestamp_seconds", float64(max(0, newest.Unix())))
		emit("backup_every_seconds", every.Seconds())
	}
	if r.Evidence != nil {
		r.evidence(emit)
	}
	r.cluster(ctx, emit)
	if r.Ready != nil {
		ready := 0.0
		if r.Ready(ctx) == nil {
			ready = 1
		}
		emit("ready", ready)
	}
}

// evidence reads how much is kept of what sources answered.
func (r *reader) evidence(emit func(name string, n float64, label ...string)) {
	s := r.Evidence()
	emit("evidence_bytes", float64(s.Bytes))
	emit("evidence_most_bytes", float64(s.Most))
	for setting, n := range s.Dropped {
		emit("evidence_dropped_total", float64(n), setting)
	}
	for why, n := range s.Lost {
		emit("evidence_lost_total", float64(n), why)
	}
}

// cluster reads how the nodes stand.
func (r *reader) cluster(ctx context.Context, emit func(name string, n float64, label ...string)) {
	if r.Leads != nil {
		leads := 0.0
		if r.Leads() {
			leads = 1
		}
		emit("leader", leads)
	}
	if r.Cluster == nil {
		return
	}
	if c, err := r.Cluster(ctx); err == nil { // a database that does not answer is seen at contextd_ready
		emit("cluster_nodes", float64(c.Nodes))
		emit("takeovers_total", float64(c.Takeovers))
		for pack, lag := range c.Lag {
			emit("state_lag_seconds", lag.Seconds(), pack)
		}
	}
}

// money reads what concerns chain and databases.
func (r *reader) money(ctx context.Context, emit func(name string, n float64, label ...string)) {
	if r.Deposits != nil {
		if list, err := r.Deposits(ctx); err == nil { // a database that does not answer is seen at contextd_ready
			for status, n := range list {
				emit("deposits", float64(n), status)
			}
		}
	}
	if r.Proven != nil {
		if list, err := r.Proven(ctx); err == nil { // likewise
			for _, l := range list {
				emit("log_leaves", float64(l.Leaves), l.Pack)
				emit("log_checkpoint_age_seconds", r.now().Sub(l.Appended).Seconds(), l.Pack)
				if !l.Anchored.IsZero() {
					emit("log_anchor_age_seconds", r.now().Sub(l.Anchored).Seconds(), l.Pack)
				}
				emit("log_witnesses_missing", float64(l.Missing), l.Pack)
				emit("log_unwitnessed_seconds", l.Unsigned.Seconds(), l.Pack)
			}
		}
	}
	if r.Chains != nil {
		for rail, c := range r.Chains() {
			emit("chain_block", float64(c.Newest), rail)
			emit("scanner_lag_blocks", float64(c.Newest-min(c.Looked, c.Newest)), rail)
		}
	}
	if r.Logs != nil {
		for database, bytes := range r.Logs() {
			emit("sqlite_wal_bytes", float64(bytes), database)
		}
	}
	if r.Busy != nil {
		emit("sqlite_busy_total", float64(r.Busy()))
	}
}
