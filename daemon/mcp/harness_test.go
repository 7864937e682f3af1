package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

func TestMain(m *testing.M) {
	daemontest.Overlap(8)
	goleak.VerifyTestMain(m,
		// go-ethereum leaves these behind: the first for the life of the process, the second for a moment.
		goleak.IgnoreAnyFunction("github.com/ethereum/go-ethereum/core.(*txSenderCacher).cache"),
		goleak.IgnoreAnyFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"))
}

// studio is the transport over real parts, with a pack that the test publishes to.
type studio struct {
	t       testing.TB
	url     string // of the transport
	base    string
	handler http.Handler
	mcp     *mcp.Server
	config  mcp.Config
	web     func(m *mcp.Server) http.Handler // serves m
	feed    *feed.Feed
	past    *history.History
	keys    *account.Keys
	books   *billing.Credits
	log     testbed.Log

	price float64 // of the newest state

	mu  sync.Mutex // guards now
	now time.Time
}

// newStudio opens a studio with one state and one brief, which ends with the test.
func newStudio(t testing.TB, changes ...func(*mcp.Config)) *studio {
	t.Helper()
	s := &studio{t: t, price: 91240.5, now: time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)}
	db, err := store.Open(t.Context(), testbed.Place(t), s.now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	past, err := history.Open(t.Context(), testbed.Place(t), s.now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = past.Close() })
	meter := billing.New(billing.Config{Store: db, Now: s.clock})
	s.books = &billing.Credits{Ledger: db, Meter: meter, Now: s.clock}
	if s.keys, err = account.OpenKeys(t.Context(), account.Config{Store: db, WithLock: meter.WithLock, Now: s.clock}); err != nil {
		t.Fatal(err)
	}
	s.feed, s.past = feed.New(api.PackCrypto), past
	if _, err := past.OpenPack(t.Context(), api.PackCrypto, s.now); err != nil {
		t.Fatal(err)
	}
	s.publish()
	s.narrate("Quiet [1].")
	log := slog.New(slog.NewTextHandler(&s.log, nil))
	admission := gate.New(gate.Config{Keys: s.keys, Meter: meter})
	read := reader.New(reader.Config{Packs: []reader.Pack{{ID: api.PackCrypto, Names: map[string]string{"one": "One"}, Shown: pack.Crypto().Shown}}, Feed: s.feed, History: past, Now: s.clock})
	payers := web.NewPayers(nil, s.clock)
	public, _ := url.Parse("https://context.example.org")
	cfg := mcp.Config{Reader: read, Gate: admission, Streams: s.feed, Payers: payers, Packs: []string{api.PackCrypto},
		Tells:  func(pack string) string { return map[string]string{"perps": "Funding by venue."}[pack] },
		Origin: web.OriginCheck{PublicURL: public, Origins: []string{"https://studio.example"}}, Now: s.clock, Logger: log}
	for _, change := range changes {
		change(&cfg)
	}
	s.config = cfg
	s.mcp = mcp.New(cfg)
	s.web = func(m *mcp.Server) http.Handler {
		return web.New(web.Config{Reader: read, Gate: admission, Streams: s.feed, Payers: payers, More: m.Routes(), Now: s.clock, Logger: log})
	}
	s.serve(s.web(s.mcp))
	return s
}

// serve has handler answer until the test ends.
func (s *studio) serve(handler http.Handler) {
	s.handler = handler
	served := s.mcp // another may stand in its place later
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan struct{})
	told := make(chan struct{})
	go func() { defer close(told); served.Notify(ctx, api.PackCrypto) }()
	go func() { defer close(ran); served.Run(ctx); <-told }()
	server := httptest.NewServer(handler)
	s.base, s.url = server.URL, server.URL+api.PathMCP
	s.t.Cleanup(func() {
		served.End()
		stop()
		<-ran
		server.CloseClientConnections()
		server.Close()
	})
}

func (s *studio) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// publish makes a new state, a second after the one before, in which a price has risen by one percent.
func (s *studio) publish() {
	s.t.Helper()
	s.price += s.price / 100
	s.publishState(fmt.Sprintf(`{"top_movers":[{"id":"bitcoin","name":"The first coin","priceUsd":%g,"up":true,"n":null,"ref":1}],"flags":[]}`, s.price))
}

// publishState makes a new state, a second after the one before, stored as the daemon does before it is published.
func (s *studio) publishState(text string) {
	s.t.Helper()
	s.mu.Lock()
	s.now = s.now.Add(time.Second)
	at := s.now
	s.mu.Unlock()
	p := state.Pulse{Pack: api.PackCrypto, GeneratedAt: at, State: []byte(text),
		Citations: []api.Citation{{Ref: 1, SourceID: "one", URL: "https://one.test/", FetchedAt: at}}}
	_, err := s.past.SavePulse(s.t.Context(), p, state.Brief{}, nil)
	if err == nil {
		err = s.feed.Publish(p, state.Narration{}, nil)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// narrate makes a new brief.
func (s *studio) narrate(text string) {
	s.t.Helper()
	if err := s.feed.PublishBrief(api.PackCrypto, state.Narration{Brief: state.Brief{Text: text, At: s.clock()}}); err != nil {
		s.t.Fatal(err)
	}
}

// key issues a key of the operator with that many credits.
func (s *studio) key(credits int64) string { return s.keyOf(account.OperatorID, credits) }

// keyOf issues a key of an owner with that many credits.
func (s *studio) keyOf(owner string, credits int64) string {
	s.t.Helper()
	issued, err := s.keys.Issue(s.t.Context(), account.NewKey{OwnerID: owner, Name: "test", Tier: api.TierTeam})
	if err != nil {
		s.t.Fatal(err)
	}
	if credits > 0 {
		e := billing.Entry{KeyID: issued.KeyID, Amount: credits, Kind: billing.KindGrant, Reason: "test"}
		if _, err := s.books.Move(s.t.Context(), owner, e); err != nil {
			s.t.Fatal(err)
		}
	}
	return issued.Key
}

// calls is how many calls of op a key was charged.
func (s *studio) calls(key string, op api.Op) (n int64) {
	s.t.Helper()
	used, err := s.books.Usage(s.t.Context(), account.OperatorID, 30)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, row := range used.Days {
		if row.KeyID == key[:api.KeyIDLength] && (op == "" || row.Op == op) {
			n += row.Calls
		}
	}
	return n
}

// revoke ends a key.
func (s *studio) revoke(key string) {
	s.t.Helper()
	if _, err := s.keys.Revoke(s.t.Context(), key[:api.KeyIDLength]); err != nil {
		s.t.Fatal(err)
	}
}

// answer is a response, read whole.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

// do sends a request. headers are names and values, one after the other; a value "" drops what would be sent.
func (s *studio) do(method, path, body string, headers ...string) answer {
	s.t.Helper()
	res := s.open(s.t.Context(), method, path, body, headers...)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

// open sends a request and leaves the answer open.
func (s *studio) open(ctx context.Context, method, path, body string, headers ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if name := headers[i]; name == "Host" {
			req.Host = headers[i+1]
		} else {
			req.Header.Add(name, headers[i+1])
		}
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
	return res
}

// post sends a JSON-RPC body.
func (s *studio) post(body string, headers ...string) answer {
	s.t.Helper()
	return s.do(http.MethodPost, api.PathMCP, body, headers...)
}

// bearer are the headers of a key.
func bearer(key string, more ...string) []string {
	return append([]string{"Authorization", "Bearer " + key}, more...)
}

// rpc is the envelope of an answer.
type rpc struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  struct {
		Content           []struct{ Type, Text string }
		StructuredContent json.RawMessage
		IsError           bool
		Meta              map[string]json.RawMessage `json:"_meta"`
		Tools             []struct{ Name string }
		Contents          []struct{ URI, MIMEType, Text string }
		TTLMs             int
		CacheScope        string
		ProtocolVersion   string
	}
	Error *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

// read reads the envelope of an answer, which may be the one event of a stream.
func (a answer) read(t testing.TB) rpc {
	t.Helper()
	text := a.Body
	if strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
		for line := range strings.Lines(a.Body) {
			if data, ok := strings.CutPrefix(line, "data: "); ok && strings.Contains(data, `"id"`) {
				text = data
			}
		}
	}
	var r rpc
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Errorf("%d %s: %v", a.Status, a.Body, err)
	}
	return r
}

// call calls a tool without a session.
func (s *studio) call(key, name, arguments string) rpc {
	s.t.Helper()
	a := s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`, bearer(key)...)
	if a.Status != http.StatusOK {
		s.t.Fatalf("%s: %d %s", name, a.Status, a.Body)
	}
	return a.read(s.t)
}

const streams = "application/json, text/event-stream"

// greet begins a session and returns its id. One that soon ends when idle may end before that is answered.
func (s *studio) greet(key string) (id string) {
	s.t.Helper()
	return s.post(initialize, bearer(key, "Accept", streams, "Content-Type", "application/json")...).Header.Get("Mcp-Session-Id")
}

// initialize opens a session and returns its id.
func (s *studio) initialize(key string) string {
	s.t.Helper()
	id := s.greet(key)
	if id == "" {
		s.t.Fatal("there is no session")
	}
	if a := s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, s.in(key, id)...); a.Status != http.StatusAccepted {
		s.t.Fatalf("initialized: %d %s", a.Status, a.Body)
	}
	return id
}

// in are the headers of a request in a session.
func (s *studio) in(key, id string) []string {
	return bearer(key, "Accept", streams, "Content-Type", "application/json", "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25")
}

// modern are the headers of a request in the new era, and meta what its params carry.
func modern(key, method, name string) []string {
	h := bearer(key, "Accept", streams, "Content-Type", "application/json", "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method)
	if name != "" {
		h = append(h, "Mcp-Name", name)
	}
	return h
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`

// keyed adds a key to requests.
type keyed struct {
	key  string
	next http.RoundTripper
}

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return k.next.RoundTrip(r)
}

// connect connects the SDK's client, which speaks version.
func connect(t testing.TB, url, key, version string, options *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: keyed{key, transport}},
	}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect with %s: %v", version, err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// lines reads lines of a stream until one holds want, and reports whether one did before it ended.
func lines(r io.Reader, want string) bool {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		if strings.Contains(scan.Text(), want) {
			return true
		}
	}
	return false
}

// soon waits until ok, which must come true.
func soon(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 20_000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("waited in vain for: %s", what)
}
