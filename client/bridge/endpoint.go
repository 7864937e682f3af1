// Package bridge brings a service and the programs of this machine that speak MCP together, by stdin and stdout, and calls tools for
// scripts. Who is reached and who pays, its callers say.
package bridge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// Names of the protocol.
const (
	methodCall     = "tools/call"
	methodTools    = "tools/list"
	methodRead     = "resources/read"
	methodPrompt   = "prompts/get"
	methodStream   = "GET" // of the bridge alone: the call whose answer is the stream of a session
	methodDiscover = "server/discover"
	headerSession  = "Mcp-Session-Id"
	headerVersion  = "Mcp-Protocol-Version"
	headerMethod   = "Mcp-Method" // of messages that carry their version themselves
	metaReceipt    = "x402/payment-response"
	metaRefusal    = "contextd/refusal" // the error of a result that asks for a payment, as it is over HTTP
	streamType     = "text/event-stream"
)

const (
	maxAnswer  = 16 << 20    // bytes of an answer, or of an event of a stream
	maxPending = 15          // times that a payment is shown again while the chain has not shown it
	leaveTime  = time.Second // for the end of a session
)

// Waits for a service that nobody listens at. They double from the first to the last.
const (
	attempts   = 6
	firstPause = 250 * time.Millisecond
	lastPause  = 10 * time.Second
)

// errUnanswered is why a call has no answer that the service has heard.
var errUnanswered = errors.New("it ended without an answer")

// Config says which service is reached, and how calls are paid for there.
type Config struct {
	Service string            // the base URL of the service or, for NewForeign, the address of any MCP server
	Names   string            // how tools are listed, "" as the service does
	Key     sdk.Key           // sent with every call; zero for none
	Payer   sdk.Payer         // pays for each call in place of a key; nil pays nothing
	Timeout time.Duration     // of Tools and Call
	HTTP    http.RoundTripper // what requests are sent with
	Check   Check             // of what is proven, nil for none
}

// Check checks what proves an answer, as sdk.WithProofCheck has it.
type Check func(ctx context.Context, pack string, named api.Proof, answer *sdk.Response) error

// Endpoint is the MCP address of a service, and the RoundTripper below the connections of the SDK: it adds the key, or pays, and gives the
// SDK answers that it takes without breaking the connection. What is none comes as an error, with what the service said in it.
type Endpoint struct {
	url     string
	key     sdk.Key
	timeout time.Duration       // of a call of ask
	paying  sdk.PayTransport    // without a Payer if there is a key
	foreign *foreign            // how a service that is not the configured one is paid; nil for that
	check   Check               // of what is proven, nil for none
	waits   func(time.Duration) // notes that nobody listens and that it waits so long; nil does not wait

	version atomic.Value // string, of the session
	opened  atomic.Value // string, the proof that opens handshake and lists; nil before it was paid for
	opening sync.Mutex   // one pays for that at a time
}

// New makes the endpoint of a context service.
func New(c Config) *Endpoint {
	e := &Endpoint{url: c.Service + api.PathMCP, key: c.Key, timeout: c.Timeout, check: c.Check}
	e.paying = sdk.PayTransport{Service: c.Service, Base: patient{e, c.HTTP},
		Name: nameOf, Price: priceOf, Answered: receipt, Patience: maxPending}
	if c.Names != "" {
		e.url += "?names=" + c.Names
	}
	if c.Payer != nil {
		e.paying.Payer, e.paying.Base = c.Payer, inBand{e.paying.Base}
	}
	return e
}

// URL is the address that programs call.
func (e *Endpoint) URL() string { return e.url }

// connect makes a connection of the SDK. It sends nothing yet.
func (e *Endpoint) connect(ctx context.Context) (mcp.Connection, error) {
	t := &mcp.StreamableClientTransport{Endpoint: e.url, HTTPClient: &http.Client{Transport: e}, MaxEventSize: maxAnswer}
	return t.Connect(ctx)
}

// params are what is looked at in the parameters of a message.
type params struct {
	Name      string          `json:"name"`
	URI       string          `json:"uri"`
	Arguments json.RawMessage `json:"arguments"`
	RequestID any             `json:"requestId"` // of a cancellation
}

// paramsOf are the parameters of m, zero if they are others.
func paramsOf(m *jsonrpc.Request) (p params) {
	_ = json.Unmarshal(m.Params, &p) // the service judges them
	return p
}

// sent is the message that r carries, zero if it is none or an answer.
func sent(r *http.Request) *jsonrpc.Request {
	if r.GetBody != nil {
		body, _ := r.GetBody() // it is in memory
		text, _ := io.ReadAll(body)
		if m, err := jsonrpc.DecodeMessage(text); err == nil {
			if m, ok := m.(*jsonrpc.Request); ok {
				return m
			}
		}
	}
	return &jsonrpc.Request{}
}

// nameOf is what r asks for, in the journal of payments: the same for the same. Its headers are not in it.
func nameOf(r *http.Request) (name string, bare bool) {
	m := sent(r)
	if !priced(m) {
		return "POST " + api.PathMCP, false
	}
	return nameAt(api.PathMCP, m), false
}

func nameAt(path string, m *jsonrpc.Request) string {
	p := paramsOf(m)
	var arguments bytes.Buffer
	if json.Compact(&arguments, p.Arguments) != nil { // there are none
		arguments.Reset()
	}
	return strings.TrimSpace("POST " + path + " " + m.Method + " " + p.Name + p.URI + " " + arguments.String())
}

// RoundTrip sends a request of the SDK. It goes where the settings say and nowhere else: the key and the proof are for that service.
func (e *Endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	m := sent(r)
	if r.Method == http.MethodDelete {
		ctx, cancel := context.WithTimeout(r.Context(), leaveTime)
		defer cancel()
		r = r.WithContext(ctx)
	}
	r = e.dress(r, m)
	res, err := e.send(r, m)
	if err != nil {
		return nil, err
	}
	res.Request = r
	return e.digestible(res, m)
}

// dress is r with the headers that the SDK leaves out. The stream of a session, which the SDK opens for its own client alone, is a call
// until here.
func (e *Endpoint) dress(r *http.Request, m *jsonrpc.Request) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", "ctx/"+build.Read().Version)
	if !e.key.IsZero() {
		r.Header.Set("Authorization", "Bearer "+e.key.Secret())
	}
	if r.Header.Get(headerMethod) != "" { // it needs no session
		r.Header.Del(headerSession)
	}
	if r.Header.Get(headerSession) != "" {
		version, _ := e.version.Load().(string)
		r.Header.Set(headerVersion, version)
	}
	if m.Method == methodStream {
		r.Method, r.Body, r.GetBody, r.ContentLength = http.MethodGet, nil, nil, 0
		r.Header.Del("Content-Type")
		r.Header.Set("Accept", streamType)
	}
	return r
}

// send sends r and pays for it. What has no price of its own is opened by one payment for all.
func (e *Endpoint) send(r *http.Request, m *jsonrpc.Request) (*http.Response, error) {
	switch {
	case e.foreign != nil && r.Method != http.MethodPost: // the stream of a session has no end
		return e.paying.Base.RoundTrip(r)
	case e.foreign != nil || e.paying.Payer == nil:
		return e.paying.RoundTrip(r)
	case m.Method == methodSubscribe || m.Method == methodUnsubscribe || m.Method == methodListen:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "who pays by call cannot subscribe: that takes an API key"}
	case priced(m) && operation(m).PriceMicros() == 0: // it would be paid for and refused
		return e.unpayable(r, m)
	case priced(m):
		return e.paying.RoundTrip(r)
	}
	opened, _ := e.opened.Load().(string)
	res, err := e.paying.Base.RoundTrip(again(r, opened))
	if err != nil || res.StatusCode != http.StatusPaymentRequired || isSubscribe(paramsOf(m).Name) {
		return res, err
	}
	_ = res.Body.Close()
	e.opening.Lock()
	defer e.opening.Unlock()
	if now, _ := e.opened.Load().(string); now != opened { // another message has paid for it meanwhile
		return e.paying.Base.RoundTrip(again(r, now))
	}
	if res, err = e.paying.RoundTrip(again(r, "")); err == nil && res.StatusCode/100 == 2 {
		e.opened.Store(res.Request.Header.Get(api.HeaderPayment))
	}
	return res, err
}

// again is r to be sent another time, with a proof if there is one.
func again(r *http.Request, proof string) *http.Request {
	r = r.Clone(r.Context())
	if r.GetBody != nil {
		r.Body, _ = r.GetBody() // it is in memory
	}
	if proof != "" {
		r.Header.Set(api.HeaderPayment, proof)
	}
	return r
}

// patient sends messages. While nobody listens there, it tries again: the message has not been heard.
type patient struct {
	endpoint *Endpoint
	base     http.RoundTripper
}

// RoundTrip sends r. Its error is a *sdk.TransportError.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	pause := firstPause
	for n := 1; ; n++ {
		res, err := p.base.RoundTrip(r)
		if err == nil {
			return res, nil
		}
		err = lost(r, err)
		dial, ok := errors.AsType[*net.OpError](err)
		if !ok || dial.Op != "dial" || r.Method != http.MethodPost || n == attempts || p.endpoint.waits == nil {
			return nil, err
		}
		p.endpoint.waits(pause)
		if !wait(r.Context(), pause) {
			return nil, err
		}
		pause, r = min(2*pause, lastPause), again(r, "")
	}
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

// lost says that err has kept the answer to r away.
func lost(r *http.Request, err error) error {
	return &sdk.TransportError{Method: r.Method, URL: r.URL.String(), Attempts: 1, Err: err}
}

// digestible is res as the SDK takes it: a stream, a message in JSON, or nothing where nobody waits for an answer. The error is for all
// else, at which the SDK would give up the connection.
func (e *Endpoint) digestible(res *http.Response, m *jsonrpc.Request) (*http.Response, error) {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	good := res.StatusCode/100 == 2
	gone := res.StatusCode == http.StatusNotFound && res.Request.Header.Get(headerSession) != "" // whatever it says besides
	if good && (kind == streamType || !m.IsCall()) {
		return res, nil
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	_ = res.Body.Close() // there is nothing to write
	if err != nil {
		return nil, lost(res.Request, fmt.Errorf("read the answer: %w", err))
	}
	if len(text) > maxAnswer {
		return nil, lost(res.Request, fmt.Errorf("the answer is longer than %d MiB", maxAnswer>>20))
	}
	res.Body = io.NopCloser(bytes.NewReader(text))
	said, err := jsonrpc.DecodeMessage(text)
	answer, ok := said.(*jsonrpc.Response)
	fault := faultIn(text)
	switch {
	case gone:
		return nil, sdk.ErrorOf(res)
	case err == nil && ok && answer.ID == m.ID:
		res.StatusCode = http.StatusOK
		res.Header.Set("Content-Type", "application/json")
		return res, nil
	case fault != nil:
		return nil, fault
	case good && (err == nil || len(text) == 0):
		return nil, lost(res.Request, errUnanswered)
	}
	return nil, cmp.Or(e.unpaid(res), sdk.ErrorOf(res))
}

// faultIn is the error in an answer about a message that the service could not read, nil if there is none.
func faultIn(text []byte) *jsonrpc.Error {
	var answer struct {
		Version string `json:"jsonrpc"`
		Error   *jsonrpc.Error
	}
	if json.Unmarshal(text, &answer) != nil || answer.Version == "" {
		return nil
	}
	return answer.Error
}

// receipt reports an answer that does not say that it was paid for.
func receipt(r *http.Request, body []byte) error {
	asked := sent(r)
	if !priced(asked) {
		return nil
	}
	m, err := jsonrpc.DecodeMessage(body)
	answer, ok := m.(*jsonrpc.Response)
	if err != nil || !ok || answer.ID != asked.ID {
		return errors.New("the service answered with something else")
	}
	if answer.Error != nil { // about a paid call: no answer to hand on
		return errors.New(answer.Error.Error())
	}
	var result struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(answer.Result, &result) != nil || result.Meta[metaReceipt] == nil {
		return errors.New("the answer has no receipt")
	}
	return nil
}

// write writes to the service. Its error is that of the endpoint, without the SDK's around it.
func write(ctx context.Context, c mcp.Connection, m jsonrpc.Message) error {
	err := c.Write(ctx, m)
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// exchange makes a call on a connection that nobody else reads, and returns its result.
func (e *Endpoint) exchange(ctx context.Context, c mcp.Connection, r *jsonrpc.Request) (json.RawMessage, error) {
	if err := write(ctx, c, r); err != nil {
		return nil, err
	}
	for {
		m, err := c.Read(ctx)
		if err != nil {
			return nil, e.unanswered(err)
		}
		if answer, ok := m.(*jsonrpc.Response); ok && answer.ID == r.ID {
			return e.honest(r.Method, answer.Result), e.refusal(answer)
		}
	}
}

// refusal is the error of an answer: a *jsonrpc.Error of the service, or that there was none, which the SDK says with an answer of its own.
func (e *Endpoint) refusal(answer *jsonrpc.Response) error {
	if _, said := answer.Error.(*jsonrpc.Error); said || answer.Error == nil {
		return answer.Error
	}
	return e.unanswered(errUnanswered)
}

// unanswered says that err has kept an answer away.
func (e *Endpoint) unanswered(err error) error {
	return &sdk.TransportError{Method: http.MethodPost, URL: e.url, Attempts: 1, Err: err}
}

// ownCall is a call of our own. On a connection that others use too, its id is none of theirs.
func ownCall(id any, method string, params any) (*jsonrpc.Request, error) {
	raw, err := cli.Marshal(params)
	if err != nil {
		return nil, err
	}
	own, err := jsonrpc.MakeID(id)
	return &jsonrpc.Request{ID: own, Method: method, Params: raw}, err
}

// ask calls a method without a session and returns its result.
func (e *Endpoint) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	r, err := ownCall(1.0, method, params)
	if err != nil {
		return nil, err
	}
	c, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	result, err := e.exchange(ctx, c, r)
	if err == nil {
		err = e.proven(ctx, r, result)
	}
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return nil, cli.Invalid("%s: %s", method, wire.Message).WithHint("ctx mcp tools")
	}
	return result, err
}
