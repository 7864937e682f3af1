package metrics_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/metrics"
)

// TestBoard: the page of the admin address says how the daemon and its jobs do, changes nothing, and is for this machine alone.
func TestBoard(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	m := metrics.New(func() time.Time { return now })
	m.Read(t.Context(), metrics.Readings{
		Ages: func() map[string]time.Duration { return map[string]time.Duration{"crypto": 42 * time.Second} },
		Cluster: func(context.Context) (metrics.Cluster, error) {
			return metrics.Cluster{Summary: "2 nodes; <b> leads", Beat: 400 * time.Millisecond, Members: []metrics.Member{
				{URL: "http://10.0.0.1:8402", Role: "leads", Behind: "no", Seen: time.Second},
				{URL: "http://10.0.0.2:8402", Role: "follows", Behind: "crypto 1.5s", Seen: 2 * time.Second, Self: true},
			}}, nil
		},
		Jobs: func() map[string]metrics.Job {
			return map[string]metrics.Job{"prune": {}, "refresh/<crypto>": {Succeeded: now.Add(-time.Minute), Failures: 7}}
		},
	})
	h := m.Admin(func(context.Context) error { return errors.New("the disk is full") })
	ask := func(method, host string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(method, "/", nil)
		r.Host = host
		h.ServeHTTP(w, r)
		return w
	}
	got := ask(http.MethodGet, "127.0.0.1:8403")
	for _, want := range []string{"Not ready:", "the disk is full", "crypto", "42s", "refresh/&lt;crypto&gt;", "1m00s ago", `<td class="bad">7</td>`, "never",
		"2 nodes; &lt;b&gt; leads; lease renewed 400ms ago", "10.0.0.1:8402</th><td>leads</td><td>1s ago", "(this one)</th><td>follows", "crypto 1.5s"} {
		if !strings.Contains(got.Body.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if policy := got.Header().Get("Content-Security-Policy"); got.Code != http.StatusOK || !strings.Contains(policy, "frame-ancestors 'none'") ||
		strings.Contains(policy, "unsafe") || strings.Contains(got.Body.String(), "<form") {
		t.Errorf("%d with the policy %q", got.Code, policy)
	}
	if got := ask(http.MethodPost, "127.0.0.1:8403"); got.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", got.Code)
	}
	if got := ask(http.MethodGet, "evil.example"); got.Code != http.StatusForbidden {
		t.Errorf("under another's name: %d", got.Code)
	}
}
