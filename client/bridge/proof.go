package bridge

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// proven checks what proves the result of a call of a tool, as ctx does with every answer over HTTP. Of the whole state it is an error that
// it names no leaf, where the log is known.
func (e *Endpoint) proven(ctx context.Context, m *jsonrpc.Request, result json.RawMessage) error {
	if e.check == nil || m.Method != methodCall {
		return nil
	}
	var answer struct {
		Meta struct {
			Proof api.Proof `json:"contextd/proof"`
		} `json:"_meta"`
		StructuredContent json.RawMessage
		IsError           bool
	}
	if json.Unmarshal(result, &answer) != nil || answer.IsError {
		return nil // the client judges it
	}
	p := paramsOf(m)
	named := answer.Meta.Proof
	if named == (api.Proof{}) && !strings.HasSuffix(p.Name, string(api.OpFresh)) {
		return nil
	}
	var arguments struct{ Pack string }
	_ = json.Unmarshal(p.Arguments, &arguments) // the service judges them
	if arguments.Pack == "" {
		arguments.Pack = api.DefaultPack
	}
	return e.check(ctx, arguments.Pack, named, &sdk.Response{Body: plain(answer.StructuredContent)})
}

// plain is JSON as states are hashed: on the way through MCP, what HTML gives a meaning was escaped.
func plain(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		escapes := map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}
		if char, ok := escapes[string(text[i:min(i+6, len(text))])]; ok {
			out, i = append(out, char), i+5
			continue
		}
		out, i = append(out, text[i], text[i+1]), i+1 // a backslash that is escaped begins nothing
	}
	return out
}
