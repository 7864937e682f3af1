package mcp_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk/api"
)

// newSettlingShop is newShop with a daemon that settles payments of standard x402 itself.
func newSettlingShop(t *testing.T, changes ...func(*daemon.Config)) *shop {
	t.Helper()
	chain := daemontest.Chain(t)
	return newShopOn(t, chain, append([]func(*daemon.Config){func(c *daemon.Config) {
		c.Chain.SettleKey, c.Chain.Wait = chain.Gas().PrivateKey, 20*time.Second
	}}, changes...)...)
}

// inBand has tools paid for in messages.
func inBand(c *daemon.Config) { c.MCP.PublicDiscovery = true }

// sign signs what an offer asks for, from an account.
func (p *shop) sign(from devchain.Account, offer api.StandardRequired, changes ...func(*devchain.Authorization)) json.RawMessage {
	p.t.Helper()
	accept := offer.Accepts[0]
	now := time.Now().Unix()
	a := devchain.Authorization{To: accept.PayTo, After: now - 600, Before: now + 800}
	_, _ = rand.Read(a.Nonce[:])
	if _, err := fmt.Sscan(accept.Amount, &a.Value); err != nil {
		p.t.Fatal(err)
	}
	for _, change := range changes {
		change(&a)
	}
	signature, err := p.chain.Authorize(from, a)
	if err != nil {
		p.t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"x402Version": 2, "accepted": accept, "payload": map[string]any{
		"signature": "0x" + hex.EncodeToString(signature[:]), "authorization": map[string]string{
			"from": from.Address, "to": a.To, "value": fmt.Sprint(a.Value), "validAfter": fmt.Sprint(a.After), "validBefore": fmt.Sprint(a.Before),
			"nonce": "0x" + hex.EncodeToString(a.Nonce[:]),
		},
	}, "extensions": map[string]any{"payment-identifier": map[string]any{"info": map[string]string{"id": rand.Text()}}}})
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

// signature is the header of a payment.
func signature(payment json.RawMessage) []string {
	return []string{api.HeaderSignature, base64.StdEncoding.EncodeToString(payment)}
}

// paying is a message with a payment in its _meta, as an object or in base64.
func paying(body string, payment json.RawMessage, coded bool) string {
	if coded {
		payment, _ = json.Marshal(base64.StdEncoding.EncodeToString(payment)) // a text can always be written
	}
	return strings.Replace(body, `"params":{`, `"params":{"_meta":{"x402/payment":`+string(payment)+`},`, 1)
}

// unwrap reads a header of standard x402.
func unwrap[T any](t testing.TB, a answer, name string) (v T) {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(a.Header.Get(name))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Errorf("%s is %q: %v; the answer %d %s", name, a.Header.Get(name), err, a.Status, a.Body)
	}
	return v
}

// offered posts body without credentials, which must be answered 402 with an offer of amount.
func (p *shop) offered(body, amount string) api.StandardRequired {
	p.t.Helper()
	a := p.post(body)
	offer := unwrap[api.StandardRequired](p.t, a, api.HeaderRequired)
	if n := len(a.Header.Get(api.HeaderRequired)); a.Status != http.StatusPaymentRequired || n > 3<<10 || len(offer.Accepts) != 1 ||
		offer.Accepts[0].Amount != amount || offer.Resource.URL != p.url {
		p.t.Fatalf("%s: %d, %d bytes of %+v", body, a.Status, n, offer)
	}
	return offer
}

// receipt is that of a result, which has to be the same in the header.
func (p *shop) receipt(a answer) (r api.StandardReceipt) {
	p.t.Helper()
	if err := json.Unmarshal(a.read(p.t).Result.Meta["x402/payment-response"], &r); err != nil || !r.Success || len(r.Transaction) != 66 {
		p.t.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
	if h := unwrap[api.StandardReceipt](p.t, a, api.HeaderSettlement); h != r {
		p.t.Errorf("the header says %+v, the result %+v", h, r)
	}
	return r
}

// treasury is what the treasury has.
func (p *shop) treasury() int64 {
	p.t.Helper()
	n, err := p.chain.Balance(p.t.Context(), p.chain.Treasury())
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// matchesOf is what an answer of search has found, without the age of the state, which is counted on.
func matchesOf(t *testing.T, a answer) string {
	t.Helper()
	var found struct{ Matches json.RawMessage }
	if err := json.Unmarshal(a.read(t).Result.StructuredContent, &found); err != nil || len(found.Matches) == 0 {
		t.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
	return string(found.Matches)
}

// TestPayByStandardX402 is the whole way of a stock client over MCP: the offer beside the 402, the payment in the message, in base64 there, or
// in the header, the receipt, the same again, another call, a resource.
func TestPayByStandardX402(t *testing.T) {
	t.Parallel()
	p := newSettlingShop(t)
	before := p.treasury()
	body := call("context.search", `{"q":"bitcoin","k":2}`)
	offer := p.offered(body, "2000")
	if offer.Extensions["bazaar"].Info == nil || !strings.Contains(offer.Resource.Description, "Search the state") {
		t.Errorf("the offer is %+v", offer)
	}
	payment := p.sign(p.chain.Wallet(), offer)
	first := p.post(paying(body, payment, false))
	receipt := p.receipt(first)
	for _, again := range []answer{
		p.post(paying(body, payment, true)), p.post(body, signature(payment)...), p.post(paying(body, payment, false), signature(payment)...),
		p.post(paying(call("context_search", `{"k":"2","q":"bitcoin"}`), payment, false)),
	} {
		if matchesOf(t, again) != matchesOf(t, first) || p.receipt(again) != receipt ||
			again.Header.Get(api.HeaderReplayed) != "true" {
			t.Errorf("%d %s, replayed %q, at first %s", again.Status, again.Body, again.Header.Get(api.HeaderReplayed), first.Body)
		}
	}
	a := p.post(paying(call("context.search", `{"q":"bitcoin","k":3}`), payment, false))
	r := unwrap[api.StandardReceipt](t, a, api.HeaderSettlement)
	if a.Status != 402 || r.Success || r.ErrorReason != api.StandardState {
		t.Errorf("%d %s, %+v", a.Status, a.Body, r)
	}
	unwrap[api.StandardRequired](t, a, api.HeaderRequired)
	for _, uri := range []string{"context://packs/crypto/state", "context://packs/crypto/brief"} {
		price := map[bool]string{true: "1000", false: "5000"}[strings.HasSuffix(uri, "state")]
		a := p.post(paying(read(uri), p.sign(p.chain.Wallet(), p.offered(read(uri), price)), false))
		if r := p.receipt(a); r.Transaction == receipt.Transaction || len(a.read(t).Result.Contents) != 1 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	if paid := p.treasury() - before; paid != 2_000+1_000+5_000 {
		t.Errorf("the treasury has %d more", paid)
	}
	for value, status := range map[string]int{`"!"`: 400, `{"x402Version":2}`: 402, `{"x402Version":99}`: 402} {
		if a := p.post(paying(body, json.RawMessage(value), false)); a.Status != status || !strings.Contains(a.Body, "malformed_proof") {
			t.Errorf("%s: %d %s", value, a.Status, a.Body)
		}
	}
	p.quote(body, "0.002") // our own dialect is beside it
}

// TestSignInOverMCP: a wallet that signs in with a call gets what it has paid for, and the owner of credits pays with these, as a member of
// the message and as a header, in every binding; lists are free for them, and a bad sign-in is asked for a payment.
func TestSignInOverMCP(t *testing.T) {
	t.Parallel()
	p := newSettlingShop(t, func(c *daemon.Config) {
		c.PublicURL, c.SignIn = "https://context.example.org", x402.SignInSpend
	})
	wallet := p.chain.Wallet()
	body := call("context.search", `{"q":"bitcoin","k":2}`)
	offer := func(body string) api.StandardRequired {
		return unwrap[api.StandardRequired](t, p.post(body), api.HeaderRequired)
	}
	with := func(body string, coded bool) string {
		sent := daemontest.SignIn(t, wallet, offer(body), nil, nil)
		return strings.Replace(paying(body, sent, coded), "x402/payment", "x402/sign-in-with-x", 1)
	}
	if a := p.post(with(body, false)); a.Status != 402 || !strings.Contains(a.Body, "has not paid") {
		t.Fatalf("before it has paid: %d %s", a.Status, a.Body)
	}
	first := p.post(paying(body, p.sign(wallet, offer(body)), false))
	receipt := p.receipt(first)
	for _, coded := range []bool{false, true} {
		again := p.post(with(body, coded))
		if matchesOf(t, again) != matchesOf(t, first) || p.receipt(again).Transaction != receipt.Transaction ||
			again.Header.Get(api.HeaderReplayed) != "true" {
			t.Errorf("%d %s", again.Status, again.Body)
		}
	}
	if a := p.post(body, api.HeaderSignIn, "%%"); a.Status != 402 || !strings.Contains(a.Body, "sign-in is refused") {
		t.Errorf("a bad one: %d %s", a.Status, a.Body)
	}
	owner := p.owner(wallet)
	for i, one := range []string{body, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`} {
		a := p.post(one, api.HeaderSignIn, base64.StdEncoding.EncodeToString(daemontest.SignIn(t, wallet, offer(one), nil, nil)))
		if a.Status != 200 || a.Header.Get(api.HeaderReplayed) != "" || a.read(t).Result.IsError {
			t.Errorf("with credits: %d %s", a.Status, a.Body)
		}
		if credits := owner(); credits != 999 {
			t.Errorf("%d: %d credits are left", i, credits)
		}
	}
}

// owner buys a package of credits with a wallet, and returns what tells its credits.
func (p *shop) owner(wallet devchain.Account) (credits func() int64) {
	p.t.Helper()
	at := api.PathPurchase + "?pack=" + string(api.CreditStarter)
	offer := unwrap[api.StandardRequired](p.t, p.do(http.MethodPost, at, ""), api.HeaderRequired)
	var key api.IssuedKey
	bought := p.do(http.MethodPost, at, "", signature(p.sign(wallet, offer))...)
	if err := json.Unmarshal([]byte(bought.Body), &key); err != nil || key.Key == "" {
		p.t.Fatalf("%d %s: %v", bought.Status, bought.Body, err)
	}
	owner := p.d.Keys().List("")[0].OwnerID // the newest key is the bought one
	return func() int64 {
		left, _, err := p.d.Credits().Ledger.Balance(p.t.Context(), owner, key.KeyID)
		if err != nil {
			p.t.Fatal(err)
		}
		return left
	}
}

// inBandOffer is the offer in a result, the same in all its places.
func inBandOffer(t *testing.T, a answer) (offer api.StandardRequired) {
	t.Helper()
	r := a.read(t).Result
	if a.Status != 200 || !r.IsError || len(r.Content) != 1 || r.Content[0].Text != string(r.StructuredContent) || string(r.Meta["x402/error"]) != r.Content[0].Text {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if err := json.Unmarshal(r.StructuredContent, &offer); err != nil || offer.X402Version != 2 || len(offer.Accepts) != 1 {
		t.Fatalf("%v: %s", err, a.Body)
	}
	return offer
}

// TestPayInBand has tools paid for in messages where handshake and lists are free: offer, refusals and receipts are results. What no
// payment mends is one without an offer; resources, proofs and keys are as ever.
func TestPayInBand(t *testing.T) {
	t.Parallel()
	p := newSettlingShop(t, inBand)
	before := p.treasury()
	body := call("context.cite", `{"ref":1}`)
	offer := inBandOffer(t, p.post(body))
	payment := p.sign(p.chain.Wallet(), offer)
	receipt := p.receipt(p.post(paying(body, payment, false)))
	if again := p.post(paying(body, payment, false)); p.receipt(again) != receipt || again.Header.Get(api.HeaderReplayed) != "true" {
		t.Errorf("%d %s", again.Status, again.Body)
	}
	wrong := p.sign(p.chain.Wallet(), offer, func(a *devchain.Authorization) { a.Value++ })
	for reason, one := range map[api.Reason]string{
		api.ReasonAlreadyUsed: paying(call("context.cite", `{"ref":2}`), payment, false), api.ReasonAmountMismatch: paying(body, wrong, true),
	} {
		a := p.post(one)
		var r api.StandardReceipt
		err := json.Unmarshal(a.read(t).Result.Meta["x402/payment-response"], &r)
		if err != nil || r.Success || r.ErrorReason != reason.Standard() {
			t.Errorf("%s: %d %s", reason, a.Status, a.Body)
		}
		if offer := inBandOffer(t, a); !strings.HasPrefix(offer.Error, string(reason)) {
			t.Errorf("%s: %q", reason, offer.Error)
		}
	}
	for _, one := range []string{
		call("context.cite", `{"ref":99}`), call("context.cite", `{}`), call("context.fresh", `{"pack":"ai"}`), paying(call("context.cite", `{"ref":99}`), wrong, false),
	} {
		if r := p.post(one).read(t).Result; !r.IsError || r.StructuredContent != nil || strings.Contains(r.Content[0].Text, "accepts") {
			t.Errorf("%s: %+v", one, r)
		}
	}
	if a := p.post(read("context://packs/crypto/state")); a.Status != 402 || unwrap[api.StandardRequired](t, a, api.HeaderRequired).Accepts[0].Amount != "1000" {
		t.Errorf("a resource: %d %s", a.Status, a.Body)
	}
	if a := p.post(body, modern("", "tools/call", "context.cite")[2:]...); a.Status != 400 {
		t.Errorf("a message without its version: %d %s", a.Status, a.Body)
	}
	a := p.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context.cite","arguments":{"ref":1},`+meta+`}}`, modern("", "tools/call", "context.cite")[2:]...)
	if inBandOffer(t, a); !strings.Contains(a.Body, `"resultType":"complete"`) {
		t.Errorf("from 2026-07-28 on: %s", a.Body)
	}
	if a := p.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); a.Status != 200 || a.Header.Get(api.HeaderSettlement) != "" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	var asked struct{ Payment api.PaymentRequirements }
	if err := json.Unmarshal(p.post(body).read(t).Result.Meta["contextd/refusal"], &asked); err != nil || asked.Payment.Amount != "0.001" {
		t.Fatalf("our own quote: %v", err)
	}
	proof := header(p.pay(asked.Payment))
	if a := p.post(body, proof...); a.Status != 200 || a.read(t).Result.IsError {
		t.Errorf("our own dialect: %d %s", a.Status, a.Body)
	}
	if a := p.post(call("context.cite", `{"ref":2}`), proof...); a.Status != 402 {
		t.Errorf("our own dialect, refused: %d %s", a.Status, a.Body)
	}
	if paid := p.treasury() - before; paid != 2_000 {
		t.Errorf("the treasury has %d more", paid)
	}
	p.byStockClient()
}

// byStockClient has the SDK's client list the tools, call one, and pay as the result asks.
func (p *shop) byStockClient() {
	p.t.Helper()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(p.t.Context(), &sdk.StreamableClientTransport{
			Endpoint: p.url, HTTPClient: &http.Client{Transport: transport}, DisableStandaloneSSE: true,
		}, &sdk.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			p.t.Fatalf("%s: %v", version, err)
		}
		defer c.Close()
		if list, err := c.ListTools(p.t.Context(), nil); err != nil || len(list.Tools) != len(api.Tools())+1 {
			p.t.Fatalf("%s: %v", version, err)
		}
		asked := &sdk.CallToolParams{Name: "context.brief", Arguments: map[string]any{}}
		res, err := c.CallTool(p.t.Context(), asked)
		if err != nil || !res.IsError {
			p.t.Fatalf("%s: %+v, %v", version, res, err)
		}
		text, _ := json.Marshal(res.StructuredContent) // it was JSON
		var offer api.StandardRequired
		if err := json.Unmarshal(text, &offer); err != nil {
			p.t.Fatal(err)
		}
		asked.Meta = sdk.Meta{"x402/payment": p.sign(p.chain.Wallet(), offer)}
		if res, err = c.CallTool(p.t.Context(), asked); err != nil || res.IsError || res.Meta["x402/payment-response"] == nil {
			p.t.Errorf("%s: %+v, %v", version, res, err)
		}
	}
}

// TestListPayment has one payment open handshake and lists to its payer for a day: further authorizations are checked, not settled, and told
// of the first one's transaction. Tools are always settled, and others pay for themselves.
func TestListPayment(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	p := newSettlingShop(t, func(c *daemon.Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	offer := p.offered(list, "1000")
	other, err := p.chain.NewAccount(t.Context(), 5_000)
	if err != nil {
		t.Fatal(err)
	}
	before := p.treasury()
	first := p.receipt(p.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		signature(p.sign(p.chain.Wallet(), offer))...))
	unsettled := p.sign(p.chain.Wallet(), offer)
	for _, further := range []struct {
		body    string
		payment json.RawMessage
	}{
		{list, unsettled}, {list, unsettled}, {`{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{}}`, p.sign(p.chain.Wallet(), offer)},
		{`{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, p.sign(p.chain.Wallet(), offer)},
	} {
		if r := p.receipt(p.post(further.body, signature(further.payment)...)); r != first {
			t.Errorf("%s has the receipt %+v, not %+v", further.body, r, first)
		}
	}
	for body, status := range map[string]int{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`: 202, `{"jsonrpc":"2.0","id":1,"method":"ping"}`: 200,
	} {
		a := p.post(body, signature(p.sign(p.chain.Wallet(), offer))...)
		if a.Status != status || unwrap[api.StandardReceipt](t, a, api.HeaderSettlement) != first {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	paid := func(want int64) {
		t.Helper()
		if got := p.treasury() - before; got != want {
			t.Fatalf("the treasury has %d more, not %d", got, want)
		}
	}
	paid(1_000)
	for name, change := range map[string]func(*devchain.Authorization){
		"value": func(a *devchain.Authorization) { a.Value-- }, "time": func(a *devchain.Authorization) { a.Before = time.Now().Unix() },
		"to": func(a *devchain.Authorization) { a.To = other.Address },
	} {
		if a := p.post(list, signature(p.sign(p.chain.Wallet(), offer, change))...); a.Status != 402 {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	cite := call("context.cite", `{"ref":1}`)
	if r := p.receipt(p.post(paying(cite, p.sign(p.chain.Wallet(), offer), false))); r == first {
		t.Error("a tool was not settled")
	}
	state := read("context://packs/crypto/state")
	if r := p.receipt(p.post(paying(state, p.sign(p.chain.Wallet(), offer), false))); r == first {
		t.Error("a resource was not settled")
	}
	paid(3_000)
	if r := p.receipt(p.post(list, signature(p.sign(other, offer))...)); r == first {
		t.Error("somebody else has the list payment")
	}
	paid(4_000)
	ahead.Store(int64(24*time.Hour - time.Minute))
	later := func(a *devchain.Authorization) { a.Before += int64((24 * time.Hour).Seconds()) }
	if r := p.receipt(p.post(list, signature(p.sign(p.chain.Wallet(), offer, later))...)); r != first {
		t.Error("it does not hold for a day")
	}
	paid(4_000)
	ahead.Store(int64(24*time.Hour + time.Minute))
	if r := p.receipt(p.post(list, signature(p.sign(p.chain.Wallet(), offer, later))...)); r == first {
		t.Error("it holds for longer than a day")
	}
	paid(5_000)
}

// TestPayingClients has unmodified MCP clients that pay by themselves call tools. .ci/run names the directory of their npm packages where npm
// can install them.
func TestPayingClients(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CONTEXTD_X402_CLIENTS")
	if dir == "" {
		t.Skip("CONTEXTD_X402_CLIENTS names no directory with the npm packages of MCP clients that pay")
	}
	p := newSettlingShop(t, inBand)
	source, err := os.ReadFile("testdata/paying.mjs")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, fmt.Sprintf("paying-%d.mjs", time.Now().UnixNano())) // beside its packages
	if err := os.WriteFile(name, source, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(name)
	before := p.treasury()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "node", name, p.url, p.chain.Wallet().PrivateKey)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "ok\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	if paid := p.treasury() - before; paid != 2*api.OpSearch.PriceMicros() {
		t.Errorf("the treasury has %d more", paid)
	}
}

// binding is a result by the extension org.x402/payment.
type binding struct {
	ResultType      string
	PaymentRequired *api.StandardRequired
	IsError         bool
	Content         []struct{ Text string }
	Contents        []json.RawMessage
	Messages        []json.RawMessage
	Meta            struct {
		Receipt *api.StandardReceipt `json:"x402/payment-response"`
		Refusal api.ErrorBody        `json:"contextd/refusal"`
	} `json:"_meta"`
	Capabilities struct{ Extensions map[string]any }
}

// advertised is a call by who pays by the extension org.x402/payment.
func advertised(method, params string, payment json.RawMessage) string {
	head := meta
	if payment != nil {
		head = strings.Replace(head, `{`, `{"x402/payment":`+string(payment)+`,`, 1)
	}
	head = strings.Replace(head, `Capabilities":{}`, `Capabilities":{"extensions":{"org.x402/payment":{}}}`, 1)
	return `{"jsonrpc":"2.0","id":"a","method":"` + method + `","params":{` + params + head + `}}`
}

// advertising posts such a call, with its headers.
func (p *shop) advertising(method, params, name string, payment json.RawMessage) binding {
	p.t.Helper()
	return p.bound(advertised(method, params, payment), method, name)
}

// bound posts body in the era without handshakes.
func (p *shop) bound(body, method, name string) (b binding) {
	p.t.Helper()
	a := p.post(body, modern("", method, name)[2:]...)
	var answer struct {
		ID     string
		Result json.RawMessage
	}
	if err := json.Unmarshal([]byte(a.Body), &answer); err != nil || a.Status != 200 || answer.ID != "a" {
		p.t.Fatalf("%s: %d %s", body, a.Status, a.Body)
	}
	if err := json.Unmarshal(answer.Result, &b); err != nil {
		p.t.Fatalf("%s: %v", a.Body, err)
	}
	if b.ResultType == "payment_required" && (b.IsError || b.Content != nil) {
		p.t.Errorf("%s: %v %s", body, a.Header, a.Body)
	}
	return b
}

// TestBinding has calls paid for by the extension org.x402/payment, by each client that says so and by no other, whether handshake and
// lists are free or not. What no payment mends is answered as ever.
func TestBinding(t *testing.T) {
	t.Parallel()
	for _, free := range []bool{false, true} {
		p := newSettlingShop(t, func(c *daemon.Config) { c.MCP.PublicDiscovery = free })
		before := p.treasury()
		cite := `"name":"context.cite","arguments":{"ref":1},`
		asked := func(what string, b binding, amount string) api.StandardRequired {
			t.Helper()
			if b.ResultType != "payment_required" || b.PaymentRequired == nil || b.Meta.Refusal.Payment == nil ||
				b.PaymentRequired.X402Version != 2 || b.PaymentRequired.Accepts[0].Amount != amount {
				t.Fatalf("%s: %+v", what, b)
			}
			return *b.PaymentRequired
		}
		offer := asked("a tool", p.advertising("tools/call", cite, "context.cite", nil), "1000")
		if offer.Extensions["bazaar"].Info == nil || offer.Resource.URL != p.url {
			t.Errorf("the offer is %+v", offer)
		}
		wrong := p.sign(p.chain.Wallet(), offer, func(a *devchain.Authorization) { a.Value++ })
		refused := p.advertising("tools/call", cite, "context.cite", wrong)
		again := asked("a wrong payment", refused, "1000")
		if r := refused.Meta.Receipt; r == nil || r.Success || r.ErrorReason != api.StandardValue ||
			!strings.HasPrefix(again.Error, "amount_mismatch: ") {
			t.Errorf("%+v, %+v", r, again)
		}
		payment := p.sign(p.chain.Wallet(), offer)
		paid := p.advertising("tools/call", cite, "context.cite", payment)
		if paid.ResultType != "complete" || paid.IsError || paid.Meta.Receipt == nil || !paid.Meta.Receipt.Success ||
			paid.PaymentRequired != nil {
			t.Errorf("a paid tool: %+v", paid)
		}
		identifier := regexp.MustCompile(`"id":"[A-Z0-9]+"`) // of another payment, so that paying does not mend it
		second := identifier.ReplaceAll(p.sign(p.chain.Wallet(), offer), identifier.Find(payment))
		a := p.post(advertised("tools/call", cite, second), modern("", "tools/call", "context.cite")[2:]...)
		if a.Status != 409 || !strings.Contains(a.Body, string(api.ReasonIDConflict)) {
			t.Errorf("with the identifier of another: %d %s", a.Status, a.Body)
		}
		state := `"uri":"context://packs/crypto/state",`
		offer = asked("a resource", p.advertising("resources/read", state, "context://packs/crypto/state", nil), "1000")
		paid = p.advertising("resources/read", state, "context://packs/crypto/state", p.sign(p.chain.Wallet(), offer))
		if paid.ResultType != "complete" || len(paid.Contents) != 1 || paid.Meta.Receipt == nil || !paid.Meta.Receipt.Success {
			t.Errorf("a paid resource: %+v", paid)
		}
		prompt := p.advertising("prompts/get", `"name":"daily-brief",`, "daily-brief", nil)
		if free {
			if prompt.ResultType != "complete" || len(prompt.Messages) == 0 {
				t.Errorf("a free prompt: %+v", prompt)
			}
		} else {
			payment := p.sign(p.chain.Wallet(), asked("a prompt", prompt, "1000"))
			paid = p.advertising("prompts/get", `"name":"daily-brief",`, "daily-brief", payment)
			if paid.ResultType != "complete" || len(paid.Messages) == 0 || paid.Meta.Receipt == nil {
				t.Errorf("a paid prompt: %+v", paid)
			}
		}
		ours := header(p.pay(*p.advertising("tools/call", cite, "context.cite", nil).Meta.Refusal.Payment))
		for ref, status := range map[string]int{"1": 200, "2": 402} { // our own dialect is answered in that
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"context.cite",`+
				`"arguments":{"ref":%s},%s}}`, ref,
				strings.Replace(meta, `Capabilities":{}`, `Capabilities":{"extensions":{"org.x402/payment":{}}}`, 1))
			if a := p.post(body, append(modern("", "tools/call", "context.cite")[2:], ours...)...); a.Status != status {
				t.Errorf("our own dialect, of %s: %d %s", ref, a.Status, a.Body)
			}
		}
		nothing := p.advertising("tools/call", `"name":"context.lookup","arguments":{"q":"qqqqzzzz"},`, "context.lookup", nil)
		if nothing.ResultType != "complete" || !nothing.IsError || nothing.PaymentRequired != nil {
			t.Errorf("what is not found: %+v", nothing)
		}
		for name, headers := range map[string][]string{
			"not advertised":    modern("", "tools/call", "context.cite")[2:],
			"of the former era": {"Mcp-Protocol-Version", "2025-11-25"}, "of no era": nil,
		} {
			body := `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{` + cite + meta + `}}`
			if name != "not advertised" {
				body = strings.Replace(body, `Capabilities":{}`, `Capabilities":{"extensions":{"org.x402/payment":{}}}`, 1)
			}
			if a := p.post(body, headers...); a.Status == 402 && free || strings.Contains(a.Body, `"resultType":"payment_required"`) {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			}
		}
		want := int64(3_000)
		if !free {
			want += 1_000
		}
		if got := p.treasury() - before; got != want {
			t.Errorf("the treasury has %d more, not %d", got, want)
		}
	}
}

// TestBindingIsTold: who settles says in server/discover that calls may be paid for so, and in no handshake of a former era.
func TestBindingIsTold(t *testing.T) {
	t.Parallel()
	discover := `{"jsonrpc":"2.0","id":"a","method":"server/discover","params":{` + meta + `}}`
	p := newSettlingShop(t, inBand)
	if b := p.bound(discover, "server/discover", ""); b.Capabilities.Extensions["org.x402/payment"] == nil {
		t.Errorf("it is not told: %+v", b)
	}
	hello := `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}`
	if a := p.post(hello); a.Status != 200 || strings.Contains(a.Body, "org.x402") {
		t.Errorf("in a handshake: %d %s", a.Status, a.Body)
	}
	p = newShop(t, inBand)
	if b := p.bound(discover, "server/discover", ""); b.Capabilities.Extensions["org.x402/payment"] != nil {
		t.Errorf("by who settles nothing: %+v", b)
	}
}
