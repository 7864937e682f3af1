package web_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// TestCrowd is both sides of what a network and what all together may cost without a key, and of when they may again.
func TestCrowd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	crowd := web.NewCrowd(nil, func(r *http.Request) bool { return web.Bearer(r) == "good" }, func() time.Time { return now })
	from := func(address, key string) *http.Request {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = address
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		return r
	}
	const mine, neighbor, other = "[2001:db8:1:1::1]:5", "[2001:db8:1:2::1]:5", "[2001:db8:2::1]:5" // of one /48, and of another
	for _, c := range []struct {
		what, from, key string
		wait            time.Duration
		n               int
		whose           string // "" means that they may
	}{
		{"as much as a network may", mine, "", 0, 300, ""},
		{"more", mine, "", 0, 1, "your network"},
		{"more of a neighbor", neighbor, "", 0, 1, "your network"},
		{"more with a key that is not good", mine, "bad", 0, 1, "your network"},
		{"more with a key", mine, "good", 0, 300, ""},
		{"before there is a unit again", neighbor, "", 9_999 * time.Microsecond, 1, "your network"},
		{"when there is", neighbor, "", time.Microsecond, 1, ""},
		{"and no more", mine, "", 0, 1, "your network"},
		{"another network", other, "", 0, 300, ""},
		{"a third, of IPv4", "192.0.2.1:5", "", 0, 300, ""},
		{"a fourth, with what is left of all", "192.0.2.2:5", "", 0, 303, "your network"},
		{"the same", "192.0.2.2:5", "", 0, 300, ""},
		{"a fifth, which costs it nothing", "192.0.2.3:5", "", 0, 300, "all callers"},
		{"a fifth, for what is left", "192.0.2.3:5", "", 0, 3, ""},
		{"a fifth with a key", "192.0.2.3:5", "good", 0, 300, ""},
		{"a second later", "192.0.2.3:5", "", time.Second, 297, ""},
	} {
		now = now.Add(c.wait)
		err := crowd.Take(from(c.from, c.key), c.n)
		if (err == nil) != (c.whose == "") || err != nil && !strings.Contains(err.Error(), c.whose) {
			t.Errorf("%s: %v, want %q", c.what, err, c.whose)
		}
		if err != nil && (api.AsError(err).Reason != api.ReasonRateLimited || api.AsError(err).RetryAfter <= 0) {
			t.Errorf("%s: %+v", c.what, api.AsError(err))
		}
	}
	now = now.Add(time.Minute)
	crowd.Give(from(mine, ""), -1_000) // a debt ends when a whole burst is there again
	now = now.Add(3*time.Second - time.Nanosecond)
	if crowd.Take(from(mine, ""), 300) == nil {
		t.Error("a debt was forgotten")
	}
	if now = now.Add(time.Nanosecond); crowd.Take(from(mine, ""), 300) != nil {
		t.Error("a debt is more than a burst")
	}
	if crowd.Give(from(mine, ""), 300); crowd.Take(from(mine, ""), 300) != nil {
		t.Error("what was given back is not there")
	}
	for n := range 3 {
		if err := crowd.Take(from(fmt.Sprintf("192.0.2.%d:5", 10+n), ""), 300); err != nil {
			t.Fatal(err)
		}
	}
	if crowd.Take(from(other, ""), 1) == nil {
		t.Error("all together have more than there is")
	}
	if crowd.Give(from(mine, ""), 1); crowd.Take(from(other, ""), 1) != nil {
		t.Error("what one gave back is not there for another")
	}
}

// TestCost is both sides of what a body costs, and what an operation does.
func TestCost(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]int{-1: 16, 0: 0, 4095: 0, 4096: 1, 64 << 10: 16} {
		if got := web.CostOfBody(bytes); got != want {
			t.Errorf("a body of %d costs %d, want %d", bytes, got, want)
		}
	}
	past := api.Moment{At: time.Unix(1, 0)}
	for _, c := range []struct {
		query api.Query
		want  int
	}{
		{api.Query{Op: api.OpFresh}, 0}, {api.Query{Op: api.OpCite}, 0}, {api.Query{Op: api.OpCite, At: past}, 4},
		{api.Query{Op: api.OpLookup, Text: "btc"}, 2}, {api.Query{Op: api.OpLookup, Text: "btc,eth,sol"}, 6},
		{api.Query{Op: api.OpSeries}, 4},
		{api.Query{Op: api.OpQuery}, 2}, {api.Query{Op: api.OpQuery, At: past}, 6}, {api.Query{Op: api.OpQuery, Over: time.Hour}, 6},
	} {
		if got := web.CostOf(c.query); got != c.want {
			t.Errorf("%+v costs %d, want %d", c.query, got, c.want)
		}
	}
}

// TestCrowdOfADaemon has strangers of one network ask for what costs much: they are refused, others and who has a key are not, and what is
// cheap goes on.
func TestCrowdOfADaemon(t *testing.T) {
	t.Parallel()
	began := time.Now()
	var passed atomic.Int64 // since then; the clock stands, so that nothing comes back
	d := daemontest.Start(t, daemontest.On(daemontest.Chain(t)), behindProxy, func(c *daemon.Config) {
		c.Now = func() time.Time { return began.Add(time.Duration(passed.Load())) }
	})
	key := d.Key(t, api.TierFree)
	u := newUser(t, d)
	u.signIn("ada@example.org")
	session := api.SessionCookie + "=" + u.secret
	of := func(network string) change { return with("X-Forwarded-For", network) }
	behind := 0 // calls that may come before the one before them is weighed
	until := func(what string, calls int, call func() answer) {
		t.Helper()
		passed.Add(int64(time.Minute)) // after which all is there again
		for n := range calls + 1 + behind {
			a := call()
			refused := a.Status == http.StatusTooManyRequests
			if refused && n >= calls {
				return
			}
			if refused || n == calls+behind {
				t.Fatalf("%s: call %d of %d is answered %d %s", what, n+1, calls, a.Status, a.Body)
			}
		}
	}
	lookup, cite := d.URL()+api.PathLookup+"?q=btc+price", d.URL()+api.PathCite+"?ref=1&at=2026-11-20T20:00"
	until("a lookup that nobody pays", 150, func() answer { return get(t, lookup, of("192.0.2.1")) })
	for what, a := range map[string]answer{
		"fresh":        get(t, d.URL()+api.PathFresh, of("192.0.2.1")),
		"of another":   get(t, lookup, of("192.0.2.2")),
		"with a key":   get(t, lookup, of("192.0.2.1"), bearer(key)),
		"signed in":    get(t, lookup, of("192.0.2.1"), with("Cookie", session)),
		"its sign-in":  call(t, http.MethodPost, d.URL()+api.PathAuthWallet, of("192.0.2.1"), sending("{}")),
		"of a bad key": get(t, lookup, of("192.0.2.1"), bearer(key[:39]+"x")),
	} {
		if a.Status == http.StatusTooManyRequests {
			t.Errorf("%s: %s", what, a.Body)
		}
	}
	until("citing the past", 75, func() answer { return get(t, cite, of("192.0.2.4")) })
	message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","a":[` + strings.Repeat("[],", 80_000) + `0]}}`
	until("a long message", 300/(len(message)>>12), func() answer {
		return call(t, http.MethodPost, d.URL()+api.PathMCP, of("192.0.2.5"), sending(message))
	})
	body := `{"ref":1,"x":"` + strings.Repeat("x", 40<<10) + `"}`
	until("a long body", 300/(len(body)>>12), func() answer {
		return call(t, http.MethodPost, d.URL()+api.PathCite, of("192.0.2.8"), sending(body))
	})
	size := len(get(t, d.URL()+api.PathOpenAPI, of("192.0.2.7"), with("Accept-Encoding", "identity")).Body)
	cost := size >> 16
	behind = 1
	until("a description as it is", (300+cost-1)/cost, func() answer { // the last takes more than is left: its weight is known behind it
		return get(t, d.URL()+api.PathOpenAPI, of("192.0.2.6"), with("Accept-Encoding", "identity"))
	})
}

// TestCompressed: descriptions and bundles are sent compressed to who takes that, with a tag of their own, and their copies hold.
func TestCompressed(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	fillLog(t, d, 256)
	for _, path := range []string{api.PathOpenAPI, api.PathOpenAPIYAML, api.PathDocs, api.PathDocs + "/limits", "/log/crypto/tile/entries/000"} {
		plain := get(t, d.URL()+path, with("Accept-Encoding", "identity"))
		zipped := get(t, d.URL()+path, with("Accept-Encoding", "gzip"))
		zip, err := gzip.NewReader(bytes.NewReader(zipped.Body))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		text, err := io.ReadAll(zip)
		if err != nil || !bytes.Equal(text, plain.Body) || 2*len(zipped.Body) > len(text) || plain.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d bytes for %d of %d, %v", path, len(zipped.Body), len(text), len(plain.Body), err)
		}
		if len(zipped.Body) > 64<<10 {
			t.Errorf("%s: %d bytes, compressed", path, len(zipped.Body))
		}
		tags := [2]string{plain.Header.Get("ETag"), zipped.Header.Get("ETag")}
		if tags[0] == tags[1] || tags[0] == "" || tags[1] == "" {
			t.Errorf("%s: the tags are %q", path, tags)
		}
		for i, coding := range []string{"identity", "gzip"} {
			for j, tag := range tags {
				again := get(t, d.URL()+path, with("Accept-Encoding", coding), with("If-None-Match", tag))
				if want := map[bool]int{true: http.StatusNotModified, false: http.StatusOK}[i == j]; again.Status != want {
					t.Errorf("%s as %s with the tag %s: %d, want %d", path, coding, tag, again.Status, want)
				}
				if got := fmt.Sprint(again.Header.Values("Vary")); !strings.Contains(got, "Accept-Encoding") {
					t.Errorf("%s varies by %s", path, got)
				}
			}
		}
	}
}
