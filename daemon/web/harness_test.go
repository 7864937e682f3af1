package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

func TestMain(m *testing.M) {
	if order := os.Getenv(crowdEnv); order != "" {
		if err := follower(order); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	daemontest.Overlap(8)
	goleak.VerifyTestMain(m,
		// go-ethereum leaves these behind: the first for the life of the process, the second for a moment.
		goleak.IgnoreAnyFunction("github.com/ethereum/go-ethereum/core.(*txSenderCacher).cache"),
		goleak.IgnoreAnyFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"))
}

// answer is a response, read whole and as it came.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// change alters a request before it is sent.
type change = func(*http.Request)

// with sets a header to the given values.
func with(name string, values ...string) change {
	return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = values }
}

// bearer sends key.
func bearer(key string) change { return with("Authorization", "Bearer "+key) }

// sending sends text as the body.
func sending(text string) change {
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	}
}

// call sends one request over a connection of its own. It asks for no coding and undoes none unless a change does.
func call(t testing.TB, method, url string, changes ...change) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		c(req)
	}
	res, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return answer{res.StatusCode, res.Header, text}
}

// get is call with GET.
func get(t testing.TB, url string, changes ...change) answer {
	t.Helper()
	return call(t, http.MethodGet, url, changes...)
}

// decode reads the body of a 200.
func decode[T any](t testing.TB, a answer) T {
	t.Helper()
	var v T
	if a.Status != http.StatusOK {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	if err := json.Unmarshal(a.Body, &v); err != nil {
		t.Fatalf("%v in %s", err, a.Body)
	}
	return v
}

// refusal checks all that is the same of every error and returns what differs. It stops the test if a is no envelope.
func refusal(t testing.TB, a answer, method string) api.ErrorBody {
	t.Helper()
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q", got)
	}
	if got := a.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q", got)
	}
	if a.Header.Get("Content-Encoding") != "" {
		t.Error("an error is coded")
	}
	if method == http.MethodHead {
		if len(a.Body) != 0 {
			t.Errorf("HEAD has a body: %s", a.Body)
		}
		return api.ErrorBody{Error: &api.Error{}}
	}
	if got := a.Header.Get("Content-Length"); got != strconv.Itoa(len(a.Body)) {
		t.Errorf("Content-Length is %q for %d bytes", got, len(a.Body))
	}
	var failure api.ErrorBody
	if err := json.Unmarshal(a.Body, &failure); err != nil || failure.Error == nil {
		t.Fatalf("status %d, no envelope: %s", a.Status, a.Body)
	}
	e := failure.Error
	if _, err := uuid.Parse(e.RequestID); err != nil || e.RequestID != a.Header.Get(api.HeaderRequestID) {
		t.Errorf("requestId is %q, the header %q", e.RequestID, a.Header.Get(api.HeaderRequestID))
	}
	// A minute that is not there is told by its message; there is nothing to do about it.
	if e.Message == "" || e.Hint == "" && e.Reason != api.ReasonSnapshotNotFound {
		t.Errorf("message %q, hint %q", e.Message, e.Hint)
	}
	if (a.Header.Get("WWW-Authenticate") != "") != (a.Status == http.StatusUnauthorized) {
		t.Errorf("status %d with WWW-Authenticate %q", a.Status, a.Header.Get("WWW-Authenticate"))
	}
	return failure
}

// script is a Reader and a Gate for cases that the real ones cannot be brought to. A nil step lets the call pass.
type script struct {
	ready  func(api.Query) error
	admit  func(gate.Credentials) (gate.Caller, error)
	answer func(context.Context) (reader.Answer, error)
	charge func() error
}

func (s script) Ready(q api.Query) (reader.View, error) {
	if s.ready == nil {
		return reader.View{Query: q}, nil
	}
	return reader.View{Query: q}, s.ready(q)
}

func (s script) Admit(_ context.Context, c gate.Credentials, _ api.Op, _ string) (gate.Caller, error) {
	if s.admit == nil {
		return gate.Caller{}, nil
	}
	return s.admit(c)
}

func (s script) Anonymous() (time.Duration, bool) { return 0, false }

func (s script) WithQuote(err error, _ x402.Subject) error { return err }

func (s script) Canonical(q api.Query) string { return q.Canonical() }

func (s script) Again(context.Context, string, []byte) error { return nil }

func (s script) Notices(string) []string { return nil }

func (s script) Deliverable(context.Context, reader.View, time.Duration) error { return nil }

func (s script) History(context.Context, reader.View, time.Duration) (*reader.Lines, error) {
	return nil, errors.New("no history")
}

func (s script) Tables(string, bool, time.Duration) (api.QueryTables, error) {
	return api.QueryTables{}, errors.New("nothing is described")
}

func (s script) Charge(context.Context, gate.Caller) (left billing.Left, err error) {
	if s.charge == nil {
		return left, nil
	}
	return left, s.charge()
}

func (s script) Answer(ctx context.Context, _ reader.View, _ time.Duration) (reader.Answer, error) {
	if s.answer == nil {
		return reader.Answer{JSON: []byte(`{"ok":true}`)}, nil
	}
	return s.answer(ctx)
}

// serve serves cfg. Its log, and that of net/http, goes to what it returns.
func serve(t testing.TB, cfg web.Config) (*httptest.Server, *testbed.Log) {
	t.Helper()
	var log testbed.Log
	cfg.Logger = log.Logger()
	server := httptest.NewUnstartedServer(web.New(cfg))
	server.Config.ErrorLog = slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelError)
	server.Start()
	t.Cleanup(server.Close)
	return server, &log
}

// play serves s and returns the URL.
func play(t testing.TB, s script) string {
	t.Helper()
	server, _ := serve(t, web.Config{Reader: s, Gate: s})
	return server.URL
}

// dark starts a daemon whose sources do not answer, so that it has no state.
func dark(t testing.TB) *daemontest.Daemon {
	t.Helper()
	d := daemontest.Open(t)
	d.Recording.Break("", nil)
	d.Run(t)
	return d
}

// keep puts a daemon into dir with clock.
func keep(dir string, clock *daemontest.Clock) func(*daemon.Config) {
	return func(c *daemon.Config) { c.DataDir, c.Now = dir, clock.Now }
}

// minute is the minute t as the parameter at.
func minute(t time.Time) string { return t.UTC().Format("2006-01-02T15:04") }

// Ended returns what never ends.
func (script) Ended(gate.Caller) <-chan struct{} { return nil }

// HasCredits says that nobody has any.
func (script) HasCredits(context.Context, gate.Caller) (bool, error) { return false, nil }

// exampleOf is the query of a call of op by the examples of its declaration, but for the pack, and for moments, which are at. Without least
// it has every parameter, but for a span that begins before the first state and for describe, which has another answer.
func exampleOf(op api.Op, at string, least bool) string {
	values := url.Values{}
	for _, p := range op.Operation().ParamsOn(api.FaceHTTP) {
		switch {
		case least && !p.Required, p.Name == "pack", p.Name == "over", p.Name == "describe":
		case p.Kind == api.KindTime, p.Kind == api.KindSince:
			values.Set(p.Name, at)
		default:
			values.Set(p.Name, p.Example)
		}
	}
	return values.Encode()
}
