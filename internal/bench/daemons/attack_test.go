package daemons_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk/api"
)

// siege is a daemon that is paid by standard x402 through a node or a facilitator which plays foul, with honest users beside the attackers.
type siege struct {
	t     *testing.T
	d     *daemontest.Daemon
	chain *devchain.Chain
	http  *http.Client
	buyer devchain.Account // who is honest, and pays each call

	calls    atomic.Int64                            // of the node
	meddle   atomic.Pointer[func(req []byte) []byte] // what the node answers in place of the chain, nil for that
	settles  atomic.Int64                            // requests of POST /settle
	networks atomic.Int64                            // that were used
}

func newSiege(t *testing.T, facilitated bool, changes ...func(*daemon.Config)) *siege {
	t.Helper()
	s := &siege{t: t, chain: daemontest.Chain(t), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	t.Cleanup(s.http.CloseIdleConnections)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.calls.Add(int64(max(1, bytes.Count(body, []byte(`"method"`)))))
		w.Header().Set("Content-Type", "application/json")
		if meddle := s.meddle.Load(); meddle != nil {
			if answer := (*meddle)(body); answer != nil {
				_, _ = w.Write(answer)
				return
			}
		}
		res, err := http.Post(s.chain.URL(), "application/json", bytes.NewReader(body))
		if err != nil {
			return
		}
		defer res.Body.Close()
		_, _ = io.Copy(w, res.Body)
	}))
	t.Cleanup(node.Close)
	idle := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // verifies and never settles
		switch r.URL.Path {
		case "/supported":
			_, _ = fmt.Fprintf(w, `{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:%d"}]}`, devchain.ChainID)
		case "/verify":
			_, _ = fmt.Fprint(w, `{"isValid":true}`)
		default:
			s.settles.Add(1)
			_, _ = fmt.Fprint(w, `{"success":true}`)
		}
	}))
	t.Cleanup(idle.Close)
	s.d = daemontest.Start(t, daemontest.On(s.chain), onFiles, func(c *daemon.Config) {
		c.Chain.RPCURL, c.Chain.Wait = node.URL, 3*time.Second
		c.Chain.Domain = x402.Domain{Name: devchain.TokenName, Version: devchain.TokenVersion}
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		c.Gas.Reverts = big.NewInt(2_000_000_000_000_000)
		if c.Chain.SettleKey = s.chain.Gas().PrivateKey; facilitated {
			c.Chain.SettleKey, c.Chain.Settle.FacilitatorURL = "", idle.URL
		}
		for _, change := range changes {
			change(c)
		}
	})
	s.buyer = s.account(1_000_000)
	return s
}

// account is a new wallet with money.
func (s *siege) account(micros int64) devchain.Account {
	s.t.Helper()
	a, err := s.chain.NewAccount(s.t.Context(), micros)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// payment is the header with an authorization that a wallet signs.
func (s *siege) payment(from devchain.Account, micros uint64, lasts time.Duration, id string) string {
	a := devchain.Authorization{To: s.chain.Treasury(), Value: micros, Before: time.Now().Add(lasts).Unix()}
	_, _ = rand.Read(a.Nonce[:])
	signature, err := s.chain.Authorize(from, a)
	if err != nil {
		s.t.Error(err)
	}
	text := fmt.Sprintf(`{"x402Version":2,"accepted":{"scheme":"exact","network":"eip155:%d","asset":%q},"payload":{"signature":"0x%x",
		"authorization":{"from":%q,"to":%q,"value":"%d","validAfter":"0","validBefore":"%d","nonce":"0x%x"}},
		"extensions":{"payment-identifier":{"info":{"id":%q}}}}`,
		devchain.ChainID, s.chain.Token(), signature, from.Address, a.To, a.Value, a.Before, a.Nonce, id)
	return base64.StdEncoding.EncodeToString([]byte(text))
}

// present sends a payment from an address, "" for one of this machine's, and returns what it is answered with.
func (s *siege) present(method, path, payment, from string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.d.URL()+path, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set(api.HeaderSignature, payment)
	if from != "" {
		req.Header.Set("X-Forwarded-For", from)
	}
	res, err := s.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// network is an address in a /48 that nobody had before.
func (s *siege) network() string { return fmt.Sprintf("2001:db8:%x::1", s.networks.Add(1)) }

// honest measures what honest users wait while something goes on: a reader with a key, a customer who pays each call and the operator.
func (s *siege) honest(while func()) map[string][]time.Duration {
	s.t.Helper()
	ctx, stop := context.WithCancel(s.t.Context())
	reader := caller(s.t, s.d, s.key())
	o, err := admin.Open(s.t.Context(), admin.Config{DataDir: s.d.Config.DataDir})
	if err != nil {
		s.t.Fatal(err)
	}
	defer o.Close()
	took := map[string][]time.Duration{}
	var mu sync.Mutex
	var all sync.WaitGroup
	repeat := func(name string, pause time.Duration, act func() error) {
		all.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				err := act()
				mu.Lock()
				took[name] = append(took[name], time.Since(began))
				mu.Unlock()
				if err != nil && ctx.Err() == nil {
					s.t.Errorf("%s: %v", name, err)
				}
				time.Sleep(pause)
			}
		})
	}
	repeat("reader", 5*time.Millisecond, func() error { _, err := reader.Cite(s.t.Context(), "", 1); return err })
	repeat("operator", 20*time.Millisecond, func() error { _, err := o.Settlements(s.t.Context(), "", 10); return err })
	if s.d.Config.Chain.SettleKey != "" {
		repeat("buyer", blockTime, func() error {
			status, body, err := s.present(http.MethodGet, "/v1/fresh", s.payment(s.buyer, 1_000, time.Minute, ""), s.network())
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("%d %s", status, body)
			}
			return err
		})
	}
	while()
	stop()
	all.Wait()
	return took
}

func (s *siege) key() string {
	key := s.d.Key(s.t, api.TierEnterprise)
	s.d.Grant(s.t, key, 1_000_000)
	return key
}

// p99 is that of durations.
func p99(list []time.Duration) time.Duration {
	slices.Sort(list)
	if len(list) == 0 {
		return 0
	}
	return list[len(list)*99/100]
}

// compare tells what an attack did to the waiting of the honest; the figures are for a reader, since no test fails on a clock.
func (s *siege) compare(quiet, during map[string][]time.Duration) {
	s.t.Helper()
	for name := range quiet {
		before, then := p99(quiet[name]), p99(during[name])
		s.t.Logf("%s: p99 %s before, %s during it, of %d and %d", name, before.Round(time.Millisecond), then.Round(time.Millisecond),
			len(quiet[name]), len(during[name]))
		if len(during[name]) == 0 {
			s.t.Errorf("%s has had no answer", name)
		}
	}
}

// agree checks the books, and returns the settlements.
func (s *siege) agree() []admin.Settlement {
	s.t.Helper()
	o, err := admin.Open(s.t.Context(), admin.Config{DataDir: s.d.Config.DataDir})
	if err != nil {
		s.t.Fatal(err)
	}
	defer o.Close()
	if err := s.d.Scan(s.t.Context()); err != nil {
		s.t.Error(err)
	}
	if findings, err := o.Audit(s.t.Context()); err != nil || len(findings) > 0 {
		s.t.Errorf("the audit finds %v, %v", findings, err)
	}
	if r, err := o.Reconcile(s.t.Context()); err != nil || len(r.Findings) > 0 {
		s.t.Errorf("the books do not agree: %+v, %v", r, err)
	}
	list, err := o.Settlements(s.t.Context(), "", 10_000)
	if err != nil {
		s.t.Error(err)
	}
	return list
}

// blockTime is how far blocks are apart on average on the chain for tests, which has half a minute of them in hand.
const blockTime = time.Second

// quietFor is how long the honest are alone, attackFor how long an attack goes on.
const quietFor, attackFor = 5 * time.Second, 5 * time.Second

// TestGasAttack has wallets with the price of one call present 50 authorizations each at once, and move the money meanwhile: each costs the
// service three attempts at most, and customers go on.
func TestGasAttack(t *testing.T) {
	s := newSiege(t, false)
	const wallets, each = 8, 50
	accounts, err := s.chain.NewAccounts(t.Context(), wallets, 1_000)
	if err != nil {
		t.Fatal(err)
	}
	payments := map[string][]string{}
	for _, a := range accounts { // what it costs to sign them is the attackers' matter
		for range each {
			payments[a.Address] = append(payments[a.Address], s.payment(a, 1_000, time.Minute, ""))
		}
	}
	quiet := s.honest(func() { time.Sleep(quietFor) })
	said := map[int]int{}
	var mu sync.Mutex
	during := s.honest(func() {
		var all sync.WaitGroup
		for _, a := range accounts {
			for _, payment := range payments[a.Address] {
				from := s.network()
				all.Go(func() {
					status, _, err := s.present(http.MethodGet, "/v1/fresh", payment, from)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					said[status]++
				})
			}
			all.Go(func() { // which may be too late, or too early
				time.Sleep(100 * time.Millisecond)
				_, _ = s.chain.Transfer(t.Context(), a, s.chain.Owner().Address, 1_000, nil)
			})
			time.Sleep(attackFor / wallets)
		}
		all.Wait()
	})
	s.compare(quiet, during)
	failed := map[string]int{}
	gas := uint64(0)
	for _, row := range s.agree() {
		if row.State == "failed" {
			failed[strings.ToLower(row.Payer)]++
			gas += row.GasUsed
		}
	}
	for payer, n := range failed {
		if n > 3 {
			t.Errorf("%d settlements of %s have failed", n, payer)
		}
	}
	t.Logf("%d wallets, %d presentations: answers %v, %d have failed settlements, %d gas lost", wallets, wallets*each, said, len(failed), gas)
}

// TestIdleFacilitator has a facilitator verify and never settle: three payments a wallet wait, strangers' 16 in all, and it is asked less
// and less often.
func TestIdleFacilitator(t *testing.T) {
	s := newSiege(t, true)
	quiet := s.honest(func() { time.Sleep(quietFor) })
	accounts := make([]devchain.Account, 8)
	for i := range accounts {
		accounts[i] = s.account(1_000_000)
	}
	var payments []string
	for _, a := range accounts {
		for range 24 {
			payments = append(payments, s.payment(a, 1_000, 10*time.Minute, ""))
		}
	}
	during := s.honest(func() {
		var all sync.WaitGroup
		for _, payment := range payments {
			from := s.network()
			all.Go(func() { _, _, _ = s.present(http.MethodGet, "/v1/fresh", payment, from) })
			time.Sleep(attackFor / time.Duration(len(payments)))
		}
		all.Wait()
	})
	s.compare(quiet, during)
	status, body, err := s.present(http.MethodGet, "/v1/fresh", s.payment(accounts[0], 1_000, 1<<20*time.Hour, ""), s.network())
	if err != nil || status != http.StatusPaymentRequired || !bytes.Contains(body, []byte("expires_too_late")) {
		t.Errorf("for ever: %d %s, %v", status, body, err)
	}
	begun, calls := s.settles.Load(), s.calls.Load()
	for range 30 { // as the job does in seven minutes and a half, but for the time, which makes attempts rarer
		if err := s.d.RunJob(t.Context(), "settle"); err != nil {
			t.Error(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	waiting := 0
	for _, row := range s.agree() {
		if row.State == "pending" {
			waiting++
		}
	}
	t.Logf("%d wait of 192; in 30 turns of the job the facilitator was asked %d times, the node %d times", waiting,
		s.settles.Load()-begun, s.calls.Load()-calls)
	if waiting > 16 {
		t.Errorf("%d payments wait", waiting)
	}
}

// TestThievingNode has the node refuse the settlement of a purchase and present the same authorization itself: it gets no key.
func TestThievingNode(t *testing.T) {
	s := newSiege(t, false)
	buyer := s.account(1_000_000)
	payment := s.payment(buyer, 1_000_000, time.Minute, "victim-0123456789abcdef")
	stolen := make(chan []byte, 1)
	meddle := func(req []byte) []byte {
		var call struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(req, &call) != nil || call.Method != "eth_estimateGas" {
			return nil
		}
		s.meddle.Store(nil)
		raw, _ := base64.StdEncoding.DecodeString(payment)
		bare := base64.StdEncoding.EncodeToString(bytes.Replace(raw, []byte("victim-0123456789abcdef"), nil, 1))
		go func() {
			_, body, _ := s.present(http.MethodPost, api.PathPurchase+"?pack=starter", bare, s.network())
			stolen <- body
		}()
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":3,"message":"execution reverted"}}`, call.ID)
	}
	s.meddle.Store(&meddle)
	_, first, err := s.present(http.MethodPost, api.PathPurchase+"?pack=starter", payment, s.network())
	if err != nil || bytes.Contains(first, []byte("nothing was taken")) {
		t.Errorf("the victim reads %s, %v", first, err)
	}
	if body := <-stolen; bytes.Contains(body, []byte("cv_test_")) {
		t.Errorf("the node gets %s", body)
	}
	status, body, err := s.present(http.MethodPost, api.PathPurchase+"?pack=starter", payment, s.network())
	var key api.IssuedKey
	if err != nil || status != http.StatusCreated || json.Unmarshal(body, &key) != nil || key.Key == "" {
		t.Errorf("the victim gets %d %s, %v", status, body, err)
	}
	s.agree()
}

// TestEmptyWallets presents authorizations of wallets without funds, from one site and then from many: the node is asked for a bounded
// number, and honest users go on.
func TestEmptyWallets(t *testing.T) {
	s := newSiege(t, false)
	prepare := func() (payments []string) {
		accounts, err := s.chain.NewAccounts(t.Context(), 300, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range accounts {
			payments = append(payments, s.payment(a, 1_000, time.Minute, ""))
		}
		return payments
	}
	flood := func(payments []string, within time.Duration, from func(i int) string) (calls int64) {
		before := s.calls.Load()
		var all sync.WaitGroup
		for i, payment := range payments {
			all.Go(func() { _, _, _ = s.present(http.MethodGet, "/v1/fresh", payment, from(i)) })
			time.Sleep(within / time.Duration(len(payments)))
		}
		all.Wait()
		return s.calls.Load() - before
	}
	if calls := flood(prepare(), 0, func(i int) string { return fmt.Sprintf("2001:db8:ffff:%x::1", i) }); calls > 60+10 {
		t.Errorf("300 presentations of one site cost %d calls of the node", calls)
	} else {
		t.Logf("300 presentations of one site: %d calls of the node", calls)
	}
	var calls int64
	payments := prepare()
	quiet := s.honest(func() { time.Sleep(quietFor) })
	began := time.Now()
	during := s.honest(func() { calls = flood(payments, attackFor, func(int) string { return s.network() }) })
	s.compare(quiet, during)
	honest := int64(12 * len(during["buyer"])) // calls of the node for what is settled
	most := 150 + 50*int64(time.Since(began).Seconds()+1) + honest
	t.Logf("300 of 300 sites: %d calls of the node, with those for %d honest payments", calls, len(during["buyer"]))
	if calls > most {
		t.Errorf("300 of 300 sites cost %d calls of the node, at most %d are enough", calls, most)
	}
	s.agree()
}
