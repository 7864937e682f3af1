package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk/api"
)

// meddler is a node before that of a chain. It does what it likes with transactions that are broadcast.
type meddler struct {
	url       string
	broadcast atomic.Pointer[func() (forward bool)] // nil forwards
	seen      atomic.Int64                          // broadcasts
	unsafe    atomic.Bool                           // no block but the first is safe

	mu    sync.Mutex
	asked map[string]int // calls, each of a batch, by method
}

func (m *meddler) set(f func() bool) { m.broadcast.Store(&f) }

var methodCalled = regexp.MustCompile(`"method":"([^"]+)"`)

// count counts the calls of a request.
func (m *meddler) count(request []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, found := range methodCalled.FindAllSubmatch(request, -1) {
		m.asked[string(found[1])]++
	}
}

// counted are the calls since it was last called, by method, and how many that are.
func (m *meddler) counted() (calls map[string]int, sum int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls, m.asked = m.asked, map[string]int{}
	for _, n := range calls {
		sum += n
	}
	return calls, sum
}

// newMeddledMarket is newSettlingMarket at such a node.
func newMeddledMarket(t testing.TB, changes ...func(*daemon.Config)) (*market, *meddler) {
	t.Helper()
	m, node := &market{t: t, chain: daemontest.Chain(t)}, &meddler{asked: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		node.count(request)
		if node.unsafe.Load() {
			request = bytes.ReplaceAll(request, []byte(`"safe"`), []byte(`"earliest"`))
		}
		if bytes.Contains(request, []byte("eth_sendRawTransaction")) {
			node.seen.Add(1)
			if f := node.broadcast.Load(); f != nil && !(*f)() {
				var call struct{ ID json.RawMessage }
				_ = json.Unmarshal(request, &call)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":"0x%064d"}`, call.ID, 0)
				return
			}
		}
		res, err := http.Post(m.chain.URL(), "application/json", bytes.NewReader(request))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer res.Body.Close()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, res.Body)
	}))
	t.Cleanup(server.Close)
	node.url = server.URL
	m.d = daemontest.Start(t, append([]func(*daemon.Config){daemontest.On(m.chain), func(c *daemon.Config) {
		c.Chain.RPCURL, c.Chain.SettleKey, c.Chain.Wait, c.Logger = node.url, m.chain.Gas().PrivateKey, 20*time.Second, m.log.Logger()
	}}, changes...)...)
	return m, node
}

// sold checks how much the books say was paid for calls, and that they agree with the chain.
func (m *market) sold(micros int64) {
	m.t.Helper()
	if err := m.d.Scan(m.t.Context()); err != nil {
		m.t.Error(err)
	}
	o, err := admin.Open(m.t.Context(), admin.Config{DataDir: m.d.Config.DataDir, Now: time.Now})
	if err != nil {
		m.t.Fatal(err)
	}
	defer o.Close()
	r, err := o.Reconcile(m.t.Context())
	if err != nil || len(r.Findings) > 0 || int64(r.Calls) != micros || r.Unmatched != 0 {
		m.t.Errorf("the books say %+v, %v, want %d for calls", r, err, micros)
	}
}

// arrived waits until the treasury has so much.
func (m *market) arrived(micros int64) {
	m.t.Helper()
	for range 6_000 {
		has, err := m.chain.Balance(m.t.Context(), m.chain.Treasury())
		if err != nil {
			m.t.Fatal(err)
		}
		if has >= micros {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	m.t.Fatal("it does not arrive")
}

// TestStandardFrontRun has somebody see the broadcast and submit the authorization first: ours reverts, the money came, and the answer is
// given with the transaction that brought it.
func TestStandardFrontRun(t *testing.T) {
	t.Parallel()
	m, node := newMeddledMarket(t)
	var allowed devchain.Authorization
	wallet := m.chain.Wallet()
	s := m.sign(wallet, m.offer("/v1/fresh"), func(a *devchain.Authorization) { allowed = *a })
	var first [32]byte
	node.set(func() bool {
		var err error
		if first, err = m.chain.Settle(t.Context(), wallet, wallet, allowed); err != nil {
			t.Error(err)
		}
		return true
	})
	a := m.settled("/v1/fresh", s, false)
	if r := unwrap[api.StandardReceipt](t, a, api.HeaderSettlement); r.Transaction != fmt.Sprintf("0x%x", first) {
		t.Errorf("the receipt names %s, not %x", r.Transaction, first)
	}
	m.settled("/v1/fresh", s, true)
	if n := node.seen.Load(); n != 1 {
		t.Errorf("%d transactions were broadcast", n)
	}
	m.sold(1_000)
}

// TestTreasuryOfTwo: two services with books of their own and one treasury each sell something for one payment that both begin to settle. The
// one whose transaction comes too late counts that another has settled, and its log says what that may be.
func TestTreasuryOfTwo(t *testing.T) {
	t.Parallel()
	m, node := newMeddledMarket(t)
	gas, err := m.chain.NewAccount(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	other := &market{t: t, chain: m.chain, d: daemontest.Start(t, daemontest.On(m.chain), func(c *daemon.Config) {
		c.Chain.SettleKey, c.Chain.Wait = gas.PrivateKey, 20*time.Second
	})}
	before, err := m.chain.Balance(t.Context(), m.chain.Treasury())
	if err != nil {
		t.Fatal(err)
	}
	s := m.sign(m.chain.Wallet(), m.offer("/v1/fresh"))
	node.set(func() bool {
		other.settled("/v1/fresh", s, false)
		return true
	})
	m.settled("/v1/fresh", s, false)
	if after, err := m.chain.Balance(t.Context(), m.chain.Treasury()); err != nil || after-before != 1_000 {
		t.Errorf("the treasury has %d more, %v", after-before, err)
	}
	for _, of := range []struct {
		*market
		foreign int
	}{{m, 1}, {other, 0}} {
		if err := of.d.RunJob(t.Context(), "settle"); err != nil {
			t.Fatal(err)
		}
		if st, err := of.d.Settling(t.Context()); err != nil || len(st) != 1 || st[0].Foreign != of.foreign {
			t.Errorf("%+v, %v, want %d settled by others", st, err, of.foreign)
		}
	}
	if m.log.Count("level=WARN", "another service with this treasury", "in_a_day=1") != 1 {
		t.Errorf("the log does not tell of it:\n%s", m.log.String())
	}
}

// TestPurchaseWaitsForNoSafeBlock: a package for which a deposit waits until the chain calls its block safe is sold by standard x402 at once:
// the answer to its payment is the key.
func TestPurchaseWaitsForNoSafeBlock(t *testing.T) {
	t.Parallel()
	m, node := newMeddledMarket(t)
	node.unsafe.Store(true)
	from, err := m.chain.NewAccount(t.Context(), 150_000_000)
	if err != nil {
		t.Fatal(err)
	}
	if key := m.buy(api.CreditPro, m.sign(from, m.forSale(api.CreditPro)), true); *key.CreditBalance != 100_000 {
		t.Errorf("it has bought %+v", key)
	}
	u := newUser(t, m.d)
	u.signIn("ada@example.org")
	u.issue("mine")
	var d api.DepositIntent
	u.into(u.call(http.MethodPost, api.PathCredits, api.CreateDepositRequest{Pack: api.CreditPro}), http.StatusCreated, &d)
	if _, err := m.chain.Transfer(t.Context(), from, m.chain.Treasury(), 70_000_000, nil); err != nil {
		t.Fatal(err)
	}
	for _, safe := range []bool{false, true} {
		node.unsafe.Store(!safe)
		if err := m.d.Scan(t.Context()); err != nil {
			t.Error(err)
		}
		got := decode[api.Deposit](t, u.call(http.MethodGet, api.PathCredits+"/"+d.ID, nil))
		if (got.Status == api.DepositVerified) != safe {
			t.Errorf("where its block is safe, %t, the deposit is %+v", safe, got)
		}
	}
	m.balanced()
}

// TestStandardForgotten has the node take what is broadcast and forget it: the payer is told to wait and to pay nothing again, the same bytes
// are broadcast later, and the payment has its answer.
func TestStandardForgotten(t *testing.T) {
	t.Parallel()
	m, node := newMeddledMarket(t, func(c *daemon.Config) { c.Chain.Wait = 200 * time.Millisecond })
	s := m.sign(m.chain.Wallet(), m.offer("/v1/fresh"))
	node.set(func() bool { return false })
	for range 2 {
		m.declined("forgotten", "/v1/fresh", s, api.ReasonSettling)
	}
	m.sold(0)
	node.set(func() bool { return true })
	if err := m.d.RunJob(t.Context(), "settle"); err != nil {
		t.Fatal(err)
	}
	m.arrived(1_000)
	m.settled("/v1/fresh", s, true)
	m.sold(1_000)
}

// TestStandardClocksApart has the chain's clock differ from the daemon's: what the token would refuse is refused before anything is kept,
// and what holds by both is settled.
func TestStandardClocksApart(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name   string
		ahead  time.Duration // of the chain, of the daemon's clock
		change func(*devchain.Authorization, int64)
	}{
		{"ahead", 5 * time.Minute, func(a *devchain.Authorization, now int64) { a.After, a.Before = now+200, now+500 }},
		{"behind", -5 * time.Minute, func(a *devchain.Authorization, now int64) { a.Before = now - 100 }},
	} {
		m, node := newMeddledMarket(t, func(c *daemon.Config) { c.Now = func() time.Time { return time.Now().Add(one.ahead) } })
		offer, now := m.offer("/v1/fresh"), time.Now().Unix()
		m.declined(one.name, "/v1/fresh", m.sign(m.chain.Wallet(), offer, func(a *devchain.Authorization) { one.change(a, now) }),
			api.ReasonUnsettled)
		if n := node.seen.Load(); n != 0 {
			t.Errorf("%s: %d transactions were broadcast", one.name, n)
		}
		m.settled("/v1/fresh", m.sign(m.chain.Wallet(), offer, func(a *devchain.Authorization) { a.Before = now + 500 }), false)
		m.sold(1_000)
	}
}

// TestStandardBesideOwn sends payments of both dialects at once: that of standard x402 is taken, and the other buys another call.
func TestStandardBesideOwn(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	own := m.pay(m.quote("/v1/fresh"))
	s := m.sign(m.chain.Wallet(), m.offer("/v1/fresh"))
	m.settled("/v1/fresh", s, false, proving(own))
	m.paid("/v1/fresh", own, false)
	m.settled("/v1/fresh", s, true, proving(own))
	m.sold(2_000)
}

// TestStandardHugeHeaders sends payment headers of 64 KiB, whole and broken: none is taken for a payment, nor as none.
func TestStandardHugeHeaders(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	s := m.sign(m.chain.Wallet(), m.offer("/v1/fresh"))
	s.Extensions = map[string]any{"padding": strings.Repeat("x", 48<<10)}
	for name, header := range map[string]change{"of a payment": authorizing(s), "of nothing": with(api.HeaderSignature, strings.Repeat("A", 64<<10))} {
		a := get(t, m.d.URL()+"/v1/fresh", header)
		if failure := refusal(t, a, http.MethodGet); a.Status != http.StatusBadRequest || failure.Error.Reason != api.ReasonMalformedProof {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	m.sold(0)
}

// TestStandardBooks shows the operator what is settled and what that has cost, from the first broadcast on, and lets them try again what
// waits. A payment with a signature that is not its payer's leaves nothing.
func TestStandardBooks(t *testing.T) {
	t.Parallel()
	m, node := newMeddledMarket(t, func(c *daemon.Config) {
		c.Chain.Wait, c.AdminListen = 200*time.Millisecond, "127.0.0.1:0"
		c.Gas = daemon.Gas{ByState: true}
	})
	o, err := admin.Open(t.Context(), admin.Config{DataDir: m.d.Config.DataDir, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	list := func(state string, want int) []admin.Settlement {
		t.Helper()
		rows, err := o.Settlements(t.Context(), state, 10)
		if err != nil || len(rows) != want {
			t.Fatalf("there are %+v, %v, want %d", rows, err, want)
		}
		return rows
	}
	offer := m.offer("/v1/fresh")
	forged := m.sign(m.chain.Wallet(), offer)
	forged.Payload.Authorization["nonce"] = "0x" + strings.Repeat("17", 32)
	m.declined("forged", "/v1/fresh", forged, api.ReasonBadSignature)
	poor, err := m.chain.NewAccount(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	m.declined("poor", "/v1/fresh", m.sign(poor, offer), api.ReasonNoFunds)
	list("", 0)
	s := m.sign(m.chain.Wallet(), offer)
	node.set(func() bool { return false })
	m.declined("forgotten", "/v1/fresh", s, api.ReasonSettling)
	row := list("pending", 1)[0]
	if row.ID != s.Payload.Authorization["nonce"] || row.FeeWei != "" || row.DoneAt != nil || len(row.Tries) != 1 || row.By != m.chain.Gas().Address {
		t.Errorf("%+v", row)
	}
	st, err := admin.Settling(t.Context(), m.d.Config.DataDir)
	if err != nil || len(st) != 1 || st[0].Pending != 1 || st[0].Off != "" || st[0].Balance == "" {
		t.Errorf("%+v, %v", st, err)
	}
	node.set(func() bool { return true })
	if got, err := o.RetrySettlement(t.Context(), row.ID[:10]); err != nil || len(got.Tries) != 2 || node.seen.Load() != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	m.arrived(1_000)
	m.settled("/v1/fresh", s, true)
	list("pending", 0)
	row = list("settled", 1)[0]
	if row.GasUsed == 0 || len(row.FeeWei) < 9 || row.DoneAt == nil || row.Transaction != row.Tries[1].Hash || row.Tries[0].GasUsed != 0 {
		t.Errorf("%+v", row)
	}
	for _, name := range []string{row.ID, strings.ToUpper(row.ID[2:12]), row.Transaction, row.Tries[0].Hash[:12]} {
		if one, err := o.Settlement(t.Context(), name); err != nil || one.ID != row.ID {
			t.Errorf("%s is %+v, %v", name, one, err)
		}
	}
	for _, name := range []string{row.ID[:9], row.ID + "0", "0x00000000", "xyz", "%"} {
		if one, err := o.Settlement(t.Context(), name); err == nil {
			t.Errorf("%s is %+v", name, one)
		}
	}
	if got, err := o.RetrySettlement(t.Context(), row.ID); err != nil || got.State != "settled" || node.seen.Load() != 2 {
		t.Errorf("once it is settled: %+v, %v", got, err)
	}
	if _, err := o.Settlements(t.Context(), "done", 10); err == nil {
		t.Error("there is a state done")
	}
	for _, job := range []string{"settle", "deposits"} { // of which none runs twice at once
		if err := m.d.RunJob(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	node.counted()
	for range 3 {
		m.sold(1_000)
	}
	if calls, _ := node.counted(); calls["eth_getLogs"] < 3 || calls["eth_getTransactionByHash"] > 0 {
		t.Errorf("to look again at what is in the books, the node was asked %v", calls)
	}
	text := string(get(t, m.d.AdminURL()+"/metrics").Body)
	for _, line := range []string{
		`contextd_settlements_total{rail="l2chain",state="settled"} 1`, `contextd_settlements_total{rail="l2chain",state="failed"} 0`,
		fmt.Sprintf(`contextd_settlement_gas_total{rail="l2chain"} %d`, row.GasUsed), `contextd_settlement_reverts_total{rail="l2chain"} 0`,
		`contextd_settlements_pending{rail="l2chain"} 0`, `contextd_standard_offered{rail="l2chain"} 1`,
		`contextd_standard_limited{rail="l2chain"} 0`, `contextd_settlements_foreign{rail="l2chain"} 0`,
		`contextd_settlement_pending_age_seconds{rail="l2chain"} 0`, `contextd_gas_key_balance_wei{rail="l2chain"} `,
		`contextd_settlement_fee_wei_total{rail="l2chain"} `, `contextd_gas_price_wei{rail="l2chain"} `, `contextd_gas_lost_wei{rail="l2chain"} 0`,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the metrics do not say %s", line)
		}
	}
	if st, err = admin.Settling(t.Context(), m.d.Config.DataDir); err != nil || st[0].CostMicros == nil || *st[0].CostMicros < 1 || st[0].Gas != row.GasUsed {
		t.Errorf("%+v, %v", st, err)
	}
}
