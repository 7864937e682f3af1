package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/sdk/api"
)

// Parts of the transport, for tests that look at one alone.
type (
	Fault        = parseError
	StreamConfig = streamConfig
	StreamWriter = streamWriter
)

const (
	CodeParse          = codeParse
	CodeInvalidRequest = codeInvalidRequest
)

// ParseMessage is parseMessage.
func ParseMessage(body []byte) (message, error) { return parseMessage(body) }

// NewStreamWriter is newStreamWriter.
func NewStreamWriter(w http.ResponseWriter, cfg StreamConfig) *StreamWriter {
	return newStreamWriter(w, cfg)
}

// NewSessionTable is newSessionTable.
func NewSessionTable(l SessionLimits, idle time.Duration, credits func(context.Context, gate.Caller) (bool, error),
	now func() time.Time) *sessionTable {
	return newSessionTable(l, idle, credits, now)
}

// ToolName is toolName.
func ToolName(prefix string, op api.Op) string { return toolName(prefix, op) }

// ToolAlias is toolAlias.
func ToolAlias(prefix string, op api.Op) string { return toolAlias(prefix, op) }

// ToolOp is toolOp.
func ToolOp(prefix, name string) (api.Op, bool) { return toolOp(prefix, name) }

// ToolList is toolList.
func ToolList(prefix string, packs ...string) []*sdk.Tool { return toolList(prefix, packs, false) }

// ToolArguments is toolArguments.
func ToolArguments(op api.Op, raw json.RawMessage) (url.Values, error) { return toolArguments(op, raw) }

// ResolveMoment is resolveMoment.
func ResolveMoment(op api.Op, values url.Values, now time.Time) string {
	return resolveMoment(op.Operation(), values, now)
}

// ToolText is toolText.
func ToolText(op api.Op, pack string, body []byte) string { return toolText(op, pack, body) }

// NewFront makes a Server whose checks, routes and writer stand before other handlers than the SDK's, for tests with servers that have what
// ours has no use for.
func NewFront(cfg Config, stateful, stateless, bare http.Handler) *Server {
	s := New(cfg)
	s.stateful, s.stateless, s.bare = stateful, stateless, bare
	return s
}

// Kept is how many requests are findable by a reference.
func (s *Server) Kept() (n int) {
	s.requests.Range(func(any, any) bool { n++; return true })
	return n
}

// TextOf is textOf.
func TextOf(q api.Query, a reader.Answer, body []byte) string { return textOf(q, a, body) }
