package programs_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// step is a moment of a payment, told by what ctx says to its node or to the service.
type step struct {
	name  string
	node  bool   // it says it to the node, else to the service
	says  string // a part of the request: method, path, proof header and body
	hears string // a part of the answer; "" means any
	after bool   // the answer has been given, and ctx has not heard it; else nobody has heard the request
	half  bool   // ctx has heard half of the answer
	deaf  bool   // ctx has begun to show the answer, and nobody reads that
	done  bool   // the call is answered by then: the same answer has to come again
	begun bool   // ctx pay resume goes on, in place of the same command
	kept  bool   // and keeps the key that was bought
}

// callSteps are those of a paid call, in order.
func callSteps() []step {
	return []step{
		{name: "quote made", says: "GET", after: true},
		{name: "quote got", node: true, says: "eth_chainId"},
		{name: "about to sign", node: true, says: "eth_getTransactionCount", after: true},
		{name: "signed and written down", node: true, says: "eth_getTransactionReceipt"},
		{name: "about to broadcast", node: true, says: "eth_sendRawTransaction"},
		{name: "broadcast", node: true, says: "eth_sendRawTransaction", after: true},
		{name: "mined", node: true, says: "eth_getTransactionReceipt", hears: `"status":"0x1"`, after: true},
		{name: "about to send the proof", says: "paid"},
		{name: "proof sent and answered", says: "paid", after: true, done: true},
		{name: "answer got in part", says: "paid", after: true, half: true, done: true},
		{name: "answer shown in part", deaf: true, done: true},
	}
}

// buySteps are those of a purchase by which a payment has been signed.
func buySteps() []step {
	return []step{
		{name: "signed and written down", node: true, says: "eth_getTransactionReceipt"},
		{name: "broadcast", node: true, says: "eth_sendRawTransaction", after: true},
		{name: "about to have it verified", says: "/verify"},
		{name: "verified", says: "/verify", after: true},
		{name: "signed, resumed", node: true, says: "eth_getTransactionReceipt", begun: true},
		{name: "broadcast, resumed", node: true, says: "eth_sendRawTransaction", after: true, begun: true},
	}
}

// tap stands between ctx and whom it speaks to, and freezes at a step.
type tap struct {
	*httptest.Server
	to    string
	ended chan struct{} // closed when the test is over

	mu      sync.Mutex
	at      *step         // nil freezes nowhere
	reached chan struct{} // closed when at was reached
	paid    []byte        // the last answer to a request with a proof
}

// newTap makes a tap before to.
func newTap(t *testing.T, to string) *tap {
	p := &tap{to: to, ended: make(chan struct{}), reached: make(chan struct{})}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() {
		close(p.ended)
		p.Close()
	})
	return p
}

// freeze has the tap freeze at s, or nowhere any more.
func (p *tap) freeze(s *step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = s
}

// answered is the last answer to a request with a proof.
func (p *tap) answered() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paid
}

// hit reports whether p is to freeze here, and tells the test.
func (p *tap) hit(says, hears string, after bool) (s step, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at == nil || p.at.after != after || !strings.Contains(says, p.at.says) || !strings.Contains(hears, p.at.hears) {
		return s, false
	}
	s, p.at = *p.at, nil
	close(p.reached)
	return s, true
}

// ServeHTTP passes a request on.
func (p *tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	says := r.Method + " " + r.URL.Path + " " + string(body)
	if r.Header.Get(api.HeaderPayment) != "" || r.Header.Get(api.HeaderSignature) != "" {
		says += " paid"
	}
	if _, ok := p.hit(says, "", false); ok {
		p.hold(r)
		return
	}
	// What was passed on arrives, whether or not ctx lives to hear of it.
	out, err := http.NewRequest(r.Method, p.to+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return
	}
	out.Header = r.Header.Clone()
	out.Header.Del("Accept-Encoding")
	res, err := http.DefaultClient.Do(out)
	if err != nil {
		http.Error(w, "gone", http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return
	}
	if strings.HasSuffix(says, " paid") {
		p.mu.Lock()
		p.paid = answer
		p.mu.Unlock()
	}
	s, frozen := p.hit(says, string(answer), true)
	if frozen && !s.half {
		p.hold(r)
		return
	}
	for name, values := range res.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(res.StatusCode)
	if frozen {
		_, _ = w.Write(answer[:len(answer)/2])
		_ = http.NewResponseController(w).Flush()
		p.hold(r)
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(answer)
}

// hold waits until ctx is dead.
func (p *tap) hold(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-p.ended:
	}
}

// payer is a ctx with a wallet of its own, between taps.
type payer struct {
	t             *testing.T
	home          string
	account       devchain.Account
	token         string
	session       string // of the console; "" for none
	service, node *tap
	chain         string // its URL
	store         string // where keys are kept; "" for nowhere
	abroad        bool   // the service is not the configured one, and there is no node
}

// command is ctx with args.
func (p *payer) command(args ...string) *exec.Cmd {
	c := programOf(p.t, "ctx", args...)
	c.Env = append(c.Env, "HOME="+p.home, "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "CTX_CONFIG_DIR="+p.home, "CTX_BASE_URL="+p.service.URL, "CTX_RPC_URL="+p.node.URL,
		fmt.Sprintf("CTX_CHAIN_ID=%d", devchain.ChainID), "CTX_TOKEN="+p.token, "CTX_WALLET_PRIVATE_KEY="+p.account.PrivateKey, "CTX_SESSION="+p.session,
		"CTX_RETRIES=0", "CTX_TIMEOUT=2m", "CTX_API_KEY=", "CTX_SECRET_STORE="+cmp.Or(p.store, "env"), "GORACE=atexit_sleep_ms=0")
	if p.abroad {
		c.Env = append(c.Env, "CTX_BASE_URL=http://127.0.0.1:1", "CTX_RPC_URL=", "CTX_MAX_PER_CALL=0.01", "CTX_MAX_PER_DAY=100", "CTX_MAX_PER_MONTH=100")
	}
	return c
}

// killAt runs ctx with args until s, and kills it there.
func (p *payer) killAt(s step, args ...string) {
	p.t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	defer out.Close()
	const page = 4 << 10 // so that an answer does not fit
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, in.Fd(), syscall.F_SETPIPE_SZ, page); errno != 0 {
		p.t.Fatal(errno)
	}
	at := p.service
	if s.node {
		at = p.node
	}
	reached := at.reached
	if s.deaf {
		reached = make(chan struct{})
		go func() {
			if _, err := out.Read(make([]byte, 1)); err == nil {
				close(reached)
			}
		}()
	} else {
		at.freeze(&s)
	}
	c := p.command(args...)
	var said bytes.Buffer
	c.Stdout, c.Stderr = in, &said
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	_ = in.Close()
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case <-reached:
		if err := c.Process.Kill(); err != nil {
			p.t.Fatal(err)
		}
		if err := <-ended; err == nil {
			p.t.Fatal("it ended before it was killed")
		}
	case err := <-ended:
		p.t.Fatalf("it never came to that: %v\n%s", err, said.String())
	}
}

// transfers counts those that the token has logged from the payer.
func (p *payer) transfers() int {
	p.t.Helper()
	const topic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
	ask := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"0x0","toBlock":"latest","address":%q,"topics":[%q,"0x%064s"]}]}`,
		p.token, topic, strings.ToLower(p.account.Address[2:]))
	res, err := http.Post(p.chain, "application/json", strings.NewReader(ask))
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	var logs struct{ Result []json.RawMessage }
	if err := json.NewDecoder(res.Body).Decode(&logs); err != nil {
		p.t.Fatal(err)
	}
	return len(logs.Result)
}

// again runs ctx once more and checks that it finishes what the one that was killed had begun, with one transfer in all.
func (p *payer) again(args ...string) (stdout []byte) {
	p.t.Helper()
	c := p.command(args...)
	var said bytes.Buffer
	c.Stderr = &said
	stdout, err := c.Output()
	if err != nil {
		p.t.Fatalf("the second run: %v\n%s", err, said.String())
	}
	if n := p.transfers(); n != 1 {
		p.t.Errorf("%d transfers were made\n%s", n, said.String())
	}
	names, err := filepath.Glob(filepath.Join(p.home, ".local", "share", "ctx", "payments", "*.json"))
	if err != nil || len(names) != 1 {
		p.t.Fatalf("the journal has %v, %v", names, err)
	}
	if text, err := os.ReadFile(names[0]); err != nil || !strings.Contains(string(text), `"state": "answered"`) {
		p.t.Errorf("the journal says %s, %v", text, err)
	}
	return stdout
}

// TestKillPayer kills ctx at every step of a payment and runs it again: the same payment is finished and no second one is made, for calls
// and for purchases. It is line C1 of the client's.
func TestKillPayer(t *testing.T) {
	t.Parallel()
	dir := oldDemo(t)
	calls, buys := callSteps(), buySteps()
	chain, err := devchain.Open(t.Context(), devchain.Config{Dir: filepath.Join(dir, "chain"), Listen: "127.0.0.1:0", Ahead: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := chain.NewAccounts(t.Context(), len(calls)+len(buys), 2_000_000)
	if err := errors.Join(err, chain.Close()); err != nil {
		t.Fatal(err)
	}
	listen, err := testbed.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	b := &buyer{t: t, dir: dir, listen: listen}
	c, info, _ := b.start()
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	newPayer := func(t *testing.T, i int, session string) *payer {
		return &payer{t: t, home: t.TempDir(), account: accounts[i], token: info.Chain.Token, session: session, service: newTap(t, info.BaseURL),
			node: newTap(t, info.Chain.RPCURL), chain: info.Chain.RPCURL}
	}
	for i, s := range calls {
		t.Run("call/"+s.name, func(t *testing.T) {
			t.Parallel()
			p := newPayer(t, i, "")
			p.killAt(s, "fresh", "--pay")
			first := p.service.answered()
			var got, want map[string]any
			if stdout := p.again("fresh", "--pay"); json.Unmarshal(stdout, &got) != nil || got["state"] == nil {
				t.Fatalf("the answer is %.200s", stdout)
			}
			if !s.done {
				return
			}
			if err := json.Unmarshal(first, &want); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("another answer came the second time, %v", err)
			}
		})
	}
	for i, s := range buys {
		session := signIn(t, info, fmt.Sprintf("buyer-%d@example.org", i))
		t.Run("purchase/"+s.name, func(t *testing.T) {
			t.Parallel()
			p := newPayer(t, len(calls)+i, session)
			buy := []string{"credits", "buy", "starter", "--pay", "--yes", "--json", "status,credits"}
			p.killAt(s, buy...)
			if s.begun {
				resume := []string{"pay", "resume", "--jq", ".[] | {status: .answer.status, credits: .answer.credits, error}"}
				if got := strings.TrimSpace(string(p.again(resume...))); got != `{"credits":1000,"error":"","status":"verified"}` {
					t.Errorf("the purchase is resumed as %s", got)
				}
				return
			}
			if got := strings.TrimSpace(string(p.again(buy...))); got != `{"status":"verified","credits":1000}` {
				t.Errorf("the purchase is %s", got)
			}
		})
	}
}

// signIn makes an owner with a key at a demo and returns the secret of a session.
func signIn(t *testing.T, info demo.Info, mail string) string {
	t.Helper()
	client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(info.BaseURL))
	if err != nil {
		t.Fatal(err)
	}
	console := client.Console("")
	if _, err := console.SendLink(t.Context(), mail); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(info.Outbox, "*.eml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(text, []byte(mail)) {
			continue
		}
		if _, err := console.ByLink(t.Context(), strings.TrimSpace(regexp.MustCompile(`http\S+token=\S+`).FindString(string(text)))); err != nil {
			t.Fatal(err)
		}
		if _, err := console.CreateKey(t.Context(), "a", ""); err != nil {
			t.Fatal(err)
		}
		return console.Secret()
	}
	t.Fatalf("no mail to %s", mail)
	return ""
}

// TestKillAtARefusal kills ctx when the service has refused its payment and ctx has not heard it. The next command shows that payment once
// more, hears the refusal, and nothing is paid again.
func TestKillAtARefusal(t *testing.T) {
	t.Parallel()
	chain := daemontest.Chain(t)
	account, err := chain.NewAccount(t.Context(), 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // wants to be paid for every request
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPaymentRequired)
		e := api.Errorf(api.ReasonPaymentRequired, "a key or a payment is needed")
		_ = json.NewEncoder(w).Encode(api.ErrorBody{Error: e, Payment: &api.PaymentRequirements{
			Scheme: api.SchemeX402, Network: api.NetworkL2, Asset: api.AssetUSDG, Amount: "0.001", Recipient: chain.Treasury(),
			ValidUntil: time.Now().Add(time.Minute).Unix(), Nonce: fmt.Sprintf("0x%064x", time.Now().UnixNano()),
		}})
	}))
	t.Cleanup(service.Close)
	p := &payer{t: t, home: t.TempDir(), account: account, token: chain.Token(), service: newTap(t, service.URL),
		node: newTap(t, chain.URL()), chain: chain.URL()}
	p.killAt(step{says: "paid", after: true}, "fresh", "--pay")
	for _, c := range []struct {
		exit int
		args []string
		says string
	}{
		{cli.ExitPaid, []string{"fresh", "--pay", "-o", "json"}, `"code":"PAYMENT_INVALID","reason":"paid_refused"`},
		{cli.ExitCap, []string{"fresh", "--pay"}, "nothing more is paid to"},
		{cli.ExitCap, []string{"brief", "--pay", "-o", "json"}, `"code":"PAYMENT_REQUIRED","reason":"payment_refused"`},
	} {
		told, err := p.command(c.args...).CombinedOutput()
		ended, ok := errors.AsType[*exec.ExitError](err)
		if !ok || ended.ExitCode() != c.exit || !bytes.Contains(told, []byte(c.says)) || p.transfers() != 1 {
			t.Errorf("%v: %v, not exit %d, after %d transfers\n%s", c.args, err, c.exit, p.transfers(), told)
		}
	}
}
