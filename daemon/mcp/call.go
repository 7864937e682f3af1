package mcp

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// addTools makes the tools of the operations, in place of those that there are.
func (s *Server) addTools(list []*sdk.Tool) {
	for _, t := range list {
		op, _ := toolOp(s.cfg.Prefix, t.Name)
		handle := s.answer
		switch op {
		case api.OpSubscribe:
			handle = s.watch
		case api.OpWatch:
			handle = s.keepWatches
		}
		s.sdk.AddTool(t, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			rq := s.requestOf(req)
			if rq == nil {
				return nil, errLeft
			}
			return handle(ctx, rq, op, req), nil
		})
	}
}

func (s *Server) text(a reader.Answer) []byte { return a.Text(s.cfg.Now()) }

// toolOrder is what a call of the tool of op asks, and the order of it.
func (s *Server) toolOrder(rq *request, op api.Op, arguments json.RawMessage) (q api.Query, o gate.Order[reader.Answer], err error) {
	if q, err = s.query(op, arguments); err != nil {
		return q, o, err
	}
	o, err = s.order(rq, methodCall, q)
	return q, o, err
}

// query reads the arguments of a call of the tool of op.
func (s *Server) query(op api.Op, arguments json.RawMessage) (q api.Query, err error) {
	values, err := toolArguments(op, arguments)
	if err != nil {
		return q, err
	}
	asked := resolveMoment(op.Operation(), values, s.cfg.Now())
	if q, err = api.Parse(op, api.FaceTool, values); err != nil {
		return q, withForms(err)
	}
	q.At.Asked = asked
	return q, nil
}

// order makes the free checks of q, which a call of method asks, and returns the order of it. A payment of it is bound to the method and
// to the canonical form of q; one that is presented may have an answer that is kept.
func (s *Server) order(rq *request, method string, q api.Query) (o gate.Order[reader.Answer], err error) {
	o, unready := web.OrderOf(s.cfg.Reader, q)
	if unready != nil && (rq.who.HasBearer || !rq.who.Presented()) {
		return o, unready
	}
	o.Credentials, o.Text = rq.who, s.text
	if rq.account { // no call is quoted that nobody can pay there
		return o, nil
	}
	o.Subject = x402.Subject{
		Op: q.Op, Fingerprint: x402.Fingerprint(method, string(q.Op), s.cfg.Reader.Canonical(q)),
		Former: x402.Fingerprint(method, string(q.Op), formerForm(q)),
	}
	rq.paysFor = o.Subject
	return o, nil
}

// formerForm is the form of q by which releases until 30f57cb knew a request over MCP. Their quotes are good for api.QuoteWindow and their
// answers are kept for api.ProofIdempotency, so that it can go two releases after them.
func formerForm(q api.Query) string {
	at := strconv.FormatInt(q.At.At.Unix(), 10)
	switch {
	case q.At.Asked != "":
		at = q.At.Asked
	case q.At.Exact:
		at = q.At.Key()
	}
	var text string
	var k int
	if q.Op == api.OpSearch {
		text, k = q.Text, q.Limit
	}
	form := fmt.Sprintf("pack=%q q=%q k=%d at=%s ref=%d", q.Pack, text, k, at, q.Ref)
	switch q.Op {
	case api.OpFresh, api.OpSnapshot:
		if q.Members != "" {
			form += fmt.Sprintf(" members=%q", q.Members)
		}
	case api.OpCite:
		if q.Row != "" || !q.At.At.IsZero() {
			form += fmt.Sprintf(" row=%q of=%s", q.Row, at)
		}
	case api.OpLookup:
		form = fmt.Sprintf("pack=%q q=%q kind=%q limit=%d", q.Pack, q.Text, q.Kinds, q.Limit)
	case api.OpChanges:
		form = fmt.Sprintf("pack=%q since=%s min=%v kinds=%s", q.Pack, q.At.Canonical(), q.Min, q.Kinds)
	}
	if q.Claims {
		form += " claims"
	}
	return form
}

// priced is the order that m, of who has no key, makes, as far as can be told before the SDK has read it. priced is false for what is no
// operation with a price; what cannot be answered to any payment is an error.
func (s *Server) priced(rq *request, m message) (o gate.Order[reader.Answer], priced bool, err error) {
	switch m.Method {
	case methodCall:
		op, ok := toolOp(s.cfg.Prefix, m.Text("name"))
		if !ok {
			return o, false, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", m.Text("name"))}
		}
		if op.PriceMicros() == 0 {
			return o, false, keyMissing()
		}
		_, o, err = s.toolOrder(rq, op, m.Arguments())
		return o, true, err
	case methodRead:
		r, ok := s.parseURI(m.Text("uri"))
		if !ok {
			return o, false, sdk.ResourceNotFoundError(m.Text("uri"))
		}
		o, err = s.order(rq, methodRead, r.query)
		return o, true, err
	case methodSubscribe:
		return o, false, keyMissing()
	}
	return o, false, nil
}

// answer answers the tools that return at once.
func (s *Server) answer(_ context.Context, rq *request, op api.Op, req *sdk.CallToolRequest) *sdk.CallToolResult {
	q, o, err := s.toolOrder(rq, op, req.Params.Arguments)
	if err != nil {
		return s.failed(rq, err)
	}
	var found reader.Answer
	find := o.Answer
	o.Answer = func(ctx context.Context, caller gate.Caller) (a reader.Answer, err error) {
		found, err = find(ctx, caller)
		return found, err
	}
	body, meta, err := s.serve(rq, q, o)
	if err != nil {
		return s.failed(rq, err)
	}
	res := result(body, textOf(q, found, body))
	res.Meta = meta
	return res
}

// result is an answer of a tool: its JSON, and the text for models.
func result(body []byte, text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{StructuredContent: json.RawMessage(body), Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// serve has the gate serve o, the order of q, and returns the JSON of the answer, and what to say beside it.
func (s *Server) serve(rq *request, q api.Query, o gate.Order[reader.Answer]) (body []byte, meta sdk.Meta, err error) {
	served, err := gate.Serve(rq.ctx, s.cfg.Gate, o)
	if err := s.cfg.Payers.Missed(rq.clients, served, err); err != nil {
		return nil, nil, err
	}
	served = web.Proven(rq.ctx, s.cfg.Proofs, q, served)
	meta = sdk.Meta{}
	if served.Answer.Proof.Log != "" {
		meta[metaProof] = served.Answer.Proof
	}
	if served.Sold == nil {
		if warning := served.Answer.Warning; warning != "" {
			meta[metaWarning] = warning
		}
		return s.text(served.Answer), meta, nil
	}
	rq.sold = http.Header{}
	body = web.Sold(rq.sold, o.Op, served, s.cfg.Now())
	if s.settled(rq, served.Caller.Payment); rq.receipt == nil {
		meta[metaReceipt] = map[string]any{
			"success": true, "transaction": "0x" + hex.EncodeToString(rq.who.Proof.Hash[:]), "network": api.NetworkL2,
			"payer": rq.who.Proof.Payer, "replayed": !served.Replayed.IsZero(),
		}
	}
	return body, meta, nil
}
