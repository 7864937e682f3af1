package client_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// stall is an MCP server of somebody else, which has a tool that is paid by x402, and counts what comes.
type stall struct {
	amount  string
	http    bool                                     // it asks over HTTP
	bound   bool                                     // it asks by the extension for payments, who knows that
	text    bool                                     // it says how in the text of the result alone
	answers []string                                 // results for payments, in order; then a paid one
	gives   func(http.ResponseWriter, *http.Request) // what it gives for payments in place of an answer, nil for none

	mu    sync.Mutex
	paid  []string
	keyed bool // somebody has sent a key
}

// how is how it is paid.
func (s *stall) how() string {
	base := wallet.Assets()["usdc-base"]
	return fmt.Sprintf(`{"x402Version":2,"error":"pay","resource":{"url":"mcp://x"},"accepts":[{"scheme":"exact","network":%q,"amount":%q,"asset":%q,
		"payTo":"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC","maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}}]}`,
		base.Network(), s.amount, base.Token)
}

// asks is a result that says how the tool is paid.
func (s *stall) asks() string {
	if s.bound {
		return fmt.Sprintf(`{"resultType":"payment_required","paymentRequired":%s}`, s.how())
	}
	if s.text {
		return fmt.Sprintf(`{"isError":true,"content":[{"type":"text","text":%q}]}`, s.how())
	}
	return fmt.Sprintf(`{"isError":true,"content":[{"type":"text","text":"pay"}],"structuredContent":%s}`, s.how())
}

// ServeHTTP answers a message.
func (s *stall) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keyed = s.keyed || r.Header.Get("Authorization") != ""
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &m)
	payment := string(m.Params.Meta["x402/payment"])
	if s.http {
		payment = r.Header.Get(api.HeaderSignature)
	}
	answer := s.asks()
	switch {
	case s.bound && !strings.Contains(string(m.Params.Meta["io.modelcontextprotocol/clientCapabilities"]), `"org.x402/payment":{}`):
		answer = `{"isError":true,"content":[{"type":"text","text":"no payments"}]}`
	case m.Method != "tools/call" && !s.bound:
		answer = `{"tools":[]}`
	case payment == "" && s.http:
		w.Header().Set(api.HeaderRequired, base64.StdEncoding.EncodeToString([]byte(s.how())))
		w.WriteHeader(http.StatusPaymentRequired)
		return
	case payment != "":
		s.paid = append(s.paid, payment)
		if s.gives != nil {
			s.gives(w, r)
			return
		}
		answer = fmt.Sprintf(`{"content":[{"type":"text","text":"sold"}],"_meta":{"x402/payment-response":{"success":true,"transaction":"0x%064d"}}}`, 7)
		if n := len(s.paid); n <= len(s.answers) {
			answer = s.answers[n-1]
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answer)
}

// trip is a run of the bridge to a stall after another, with one wallet.
type trip struct {
	t    *testing.T
	url  string
	home string
}

// call has the bridge call the tool, and returns what it has answered.
func (p *trip) call(argument string, flags ...string) string {
	p.t.Helper()
	const line = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report","arguments":{"of":%q}}}`
	return p.send(fmt.Sprintf(line, argument), flags...)
}

// send has the bridge pass a message on, and returns what it has answered.
func (p *trip) send(line string, flags ...string) string {
	p.t.Helper()
	env := map[string]string{"CTX_BASE_URL": "http://127.0.0.1:1", "HOME": p.home, "CTX_WALLET_PRIVATE_KEY": purseKey, "CTX_API_KEY": "cv_test_ab12cd34SECRETSECRETSECRETSECRET"}
	var out, notes buffer
	a := client.New(cli.System{In: strings.NewReader(line), Out: &out, Err: &notes, Now: time.Now,
		LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok }})
	defer a.Close()
	c := client.MCPCommand(a)
	a.Flags.Bind(c.PersistentFlags())
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(append([]string{"stdio", "--url", p.url + "/mcp"}, flags...))
	if err := c.ExecuteContext(p.t.Context()); err != nil {
		p.t.Errorf("%v\n%s", err, notes.String())
	}
	if strings.Contains(notes.String(), purseKey[2:]) || strings.Contains(notes.String(), "signature") {
		p.t.Errorf("a secret is told: %s", notes.String())
	}
	return out.String()
}

// states are those of the journal.
func (p *trip) states() string {
	p.t.Helper()
	all, err := wallet.Payments(p.home + "/.local/share/ctx")
	if err != nil {
		p.t.Fatal(err)
	}
	var list []string
	for _, one := range all {
		list = append(list, string(one.State))
	}
	return fmt.Sprint(list)
}

// TestForeignTools has tools of somebody else's server paid: over HTTP and by the result, within the bounds, and the same payment for the same
// call until it is answered.
func TestForeignTools(t *testing.T) {
	t.Parallel()
	sold := `"text":"sold"`
	for name, c := range map[string]struct {
		stall *stall
		calls []string // arguments
		flags []string
		want  []string // in the answers
		paid  int      // payments that came, of which
		apart int      // so many differ
		state string
	}{
		"result":      {&stall{amount: "5"}, []string{"a", "a"}, nil, []string{sold, sold}, 2, 2, "[answered answered]"},
		"text":        {&stall{amount: "5", text: true}, []string{"a"}, nil, []string{sold}, 1, 1, "[answered]"},
		"HTTP":        {&stall{amount: "5", http: true}, []string{"a"}, nil, []string{sold}, 1, 1, "[answered]"},
		"the cap":     {&stall{amount: "10000"}, []string{"a"}, nil, []string{sold}, 1, 1, "[answered]"},
		"over it":     {&stall{amount: "10001"}, []string{"a"}, nil, []string{`"isError":true`}, 0, 0, "[]"},
		"HTTP, over":  {&stall{amount: "10001", http: true}, []string{"a"}, nil, []string{"payment_refused"}, 0, 0, "[]"},
		"without pay": {&stall{amount: "5"}, []string{"a"}, []string{"--pay=false"}, []string{"x402Version"}, 0, 0, "[]"},
		"HTTP, without pay": {&stall{amount: "5", http: true}, []string{"a"}, []string{"--pay=false"}, []string{"wants to be paid"},
			0, 0, "[]"},
		"tool fails": {&stall{amount: "5", answers: []string{`{"isError":true,"content":[{"type":"text","text":"no"}]}`}},
			[]string{"a", "b", "a"}, nil, []string{`"text":"no"`, sold, sold}, 3, 2, "[answered answered]"},
		"settled, and fails": {&stall{amount: "5", answers: []string{`{"isError":true,"content":[],"_meta":{"x402/payment-response":{"success":true}}}`}},
			[]string{"a", "a"}, nil, []string{`"isError":true`, sold}, 2, 2, "[answered answered]"},
		"refused": {&stall{amount: "5", answers: []string{(&stall{amount: "6"}).asks()}}, []string{"a", "a", "b"}, nil,
			[]string{"paid_refused", "payment_refused", "payment_refused"}, 1, 1, "[refused]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.stall)
			t.Cleanup(server.Close)
			p := &trip{t, server.URL, t.TempDir()}
			for i, argument := range c.calls {
				if got := p.call(argument, append([]string{"--pay", "--max-amount", "0.01"}, c.flags...)...); !strings.Contains(got, c.want[i]) {
					t.Errorf("call %d: %s", i, got)
				}
			}
			apart := map[string]bool{}
			for _, one := range c.stall.paid {
				apart[one] = true
			}
			if len(c.stall.paid) != c.paid || len(apart) != c.apart || p.states() != c.state || c.stall.keyed {
				t.Errorf("%d payments, %d different, journal %s, key sent: %v", len(c.stall.paid), len(apart), p.states(), c.stall.keyed)
			}
		})
	}
}

// TestForeignGivesNothing has a service take payments and give nothing that can be used: it is paid twice, and says nothing can have it paid
// more; a model reads why and how to go on.
func TestForeignGivesNothing(t *testing.T) {
	t.Parallel()
	for name, gives := range map[string]func(http.ResponseWriter, *http.Request){
		"garbage": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, `{"sold":true}`)
		},
		"answer to another": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, `{"jsonrpc":"2.0","id":"of another","result":{"content":[{"type":"text","text":"news"}]}}`)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/else", http.StatusTemporaryRedirect)
		},
		"failure": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"no"}]}}`)
		},
	} {
		for _, overHTTP := range []bool{true, false} {
			if name == "failure" && overHTTP || name == "answer to another" && !overHTTP { // an answer there, and none that comes
				continue
			}
			t.Run(fmt.Sprint(name, " over HTTP ", overHTTP), func(t *testing.T) {
				s := &stall{amount: "1000", http: overHTTP, gives: gives}
				server := httptest.NewServer(s)
				defer server.Close()
				p := &trip{t, server.URL, t.TempDir()}
				var said string
				for i := range 6 {
					said = p.call(fmt.Sprint("argument ", i), "--pay", "--max-amount", "0.01")
				}
				if n := len(distinct(s.paid)); n != 2 || !strings.Contains(said, "payments in a row") || !strings.Contains(said, "ctx pay policy allow") {
					t.Errorf("it was paid %d times; the last call is answered with %s", n, said)
				}
			})
		}
	}
}

// distinct are those of list, each once.
func distinct(list []string) map[string]bool {
	set := map[string]bool{}
	for _, text := range list {
		set[text] = true
	}
	return set
}

// TestForeignBinding has calls of somebody else's server paid as it asks by the extension for payments: tools, resources and prompts. The
// service is told of the extension where the client speaks of the era that has it, beside what that can, and where there is a wallet.
func TestForeignBinding(t *testing.T) {
	t.Parallel()
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{"roots":{}},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`
	for name, c := range map[string]struct {
		method, params, version string
		flags                   []string
		want                    string
		paid                    int
	}{
		"a tool":      {"tools/call", `"name":"report","arguments":{}`, "2026-07-28", nil, `"text":"sold"`, 1},
		"a resource":  {"resources/read", `"uri":"x://y"`, "2026-07-28", nil, `"text":"sold"`, 1},
		"a prompt":    {"prompts/get", `"name":"x"`, "2026-07-28", nil, `"text":"sold"`, 1},
		"of before":   {"tools/call", `"name":"report","arguments":{}`, "2025-11-25", nil, "no payments", 0},
		"no wallet":   {"tools/call", `"name":"report","arguments":{}`, "2026-07-28", []string{"--pay=false"}, "no payments", 0},
		"other calls": {"tools/list", `"cursor":"x"`, "2026-07-28", nil, "no payments", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stall{amount: "5", bound: true}
			server := httptest.NewServer(s)
			defer server.Close()
			p := &trip{t, server.URL, t.TempDir()}
			line := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,`+meta+`}}`, c.method, c.params, c.version)
			flags := append([]string{"--pay", "--max-amount", "0.01"}, c.flags...)
			if out := p.send(line, flags...); !strings.Contains(out, c.want) || len(s.paid) != c.paid {
				t.Errorf("%d payments for %s", len(s.paid), out)
			}
			if want := map[int]string{0: "[]", 1: "[answered]"}[c.paid]; p.states() != want {
				t.Errorf("the journal has %s", p.states())
			}
		})
	}
}
