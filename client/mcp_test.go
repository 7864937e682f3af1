package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// stub is a service with the answers of a test, and the commands of ctx mcp in front of it.
type stub struct {
	t     *testing.T
	url   string
	notes buffer // stderr
}

// newStub opens a stub that ends with the test.
func newStub(t *testing.T, answer http.HandlerFunc) *stub {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return &stub{t: t, url: server.URL}
}

// run runs a command of ctx mcp with in on stdin and returns what it has written.
func (d *stub) run(ctx context.Context, in io.Reader, args ...string) (stdout string, err error) {
	d.t.Helper()
	var out buffer
	err = d.start(ctx, in, &out, args...)
	return out.String(), err
}

// start runs a command of ctx mcp that writes to out.
func (d *stub) start(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	d.t.Helper()
	a := d.app(in, out, "CTX_API_KEY", "cv_test_ab12cd34SECRETSECRETSECRETSECRET")
	defer a.Close()
	c := client.MCPCommand(a)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	return c.ExecuteContext(ctx)
}

// pay calls a method that p pays for.
func (d *stub) pay(p sdk.Payer, tool string, arguments map[string]string) error {
	d.t.Helper()
	a := d.app(strings.NewReader(""), io.Discard, "CTX_PAY", "true")
	defer a.Close()
	return client.CallTool(d.t.Context(), a, p, tool, arguments)
}

// relay has the bridge pass lines on, which p pays for, and returns what it has written.
func (d *stub) relay(p sdk.Payer, lines string) string {
	d.t.Helper()
	var out buffer
	a := d.app(strings.NewReader(lines), &out, "CTX_PAY", "true")
	defer a.Close()
	if err := client.Relay(d.t.Context(), a, p); err != nil {
		d.t.Error(err)
	}
	return out.String()
}

// app is a run with one more variable in the environment.
func (d *stub) app(in io.Reader, out io.Writer, name, value string) *client.Factory {
	env := map[string]string{"CTX_BASE_URL": d.url, "HOME": d.t.TempDir(), name: value}
	return client.New(cli.System{In: in, Out: out, Err: &d.notes, Now: time.Now,
		LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok }})
}

// walletPayer pays without a chain, and notes what becomes of its payments as a journal does.
type walletPayer struct {
	mu   sync.Mutex                  // guards what follows
	open map[string]api.PaymentProof // by request
	n    int                         // transfers
}

// Pay returns the payment of the request, or makes one.
func (p *walletPayer) Pay(_ context.Context, q sdk.Quote) (sdk.Payment, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if paid, ok := p.open[q.Request]; ok {
		return sdk.TransferPayment(paid), nil
	}
	p.n++
	paid := api.PaymentProof{Scheme: api.SchemeX402, Network: api.NetworkL2, TxHash: fmt.Sprintf("0x%064x", p.n)}
	p.open[q.Request] = paid
	return sdk.TransferPayment(paid), nil
}

// Conclude forgets a payment.
func (p *walletPayer) Conclude(_ context.Context, paid sdk.Payment, o sdk.Outcome) error {
	if o.Unanswered != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for request, open := range p.open {
		if open.TxHash == paid.ID {
			delete(p.open, request)
		}
	}
	return nil
}

// state is how many transfers there were, and how many of them are not answered.
func (p *walletPayer) state() (transfers, open int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n, len(p.open)
}

// paid answers r with a quote unless it carries a proof, and reports whether it does.
func paid(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get(api.HeaderPayment) != "" {
		return true
	}
	e := api.Errorf(api.ReasonPaymentRequired, "pay")
	w.WriteHeader(http.StatusPaymentRequired)
	_ = json.NewEncoder(w).Encode(api.ErrorBody{Error: e, Payment: &api.PaymentRequirements{Amount: "0.001", Asset: "USDG"}})
	return false
}

const receipt = `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{},"_meta":{"x402/payment-response":{"success":true}}}}`

// TestPaymentIsKept has a payment settled by an answer alone: what a service or a proxy says instead leaves it for the next attempt, which
// does not pay again.
func TestPaymentIsKept(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]struct {
		status int
		body   string
	}{
		"not found": {404, `{"error":{"code":"NOT_FOUND","message":"nothing"}}`}, "too many": {429, ``}, "failure": {500, ``}, "proxy": {502, `<html>`},
		"redirect": {302, ``}, "another page": {200, `<html>`}, "no receipt": {200, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		"an error": {200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"it failed"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Bool
			d := newStub(t, func(w http.ResponseWriter, r *http.Request) {
				if !paid(w, r) {
					return
				}
				if seen.Swap(true) {
					_, _ = io.WriteString(w, receipt)
					return
				}
				w.WriteHeader(bad.status)
				_, _ = io.WriteString(w, bad.body)
			})
			p := &walletPayer{open: map[string]api.PaymentProof{}}
			cite := map[string]string{"ref": "1"}
			err := d.pay(p, "context.cite", cite)
			if transfers, open := p.state(); transfers != 1 || open != 1 || err == nil || !strings.Contains(err.Error(), "paid with 0x") {
				t.Errorf("%d transfers, %d open: %v", transfers, open, err)
			}
			err = d.pay(p, "context.cite", cite)
			if transfers, open := p.state(); transfers != 1 || open != 0 || err != nil {
				t.Errorf("the second time: %d transfers, %d open: %v", transfers, open, err)
			}
		})
	}
}

// TestHandshakeIsNotOpened by a refusal: the next message shows the same payment.
func TestHandshakeIsNotOpened(t *testing.T) {
	t.Parallel()
	var failed atomic.Bool
	d := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !paid(w, r):
		case !failed.Swap(true):
			w.WriteHeader(http.StatusBadGateway)
		default:
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`)
		}
	})
	p := &walletPayer{open: map[string]api.PaymentProof{}}
	if err := d.pay(p, "", nil); err == nil {
		t.Error("a failure was taken for an answer")
	}
	if _, open := p.state(); open != 1 {
		t.Errorf("%d payments are open", open)
	}
	if err := d.pay(p, "", nil); err != nil {
		t.Error(err)
	}
	if transfers, open := p.state(); transfers != 1 || open != 0 {
		t.Errorf("%d transfers, %d open", transfers, open)
	}
}

// TestRedirectsAreNotFollowed has a redirect told and the key stay with the service that it is for.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var strays atomic.Int64
	other := newStub(t, func(http.ResponseWriter, *http.Request) { strays.Add(1) })
	d := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", other.url+r.URL.Path)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	_, err := d.run(t.Context(), strings.NewReader(""), "tools")
	if err == nil || !strings.Contains(err.Error(), "307 Temporary Redirect, a redirect to") {
		t.Errorf("a redirect: %v", err)
	}
	out, err := d.run(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), "stdio")
	if err != nil || !strings.Contains(out, `"id":1,"error":{"code":-32000`) || !strings.Contains(out, "which is not followed") {
		t.Errorf("a redirect of the bridge: %s, %v", out, err)
	}
	if n := strays.Load(); n != 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}

// TestCallsAreAnswered has every call answered, also one that the service leaves without an answer.
func TestCallsAreAnswered(t *testing.T) {
	t.Parallel()
	lost := `"error":{"code":-32000,"message":"post http`
	for name, c := range map[string]struct{ body, want string }{
		"an answer":             {"data: {\"jsonrpc\":\"2.0\",\"id\":\"\\u0061\",\"result\":{}}\n\n", ""},
		"an empty stream":       {": keepalive\n\n", lost},
		"of another":            {"data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n", lost},
		"a call, not an answer": {"data: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}\n\n", lost},
		"a broken stream":       {"broken", lost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				if c.body != "broken" {
					_, _ = io.WriteString(w, c.body)
					return
				}
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			})
			out, err := d.run(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":"a","method":"tools/list"}`), "stdio")
			if got := strings.Contains(out, `"id":"a","error"`); err != nil || got != (c.want != "") || !strings.Contains(out, c.want) {
				t.Errorf("%s, %v", out, err)
			}
		})
	}
	d := newStub(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	out, err := d.run(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"+`{"jsonrpc":"2.0","method":"notifications/x"}`), "stdio")
	if err != nil || strings.Count(out, "\n") != 1 || !strings.Contains(out, `"id":1,"error"`) {
		t.Errorf("accepted: %s, %v", out, err)
	}
}

// TestBridgeEnds with its client, which gets the answers that are still to come, though not those of what never ends by itself.
func TestBridgeEnds(t *testing.T) {
	t.Parallel()
	listening := make(chan struct{})
	d := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if !bytes.Contains(text, []byte("subscriptions/listen")) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		close(listening)
		<-r.Context().Done()
	})
	in, client := io.Pipe()
	go func() {
		_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`+"\n")
		<-listening
		_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
		_ = client.Close()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := d.run(ctx, in, "stdio")
	if err != nil || ctx.Err() != nil || out != `{"jsonrpc":"2.0","id":2,"result":{}}`+"\n" {
		t.Errorf("%q, %v, %v", out, err, ctx.Err())
	}
}

// TestSubscribesAgain to what a session was subscribed to, without what is refused now, and has the client read what it holds.
func TestSubscribesAgain(t *testing.T) {
	t.Parallel()
	var sessions atomic.Int64
	d := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ URI string }
		}
		now := fmt.Sprint("s", sessions.Load())
		switch _ = json.NewDecoder(r.Body).Decode(&m); {
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", sessions.Add(1)))
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25"}}`, m.ID)
		case r.Header.Get("Mcp-Session-Id") != now, m.Method == "ping" && now == "s1":
			w.WriteHeader(http.StatusNotFound)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case m.Params.URI == "a" && now == "s2":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no credits"}}`, m.ID)
		case m.Params.URI == "b" && now == "s2":
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		}
	})
	in, client := io.Pipe()
	var out buffer
	ended := make(chan error, 1)
	go func() { ended <- d.start(t.Context(), in, &out, "stdio") }()
	for i, line := range []string{
		`{"jsonrpc":"2.0","id":"0","method":"initialize"}`, `{"jsonrpc":"2.0","id":"1","method":"resources/subscribe","params":{"uri":"a"}}`,
		`{"jsonrpc":"2.0","id":"2","method":"resources/subscribe","params":{"uri":"b"}}`, `{"jsonrpc":"2.0","id":"3","method":"resources/subscribe","params":{"uri":"c"}}`,
		`{"jsonrpc":"2.0","id":"4","method":"ping"}`,
	} {
		_, _ = io.WriteString(client, line+"\n")
		for range 20_000 {
			if strings.Contains(out.String(), fmt.Sprintf(`"id":"%d","result"`, i)) {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	_ = client.Close()
	err := <-ended
	updated := strings.Count(out.String(), "resources/updated")
	if err != nil || updated != 1 || !strings.Contains(out.String(), `"params":{"uri":"c"}`) || !strings.Contains(out.String(), `"id":"4","result"`) {
		t.Errorf("%s, %v", out.String(), err)
	}
	if notes := d.notes.String(); !strings.Contains(notes, "to a was lost: no credits") || !strings.Contains(notes, "to b was lost") {
		t.Error(notes)
	}
}

// TestBothDirections has the service say something by itself and ask something, the client answer it, and the stream for that open again in
// a session that has ended meanwhile. A line that is no message is told and ends nothing.
func TestBothDirections(t *testing.T) {
	t.Parallel()
	var sessions, streams, left atomic.Int64
	answers := make(chan string, 1)
	d := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		var m struct{ ID, Method json.RawMessage }
		_ = json.Unmarshal(text, &m)
		switch now := fmt.Sprint("s", sessions.Load()); {
		case string(m.Method) == `"initialize"`:
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", sessions.Add(1)))
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25"}}`, m.ID)
		case r.Header.Get("Mcp-Session-Id") != now || r.Header.Get("Mcp-Protocol-Version") != "2025-11-25":
			w.WriteHeader(http.StatusNotFound)
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, ": ok\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"of the service\",\"method\":\"ping\",\"params\":{\"n\":%d}}\n\n", streams.Add(1))
			if sessions.Load() == 1 {
				sessions.Add(1) // and the stream breaks
				return
			}
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case r.Method == http.MethodDelete:
			left.Add(1)
			w.WriteHeader(http.StatusNoContent)
		case m.Method == nil && m.ID != nil:
			answers <- string(text)
			w.WriteHeader(http.StatusAccepted)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	in, client := io.Pipe()
	var out buffer
	ended := make(chan error, 1)
	go func() { ended <- d.start(t.Context(), in, &out, "stdio") }()
	_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`+"\nnonsense\n")
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(out.String(), `"params":{"n":2}`); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s; %s", out.String(), d.notes.String())
		}
	}
	_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":"of the service","result":{}}`+"\n")
	if got := <-answers; got != `{"jsonrpc":"2.0","id":"of the service","result":{}}` {
		t.Errorf("the service got %s", got)
	}
	_ = client.Close()
	if err := <-ended; err != nil || !strings.Contains(out.String(), `"id":null,"error":{"code":-32700`) || strings.Count(out.String(), `"result"`) != 1 {
		t.Errorf("%s, %v", out.String(), err)
	}
	if sessions.Load() != 3 || left.Load() != 1 || !strings.Contains(d.notes.String(), "opening another") {
		t.Errorf("%d sessions; %s", sessions.Load(), d.notes.String())
	}
}

// TestNonsenseOfTheService ends the calls under way with an error, and no other.
func TestNonsenseOfTheService(t *testing.T) {
	t.Parallel()
	d := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if bytes.Contains(text, []byte("resources/list")) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"res")
	})
	in, client := io.Pipe()
	var out buffer
	ended := make(chan error, 1)
	go func() { ended <- d.start(t.Context(), in, &out, "stdio") }()
	_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n")
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(out.String(), `"id":1,"error"`) && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":2,"method":"resources/list"}`)
	_ = client.Close()
	if err := <-ended; err != nil || !strings.Contains(out.String(), `"id":1,"error"`) || !strings.Contains(out.String(), `"id":2,"result"`) {
		t.Errorf("%s, %v; %s", out.String(), err, d.notes.String())
	}
}

// TestJournalNames has a call be called the same for all callers and spacings, and handshake and lists be one payment: a
// payment that was made before a crash is found again by that name.
func TestJournalNames(t *testing.T) {
	t.Parallel()
	d := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		if paid(w, r) {
			text, _ := io.ReadAll(r.Body)
			if !bytes.Contains(text, []byte("list")) {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		}
	})
	p := &walletPayer{open: map[string]api.PaymentProof{}}
	lines := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}
		{"jsonrpc":"2.0","id":1,"method":"prompts/list"}
		{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"arguments": {"q": "a <b> \u00e9", "k": 3}, "name": "context_search"}}
		{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"context://packs/crypto/brief"}}`
	for range 2 { // the second time as after a crash
		for line := range strings.Lines(lines) {
			if out := d.relay(p, line); !strings.Contains(out, `"result":{}`) && !strings.Contains(out, "paid with transaction 0x") {
				t.Error(out)
			}
		}
	}
	if err := d.pay(p, "context.cite", map[string]string{"ref": "<1>"}); err == nil {
		t.Error("answered")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	want := []string{`POST /api/mcp resources/read context://packs/crypto/brief`, `POST /api/mcp tools/call context.cite {"ref":"<1>"}`,
		`POST /api/mcp tools/call context_search {"q":"a <b> \u00e9","k":3}`}
	if got := slices.Sorted(maps.Keys(p.open)); !slices.Equal(got, want) || p.n != 7 { // 4 lists, each by a relay of its own
		t.Errorf("%d transfers, open are %q", p.n, got)
	}
}
