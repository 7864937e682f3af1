package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/client/output"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// Names of the protocol.
const (
	methodCall    = "tools/call"
	methodRead    = "resources/read"
	streams       = "application/json, text/event-stream"
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	metaReceipt   = "x402/payment-response" // in the _meta of a result that was paid for
)

const (
	maxAnswer  = 16 << 20 // bytes
	maxPending = 15       // times that a payment is shown again while the chain has not shown it
)

// endpoint is the MCP address of a service. It sends messages with the key, or pays for them.
type endpoint struct {
	service, url string
	key          sdk.Key
	http         *http.Client
	timeout      time.Duration // of a call of ask

	paying sync.Mutex // one payment at a time; guards what follows
	payer  sdk.Payer  // nil if there is a key
	opened string     // the proof that opens handshake and lists, "" before it was paid for
}

// newEndpoint makes the endpoint of the settings. names is how tools are listed, "" as the service does.
func newEndpoint(a *App, names string) (*endpoint, error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	client, err := a.Client() // checks the address and the key
	if err != nil {
		return nil, err
	}
	e := &endpoint{service: client.BaseURL(), key: client.Key(), timeout: c.Timeout()}
	e.http = &http.Client{Transport: a.HTTP(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	e.url = e.service + api.PathMCP
	if names != "" {
		e.url += "?names=" + names
	}
	if a.Pays() {
		e.payer = a.Purse()
	}
	return e, nil
}

// message is what the endpoint looks at in a JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		Arguments json.RawMessage `json:"arguments"`
		RequestID json.RawMessage `json:"requestId"` // of a cancellation
		Meta      struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// isCall reports whether m asks for an answer.
func (m message) isCall() bool { return m.Method != "" && len(m.ID) > 0 }

// priced reports whether m has a price of its own.
func (m message) priced() bool {
	return m.Method == methodCall && !isSubscribe(m.Params.Name) || m.Method == methodRead
}

// request names what m asks for, in the journal of payments: the same for the same.
func (m message) request() string {
	if !m.priced() {
		return "POST " + api.PathMCP
	}
	var arguments bytes.Buffer
	if json.Compact(&arguments, m.Params.Arguments) != nil { // there are none
		arguments.Reset()
	}
	return strings.TrimSpace("POST " + api.PathMCP + " " + m.Method + " " + m.Params.Name + m.Params.URI + " " + arguments.String())
}

// isSubscribe reports whether a tool is one that cannot be paid by call.
func isSubscribe(name string) bool { return strings.HasSuffix(name, string(api.OpSubscribe)) }

// send posts the message body, with more headers, and pays for it if the service asks for that and there is a wallet.
func (e *endpoint) send(ctx context.Context, m message, body []byte, header http.Header) (*http.Response, error) {
	e.paying.Lock()
	payer, opened := e.payer, e.opened
	e.paying.Unlock()
	proof := ""
	if !m.priced() {
		proof = opened
	}
	res, err := e.post(ctx, body, header, proof)
	if err != nil || payer == nil || res.StatusCode != http.StatusPaymentRequired || isSubscribe(m.Params.Name) {
		return res, err
	}
	e.paying.Lock()
	defer e.paying.Unlock()
	if !m.priced() && e.opened != opened { // another message has paid for it meanwhile
		_ = res.Body.Close()
		return e.post(ctx, body, header, e.opened)
	}
	return e.pay(ctx, m, body, header, failure(res))
}

// pay pays what asked asks for and posts the message with the proof. The caller holds paying.
func (e *endpoint) pay(ctx context.Context, m message, body []byte, header http.Header, asked *api.Error) (*http.Response, error) {
	if asked.Payment == nil {
		return nil, asked
	}
	paid, err := e.payer.Pay(ctx, sdk.Quote{PaymentRequirements: *asked.Payment, Service: e.service, Request: m.request()})
	if err != nil {
		return nil, fmt.Errorf("pay %s %s: %w", asked.Payment.Amount, asked.Payment.Asset, err)
	}
	text, err := json.Marshal(paid)
	if err != nil {
		return nil, fmt.Errorf("encode proof: %w", err)
	}
	proof := base64.StdEncoding.EncodeToString(text)
	for range maxPending {
		res, err := e.post(ctx, body, header, proof)
		if err != nil {
			return nil, &sdk.PaidError{Proof: paid, Err: err}
		}
		switch {
		case res.StatusCode == http.StatusServiceUnavailable:
			refused := failure(res)
			select {
			case <-ctx.Done():
				return nil, &sdk.PaidError{Proof: paid, Err: refused}
			case <-time.After(max(refused.RetryAfter, 100*time.Millisecond)):
			}
			continue
		case res.StatusCode == http.StatusPaymentRequired:
			refused := failure(res)
			return nil, &sdk.PaidError{Proof: paid, Err: errors.Join(refused, e.payer.Settled(paid, refused))}
		case res.StatusCode/100 != 2: // nobody has answered: the payment is as good as before
			return nil, &sdk.PaidError{Proof: paid, Err: failure(res)}
		case m.priced():
			if err := receipt(res); err != nil {
				return nil, &sdk.PaidError{Proof: paid, Err: err}
			}
		default:
			e.opened = proof
		}
		return res, e.payer.Settled(paid, nil)
	}
	return nil, &sdk.PaidError{Proof: paid, Err: errors.New("the service does not see the payment")}
}

// receipt reports an answer that does not say that it was paid for. It leaves res to be read again.
func receipt(res *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	res.Body = io.NopCloser(bytes.NewReader(text))
	var answer struct {
		Result struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
		Error struct{ Message string }
	}
	switch err := json.Unmarshal(text, &answer); {
	case err != nil:
		return fmt.Errorf("the service answered %s, and no message", res.Status)
	case answer.Result.Meta[metaReceipt] != nil:
		return nil
	case answer.Error.Message != "":
		return errors.New(answer.Error.Message)
	}
	return errors.New("the answer has no receipt")
}

// post posts body once.
func (e *endpoint) post(ctx context.Context, body []byte, header http.Header, proof string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	if proof != "" {
		req.Header.Set(api.HeaderPayment, proof)
	}
	return e.do(req)
}

// do sends req with the key. It goes where the settings say and nowhere else: the key and the proof are for that service.
func (e *endpoint) do(req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", "ctx/"+build.Read().Version)
	if !e.key.IsZero() {
		req.Header.Set("Authorization", "Bearer "+e.key.Secret())
	}
	res, err := e.http.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return nil, &sdk.TransportError{Method: req.Method, URL: e.url, Attempts: 1, Err: err}
	}
	if res.StatusCode/100 == 3 {
		_ = res.Body.Close()
		return nil, api.Errorf("", "the service answered %s, a redirect to %q, which is not followed", res.Status, res.Header.Get("Location")).
			WithHint("ctx config set base_url URL").WithStatus(res.StatusCode)
	}
	return res, nil
}

// failure reads the error of an answer, and closes it.
func failure(res *http.Response) *api.Error {
	defer res.Body.Close()
	var body api.ErrorBody
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil || json.Unmarshal(text, &body) != nil || body.Error == nil || body.Error.Code == "" {
		return api.Errorf("", "the service answered %s", res.Status).WithStatus(res.StatusCode)
	}
	e := body.Error
	e.Status, e.Payment = res.StatusCode, body.Payment
	if seconds, err := strconv.Atoi(res.Header.Get(api.HeaderRetryAfter)); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

// ask calls a method without a session and returns its result.
func (e *endpoint) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	body, err := output.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	res, err := e.send(ctx, m, body, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, failure(res)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, &sdk.TransportError{Method: http.MethodPost, URL: e.url, Err: err}
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	switch err := json.Unmarshal(text, &answer); {
	case err != nil:
		return nil, fmt.Errorf("read the answer of %s: %w", e.url, err)
	case answer.Error != nil:
		return nil, Invalid("%s: %s", method, answer.Error.Message).WithHint("ctx mcp tools")
	}
	return answer.Result, nil
}
