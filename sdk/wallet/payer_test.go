package wallet_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/accounts/abi/bind"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// market is a daemon that is paid on a chain, and a journal.
type market struct {
	t     *testing.T
	d     *daemontest.Daemon
	chain *devchain.Chain
	dir   string
	node  *node
}

func newMarket(t *testing.T) *market {
	t.Helper()
	m := &market{t: t, chain: daemontest.Chain(t), dir: t.TempDir()}
	m.d = daemontest.Start(t, daemontest.On(m.chain))
	m.node = newNode(t, m.chain.URL())
	return m
}

// hashParam is the hash of a transaction in a request to a node.
var hashParam = regexp.MustCompile(`"0x[0-9a-f]{64}"`)

// node stands before the chain and can fail a method.
type node struct {
	url     string
	fails   atomic.Pointer[string] // the method that fails, after it was passed on where it begins with +
	before  atomic.Pointer[func(says string)]
	forgets atomic.Bool // it knows no transaction
	behind  atomic.Bool // it takes the first block for the newest where it counts transactions
}

func newNode(t *testing.T, chain string) *node {
	t.Helper()
	n := &node{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if before := n.before.Load(); before != nil {
			(*before)(string(body))
		}
		fails := ""
		if f := n.fails.Load(); f != nil {
			fails = *f
		}
		hit := fails != "" && bytes.Contains(body, []byte(`"`+strings.TrimPrefix(fails, "+")+`"`))
		if hit && fails[0] != '+' {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		if n.forgets.Load() {
			body = hashParam.ReplaceAll(body, []byte(`"0x`+strings.Repeat("0", 64)+`"`))
		}
		if n.behind.Load() && bytes.Contains(body, []byte("eth_getTransactionCount")) {
			body = bytes.ReplaceAll(body, []byte(`"latest"`), []byte(`"0x0"`))
		}
		res, err := http.Post(chain, "application/json", bytes.NewReader(body))
		if err != nil {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		if hit {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, res.Body)
	}))
	t.Cleanup(server.Close)
	n.url = server.URL
	return n
}

func (n *node) fail(method string) { n.fails.Store(&method) }

// payer is a Payer as a process that has just begun has it.
func (m *market) payer(changes ...func(*wallet.Config)) *wallet.Payer {
	m.t.Helper()
	key, err := wallet.ParseKey(m.chain.Wallet().PrivateKey)
	if err != nil {
		m.t.Fatal(err)
	}
	cfg := wallet.Config{Key: key, RPCURL: m.node.url, ChainID: devchain.ChainID, Token: m.chain.Token(), Dir: m.dir}
	for _, change := range changes {
		change(&cfg)
	}
	p, err := wallet.NewPayer(m.t.Context(), cfg)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(p.Close)
	return p
}

// client is a client that pays with p.
func (m *market) client(p sdk.Payer) *sdk.Client {
	m.t.Helper()
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(m.d.URL()), sdk.WithPayer(p), sdk.WithRetries(0))
	if err != nil {
		m.t.Fatal(err)
	}
	return c
}

// states are those of the payments in the journal, oldest first.
func (m *market) states() string {
	m.t.Helper()
	names, err := filepath.Glob(filepath.Join(m.dir, "payments", "*.json"))
	if err != nil {
		m.t.Fatal(err)
	}
	var states []string
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			m.t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), `"state": "`)
		state, _, _ := strings.Cut(rest, `"`)
		states = append(states, state)
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			m.t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	return strings.Join(states, " ")
}

// balance is what the treasury has, in micro-USDG.
func (m *market) balance() int64 {
	m.t.Helper()
	n, err := m.chain.Balance(m.t.Context(), m.chain.Treasury())
	if err != nil {
		m.t.Fatal(err)
	}
	return n
}

func TestPayForCalls(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	c := m.client(m.payer())
	if found, err := c.Search(t.Context(), sdk.SearchRequest{Query: "bitcoin"}); err != nil || found.Total == 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	if _, err := c.Fresh(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Fresh(t.Context(), ""); err != nil { // the same again is another call
		t.Fatal(err)
	}
	if got := m.balance(); got != 4_000 || m.states() != "answered answered answered" {
		t.Errorf("the treasury has %d, payments are %s", got, m.states())
	}
}

// TestProofIsSigned: a proof is shown with the payer's signature, and after a lost answer with the same; without it the service gives the
// answer to nobody again.
func TestProofIsSigned(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	show := func(proof any, into any) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.d.URL()+api.PathFresh, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := json.Marshal(proof); proof != nil {
			req.Header.Set(api.HeaderPayment, base64.StdEncoding.EncodeToString(text))
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode
	}
	var asked struct{ Payment api.PaymentRequirements }
	show(nil, &asked)
	q := sdk.Quote{
		PaymentRequirements: asked.Payment, Service: m.d.URL(), Request: "GET " + api.PathFresh, Bare: true,
		Price: api.OpFresh.PriceMicros(),
	}
	first, err := m.payer().Pay(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var proof api.PaymentProof
	if err := json.Unmarshal(first.Payload, &proof); err != nil {
		t.Fatal(err)
	}
	raw, _ := hexutil.Decode(proof.Signature)
	if len(raw) != crypto.SignatureLength {
		t.Fatalf("the proof is %s", first.Payload)
	}
	raw[crypto.RecoveryIDOffset] -= 27
	text := api.ProofText(common.HexToHash(proof.TxHash), q.Nonce)
	if key, err := crypto.SigToPub(accounts.TextHash([]byte(text)), raw); err != nil || crypto.PubkeyToAddress(*key).Hex() != proof.Payer {
		t.Errorf("the signature in %s is another's, %v", first.Payload, err)
	}
	if again, err := m.payer().Pay(t.Context(), q); err != nil || !bytes.Equal(again.Payload, first.Payload) {
		t.Errorf("again it is %s, %v, and was %s", again.Payload, err, first.Payload)
	}
	bare := proof
	bare.Signature = ""
	for i, one := range []struct {
		proof api.PaymentProof
		want  int
	}{{proof, http.StatusOK}, {proof, http.StatusOK}, {bare, http.StatusPaymentRequired}} {
		if got := show(one.proof, new(any)); got != one.want {
			t.Errorf("%d: %+v is answered %d", i, one.proof, got)
		}
	}
}

// TestPaymentGoesOn is C1 and C2: whatever a payment was interrupted at, the next process goes on with it, and pays once.
func TestPaymentGoesOn(t *testing.T) {
	t.Parallel()
	for what, method := range map[string]string{
		"signed and not sent": "eth_sendRawTransaction", "sent, and nobody heard": "+eth_sendRawTransaction", "sent, no receipt": "eth_getTransactionReceipt",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := newMarket(t)
			m.node.fail(method)
			if _, err := m.client(m.payer()).Cite(t.Context(), "", 3); err == nil {
				t.Fatal("answered although the node fails")
			}
			if m.states() != "signed" {
				t.Errorf("after the failure payments are %q", m.states())
			}
			m.node.fail("")
			if _, err := m.client(m.payer()).Cite(t.Context(), "", 3); err != nil {
				t.Fatal(err)
			}
			if got := m.balance(); got != 1_000 || m.states() != "answered" {
				t.Errorf("the treasury has %d, payments are %s", got, m.states())
			}
		})
	}
	t.Run("paid and not presented", func(t *testing.T) {
		t.Parallel()
		m := newMarket(t)
		url := m.d.URL()
		p := m.payer()
		c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(url), sdk.WithPayer(p), sdk.WithRetries(0), sdk.WithHTTPClient(&http.Client{Transport: loses{}}))
		if err != nil {
			t.Fatal(err)
		}
		var paid *sdk.PaidError
		if _, err := c.Cite(t.Context(), "", 3); !errors.As(err, &paid) || m.states() != "mined" {
			t.Fatalf("%v, payments are %s", err, m.states())
		}
		if _, err := m.client(m.payer()).Cite(t.Context(), "", 3); err != nil {
			t.Fatal(err)
		}
		if got := m.balance(); got != 1_000 || m.states() != "answered" {
			t.Errorf("the treasury has %d, payments are %s", got, m.states())
		}
	})
}

// loses loses the answer to every request with a proof.
type loses struct{}

func (loses) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && r.Header.Get(api.HeaderPayment) != "" {
		_ = res.Body.Close()
		return nil, errors.New("connection lost")
	}
	return res, err
}

// TestExpiredWithoutBeingSent: what was signed and never sent is not sent after the end of its quote.
func TestExpiredWithoutBeingSent(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.node.fail("eth_sendRawTransaction")
	if _, err := m.client(m.payer()).Cite(t.Context(), "", 3); err == nil {
		t.Fatal("answered")
	}
	m.node.fail("")
	later := m.payer(func(c *wallet.Config) { c.Now = func() time.Time { return time.Now().Add(6 * time.Minute) } })
	_, err := m.client(later).Cite(t.Context(), "", 3) // the service's quote is of now, which has ended for this payer
	if !errors.Is(err, wallet.ErrPolicy) || m.balance() != 0 || m.states() != "dropped" {
		t.Errorf("%v; the treasury has %d, payments are %s", err, m.balance(), m.states())
	}
	if _, err := m.client(m.payer()).Cite(t.Context(), "", 3); err != nil || m.balance() != 1_000 || m.states() != "dropped answered" {
		t.Errorf("%v; the treasury has %d, payments are %s", err, m.balance(), m.states())
	}
}

// TestManyPayersAtOnce is C3: processes with one wallet pay one after another, and nobody's payment is lost.
func TestManyPayersAtOnce(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	var all sync.WaitGroup
	for ref := range 3 {
		all.Go(func() {
			if _, err := m.client(m.payer()).Cite(t.Context(), "", ref+1); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := m.balance(); got != 3_000 || m.states() != "answered answered answered" {
		t.Errorf("the treasury has %d, payments are %s", got, m.states())
	}
}

// TestPaysNoSecondTime is C4: a service that wants to be paid again after a proof is not.
func TestPaysNoSecondTime(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	calls := 0
	greedy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPaymentRequired)
		fmt.Fprintf(w, `{"error":{"code":"PAYMENT_REQUIRED","reason":"payment_required","message":"more"},"payment":{"scheme":"x402","network":"l2chain",`+
			`"asset":"USDG","amount":"0.001","recipient":"%s","validUntil":%d,"nonce":"0x%064x"}}`, m.chain.Treasury(), time.Now().Add(time.Minute).Unix(), calls)
	}))
	defer greedy.Close()
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(greedy.URL), sdk.WithPayer(m.payer()))
	if err != nil {
		t.Fatal(err)
	}
	var paid *sdk.PaidError
	if _, err := c.Fresh(t.Context(), ""); !errors.As(err, &paid) || paid.Payment.ID == "" || calls != 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
	if m.balance() != 1_000 || m.states() != "refused" {
		t.Errorf("the treasury has %d, payments are %s", m.balance(), m.states())
	}
}

// TestPolicy is C6: what is not as it should be is not signed.
func TestPolicy(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	good := func() sdk.Quote {
		return sdk.Quote{Service: "http://a", Request: "GET /", Price: 1_000, PaymentRequirements: api.PaymentRequirements{
			Scheme: "x402", Network: "l2chain", Asset: "USDG", Amount: "0.001", Recipient: m.chain.Treasury(), ValidUntil: time.Now().Add(time.Minute).Unix(),
			Nonce: "0x" + strings.Repeat("ab", 32),
		}}
	}
	for what, c := range map[string]struct {
		change func(*sdk.Quote)
		policy wallet.Policy
		err    error
	}{
		"scheme":          {func(q *sdk.Quote) { q.Scheme = "exact" }, wallet.Policy{}, wallet.ErrPolicy},
		"network":         {func(q *sdk.Quote) { q.Network = "mainnet" }, wallet.Policy{}, wallet.ErrPolicy},
		"asset":           {func(q *sdk.Quote) { q.Asset = "USDC" }, wallet.Policy{}, wallet.ErrPolicy},
		"exponent":        {func(q *sdk.Quote) { q.Amount = "1e3" }, wallet.Policy{}, wallet.ErrPolicy},
		"too many digits": {func(q *sdk.Quote) { q.Amount = "0.0010000001" }, wallet.Policy{}, wallet.ErrPolicy},
		"negative":        {func(q *sdk.Quote) { q.Amount = "-1" }, wallet.Policy{}, wallet.ErrPolicy},
		"nothing":         {func(q *sdk.Quote) { q.Amount = "0" }, wallet.Policy{}, wallet.ErrPolicy},
		"over its price":  {func(q *sdk.Quote) { q.Amount = "0.001001" }, wallet.Policy{}, wallet.ErrPolicy},
		"of no price":     {func(q *sdk.Quote) { q.Price = 0 }, wallet.Policy{}, wallet.ErrPolicy},
		"over the bound":  {func(*sdk.Quote) {}, wallet.Policy{PerCall: 999}, wallet.ErrPolicy},
		"over a day":      {func(*sdk.Quote) {}, wallet.Policy{PerDay: 999}, wallet.ErrPolicy},
		"over a month":    {func(*sdk.Quote) {}, wallet.Policy{PerMonth: 999}, wallet.ErrPolicy},
		"fee":             {func(*sdk.Quote) {}, wallet.Policy{MaxFee: 1}, wallet.ErrPolicy},
		"ended":           {func(q *sdk.Quote) { q.ValidUntil = time.Now().Unix() - 1 }, wallet.Policy{}, wallet.ErrPolicy},
		"for ever":        {func(q *sdk.Quote) { q.ValidUntil = 1 << 40 }, wallet.Policy{}, wallet.ErrPolicy},
		"recipient":       {func(q *sdk.Quote) { q.Recipient = "0x12" }, wallet.Policy{}, wallet.ErrPolicy},
		"nonce":           {func(q *sdk.Quote) { q.Nonce = "0x12" }, wallet.Policy{}, wallet.ErrPolicy},
	} {
		q := good()
		c.change(&q)
		p := m.payer(func(cfg *wallet.Config) { cfg.Policy = c.policy })
		if _, err := p.Pay(t.Context(), q); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if m.states() != "" || m.balance() != 0 {
		t.Errorf("payments are %s", m.states())
	}
	p := m.payer(func(c *wallet.Config) { c.Policy = wallet.Policy{PerDay: usdg.Amount(1_500)} })
	if _, err := p.Pay(t.Context(), good()); err != nil {
		t.Fatal(err)
	}
	second := good()
	second.Request = "GET /another"
	if _, err := p.Pay(t.Context(), second); !errors.Is(err, wallet.ErrPolicy) {
		t.Errorf("over the bound of a day: %v", err)
	}
	moved := good()
	moved.Request, moved.Recipient = "GET /third", m.chain.Owner().Address
	if _, err := m.payer().Pay(t.Context(), moved); !errors.Is(err, wallet.ErrRecipient) {
		t.Errorf("another recipient: %v", err)
	}
	wrong := m.payer(func(c *wallet.Config) { c.ChainID = 4663 })
	if _, err := wrong.Pay(t.Context(), second); !errors.Is(err, wallet.ErrWrongChain) {
		t.Errorf("another chain: %v", err)
	}
}

// TestWhatTheWalletLacks is C7: no ether, no USDG, frozen; each says so, and nothing is signed.
func TestWhatTheWalletLacks(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	with := func(account devchain.Account) *wallet.Payer {
		key, err := wallet.ParseKey(account.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		return m.payer(func(c *wallet.Config) { c.Key = key })
	}
	poor, err := m.chain.NewAccount(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.chain.Freeze(t.Context(), m.chain.Wallet().Address, true); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		account devchain.Account
		err     error
	}{
		"no ether": {devchain.Account{PrivateKey: "0x" + strings.Repeat("17", 32)}, wallet.ErrNoGas}, "no USDG": {poor, wallet.ErrNoUSDG},
		"frozen": {m.chain.Wallet(), wallet.ErrReverted}, "too little ether": {m.withWei(1), wallet.ErrNoGas},
	} {
		_, err := m.client(with(c.account)).Fresh(t.Context(), "")
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v", what, err)
		}
		if what == "frozen" && !strings.Contains(fmt.Sprint(err), "address frozen") {
			t.Errorf("it does not say why: %v", err)
		}
	}
	if m.states() != "" {
		t.Errorf("payments are %s", m.states())
	}
}

// TestStandardWithoutTransfer has a wallet that can make no transfer pay the same service by the authorization that it takes too, for its
// published price and no more, and go on with that. A transfer that was begun is not paid a second time so.
func TestStandardWithoutTransfer(t *testing.T) {
	t.Parallel()
	m := &market{t: t, chain: daemontest.Chain(t), dir: t.TempDir()}
	m.d = daemontest.Start(t, daemontest.On(m.chain), func(c *daemon.Config) {
		c.Chain.SettleKey = m.chain.Gas().PrivateKey
		c.Chain.Domain = x402.Domain{Name: devchain.TokenName, Version: devchain.TokenVersion}
		c.Chain.Wait = 20 * time.Second
	})
	m.node = newNode(t, m.chain.URL())
	key, err := wallet.ParseKey(m.withWei(0).PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	without := func(change func(*wallet.Config)) *wallet.Payer {
		return m.payer(func(c *wallet.Config) {
			c.Key, c.Assets = key, []wallet.Asset{wallet.AssetAt(devchain.ChainID, m.chain.Token())}
			change(c)
		})
	}
	var want int64
	for what, change := range map[string]func(*wallet.Config){
		"no ether": func(*wallet.Config) {}, "no node": func(c *wallet.Config) { c.RPCURL = "" },
		"a node that is gone": func(c *wallet.Config) { c.RPCURL = "http://127.0.0.1:1" },
	} {
		if _, err := m.client(without(change)).Fresh(t.Context(), ""); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if want += 1_000; m.balance() != want {
			t.Errorf("%s: the treasury has %d, not %d", what, m.balance(), want)
		}
	}
	bounded := without(func(c *wallet.Config) { c.Policy.PerCall = 999 })
	_, err = m.client(bounded).Fresh(t.Context(), "")
	if !errors.Is(err, wallet.ErrPolicy) || m.balance() != want {
		t.Errorf("over the bound: %v, the treasury has %d", err, m.balance())
	}
	_, err = m.client(without(func(c *wallet.Config) { c.Assets = nil })).Fresh(t.Context(), "")
	if said := fmt.Sprint(err); !errors.Is(err, wallet.ErrNoGas) || !strings.Contains(said, "by the scheme exact: ") || !strings.Contains(said, "not among the assets") {
		t.Errorf("with no way at all: %v", err)
	}
	m.node.fail("eth_sendRawTransaction")
	rich := m.payer(func(c *wallet.Config) { c.Assets = []wallet.Asset{wallet.AssetAt(devchain.ChainID, m.chain.Token())} })
	if _, err := m.client(rich).Brief(t.Context(), ""); !errors.Is(err, wallet.ErrNode) || !strings.Contains(fmt.Sprint(err), "pays for the same request") {
		t.Errorf("a transfer whose node is gone: %v", err)
	}
	if m.states() != "answered answered answered signed" || m.balance() != want {
		t.Errorf("payments are %s, the treasury has %d", m.states(), m.balance())
	}
}

// withWei makes an account with USDG and so little ether.
func (m *market) withWei(wei int64) devchain.Account {
	m.t.Helper()
	key, err := wallet.ParseKey(strings.Repeat("23", 32))
	if err != nil {
		m.t.Fatal(err)
	}
	if err := m.chain.Mint(m.t.Context(), key.Address(), 1_000_000); err != nil {
		m.t.Fatal(err)
	}
	rich, err := m.chain.NewAccount(m.t.Context(), 0)
	if err != nil {
		m.t.Fatal(err)
	}
	secret, err := crypto.HexToECDSA(strings.TrimPrefix(rich.PrivateKey, "0x"))
	if err != nil {
		m.t.Fatal(err)
	}
	node, err := ethclient.Dial(m.chain.URL())
	if err != nil {
		m.t.Fatal(err)
	}
	defer node.Close()
	to, gwei := common.HexToAddress(key.Address()), big.NewInt(1_000_000_000)
	tx := types.MustSignNewTx(secret, types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(devchain.ChainID), GasTipCap: gwei, GasFeeCap: new(big.Int).Mul(gwei, big.NewInt(10)), Gas: 21_000, To: &to, Value: big.NewInt(wei),
	})
	if err := node.SendTransaction(m.t.Context(), tx); err != nil {
		m.t.Fatal(err)
	}
	if _, err := bind.WaitMined(m.t.Context(), node, tx); err != nil {
		m.t.Fatal(err)
	}
	return devchain.Account{Address: key.Address(), PrivateKey: strings.Repeat("23", 32)}
}

// TestSecretsStayInside is C9.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "0x12", strings.Repeat("zz", 32)} {
		if _, err := wallet.ParseKey(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	key, err := wallet.ParseKey(strings.Repeat("17", 32))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := payThrough(ctx, t, key, "http://127.0.0.1:1"); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "1717") {
		t.Errorf("%v", err)
	}
	node := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection would not be seen
		cancel()
		<-r.Context().Done()
	}))
	defer node.Close()
	if err := payThrough(ctx, t, key, node.URL); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "secret") {
		t.Errorf("given up: %v", err)
	}
}

// payThrough pays something through a node whose address has a secret.
func payThrough(ctx context.Context, t *testing.T, key *wallet.Key, node string) error {
	t.Helper()
	p, err := wallet.NewPayer(t.Context(), wallet.Config{Key: key, RPCURL: node + "/secret", Token: "0x1000000000000000000000000000000000000001", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = p.Pay(ctx, sdk.Quote{Service: "a", Request: "b", Price: 1_000, PaymentRequirements: api.PaymentRequirements{
		Scheme: "x402", Network: "l2chain", Asset: "USDG", Amount: "0.001", Recipient: "0x2000000000000000000000000000000000000002",
		ValidUntil: time.Now().Add(time.Minute).Unix(), Nonce: "0x" + strings.Repeat("00", 32),
	}})
	return err
}
