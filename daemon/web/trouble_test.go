package web_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

func TestHealthAndReadiness(t *testing.T) {
	t.Parallel()
	live, off := daemontest.Start(t), dark(t)
	servers := map[string]string{"live": live.URL(), "dark": off.URL(), "always": play(t, script{})}
	for _, c := range []struct {
		server, path, want string
	}{
		{"live", "/healthz", `200 {"status":"ok"}`}, {"dark", "/healthz", `200 {"status":"ok"}`}, {"always", "/healthz", `200 {"status":"ok"}`},
		{"live", "/readyz", `200 {"status":"ready"}`}, {"dark", "/readyz", `503 {"status":"not ready"}`},
		{"always", "/readyz?x=%zz", `200 {"status":"ready"}`},
	} {
		a := get(t, servers[c.server]+c.path)
		if got := fmt.Sprintf("%d %s", a.Status, strings.TrimSpace(string(a.Body))); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.server, c.path, got, c.want)
		}
	}
	if err := off.Refresh(t.Context(), api.PackCrypto); err == nil {
		t.Error("a refresh without sources succeeded")
	}
	off.Recording.Mend()
	if err := off.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	if a := get(t, off.URL()+"/readyz"); a.Status != http.StatusOK {
		t.Errorf("with its first state it answers %d %s", a.Status, a.Body)
	}
}

// TestDarkDaemonSaysWhy: without a state the answer tells how each source does.
func TestDarkDaemonSaysWhy(t *testing.T) {
	t.Parallel()
	d := dark(t)
	if err := d.Refresh(t.Context(), api.PackCrypto); err == nil {
		t.Fatal("a refresh without sources succeeded")
	}
	a := get(t, d.URL()+"/v1/fresh")
	status := refusal(t, a, http.MethodGet).Error.SourceStatus
	if len(status) == 0 {
		t.Fatalf("no source_status in %s", a.Body)
	}
	for i, s := range status {
		if s.Ref != i+1 || s.ID == "" || s.Status != api.SourceError || s.Error == nil || *s.Error == "" || s.FetchedAt != nil {
			t.Errorf("[%d] is %+v", i+1, s)
		}
	}
}

// lines are the lines of the log that say what.
func lines(log *testbed.Log, what string) []string {
	var found []string
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, what) {
			found = append(found, line)
		}
	}
	return found
}

// TestBugsAndFailuresAreLoggedOnce wants one line with the request id and the cause, and an answer without the cause.
func TestBugsAndFailuresAreLoggedOnce(t *testing.T) {
	t.Parallel()
	for path, cause := range map[string]string{"/v1/brief": "a bug", "/v1/search?q=secretive": "disk I/O error"} {
		url, log := serveTroubled(t)
		a := get(t, url+path)
		e := refusal(t, a, http.MethodGet).Error
		if a.Status != http.StatusInternalServerError || e.Code != api.CodeInternal || strings.Contains(string(a.Body), cause) {
			t.Errorf("%s answers %d %s", path, a.Status, a.Body)
		}
		found := lines(log, e.RequestID)
		if len(found) != 1 || !strings.Contains(found[0], "level=ERROR") || !strings.Contains(found[0], cause) ||
			!strings.Contains(found[0], "method=GET") || !strings.Contains(found[0], "path=/v1/") {
			t.Errorf("%s logs %q", path, found)
		}
		if n := len(lines(log, "level=")); n != 1 || strings.Contains(log.String(), "secretive") {
			t.Errorf("%s: %d lines logged:\n%s", path, n, log)
		}
		if strings.Contains(cause, "bug") && !strings.Contains(log.String(), "header_test.go") {
			t.Errorf("the log does not say where the panic was:\n%s", log)
		}
		if a := get(t, url+"/v1/fresh"); a.Status != http.StatusOK {
			t.Errorf("after it fresh answers %d", a.Status)
		}
	}
}

func TestRefusalsAreNotLogged(t *testing.T) {
	t.Parallel()
	url, log := serveTroubled(t)
	for _, path := range []string{"/v1/cite", "/v1/none", "/v1/fresh?a;b"} {
		get(t, url+path)
	}
	call(t, http.MethodPut, url+"/v1/fresh")
	if log.String() != "" {
		t.Errorf("logged:\n%s", log)
	}
}

// TestAbortIsPassedOn: a handler that gives up its connection closes it, and that is no error.
func TestAbortIsPassedOn(t *testing.T) {
	t.Parallel()
	s := script{answer: func(context.Context) (reader.Answer, error) { panic(http.ErrAbortHandler) }}
	server, log := serve(t, web.Config{Reader: s, Gate: s})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/fresh", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err == nil {
		res.Body.Close()
		t.Errorf("answered %d", res.StatusCode)
	}
	server.Close()
	if log.String() != "" {
		t.Errorf("logged:\n%s", log)
	}
}

// TestClientThatWentAwayIsNoError leaves while the answer is made, whatever the operation then fails with.
func TestClientThatWentAwayIsNoError(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(context.Context) (reader.Answer, error){
		"cancelled": func(ctx context.Context) (reader.Answer, error) {
			return reader.Answer{}, fmt.Errorf("look up: %w", ctx.Err())
		},
		"interrupted": func(context.Context) (reader.Answer, error) { return reader.Answer{}, errors.New("interrupted") },
		"answered":    func(context.Context) (reader.Answer, error) { return reader.Answer{JSON: []byte("{}")}, nil },
	} {
		reached, left := make(chan struct{}), make(chan error, 1)
		s := script{answer: func(ctx context.Context) (reader.Answer, error) {
			close(reached)
			<-ctx.Done()
			left <- ctx.Err()
			return fail(ctx)
		}}
		server, log := serve(t, web.Config{Reader: s, Gate: s})
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte("GET /v1/fresh HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		<-reached
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the call ended with %v", name, err)
		}
		server.Close() // the handler has returned
		if log.String() != "" {
			t.Errorf("%s logged:\n%s", name, log)
		}
	}
}

// TestHalfABodyIsNoError leaves in the middle of a body.
func TestHalfABodyIsNoError(t *testing.T) {
	t.Parallel()
	server, log := serve(t, web.Config{Reader: script{}, Gate: script{}})
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("POST /v1/cite HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{\"re")); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 12)
	if _, err := conn.Read(text); err != nil || string(text) != "HTTP/1.1 400" {
		t.Errorf("answered %q, %v", text, err)
	}
	conn.Close()
	server.Close()
	if log.String() != "" {
		t.Errorf("logged:\n%s", log)
	}
}

// TestKeysAreNeverLogged makes calls of every outcome with keys in every place, and searches the log for them.
func TestKeysAreNeverLogged(t *testing.T) {
	t.Parallel()
	var log testbed.Log
	d := daemontest.Start(t, func(c *daemon.Config) { c.Logger = log.Logger() })
	key, gone := d.Key(t, api.TierFree), d.Key(t, api.TierPro)
	if _, err := d.Keys().Revoke(t.Context(), gone[:api.KeyIDLength]); err != nil {
		t.Fatal(err)
	}
	unknown := "cv_test_" + strings.Repeat("Zq", api.KeySecretChars/2)
	keys := []string{key, gone, unknown}
	panicking, log2 := serve(t, web.Config{Reader: troubled(), Gate: script{admit: func(c gate.Credentials) (gate.Caller, error) {
		return gate.Caller{}, errors.New("keys are not readable")
	}}})
	for _, k := range keys {
		for _, path := range []string{
			"/v1/fresh", "/v1/fresh?token=" + k, "/v1/fresh?pack=" + k, "/v1/search?q=" + k, "/v1/search?q=a", "/v1/brief?token=" + k,
			"/v1/brief", "/v1/cite?ref=99",
			"/v1/snapshot?at=" + k, "/readyz?token=" + k, "/v1/fresh?%zz" + k,
		} {
			for _, values := range [][]string{{"Bearer " + k}, {"Basic " + k}, {k}, {"Bearer " + k, "Bearer " + k}} {
				for _, base := range []string{d.URL(), panicking.URL} {
					a := get(t, base+path, with("Authorization", values...), with(api.HeaderRequestID, k), with("Cookie", k), with("X-Payment", k))
					if !strings.Contains(path, k) && strings.Contains(string(a.Body)+fmt.Sprint(a.Header), k) {
						t.Errorf("%s: the answer repeats the key: %s", path, a.Body)
					}
				}
			}
		}
	}
	d.Stop(t)
	panicking.Close()
	text := log.String() + log2.String()
	if len(lines(log2, "keys are not readable")) == 0 || len(lines(log2, "panicked")) == 0 {
		t.Fatalf("the log of failures is not there:\n%s", text)
	}
	for _, k := range keys {
		if strings.Contains(text, k[api.KeyIDLength:]) {
			t.Errorf("key %s… is in the log:\n%s", k[:api.KeyIDLength], text)
		}
	}
}

// TestRevocationCountsAtOnce: the call after a revocation is refused, also when it follows on the same connection, and also
// after a restart.
func TestRevocationCountsAtOnce(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key, other := d.Key(t, api.TierFree), d.Key(t, api.TierFree)
	transport := &http.Transport{MaxConnsPerHost: 1}
	defer transport.CloseIdleConnections()
	status := func(base string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, base+"/v1/fresh", nil)
		if err != nil {
			t.Fatal(err)
		}
		bearer(key)(req)
		res, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if got := status(d.URL()); got != http.StatusOK {
		t.Fatalf("an active key is answered %d", got)
	}
	if _, err := d.Keys().Revoke(t.Context(), key[:api.KeyIDLength]); err != nil {
		t.Fatal(err)
	}
	if got := status(d.URL()); got != http.StatusUnauthorized {
		t.Errorf("a revoked key is answered %d", got)
	}
	d.Stop(t)
	d = daemontest.Open(t, keep(d.Config.DataDir, d.Clock))
	d.Run(t)
	if got := status(d.URL()); got != http.StatusUnauthorized {
		t.Errorf("after a restart the revoked key is answered %d", got)
	}
	if a := get(t, d.URL()+"/v1/fresh", bearer(other)); a.Status != http.StatusOK {
		t.Errorf("after a restart the other key is answered %d", a.Status)
	}
	for _, changed := range []string{strings.ToUpper(other), other + "0", other[:len(other)-1], " cv_live_" + other[8:], other[:8] + strings.Repeat("é", 16)} {
		a := get(t, d.URL()+"/v1/fresh", bearer(changed))
		if a.Status != http.StatusUnauthorized || refusal(t, a, http.MethodGet).Error.Reason != api.ReasonInvalidToken {
			t.Errorf("a key that is almost right is answered %d %s", a.Status, a.Body)
		}
	}
}
