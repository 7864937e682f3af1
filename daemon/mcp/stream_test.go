package mcp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/mcp"
)

// serve has handle write through a Writer and returns what a client gets.
func serve(t *testing.T, cfg mcp.StreamConfig, handle func(w *mcp.StreamWriter)) (status int, header http.Header, body string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cfg.Stall = time.Minute
		s := mcp.NewStreamWriter(w, cfg)
		handle(s)
		if code, text, ok := s.Failure(); ok {
			http.Error(w, "instead of "+text, code)
		}
		s.Release()
		s.End()
		_, _ = s.Write([]byte("after the end"))
	}))
	defer server.Close()
	res, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(text)
}

// TestWriter passes answers on, takes failures back and keeps silent streams alive.
func TestWriter(t *testing.T) {
	t.Parallel()
	const quick = time.Millisecond
	pause := func() { time.Sleep(50 * time.Millisecond) } // a comment more or less does not matter
	for name, c := range map[string]struct {
		cfg    mcp.StreamConfig
		handle func(w *mcp.StreamWriter)
		status int
		kind   string
		has    string
		hasNot string
	}{
		"JSON": {mcp.StreamConfig{Every: quick}, func(w *mcp.StreamWriter) {
			w.Header().Set("Content-Type", "application/json")
			pause()
			_, _ = w.Write([]byte(`{}`))
		}, 200, "application/json", "{}", "keepalive"},
		"failure": {mcp.StreamConfig{Every: quick}, func(w *mcp.StreamWriter) { http.Error(w, "why", http.StatusConflict) }, 409, "text/plain; charset=utf-8", "instead of why", "keepalive"},
		"held": {mcp.StreamConfig{Every: quick, Hold: true}, func(w *mcp.StreamWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(404)
			_, _ = w.Write([]byte(`{}`))
			_ = w.FlushError()
		}, 404, "application/json", "{}", "after"},
		"silent stream": {mcp.StreamConfig{Every: quick}, func(w *mcp.StreamWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("event: message\ndata: 1\n\n"))
			pause()
		}, 200, "text/event-stream", "data: 1\n\n: keepalive\n\n", "after"},
		"slow call": {mcp.StreamConfig{Every: quick, Slow: true}, func(w *mcp.StreamWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			pause()
			_, _ = w.Write([]byte("event: message\ndata: 1\n\n"))
		}, 200, "text/event-stream", ": keepalive\n\nevent: message\ndata: 1\n\n", "after"},
		"slow call that fails": {mcp.StreamConfig{Every: quick, Slow: true}, func(w *mcp.StreamWriter) {
			pause()
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			_, _ = w.Write([]byte(`{"error":1}`))
		}, 200, "text/event-stream", "event: message\ndata: {\"error\":1}\n\n", "after"},
		"quick failure of a slow call": {mcp.StreamConfig{Every: time.Hour, Slow: true}, func(w *mcp.StreamWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			_, _ = w.Write([]byte(`{"error":1}`))
		}, 400, "application/json", `{"error":1}`, "event:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, header, body := serve(t, c.cfg, c.handle)
			if status != c.status || header.Get("Content-Type") != c.kind || !strings.Contains(body, c.has) || strings.Contains(body, c.hasNot) {
				t.Errorf("%d %v %q", status, header, body)
			}
		})
	}
}
