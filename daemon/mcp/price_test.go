package mcp_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// call is the body of a call of a tool.
func call(name, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
}

// read is the body of a read of a resource.
func read(uri string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + uri + `"}}`
}

// TestCharges has every way to an answer cost what the operation costs, and all else nothing.
func TestCharges(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(100)
	for _, c := range []struct {
		body string
		op   api.Op
	}{
		{call("context.fresh", `{}`), api.OpFresh}, {call("context_brief", `{}`), api.OpBrief}, {call("context.search", `{"q":"b"}`), api.OpSearch},
		{call("context.cite", `{"ref":1}`), api.OpCite}, {call("context.subscribe", `{"seconds":1}`), api.OpSubscribe},
		{read("context://packs/crypto/state"), api.OpFresh}, {read("context://packs/crypto/brief"), api.OpBrief},
	} {
		before := s.calls(key, c.op)
		if r := s.post(c.body, bearer(key)...).read(t); r.Error != nil || r.Result.IsError {
			t.Errorf("%s: %+v", c.body, r)
		}
		if got := s.calls(key, c.op) - before; got != 1 {
			t.Errorf("%s was charged %d times", c.body, got)
		}
	}
	total := s.calls(key, "")
	for _, free := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"daily-brief"}}`,
		call("context.cite", `{"ref":2}`), call("context.cite", `{}`), call("context.fresh", `{"pack":"ai"}`), call("context.nothing", `{}`), call("context.search", `{"q":" "}`),
		call("context.snapshot", `{"at":"2020-01-01T00:00"}`), call("context.subscribe", `{"seconds":56}`), read("context://packs/ai/state"), read("context://packs/crypto/snapshot/2020-01-01T00:00"),
		`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"context://packs/crypto/state"}}`,
	} {
		s.post(free, bearer(key)...)
	}
	if got := s.calls(key, ""); got != total {
		t.Errorf("what is free was charged %d times", got-total)
	}
}

// TestSubscriptionsAreCharged has one use charged for each resource that is subscribed to, in both eras.
func TestSubscriptionsAreCharged(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(100)
	id := s.initialize(key)
	for i, uri := range []string{"context://packs/crypto/state", "context://packs/crypto/brief"} {
		if r := s.post(`{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":"`+uri+`"}}`, s.in(key, id)...).read(t); r.Error != nil {
			t.Errorf("%s: %+v", uri, r.Error)
		}
		if got := s.calls(key, api.OpSubscribe); got != int64(i+1) {
			t.Errorf("after %s %d uses were charged", uri, got)
		}
	}
	for _, uri := range []string{"context://packs/crypto/snapshot/2026-11-20T14:05", "context://packs/ai/state", "test://x"} {
		if r := s.post(`{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":"`+uri+`"}}`, s.in(key, id)...).read(t); r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("%s: %+v", uri, r)
		}
	}
	res := s.open(t.Context(), http.MethodPost, api.PathMCP, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":`+
		`["context://packs/crypto/state","context://packs/crypto/state","context://packs/crypto/brief","test://x"]},`+meta+`}}`, modern(key, "subscriptions/listen", "")...)
	defer res.Body.Close()
	if !lines(res.Body, "subscriptions/acknowledged") {
		t.Fatalf("no acknowledgement: %d", res.StatusCode)
	}
	if got := s.calls(key, api.OpSubscribe); got != 4 {
		t.Errorf("%d uses were charged, want 4", got)
	}
	s.publish()
	if !lines(res.Body, `context://packs/crypto/state`) {
		t.Error("no update of the state")
	}
	s.narrate("Louder [1].")
	if !lines(res.Body, `context://packs/crypto/brief`) {
		t.Error("no update of the brief")
	}
}

// TestSmuggling has bodies refused that two readers could read differently: the price is always that of the tool that runs.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(100)
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context.brief","Name":"context.cite","arguments":{"ref":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context.cite","name":"context.brief","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","Method":"ping","params":{"name":"context.brief"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","PARAMS":{"name":"context.brief"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context.search","arguments":{"q":"a","Q":"b"}}}`,
		`[` + call("context.brief", `{}`) + `]`, `[` + call("context.brief", `{}`) + `,` + call("context.fresh", `{}`) + `]`, `[]`,
		call("context.brief", `{}`) + call("context.brief", `{}`), `{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"context.brief"}}`,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`, `{"jsonrpc":"2.0","id":1,"method":5}`, `{"jsonrpc":"2.0","id":1}`, ``, `nonsense`, `"ping"`,
	} {
		for _, headers := range [][]string{bearer(key), bearer(key, "Mcp-Protocol-Version", "2025-03-26"), modern(key, "tools/call", "context.brief")} {
			a := s.post(body, headers...)
			if r := a.read(t); a.Status != 400 || r.Error == nil || r.Error.Code != -32600 && r.Error.Code != -32700 || string(r.ID) != "null" {
				t.Errorf("%s: %d %s", body, a.Status, a.Body)
			}
		}
	}
	if got := s.calls(key, ""); got != 0 {
		t.Errorf("%d calls were charged", got)
	}
}

// shop is a daemon that is paid on a chain.
type shop struct {
	*studio
	d     *daemontest.Daemon
	chain *devchain.Chain
}

// newShop opens a shop that ends with the test.
func newShop(t *testing.T, changes ...func(*daemon.Config)) *shop {
	t.Helper()
	return newShopOn(t, daemontest.Chain(t), changes...)
}

// newShopOn is newShop on a chain.
func newShopOn(t *testing.T, chain *devchain.Chain, changes ...func(*daemon.Config)) *shop {
	t.Helper()
	p := &shop{chain: chain}
	p.d = daemontest.Start(t, append([]func(*daemon.Config){daemontest.On(p.chain)}, changes...)...)
	p.studio = &studio{t: t, base: p.d.URL(), url: p.d.URL() + api.PathMCP}
	return p
}

// quote posts body without credentials, which must be answered with a quote of amount.
func (p *shop) quote(body, amount string) api.PaymentRequirements {
	p.t.Helper()
	a := p.post(body)
	var e api.ErrorBody
	if err := json.Unmarshal([]byte(a.Body), &e); err != nil || a.Status != 402 || e.Error.Reason != api.ReasonPaymentRequired || e.Payment == nil || e.Payment.Amount != amount {
		p.t.Fatalf("%s: %d %s, want a quote of %s", body, a.Status, a.Body, amount)
	}
	if a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("X-Request-Id") != e.Error.RequestID {
		p.t.Errorf("%s: %v", body, a.Header)
	}
	return *e.Payment
}

// pay pays a quote and returns the proof.
func (p *shop) pay(q api.PaymentRequirements) api.PaymentProof {
	p.t.Helper()
	amount, err := usdg.ParseAmount(q.Amount)
	if err != nil {
		p.t.Fatal(err)
	}
	nonce, err := hex.DecodeString(strings.TrimPrefix(q.Nonce, "0x"))
	if err != nil {
		p.t.Fatal(err)
	}
	hash, err := p.chain.Transfer(p.t.Context(), p.chain.Wallet(), q.Recipient, int64(amount), nonce)
	if err != nil {
		p.t.Fatal(err)
	}
	return api.PaymentProof{Scheme: api.SchemeX402, Network: api.NetworkL2, TxHash: "0x" + hex.EncodeToString(hash[:]), Payer: p.chain.Wallet().Address}
}

// header is the header of a proof.
func header(p api.PaymentProof) []string {
	text, _ := json.Marshal(p) // which has texts alone
	return []string{api.HeaderPayment, base64.StdEncoding.EncodeToString(text)}
}

// TestPayByCall is the whole way: a quote at the operation's price, a proof in the header or in _meta, the receipt, the same answer
// again for the same payment, and nothing else for it.
func TestPayByCall(t *testing.T) {
	t.Parallel()
	p := newShop(t)
	body := call("context.search", `{"q":"bitcoin","k":2}`)
	proof := p.pay(p.quote(body, "0.002"))
	first := p.post(body, header(proof)...)
	r := first.read(t)
	var receipt struct {
		Success, Replayed  bool
		Transaction, Payer string
	}
	if err := json.Unmarshal(r.Result.Meta["x402/payment-response"], &receipt); err != nil || !receipt.Success || receipt.Replayed || receipt.Transaction != proof.TxHash || receipt.Payer != proof.Payer {
		t.Errorf("%d %s: %v", first.Status, first.Body, err)
	}
	if first.Header.Get("Content-Type") != "application/json" || first.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", first.Header)
	}
	meta, _ := json.Marshal(proof) // which has texts alone
	for _, again := range []struct {
		body    string
		headers []string
	}{
		{body, header(proof)},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context_search","arguments":{"k":2,"pack":"crypto","q":"bitcoin"}}}`, header(proof)},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context.search","arguments":{"q":"bitcoin","k":2},"_meta":{"x402/payment":` + string(meta) + `}}}`, nil},
	} {
		a := p.post(again.body, again.headers...)
		got := a.read(t)
		if string(got.Result.StructuredContent) != string(r.Result.StructuredContent) || !strings.Contains(string(got.Result.Meta["x402/payment-response"]), `"replayed":true`) {
			t.Errorf("%s: %d %s", again.body, a.Status, a.Body)
		}
	}
	for _, other := range []string{call("context.search", `{"q":"bitcoin","k":3}`), call("context.brief", `{}`), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, read("context://packs/crypto/state")} {
		if a := p.post(other, header(proof)...); a.Status != 402 || !strings.Contains(a.Body, string(api.ReasonAlreadyUsed)) || !strings.Contains(a.Body, `"payment"`) {
			t.Errorf("%s: %d %s", other, a.Status, a.Body)
		}
	}
	uri := read("context://packs/crypto/brief")
	if a := p.post(uri, header(p.pay(p.quote(uri, "0.005")))...); a.read(t).Error != nil || !strings.Contains(a.Body, "x402/payment-response") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// TestProofOfAnotherTool has the charge follow the tool that runs, whatever was quoted.
func TestProofOfAnotherTool(t *testing.T) {
	t.Parallel()
	p := newShop(t)
	cheap := p.pay(p.quote(call("context.cite", `{"ref":1}`), "0.001"))
	for _, dear := range []string{call("context.brief", `{}`), call("context.cite", `{"ref":2}`)} {
		a := p.post(dear, header(cheap)...)
		if a.Status != 402 || !strings.Contains(a.Body, string(api.ReasonNonceMismatch)) {
			t.Errorf("%s: %d %s", dear, a.Status, a.Body)
		}
	}
	if a := p.post(call("context.cite", `{"ref":1}`), header(cheap)...); a.Status != 200 || a.read(t).Result.IsError {
		t.Errorf("the payment was spoiled: %d %s", a.Status, a.Body)
	}
	if a := p.post(call("context.cite", `{"ref":1}`), api.HeaderPayment, "!"); a.Status != 400 || !strings.Contains(a.Body, string(api.ReasonMalformedProof)) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// TestQuotes has every POST without credentials answered 402 with the price of what it asks for, before it is read as MCP, and what
// cannot be delivered refused instead of sold.
func TestQuotes(t *testing.T) {
	t.Parallel()
	p := newShop(t)
	for body, amount := range map[string]string{
		call("context.fresh", `{}`): "0.001", call("context.brief", `{}`): "0.005", call("context_brief", `{"pack":"crypto"}`): "0.005", call("context.search", `{"q":"b"}`): "0.002",
		call("context.query", `{"table":"sources","pack":"*"}`): "0.002",
		call("context.cite", `{"ref":1}`):                       "0.001", read("context://packs/crypto/brief"): "0.005",
		`{"jsonrpc":"2.0","id":1,"method":"initialize"}`: "0.001", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`: "0.001", `nonsense`: "0.001", `[]`: "0.001", ``: "0.001",
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`: "0.001", `{"jsonrpc":"2.0","id":1,"method":"nothing"}`: "0.001", `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`: "0.001",
	} {
		p.quote(body, amount)
	}
	for body, status := range map[string]int{
		call("context.fresh", `{"pack":"ai"}`): 404, call("context.cite", `{"ref":99}`): 404, call("context.search", `{}`): 400, call("context.snapshot", `{"at":"2020-01-01T00:00"}`): 404,
	} {
		if a := p.post(body); a.Status != status || strings.Contains(a.Body, `"payment"`) {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	if a := p.post(read("context://tables/crypto")); a.Status != 200 || !strings.Contains(a.Body, "flags [kind]") {
		t.Errorf("the tables cost something: %d %s", a.Status, a.Body)
	}
	if a := p.post(call("context.query", `{"table":"flags","where":["key = x"]}`)); a.Status != 200 || !strings.Contains(a.Body, "nothing_found") {
		t.Errorf("nothing: %d %s", a.Status, a.Body)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		a := p.do(method, api.PathMCP, "")
		if a.Status != 401 || !strings.Contains(a.Body, `"AUTH_MISSING"`) || !strings.Contains(a.Body, `"missing_token"`) || a.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d %s", method, a.Status, a.Body)
		}
	}
	for _, credentials := range []string{"Bearer cv_test_00000000000000000000000000000000", "Bearer", "Basic eA==", "Bearer x"} {
		a := p.post(call("context.fresh", `{}`), "Authorization", credentials)
		if a.Status != 401 || !strings.Contains(a.Body, `"invalid_token"`) || a.Header.Get("WWW-Authenticate") != `Bearer error="invalid_token"` {
			t.Errorf("%s: %d %s", credentials, a.Status, a.Body)
		}
	}
}

// TestHandshakeForPayment has the lowest price open handshake and lists, again and again, and nothing that costs more, and no session.
func TestHandshakeForPayment(t *testing.T) {
	t.Parallel()
	p := newShop(t)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	proof := p.pay(p.quote(list, "0.001"))
	for _, open := range []string{list, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, list, `{"jsonrpc":"2.0","id":1,"method":"ping"}`} {
		a := p.post(open, append(header(proof), "Accept", streams)...)
		if r := a.read(t); a.Status != 200 || r.Error != nil || a.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %d %s", open, a.Status, a.Body)
		}
	}
	if a := p.post(call("context.cite", `{"ref":1}`), header(proof)...); a.Status != 402 {
		t.Errorf("a call for the price of a handshake: %d %s", a.Status, a.Body)
	}
	a := p.post(call("context.subscribe", `{}`), header(proof)...)
	if a.Status != 401 || !strings.Contains(a.Body, "a subscription cannot be paid by call") {
		t.Errorf("subscribe: %d %s", a.Status, a.Body)
	}
}

// TestPublicDiscovery leaves handshake and lists free, and nothing else.
func TestPublicDiscovery(t *testing.T) {
	t.Parallel()
	p := newShop(t, func(c *daemon.Config) { c.MCP.PublicDiscovery = true })
	for _, method := range []string{"tools/list", "prompts/list", "ping"} {
		if a := p.post(`{"jsonrpc":"2.0","id":1,"method":"` + method + `"}`); a.Status != 200 || a.read(t).Error != nil {
			t.Errorf("%s: %d %s", method, a.Status, a.Body)
		}
	}
	p.quote(call("context.brief", `{}`), "0.005")
	p.quote(read("context://packs/crypto/state"), "0.001")
	a := p.post(call("context.subscribe", `{}`)) // an SDK ends the connection at a 401
	if r := a.read(t); a.Status != 200 || !r.Result.IsError || !strings.Contains(r.Result.Content[0].Text, `"code":"AUTH_MISSING"`) {
		t.Errorf("subscribe: %d %s", a.Status, a.Body)
	}
}

// TestRefusalsAreResults has failures that a model can mend come as results with a text and nothing that looks like an answer.
func TestRefusalsAreResults(t *testing.T) {
	t.Parallel()
	p := newShop(t, func(c *daemon.Config) { c.Limits.FreeCalls = 1 })
	key := p.d.Key(t, api.TierFree)
	refused := func(body string, code api.Code, more string) {
		t.Helper()
		a := p.post(body, bearer(key)...)
		r := a.read(t)
		if a.Status != 200 || !r.Result.IsError || r.Result.StructuredContent != nil || len(r.Result.Content) != 1 {
			t.Fatalf("%s: %d %s", body, a.Status, a.Body)
		}
		var e struct {
			Error struct {
				Code                     api.Code
				Message, Hint, RequestID string
				RetryAfter               int
			}
		}
		text := r.Result.Content[0].Text
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.Error.Code != code || e.Error.RequestID != a.Header.Get("X-Request-Id") || e.Error.Hint == "" || !strings.Contains(text, more) {
			t.Errorf("%s: %s (%v)", body, text, err)
		}
	}
	refused(call("context.cite", `{"ref":99}`), api.CodeCitationNotFound, "")
	refused(call("context.cite", `{"ref":"x"}`), api.CodeValidation, "invalid_ref")
	refused(call("context.cite", `{"reference":1}`), api.CodeValidation, "it takes: pack, ref")
	refused(call("context.search", `{"q":["a"]}`), api.CodeValidation, "q is not a string")
	refused(call("context.search", `{"q":"a","k":51}`), api.CodeValidation, "invalid_k")
	refused(call("context.fresh", `{"pack":"ai"}`), api.CodePackNotFound, "crypto")
	refused(call("context.snapshot", `{"at":"2020-01-01T00:00"}`), api.CodeSnapshotNotFound, "")
	if r := p.call(key, "context.cite", `{"ref":1}`); r.Result.IsError {
		t.Fatalf("%+v", r)
	}
	refused(call("context.cite", `{"ref":1}`), api.CodeQuotaExhausted, "retryAfter")
	refused(call("context.subscribe", `{"seconds":1}`), api.CodeQuotaExhausted, "retryAfter")
	a := p.post(read("context://packs/crypto/state"), bearer(key)...)
	if r := a.read(t); a.Status != 200 || r.Error == nil || r.Error.Code != -32000 || !strings.Contains(string(r.Error.Data), "QUOTA_EXHAUSTED") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// TestNoState tells a caller to come back, as over HTTP.
func TestNoState(t *testing.T) {
	t.Parallel()
	d := daemontest.Open(t)
	d.Recording.Break("", nil) // else the first state may come before the call
	d.Run(t)
	s := &studio{t: t, base: d.URL()}
	r := s.call(d.Key(t, api.TierFree), "context.fresh", `{}`)
	if text := fmt.Sprint(r.Result.Content); !r.Result.IsError || !strings.Contains(text, "state_unavailable") || !strings.Contains(text, `"retryAfter":5`) {
		t.Errorf("%+v", r)
	}
}

// TestTwoKeysTwoCallers has the calls of two sessions charged to their own keys: what the SDK keeps of the first request of a session is
// never asked who calls.
func TestTwoKeysTwoCallers(t *testing.T) {
	t.Parallel()
	s := newStudio(t, func(c *mcp.Config) { c.IdleTimeout = time.Hour })
	a, b := s.key(100), s.key(100)
	sa, sb := s.initialize(a), s.initialize(b)
	for i := range 6 {
		key, id := a, sa
		if i%3 != 0 {
			key, id = b, sb
		}
		if r := s.post(call("context.cite", `{"ref":1}`), s.in(key, id)...).read(t); r.Result.IsError || r.Error != nil {
			t.Fatalf("%+v", r)
		}
	}
	if na, nb := s.calls(a, api.OpCite), s.calls(b, api.OpCite); na != 2 || nb != 4 {
		t.Errorf("charged %d and %d, want 2 and 4", na, nb)
	}
}
