package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// refuses is a Payer that pays nothing, for a reason.
type refuses struct{ err error }

func (p refuses) Pay(context.Context, sdk.Quote) (sdk.Payment, error) {
	return sdk.Payment{}, p.err
}

func (p refuses) Conclude(context.Context, sdk.Payment, sdk.Outcome) error { return nil }

// bridged is what the bridge answered to a call.
type bridged struct {
	ID     json.RawMessage
	Result *struct {
		IsError      bool
		Content      []struct{ Text string }
		Tools        []struct{ Name string }
		Capabilities json.RawMessage
	}
	Error *struct {
		Code    int
		Message string
	}
}

// read is the only line that the bridge has written.
func (b *bridged) read(t *testing.T, out string) {
	t.Helper()
	if err := json.Unmarshal([]byte(out), b); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
}

// TestUnknownIsNotPaid has nothing paid for a tool or a resource that nobody knows, nor for a subscription, though the service quotes it.
func TestUnknownIsNotPaid(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		code    int
		message string
	}{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context_nothing"}}`:               {-32602, `unknown tool "context_nothing"`},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fresher"}}`:                       {-32602, `unknown tool "fresher"`},
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"context://packs/crypto/all"}}`: {-32602, "unknown resource"},
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`:         {-32602, "unknown resource"},
		`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"context://packs/crypto/state"}}`: {
			-32601, "takes an API key"},
	} {
		d := newStub(t, func(w http.ResponseWriter, r *http.Request) {
			if paid(w, r) {
				_, _ = io.WriteString(w, receipt)
			}
		})
		p := &walletPayer{open: map[string]api.PaymentProof{}}
		var got bridged
		got.read(t, d.relay(p, line))
		if got.Error == nil || got.Error.Code != want.code || !strings.Contains(got.Error.Message, want.message) {
			t.Errorf("%s: %+v", line, got.Error)
		}
		if transfers, _ := p.state(); transfers != 0 {
			t.Errorf("%s: %d transfers", line, transfers)
		}
	}
}

// TestPricesOfTheBridge has each call be quoted to the payer with what is published as its price.
func TestPricesOfTheBridge(t *testing.T) {
	t.Parallel()
	for message, price := range map[string]int64{
		`"tools/list"`: 1_000, `"initialize"`: 1_000,
		`"tools/call","params":{"name":"context_search"}`:                                 2_000,
		`"tools/call","params":{"name":"other.brief"}`:                                    5_000,
		`"resources/read","params":{"uri":"context://packs/crypto/state"}`:                1_000,
		`"resources/read","params":{"uri":"context://packs/crypto/brief"}`:                5_000,
		`"resources/read","params":{"uri":"context://packs/a/snapshot/2026-11-20T14:05"}`: 10_000,
	} {
		d := newStub(t, func(w http.ResponseWriter, r *http.Request) { paid(w, r) })
		var asked atomic.Int64
		p := asks{&asked}
		d.relay(p, `{"jsonrpc":"2.0","id":1,"method":`+message+`}`)
		if asked.Load() != price {
			t.Errorf("%s: %d, not %d", message, asked.Load(), price)
		}
	}
}

// asks is a Payer that notes the published price.
type asks struct{ price *atomic.Int64 }

func (p asks) Pay(_ context.Context, q sdk.Quote) (sdk.Payment, error) {
	p.price.Store(q.Price)
	return sdk.Payment{}, wallet.ErrPolicy
}

func (p asks) Conclude(context.Context, sdk.Payment, sdk.Outcome) error { return nil }

// TestRefusalsAreRead has what a model can mend, and what became of its money, be a result that it reads, as with a key; a resource that
// is refused is an error, as with a key too.
func TestRefusalsAreRead(t *testing.T) {
	t.Parallel()
	const cite = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context_cite","arguments":{"ref":99}}}`
	absent := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(api.ErrorBody{Error: api.Errorf(api.ReasonCitationNotFound, "there is no source 99").WithHint("1 to 17")})
	}
	unanswered := func(w http.ResponseWriter, r *http.Request) {
		if paid(w, r) {
			w.WriteHeader(http.StatusBadGateway)
		}
	}
	quoted := func(w http.ResponseWriter, r *http.Request) { paid(w, r) }
	pays := &walletPayer{open: map[string]api.PaymentProof{}}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		payer  sdk.Payer
		want   []string
	}{
		"absent":  {absent, pays, []string{`"reason":"citation_not_found"`, `"hint":"1 to 17"`, `"code":"CITATION_NOT_FOUND"`, `"retryAfter":7`}},
		"refused": {quoted, refuses{wallet.ErrPolicy}, []string{`"reason":"payment_refused"`, `"code":"PAYMENT_REQUIRED"`, "ctx pay policy show"}},
		"stopped": {quoted, refuses{&wallet.StoppedError{Refused: wallet.Payment{Service: "http://a", TxHash: "0x07"}}},
			[]string{`"reason":"payment_refused"`, "0x07", "ctx pay policy allow http://a"}},
		"no gas": {quoted, refuses{wallet.ErrNoGas}, []string{`"reason":"payment_failed"`}},
		"paid":   {unanswered, pays, []string{`"reason":"paid_unanswered"`, "paid with transaction 0x0000", "ctx pay resume"}},
	} {
		d := newStub(t, c.answer)
		out := d.relay(c.payer, cite)
		var got bridged
		got.read(t, out)
		if got.Result == nil || !got.Result.IsError || len(got.Result.Content) != 1 {
			t.Errorf("%s: %s", name, out)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(got.Result.Content[0].Text, want) {
				t.Errorf("%s: %s has no %s", name, got.Result.Content[0].Text, want)
			}
		}
		if strings.Contains(out, "CTX_API_KEY") {
			t.Errorf("%s: %s", name, out)
		}
	}
	d := newStub(t, absent)
	var got bridged
	got.read(t, d.relay(pays, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"context://packs/crypto/state"}}`))
	if got.Error == nil || got.Error.Code != -32000 || !strings.Contains(got.Error.Message, "404 citation_not_found") {
		t.Errorf("a resource: %+v", got.Error)
	}
}

// TestPayersAreNotToldOfSubscriptions has the bridge claim what it can do: with a key all of it, without one no subscription.
func TestPayersAreNotToldOfSubscriptions(t *testing.T) {
	t.Parallel()
	answer := func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if strings.Contains(string(text), "tools/list") {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"context_fresh"},{"name":"context_subscribe"}],"ttlMs":5}}`)
			return
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":`+
			`{"tools":{},"resources":{"subscribe":true,"listChanged":true}}}}`)
	}
	d := newStub(t, answer)
	for _, method := range []string{"initialize", "server/discover", "tools/list"} {
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q}`, method)
		payer := d.relay(&walletPayer{open: map[string]api.PaymentProof{}}, line)
		keyed, err := d.run(t.Context(), strings.NewReader(line), "stdio")
		if err != nil || strings.Contains(payer, "subscribe") || strings.Contains(payer, "listChanged") || !strings.Contains(keyed, "subscribe") {
			t.Errorf("%s: %s with a payer, %s with a key; %v", method, payer, keyed, err)
		}
		var got bridged
		got.read(t, payer)
		if method == "tools/list" && (len(got.Result.Tools) != 1 || !strings.Contains(payer, `"ttlMs":5`)) ||
			method != "tools/list" && string(got.Result.Capabilities) != `{"resources":{},"tools":{}}` {
			t.Errorf("%s: %s", method, payer)
		}
	}
}

// TestBoundsOfTheBridge has what is too long, and what is too much at once, be refused without an end of the bridge.
func TestBoundsOfTheBridge(t *testing.T) {
	t.Parallel()
	const calls = 64 // under way at once
	arrived, release := make(chan struct{}, 2*calls), make(chan struct{})
	d := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		var m struct{ ID json.RawMessage }
		_ = json.Unmarshal(text, &m)
		if string(m.ID) == `"long"` {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"long","result":{"text":"%s"}}`, strings.Repeat("x", 16<<20))
			return
		}
		arrived <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	})
	in, client := io.Pipe()
	var out buffer
	ended := make(chan error, 1)
	go func() { ended <- d.start(t.Context(), in, &out, "stdio") }()
	says := func(want string) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !strings.Contains(out.String(), want); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("no %s in %.500s", want, out.String())
			}
		}
	}
	_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{"x":"`+strings.Repeat("y", 3<<20)+"\"}}\n")
	says(`"id":null,"error":{"code":-32700`)
	_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":"long","method":"tools/list"}`+"\n")
	says("longer than 16 MiB")
	for i := range calls {
		_, _ = fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", i+1)
	}
	for end := time.After(2 * time.Minute); len(arrived) < calls; {
		select {
		case <-end:
			t.Fatalf("%d calls have arrived", len(arrived))
		case <-time.After(5 * time.Millisecond):
		}
	}
	_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":"more","method":"tools/list"}`+"\n")
	says(`"id":"more","error":{"code":-32000,"message":"64 calls wait`)
	close(release)
	says(`"id":64,"result"`)
	_ = client.Close()
	if err := <-ended; err != nil || strings.Count(out.String(), `"result"`) != calls || strings.Count(out.String(), "\n") != calls+3 {
		t.Errorf("%d lines, %v", strings.Count(out.String(), "\n"), err)
	}
}

// TestHeardIsNotSentAgain has a message that the service has read, and not answered, be sent once.
func TestHeardIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(*net.TCPConn) error{
		"closed": (*net.TCPConn).Close, "reset": func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) },
	} {
		var heard atomic.Int64
		d := newStub(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			heard.Add(1)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				err = cut(conn.(*net.TCPConn))
			}
			if err != nil {
				t.Error(err)
			}
		})
		out, err := d.run(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context_brief"}}`), "stdio")
		if err != nil || heard.Load() != 1 || !strings.Contains(out, `"id":1,"error"`) || strings.Contains(d.notes.String(), "trying again") {
			t.Errorf("%s: heard %d times: %s, %v; %s", name, heard.Load(), out, err, d.notes.String())
		}
	}
}

// TestPaidInBand pays a real service, whose handshake and lists are free, for each call of a tool, by the wallet and our own dialect.
func TestPaidInBand(t *testing.T) {
	t.Parallel()
	chain := daemontest.Chain(t)
	service := daemontest.Start(t, daemontest.On(chain), func(c *daemon.Config) {
		c.Chain.SettleKey, c.Chain.Wait, c.MCP.PublicDiscovery = chain.Gas().PrivateKey, 20*time.Second, true
	})
	env := map[string]string{"CTX_BASE_URL": service.URL(), "HOME": t.TempDir(), "CTX_PAY": "true", "CTX_RPC_URL": chain.URL(),
		"CTX_CHAIN_ID": fmt.Sprint(devchain.ChainID), "CTX_TOKEN": chain.Token(), "CTX_WALLET_PRIVATE_KEY": chain.Wallet().PrivateKey}
	const opening = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"
	for _, c := range []struct {
		args  []string
		stdin string
		want  string
		paid  int64
	}{
		{[]string{"stdio"}, opening, `"tools":[`, 0},
		{[]string{"stdio"}, opening + `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"context_cite","arguments":{"ref":1}}}`,
			`"citation":{`, 1_000},
		{[]string{"stdio"}, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"context.cite","arguments":{"ref":2},` +
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"org.x402/payment":{}}}}}}`, `"citation":{`, 1_000},
		{[]string{"call", "search", "q=bitcoin", "k=1"}, "", `"matches":[`, 2_000},
		{[]string{"call", "cite", "ref=1"}, "", "citation", 1_000},
	} {
		before, err := chain.Balance(t.Context(), chain.Treasury())
		if err != nil {
			t.Fatal(err)
		}
		var out, notes buffer
		a := client.New(cli.System{In: strings.NewReader(c.stdin), Out: &out, Err: &notes, Now: time.Now,
			LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok }})
		group := client.MCPCommand(a)
		group.SilenceErrors, group.SilenceUsage = true, true
		group.SetArgs(c.args)
		err = group.ExecuteContext(t.Context())
		a.Close()
		after, none := chain.Balance(t.Context(), chain.Treasury())
		if err = errors.Join(err, none); err != nil || after-before != c.paid || !strings.Contains(out.String(), c.want) {
			t.Errorf("%v: %v; %d was paid for %.300s\n%s", c.args, err, after-before, out.String(), notes.String())
		}
	}
	all, err := wallet.Payments(env["HOME"] + "/.local/share/ctx")
	if err != nil || len(all) != 4 {
		t.Errorf("%d payments, %v", len(all), err)
	}
	for _, one := range all {
		if one.State != "answered" {
			t.Errorf("%s is %s", one.Request, one.State)
		}
	}
}
