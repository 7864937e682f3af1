package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/client/output"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// Methods that a bridge looks at.
const (
	methodInitialize  = "initialize"
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
	methodListen      = "subscriptions/listen" // is answered when it ends
)

// attempts is how often a service that cannot be reached is tried, with pauses that double from the first.
const (
	attempts   = 6
	firstPause = 250 * time.Millisecond
	lastPause  = 10 * time.Second
)

// forward sends a message to the service, in a new session where the one it belonged to has ended, and its answer to the client.
func (b *bridge) forward(ctx context.Context, m message, line []byte) error {
	in := b.current()
	if m.Method == methodInitialize {
		in = mcpSession{}
	}
	res, err := b.reach(ctx, m, line, in)
	if err != nil {
		return err
	}
	if res.StatusCode == http.StatusNotFound && in.id != "" {
		_ = res.Body.Close()
		if in, err = b.reopen(ctx, in); err != nil {
			return err
		}
		if res, err = b.reach(ctx, m, line, in); err != nil {
			return err
		}
	}
	return b.deliver(m, line, res)
}

// reach sends a message. While nobody listens there, it tries again: the message has not been heard.
func (b *bridge) reach(ctx context.Context, m message, line []byte, in mcpSession) (*http.Response, error) {
	pause := firstPause
	for n := 1; ; n++ {
		res, err := b.endpoint.send(ctx, m, line, headers(m, in))
		if err == nil || n == attempts || !unheard(err) {
			return res, err
		}
		b.note("the service cannot be reached; trying again in %s", pause)
		if !wait(ctx, pause) {
			return nil, err
		}
		pause = min(2*pause, lastPause)
	}
}

// unheard reports whether err says that no connection came about.
func unheard(err error) bool {
	dial, ok := errors.AsType[*net.OpError](err)
	return ok && dial.Op == "dial"
}

// wait waits and reports whether there is still reason to.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// headers are those of a message in a session, or of one that carries its version itself.
func headers(m message, in mcpSession) http.Header {
	h := http.Header{"Accept": {streams}}
	if version := m.Params.Meta.Version; version != "" {
		h.Set(headerVersion, version)
		h.Set("Mcp-Method", m.Method)
		if name := m.Params.Name + m.Params.URI; name != "" {
			h.Set("Mcp-Name", name)
		}
		return h
	}
	if in.id != "" {
		h.Set(headerSession, in.id)
		h.Set(headerVersion, in.version)
	}
	return h
}

// deliver sends the answer of a message to the client, and notes what it means for the session. It reports a call that was not answered,
// since its client would wait for ever.
func (b *bridge) deliver(m message, line []byte, res *http.Response) error {
	answered := false
	err := messages(res, func(text []byte) { answered = b.tell(m, line, res, text) || answered })
	if !m.isCall() || answered || errors.As(err, new(*api.Error)) {
		return err
	}
	if err == nil {
		err = errors.New("it ended without an answer")
	}
	return &sdk.TransportError{Method: http.MethodPost, URL: b.endpoint.url, Attempts: 1, Err: err}
}

// messages calls take with each message of an answer, and closes it.
func messages(res *http.Response, take func(text []byte)) error {
	defer res.Body.Close()
	kind := res.Header.Get("Content-Type")
	switch {
	case res.StatusCode == http.StatusAccepted:
		return nil
	case strings.HasPrefix(kind, "text/event-stream"):
		return events(res.Body, take)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	var envelope struct {
		JSONRPC string `json:"jsonrpc"`
	}
	if json.Unmarshal(text, &envelope) != nil || envelope.JSONRPC == "" { // the envelope of the API
		res.Body = io.NopCloser(bytes.NewReader(text))
		return failure(res)
	}
	take(text)
	return nil
}

// tell sends a message of the service to the client. It is about m, with which the client has asked for it; answers reports whether it is
// the answer of m.
func (b *bridge) tell(m message, line []byte, res *http.Response, text []byte) (answers bool) {
	var answer struct {
		ID     json.RawMessage
		Method string
		Result struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		Error json.RawMessage
	}
	answers = json.Unmarshal(text, &answer) == nil && answer.Method == "" && sameID(answer.ID, m.ID)
	if answers && answer.Error == nil {
		b.mu.Lock()
		switch m.Method {
		case methodInitialize:
			b.session = mcpSession{id: res.Header.Get(headerSession), version: answer.Result.ProtocolVersion, hello: line}
			clear(b.uris)
		case methodSubscribe:
			b.uris[m.Params.URI] = true
		case methodUnsubscribe:
			delete(b.uris, m.Params.URI)
		}
		b.mu.Unlock()
	}
	b.write(text)
	return answers
}

// sameID reports whether two ids are the same, however they were spelled.
func sameID(a, b json.RawMessage) bool {
	var x, y any
	return bytes.Equal(a, b) || json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// events calls take with the data of each event of a stream.
func events(stream io.Reader, take func(data []byte)) error {
	scan := bufio.NewScanner(stream)
	scan.Buffer(nil, maxAnswer)
	var data []byte
	for scan.Scan() {
		line := scan.Bytes()
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(text, []byte(" "))...)
		}
		if len(line) == 0 && len(data) > 0 {
			take(data)
			data = nil
		}
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("the connection was lost: %w", err)
	}
	return nil
}

// reopen opens a session in place of one that has ended, unless another has done so, and subscribes to what was subscribed to.
func (b *bridge) reopen(ctx context.Context, ended mcpSession) (mcpSession, error) {
	b.opening.Lock()
	defer b.opening.Unlock()
	if now := b.current(); now.id != ended.id {
		return now, nil
	}
	b.note("the session has ended; opening another")
	var hello message
	if err := json.Unmarshal(ended.hello, &hello); err != nil {
		return mcpSession{}, fmt.Errorf("read initialize: %w", err)
	}
	res, err := b.reach(ctx, hello, ended.hello, mcpSession{})
	if err != nil {
		return mcpSession{}, err
	}
	if res.StatusCode != http.StatusOK {
		return mcpSession{}, failure(res)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer)) // the client has had this answer
	_ = res.Body.Close()
	next := mcpSession{id: res.Header.Get(headerSession), version: ended.version, hello: ended.hello}
	b.mu.Lock()
	b.session = next
	uris := slices.Sorted(maps.Keys(b.uris))
	b.mu.Unlock()
	if err := b.silently(ctx, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}, next); err != nil {
		return mcpSession{}, err
	}
	for _, uri := range uris {
		b.resubscribe(ctx, uri, next)
	}
	return next, nil
}

// resubscribe subscribes to uri again, and has the client read what may have changed meanwhile. What is refused is forgotten.
func (b *bridge) resubscribe(ctx context.Context, uri string, in mcpSession) {
	params := map[string]any{"uri": uri}
	if err := b.silently(ctx, map[string]any{"jsonrpc": "2.0", "id": "ctx " + uri, "method": methodSubscribe, "params": params}, in); err != nil {
		b.mu.Lock()
		delete(b.uris, uri)
		b.mu.Unlock()
		b.note("the subscription to %s was lost: %v", uri, err)
		return
	}
	if text, err := output.Marshal(map[string]any{"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}); err == nil {
		b.write(text)
	}
}

// silently sends a message that is not the client's, and returns what it was refused for.
func (b *bridge) silently(ctx context.Context, call map[string]any, in mcpSession) error {
	line, err := json.Marshal(call)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	res, err := b.reach(ctx, m, line, in)
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		return failure(res)
	}
	var answer struct{ Error *struct{ Message string } }
	if err := messages(res, func(text []byte) { _ = json.Unmarshal(text, &answer) }); err != nil {
		return err
	}
	if answer.Error != nil {
		return errors.New(answer.Error.Message)
	}
	return nil
}

// listen passes on what the service says by itself, as long as there is a session.
func (b *bridge) listen(ctx context.Context) {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		in := b.current()
		if in.id == "" {
			return
		}
		status, _ := b.stream(ctx, in) // a stream that breaks is opened again
		switch {
		case ctx.Err() != nil || status == http.StatusMethodNotAllowed || status == http.StatusUnauthorized:
			return
		case status == http.StatusNotFound:
			if _, err := b.reopen(ctx, in); err != nil && ctx.Err() == nil {
				b.note("%v", err)
			}
		case status == http.StatusOK:
			pause = firstPause
		}
		if !wait(ctx, pause) {
			return
		}
	}
}

// stream passes on the stream of a session until it ends.
func (b *bridge) stream(ctx context.Context, in mcpSession) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.endpoint.url, nil)
	if err != nil {
		return 0, fmt.Errorf("make request: %w", err)
	}
	req.Header = headers(message{}, in)
	req.Header.Set("Accept", "text/event-stream")
	res, err := b.endpoint.do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return res.StatusCode, nil
	}
	return res.StatusCode, events(res.Body, b.write)
}

// leave ends the session.
func (b *bridge) leave(ctx context.Context) {
	in := b.current()
	if in.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, b.endpoint.url, nil)
	if err != nil {
		return
	}
	req.Header = headers(message{}, in)
	if res, err := b.endpoint.do(req); err == nil { // else it ends by itself
		_ = res.Body.Close()
	}
}
