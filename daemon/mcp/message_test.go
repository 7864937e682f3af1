package mcp_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/mcp"
)

// TestParse reads messages of every kind.
func TestParse(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		id, method string
		call       bool
	}{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                       {"1", "ping", true},
		` {"method":"ping","id":"a b","jsonrpc":"2.0","params":null} `:   {`"a b"`, "ping", true},
		`{"jsonrpc":"2.0","id":-12,"method":"x","params":{},"more":[]}`:  {"-12", "x", true},
		`{"jsonrpc":"2.0","method":"notifications/x","params":{"a":{}}}`: {"", "notifications/x", false},
		`{"jsonrpc":"2.0","id":3,"result":null}`:                         {"3", "", false},
		`{"jsonrpc":"2.0","id":3,"error":{}}`:                            {"3", "", false},
	} {
		m, err := mcp.ParseMessage([]byte(body))
		if err != nil || string(m.ID) != want.id || m.Method != want.method || m.IsCall() != want.call || string(m.Raw) != strings.TrimSpace(body) {
			t.Errorf("%s: %+v, %v", body, m, err)
		}
	}
	m, err := mcp.ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","uri":5,"arguments":{"a":1},"_meta":{"x":{"y":1},"z":"t"}}}`))
	if err != nil || m.Text("name") != "n" || m.Text("uri") != "" || m.Text("none") != "" || string(m.Arguments()) != `{"a":1}` {
		t.Errorf("%+v, %v", m, err)
	}
	coded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for payment, want := range map[string]struct {
		value string
		exact bool
	}{
		`{"scheme":"x402"}`: {coded(`{"scheme":"x402"}`), false}, `{"x402Version":2}`: {coded(`{"x402Version":2}`), true}, `5`: {}, `null`: {},
		`"` + coded(`{"x402Version":2}`) + `"`: {coded(`{"x402Version":2}`), true}, `"` + coded(`{}`) + `"`: {coded(`{}`), false}, `"!"`: {"!", false},
	} {
		m, err := mcp.ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x402/payment":` + payment + `}}}`))
		if value, exact := m.Payment(); err != nil || value != want.value || exact != want.exact {
			t.Errorf("%s: %q, %v, %v", payment, value, exact, err)
		}
	}
}

// TestParseRefuses what is no message, or could be read as two.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for body, code := range map[string]int{
		"": mcp.CodeParse, "{": mcp.CodeParse, `{} {}`: mcp.CodeParse, "\"\xff\"": mcp.CodeParse, `{"jsonrpc":"2.0","id":01,"method":"x"}`: mcp.CodeParse,
		`[]`: mcp.CodeInvalidRequest, `1`: mcp.CodeInvalidRequest, `{}`: mcp.CodeInvalidRequest, `{"jsonrpc":2.0,"id":1,"method":"x"}`: mcp.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":1}`: mcp.CodeInvalidRequest, `{"jsonrpc":"2.0","result":1}`: mcp.CodeInvalidRequest, `{"jsonrpc":"2.0","id":1,"method":""}`: mcp.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":1,"method":"x","result":1}`: mcp.CodeInvalidRequest, `{"jsonrpc":"2.0","id":1e2,"method":"x"}`: mcp.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"x"}`: mcp.CodeInvalidRequest, `{"jsonrpc":"2.0","id":true,"method":"x"}`: mcp.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":null,"method":"x"}`: mcp.CodeInvalidRequest, `{"jsonrpc":"2.0","id":1,"method":"x","params":[]}`: mcp.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":1,"method":"x","Method":"y"}`: mcp.CodeInvalidRequest, `{"jsonrpc":"2.0","id":1,"METHOD":"y"}`: mcp.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[{"b":1,"B":2}]}}`: mcp.CodeInvalidRequest, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"\u0061":1,"a":2}}`: mcp.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"K":1,"k":2}}`: mcp.CodeInvalidRequest, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}}`: mcp.CodeInvalidRequest,
	} {
		_, err := mcp.ParseMessage([]byte(body))
		var fault *mcp.Fault
		if !errors.As(err, &fault) || fault.Code != code || fault.Error() == "" {
			t.Errorf("%s: %v, want %d", body, err, code)
		}
	}
}

// FuzzParse compares what is read with what encoding/json reads, where case does not matter and the last of two names wins: a body that is
// taken means the same to both.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","arguments":{"a":[1,{"b":null}]}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"x","method":"a","Method":"b"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := mcp.ParseMessage(body)
		if err != nil {
			var fault *mcp.Fault
			if !errors.As(err, &fault) {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		var loose struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name any }
		}
		if err := json.Unmarshal(body, &loose); err != nil && m.Params == nil {
			t.Fatalf("%q is taken and cannot be read: %v", body, err)
		}
		if loose.Method != m.Method || !bytes.Equal(loose.ID, m.ID) {
			t.Errorf("%q: %s %s, but also %s %s", body, m.ID, m.Method, loose.ID, loose.Method)
		}
		if name, ok := loose.Params.Name.(string); ok && m.Text("name") != name && m.Text("name") != "" {
			t.Errorf("%q: the name is %q and %q", body, m.Text("name"), name)
		}
	})
}
