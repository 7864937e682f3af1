package daemons_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/sdk/api"
)

// processor is what this process has used of processors.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestCostOfStrangers tells what requests without a key cost, client and server together and less what the cheapest one does, each from a
// network of its own, and has one network ask on until it is refused: others go on, and so does a reader with a key.
func TestCostOfStrangers(t *testing.T) {
	began := time.Now()
	var passed atomic.Int64 // since then; the clock stands but for that
	now := func() time.Time { return began.Add(time.Duration(passed.Load())) }
	s := newSiege(t, false, func(c *daemon.Config) { c.Now = now })
	at := now().UTC().Format("2006-01-02T15:04")
	requests := []struct{ name, method, path, body string }{
		{"health", "GET", "/healthz", ""},
		{"an unpaid fresh", "GET", "/v1/fresh", ""},
		{"an unpaid cite", "GET", "/v1/cite?ref=1", ""},
		{"an unpaid cite of the past", "GET", "/v1/cite?ref=1&at=" + at, ""},
		{"an unpaid lookup", "GET", "/v1/lookup?q=btc+price", ""},
		{"an unpaid lookup of 20", "GET", "/v1/lookup?q=" + strings.Repeat("btc+price,", 19) + "x", ""},
		{"an unpaid query", "GET", "/v1/query?table=asset&where=symbol+%3D+BTC", ""},
		{"an unpaid query of the past", "GET", "/v1/query?table=asset&where=symbol+%3D+BTC&at=" + at, ""},
		{"an unpaid series", "GET", "/v1/series?path=asset/bitcoin", ""},
		{"a leaf", "GET", "/log/crypto/leaf/0", ""},
		{"a checkpoint", "GET", "/log/crypto/checkpoint", ""},
		{"the description", "GET", api.PathOpenAPI, ""},
		{"the docs", "GET", api.PathDocs, ""},
		{"an MCP message", "POST", api.PathMCP, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`},
		{"an MCP message of 240 KB", "POST", api.PathMCP,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","a":[` + strings.Repeat("[],", 80_000) + `0]}}`},
	}
	ask := func(i int, from string) (status, size int) {
		r := requests[i]
		req, err := http.NewRequestWithContext(t.Context(), r.method, s.d.URL()+r.path, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", from)
		req.Header.Set("Accept-Encoding", "gzip")
		res, err := s.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		n, err := io.Copy(io.Discard, res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, int(n)
	}
	const each = 40
	var least time.Duration
	for i, r := range requests {
		ask(i, s.network())
		before, status, size := processor(), 0, 0
		for range each {
			passed.Add(int64(time.Second)) // what all may cost is there again
			status, size = ask(i, s.network())
		}
		took := (processor() - before) / each
		if i == 0 {
			least = took
		}
		t.Logf("%-28s %4d %8d bytes %8s", r.name, status, size, (took - least).Round(10*time.Microsecond))
	}
	reader := caller(t, s.d, s.key())
	for i, r := range requests {
		passed.Add(int64(time.Minute))
		from, status := s.network(), 0
		calls := 0
		for ; calls < 700 && status != http.StatusTooManyRequests; calls++ {
			status, _ = ask(i, from)
		}
		other, _ := ask(i, s.network())
		_, err := reader.Cite(t.Context(), "", 1)
		t.Logf("%-28s %d calls at once of one network, the last is answered %d; another's is answered %d, a key's with %v", r.name, calls,
			status, other, err)
		if other == http.StatusTooManyRequests || err != nil {
			t.Errorf("%s: another network is answered %d, a key with %v", r.name, other, err)
		}
	}
}
