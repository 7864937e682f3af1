package source_test

import (
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

// TestContact: who gives an e-mail address is asked in the form that a host wants it in, and those that want one are not asked without.
func TestContact(t *testing.T) {
	t.Parallel()
	const usual = "contextd (+https://github.com/contextd/contextd)"
	for _, tt := range []struct{ url, contact, agent, unasked string }{
		{"https://www.sec.gov/x", "ops@example.org", "contextd ops@example.org", ""},
		{"https://data.sec.gov/x", "ops@example.org", "contextd ops@example.org", ""},
		{"https://www.bls.gov/x.ics", "ops@example.org", "contextd ops@example.org", ""},
		{"https://rss.arxiv.org/atom/cs.AI", "ops@example.org", usual + " ops@example.org", ""},
		{"https://rss.arxiv.org/atom/cs.AI", "", usual, ""},
		{"https://api.bls.gov/x", "ops@example.org", usual, ""},
		{"https://api.bls.gov/x", "", usual, ""},
		{"https://nosec.gov/x", "", usual, ""},
		{"https://www.sec.gov/x?{date}", "", "", "not asked: www.sec.gov wants an e-mail address, see sources.contact"},
		{"https://www.bls.gov/x.ics", "", "", "not asked: www.bls.gov wants an e-mail address, see sources.contact"},
	} {
		c := source.Declared{ID: "one", URL: tt.url}.Connector()
		if got := c.Unasked(tt.contact); got != tt.unasked {
			t.Errorf("%s with %q: %q, want %q", tt.url, tt.contact, got, tt.unasked)
		}
		if tt.unasked != "" {
			continue
		}
		var agent string
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			agent = r.Header.Get("User-Agent")
			return respond(r, 404, ""), nil
		})
		source.NewFetcher(source.Config{Transport: transport, Contact: tt.contact}).Fetch(t.Context(), c, nil)
		if agent != tt.agent {
			t.Errorf("%s with %q: asked as %q, want %q", tt.url, tt.contact, agent, tt.agent)
		}
	}
}

// TestHostIsHeld: who is turned away leaves the host alone with all of its sources, for as long as it asked or a minute, and no other host.
func TestHostIsHeld(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		header string
		pause  time.Duration
	}{{429, "", time.Minute}, {429, "7", time.Minute}, {429, "600", 10 * time.Minute}, {503, "90", 90 * time.Second}, {503, "", 0}, {404, "", 0}} {
		synctest.Test(t, func(t *testing.T) {
			asked := map[string]int{}
			transport := roundTrip(func(r *http.Request) (*http.Response, error) {
				asked[r.URL.Host]++
				if r.URL.Path == "/bad" {
					return respond(r, tt.status, "", "Retry-After", tt.header), nil
				}
				return respond(r, 404, ""), nil
			})
			f := source.NewFetcher(source.Config{Transport: transport})
			get := func(url string) source.Outcome {
				return f.Fetch(t.Context(), source.Declared{ID: url, URL: url}.Connector(), nil)
			}
			get("https://a.example/bad")
			before := asked["a.example"]
			out := get("https://a.example/good")
			if held := asked["a.example"] == before; held != (tt.pause > 0) {
				t.Errorf("%d %q: another source of the host is asked: %t", tt.status, tt.header, !held)
			}
			if tt.pause > 0 && (out.Class != source.ClassRateLimited || out.RetryAfter != tt.pause) {
				t.Errorf("%d %q: %s, %v, after %v", tt.status, tt.header, out.Class, out.Err, out.RetryAfter)
			}
			if get("https://b.example/good"); asked["b.example"] != 1 {
				t.Errorf("%d %q: another host is not asked", tt.status, tt.header)
			}
			if tt.pause == 0 {
				return
			}
			time.Sleep(tt.pause - time.Millisecond)
			if get("https://a.example/good"); asked["a.example"] != before {
				t.Errorf("%d %q: asked too soon", tt.status, tt.header)
			}
			time.Sleep(time.Millisecond)
			if get("https://a.example/good"); asked["a.example"] != before+1 {
				t.Errorf("%d %q: not asked when the pause was over", tt.status, tt.header)
			}
		})
	}
}

// connected tells who waits for it that a connection was made, as a real transport does.
func connected(r *http.Request) {
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
}

// TestSlowIsAskedOnce: a server that takes longer than it may is asked once and counts as slow, one that cannot be reached is not slow.
func TestSlowIsAskedOnce(t *testing.T) {
	t.Parallel()
	for _, reached := range []bool{false, true} {
		for _, within := range []time.Duration{19 * time.Second, 20 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				transport := roundTrip(func(r *http.Request) (*http.Response, error) {
					if asked++; reached {
						connected(r)
					}
					select {
					case <-time.After(19500 * time.Millisecond):
						return respond(r, 200, oneFee), nil
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
				})
				f := source.NewFetcher(source.Config{Transport: transport, Timeout: within})
				out := f.Fetch(t.Context(), source.MempoolFees(), nil)
				late := within < 19500*time.Millisecond
				if (out.Err != nil) != late || out.Slow != (late && reached) || asked != map[bool]int{true: 2, false: 1}[late && !reached] {
					t.Errorf("reached %t, within %v: %v, slow %t, asked %d times", reached, within, out.Err, out.Slow, asked)
				}
			})
		}
	}
}

// TestEnding: what a server announces of its end is told with its answer, good or not.
func TestEnding(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		header []string
		want   string
	}{
		{nil, ""},
		{[]string{"Deprecation", "true"}, "deprecated"},
		{[]string{"Deprecation", "@1777593600"}, "deprecated"},
		{[]string{"Deprecation", "false"}, ""},
		{[]string{"Sunset", "Fri, 01 May 2026 00:00:00 GMT"}, "ends on 2026-05-01"},
		{[]string{"Sunset", "soon"}, ""},
		{[]string{"Warning", `299 - "use /events/keyset"`}, "use /events/keyset"},
		{[]string{"Warning", `110 - "stale"`}, ""},
		{[]string{"Deprecation", "true", "Sunset", "Fri, 01 May 2026 00:00:00 GMT", "Warning", "299 - \"use\x1b[31m it\""},
			"deprecated; ends on 2026-05-01; use it"},
	} {
		for _, status := range []int{200, 404} {
			transport := roundTrip(func(r *http.Request) (*http.Response, error) {
				return respond(r, status, oneFee, tt.header...), nil
			})
			f := source.NewFetcher(source.Config{Transport: transport})
			if out := f.Fetch(t.Context(), source.MempoolFees(), nil); out.Ending != tt.want {
				t.Errorf("%q, %d: %q, want %q", tt.header, status, out.Ending, tt.want)
			}
		}
	}
}

// TestModifiedSince: a server that names versions by their time alone is asked for a newer one.
func TestModifiedSince(t *testing.T) {
	t.Parallel()
	const at = "Fri, 20 Nov 2026 19:00:00 GMT"
	var asked []string
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.Header.Get("If-Modified-Since"))
		if r.Header.Get("If-Modified-Since") == at {
			return respond(r, 304, ""), nil
		}
		return respond(r, 200, oneFee, "Last-Modified", at), nil
	})
	f := source.NewFetcher(source.Config{Transport: transport})
	first := f.Fetch(t.Context(), source.MempoolFees(), nil)
	if second := f.Fetch(t.Context(), source.MempoolFees(), first.Doc); !second.NotModified || strings.Join(asked, "|") != "|"+at {
		t.Errorf("%+v, asked %q", second, asked)
	}
}
