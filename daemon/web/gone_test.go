package web_test

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// TestDatabaseGone: without its database a daemon answers nothing that it would have to charge, says so at once, and goes on by itself.
func TestDatabaseGone(t *testing.T) {
	t.Parallel()
	w, place := testbed.WireTo(t, testbed.Postgres(t))
	var log testbed.Log
	d := daemontest.Start(t, func(cfg *daemon.Config) {
		cfg.StoreURL, cfg.Limits.Requests, cfg.Logger = place, 100_000, log.Logger()
	})
	u := newUser(t, d)
	u.signIn("ada@example.com")
	key := d.Key(t, api.TierPro)
	const granted = 1000
	d.Grant(t, key, granted)
	u.header["Authorization"], u.header["Accept"] = "Bearer "+key, "application/json, text/event-stream"
	ask := func(path string) (answer, time.Duration) {
		method, body := http.MethodGet, any(nil)
		switch path {
		case api.PathMCP:
			method, body = http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context.fresh","arguments":{}}}`
		case api.PathAuthEmail:
			method, body = http.MethodPost, api.EmailSignInRequest{Email: "bob@example.com"}
		}
		began := time.Now()
		got := u.call(method, path, body)
		return got, time.Since(began)
	}
	var answered int64 // calls, of which each costs a credit
	answers := func(path string) bool {
		got, _ := ask(path)
		if got.Status == http.StatusOK && path == api.PathFresh {
			answered++
		}
		return got.Status == http.StatusOK
	}
	if !answers(api.PathFresh) || !answers(api.PathCredits) || !answers(api.PathReady) {
		t.Fatal("it does not answer at first")
	}
	paths := []string{
		api.PathFresh, api.PathCite + "?ref=1", api.PathLookup + "?q=cardano+price", api.PathSeries + "?path=top_movers", api.PathMCP,
		api.PathAuthSession, api.PathKeys, api.PathCredits, api.PathUsage, api.PathOwnWatches, api.PathAuthEmail,
	}
	const patience = 5 * time.Second // half of what it waits for what others hold
	for i, mode := range []string{"refuses", "silent"} {
		if mode == "silent" {
			w.Silence()
		} else {
			w.Refuse()
		}
		for _, when := range []string{"at first", "then", "once keys are not believed"} {
			var all sync.WaitGroup
			took := make([]time.Duration, 4*len(paths))
			for i, path := range slices.Repeat(paths, 4) {
				all.Go(func() {
					var got answer
					got, took[i] = ask(path)
					gone(t, mode+" "+path, got)
				})
			}
			all.Wait()
			longest := slices.Max(took)
			t.Logf("%s, %s: the longest answer took %s", mode, when, longest)
			if longest > patience {
				t.Errorf("%s, %s: an answer took %s", mode, when, longest)
			}
			for began := time.Now(); when == "then" && time.Since(began) < time.Minute; time.Sleep(100 * time.Millisecond) {
				if got, _ := ask(api.PathFresh); strings.Contains(string(got.Body), "keys cannot be checked") {
					break
				}
			}
		}
		if got, _ := ask(api.PathReady); got.Status != http.StatusServiceUnavailable {
			t.Errorf("%s: ready is answered with %d", mode, got.Status)
		}
		w.Mend()
		mended := time.Now()
		for !answers(api.PathFresh) || !answers(api.PathCredits) || !answers(api.PathReady) {
			if time.Since(mended) > time.Minute {
				t.Fatalf("%s: it does not heal", mode)
			}
			d.Clock.Advance(5 * time.Second)
			time.Sleep(20 * time.Millisecond)
		}
		t.Logf("%s: it answers %s after that has ended", mode, time.Since(mended))
		for log.Count("database answers again") <= i {
			if time.Since(mended) > time.Minute {
				t.Fatalf("%s: it does not log that the database is back: %s", mode, log.String())
			}
			time.Sleep(20 * time.Millisecond)
		}
		if began, ended := log.Count("level=ERROR", "database does not answer"), log.Count("database answers again"); began != ended ||
			log.Count("call failed") > 0 {
			t.Errorf("%s: an outage is logged so: %s", mode, log.String())
		}
		books, err := d.Credits().Balance(t.Context(), account.OperatorID, key[:api.KeyIDLength])
		if err != nil || granted-books.Balance != answered {
			t.Errorf("%s: %d credits of %d are left after %d calls, %v", mode, books.Balance, granted, answered, err)
		}
	}
}

// gone checks that an answer says that the database is gone.
func gone(t *testing.T, what string, got answer) {
	t.Helper()
	var body api.ErrorBody
	if strings.HasSuffix(what, api.PathMCP) && got.Status == http.StatusOK {
		if !strings.Contains(string(got.Body), "state_unavailable") {
			t.Errorf("%s: %s", what, got.Body)
		}
		return
	}
	if err := json.Unmarshal(got.Body, &body); err != nil || got.Status != http.StatusServiceUnavailable || body.Error == nil ||
		body.Error.Reason != api.ReasonStateUnavailable || got.Header.Get(api.HeaderRetryAfter) == "" || body.Error.Hint == "" {
		t.Errorf("%s: %d, Retry-After %q: %s", what, got.Status, got.Header.Get(api.HeaderRetryAfter), got.Body)
	}
}

// outage calls everything while the database is gone, where there can be such a one: on PostgreSQL.
func (s *stage) outage() bool {
	if os.Getenv(testbed.OnPostgres) == "" {
		return false
	}
	w, place := testbed.WireTo(s.t, testbed.Postgres(s.t))
	d := daemontest.Start(s.t, daemontest.WithPages, daemontest.On(s.chain), func(cfg *daemon.Config) {
		cfg.StoreURL, cfg.Limits.Requests, cfg.Now = place, 100_000, time.Now
	})
	me, key := session(s.enter(d)), openapiBearer(d.Key(s.t, api.TierPro))
	w.Refuse()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if a := s.at(d, 503, "GET", api.PathFresh, "", key); strings.Contains(string(a.Body), "keys cannot be checked") {
			break
		} else if time.Since(began) > time.Minute {
			s.t.Fatalf("keys are believed without a database: %s", a.Body)
		}
	}
	for name, query := range s.paid() {
		method, path, _ := strings.Cut(name, " ")
		s.at(d, 503, method, path+query, "", key)
	}
	s.at(d, 503, "GET", s.history(""), "", key)
	for _, call := range watchCalls("w_1") {
		s.at(d, 503, call[0], call[1], call[2], key)
	}
	s.at(d, 503, "GET", eventsOf(api.PackCrypto), "", elsewhere, me)
	for _, path := range logged() {
		s.at(d, 503, "GET", path, "")
	}
	if s.speaksMCP() {
		mine := func(r *http.Request) {
			key(r)
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("Mcp-Session-Id", "x")
		}
		s.at(d, 503, "POST", api.PathMCP, callFresh, mine)
		s.at(d, 503, "GET", api.PathMCP, "", mine)
		s.at(d, 503, "DELETE", api.PathMCP, "", mine)
	}
	for _, call := range s.console() {
		if path := call[1]; !strings.Contains(path, api.PathCredits+"/") || call[0] == "GET" { // of a purchase that is not known
			s.at(d, 503, call[0], path, signInBody(path), me)
		}
	}
	w.Mend()
	for began := time.Now(); d.Ready(s.t.Context()) != nil && time.Since(began) < time.Minute; { // else it complains when it stops
		time.Sleep(20 * time.Millisecond)
	}
	return true
}
