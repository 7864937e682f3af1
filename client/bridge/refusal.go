package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// codeRefused is the JSON-RPC code of a call that the service refuses; the data says why.
const codeRefused = -32000

// failed is the answer that a call has failed with err. What the service refuses a tool for, and what was not paid, or paid for nothing, a
// model gets to read, as it does where a key is sent.
func (r *relay) failed(c *openCall, err error) *jsonrpc.Response {
	e := r.readable(err)
	wire := &jsonrpc.Error{Code: codeRefused, Message: err.Error()}
	if said, ok := errors.AsType[*jsonrpc.Error](err); ok {
		wire = said
	}
	if e != nil {
		body := refused{Payment: e.Payment}
		body.Error.Error, body.Error.RetryAfter = e, int64(math.Ceil(e.RetryAfter.Seconds()))
		text, _ := jsonx.Encode(body) // texts can always be written
		if c.Method == methodCall && e.Reason != "" {
			result, _ := jsonx.Encode(mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}})
			return &jsonrpc.Response{ID: c.ID, Result: result}
		}
		wire.Message, wire.Data = strings.TrimPrefix(fmt.Sprintf("%d %s", e.Status, e), "0 "), text
		if e.Hint != "" {
			wire.Message += "; " + e.Hint
		}
	}
	return &jsonrpc.Response{ID: c.ID, Error: wire}
}

// refused is an error as a service writes it into the result of a tool.
type refused struct {
	Error struct {
		*api.Error
		RetryAfter int64 `json:"retryAfter,omitempty"` // seconds, rounded up
	} `json:"error"`
	Payment *api.PaymentRequirements `json:"payment,omitempty"`
}

// readable is err as the error of an API, nil where no service and no wallet has said anything.
func (r *relay) readable(err error) *api.Error {
	f := r.Failure(err)
	if f == nil {
		return nil
	}
	if e, ok := errors.AsType[*api.Error](f.Err); ok {
		return e
	}
	if f.Exit != cli.ExitPaid && f.Exit != cli.ExitCap && f.Exit != cli.ExitChain {
		return nil
	}
	return &api.Error{Code: f.Code(), Reason: api.Reason(f.Reason), Message: f.Error(), Hint: f.Hint}
}

// refusalOf is the error in the text of a result.
func refusalOf(text string) error {
	var body struct {
		Error *struct {
			api.Error
			RetryAfter int `json:"retryAfter"`
		}
		Payment *api.PaymentRequirements
	}
	if json.Unmarshal([]byte(text), &body) != nil || body.Error == nil || body.Error.Code == "" {
		return fmt.Errorf("the tool failed: %s", text)
	}
	e := body.Error.Error
	_, e.Status = e.Reason.Answer()
	e.RetryAfter, e.Payment = time.Duration(body.Error.RetryAfter)*time.Second, body.Payment
	return &e
}
