package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/watch"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// extensionEvents is the extension MCP Events. Clients look for it among the extensions, or for its short name among the capabilities.
const (
	extensionEvents  = "io.modelcontextprotocol/events"
	capabilityEvents = "events"
	methodsOfEvents  = "events/"
)

// finalCodes chooses the error codes of the final text of MCP Events in place of those that its clients know.
const finalCodes = false

// eventFault is what is wrong with a call of MCP Events.
type eventFault int

// The faults, in the order of their codes.
const (
	faultNotFound eventFault = iota
	faultForbidden
	faultExhausted
	faultUnsupported
	faultCallback
	faultParams
)

func (f eventFault) code() int64 {
	switch {
	case f == faultParams:
		return jsonrpc.CodeInvalidParams
	case finalCodes:
		return -32023 - int64(f)
	}
	return -32011 - int64(f)
}

// faultOf is what an error of the API is to a client of MCP Events, with what it is told beside.
func faultOf(e *api.Error) (f eventFault, data map[string]any) {
	switch e.Reason {
	case api.ReasonInvalidType:
		return faultNotFound, map[string]any{"kind": "event"}
	case api.ReasonWatchNotFound:
		return faultNotFound, map[string]any{"kind": "subscription"}
	case api.ReasonTooManyWatches:
		return faultExhausted, map[string]any{"limit": "subscriptions", "max": api.WatchesPerKey}
	case api.ReasonInsufficient, api.ReasonQuotaExhausted, api.ReasonDailySpent:
		return faultExhausted, map[string]any{"limit": "credits", "max": 0}
	case api.ReasonRateLimited:
		return faultExhausted, map[string]any{"limit": "rate", "max": api.WatchPolls}
	case api.ReasonInvalidDelivery, api.ReasonCallbackRefused:
		return faultCallback, map[string]any{"reason": string(e.Reason)}
	}
	if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden || e.Status == http.StatusPaymentRequired {
		return faultForbidden, map[string]any{}
	}
	return faultParams, map[string]any{}
}

// eventCall is a call of MCP Events.
type eventCall struct {
	Name      api.WatchType   `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Cursor    *string         `json:"cursor"`
	MaxAgeMs  int64           `json:"maxAgeMs"`
	MaxEvents int             `json:"maxEvents"`
	TTLMs     json.RawMessage `json:"ttlMs"` // absent is another thing than null
	Delivery  struct {
		Mode   string `json:"mode"`
		URL    string `json:"url"`
		Secret string `json:"secret"`
	} `json:"delivery"`
}

// request is the watch that c subscribes to.
func (c eventCall) request() api.WatchRequest {
	r := api.WatchRequest{Type: c.Name, Arguments: c.Arguments, Delivery: api.WatchDelivery{
		Type: api.DeliverWebhook, URL: c.Delivery.URL, Secret: c.Delivery.Secret,
	}}
	if c.Cursor != nil {
		r.Cursor = *c.Cursor
	}
	return r
}

// reading is what c reads.
func (c eventCall) reading() watch.Reading {
	r := watch.Reading{Type: c.Name, Arguments: c.Arguments, Age: time.Duration(max(c.MaxAgeMs, 0)) * time.Millisecond}
	if c.Cursor != nil {
		r.Cursor = *c.Cursor
	}
	return r
}

// ttl is how long a subscription is to last, within the bounds.
func (c eventCall) ttl() (time.Duration, error) {
	const usual, least, most = time.Hour, 5 * time.Minute, 24 * time.Hour
	switch text := string(c.TTLMs); text {
	case "":
		return usual, nil
	case "null":
		return most, nil
	}
	var ms float64
	if err := json.Unmarshal(c.TTLMs, &ms); err != nil {
		return 0, api.Errorf(api.ReasonInvalidRequest, "ttlMs is neither a number nor null")
	}
	return time.Duration(min(max(ms, float64(least.Milliseconds())), float64(most.Milliseconds()))) * time.Millisecond, nil
}

// eventType is a type of events as clients choose among them.
type eventType struct {
	Name          api.WatchType  `json:"name"`
	Description   string         `json:"description"`
	Delivery      []string       `json:"delivery"`
	InputSchema   map[string]any `json:"inputSchema"`
	PayloadSchema map[string]any `json:"payloadSchema"`
}

// answerEvents answers a call of MCP Events. It does without the SDK, which knows neither their params nor their errors.
func (s *Server) answerEvents(w http.ResponseWriter, rq *request, m message) error {
	result, err := s.events(w, rq, m)
	if err == nil && result == nil { // a stream, which was written
		return nil
	}
	w.Header().Set("Cache-Control", "no-store")
	if err == nil {
		return writeResult(w, m, result)
	}
	if wire := new(jsonrpc.Error); !errors.As(err, &wire) && api.AsError(err).Status >= http.StatusInternalServerError {
		return err
	}
	return writeRPC(w, http.StatusOK, m.ID, wireOf(err))
}

// events is the result of a call of MCP Events; nil for a stream, which is written to w.
func (s *Server) events(w http.ResponseWriter, rq *request, m message) (map[string]any, error) {
	ctx, c := rq.ctx, eventCall{}
	if m.Params != nil {
		if err := json.Unmarshal(m.Params, &c); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the params cannot be read: " + web.JSONFault(err)}
		}
	}
	switch strings.TrimPrefix(m.Method, methodsOfEvents) {
	case "list":
		return s.listEvents(), nil
	case "poll":
		return s.pollEvents(ctx, rq, c)
	case "stream":
		return nil, s.streamEvents(w, rq, m.ID, c)
	case "subscribe":
		return s.subscribeEvents(ctx, rq, c)
	case "unsubscribe":
		return map[string]any{"resultType": "complete"}, s.cfg.Watches.Unsubscribe(ctx, rq.caller, c.request())
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "there is no method " + m.Method}
}

func (s *Server) listEvents() map[string]any {
	list := []eventType{}
	for _, t := range api.WatchTypes() {
		delivery := []string{"poll", "push", "webhook"}
		if t == api.WatchCreditsLow {
			delivery = []string{"webhook"}
		}
		list = append(list, eventType{t, t.Describe(), delivery, t.InputSchema(*s.packs.Load()), t.PayloadSchema()})
	}
	return map[string]any{"resultType": "complete", "events": list}
}

// pollEvents reads events by cursor. A page with events costs a call, an empty one nothing.
func (s *Server) pollEvents(ctx context.Context, rq *request, c eventCall) (map[string]any, error) {
	if err := s.polls.Allow("key " + rq.caller.KeyID); err != nil {
		return nil, err
	}
	r := c.reading()
	r.Limit = c.MaxEvents
	a, err := api.ParseWatch(c.Name, c.Arguments)
	if err != nil {
		return nil, err
	}
	served, err := gate.Serve(ctx, s.cfg.Gate, gate.Order[api.EventPage]{
		Credentials: rq.who, Op: api.OpWatch, Pack: packOf(a),
		Answer: func(ctx context.Context, _ gate.Caller) (api.EventPage, error) { return s.cfg.Watches.Read(ctx, r) },
		None:   func(p api.EventPage) bool { return len(p.Events) == 0 },
	})
	if err != nil {
		return nil, err
	}
	p := served.Answer
	return map[string]any{"resultType": "complete", "events": p.Events, "cursor": p.Cursor, "truncated": p.Truncated, "hasMore": p.HasMore,
		"nextPollMs": p.NextPollMs}, nil
}

func packOf(a api.WatchArguments) string {
	if a.Pack == "" {
		return api.DefaultPack
	}
	return a.Pack
}

func (s *Server) subscribeEvents(ctx context.Context, rq *request, c eventCall) (map[string]any, error) {
	if mode := c.Delivery.Mode; mode != "" && mode != "webhook" {
		return nil, unsupported("delivery", mode, "a subscription is delivered by webhook")
	}
	ttl, err := c.ttl()
	if err != nil {
		return nil, err
	}
	made, err := s.cfg.Watches.Subscribe(ctx, rq.who, c.request(), ttl)
	if err != nil {
		return nil, err
	}
	w := made.Watch
	status := map[string]any{"active": w.Status == api.WatchActive, "lastDeliveryAt": w.LastDeliveryAt, "lastError": nil}
	if w.LastError != "" {
		status["lastError"], status["failedSince"] = w.LastError, w.FailedSince
	}
	return map[string]any{"resultType": "complete", "id": w.ID, "refreshBefore": w.ExpiresAt, "cursor": w.Cursor,
		"truncated": made.Truncated, "deliveryStatus": status}, nil
}

// advertised is a result that tells of the capabilities, with that of events among them: the SDK has no member for it.
type advertised struct{ sdk.Result }

// MarshalJSON is the result with the capability.
func (a advertised) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(a.Result)
	if err != nil {
		return nil, err
	}
	members, capabilities := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(text, &members), json.Unmarshal(members["capabilities"], &capabilities)); err != nil {
		return nil, err
	}
	capabilities[capabilityEvents] = json.RawMessage(`{"listChanged":true}`)
	if members["capabilities"], err = json.Marshal(capabilities); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

// advertise tells of MCP Events in res, if it is the place for that.
func (s *Server) advertise(res sdk.Result) sdk.Result {
	if s.cfg.Watches == nil {
		return res
	}
	switch told := res.(type) {
	case *sdk.InitializeResult:
		if told != nil {
			return advertised{res}
		}
	case *sdk.DiscoverResult:
		if told != nil {
			return advertised{res}
		}
	}
	return res
}
