// Package metrics shows how the daemon does: metrics for Prometheus, profiles, the log of calls, and the handler of the admin address
// that serves them.
//
// It is told of what happens by small methods that cost next to nothing, and reads the rest when it is asked. It decides nothing, and no
// package that does knows it.
package metrics

import (
	"cmp"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/sdk/api"
)

// prefix begins the name of every metric of ours. Those of the Go runtime and the process have the names that everybody gives them.
const prefix = "contextd_"

// Metrics counts. Make one with New; it is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	now      func() time.Time
	readings Readings // set before anything is asked

	known       sync.Map // call to counted: the counters of calls, which the vectors take longer to find
	requests    *prometheus.CounterVec
	took        *prometheus.HistogramVec
	refreshes   *prometheus.CounterVec
	refresh     prometheus.Histogram
	fetches     *prometheus.CounterVec
	endings     *prometheus.CounterVec
	briefs      *prometheus.CounterVec
	refused     *prometheus.CounterVec
	charged     prometheus.Counter
	credits     prometheus.Counter
	group       prometheus.Histogram
	quotes      prometheus.Counter
	proofs      *prometheus.CounterVec
	rpc         *prometheus.CounterVec
	bought      *prometheus.CounterVec
	vanished    prometheus.Counter
	alerts      *prometheus.CounterVec
	watched     *prometheus.CounterVec
	agents      *prometheus.CounterVec
	settlements *prometheus.CounterVec
	gas         *prometheus.CounterVec
	fee         *prometheus.CounterVec
	reverts     *prometheus.CounterVec
}

// New makes Metrics that have been told of nothing yet. A nil now means time.Now.
func New(now func() time.Time) *Metrics {
	if now == nil {
		now = time.Now
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		now:      now,
		requests: counters("requests_total",
			"Requests answered, by operation (or route), status and authentication: key, proof, session or none.",
			"operation", "status", "authentication"),
		took: histograms("request_seconds", "Time to answer, streams left out.",
			prometheus.ExponentialBuckets(0.0001, 3, 11), "operation"),
		refreshes: counters("refreshes_total", "Refreshes of a pack, by outcome: ok, unchanged, failed or error.", "pack", "outcome"),
		refresh:   histogram("refresh_seconds", "Time of a refresh.", prometheus.ExponentialBuckets(0.01, 3, 9)),
		fetches: counters("source_fetches_total", "Answers of sources, by class: ok, unchanged, or the kind of failure.",
			"pack", "source", "class"),
		endings: counters("source_endings_total", "Answers of sources that announced the end of their service.", "pack", "source"),
		briefs:  counters("briefs_total", "Briefs, by the writer that was taken and outcome: ok or error.", "pack", "writer", "outcome"),
		refused: counters("brief_texts_refused_total",
			"Texts that were not taken as a brief, by their writer and why: failed, or the kind of what the check found.",
			"pack", "writer", "why"),
		charged: counter("charges_total", "Calls that were charged, with credits or as free calls."),
		credits: counter("credits_debited_total", "Credits taken for calls."),
		group:   histogram("charge_group_calls", "Calls booked in one transaction.", prometheus.ExponentialBuckets(1, 2, 10)),
		quotes:  counter("quotes_total", "Quotes made for calls that are to be paid."),
		proofs:  counters("proofs_total", "Proofs of payment, by outcome: paid, replayed, or why one was refused.", "outcome"),
		rpc:     counters("chain_calls_total", "Calls of the chain's node, by method and outcome: ok or error.", "method", "outcome"),
		bought:  counters("deposits_verified_total", "Purchases of credits that were paid, by package of credits.", "pack"),
		alerts: counters("alert_deliveries_total", "Deliveries of the operator's alerts, by alert, way and outcome: ok or error.",
			"alert", "by", "outcome"),
		watched: counters("watch_deliveries_total", "Attempts to deliver events of watches, by outcome: ok, or a word for what failed.",
			"outcome"),
		agents: counters("agent_sign_in_steps_total", "Steps by which agents sign in, by outcome: ok, or the code of the error.",
			"step", "outcome"),
		settlements: counters("settlements_total", "Payments by standard x402 that are over, by state: settled or failed.",
			"rail", "state"),
		gas:      counters("settlement_gas_total", "Gas used by transactions that were to settle payments.", "rail"),
		fee:      counters("settlement_fee_wei_total", "What that gas has cost, in wei.", "rail"),
		reverts:  counters("settlement_reverts_total", "Transactions that were to settle payments and moved nothing.", "rail"),
		vanished: counter("payments_vanished_total", "Payments that vanished from the chain after their call was answered."),
	}
	build := build.Read()
	info := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: prefix + "build_info", Help: "What runs; always 1.",
		ConstLabels: prometheus.Labels{"version": build.Version, "commit": build.Commit, "go": build.Go},
	}, func() float64 { return 1 })
	m.registry.MustRegister(
		m.requests, m.took, m.refreshes, m.refresh, m.fetches, m.endings, m.briefs, m.refused, m.charged, m.credits, m.group, m.quotes,
		m.proofs, m.rpc, m.bought, m.vanished, m.alerts, m.watched, m.agents, m.settlements, m.gas, m.fee, m.reverts, info,
	)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.begin()
	return m
}

// begin has what can be counted stand at zero. A counter that appears with its first event hides it: a rate needs a value before.
func (m *Metrics) begin() {
	for _, op := range api.Ops() {
		m.requests.WithLabelValues(string(op), strconv.Itoa(http.StatusOK), "key")
		m.requests.WithLabelValues(string(op), strconv.Itoa(http.StatusInternalServerError), "key")
		if op.PriceMicros() > 0 {
			m.requests.WithLabelValues(string(op), strconv.Itoa(http.StatusOK), "proof")
		}
		m.took.WithLabelValues(string(op))
	}
	for _, pack := range api.CreditPacks() {
		m.bought.WithLabelValues(string(pack))
	}
	m.watched.WithLabelValues(outcome(nil))
	for _, step := range []string{"authorize", "token", "refresh", "register", "revoke"} {
		m.agents.WithLabelValues(step, outcome(nil))
	}
	for _, outcome := range []string{claimPaid, claimReplayed, claimFailed} {
		m.proofs.WithLabelValues(outcome)
	}
	for _, reason := range api.Reasons() {
		if code, _ := reason.Answer(); code == api.CodePaymentInvalid || code == api.CodeUpstreamTimeout {
			m.proofs.WithLabelValues(string(reason))
		}
	}
}

// counter, counters, histogram and histograms make metrics with the prefix.
func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets})
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets}, labels)
}

// Handler answers in the format of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: nil})
}

type call struct {
	operation, authentication string
	status                    int
}

// counted is where calls of one kind are counted.
type counted struct {
	requests prometheus.Counter
	took     prometheus.Observer
}

func (m *Metrics) requested(c call, took time.Duration, stream bool) {
	known, ok := m.known.Load(c)
	if !ok {
		known, _ = m.known.LoadOrStore(c, counted{
			requests: m.requests.WithLabelValues(c.operation, strconv.Itoa(c.status), c.authentication),
			took:     m.took.WithLabelValues(c.operation),
		})
	}
	n := known.(counted)
	n.requests.Inc()
	if !stream {
		n.took.Observe(took.Seconds())
	}
}

// Served has the refreshes of a pack stand at zero.
func (m *Metrics) Served(pack string) {
	for _, outcome := range []string{"ok", "unchanged", "failed", "error"} {
		m.refreshes.WithLabelValues(pack, outcome)
	}
}

// Removed forgets a pack that is served no longer.
func (m *Metrics) Removed(pack string) {
	for _, v := range []*prometheus.CounterVec{m.refreshes, m.fetches, m.endings, m.briefs, m.refused} {
		v.DeletePartialMatch(prometheus.Labels{"pack": pack})
	}
}

// Refreshed counts a refresh of a pack.
func (m *Metrics) Refreshed(pack, outcome string, took time.Duration) {
	m.refreshes.WithLabelValues(pack, outcome).Inc()
	m.refresh.Observe(took.Seconds())
}

// Fetched counts the answer of a source.
func (m *Metrics) Fetched(pack, source, class string) {
	m.fetches.WithLabelValues(pack, source, class).Inc()
}

// Ending counts an answer that announced the end of its service.
func (m *Metrics) Ending(pack, source string) { m.endings.WithLabelValues(pack, source).Inc() }

// Briefed counts a brief; writer is "" where none was written.
func (m *Metrics) Briefed(pack, writer string, err error) {
	m.briefs.WithLabelValues(pack, writer, outcome(err)).Inc()
}

// Refused counts a text that was not taken as a brief.
func (m *Metrics) Refused(pack, writer, why string) {
	m.refused.WithLabelValues(pack, writer, why).Inc()
}

// Booked counts calls that were charged in one transaction, and the credits that they took.
func (m *Metrics) Booked(calls int, credits int64) {
	m.charged.Add(float64(calls))
	m.credits.Add(float64(credits))
	m.group.Observe(float64(calls))
}

// Asked counts a call of the chain's node.
func (m *Metrics) Asked(method string, err error) {
	m.rpc.WithLabelValues(method, outcome(err)).Inc()
	m.rpc.WithLabelValues(method, "error") // stands at zero then
}

// Bought counts a purchase that was paid.
func (m *Metrics) Bought(pack string) { m.bought.WithLabelValues(pack).Inc() }

// Vanished counts a payment that vanished from the chain after its call was answered.
func (m *Metrics) Vanished() { m.vanished.Inc() }

// Alerted counts an attempt to deliver an event of an alert.
func (m *Metrics) Alerted(alert, by string, err error) {
	m.alerts.WithLabelValues(alert, by, outcome(err)).Inc()
	m.alerts.WithLabelValues(alert, by, outcome(nil)) // both stand at zero then
	m.alerts.WithLabelValues(alert, by, "error")
}

// AgentStep counts a step by which an agent signs in, with the code of its error, "" for none.
func (m *Metrics) AgentStep(step, code string) {
	m.agents.WithLabelValues(step, cmp.Or(code, outcome(nil))).Inc()
}

// WatchDelivered counts an attempt to deliver an event of a watch; failed is a word, "" where the receiver did not fail.
func (m *Metrics) WatchDelivered(_ bool, failed string) {
	m.watched.WithLabelValues(cmp.Or(failed, outcome(nil))).Inc()
}

// outcome is the word for err.
func outcome(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}
