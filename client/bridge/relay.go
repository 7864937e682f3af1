package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// The bridge: a call of an agent goes stdin -> relay -> connection of the MCP SDK -> endpoint -> service, and its answer the same way
// back. The relay knows which calls are open and what the session was opened with and subscribed to; the SDK has headers, sessions and
// event streams; the endpoint is the SDK's RoundTripper, with sdk.PayTransport in it. When the service was started again, a call meets
// 404: the relay has a new connection say the old initialize, subscribes again to what was subscribed to, and sends the call there.

// Methods that a relay looks at.
const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodCancelled   = "notifications/cancelled"
	methodUpdated     = "notifications/resources/updated"
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
	methodListen      = "subscriptions/listen" // is answered when it ends
)

// Bounds on what a client may have passed on.
const (
	maxMessage = 1 << 20 // bytes of a line
	maxCalls   = 64      // that wait for their answers
)

// relay passes messages between a client on stdin and a service.
type relay struct {
	Program
	endpoint   *Endpoint
	ctx        context.Context    // ends with the relay: connections outlast the calls that open them
	stopStream context.CancelFunc // ends the stream of the session; only take uses it
	waiting    sync.WaitGroup     // for the answers to the client's calls
	running    sync.WaitGroup     // what reads connections

	writing sync.Mutex // guards Out, and what is noted

	opening sync.Mutex // one opens a connection at a time

	mu    sync.Mutex // guards what follows
	link  *link
	calls map[jsonrpc.ID]*openCall // under way
	hello *jsonrpc.Request         // opened the session, nil without one
	uris  map[string]bool          // what the client has subscribed to in the session
}

// link is a connection to the service: that of a session, or of messages without one.
type link struct {
	mcp.Connection
	leave context.CancelFunc // ends the reading
	ended chan struct{}      // closed when nobody reads it any more
}

type openCall struct {
	*jsonrpc.Request
	cancel   context.CancelFunc
	answered chan error   // has one: nil when the client has the answer, or why there is none
	payment  *sdk.Payment // in its parameters, nil for none
}

// Program is the one on this machine that a relay serves.
type Program struct {
	In      io.Reader
	Out     io.Writer
	Note    func(format string, args ...any) // tells people; on stderr
	Failure func(error) *cli.Failure         // what an error means
}

// Serve passes messages between a program and the service of e until the program ends its side.
func Serve(ctx context.Context, e *Endpoint, p Program) error {
	r := &relay{Program: p, endpoint: e, stopStream: func() {}, calls: map[jsonrpc.ID]*openCall{}, uris: map[string]bool{}}
	e.waits = func(d time.Duration) { r.note("the service cannot be reached; trying again in %s", d) }
	return r.run(ctx, p.In)
}

// run passes messages until the client ends its side, and waits for the answers under way, but for those that come when the client leaves.
func (r *relay) run(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer r.running.Wait()
	defer cancel()
	r.ctx = ctx
	if _, err := r.renew(ctx, nil); err != nil {
		return err
	}
	lines := make(chan []byte)
	failed := make(chan error, 1)
	go func() { failed <- read(ctx, in, lines) }() // a read of stdin cannot be ended; with the program it is
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			r.cancel(func(c *openCall) bool { return c.Method == methodListen })
			r.waiting.Wait()
			cancel() // so that no stream opens the session again
			r.running.Wait()
			_ = r.current().Close() // else the session ends by itself
			return err
		case line := <-lines:
			r.take(ctx, line)
		}
	}
}

// read reads lines. The SDK's transport for stdin would end at the first that is no message. Of a line that is too long, the beginning is
// passed on, which is none.
func read(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	from := bufio.NewReaderSize(in, maxMessage)
	for cut := false; ; {
		line, err := from.ReadSlice('\n')
		rest := cut
		cut = errors.Is(err, bufio.ErrBufferFull)
		if line = bytes.TrimSpace(line); len(line) > 0 && !rest {
			select {
			case lines <- bytes.Clone(line):
			case <-ctx.Done():
				return nil
			}
		}
		if err == nil || cut {
			continue
		}
		if !errors.Is(err, io.EOF) {
			return fmt.Errorf("read stdin: %w", err)
		}
		return nil
	}
}

// take passes one message on. Calls run beside each other; what has to come in order does.
func (r *relay) take(ctx context.Context, line []byte) {
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		r.writeLine([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is no JSON-RPC message of at most 1 MiB"}}`))
		return
	}
	request, ok := m.(*jsonrpc.Request)
	switch {
	case !ok:
		r.deliver(ctx, m, "an answer")
	case request.Method == methodInitialize:
		r.initialize(ctx, request)
	case request.IsCall() && r.busy():
		r.write(&jsonrpc.Response{ID: request.ID, Error: &jsonrpc.Error{Code: codeRefused,
			Message: fmt.Sprintf("%d calls wait for their answers already; call again when one has come", maxCalls)}})
	case request.IsCall():
		ctx, c := r.begin(ctx, r.endpoint.advertising(request))
		r.waiting.Go(func() { r.pass(ctx, c) })
	case request.Method == methodCancelled && r.current().SessionID() == "": // by leaving
		id, err := jsonrpc.MakeID(paramsOf(request).RequestID)
		r.cancel(func(c *openCall) bool { return err == nil && c.ID == id })
	default:
		r.deliver(ctx, m, request.Method)
	}
}

// initialize passes on the call that opens a session, which has a connection of its own, and listens to what the service says there.
func (r *relay) initialize(ctx context.Context, request *jsonrpc.Request) {
	r.stopStream()
	r.mu.Lock()
	r.hello = nil
	r.mu.Unlock()
	if _, err := r.renew(ctx, r.current()); err != nil {
		r.note("%v", err)
	}
	r.pass(r.begin(ctx, request))
	if r.current().SessionID() != "" {
		var listening context.Context
		listening, r.stopStream = context.WithCancel(ctx)
		r.running.Go(func() { r.listen(listening) })
	}
}

// busy reports whether as many calls as may be are under way.
func (r *relay) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.calls) >= maxCalls
}

// begin notes a call, so that its answer is recognized, and returns what it runs under.
func (r *relay) begin(ctx context.Context, request *jsonrpc.Request) (context.Context, *openCall) {
	ctx, cancel := context.WithCancel(ctx)
	c := &openCall{Request: request, cancel: cancel, answered: make(chan error, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[request.ID] = c
	return ctx, c
}

// pass has the service answer a call of the client, and answers in its place where it does not.
func (r *relay) pass(ctx context.Context, c *openCall) {
	err := r.await(ctx, c)
	if asked, ok := errors.AsType[*askedError](err); ok {
		err = r.pay(ctx, c, asked)
	}
	if err != nil && ctx.Err() == nil {
		r.write(r.failed(c, err))
	}
	c.cancel()
}

// await sends a call and waits until it is answered.
func (r *relay) await(ctx context.Context, c *openCall) error {
	defer r.forget(c)
	on, err := r.forward(ctx, c.Request)
	if err != nil {
		return err
	}
	select {
	case err = <-c.answered:
	case <-ctx.Done():
		err = ctx.Err()
	case <-on.ended:
		select {
		case err = <-c.answered: // with the last that was read
		default:
			err = r.endpoint.unanswered(errUnanswered)
		}
	}
	return err
}

func (r *relay) forget(c *openCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls[c.ID] == c {
		delete(r.calls, c.ID)
	}
}

func (r *relay) deliver(ctx context.Context, m jsonrpc.Message, what string) {
	if _, err := r.forward(ctx, m); err != nil && ctx.Err() == nil {
		r.note("%s was not delivered: %v", what, err)
	}
}

// cancel ends the calls under way that are meant.
func (r *relay) cancel(meant func(*openCall) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if meant(c) {
			c.cancel()
		}
	}
}

// forward sends a message to the service, in a new session where the one it belonged to has ended.
func (r *relay) forward(ctx context.Context, m jsonrpc.Message) (*link, error) {
	on := r.current()
	err := write(ctx, on, m)
	if !over(on, err) {
		return on, err
	}
	on, err = r.renew(ctx, on)
	if err != nil {
		return nil, err
	}
	return on, write(ctx, on, m)
}

// over reports whether a connection is over, after a message was written to it with the given outcome.
func over(on *link, err error) bool {
	refused, ok := errors.AsType[*api.Error](err)
	if ok && refused.Status == http.StatusNotFound && on.SessionID() != "" {
		return true
	}
	select {
	case <-on.ended: // the service has said what is no message
		return err != nil
	default:
		return false
	}
}

func (r *relay) current() *link {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.link
}

// renew uses a new connection in place of one that is over, unless another has done so. Where there is a session it opens one, and
// subscribes to what was subscribed to.
func (r *relay) renew(ctx context.Context, ended *link) (*link, error) {
	r.opening.Lock()
	defer r.opening.Unlock()
	if now := r.current(); now != ended {
		return now, nil
	}
	c, err := r.endpoint.connect(r.ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	hello, uris := r.hello, slices.Sorted(maps.Keys(r.uris))
	r.mu.Unlock()
	if hello != nil {
		r.note("the session has ended; opening another")
		if _, err := r.endpoint.exchange(ctx, c, hello); err != nil { // the client has had this answer
			return nil, err
		}
		if err := write(ctx, c, &jsonrpc.Request{Method: methodInitialized}); err != nil {
			return nil, err
		}
		for _, uri := range uris {
			r.resubscribe(ctx, c, uri)
		}
	}
	return r.use(c), nil
}

// use has messages go over c from now on, and reads it.
func (r *relay) use(c mcp.Connection) *link {
	ctx, leave := context.WithCancel(r.ctx)
	next := &link{c, leave, make(chan struct{})}
	r.mu.Lock()
	last := r.link
	r.link = next
	r.mu.Unlock()
	if last != nil {
		last.leave()
	}
	r.running.Go(func() {
		defer close(next.ended)
		r.receive(ctx, next)
	})
	return next
}

// resubscribe subscribes to uri again, and has the client read what may have changed meanwhile. What is refused is forgotten.
func (r *relay) resubscribe(ctx context.Context, c mcp.Connection, uri string) {
	again, err := ownCall(1.0, methodSubscribe, map[string]any{"uri": uri})
	if err == nil {
		_, err = r.endpoint.exchange(ctx, c, again)
	}
	if err != nil {
		r.mu.Lock()
		delete(r.uris, uri)
		r.mu.Unlock()
		r.note("the subscription to %s was lost: %v", uri, err)
		return
	}
	r.write(&jsonrpc.Request{Method: methodUpdated, Params: again.Params})
}

// listen has what the service says by itself come in, as long as there is a session.
func (r *relay) listen(ctx context.Context) {
	stream, err := ownCall("ctx stream", methodStream, nil)
	if err != nil {
		return
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		calling, c := r.begin(ctx, stream)
		err := r.await(calling, c) // ends with the stream
		c.cancel()
		refused, ok := errors.AsType[*api.Error](err)
		switch {
		case ctx.Err() != nil, ok && (refused.Status == http.StatusMethodNotAllowed || refused.Status == http.StatusUnauthorized):
			return
		case errors.Is(err, errUnanswered): // a stream that breaks is opened again
			pause = firstPause
		case ok:
			r.note("%v", err)
		}
		if !wait(ctx, pause) {
			return
		}
	}
}

// receive passes on what the service says over a connection, until that is over.
func (r *relay) receive(ctx context.Context, on *link) {
	for {
		m, err := on.Read(ctx)
		if err != nil {
			if ctx.Err() == nil {
				r.note("the connection was lost: %v", err)
			}
			return
		}
		if answer, ok := m.(*jsonrpc.Response); ok {
			r.conclude(answer)
			continue
		}
		r.write(m)
	}
}

// conclude passes the answer of a call on, and notes what it means for the session.
func (r *relay) conclude(answer *jsonrpc.Response) {
	r.mu.Lock()
	c := r.calls[answer.ID]
	if c == nil { // the client has cancelled it
		r.mu.Unlock()
		return
	}
	delete(r.calls, answer.ID)
	if answer.Error == nil {
		r.remember(c.Request, answer)
		answer.Result = r.endpoint.honest(c.Method, answer.Result)
	}
	r.mu.Unlock()
	err := r.endpoint.refusal(answer)
	if err == nil {
		err = r.endpoint.judge(r.ctx, c, answer)
	}
	if err == nil && answer.Error == nil {
		err = r.endpoint.proven(r.ctx, c.Request, answer.Result)
	}
	if _, said := errors.AsType[*jsonrpc.Error](err); said || err == nil {
		r.write(answer)
		err = nil
	}
	c.answered <- err
}

// remember notes what has to be done again in another session. It is called with mu held.
func (r *relay) remember(request *jsonrpc.Request, answer *jsonrpc.Response) {
	switch request.Method {
	case methodInitialize:
		var result struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		_ = json.Unmarshal(answer.Result, &result) // the client judges it
		r.endpoint.version.Store(result.ProtocolVersion)
		r.hello = request
		clear(r.uris)
	case methodSubscribe:
		r.uris[paramsOf(request).URI] = true
	case methodUnsubscribe:
		delete(r.uris, paramsOf(request).URI)
	}
}

func (r *relay) write(m jsonrpc.Message) {
	if text, err := jsonrpc.EncodeMessage(m); err == nil { // it was read as JSON
		r.writeLine(text)
	}
}

// writeLine writes a message that is JSON already.
func (r *relay) writeLine(text []byte) {
	r.writing.Lock()
	defer r.writing.Unlock()
	_, _ = r.Out.Write(append(text, '\n')) // a client that has gone ends stdin too
}

// note tells people something on stderr.
func (r *relay) note(format string, args ...any) {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.Note("%s", human.Line(fmt.Sprintf(format, args...)))
}
