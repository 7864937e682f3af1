package web_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// FuzzRequests sends any method, path, query, header and body to a server with a state and a key: it answers, never with a fault of
// its own, and with an envelope whatever it refuses.
func FuzzRequests(f *testing.F) {
	server, key := fuzzed(f)
	for _, seed := range [][5]string{
		{"GET", "/v1/fresh", "pack=crypto&query=x", "Bearer KEY", ""},
		{"GET", "/v1/search", "q=bitcoin&k=50", "bearer KEY", ""},
		{"GET", "/v1/snapshot", "at=2026-11-20T20:00Z", "Bearer KEY", ""},
		{"GET", "/v1/cite", "ref=1", "Bearer KEY", ""},
		{"POST", "/v1/cite", "", "Bearer KEY", `{"pack":"crypto","ref":1}`},
		{"HEAD", "/v1/brief", "pack=%zz;", "Basic KEY", "x"},
		{"HEAD", "/v1/subscribe", "token=KEY", "", ""},
		{"OPTIONS", "/v1/none", "a=b", "", ""},
		{"DELETE", "//v1/fresh/../cite", "ref=-1", "Bearer cv_test_", "{"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], []byte(seed[4]))
	}
	f.Fuzz(func(t *testing.T, method, path, query, authorization string, body []byte) {
		with := func(s string) string { return strings.ReplaceAll(s, "KEY", key) }
		req, err := http.NewRequestWithContext(t.Context(), method, "http://x/", bytes.NewReader(body))
		if err != nil || method == http.MethodGet && strings.HasPrefix(path, api.PathSubscribe) {
			return // no method, or a stream, which does not end
		}
		req.URL.Path, req.URL.RawQuery = "/"+strings.TrimLeft(path, "/"), with(query)
		req.Header["Authorization"] = []string{with(authorization)}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, req)
		switch {
		case w.Code >= http.StatusInternalServerError:
			t.Errorf("%s %s?%s answers %d %s", method, path, query, w.Code, w.Body)
		case w.Code >= http.StatusBadRequest:
			// A recorder keeps what net/http would take off an answer to HEAD.
			refusal(t, answer{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}, http.MethodGet)
		}
	})
}

// fuzzed is a server with a state, a brief and a key that costs nothing.
func fuzzed(f *testing.F) (http.Handler, string) {
	f.Helper()
	now := func() time.Time { return time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC) }
	s, err := store.Open(f.Context(), f.TempDir(), now())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	past, err := history.Open(f.Context(), f.TempDir(), now())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = past.Close() })
	keys, err := account.OpenKeys(f.Context(), account.Config{Store: s, Now: now})
	if err != nil {
		f.Fatal(err)
	}
	issued, err := keys.Issue(f.Context(), account.NewKey{OwnerID: account.OperatorID, Name: "fuzz", Tier: api.TierTeam})
	if err != nil {
		f.Fatal(err)
	}
	fd := feed.New(api.PackCrypto)
	pulse := state.Pulse{Pack: api.PackCrypto, GeneratedAt: now(), State: []byte(`{"a":[{"id":"bitcoin","v":1.5,"b":true,"n":null}]}`),
		Citations: []api.Citation{{Ref: 1, SourceID: "one", URL: "https://one.test/", FetchedAt: now()}}}
	if err := fd.Publish(pulse, state.Narration{}, nil); err != nil {
		f.Fatal(err)
	}
	if err := fd.PublishBrief(api.PackCrypto, state.Narration{Brief: state.Brief{Text: "Quiet [1].", At: now()}}); err != nil {
		f.Fatal(err)
	}
	var log testbed.Log
	return web.New(web.Config{
		Reader:  reader.New(reader.Config{Packs: []reader.Pack{{ID: api.PackCrypto}}, Feed: fd, History: past, Now: now}),
		Gate:    gate.New(gate.Config{Keys: keys, Meter: unmetered{}}),
		Streams: fd, Now: now, Logger: log.Logger(),
	}), issued.Key
}
