package metrics

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/pprof"

	"github.com/contextd/contextd/daemon/web"
)

// Detail is what /readyz of the admin address says.
type Detail struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"` // why not
}

// Admin answers on the admin address: a page to read, metrics, profiles, and why the daemon is not ready. It knows no secret, and answers
// only who names it as an address or as this machine, so that a page in a browser cannot read it.
func (m *Metrics) Admin(ready func(ctx context.Context) error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		reason := ""
		if err := ready(r.Context()); err != nil {
			reason = err.Error()
		}
		m.writeJobs(r.Context(), w, reason)
	})
	mux.Handle("GET /metrics", m.Handler())
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not shown", http.StatusForbidden)
	})
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := ready(r.Context()); err != nil {
			answer(w, http.StatusServiceUnavailable, Detail{Reason: err.Error()})
			return
		}
		answer(w, http.StatusOK, Detail{Ready: true})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "" && !web.LocalHost(r.Host) {
			http.Error(w, "ask for it by its address, or as localhost", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has left is no error of ours
}
