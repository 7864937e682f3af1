package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/watch"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// What a stream of events sends, each a notification.
const (
	eventsActive     = "notifications/events/active" // where it begins, again wherever something is lost
	eventsEvent      = "notifications/events/event"
	eventsHeartbeat  = "notifications/events/heartbeat"
	eventsError      = "notifications/events/error"        // after which it may go on
	eventsChanged    = "notifications/events/list_changed" // on the stream of subscriptions/listen
	eventsTerminated = "notifications/events/terminated"
)

// metaSubscription is the member of _meta that says which call a message of a stream belongs to.
const metaSubscription = "io.modelcontextprotocol/subscriptionId"

// eventStream tells a client what happens, on the answer to its call. It is written here and not by the SDK, which sends notifications of
// its own names alone.
type eventStream struct {
	server *Server
	rq     *request
	out    *web.TimedWriter
	id     json.RawMessage // of the call
	read   watch.Reading   // what comes next
	news   *feed.Watcher
	page   api.EventPage // what was read and not sent yet
	leave  func()        // gives back its place
}

// streamEvents tells what happens behind a cursor for as long as the client listens. That costs a call, when it begins, and is a stream of
// its key's.
func (s *Server) streamEvents(w http.ResponseWriter, rq *request, id json.RawMessage, c eventCall) error {
	if rq.payer() {
		return api.KeyMissing("subscriptions are of keys").WithHint("make one: ctx keys create NAME")
	}
	a, err := api.ParseWatch(c.Name, c.Arguments)
	if err != nil {
		return err
	}
	if c.Name == api.WatchCreditsLow {
		return unsupported("delivery", "push", string(c.Name)+" is delivered by webhook")
	}
	st := &eventStream{server: s, rq: rq, id: id, out: web.NewTimedWriter(w, api.StalledReader), read: c.reading()}
	_, err = gate.Serve(rq.ctx, s.cfg.Gate, gate.Order[*eventStream]{
		Credentials: rq.who, Op: api.OpWatch, Pack: packOf(a),
		Answer: func(ctx context.Context, caller gate.Caller) (*eventStream, error) {
			return st, st.begin(ctx, caller, packOf(a))
		},
	})
	if st.leave != nil {
		defer st.leave()
	}
	if err != nil {
		return err
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the bound of the server is for calls
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	st.run()
	return nil
}

// begin takes a place for the stream, and reads its first page. It watches before it reads, so that nothing falls between.
func (st *eventStream) begin(ctx context.Context, caller gate.Caller, pack string) error {
	credits, err := st.server.cfg.Gate.HasCredits(ctx, caller)
	if err != nil {
		return err
	}
	free, err := st.server.streams.Take(caller, credits)
	if err != nil {
		return err
	}
	st.leave = free
	release, err := web.Held(ctx)
	if err != nil {
		return err
	}
	st.leave = func() { release(); free() }
	if st.news = st.server.cfg.Streams.Watch(pack); st.news == nil {
		return api.Errorf(api.ReasonPackNotFound, "pack %q is not served", pack).WithHint("packs served: %s", api.PathPacks)
	}
	st.leave = func() { st.news.Close(); release(); free() }
	if st.page, err = st.server.cfg.Watches.Read(ctx, st.read); st.read.Cursor == "" {
		st.read.Cursor = st.page.Cursor // from now on
	}
	return err
}

// run sends what there is and what comes, until the client leaves, the key or the pack ends, or the server stops.
func (st *eventStream) run() {
	beat := time.NewTicker(st.server.cfg.Keepalive)
	defer beat.Stop()
	for ok := st.active(st.page.Truncated) && st.send(); ok; {
		if st.page.HasMore {
			ok = st.next()
			continue
		}
		select {
		case <-st.rq.ctx.Done():
			return
		case <-st.server.stopping:
			st.end()
			return
		case <-st.rq.ended:
			st.terminate(faultForbidden, "the key has ended")
			return
		case <-st.news.Ended():
			st.terminate(faultNotFound, "the pack is not served any more")
			return
		case <-beat.C:
			ok = st.notify(eventsHeartbeat, map[string]any{"cursor": st.read.Cursor})
		case <-st.news.Wake():
			ok = st.next()
		}
	}
}

// active says where the stream stands, and whether something before that is lost.
func (st *eventStream) active(truncated bool) bool {
	return st.notify(eventsActive, map[string]any{"cursor": st.read.Cursor, "truncated": truncated})
}

// send sends the events of the page.
func (st *eventStream) send() bool {
	for _, e := range st.page.Events {
		if !st.notify(eventsEvent, e) {
			return false
		}
	}
	st.read.Cursor, st.page.Events = st.page.Cursor, nil
	return true
}

// next reads on and sends that. What was lost meanwhile is said; what cannot be read now is read with the next state.
func (st *eventStream) next() bool {
	page, err := st.server.cfg.Watches.Read(st.rq.ctx, st.read)
	switch {
	case st.rq.ctx.Err() != nil:
		return false
	case err != nil:
		st.page.HasMore = false
		return st.notify(eventsError, map[string]any{"error": wireOf(err)})
	case page.Truncated && !st.active(true):
		return false
	}
	st.page = page
	return st.send()
}

// terminate says why there is nothing more to come.
func (st *eventStream) terminate(f eventFault, why string) {
	if st.notify(eventsTerminated, map[string]any{"error": &jsonrpc.Error{Code: f.code(), Message: why}}) {
		st.end()
	}
}

// end answers the call.
func (st *eventStream) end() {
	st.write(map[string]any{"jsonrpc": "2.0", "id": st.id, "result": map[string]any{"resultType": "complete", "_meta": st.meta()}})
}

func (st *eventStream) meta() map[string]any { return map[string]any{metaSubscription: st.id} }

// notify sends a notification with params, an object.
func (st *eventStream) notify(method string, params any) bool {
	text, err := json.Marshal(params)
	if err != nil {
		return false
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &members); err != nil {
		return false
	}
	members["_meta"], _ = json.Marshal(st.meta()) // JSON of the client's
	return st.write(map[string]any{"jsonrpc": "2.0", "method": method, "params": members})
}

// write sends v as an event of the stream.
func (st *eventStream) write(v any) bool {
	var b bytes.Buffer
	b.WriteString("event: message\ndata: ")
	if err := json.NewEncoder(&b).Encode(v); err != nil { // it ends the line
		return false
	}
	b.WriteString("\n")
	_, err := st.out.Write(b.Bytes())
	return err == nil && st.out.FlushError() == nil
}

// wantsEvents reports whether m asks to be told when there are other types of events.
func (s *Server) wantsEvents(m message) bool {
	wants := member(member(m.Params, "notifications"), "eventsListChanged")
	return s.cfg.Watches != nil && m.Method == methodListen && string(wants) == "true"
}

// acknowledged adds to the SDK's message of what is listened to that types of events are; another message is as it was.
func acknowledged(p []byte) []byte {
	const list, events = `"notifications":{`, `"eventsListChanged":true`
	before, after, ok := bytes.Cut(p, []byte(list))
	if !ok {
		return p
	}
	more := ","
	if bytes.HasPrefix(after, []byte("}")) {
		more = ""
	}
	return slices.Concat(before, []byte(list+events+more), after)
}

// eventsChanged says to who listens for it that types of events take other packs.
func (s *Server) eventsChanged() {
	s.listeners.Range(func(out, id any) bool {
		text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": eventsChanged,
			"params": map[string]any{"_meta": map[string]any{metaSubscription: id}}}) // an id of the client's
		out.(*streamWriter).Insert(fmt.Appendf(nil, "event: message\ndata: %s\n\n", text))
		return true
	})
}

// unsupported is the error of what this server does not do.
func unsupported(feature, value, message string) error {
	wire := &jsonrpc.Error{Code: faultUnsupported.code(), Message: message}
	wire.Data, _ = json.Marshal(map[string]string{"feature": feature, "value": value}) // texts
	return wire
}

// wireOf is err as clients of MCP Events have it.
func wireOf(err error) *jsonrpc.Error {
	wire := new(jsonrpc.Error)
	if errors.As(err, &wire) {
		return wire
	}
	e := api.AsError(err)
	f, data := faultOf(e)
	if e.Status >= http.StatusInternalServerError {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: e.Message}
	}
	if data["reason"] == nil {
		data["reason"] = string(e.Reason)
	}
	data["hint"] = e.Hint
	wire = &jsonrpc.Error{Code: f.code(), Message: e.Message}
	wire.Data, _ = json.Marshal(data) // texts and numbers
	return wire
}
