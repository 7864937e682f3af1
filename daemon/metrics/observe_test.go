package metrics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/daemon/metrics"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// everything makes metrics that have been told of everything once.
func everything(t *testing.T) *metrics.Metrics {
	t.Helper()
	now := time.Now()
	m := metrics.New(func() time.Time { return now })
	m.Refreshed("crypto", "ok", time.Second)
	m.Fetched("crypto", "coingecko-markets", "ok")
	m.Briefed("crypto", "built-in", nil)
	m.Refused("crypto", "anthropic/m", "figure")
	m.Booked(3, 2)
	m.Asked("eth_call", errors.New("down"))
	m.Bought("starter")
	m.Vanished()
	m.Settles("l2chain")
	m.Burnt("l2chain", 65_000, big.NewInt(65_000), true)
	m.Alerted("ops", "webhook", errors.New("500"))
	m.Quoted()
	m.AgentStep("token", "invalid_grant")
	m.Claimed(&x402.Claim{Replay: &x402.StoredAnswer{}}, nil)
	m.Calls(http.NotFoundHandler(), nil, nil, nil).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	m.Read(t.Context(), metrics.Readings{
		Ages:    func() map[string]time.Duration { return map[string]time.Duration{"crypto": 90 * time.Second} },
		Streams: func() metrics.Streams { return metrics.Streams{Open: 2, Opened: 5, Dropped: 1, Stalled: 1} },
		Connections: func() metrics.Connections {
			return metrics.Connections{Open: 11, Most: 12, Closed: map[string]int64{"refused": 13}}
		},
		Deposits: func(context.Context) (map[string]int64, error) { return map[string]int64{"pending": 4}, nil },
		Chains:   func() map[string]metrics.Chain { return map[string]metrics.Chain{"base": {Newest: 100, Looked: 90}} },
		Logs:     func() map[string]int64 { return map[string]int64{"books": 4096} },
		Busy:     func() int64 { return 1 },
		Jobs:     func() map[string]metrics.Job { return map[string]metrics.Job{"prune": {Failures: 2}} },
		Ready:    func(context.Context) error { return nil },
		Backups:  func() (time.Time, time.Duration) { return time.Time{}, time.Hour },
		Sessions: func() int { return 3 },
		Alerts:   func() int { return 6 },
		Watches: func(context.Context) (event.Standing, error) {
			return event.Standing{Active: 7, Failing: 2, Suspended: 3, Paused: 4, Gaps: 1, Waiting: 9, OverdueSeconds: 17}, nil
		},
		Leads: func() bool { return true },
		Cluster: func(context.Context) (metrics.Cluster, error) {
			return metrics.Cluster{Nodes: 3, Takeovers: 8, Lag: map[string]time.Duration{"crypto": 1500 * time.Millisecond}}, nil
		},
		Proven: func(context.Context) ([]metrics.Log, error) {
			return []metrics.Log{{Pack: "crypto", Leaves: 12, Appended: now.Add(-40 * time.Second), Anchored: now.Add(-70 * time.Second), Missing: 1, Unsigned: 30 * time.Second}}, nil
		},
		Evidence: func() metrics.Evidence {
			return metrics.Evidence{Bytes: 14, Most: 15, Dropped: map[string]int64{"max_mb": 16}, Lost: map[string]int64{"disk_full": 17}}
		},
		Settling: func(context.Context) ([]x402.Standing, error) {
			return []x402.Standing{{Rail: "l2chain", Balance: "7", GasPrice: "8", Lost: "9"}}, nil
		},
	})
	return m
}

// scrape reads what m answers: the names, and the values of samples by name and labels as they are written.
func scrape(t *testing.T, h http.Handler) (names map[string]bool, text string) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/metrics", nil)
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	text = w.Body.String()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	names = map[string]bool{}
	for name, f := range families {
		names[name] = true
		if f.GetType().String() == "HISTOGRAM" {
			for _, part := range []string{"_bucket", "_sum", "_count"} {
				names[name+part] = true
			}
		}
	}
	return names, text
}

// TestMetrics checks the names, and the numbers of what was told and read.
func TestMetrics(t *testing.T) {
	t.Parallel()
	names, text := scrape(t, everything(t).Admin(func(context.Context) error { return nil }))
	for name := range names {
		if !regexp.MustCompile(`^(contextd|go|process)_`).MatchString(name) || regexp.MustCompile(`^contextd_(go|process)_`).MatchString(name) {
			t.Errorf("%s is neither ours nor one that every program in Go has", name)
		}
	}
	for _, want := range []string{
		`contextd_refreshes_total{outcome="ok",pack="crypto"} 1`, `contextd_source_fetches_total{class="ok",pack="crypto",source="coingecko-markets"} 1`,
		`contextd_briefs_total{outcome="ok",pack="crypto",writer="built-in"} 1`, `contextd_brief_texts_refused_total{pack="crypto",why="figure",writer="anthropic/m"} 1`, `contextd_charges_total 3`, `contextd_credits_debited_total 2`,
		`contextd_charge_group_calls_count 1`, `contextd_chain_calls_total{method="eth_call",outcome="error"} 1`, `contextd_deposits_verified_total{pack="starter"} 1`,
		`contextd_quotes_total 1`, `contextd_proofs_total{outcome="replayed"} 1`, `contextd_requests_total{authentication="none",operation="unknown",status="404"} 1`,
		`contextd_state_age_seconds{pack="crypto"} 90`, `contextd_streams_open 2`, `contextd_streams_opened_total 5`, `contextd_stream_states_dropped_total 1`,
		`contextd_streams_stalled_total 1`, `contextd_deposits{status="pending"} 4`, `contextd_scanner_lag_blocks{rail="base"} 10`, `contextd_sqlite_wal_bytes{database="books"} 4096`,
		`contextd_sqlite_busy_total 1`, `contextd_job_failures_total{job_name="prune"} 2`, `contextd_ready 1`, `contextd_mcp_sessions 3`, `contextd_payments_vanished_total 1`,
		`contextd_alert_deliveries_total{alert="ops",by="webhook",outcome="error"} 1`, `contextd_alert_deliveries_total{alert="ops",by="webhook",outcome="ok"} 0`, `contextd_alert_events_waiting 6`,
		`contextd_log_leaves{pack="crypto"} 12`, `contextd_log_checkpoint_age_seconds{pack="crypto"} 40`, `contextd_log_anchor_age_seconds{pack="crypto"} 70`, `contextd_log_witnesses_missing{pack="crypto"} 1`, `contextd_log_unwitnessed_seconds{pack="crypto"} 30`,
		`contextd_connections_open 11`, `contextd_connections_most 12`, `contextd_connections_closed_total{why="refused"} 13`,
		`contextd_backup_newest_timestamp_seconds 0`, `contextd_backup_every_seconds 3600`,
		`contextd_leader 1`, `contextd_cluster_nodes 3`, `contextd_takeovers_total 8`, `contextd_state_lag_seconds{pack="crypto"} 1.5`,
		`contextd_evidence_bytes 14`, `contextd_evidence_most_bytes 15`, `contextd_evidence_dropped_total{setting="max_mb"} 16`,
		`contextd_evidence_lost_total{why="disk_full"} 17`,
		`contextd_watches{state="active"} 7`, `contextd_watches{state="failing"} 2`, `contextd_watches{state="suspended"} 3`,
		`contextd_watches{state="paused"} 4`, `contextd_watches{state="gap"} 1`, `contextd_watch_deliveries_waiting 9`,
		`contextd_agent_sign_in_steps_total{outcome="invalid_grant",step="token"} 1`, `contextd_agent_sign_in_steps_total{outcome="ok",step="refresh"} 0`,
		`contextd_watch_delivery_overdue_seconds 17`, `contextd_watch_deliveries_total{outcome="ok"} 0`,
		"go_goroutines ", "go_info{", "go_gc_duration_seconds{", "go_memstats_heap_inuse_bytes ", "go_memstats_alloc_bytes_total ", "go_threads ",
		"process_cpu_seconds_total ", "process_resident_memory_bytes ", "process_open_fds ", "process_max_fds ", "process_start_time_seconds ",
		"contextd_build_info{",
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("lacks %s", want)
		}
	}
}

// TestNothingHappenedYet: what is counted stands at zero before its first event, so that a rate sees the first one too.
func TestNothingHappenedYet(t *testing.T) {
	t.Parallel()
	m := metrics.New(nil)
	m.Read(t.Context(), metrics.Readings{})
	m.Served("crypto")
	_, text := scrape(t, m.Handler())
	for _, want := range []string{
		`contextd_requests_total{authentication="key",operation="fresh",status="200"}`, `contextd_requests_total{authentication="key",operation="cite",status="500"}`,
		`contextd_requests_total{authentication="proof",operation="snapshot",status="200"}`, `contextd_request_seconds_count{operation="brief"}`,
		`contextd_refreshes_total{outcome="ok",pack="crypto"}`, `contextd_refreshes_total{outcome="failed",pack="crypto"}`,
		`contextd_refreshes_total{outcome="error",pack="crypto"}`, `contextd_refreshes_total{outcome="unchanged",pack="crypto"}`,
		`contextd_deposits_verified_total{pack="starter"}`, `contextd_deposits_verified_total{pack="team"}`,
		`contextd_proofs_total{outcome="paid"}`, `contextd_proofs_total{outcome="replayed"}`, `contextd_proofs_total{outcome="error"}`,
		`contextd_proofs_total{outcome="already_used"}`, `contextd_proofs_total{outcome="malformed_proof"}`, `contextd_proofs_total{outcome="chain_unavailable"}`,
		`contextd_charges_total`, `contextd_credits_debited_total`, `contextd_quotes_total`, `contextd_payments_vanished_total`, `contextd_charge_group_calls_count`,
	} {
		if !strings.Contains(text, "\n"+want+" 0\n") {
			t.Errorf("lacks %s at 0", want)
		}
	}
	if strings.Contains(text, `authentication="proof",operation="subscribe"`) {
		t.Error("a stream cannot be paid by call")
	}
	m.Asked("eth_call", nil)
	if _, text := scrape(t, m.Handler()); !strings.Contains(text, `contextd_chain_calls_total{method="eth_call",outcome="error"} 0`) {
		t.Error("errors of the node do not stand at zero")
	}
}

// TestDashboardAndAlerts checks that both ask for metrics that are there, and for all of ours.
func TestDashboardAndAlerts(t *testing.T) {
	t.Parallel()
	names, _ := scrape(t, everything(t).Handler())
	if !json.Valid(metrics.Dashboard) {
		t.Error("the dashboard is not JSON")
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations struct{ Summary, Action string }
			}
		}
	}
	if err := yaml.Unmarshal(metrics.Alerts, &rules); err != nil || len(rules.Groups) == 0 {
		t.Fatalf("alerts: %v", err)
	}
	for _, r := range rules.Groups[0].Rules {
		if r.Alert == "" || r.Expr == "" || r.Annotations.Summary == "" || r.Annotations.Action == "" {
			t.Errorf("alert %q lacks something: an alert says what and what to do", r.Alert)
		}
	}
	for _, rare := range []string{"prune", "backup"} { // which cannot fail four times in half an hour
		windows := regexp.MustCompile(`increase\(contextd_job_failures_total\{job_name="` + rare + `"\}\[3h\]\)`)
		if !windows.Match(metrics.Alerts) {
			t.Errorf("no alert fits the job %s", rare)
		}
	}
	asked := map[string]bool{}
	for file, text := range map[string][]byte{"dashboard": metrics.Dashboard, "alerts": metrics.Alerts} {
		for _, name := range regexp.MustCompile(`\b(?:contextd|go|process)_[a-z_]+`).FindAllString(string(text), -1) {
			asked[name] = true
			if !names[name] {
				t.Errorf("the %s asks for %s, which is not there", file, name)
			}
		}
	}
	for name := range names {
		base := name
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			base = strings.TrimSuffix(base, part)
		}
		shown := asked[base]
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			shown = shown || asked[base+part]
		}
		if !shown && strings.HasPrefix(name, "contextd_") && base != "contextd_mcp_sessions" {
			t.Errorf("%s is neither in the dashboard nor in an alert", name)
		}
	}
}

// TestAdminIsLocal checks who is answered, and that what the process was started with is not shown.
func TestAdminIsLocal(t *testing.T) {
	t.Parallel()
	h := metrics.New(nil).Admin(func(context.Context) error { return errors.New("pack crypto has no state yet") })
	for url, want := range map[string]int{
		"http://127.0.0.1:8403/healthz": 200, "http://localhost:8403/healthz": 200, "http://[::1]:8403/healthz": 200, "http://10.0.0.7/healthz": 200,
		"http://evil.example/healthz": 403, "http://localhost.evil.example/metrics": 403, "http://127.0.0.1/readyz": 503,
		"http://127.0.0.1/debug/pprof/": 200, "http://127.0.0.1/debug/pprof/goroutine?debug=1": 200, "http://127.0.0.1/debug/pprof/cmdline": 403,
		"http://127.0.0.1/": 200, "http://127.0.0.1/nope": 404,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, url, nil))
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", url, w.Code, want)
		}
		if strings.HasSuffix(url, "readyz") && !strings.Contains(w.Body.String(), "pack crypto has no state yet") {
			t.Errorf("%s does not say why: %s", url, w.Body)
		}
	}
}

// TestAccessLog checks what the log of calls has, and that no secret is in it.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	const secret = "cv_test_ab12cd34SECRETSECRETSECRETSECRET"
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/fresh", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "6f1c")
		_, _ = w.Write([]byte("hello"))
	})
	mux.HandleFunc("/v1/subscribe", func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("flush: %v", err)
		}
		w.(http.Flusher).Flush()
	})
	var log bytes.Buffer
	m := metrics.New(nil)
	const silent = "cv_test_none5678SECRETSECRETSECRETSECRET"
	h := m.Calls(mux, slog.New(slog.NewJSONHandler(&log, nil)), nil, func(keyID string) bool { return keyID == silent[:16] })
	call := func(url string, header ...string) string {
		log.Reset()
		r := httptest.NewRequest(http.MethodGet, url, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
		return log.String()
	}
	line := call("/v1/fresh?pack=crypto", "Authorization", "Bearer "+secret, "X-402-Payment", "cHJvb2Y=", "Cookie", "contextd_session=abcdef")
	for _, want := range []string{`"operation":"fresh"`, `"status":200`, `"bytes":5`, `"key_id":"cv_test_ab12cd34"`, `"request_id":"6f1c"`, `"client":"192.0.2.1"`, `"path":"/v1/fresh"`} {
		if !strings.Contains(line, want) {
			t.Errorf("lacks %s: %s", want, line)
		}
	}
	lines := line + call("/v1/subscribe?token="+secret) + call("/nowhere?token="+secret, "Authorization", "Basic "+secret) + call("/v1/fresh", "Authorization", "Bearer x")
	for _, hidden := range []string{"SECRET", "cHJvb2Y", "abcdef", "token="} {
		if strings.Contains(lines, hidden) {
			t.Errorf("the log has %s: %s", hidden, lines)
		}
	}
	for _, name := range []string{api.HeaderPayment, api.HeaderPaymentAlias, api.HeaderSignature} {
		call("/v1/fresh", name, "cHJvb2Y=")
	}
	_, text := scrape(t, m.Handler())
	for _, want := range []string{
		`contextd_requests_total{authentication="key",operation="fresh",status="200"} 2`, `contextd_requests_total{authentication="proof",operation="fresh",status="200"} 3`,
		`contextd_requests_total{authentication="key",operation="subscribe",status="200"} 1`,
		`contextd_request_seconds_count{operation="fresh"} 5`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s", want)
		}
	}
	if !strings.Contains(text, `contextd_request_seconds_count{operation="subscribe"} 0`) {
		t.Error("the time of a stream is counted")
	}
	if none := call("/v1/fresh", "Authorization", "Bearer "+silent) + call("/v1/subscribe?token="+silent); none != "" {
		t.Errorf("a line of a key that consents to none: %s", none)
	}
}
