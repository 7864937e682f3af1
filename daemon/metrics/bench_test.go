package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/contextd/contextd/daemon/metrics"
)

// discard is an answer that nobody reads.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkCalls measures what counting adds to a call.
func BenchmarkCalls(b *testing.B) {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/fresh", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) })
	for name, h := range map[string]http.Handler{"bare": mux, "counted": metrics.New(nil).Calls(mux, nil, nil, nil)} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, "/v1/fresh", nil)
			w := &discard{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		})
	}
}
