package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/internal/cli"
)

// awaited is a stream that says when a text was written to it.
type awaited struct {
	mu   sync.Mutex // guards seen and told
	seen strings.Builder
	want string
	told bool
	came chan struct{}
}

func (a *awaited) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen.Write(b)
	if strings.Contains(a.seen.String(), a.want) {
		if !a.told {
			close(a.came)
		}
		a.told = true
	}
	return len(b), nil
}

// TestWaiting: while a service does not answer, people at a terminal are told so. It fails once that
// was seen, and then answers.
func TestWaiting(t *testing.T) {
	t.Parallel()
	screen := &awaited{want: "waiting for 127.0.0.1:", came: make(chan struct{})}
	failed := false
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !failed {
			select {
			case <-screen.came:
			case <-r.Context().Done():
			}
			failed = true
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"error":{"code":"UPSTREAM_ERROR","reason":"state_unavailable","message":"there is no state yet"}}`)
			return
		}
		fmt.Fprintf(w, `{"brief":"BTC fell [1].","briefAt":"2026-11-20T18:00:00.000Z","citations":%s,"freshness":%s}`, citations(), fresh(42))
	}))
	defer service.Close()
	env := map[string]string{"CTX_BASE_URL": service.URL, "CTX_API_KEY": goodKey, "CTX_CONFIG_DIR": t.TempDir(), "LANG": "C.UTF-8"}
	system := cli.System{In: strings.NewReader(""), Out: io.Discard, Err: screen, ErrTTY: true, Now: time.Now,
		LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok }}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if code := client.Main(ctx, []string{"brief"}, system); code != 0 {
		t.Fatalf("exit %d:\n%s", code, screen.seen.String())
	}
	if seen := screen.seen.String(); !strings.Contains(seen, "attempt 2 in a moment: state_unavailable: there is no state yet") ||
		!strings.HasSuffix(seen, "\r\x1b[K") {
		t.Errorf("%q", seen)
	}
}
