package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// codeRefused is the JSON-RPC code of a read that is refused for a reason of the API, which is in the error's data. It is one of those
// that a server may choose.
const codeRefused = -32000

// known reports whether the SDK knows a method of clients.
func known(method string) bool {
	_, ok := paramsOf(method)
	return ok || strings.HasPrefix(method, "notifications/") && (method == "notifications/initialized" ||
		method == "notifications/cancelled" || method == "notifications/progress" || method == "notifications/roots/list_changed")
}

// paramsOf is a new value of the type that the SDK reads the params of a call into.
func paramsOf(method string) (params any, ok bool) {
	switch method {
	case methodInitialize:
		return new(sdk.InitializeParams), true
	case methodCall:
		return new(sdk.CallToolParamsRaw), true
	case methodTools:
		return new(sdk.ListToolsParams), true
	case "resources/list":
		return new(sdk.ListResourcesParams), true
	case "resources/templates/list":
		return new(sdk.ListResourceTemplatesParams), true
	case methodRead:
		return new(sdk.ReadResourceParams), true
	case methodSubscribe:
		return new(sdk.SubscribeParams), true
	case "resources/unsubscribe":
		return new(sdk.UnsubscribeParams), true
	case methodListen:
		return new(sdk.SubscriptionsListenParams), true
	case "prompts/list":
		return new(sdk.ListPromptsParams), true
	case methodPrompt:
		return new(sdk.GetPromptParams), true
	case "completion/complete":
		return new(sdk.CompleteParams), true
	case methodSkills, methodSkill:
		return new(skillParams), true
	case "ping", "server/discover", "logging/setLevel":
		return new(map[string]any), true
	}
	return nil, false
}

// check reports a call that the SDK would answer with a status or a code that says less: one that it does not know, in the older era,
// and one whose params have other types.
func (s *Server) check(r *http.Request, m message) error {
	if !m.IsCall() {
		return nil
	}
	params, ok := paramsOf(m.Method)
	switch {
	case !ok && r.Header.Get(headerVersion) >= modernVersion: // the SDK answers as that era asks
		return nil
	case !ok:
		return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "there is no method " + m.Method}
	case m.Params == nil:
		return nil
	}
	if err := json.Unmarshal(m.Params, params); err != nil {
		why := web.JSONFault(err)
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the params of " + m.Method + " cannot be read: " + why}
	}
	return nil
}

// writeFault answers m with what is wrong with it: what is no message with status 400, what was asked wrongly with 200.
func writeFault(w http.ResponseWriter, m message, err error) error {
	status, wire := http.StatusOK, &jsonrpc.Error{Code: jsonrpc.CodeInternalError}
	if fault := (*parseError)(nil); errors.As(err, &fault) {
		status, wire = http.StatusBadRequest, &jsonrpc.Error{Code: int64(fault.Code), Message: fault.Message}
	} else {
		_ = errors.As(err, &wire) // there is no third kind
	}
	return writeRPC(w, status, m.ID, wire)
}

// writeRPC answers with a JSON-RPC error.
func writeRPC(w http.ResponseWriter, status int, id json.RawMessage, wire *jsonrpc.Error) error {
	if id == nil {
		id = json.RawMessage("null")
	}
	if wire.Data == nil {
		wire.Data, _ = json.Marshal(map[string]string{"requestId": w.Header().Get(api.HeaderRequestID)}) // a text can always be written
	}
	w.Header().Set("Cache-Control", "no-store")
	return web.WriteJSON(w, status, struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, wire})
}

// failure answers with what the SDK has refused r for: a POST that was read as a JSON-RPC error, else the envelope.
func (s *Server) failure(w http.ResponseWriter, r *http.Request, m message, status int, text string) error {
	reason, hint := api.ReasonInvalidRequest, "see the transport of the Model Context Protocol"
	switch status {
	case http.StatusBadRequest:
		if r.Method == http.MethodPost {
			return writeRPC(w, status, m.ID, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: text})
		}
	case http.StatusUnauthorized:
		reason, hint = api.ReasonInvalidToken, "send Authorization: Bearer <API_KEY>"
	case http.StatusForbidden:
		reason, text, hint = api.ReasonInvalidSession, "the session belongs to another key", "initialize another session"
	case http.StatusNotFound:
		return noSession()
	case http.StatusMethodNotAllowed:
		reason = api.ReasonMethodNotAllowed
	case http.StatusConflict:
		text, hint = "the session has a stream already", "close that stream first, or initialize another session"
	case http.StatusUnsupportedMediaType:
		hint = "send Content-Type: application/json"
	}
	if status >= http.StatusInternalServerError {
		return errors.New("mcp: " + text)
	}
	e := api.Errorf(reason, "%s", text).WithHint("%s", hint).WithStatus(status)
	if status == http.StatusForbidden {
		e.Code = api.CodeAuthInvalid
	}
	return e
}

// refusal is the JSON of an error as a model gets to read it.
type refusal struct {
	Error struct {
		*api.Error
		RetryAfter int64 `json:"retryAfter,omitempty"` // seconds, rounded up
	} `json:"error"`
	Payment *api.PaymentRequirements `json:"payment,omitempty"`
}

// writeRefusal answers the call m of a tool, which came with r, with err, which its caller need not pay for, as a result that a model can
// act on.
func writeRefusal(w http.ResponseWriter, r *http.Request, m message, err error) error {
	text, _ := refusalText(err, w.Header().Get(api.HeaderRequestID))
	result, err := json.Marshal(refusedResult(text))
	if err == nil && r.Header.Get(headerVersion) >= modernVersion { // in which every result says what it is
		result = append([]byte(`{"resultType":"complete",`), result[1:]...)
	}
	return errors.Join(err, writeResult(w, m, json.RawMessage(result)))
}

// writeResult answers m with a result, beside the SDK.
func writeResult(w http.ResponseWriter, m message, result any) error {
	return web.WriteJSON(w, http.StatusOK, struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", m.ID, result})
}

// refusalText is err as a model gets to read it, and what it stands for.
func refusalText(err error, requestID string) (text []byte, e *api.Error) {
	answer := *api.AsError(err)
	e = &answer
	e.RequestID = requestID
	var r refusal
	r.Error.Error, r.Payment = e, e.Payment
	r.Error.RetryAfter = int64(math.Ceil(e.RetryAfter.Seconds()))
	text, _ = json.Marshal(r) // an error can always be written
	return text, e
}

// refuse is the JSON of what err stands for. A cause that is not the caller's is logged here, once, and not sent. Who pays by call gets
// the error as the answer of the request instead.
func (s *Server) refuse(rq *request, err error) (e *api.Error, text []byte) {
	text, e = refusalText(err, rq.id)
	if rq.payer() && !rq.inBand {
		rq.refused = err
	} else if _, whole := err.(*api.Error); !whole && e.Status >= http.StatusInternalServerError && rq.ctx.Err() == nil && !s.outage(err) {
		s.cfg.Logger.Error("call failed", "request_id", rq.id, "path", api.PathMCP, "error", err)
	}
	return e, text
}

// outage reports whether err is part of an outage, which is logged once.
func (s *Server) outage(err error) bool { return s.cfg.Outage != nil && s.cfg.Outage(err) }

// failed is err as the result of a tool: a text that a model can act on, and nothing that a client could take for an answer.
func (s *Server) failed(rq *request, err error) *sdk.CallToolResult {
	e, text := s.refuse(rq, err)
	if rq.inBand {
		return s.refusedInBand(rq, e, text)
	}
	return refusedResult(text)
}

func refusedResult(text []byte) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}
}

// refusedRead is err as the error of a read.
func (s *Server) refusedRead(rq *request, err error) *jsonrpc.Error {
	e, text := s.refuse(rq, err)
	code := int64(codeRefused)
	if e.Status == http.StatusNotFound || e.Status == http.StatusBadRequest {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: e.Error(), Data: text}
}

// wireError is err with a code: what has none is a failure of ours, told with the id of the request alone.
func (s *Server) wireError(rq *request, method string, err error) error {
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &wire) && wire.Code != 0:
		return &jsonrpc.Error{Code: wire.Code, Message: err.Error(), Data: wire.Data}
	case errors.Is(err, context.Canceled):
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "cancelled"}
	}
	id := ""
	if rq != nil {
		id = rq.id
	}
	if !s.outage(err) {
		s.cfg.Logger.Error("call failed", "request_id", id, "path", api.PathMCP, "method", method, "error", err)
	}
	data, _ := json.Marshal(map[string]string{"requestId": id}) // a text can always be written
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server failed to answer and logged why", Data: data}
}
