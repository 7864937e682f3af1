package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// priced reports whether m has a price of its own.
func priced(m *jsonrpc.Request) bool {
	return m.Method == methodCall && !isSubscribe(paramsOf(m).Name) || m.Method == methodRead
}

// priceOf is what is published as the price of r, 0 where nothing is: that of the operation which a tool or a resource stands for, and the
// lowest of all for what has no price of its own.
func priceOf(r *http.Request) int64 {
	m := sent(r)
	if !priced(m) && m.Method != methodPrompt {
		return api.OpFresh.PriceMicros()
	}
	return operation(m).PriceMicros()
}

// operation is what a call of a tool or a read of a resource is for, one that has no price if that is not known.
func operation(m *jsonrpc.Request) api.Op {
	p := paramsOf(m)
	if m.Method == methodCall {
		return api.Op(p.Name[strings.LastIndexAny(p.Name, "._")+1:])
	}
	_, part, _ := strings.Cut(p.URI, "://packs/")
	switch parts := strings.Split(part, "/"); {
	case len(parts) == 2 && parts[1] == "state":
		return api.OpFresh
	case len(parts) == 2 && parts[1] == "brief":
		return api.OpBrief
	case len(parts) == 3 && parts[1] == "snapshot":
		return api.OpSnapshot
	}
	return ""
}

// inBand sends messages. Where a result asks for a payment, as that of a service does whose handshake and lists are free, or by the
// extension for payments where the client says that it knows that, the answer is the one that the service gives otherwise: 402, with the
// quote.
type inBand struct{ base http.RoundTripper }

// RoundTrip sends r.
func (b inBand) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.base.RoundTrip(r)
	m := sent(r)
	if err != nil || res.StatusCode != http.StatusOK || r.Header.Get(api.HeaderPayment) != "" || !priced(m) {
		return res, err
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // whole: nothing is said before it is paid for
	if err != nil {
		_ = res.Body.Close() // there is nothing to write
		return nil, lost(r, err)
	}
	rest := res.Body
	if body := refusalIn(text); body != nil {
		text, rest = body, http.NoBody
		_ = res.Body.Close()
		res.StatusCode, res.Status = http.StatusPaymentRequired, ""
		res.Header.Set("Content-Type", "application/json")
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), rest), rest}
	return res, nil
}

// refusalIn is the error in an answer, of JSON or of events, whose result asks for a payment; nil if that is another.
func refusalIn(text []byte) json.RawMessage {
	for _, line := range append(bytes.Split(text, []byte("\n")), text) {
		var answer struct{ Result result }
		err := json.Unmarshal(bytes.TrimPrefix(line, []byte("data:")), &answer)
		if r := answer.Result; err == nil && (r.IsError || r.ResultType == resultRequired) {
			return r.Meta[metaRefusal]
		}
	}
	return nil
}

// isSubscribe reports whether a tool is one that cannot be paid by call.
func isSubscribe(name string) bool { return strings.HasSuffix(name, string(api.OpSubscribe)) }

// unpayable sends a call of a tool, or a read of a resource, that nobody knows, and pays nothing for it: where the service wants money, the
// answer is the one that it gives with a key.
func (e *Endpoint) unpayable(r *http.Request, m *jsonrpc.Request) (*http.Response, error) {
	res, err := e.paying.Base.RoundTrip(r)
	if err != nil || res.StatusCode != http.StatusPaymentRequired {
		return res, err
	}
	_ = res.Body.Close() // there is nothing to write
	p := paramsOf(m)
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown %s %q", map[bool]string{
		true: "tool", false: "resource"}[m.Method == methodCall], p.Name+p.URI)}
}

// honest is the result of a call of method without what a payer by call does not get: a subscription.
func (e *Endpoint) honest(method string, result json.RawMessage) json.RawMessage {
	if e.foreign != nil || e.paying.Payer == nil || method != methodInitialize && method != methodDiscover && method != methodTools {
		return result
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil {
		return result
	}
	if method == methodTools {
		var tools []json.RawMessage
		if json.Unmarshal(members["tools"], &tools) != nil { // the client judges it
			return result
		}
		tools = slices.DeleteFunc(tools, func(text json.RawMessage) bool {
			var tool params
			return json.Unmarshal(text, &tool) == nil && isSubscribe(tool.Name)
		})
		members["tools"], _ = cli.Marshal(tools)
	} else {
		var capabilities map[string]map[string]any
		if json.Unmarshal(members["capabilities"], &capabilities) != nil {
			return result
		}
		for _, c := range capabilities { // there is no session in which they could be told
			delete(c, "subscribe")
			delete(c, "listChanged")
		}
		members["capabilities"], _ = cli.Marshal(capabilities)
	}
	text, err := cli.Marshal(members)
	if err != nil {
		return result
	}
	return text
}
