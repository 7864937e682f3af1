package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/jsonx"
)

// Codes of JSON-RPC errors.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
)

type parseError struct {
	Code    int
	Message string
}

// Error is the message.
func (f *parseError) Error() string { return f.Message }

// invalid makes the parseError of a body that is JSON but no message.
func invalid(format string, args ...any) *parseError {
	return &parseError{codeInvalidRequest, fmt.Sprintf(format, args...)}
}

// message is one JSON-RPC message: a call, a notification (no ID) or an answer to a call of the server (no Method).
type message struct {
	ID     json.RawMessage // a string or a whole number; nil for a notification
	Method string          // "" for an answer
	Params json.RawMessage // an object, or nil
	Raw    []byte          // all of it
}

// IsCall reports whether m asks for an answer.
func (m message) IsCall() bool { return m.Method != "" && m.ID != nil }

// Text returns a member of the params that is a string, "" where there is none or it is something else.
func (m message) Text(name string) string {
	var text string
	if json.Unmarshal(member(m.Params, name), &text) != nil {
		return ""
	}
	return text
}

// Arguments returns the arguments of a call of a tool, nil where there are none.
func (m message) Arguments() json.RawMessage { return member(m.Params, "arguments") }

// Payment is what pays for m, as a header has it: base64 of a proof, or of a payment of standard x402 where exact is set; "" if there is
// none. There are clients that write base64 into the message, too.
func (m message) Payment() (value string, exact bool) {
	at := member(member(m.Params, "_meta"), metaPayment)
	switch {
	case isObject(at):
		return base64.StdEncoding.EncodeToString(at), x402.IsExact(at)
	case json.Unmarshal(at, &value) == nil:
		return value, x402.IsExactHeader(value)
	}
	return "", false
}

// SignIn is the sign-in of a wallet in m, as the header has it; "" for none. The standard has no binding for MCP: this member is what
// clients that sign in there send.
func (m message) SignIn() (value string) {
	at := member(member(m.Params, "_meta"), metaSignIn)
	if isObject(at) {
		return base64.StdEncoding.EncodeToString(at)
	}
	_ = json.Unmarshal(at, &value) // what it is not says nothing
	return value
}

// member is a member of an object, nil where there is none.
func member(object json.RawMessage, name string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return nil
	}
	return members[name]
}

// maxDepth bounds how deeply a body may be nested.
const maxDepth = 64

// parseMessage reads the message in body, or returns the *parseError to answer with.
func parseMessage(body []byte) (message, error) {
	if !utf8.Valid(body) {
		return message{}, &parseError{codeParse, "the body is not UTF-8"}
	}
	if !json.Valid(body) {
		return message{}, &parseError{codeParse, "the body is not one JSON value"}
	}
	body = bytes.TrimSpace(body)
	switch {
	case body[0] == '[':
		return message{}, invalid("batches are not taken: send one message at a time")
	case body[0] != '{':
		return message{}, invalid("the body is not a JSON object")
	}
	if err := unambiguous(body); err != nil {
		return message{}, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return message{}, &parseError{codeParse, "the body cannot be read"}
	}
	m, err := readMessage(members)
	m.Raw = body
	return m, err
}

func readMessage(members map[string]json.RawMessage) (message, error) {
	m := message{ID: members["id"], Params: members["params"]}
	if string(m.Params) == "null" {
		m.Params = nil
	}
	if err := spelled(members); err != nil {
		return message{}, err
	}
	switch {
	case string(members["jsonrpc"]) != `"2.0"`:
		return message{}, invalid(`jsonrpc is not "2.0"`)
	case m.ID != nil && !validID(m.ID):
		return message{}, invalid("id is neither a string nor a whole number; leave it out for a notification")
	case m.Params != nil && !isObject(m.Params):
		return message{}, invalid("params is not an object")
	}
	method, calls := members["method"]
	answers := members["result"] != nil || members["error"] != nil
	switch {
	case calls && answers:
		return message{}, invalid("a message is a call or an answer, not both")
	case answers && m.ID != nil:
		return m, nil
	case json.Unmarshal(method, &m.Method) != nil || m.Method == "":
		return message{}, invalid("method is missing or not a string")
	}
	return m, nil
}

// spelled reports a member that differs in case from one that has a meaning.
func spelled(members map[string]json.RawMessage) error {
	for name := range members {
		for _, known := range []string{"jsonrpc", "id", "method", "params", "result", "error"} {
			if name != known && strings.EqualFold(name, known) {
				return invalid("there is a member %q: it is spelled %q", name, known)
			}
		}
	}
	return nil
}

func isObject(value json.RawMessage) bool { return len(value) > 0 && value[0] == '{' }

// validID reports whether id can be echoed as it is: fractions and numbers that a double cannot hold come back as others.
func validID(id json.RawMessage) bool {
	const most = 15 // digits
	if id[0] == '"' {
		return true
	}
	digits := strings.TrimPrefix(string(id), "-")
	return len(digits) <= most && strings.Trim(digits, "0123456789") == ""
}

// unambiguous reports an object, anywhere in text, with two members whose names differ in case alone or not at all: which of them
// counts depends on who reads. The text is valid JSON.
func unambiguous(text []byte) error {
	var names []map[string]bool // of the objects around a value, by their depth; nil for an array
	return jsonx.Walk(text, func(v *jsonx.Value) error {
		if names = names[:v.Depth]; v.Depth > 0 && names[v.Depth-1] != nil {
			seen, name := names[v.Depth-1], strings.ToLower(strings.ToUpper(v.Name))
			if seen[name] {
				return invalid("there is more than one member %q in an object", v.Name)
			}
			seen[name] = true
		}
		switch {
		case v.IsLeaf():
			return nil
		case v.Depth >= maxDepth:
			return invalid("the body is nested more than %d deep", maxDepth)
		case v.IsObject():
			names = append(names, map[string]bool{})
		default:
			names = append(names, nil)
		}
		return nil
	})
}
