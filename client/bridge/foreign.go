package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// metaPayment is where the parameters of a tool carry a payment.
const metaPayment = "x402/payment"

// foreign is a service of somebody else, which is paid by x402: over HTTP, where it answers 402, or in the parameters of a tool, where its
// result says how.
type foreign struct {
	service string // scheme and host
	path    string // of the endpoint, as the journal names requests
}

// NewForeign makes the endpoint of an MCP server of somebody else: no key goes there, and tools are listed as it lists them.
func NewForeign(c Config) (*Endpoint, error) {
	u, err := url.Parse(c.Service)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, cli.Invalid("--url is not http://… or https://…")
	}
	u.Host, u.Fragment = strings.ToLower(u.Host), "" // as the journal knows it
	if u.Path == "" {
		u.Path = "/"
	}
	f := &foreign{service: u.Scheme + "://" + u.Host, path: u.RequestURI()}
	e := &Endpoint{url: u.String(), timeout: c.Timeout, foreign: f}
	e.paying = sdk.PayTransport{Payer: c.Payer, Service: f.service, Base: patient{e, c.HTTP}, Patience: maxPending,
		Answered: answered, Schemes: []sdk.Scheme{sdk.Exact{}},
		Name: func(r *http.Request) (string, bool) { return nameAt(f.path, sent(r)), false }}
	return e, nil
}

// answered says that the body of a paid answer, of JSON or of events, holds no answer to what r asks.
func answered(r *http.Request, body []byte) error {
	asked := sent(r)
	if asked.Method == "" || !asked.ID.IsValid() { // nothing is expected
		return nil
	}
	for _, line := range append(bytes.Split(body, []byte("\n")), body) {
		m, err := jsonrpc.DecodeMessage(bytes.TrimPrefix(line, []byte("data:")))
		if answer, ok := m.(*jsonrpc.Response); err == nil && ok && answer.ID == asked.ID {
			return nil
		}
	}
	return errors.New("the service answered with something else")
}

// askedError says that the result of a tool is how it is paid.
type askedError struct{ required []byte }

// Error says so.
func (*askedError) Error() string { return "the tool is to be paid" }

// The extension by which a service asks for the payment of a call: its name, the results that ask, and where a request says that its client
// knows it, in the era without handshakes.
const (
	extensionPayment  = "org.x402/payment"
	resultRequired    = "payment_required"
	metaVersion       = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities  = "io.modelcontextprotocol/clientCapabilities"
	memberExtensions  = "extensions"
	firstWithPayments = "2026-07-28"
)

// result is what is looked at in the result of a call that may be paid.
type result struct {
	ResultType        string                     `json:"resultType"`
	PaymentRequired   json.RawMessage            `json:"paymentRequired"`
	IsError           bool                       `json:"isError"`
	StructuredContent json.RawMessage            `json:"structuredContent"`
	Content           []struct{ Text string }    `json:"content"`
	Meta              map[string]json.RawMessage `json:"_meta"`
}

// asks returns how a result of method says that the call is paid; nil if it does not.
func (r *result) asks(method string) []byte {
	if r.ResultType == resultRequired {
		return r.PaymentRequired
	}
	if !r.IsError || method != methodCall {
		return nil
	}
	said := []json.RawMessage{r.StructuredContent}
	if len(r.Content) > 0 {
		said = append(said, json.RawMessage(r.Content[0].Text))
	}
	for _, text := range said {
		var head struct {
			X402Version int
			Accepts     json.RawMessage
		}
		if json.Unmarshal(text, &head) == nil && head.X402Version != 0 && head.Accepts != nil {
			return text
		}
	}
	return nil
}

// payable reports whether calls of method can be asked to pay in their results.
func payable(method string) bool {
	return method == methodCall || method == methodRead || method == methodPrompt
}

// advertising is m as it goes to a service that is paid: it says there that payments may be asked for by the extension. What is of an era
// that has none stays as it is.
func (e *Endpoint) advertising(m *jsonrpc.Request) *jsonrpc.Request {
	var members, meta, capabilities, extensions map[string]json.RawMessage
	var version string
	if e.foreign == nil || e.paying.Payer == nil || !payable(m.Method) || json.Unmarshal(m.Params, &members) != nil ||
		json.Unmarshal(members["_meta"], &meta) != nil || json.Unmarshal(meta[metaVersion], &version) != nil ||
		version < firstWithPayments {
		return m
	}
	if json.Unmarshal(meta[metaCapabilities], &capabilities) != nil || capabilities == nil {
		capabilities = map[string]json.RawMessage{}
	}
	if json.Unmarshal(capabilities[memberExtensions], &extensions) != nil || extensions == nil {
		extensions = map[string]json.RawMessage{}
	}
	extensions[extensionPayment] = json.RawMessage("{}")
	var errs [4]error
	capabilities[memberExtensions], errs[0] = cli.Marshal(extensions)
	meta[metaCapabilities], errs[1] = cli.Marshal(capabilities)
	members["_meta"], errs[2] = cli.Marshal(meta)
	params, err := cli.Marshal(members)
	if errs[3] = err; errors.Join(errs[:]...) != nil { // all of it was read as JSON
		return m
	}
	return &jsonrpc.Request{ID: m.ID, Method: m.Method, Params: params}
}

// judge reads the answer to a call of a tool of a foreign service, which the payment of c was sent with, if anything. An *askedError is in
// place of an answer.
func (e *Endpoint) judge(ctx context.Context, c *openCall, answer *jsonrpc.Response) error {
	var r result
	if e.foreign == nil || e.paying.Payer == nil || !payable(c.Method) || answer.Error != nil {
		return nil
	}
	if json.Unmarshal(answer.Result, &r) != nil { // the client judges it
		return nil
	}
	if text := r.asks(c.Method); text != nil {
		return &askedError{text}
	}
	if c.payment == nil {
		return nil
	}
	o := sdk.Outcome{}
	if text := r.Meta[metaReceipt]; text != nil {
		o.Receipt = sdk.ParseReceipt(text)
	}
	if r.IsError && (o.Receipt == nil || !o.Receipt.Success) { // who has failed settles nothing: the same call sends the same
		o.Unanswered = errors.New("the tool has failed")
	}
	return e.paying.Payer.Conclude(ctx, *c.payment, o)
}

// pay has the tool of c called again with a payment.
func (r *relay) pay(ctx context.Context, c *openCall, asked *askedError) error {
	f, payer := r.endpoint.foreign, r.endpoint.paying.Payer
	required, err := sdk.ParseRequired(asked.required)
	if err != nil {
		return err
	}
	q := sdk.Quote{Exact: &required, Service: f.service, Request: nameAt(f.path, c.Request)}
	_, err = sdk.PayAndShow(ctx, payer, q, func(p sdk.Payment) (none struct{}, err error) {
		paid, err := withPayment(c.Request, p)
		if err != nil {
			return none, err
		}
		ctx, again := r.begin(ctx, paid)
		again.payment = &p
		defer again.cancel()
		err = r.await(ctx, again)
		not := &sdk.PaidError{Payment: p, Err: err}
		if asked, ok := errors.AsType[*askedError](err); ok {
			refused := p.Refusal(asked.required)
			not.Refused = true
			o := sdk.Outcome{Refused: refused}
			not.Err = errors.Join(refused, payer.Conclude(context.WithoutCancel(ctx), p, o))
		}
		if _, within := errors.AsType[*sdk.PaidError](err); err == nil || within {
			return none, err
		}
		if !not.Refused {
			not.Err = errors.Join(err, payer.Conclude(context.WithoutCancel(ctx), p, sdk.Outcome{Unanswered: err}))
		}
		return none, not
	})
	return err
}

func withPayment(m *jsonrpc.Request, p sdk.Payment) (*jsonrpc.Request, error) {
	var members, meta map[string]json.RawMessage
	if err := json.Unmarshal(m.Params, &members); err != nil {
		return nil, err
	}
	_ = json.Unmarshal(members["_meta"], &meta) // which a client need not send
	if meta == nil {
		meta = map[string]json.RawMessage{}
	}
	meta[metaPayment] = p.Payload
	var err error
	if members["_meta"], err = cli.Marshal(meta); err != nil {
		return nil, err
	}
	text, err := cli.Marshal(members)
	return &jsonrpc.Request{ID: m.ID, Method: m.Method, Params: text}, err
}

// unpaid is an answer of a foreign service with 402 that nothing was paid for: why, where it is by x402.
func (e *Endpoint) unpaid(res *http.Response) error {
	if e.foreign == nil || res.StatusCode != http.StatusPaymentRequired || res.Header.Get(api.HeaderRequired) == "" {
		return nil
	}
	return &cli.Failure{Exit: cli.ExitPayment, Reason: string(api.ReasonPaymentRequired),
		Err: errors.New("the service wants to be paid, by x402"), Hint: "ctx mcp stdio --url URL --pay"}
}
