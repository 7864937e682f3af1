package web_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// troubled is a script whose search fails, whose brief panics and whose other operations answer.
func troubled() script {
	return script{ready: func(q api.Query) error {
		switch q.Op {
		case api.OpSearch:
			return errors.New("disk I/O error")
		case api.OpBrief:
			panic("a bug")
		}
		return nil
	}}
}

// every is one call for every way in which a Server of troubled answers.
func every() map[string]int {
	return map[string]int{
		"GET /v1/fresh": 200, "HEAD /v1/fresh": 200, "OPTIONS /v1/fresh": 204, "POST /v1/cite?ref=1": 200, "GET /v1/cite": 400,
		"GET /v1/search?q=a": 500, "GET /v1/brief": 500, "HEAD /v1/brief": 500, "GET /v1/none": 404, "HEAD /v1/none": 404, "PUT /v1/fresh": 405,
		"GET /healthz": 200, "GET /readyz": 503, "OPTIONS /readyz": 204, "POST /healthz": 405, "GET /": 404, "OPTIONS /": 404,
	}
}

// serveTroubled serves troubled and is not ready.
func serveTroubled(t *testing.T) (string, *testbed.Log) {
	t.Helper()
	server, log := serve(t, web.Config{
		Reader: troubled(), Gate: troubled(), Ready: func(context.Context) error { return errors.New("no state") },
	})
	return server.URL, log
}

func TestRequestIDIsEverywhere(t *testing.T) {
	t.Parallel()
	url, _ := serveTroubled(t)
	const own = "7F8C6A1E-1234-4000-8000-0123456789ab"
	seen := map[string]bool{}
	for line, status := range every() {
		method, path, _ := strings.Cut(line, " ")
		a := call(t, method, url+path)
		id := a.Header.Get(api.HeaderRequestID)
		if u, err := uuid.Parse(id); err != nil || len(id) != 36 || u.Version() != 4 || u.Variant() != uuid.RFC4122 || seen[id] ||
			a.Status != status {
			t.Errorf("%s: status %d, want %d; request id %q", line, a.Status, status, id)
		}
		seen[id] = true
		a = call(t, method, url+path, with(api.HeaderRequestID, own))
		if got := a.Header[api.HeaderRequestID]; len(got) != 1 || got[0] != strings.ToLower(own) {
			t.Errorf("%s: request ids %q, want %q", line, got, own)
		}
		if status >= 400 && path != "/readyz" {
			refusal(t, a, method)
		}
	}
}

func TestOddRequestIDsAreReplaced(t *testing.T) {
	t.Parallel()
	url, _ := serveTroubled(t)
	const own = "7f8c6a1e-1234-4000-8000-0123456789ab"
	for _, junk := range []string{
		"", "1", "{" + own + "}", "urn:uuid:" + own, strings.ReplaceAll(own, "-", ""), own + "0", own[1:], strings.Replace(own, "7", "g", 1),
		strings.Replace(own, "-", "_", 1), strings.Repeat("-", 36), strings.Repeat("x", 10_000), "<script>alert(1)</script>____________",
		own + "," + own, "'; DROP TABLE keys; --________________",
	} {
		id := get(t, url+"/v1/fresh", with(api.HeaderRequestID, junk)).Header.Get(api.HeaderRequestID)
		if _, err := uuid.Parse(id); err != nil || len(id) != 36 || id == own {
			t.Errorf("%.40q: request id %q", junk, id)
		}
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	url, _ := serveTroubled(t)
	const exposed = "X-Request-Id, X-Data-Mode, Idempotency-Replayed, Age, Retry-After, Warning, " +
		"X-Free-Calls-Remaining, X-Free-Calls-Reset, X-Credits-Remaining, X-Daily-Credits-Remaining, " +
		"PAYMENT-REQUIRED, PAYMENT-RESPONSE, Context-Proof"
	for line := range every() {
		method, path, _ := strings.Cut(line, " ")
		a := call(t, method, url+path, with("Origin", "https://example.org"))
		got := cors(a.Header)
		want := map[string]string{}
		if strings.HasPrefix(path, "/v1/") {
			want = map[string]string{"Origin": "*", "Expose": exposed}
			if method == http.MethodOptions {
				want["Methods"], want["Max"] = a.Header.Get("Allow"), "86400"
				want["Headers"] = "Authorization, Content-Type, X-402-Payment, X-Payment, X-402-Payer-Hint, X-Request-Id, " +
					"PAYMENT-SIGNATURE, SIGN-IN-WITH-X, Access-Control-Expose-Headers"
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: CORS headers %v, want %v", line, got, want)
		}
		if len(a.Header["Access-Control-Allow-Credentials"]) != 0 {
			t.Errorf("%s: credentials of other origins are taken", line)
		}
	}
}

// cors is the access control headers of h by what they are about.
func cors(h http.Header) map[string]string {
	got := map[string]string{}
	for name, values := range h {
		if rest, ok := strings.CutPrefix(name, "Access-Control-"); ok {
			rest = strings.TrimPrefix(rest, "Allow-")
			rest, _, _ = strings.Cut(rest, "-")
			got[rest] = strings.Join(values, "|")
		}
	}
	return got
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	for path, allow := range map[string]string{
		"/v1/fresh": "GET, HEAD, OPTIONS", "/v1/brief?pack=none": "GET, HEAD, OPTIONS", "/v1/search": "GET, HEAD, OPTIONS",
		"/v1/snapshot?%zz": "GET, HEAD, OPTIONS", "/v1/cite": "GET, POST, HEAD, OPTIONS", "/healthz": "GET, HEAD, OPTIONS",
	} {
		a := call(t, http.MethodOptions, d.URL()+path, with("Origin", "null"), with("Access-Control-Request-Method", "GET"),
			with("Access-Control-Request-Headers", "authorization"))
		if a.Status != http.StatusNoContent || len(a.Body) != 0 || a.Header.Get("Allow") != allow {
			t.Errorf("%s: %d %q, Allow %q", path, a.Status, a.Body, a.Header.Get("Allow"))
		}
	}
}

// TestHeadIsGetWithoutBody compares every header of the two, coded and not, for answers and for errors.
func TestHeadIsGetWithoutBody(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key := bearer(d.Key(t, api.TierFree))
	at := minute(d.Clock.Now())
	d.Clock.Advance(2 * time.Minute)
	for _, path := range []string{
		"/v1/fresh", "/v1/brief", "/v1/search?q=a", "/v1/snapshot?at=" + at, "/v1/cite?ref=1", "/v1/cite", "/v1/cite?ref=999", "/v1/none",
		"/healthz", "/readyz", "/v1/fresh?pack=none",
	} {
		for _, coding := range []string{"identity", "gzip"} {
			same := []change{key, with("Accept-Encoding", coding), with(api.HeaderRequestID, uuid.NewString())}
			full, head := get(t, d.URL()+path, same...), call(t, http.MethodHead, d.URL()+path, same...)
			for _, name := range []string{"Date", api.HeaderFreeLeft, api.HeaderFreeReset} { // what moves from call to call
				full.Header.Del(name)
				head.Header.Del(name)
			}
			if head.Status != full.Status || len(head.Body) != 0 || !maps.EqualFunc(head.Header, full.Header, slices.Equal) {
				t.Errorf("%s %s: HEAD %d %v, GET %d %v", path, coding, head.Status, head.Header, full.Status, full.Header)
			}
			if got := full.Header.Get("Content-Length"); got != strconv.Itoa(len(full.Body)) {
				t.Errorf("%s %s: Content-Length %q for %d bytes", path, coding, got, len(full.Body))
			}
			checkNames(t, full.Header)
		}
	}
}

// checkNames reports headers that are not written as HTTP libraries look for them, or that are there twice.
func checkNames(t *testing.T, h http.Header) {
	t.Helper()
	for name, values := range h {
		if name != textproto.CanonicalMIMEHeaderKey(name) || len(values) != 1 {
			t.Errorf("header %s: %q", name, values)
		}
	}
}
