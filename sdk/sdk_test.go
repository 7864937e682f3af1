package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret has the form of a key. What must not be seen begins after the sixteenth character.
const secret = "cv_test_ab12cd34SECRETSECRETSECRETSECRET"

// serve starts a server with h and returns a client of it.
func serve(t *testing.T, h http.HandlerFunc, opts ...sdk.Option) *sdk.Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	opts = append([]sdk.Option{sdk.WithoutEnv(), sdk.WithBaseURL(srv.URL), sdk.WithAPIKey(sdk.NewKey(secret)), sdk.WithHTTPClient(srv.Client())}, opts...)
	c, err := sdk.New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answer writes body with status, as JSON.
func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(api.HeaderRequestID, "6f1c0000-0000-4000-8000-000000000000")
	w.WriteHeader(status)
	if text, ok := body.(string); ok {
		io.WriteString(w, text)
		return
	}
	json.NewEncoder(w).Encode(body)
}

// TestRequests checks what every operation sends.
func TestRequests(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 20, 5, 42, 7, time.FixedZone("", 3600))
	ctx := t.Context()
	for name, c := range map[string]struct {
		call func(*sdk.Client) error
		want string
	}{
		"fresh": {func(c *sdk.Client) error { _, err := c.Fresh(ctx, ""); return err }, "GET /v1/fresh"},
		"fresh, members": {func(c *sdk.Client) error {
			_, err := c.Fresh(ctx, "ai", sdk.WithMembers("flags", "sentiment"))
			return err
		}, "GET /v1/fresh?members=flags%2Csentiment&pack=ai"},
		"brief":    {func(c *sdk.Client) error { _, err := c.Brief(ctx, "ai"); return err }, "GET /v1/brief?pack=ai"},
		"snapshot": {func(c *sdk.Client) error { _, err := c.Snapshot(ctx, "ai", at); return err }, "GET /v1/snapshot?at=2026-11-20T19%3A05%3A42.000Z&pack=ai"},
		"cite":     {func(c *sdk.Client) error { _, err := c.Cite(ctx, "", 3); return err }, "GET /v1/cite?ref=3"},
		"search": {func(c *sdk.Client) error {
			_, err := c.Search(ctx, sdk.SearchRequest{Pack: "ai", Query: "a & b", K: 5})
			return err
		}, "GET /v1/search?k=5&pack=ai&q=a+%26+b"},
		"search, default k": {func(c *sdk.Client) error {
			_, err := c.Search(ctx, sdk.SearchRequest{Query: "x"})
			return err
		}, "GET /v1/search?q=x"},
		"changes": {func(c *sdk.Client) error {
			_, err := c.Changes(ctx, sdk.ChangesRequest{Pack: "ai", Since: at, Min: 0.5, Kinds: []string{"asset", "pool"}})
			return err
		}, "GET /v1/changes?kinds=asset%2Cpool&min=0.5&pack=ai&since=2026-11-20T19%3A05%3A42.000Z"},
		"changes, a span": {func(c *sdk.Client) error {
			_, err := c.Changes(ctx, sdk.ChangesRequest{Since: at, Ago: 20*time.Minute + 500*time.Millisecond})
			return err
		}, "GET /v1/changes?since=-20m0s"},
		"packs": {func(c *sdk.Client) error { _, err := c.Packs(ctx); return err }, "GET /api/packs"},
		"raw": {func(c *sdk.Client) error {
			_, err := c.Do(ctx, sdk.Request{Method: "POST", Path: "/api/keys?a=1", Query: map[string][]string{"b": {"2"}}, Body: []byte(`{}`)})
			return err
		}, "POST /api/keys?a=1&b=2 {}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if got := strings.TrimSpace(r.Method + " " + r.RequestURI + " " + string(body)); got != c.want {
					t.Errorf("sent %q, want %q", got, c.want)
				}
				if got, want := r.Header.Get("Authorization"), "Bearer "+secret; got != want {
					t.Errorf("authorization %q, want %q", got, want)
				}
				answer(w, 200, `{"freshness":{"ageSeconds":1}}`)
			})
			if err := c.call(client); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCanonicalRequest: a request is the same however this version or 30f57cb spells it, and no other is.
func TestCanonicalRequest(t *testing.T) {
	t.Parallel()
	const service = "https://example.org/context"
	for now, spelled := range map[string][]string{
		"fresh?":                          {"/v1/fresh", "/v1/fresh?pack=crypto", "/v1/fresh?claims=false"},
		"fresh?members=flags%2Csentiment": {"/v1/fresh?members=sentiment%2Cflags", "/v1/fresh?members=flags%2Csentiment"},
		"search?q=x":                      {"/v1/search?q=x", "/v1/search?k=10&q=x&pack=crypto"},
		"search?k=5&pack=ai&q=x":          {"/v1/search?k=5&pack=ai&q=x"},
		"snapshot?at=2026-11-20T20%3A05":  {"/v1/snapshot?at=2026-11-20T20%3A05%3A00Z", "/v1/snapshot?at=2026-11-20T20%3A05"},
		"changes?since=-20m0s":            {"/v1/changes?since=-1200s", "/v1/changes?since=-20m0s", "/v1/changes?min=0&since=-20m"},
		"changes?kinds=asset%2Cpool&min=0.5&since=2026-11-20T20%3A05": {
			"/v1/changes?kinds=pool%2Casset&min=0.5&since=2026-11-20T20%3A05%3A00Z",
		},
		"series?path=asset%2Fbitcoin": {"/v1/series?path=asset%2Fbitcoin&points=60&span=24h", "/v1/series?path=asset%2Fbitcoin"},
		"":                            {"/v1/search", "/v1/delete?q=x", "/api/packs", ""},
	} {
		for _, target := range spelled {
			if got := sdk.CanonicalRequest(service, "GET /context"+target); got != now {
				t.Errorf("%s is %q, want %q", target, got, now)
			}
			if got := sdk.CanonicalRequest(service, "POST /context"+target); got != "" {
				t.Errorf("POST %s, whose body is not told, is %q", target, got)
			}
		}
	}
}

// TestAnswers checks that an answer arrives whole: the typed part, the state's own bytes and the HTTP side.
func TestAnswers(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.HeaderDataMode, api.DataModeDemo)
		answer(w, 200, `{"state": {"big":9007199254740993},"brief":"b [1]","citations":[{"ref":1}],"freshness":{"ageSeconds":301},"later":1}`)
	})
	var meta sdk.Response
	got, err := client.Fresh(t.Context(), "", sdk.WithResponse(&meta))
	if err != nil {
		t.Fatal(err)
	}
	if string(got.State) != `{"big":9007199254740993}` || got.Brief != "b [1]" || len(got.Citations) != 1 || !got.Freshness.Stale(time.Time{}) {
		t.Errorf("decoded %+v", got)
	}
	if meta.Status != 200 || !meta.Demo() || meta.RequestID != "6f1c0000-0000-4000-8000-000000000000" || meta.Attempts != 1 || !strings.Contains(string(meta.Body), `"later":1`) {
		t.Errorf("the HTTP side is %+v", meta)
	}
	var state struct{ Big json.Number }
	if err := sdk.DecodeState(got.State, &state); err != nil || state.Big != "9007199254740993" {
		t.Errorf("state %+v, %v", state, err)
	}
	if err := sdk.DecodeState(got.State, &[]int{}); err == nil {
		t.Error("an object was decoded into a slice")
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	const id = "0a0a0a0a-0000-4000-8000-000000000000"
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("User-Agent"); !strings.HasPrefix(got, "mybot/1.2 ctx-go/") || !strings.Contains(got, "(go1.") {
			t.Errorf("user agent %q", got)
		}
		if got := r.Header.Get(api.HeaderRequestID); got != id {
			t.Errorf("request id %q, want %q", got, id)
		}
		if _, ok := r.Header["Authorization"]; ok {
			t.Error("credentials were sent without a key")
		}
		answer(w, 200, `{}`)
	}, sdk.WithAPIKey(sdk.Key{}), sdk.WithUserAgent("mybot/1.2"))
	if _, err := client.Brief(t.Context(), "", sdk.WithRequestID(id)); err != nil {
		t.Error(err)
	}
}

// TestBaseURL checks where calls go, and what is refused as an address or a path.
func TestBaseURL(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI != "/behind/a%2Fproxy" {
			t.Errorf("called %s", r.RequestURI)
		}
		answer(w, 200, `{}`)
	})
	client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(client.BaseURL()+"/behind/"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(t.Context(), sdk.Request{Path: "/a%2Fproxy"}); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"", "v1/fresh", "//evil.example/v1", "https://evil.example/", "/a\x7f"} {
		if _, err := client.Do(t.Context(), sdk.Request{Path: path}); err == nil {
			t.Errorf("path %q was called", path)
		}
	}
	for _, address := range []string{"localhost:1", "ftp://h", "http://", "http://u:SECRET@h", "http://h?x=1", "http://h#f", "http://h:", "http://\x00", "%"} {
		_, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(address))
		if err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("base URL %q: %v", address, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]sdk.Option{
		"retries":    sdk.WithRetries(-1),
		"timeout":    sdk.WithTimeout(-1),
		"user agent": sdk.WithUserAgent("a\r\nb"),
		"key":        sdk.WithAPIKey(sdk.NewKey(secret + "\nX-Evil: 1")),
	} {
		if _, err := sdk.New(sdk.WithoutEnv(), opt); err == nil {
			t.Errorf("%s was accepted", name)
		} else if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
	}
}

func TestEnv(t *testing.T) {
	t.Setenv(sdk.EnvAPIKey, " "+secret+"\n")
	t.Setenv(sdk.EnvBaseURL, "http://env.example/")
	for name, c := range map[string]struct {
		opts []sdk.Option
		url  string
		key  string
	}{
		"environment": {nil, "http://env.example", secret},
		"options win": {[]sdk.Option{sdk.WithBaseURL("http://opt.example"), sdk.WithAPIKey(sdk.NewKey("cv_x"))}, "http://opt.example", "cv_x"},
		"without":     {[]sdk.Option{sdk.WithoutEnv()}, api.DefaultBaseURL, ""},
	} {
		client, err := sdk.New(c.opts...)
		if err != nil {
			t.Fatal(err)
		}
		if client.BaseURL() != c.url || client.Key().Secret() != c.key {
			t.Errorf("%s: %s with key %v", name, client.BaseURL(), client.Key())
		}
	}
}

// TestRedirect checks that a redirect is an error: the key must not travel to where somebody else points.
func TestRedirect(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example/v1", http.StatusMovedPermanently)
	})
	_, err := client.Brief(t.Context(), "")
	e := apiError(t, err)
	if e.Status != 301 || !strings.Contains(e.Hint, "https://elsewhere.example/v1") {
		t.Errorf("got %+v", e)
	}
}

// TestConcurrent runs calls of one client at the same time; the race detector judges.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, r *http.Request) { answer(w, 200, `{"total":7}`) })
	errs := make(chan error)
	for i := range 8 {
		go func() {
			var meta sdk.Response
			got, err := client.Search(context.WithoutCancel(t.Context()), sdk.SearchRequest{Query: "x", K: i + 1}, sdk.WithResponse(&meta))
			if err == nil && (got.Total != 7 || meta.Status != 200) {
				err = fmt.Errorf("got %+v, %+v", got, meta)
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestReplayedAnswer: the HTTP side of an answer says whether it was given before, and how long ago; an Age that a cache has set does not.
func TestReplayedAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		replayed, age string
		want          time.Duration
	}{{"true", "72000", 20 * time.Hour}, {"true", "", 0}, {"true", "-1", 0}, {"", "60", 0}} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(api.HeaderAge, c.age)
			if c.replayed != "" {
				w.Header().Set(api.HeaderReplayed, c.replayed)
			}
			_, _ = w.Write([]byte("{}"))
		}))
		defer server.Close()
		client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(server.URL))
		if err != nil {
			t.Fatal(err)
		}
		var meta sdk.Response
		if _, err := client.Fresh(t.Context(), "", sdk.WithResponse(&meta)); err != nil {
			t.Fatal(err)
		}
		if meta.Replayed != (c.replayed == "true") || meta.Age != c.want {
			t.Errorf("%+v: replayed %v, %s", c, meta.Replayed, meta.Age)
		}
	}
}
