package web_test

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// constant is a History in which the state has always been the same, but for its time.
type constant struct{ noHistory }

// Past yields it.
func (constant) Past(_ context.Context, _ string, times iter.Seq[time.Time]) iter.Seq2[state.Pulse, error] {
	return func(yield func(state.Pulse, error) bool) {
		for at := range times {
			if !yield(state.Pulse{GeneratedAt: at, State: []byte(`{"coin":"x"}`)}, nil) {
				return
			}
		}
	}
}

// theater is a server of one state, for callers who may read a day back.
func theater(t *testing.T, g gate.Admission, streams web.Streams, now time.Time) *web.Server {
	t.Helper()
	f := feed.New(api.PackCrypto)
	if err := f.Publish(state.Pulse{Pack: api.PackCrypto, GeneratedAt: now, State: []byte(`{"coin":"x"}`)}, state.Narration{}, nil); err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return now }
	read := reader.New(reader.Config{Packs: []reader.Pack{{ID: api.PackCrypto}}, Feed: f, History: constant{}, Now: clock})
	return web.New(web.Config{Reader: read, Gate: g.(web.Gate), Streams: streams, Now: clock})
}

// ofADay admits callers who may read a day back.
func ofADay(gate.Credentials) (gate.Caller, error) {
	return gate.Caller{Snapshot: 24 * time.Hour}, nil
}

// TestExportEndsWithItsKey: an export breaks off when its key ends, so that nobody takes it for the whole.
func TestExportEndsWithItsKey(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	for ended, want := range map[bool]int{false: 13, true: 0} { // lines
		g := endable{script{admit: ofADay}, make(chan struct{})}
		if ended {
			close(g.end)
		}
		s := theater(t, g, nil, now)
		r := httptest.NewRequest(http.MethodGet, api.PathHistory+"?member=coin&every=5m&from=2026-11-20T19:00:00Z", nil)
		r.Header.Set("Authorization", "Bearer x")
		w := httptest.NewRecorder()
		aborted := func() (aborted bool) {
			defer func() { aborted = recover() == http.ErrAbortHandler }()
			s.ServeHTTP(w, r)
			return false
		}()
		if got := strings.Count(w.Body.String(), "\n"); got != want || aborted != ended || w.Code != http.StatusOK {
			t.Errorf("the key has ended: %t; it is answered %d with %d lines, want %d, and broken off: %t\n%s", ended, w.Code, got, want,
				aborted, w.Body)
		}
	}
}

// unwatched are streams of packs that were removed.
type unwatched struct{}

// Watch finds none.
func (unwatched) Watch(string) *feed.Watcher { return nil }

// TestPlacesOfRemovedPacks: who asks for a stream of a pack that was removed meanwhile takes no place, however often.
func TestPlacesOfRemovedPacks(t *testing.T) {
	t.Parallel()
	s := theater(t, script{admit: ofADay}, unwatched{}, time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC))
	for range api.StreamsPerFreeKey + 1 {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, api.PathSubscribe+"?token=cv_test_x", nil))
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), string(api.ReasonPackNotFound)) {
			t.Fatalf("it is answered %d %s", w.Code, w.Body)
		}
	}
}
