package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestHostilePacks: what a shell could take for a command is not completed, and shown it is clean.
func TestHostilePacks(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"packs":[{"id":"$(touch x)","title":"a\u001b[31m"},{"id":"ok","title":"two\nlines","kinds":["a b","good"],"members":[{"name":"`+"`x`"+`"},{"name":"rows"}]}]}`)
	}))
	defer srv.Close()
	env := map[string]string{"CTX_BASE_URL": srv.URL, "CTX_CONFIG_DIR": t.TempDir(), "CTX_API_KEY": goodKey}
	for args, want := range map[string]string{
		"fresh ": "follow\tFollow the states of a pack as they arrive\nok\ttwo lines\n:4\n", "fresh ok --members ": "rows\nflags\nsource_status\n:6\n", "changes ok --kinds ": "good\n:6\n",
	} {
		if code, stdout, _ := run(t.Context(), env, append([]string{"__complete"}, strings.Split(args, " ")...)...); code != 0 || stdout != want {
			t.Errorf("%s: exit %d\n%q, want\n%q", args, code, stdout, want)
		}
	}
	for _, args := range [][]string{{"packs", "-o", "text"}, {"packs", "-o", "tsv"}, {"packs", "view", "ok", "-o", "text"}} {
		if _, stdout, _ := run(t.Context(), env, args...); strings.ContainsAny(stdout, "\x1b") || stdout == "" {
			t.Errorf("%v: %q", args, stdout)
		}
	}
}

// TestSilentService: a service that does not answer holds completion up for a second, and not again within a minute.
func TestSilentService(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
	}))
	defer srv.Close()
	env := map[string]string{"CTX_BASE_URL": srv.URL, "CTX_CONFIG_DIR": t.TempDir(), "CTX_RETRIES": "5"}
	began := time.Now()
	for range 3 {
		if code, stdout, _ := run(t.Context(), env, "__complete", "fresh", ""); code != 0 || stdout != "follow\tFollow the states of a pack as they arrive\ncrypto\n:4\n" {
			t.Errorf("exit %d\n%s", code, stdout)
		}
	}
	if took := time.Since(began); took > 20*time.Second || asked.Load() > 1 { // on a busy machine the second may be over before it is asked
		t.Errorf("it took %s and asked %d times", took, asked.Load())
	}
}
