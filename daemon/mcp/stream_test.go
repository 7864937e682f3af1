package mcp_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/sdk/api"
)

// commented tells when the first comment goes through it.
type commented struct {
	http.ResponseWriter
	comment chan struct{}
	once    sync.Once
}

func (c *commented) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *commented) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(": keepalive")) {
		c.once.Do(func() { close(c.comment) })
	}
	return c.ResponseWriter.Write(p)
}

// serve has handle write through a Writer and returns what a client gets. The comment that handle is given comes with the first keepalive.
func serve(t *testing.T, cfg mcp.StreamConfig, handle func(w *mcp.StreamWriter, comment <-chan struct{})) (status int, header http.Header, body string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cfg.Stall = time.Minute
		c := &commented{ResponseWriter: w, comment: make(chan struct{})}
		s := mcp.NewStreamWriter(c, cfg)
		handle(s, c.comment)
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
	for name, c := range map[string]struct {
		cfg    mcp.StreamConfig
		handle func(w *mcp.StreamWriter, comment <-chan struct{})
		status int
		kind   string
		has    string
		hasNot string
	}{
		"JSON": {mcp.StreamConfig{Every: quick}, func(w *mcp.StreamWriter, comment <-chan struct{}) {
			w.Header().Set("Content-Type", "application/json")
			time.Sleep(50 * time.Millisecond)
			_, _ = w.Write([]byte(`{}`))
		}, 200, "application/json", "{}", "keepalive"},
		"failure": {mcp.StreamConfig{Every: quick}, func(w *mcp.StreamWriter, _ <-chan struct{}) { http.Error(w, "why", http.StatusConflict) }, 409, "text/plain; charset=utf-8", "instead of why", "keepalive"},
		"held": {mcp.StreamConfig{Every: quick, Hold: true}, func(w *mcp.StreamWriter, comment <-chan struct{}) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(404)
			_, _ = w.Write([]byte(`{}`))
			_ = w.FlushError()
		}, 404, "application/json", "{}", "after"},
		"silent stream": {mcp.StreamConfig{Every: quick}, func(w *mcp.StreamWriter, comment <-chan struct{}) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("event: message\ndata: 1\n\n"))
			<-comment
		}, 200, "text/event-stream", "data: 1\n\n: keepalive\n\n", "after"},
		"slow call": {mcp.StreamConfig{Every: quick, Slow: true}, func(w *mcp.StreamWriter, comment <-chan struct{}) {
			w.Header().Set("Content-Type", "text/event-stream")
			<-comment
			_, _ = w.Write([]byte("event: message\ndata: 1\n\n"))
		}, 200, "text/event-stream", ": keepalive\n\nevent: message\ndata: 1\n\n", "after"},
		"slow call that fails": {mcp.StreamConfig{Every: quick, Slow: true}, func(w *mcp.StreamWriter, comment <-chan struct{}) {
			<-comment
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			_, _ = w.Write([]byte(`{"error":1}`))
		}, 200, "text/event-stream", "event: message\ndata: {\"error\":1}\n\n", "after"},
		"quick failure of a slow call": {mcp.StreamConfig{Every: time.Hour, Slow: true}, func(w *mcp.StreamWriter, comment <-chan struct{}) {
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

// stuck is a reader who takes nothing: writes wait until their deadline has passed.
type stuck struct {
	header http.Header
	late   chan struct{}
}

func (s *stuck) Header() http.Header { return s.header }
func (s *stuck) WriteHeader(int)     {}
func (s *stuck) Write([]byte) (int, error) {
	<-s.late
	return 0, os.ErrDeadlineExceeded
}

func (s *stuck) SetWriteDeadline(at time.Time) error {
	if !at.IsZero() && at.Before(time.Now()) {
		close(s.late)
	}
	return nil
}

// TestStuckReader is given up after as long as a reader has, and not before.
func TestStuckReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := &stuck{header: http.Header{}, late: make(chan struct{})}
		s := mcp.NewStreamWriter(reader, mcp.StreamConfig{Every: time.Hour, Stall: time.Minute, Now: time.Now})
		s.Header().Set("Content-Type", "text/event-stream")
		written := make(chan error, 1)
		go func() {
			_, err := s.Write([]byte("event: message\ndata: 1\n\n"))
			written <- err
		}()
		time.Sleep(time.Minute - time.Second)
		synctest.Wait()
		select {
		case err := <-written:
			t.Errorf("given up too soon: %v", err)
		default:
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		select {
		case err := <-written:
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the write ends with %v", err)
			}
		default:
			t.Error("a reader who takes nothing is waited for")
			close(reader.late)
		}
		s.End()
	})
}

// timed is an answer that remembers when it has to be written by.
type timed struct {
	*httptest.ResponseRecorder
	by time.Time
}

func (w *timed) SetWriteDeadline(at time.Time) error {
	w.by = at
	return nil
}

// TestEndIsBounded: what the server still holds of an answer that was begun has as long as a reader has; one that was not begun keeps the
// server's own bound.
func TestEndIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, begun := range []bool{true, false} {
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		s := mcp.NewStreamWriter(w, mcp.StreamConfig{Every: time.Hour, Stall: time.Minute, Now: func() time.Time { return now }})
		if begun {
			s.Header().Set("Content-Type", "text/event-stream")
			if _, err := s.Write([]byte("event: message\ndata: 1\n\n")); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(10 * time.Second)
		s.End()
		want := time.Time{}
		if begun {
			want = now.Add(time.Minute)
		}
		if !w.by.Equal(want) {
			t.Errorf("begun %v: to be written by %v, want %v", begun, w.by, want)
		}
	}
}

// watched is a feed that remembers who watches it.
type watched struct {
	*feed.Feed

	mu  sync.Mutex // guards all
	all []weak.Pointer[feed.Watcher]
}

func (w *watched) Watch(pack string) *feed.Watcher {
	watcher := w.Feed.Watch(pack)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, weak.Make(watcher))
	return watcher
}

// watchers are those there were.
func (w *watched) watchers() []weak.Pointer[feed.Watcher] {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all
}

// TestUnchargedWatcherIsClosed: a subscription that cannot be charged leaves nobody who watches.
func TestUnchargedWatcherIsClosed(t *testing.T) {
	t.Parallel()
	var streams *watched
	s := newStudio(t, func(c *mcp.Config) { streams = &watched{Feed: c.Streams.(*feed.Feed)}; c.Streams = streams })
	soon(t, "the transport's own watcher", func() bool { return len(streams.watchers()) == 1 })
	key := s.key(0)
	for range api.FreeCallsPerDay {
		if r := s.call(key, "context.cite", `{"ref":1}`); r.Result.IsError {
			t.Fatalf("a free call: %+v", r)
		}
	}
	r := s.call(key, "context.subscribe", `{"seconds":1}`)
	if !r.Result.IsError || !strings.Contains(r.Result.Content[0].Text, "QUOTA_EXHAUSTED") || len(streams.watchers()) != 2 {
		t.Fatalf("%d watch; subscribe: %+v", len(streams.watchers()), r)
	}
	soon(t, "the end of the watcher", func() bool { runtime.GC(); return streams.watchers()[1].Value() == nil })
}

// removing removes a pack as soon as somebody watches it beside what notifies sessions, which is the first.
type removing struct {
	*feed.Feed
	first atomic.Bool
	ready chan struct{}
}

func (r *removing) Watch(pack string) *feed.Watcher {
	w := r.Feed.Watch(pack)
	if r.first.Swap(true) {
		r.Remove(pack, "pack "+pack+" is not served any more")
	} else {
		close(r.ready)
	}
	return w
}

// TestPackGoesAsSomebodyWatches: who watches a pack that is removed at that moment learns why the watching ends.
func TestPackGoesAsSomebodyWatches(t *testing.T) {
	t.Parallel()
	streams := &removing{ready: make(chan struct{})}
	s := newStudio(t, func(c *mcp.Config) { streams.Feed = c.Streams.(*feed.Feed); c.Streams = streams })
	key := s.key(1)
	<-streams.ready
	r := s.call(key, "context.subscribe", `{"seconds":5}`)
	if text := r.Result.Content[0].Text; !strings.Contains(text, "removed") || !strings.Contains(text, "is not served any more") {
		t.Errorf("the tool answers %q", text)
	}
}
