//go:build !nodevchain

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk/api"
)

// swindler is a service that wants to be paid for every request, and has an answer of its own to those that were.
type swindler struct {
	*httptest.Server
	treasury string
	quotes   atomic.Int64
	paid     atomic.Pointer[http.HandlerFunc] // answers what was paid; nil asks for more
}

// newSwindler opens a service that is paid at an address.
func newSwindler(t *testing.T, treasury string) *swindler {
	s := &swindler{treasury: treasury}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP answers a request.
func (s *swindler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if paid := s.paid.Load(); paid != nil && r.Header.Get(api.HeaderPayment) != "" {
		(*paid)(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusPaymentRequired)
	e := api.Errorf(api.ReasonPaymentRequired, "a key or a payment is needed")
	_ = json.NewEncoder(w).Encode(api.ErrorBody{Error: e, Payment: &api.PaymentRequirements{
		Scheme: api.SchemeX402, Network: api.NetworkL2, Asset: api.AssetUSDG, Amount: "0.001", Recipient: s.treasury,
		ValidUntil: time.Now().Add(time.Minute).Unix(), Nonce: fmt.Sprintf("0x%064x", s.quotes.Add(1)),
	}})
}

// answers has paid requests be answered by next.
func (s *swindler) answers(next http.HandlerFunc) { s.paid.Store(&next) }

// victim is ctx with a wallet, before a service that does not keep its word.
type victim struct {
	t       *testing.T
	chain   *devchain.Chain
	address string // of its account
	service string
	env     map[string]string
}

// newVictim gives an account some money.
func newVictim(t *testing.T, chain *devchain.Chain, service string) *victim {
	t.Helper()
	account, err := chain.NewAccount(t.Context(), 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	return &victim{t: t, chain: chain, address: account.Address, service: service, env: map[string]string{
		"HOME": home, "CTX_CONFIG_DIR": home, "CTX_BASE_URL": service, "CTX_RPC_URL": chain.URL(), "CTX_CHAIN_ID": fmt.Sprint(devchain.ChainID),
		"CTX_TOKEN": chain.Token(), "CTX_WALLET_PRIVATE_KEY": account.PrivateKey, "CTX_RETRIES": "0", "CTX_TIMEOUT": "2m", "CTX_SECRET_STORE": "env",
	}}
}

// transfers counts those that the token has logged from the victim.
func (v *victim) transfers() int {
	v.t.Helper()
	const topic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
	ask := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"0x0","toBlock":"latest","address":%q,`+
		`"topics":[%q,"0x%064s"]}]}`, v.chain.Token(), topic, strings.ToLower(v.address[2:]))
	res, err := http.Post(v.chain.URL(), "application/json", strings.NewReader(ask))
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	var logs struct{ Result []json.RawMessage }
	if err := json.NewDecoder(res.Body).Decode(&logs); err != nil {
		v.t.Fatal(err)
	}
	return len(logs.Result)
}

// exits runs ctx, checks its exit code and the transfers there were until then, and that stderr has each of says.
func (v *victim) exits(code, transfers int, stdin string, args []string, says ...string) (stdout string) {
	v.t.Helper()
	var out, told bytes.Buffer
	got := client.Main(v.t.Context(), args, cli.System{
		In: strings.NewReader(stdin), Out: &out, Err: &told, Now: time.Now,
		LookupEnv: func(name string) (string, bool) { value, ok := v.env[name]; return value, ok },
	})
	if n := v.transfers(); got != code || n != transfers {
		v.t.Errorf("%v: exit %d, not %d, after %d transfers, not %d\n%s%s", args, got, code, n, transfers, out.String(), told.String())
	}
	for _, want := range says {
		if !strings.Contains(told.String(), want) {
			v.t.Errorf("%v does not say %q:\n%s", args, want, told.String())
		}
	}
	if strings.Contains(told.String(), "CTX_API_KEY") {
		v.t.Errorf("%v asks for a key:\n%s", args, told.String())
	}
	return out.String()
}

// TestServiceThatAlwaysSays402 gets one payment out of a wallet: from a command and the next, from several at once, and from an agent.
func TestServiceThatAlwaysSays402(t *testing.T) {
	t.Parallel()
	chain := daemontest.Chain(t)
	p := newVictim(t, chain, newSwindler(t, chain.Treasury()).URL)
	fresh := []string{"fresh", "--pay"}
	p.exits(cli.ExitPaid, 1, "", fresh, "paid 0.001 USDG for GET /v1/fresh", "with transaction 0x", "nothing more is paid to it",
		"ctx pay policy allow "+p.service)
	stopped := []string{"nothing more is paid to " + p.service, "ctx pay policy allow " + p.service}
	p.exits(cli.ExitCap, 1, "", fresh, stopped...)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { p.exits(cli.ExitCap, 1, "", []string{"brief", "--pay"}, stopped...) })
	}
	all.Wait()
	const lines = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"context_fresh"}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"context_cite","arguments":{"ref":1}}}
`
	agent := []string{"mcp", "stdio", "--pay"}
	out := p.exits(0, 1, strings.Repeat(lines, 4), agent)
	if n := strings.Count(out, `"isError":true`); n != 8 || !strings.Contains(out, "payment_refused") {
		t.Errorf("%d calls are told of it: %s", n, out)
	}
	p.exits(cli.ExitUsage, 1, "", []string{"pay", "policy", "allow", p.service}, "add --yes")
	p.exits(0, 1, "", []string{"pay", "policy", "allow", p.service + "/", "--yes"})
	p.exits(0, 2, lines+lines+lines, agent) // the first message is paid for
	p.exits(cli.ExitCap, 2, "", fresh, stopped...)
}

// TestPaidAndNotAnswered tells what was paid where no answer came, in words and as JSON, and gets the answer with the same payment.
func TestPaidAndNotAnswered(t *testing.T) {
	t.Parallel()
	chain := daemontest.Chain(t)
	s := newSwindler(t, chain.Treasury())
	p := newVictim(t, chain, s.URL)
	s.answers(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	says := []string{"paid 0.001 USDG for GET /v1/cite?pack=crypto&ref=1 with transaction 0x", "not answered", "ctx pay resume"}
	p.exits(cli.ExitPaid, 1, "", []string{"cite", "1", "--pay"}, says...)
	p.exits(cli.ExitPaid, 1, "", []string{"cite", "1", "--pay"}, says...)
	p.exits(cli.ExitPaid, 1, "", []string{"cite", "1", "--pay", "-o", "json"}, `"code":"UPSTREAM_ERROR","reason":"paid_unanswered"`)
	s.answers(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("\x1b[2Jgone to lunch"))
	})
	p.exits(cli.ExitPaid, 1, "", []string{"cite", "1", "--pay"}, append(says, "503 Service Unavailable", "gone to lunch")...)
	p.exits(cli.ExitPaid, 1, "", []string{"pay", "resume"}, "not answered")
	s.answers(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ok":1}`)) })
	if out := p.exits(0, 1, "", []string{"pay", "resume", "--jq", ".[].answer.ok"}); out != "1\n" {
		t.Errorf("resumed: %s", out)
	}
}
