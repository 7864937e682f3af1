package mcp

import (
	"encoding/json"
	"maps"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// Members of the _meta of a result that asks for a payment, or refuses one: the offer once more, where some clients look for it alone, and
// the error as it is over HTTP, with the quote of our own dialect.
const (
	metaOffer   = "x402/error"
	metaRefusal = "contextd/refusal"
)

// inBand reports whether tools are paid for in messages, as x402's binding for results of tools has it.
func (s *Server) inBand() bool { return s.cfg.PublicDiscovery && s.cfg.Standard.Exact != nil }

// Of the extension by which clients of the era without handshakes pay for calls: its name, and where a request says what its client can.
const (
	extensionPayment = "org.x402/payment"
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// binds reports whether m, which came with r, is a call that is to be asked for its payment by extensionPayment.
func (s *Server) binds(r *http.Request, m message) bool {
	if s.cfg.Standard.Exact == nil || m.ID == nil || m.Method != methodCall && m.Method != methodRead && m.Method != methodPrompt {
		return false
	}
	var meta map[string]json.RawMessage
	var version string
	_ = json.Unmarshal(member(m.Params, "_meta"), &meta) // what it is not says nothing
	_ = json.Unmarshal(meta[metaVersion], &version)
	return min(version, r.Header.Get(headerVersion)) >= modernVersion &&
		isObject(member(member(meta[metaCapabilities], "extensions"), extensionPayment))
}

// writeRequired answers rq with the payment that err asks for, by extensionPayment. It reports false, and has written nothing, where err
// asks for none of standard x402.
func (s *Server) writeRequired(w http.ResponseWriter, rq *request, err error) (written bool, _ error) {
	if api.AsError(err).Status != http.StatusPaymentRequired {
		return false, nil
	}
	offer, ok := s.cfg.Standard.Offer(rq.asked())
	if !ok { // there is no ether: our own quote is all there is
		return false, nil
	}
	text, e := refusalText(err, w.Header().Get(api.HeaderRequestID))
	meta := map[string]any{metaRefusal: json.RawMessage(text)}
	if rq.who.Exact != nil {
		offer.Error = string(e.Reason) + ": " + e.Message
		meta[metaReceipt] = s.cfg.Standard.Exact.Refusal(*rq.who.Exact, e.Reason)
	}
	w.Header().Set("Cache-Control", "no-store")
	return true, writeResult(w, *rq.bound, map[string]any{
		"resultType": "payment_required", "paymentRequired": offer, "_meta": meta,
	})
}

// paysInBand reports whether m, of rq, who has no key, calls a tool that is paid for in messages. Who shows a proof of our own dialect is
// answered in that, and who knows extensionPayment by that.
func (s *Server) paysInBand(rq *request, m message) bool {
	op, ok := toolOp(s.cfg.Prefix, m.Text("name"))
	return s.inBand() && !rq.ours() && rq.bound == nil && m.Method == methodCall && ok && op.PriceMicros() > 0
}

// asked is what m, which came with r, asks for, but for its subject.
func (s *Server) asked(r *http.Request, m message) (a web.Asked) {
	a.SignsIn = true
	a.Resource = api.StandardResource{
		URL: s.cfg.Standard.URL(r), Description: "handshake and lists of MCP, for a day", Tags: []string{"mcp"},
	}
	switch m.Method {
	case methodRead:
		a.Resource.Description = m.Text("uri")
	case methodCall:
		op, ok := toolOp(s.cfg.Prefix, m.Text("name"))
		if !ok {
			return a
		}
		o := op.Operation()
		a.Resource.Description = o.Tool.Title
		a.Bazaar = &api.StandardExtension{
			Info: map[string]any{"input": map[string]any{
				"type": "mcp", "toolName": toolName(s.cfg.Prefix, op), "transport": "streamable-http",
				"inputSchema": inputSchema(o, *s.packs.Load()),
			}},
			Schema: map[string]any{"type": "object", "required": []string{"input"}, "properties": map[string]any{
				"input": map[string]any{"type": "object", "required": []string{"type", "toolName", "inputSchema"}},
			}},
		}
	}
	return a
}

// settled notes what became of a payment of standard x402, for the answer. It does nothing for a proof.
func (s *Server) settled(rq *request, paid *x402.Claim) {
	rq.receipt = paid.Receipt
	s.cfg.Standard.WriteHeaders(rq.sold, rq.who, paid, nil, rq.asked)
}

// setReceipt puts a receipt into a result, if that is one that can have it; nil is none.
func setReceipt(res sdk.Result, receipt *api.StandardReceipt) {
	if receipt == nil {
		return
	}
	switch res.(type) { // the SDK's empty result panics where it is asked
	case *sdk.CallToolResult, *sdk.ReadResourceResult, *sdk.InitializeResult, *sdk.DiscoverResult, *sdk.ListToolsResult,
		*sdk.ListResourcesResult, *sdk.ListResourceTemplatesResult, *sdk.ListPromptsResult, *sdk.GetPromptResult, *skillResult:
		meta := sdk.Meta{metaReceipt: receipt}
		maps.Copy(meta, res.GetMeta())
		res.SetMeta(meta)
	}
}

// refusedInBand is e, whose JSON is text, as the result of a tool. Where it asks for a payment, that is the offer, in both places where
// clients look; what a payment cannot mend, such as one that is being settled, is none.
func (s *Server) refusedInBand(rq *request, e *api.Error, text []byte) *sdk.CallToolResult {
	res := refusedResult(text)
	if rq.who.Exact != nil {
		receipt := s.cfg.Standard.Exact.Refusal(*rq.who.Exact, e.Reason)
		rq.receipt = &receipt
	}
	if e.Status != http.StatusPaymentRequired {
		return res
	}
	offer, ok := s.cfg.Standard.Offer(rq.asked())
	if !ok { // there is no ether: our own quote is all there is
		rq.refused = e
		return res
	}
	if rq.who.Exact != nil {
		offer.Error = string(e.Reason) + ": " + e.Message
	}
	told, err := jsonx.Encode(offer)
	if err != nil { // which has texts and numbers alone
		return res
	}
	res = refusedResult(told)
	res.StructuredContent = json.RawMessage(told)
	res.Meta = sdk.Meta{metaOffer: json.RawMessage(told), metaRefusal: json.RawMessage(text)}
	return res
}
