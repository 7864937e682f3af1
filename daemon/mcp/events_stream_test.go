package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/watch"
	"github.com/contextd/contextd/sdk/api"
)

// newWatchStudio opens a studio whose transport serves MCP Events.
func newWatchStudio(t *testing.T, keepalive time.Duration) *studio {
	t.Helper()
	s := newStudio(t)
	cfg := s.config
	cfg.Keepalive = keepalive
	cfg.Watches = watch.New(watch.Config{History: s.past, Now: s.clock, PublicURL: "https://context.example.org",
		Packs: func(id string) (watch.Pack, bool) {
			return watch.Pack{Shown: pack.Crypto().Shown}, id == api.PackCrypto
		}})
	s.mcp = mcp.New(cfg)
	s.serve(s.web(s.mcp))
	return s
}

// frame is a message of a stream.
type frame struct {
	Method string
	ID     json.RawMessage
	Params struct {
		Cursor    string
		Truncated bool
		EventID   string
		Error     struct{ Code int }
		Meta      map[string]json.RawMessage `json:"_meta"`
	}
	Result map[string]any
}

// kind is what f is, in a word.
func (f frame) kind() string {
	if f.Result != nil {
		return "result"
	}
	return f.Method[strings.LastIndex(f.Method, "/")+1:]
}

// eventStream is an open stream of events.
type eventStream struct {
	t    *testing.T
	res  *http.Response
	scan *bufio.Scanner
	stop func()
}

// stream opens events/stream with more params.
func (s *studio) stream(t *testing.T, key, params string) *eventStream {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	res := s.open(ctx, http.MethodPost, api.PathMCP, `{"jsonrpc":"2.0","id":"the one","method":"events/stream","params":{`+params+`}}`,
		modern(key, "events/stream", "")...)
	st := &eventStream{t, res, bufio.NewScanner(res.Body), stop}
	t.Cleanup(func() { stop(); _ = res.Body.Close() })
	return st
}

// next is the next message that is none of the kinds to skip.
func (st *eventStream) next(skip ...string) (f frame) {
	st.t.Helper()
	for st.scan.Scan() {
		data, ok := strings.CutPrefix(st.scan.Text(), "data: ")
		if !ok {
			continue
		}
		f = frame{}
		if err := json.Unmarshal([]byte(data), &f); err != nil {
			st.t.Fatalf("%v: %s", err, data)
		}
		if id := f.Params.Meta["io.modelcontextprotocol/subscriptionId"]; f.Result == nil && string(id) != `"the one"` {
			st.t.Errorf("no id of the call in %s", data)
		}
		if len(skip) == 0 || f.kind() != skip[0] {
			return f
		}
	}
	return f
}

const ofStates = `"name":"state.published","arguments":{}`

// TestEventStream: a stream says where it begins, then each event once, as it is polled, and is resumed by its cursors; it beats as data,
// costs a call and is a stream of its key's.
func TestEventStream(t *testing.T) {
	t.Parallel()
	s := newWatchStudio(t, 20*time.Millisecond)
	key := s.key(100)
	st := s.stream(t, key, ofStates)
	if kind := st.res.Header.Get("Content-Type"); kind != "text/event-stream" || st.res.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", st.res.StatusCode, kind)
	}
	begun := st.next()
	if begun.kind() != "active" || begun.Params.Truncated || begun.Params.Cursor == "" {
		t.Fatalf("it begins with %+v", begun)
	}
	if beat := st.next(); beat.kind() != "heartbeat" || beat.Params.Cursor != begun.Params.Cursor {
		t.Errorf("then %+v", beat)
	}
	var ids []string
	var first frame
	for range 3 {
		s.publish()
		f := st.next("heartbeat")
		if f.kind() != "event" || f.Params.EventID == "" || f.Params.Cursor == "" {
			t.Fatalf("of a new state: %+v", f)
		}
		if ids = append(ids, f.Params.EventID); first.Method == "" {
			first = f
		}
	}
	if got := s.calls(key, api.OpWatch); got != 1 {
		t.Errorf("it costs %d calls", got)
	}
	again := s.stream(t, key, ofStates+`,"cursor":"`+begun.Params.Cursor+`"`)
	if f := again.next(); f.kind() != "active" || f.Params.Cursor != begun.Params.Cursor || f.Params.Truncated {
		t.Errorf("resumed with %+v", f)
	}
	for _, id := range ids {
		if f := again.next("heartbeat"); f.Params.EventID != id {
			t.Errorf("resumed with %+v, want %s", f, id)
		}
	}
	rest := s.stream(t, key, ofStates+`,"cursor":"`+first.Params.Cursor+`"`)
	rest.next()
	if f := rest.next("heartbeat"); f.Params.EventID != ids[1] {
		t.Errorf("behind the first comes %+v, want %s", f, ids[1])
	}
	lost := s.stream(t, key, ofStates+`,"cursor":"bm9uZQ"`)
	if f := lost.next(); f.kind() != "active" || !f.Params.Truncated {
		t.Errorf("with a cursor of nobody: %+v", f)
	}
	if f := lost.next("heartbeat"); f.kind() != "event" {
		t.Errorf("and then %+v", f)
	}
}

// TestEventStreamEnds: a key that ends is told why, a stop is the answer to the call; what cannot be streamed is refused and costs nothing,
// and a key without credits has ten streams.
func TestEventStreamEnds(t *testing.T) {
	t.Parallel()
	s := newWatchStudio(t, time.Minute)
	key, other := s.key(100), s.key(100)
	st, rest := s.stream(t, key, ofStates), s.stream(t, other, ofStates)
	st.next()
	rest.next()
	s.revoke(key)
	if f := st.next(); f.kind() != "terminated" || f.Params.Error.Code != -32012 {
		t.Errorf("of a key that has ended: %+v", f)
	}
	if f := st.next(); f.kind() != "result" || f.Result["resultType"] != "complete" {
		t.Errorf("and then %+v", f)
	}
	for params, code := range map[string]int{
		`"name":"price"`: -32011, `"name":"credits.low","arguments":{"below":1}`: -32014,
		`"name":"flag.changed","arguments":{"pack":"none"}`: -32602, `"name":"flag.changed","arguments":{"x":1}`: -32602,
	} {
		a := s.post(`{"jsonrpc":"2.0","id":1,"method":"events/stream","params":{`+params+`}}`, modern(other, "events/stream", "")...)
		if got := a.read(t).Error; got == nil || got.Code != code {
			t.Errorf("%s: %s", params, a.Body)
		}
	}
	if got := s.calls(other, api.OpWatch); got != 1 {
		t.Errorf("%d calls were charged", got)
	}
	free := newWatchStudio(t, time.Minute)
	poor := free.key(0)
	for i := range api.StreamsPerFreeKey + 1 {
		one := free.stream(t, poor, ofStates)
		if stream := one.res.Header.Get("Content-Type") == "text/event-stream"; stream == (i == api.StreamsPerFreeKey) {
			t.Errorf("stream %d of a key without credits: %t", i, stream)
		}
	}
	s.mcp.End()
	if f := rest.next(); f.kind() != "result" || f.Result["_meta"] == nil {
		t.Errorf("at a stop: %+v", f)
	}
}

// TestEventTypesChange: who listens for it is told that types of events take other packs, after what it listens to was acknowledged.
func TestEventTypesChange(t *testing.T) {
	t.Parallel()
	s := newWatchStudio(t, time.Minute)
	key := s.key(100)
	listen := func(what string) *eventStream {
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		res := s.open(ctx, http.MethodPost, api.PathMCP, `{"jsonrpc":"2.0","id":"the one","method":"subscriptions/listen","params":{`+
			`"notifications":{`+what+`},`+meta+`}}`, modern(key, "subscriptions/listen", "")...)
		t.Cleanup(func() { stop(); _ = res.Body.Close() })
		st := &eventStream{t, res, bufio.NewScanner(res.Body), stop}
		for st.scan.Scan() {
			if strings.Contains(st.scan.Text(), "acknowledged") {
				break
			}
		}
		if said := strings.Contains(st.scan.Text(), `"eventsListChanged":true`); said != strings.Contains(what, "true") {
			t.Errorf("%s is acknowledged with %s", what, st.scan.Text())
		}
		return st
	}
	both, alone := listen(`"toolsListChanged":true,"eventsListChanged":true`), listen(`"eventsListChanged":true`)
	none := listen(`"toolsListChanged":false,"eventsListChanged":false`)
	s.mcp.SetPacks([]string{api.PackCrypto, api.PackAI})
	const events, tools = "notifications/events/list_changed", "notifications/tools/list_changed"
	seen := map[string]bool{}
	for !seen[events] || !seen[tools] { // of tools as often as one changes
		f := both.next()
		if f.Method != events && f.Method != tools {
			t.Fatalf("who listens to both is told %v, and then %+v", seen, f)
		}
		seen[f.Method] = true
	}
	if f := alone.next(); f.Method != events {
		t.Errorf("who listens to events alone is told %+v", f)
	}
	s.mcp.End()
	if f := none.next(); f.Method != "" {
		t.Errorf("who listens to neither is told %+v", f)
	}
}
