package mcp_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// TestSessionBelongsToItsKey has a session answer nobody else, and 404 once it has ended.
func TestSessionBelongsToItsKey(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	mine, other := s.key(10), s.key(10)
	id := s.initialize(mine)
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		a := s.do(method, api.PathMCP, ping, s.in(other, id)...)
		if a.Status != 403 || !strings.Contains(a.Body, `"AUTH_INVALID"`) || !strings.Contains(a.Body, "another key") {
			t.Errorf("%s with a foreign key: %d %s", method, a.Status, a.Body)
		}
	}
	if a := s.post(ping, s.in(mine, id)...); a.Status != 200 || a.read(t).Error != nil {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.post(ping, s.in(mine, "none")...); a.Status != 404 || !strings.Contains(a.Body, "initialize again") {
		t.Errorf("unknown session: %d %s", a.Status, a.Body)
	}
	if a := s.do(http.MethodDelete, api.PathMCP, "", s.in(mine, id)...); a.Status != 204 {
		t.Errorf("delete: %d %s", a.Status, a.Body)
	}
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		if a := s.do(method, api.PathMCP, ping, s.in(mine, id)...); a.Status != 404 {
			t.Errorf("%s after the end: %d %s", method, a.Status, a.Body)
		}
	}
	if a := s.do(http.MethodGet, api.PathMCP, "", bearer(mine)...); a.Status != 400 || !strings.Contains(a.Body, `"requestId"`) {
		t.Errorf("GET without a session: %d %s", a.Status, a.Body)
	}
	if a := s.do(http.MethodPut, api.PathMCP, "", bearer(mine)...); a.Status != 405 || a.Header.Get("Allow") == "" {
		t.Errorf("PUT: %d %s", a.Status, a.Body)
	}
}

// initialize is the handshake of the era with sessions.
const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// TestSessionBounds: an owner has so many sessions with all keys together, of which the one idle for longest makes room for the next, and a
// full table closes one of an owner without credits.
func TestSessionBounds(t *testing.T) {
	t.Parallel()
	s := newStudio(t, func(c *mcp.Config) { c.Limits = mcp.SessionLimits{PerOwner: 2, All: 3} })
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	alive := func(key, id string) bool { return s.post(ping, s.in(key, id)...).Status == 200 }
	one, two := s.keyOf("ada", 0), s.keyOf("ada", 10) // credits of one are credits of both
	first := s.initialize(one)
	s.later(time.Second)
	second, third := s.initialize(two), s.initialize(two)
	if alive(one, first) || !alive(two, second) || !alive(two, third) {
		t.Error("a third session of an owner ended another than the one idle for longest")
	}
	busy, leave := context.WithCancel(t.Context())
	defer leave()
	var streaming []*http.Response
	for _, id := range []string{second, third} {
		res := s.open(busy, http.MethodGet, api.PathMCP, "", s.in(two, id)...)
		defer res.Body.Close()
		streaming = append(streaming, res)
	}
	a := s.post(initialize, bearer(one, "Accept", streams)...)
	if a.Status != 429 || a.Header.Get("Retry-After") != "1" || !strings.Contains(a.Body, `"RATE_LIMITED"`) || !strings.Contains(a.Body, "without a session") {
		t.Errorf("one session too many of an owner whose others are in use: %d %v %s", a.Status, a.Header, a.Body)
	}
	_ = streaming[0].Body.Close()
	soon(t, "the end of the session that nobody listens to any more", func() bool {
		first = s.greet(one)
		return first != ""
	})
	second = third
	free, rich := s.keyOf("bob", 0), s.keyOf("cleo", 10)
	theirs := s.initialize(free)
	credited := s.initialize(rich)
	soon(t, "the end of the session without credits", func() bool { return !alive(free, theirs) })
	if !alive(one, first) || !alive(two, second) || !alive(rich, credited) {
		t.Error("a session of an owner with credits was closed")
	}
	a = s.post(initialize, bearer(free, "Accept", streams)...)
	if a.Status != 429 || a.Header.Get("Retry-After") == "" || !strings.Contains(a.Body, "3 sessions are open") {
		t.Errorf("one session too many: %d %s", a.Status, a.Body)
	}
	if a := s.post(ping, bearer(free)...); a.Status != 200 {
		t.Errorf("without a session: %d %s", a.Status, a.Body)
	}
}

// TestOperatorsSessions: the operator's keys have no owner who answers for all of them.
func TestOperatorsSessions(t *testing.T) {
	t.Parallel()
	s := newStudio(t, func(c *mcp.Config) { c.Limits = mcp.SessionLimits{PerOwner: 1} })
	one, two := s.key(0), s.key(0)
	first, second := s.initialize(one), s.initialize(two)
	s.initialize(two)
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if a := s.post(ping, s.in(two, second)...); a.Status != 404 {
		t.Errorf("the first session of a key with a second: %d %s", a.Status, a.Body)
	}
	if a := s.post(ping, s.in(one, first)...); a.Status != 200 {
		t.Errorf("the session of another key: %d %s", a.Status, a.Body)
	}
}

// TestHandshakes are bounded by client, and by key where it has credits: who shares an address with a crowd is not shut out.
func TestHandshakes(t *testing.T) {
	t.Parallel()
	s := newStudio(t, func(c *mcp.Config) { c.Handshakes = web.NewLimiter(2, time.Hour, c.Now) })
	free, other, rich := s.keyOf("ada", 0), s.keyOf("bob", 0), s.keyOf("cleo", 10)
	s.initialize(free)
	s.initialize(other)
	for _, accept := range []string{streams, "application/json"} { // with a session and without
		a := s.post(initialize, bearer(free, "Accept", accept)...)
		if a.Status != 429 || a.Header.Get("Retry-After") != "3600" || !strings.Contains(a.Body, `"rate_limited"`) {
			t.Errorf("a third handshake of a client: %d %v %s", a.Status, a.Header, a.Body)
		}
	}
	s.initialize(rich)
	s.initialize(rich)
	if a := s.post(initialize, bearer(rich, "Accept", streams)...); a.Status != 429 {
		t.Errorf("a third handshake of a key: %d %s", a.Status, a.Body)
	}
}

// TestIdleSessions end by themselves.
func TestIdleSessions(t *testing.T) {
	t.Parallel()
	s := newStudio(t, func(c *mcp.Config) { c.IdleTimeout = 50 * time.Millisecond })
	key := s.key(0)
	var id string
	soon(t, "a session", func() bool { id = s.greet(key); return id != "" })
	soon(t, "the end of the session", func() bool { return s.mcp.Sessions() == 0 })
	if a := s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, s.in(key, id)...); a.Status != 404 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// TestListeningSessions stay, with what they have paid for, as long as their stream does.
func TestListeningSessions(t *testing.T) {
	t.Parallel()
	const idle = 500 * time.Millisecond
	s := newStudio(t, func(c *mcp.Config) { c.IdleTimeout = idle })
	key := s.key(0)
	var id string
	var stream *http.Response
	soon(t, "a session that lives until it is listened to", func() bool { // it does not where the machine is too slow
		if id = s.greet(key); id == "" {
			return false
		}
		stream = s.open(t.Context(), http.MethodGet, api.PathMCP, "", s.in(key, id)...)
		if stream.StatusCode != http.StatusNotFound {
			return true
		}
		_ = stream.Body.Close()
		return false
	})
	time.Sleep(2 * idle)
	if a := s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, s.in(key, id)...); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	_ = stream.Body.Close()
	soon(t, "the end of the session", func() bool { return s.mcp.Sessions() == 0 })
}

// TestRequestsUnderWay are bounded per key.
func TestRequestsUnderWay(t *testing.T) {
	t.Parallel()
	s := newStudio(t, func(c *mcp.Config) { c.Limits = mcp.SessionLimits{Requests: 2} })
	key := s.key(10)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for range 2 {
		id := s.initialize(key)
		res := s.open(ctx, http.MethodGet, api.PathMCP, "", s.in(key, id)...)
		defer res.Body.Close()
	}
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if a := s.post(ping, bearer(key)...); a.Status != 429 || a.Header.Get("Retry-After") != "1" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.post(ping, bearer(s.key(0))...); a.Status != 200 {
		t.Errorf("another key: %d %s", a.Status, a.Body)
	}
	leave()
	soon(t, "room", func() bool { return s.post(ping, bearer(key)...).Status == 200 })
}

// TestStreamOfASession carries updates, and there is one of it.
func TestStreamOfASession(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(10)
	id := s.initialize(key)
	res := s.open(t.Context(), http.MethodGet, api.PathMCP, "", bearer(key, "Mcp-Session-Id", id, "Accept", "*/*")...)
	defer res.Body.Close()
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("X-Accel-Buffering") != "no" || !strings.Contains(res.Header.Get("Cache-Control"), "no-transform") {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	if a := s.do(http.MethodGet, api.PathMCP, "", s.in(key, id)...); a.Status != 409 || !strings.Contains(a.Body, `"requestId"`) {
		t.Errorf("a second stream: %d %s", a.Status, a.Body)
	}
	if a := s.do(http.MethodGet, api.PathMCP, "", s.in(key, id)[:4]...); a.Status != 400 {
		t.Errorf("no session: %d %s", a.Status, a.Body)
	}
	if a := s.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"context://packs/crypto/state"}}`, s.in(key, id)...); a.read(t).Error != nil {
		t.Fatal(a.Body)
	}
	s.publish()
	text := bufio.NewReader(res.Body)
	for {
		line, err := text.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, "id:") {
			t.Errorf("the stream has an event id, and nothing can be resumed: %s", line)
		}
		if strings.Contains(line, "notifications/resources/updated") {
			break
		}
	}
}

// TestHeartbeat has silent streams carry comments, of every kind, and JSON none.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	s := newStudio(t, func(c *mcp.Config) { c.Keepalive = 10 * time.Millisecond })
	key := s.key(10)
	id := s.initialize(key)
	watch := call("context.subscribe", `{"seconds":1}`)
	for name, open := range map[string]func() *http.Response{
		"GET": func() *http.Response { return s.open(t.Context(), http.MethodGet, api.PathMCP, "", s.in(key, id)...) },
		"call in a session": func() *http.Response {
			return s.open(t.Context(), http.MethodPost, api.PathMCP, watch, s.in(key, id)...)
		},
		"call without one": func() *http.Response {
			return s.open(t.Context(), http.MethodPost, api.PathMCP, watch, bearer(key, "Accept", streams)...)
		},
		"listen": func() *http.Response {
			return s.open(t.Context(), http.MethodPost, api.PathMCP, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["context://packs/crypto/state"]},`+meta+`}}`,
				modern(key, "subscriptions/listen", "")...)
		},
	} {
		res := open()
		if !lines(res.Body, ": keepalive") {
			t.Errorf("%s: no comment", name)
		}
		_ = res.Body.Close()
	}
	if a := s.post(watch, bearer(key)...); strings.Contains(a.Body, "keepalive") || a.read(t).Result.IsError {
		t.Errorf("JSON: %s", a.Body)
	}
}

// TestRevocation ends all that a key has open, at once, and its sessions.
func TestRevocation(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key, other := s.key(10), s.key(10)
	id, theirs := s.initialize(key), s.initialize(other)
	get := s.open(t.Context(), http.MethodGet, api.PathMCP, "", s.in(key, id)...)
	defer get.Body.Close()
	stays := s.open(t.Context(), http.MethodGet, api.PathMCP, "", s.in(other, theirs)...)
	defer stays.Body.Close()
	listen := s.open(t.Context(), http.MethodPost, api.PathMCP, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["context://packs/crypto/state"]},`+meta+`}}`,
		modern(key, "subscriptions/listen", "")...)
	defer listen.Body.Close()
	results := make(chan rpc, 2)
	for _, headers := range [][]string{s.in(key, id), bearer(key)} {
		go func() { results <- s.post(call("context.subscribe", `{"seconds":55}`), headers...).read(t) }()
	}
	soon(t, "the subscriptions", func() bool { return s.calls(key, api.OpSubscribe) == 3 })
	began := time.Now()
	s.revoke(key)
	for range 2 {
		if r := <-results; r.Result.IsError || !strings.Contains(string(r.Result.StructuredContent), `"reason":"revoked"`) {
			t.Errorf("subscribe: %+v", r)
		}
	}
	if lines(get.Body, "nothing") || lines(listen.Body, "nothing") { // both end
		t.Error("there is more in the streams")
	}
	soon(t, "the end of the session", func() bool { return s.mcp.Sessions() == 1 })
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	if a := s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, s.in(key, id)...); a.Status != 401 || !strings.Contains(a.Body, "key_revoked") {
		t.Errorf("after the revocation: %d %s", a.Status, a.Body)
	}
	if a := s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, s.in(other, theirs)...); a.Status != 200 {
		t.Errorf("another key: %d %s", a.Status, a.Body)
	}
}

// TestStop ends streams and calls under way cleanly.
func TestStop(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(10)
	get := s.open(t.Context(), http.MethodGet, api.PathMCP, "", s.in(key, s.initialize(key))...)
	defer get.Body.Close()
	result := make(chan rpc, 1)
	go func() { result <- s.post(call("context.subscribe", `{"seconds":55}`), bearer(key)...).read(t) }()
	soon(t, "the subscription", func() bool { return s.calls(key, api.OpSubscribe) == 1 })
	s.mcp.End()
	if r := <-result; !strings.Contains(string(r.Result.StructuredContent), `"reason":"shutdown"`) {
		t.Errorf("subscribe: %+v", r)
	}
	if lines(get.Body, "nothing") {
		t.Error("there is more in the stream")
	}
}

// TestAbandonedCalls free their goroutines in every way that a client can leave. It looks at the goroutines of the process, so it is not
// parallel to others that watch.
func TestAbandonedCalls(t *testing.T) {
	s := newStudio(t)
	key := s.key(100)
	id := s.initialize(key)
	abandoned := func() bool {
		stacks := make([]byte, 4<<20)
		return !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "mcp.(*watching).run")
	}
	body := `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"context.subscribe","arguments":{"seconds":55},"_meta":{"progressToken":"p"}}}`
	newBody := `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"context.subscribe","arguments":{"seconds":55},` + meta + `}}`
	for name, c := range map[string]struct {
		body    string
		headers []string
	}{
		"in a session": {body, s.in(key, id)}, "without one": {body, bearer(key, "Accept", streams)}, "plain JSON": {body, bearer(key)}, "new era": {newBody, modern(key, "tools/call", "context.subscribe")},
	} {
		before := s.calls(key, api.OpSubscribe)
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(c.body))
			for i := 0; i < len(c.headers); i += 2 {
				req.Header.Set(c.headers[i], c.headers[i+1])
			}
			if res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req); err == nil {
				defer res.Body.Close()
				lines(res.Body, "nothing")
			}
		}()
		soon(t, name+": the call", func() bool { return s.calls(key, api.OpSubscribe) == before+1 })
		leave()
		<-left
		soon(t, name+": nobody watching", abandoned)
	}
	res := s.open(t.Context(), http.MethodPost, api.PathMCP, body, s.in(key, id)...)
	defer res.Body.Close()
	if !lines(res.Body, "notifications/progress") {
		t.Fatal("no progress")
	}
	if a := s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`, s.in(key, id)...); a.Status != 202 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	soon(t, "nobody watching after a cancellation", abandoned)
}

// TestListenInASession is refused before it is charged, and leaves what the session has subscribed to.
func TestListenInASession(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(10)
	id := s.initialize(key)
	stream := s.open(t.Context(), http.MethodGet, api.PathMCP, "", s.in(key, id)...)
	defer stream.Body.Close()
	if a := s.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"context://packs/crypto/state"}}`, s.in(key, id)...); a.read(t).Error != nil {
		t.Fatal(a.Body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	res := s.open(ctx, http.MethodPost, api.PathMCP, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["context://packs/crypto/state"]}}}`, s.in(key, id)...)
	defer res.Body.Close()
	if !lines(res.Body, `"code":-32601`) {
		t.Errorf("it was not refused: %d", res.StatusCode)
	}
	if got := s.calls(key, api.OpSubscribe); got != 1 {
		t.Errorf("%d subscriptions were charged", got)
	}
	s.publish()
	if !lines(stream.Body, "notifications/resources/updated") {
		t.Error("the session is told nothing")
	}
}

// TestInitializeTwice is the client's fault, not ours, and leaves the session as it is.
func TestInitializeTwice(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(0)
	id := s.initialize(key)
	a := s.post(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, s.in(key, id)...)
	if r := a.read(t); r.Error == nil || r.Error.Code != -32600 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.post(`{"jsonrpc":"2.0","id":3,"method":"ping"}`, s.in(key, id)...); a.Status != 200 || a.read(t).Error != nil {
		t.Errorf("after it: %d %s", a.Status, a.Body)
	}
	if text := s.log.String(); strings.Contains(text, "level=ERROR") {
		t.Error(text)
	}
}

// held is the answer to who does not read it until it is let go.
type held struct {
	*httptest.ResponseRecorder
	begun func()
	goes  <-chan struct{}
}

// Write waits.
func (h held) Write(p []byte) (int, error) {
	h.begun()
	<-h.goes
	return h.ResponseRecorder.Write(p)
}

// TestStrangersUnderWay are bounded per address of IPv4 and per /48 of IPv6.
func TestStrangersUnderWay(t *testing.T) {
	t.Parallel()
	s := newStudio(t, func(c *mcp.Config) { c.Limits, c.PublicDiscovery = mcp.SessionLimits{Requests: 2}, true })
	ping := func(from string, w http.ResponseWriter) {
		r := httptest.NewRequest(http.MethodPost, api.PathMCP, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		r.RemoteAddr, r.Host = from, "context.example.org"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		s.handler.ServeHTTP(w, r)
	}
	goes := make(chan struct{})
	var all, begun sync.WaitGroup
	for _, from := range []string{"[2001:db8:1:1::1]:5", "[2001:db8:1:2::1]:5", "192.0.2.1:5", "192.0.2.1:6"} {
		begun.Add(1)
		all.Go(func() { ping(from, held{httptest.NewRecorder(), sync.OnceFunc(begun.Done), goes}) })
	}
	begun.Wait()
	for from, want := range map[string]int{
		"[2001:db8:1:1::1]:7": 429, "[2001:db8:1:3::1]:5": 429, "[2001:db8:2::1]:5": 200, "192.0.2.1:7": 429, "192.0.2.2:5": 200,
	} {
		w := httptest.NewRecorder()
		if ping(from, w); w.Code != want {
			t.Errorf("%s: %d %s, want %d", from, w.Code, w.Body, want)
		}
	}
	close(goes)
	all.Wait()
	w := httptest.NewRecorder()
	if ping("[2001:db8:1:3::1]:5", w); w.Code != 200 {
		t.Errorf("afterwards: %d %s", w.Code, w.Body)
	}
}
