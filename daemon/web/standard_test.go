package web_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk/api"
)

// newSettlingMarket is newMarket with a daemon that settles payments of standard x402 itself.
func newSettlingMarket(t *testing.T, changes ...func(*daemon.Config)) *market {
	t.Helper()
	m := &market{t: t, chain: daemontest.Chain(t)}
	m.d = daemontest.Start(t, append([]func(*daemon.Config){daemontest.On(m.chain), func(c *daemon.Config) {
		c.Chain.SettleKey, c.Chain.Wait, c.Logger = m.chain.Gas().PrivateKey, 20*time.Second, m.log.Logger()
	}}, changes...)...)
	return m
}

// unwrap reads a header of standard x402.
func unwrap[T any](t testing.TB, a answer, name string) (v T) {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(a.Header.Get(name))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Errorf("%s is %q: %v", name, a.Header.Get(name), err)
	}
	return v
}

// offer asks for path without credentials and returns how standard x402 can pay for it.
func (m *market) offer(path string) api.StandardRequired {
	m.t.Helper()
	a := get(m.t, m.d.URL()+path)
	if refusal(m.t, a, http.MethodGet).Payment == nil || a.Status != http.StatusPaymentRequired {
		m.t.Fatalf("%s: %d %s", path, a.Status, a.Body)
	}
	if n := len(a.Header.Get(api.HeaderRequired)); n > 3<<10 {
		m.t.Errorf("the offer has %d bytes", n)
	}
	return unwrap[api.StandardRequired](m.t, a, api.HeaderRequired)
}

// standard is a payment of standard x402, as a client sends it.
type standard struct {
	X402Version int `json:"x402Version"`
	Payload     struct {
		Signature     string            `json:"signature"`
		Authorization map[string]string `json:"authorization"`
	} `json:"payload"`
	Accepted   api.StandardAccept `json:"accepted"`
	Extensions map[string]any     `json:"extensions,omitempty"`
}

// sign signs what an offer asks for, from an account.
func (m *market) sign(from devchain.Account, offer api.StandardRequired, changes ...func(*devchain.Authorization)) standard {
	m.t.Helper()
	accept := offer.Accepts[0]
	now := time.Now().Unix()
	a := devchain.Authorization{To: accept.PayTo, After: now - 600, Before: now + int64(accept.MaxTimeoutSeconds)}
	_, _ = rand.Read(a.Nonce[:])
	if _, err := fmt.Sscan(accept.Amount, &a.Value); err != nil {
		m.t.Fatal(err)
	}
	for _, change := range changes {
		change(&a)
	}
	signature, err := m.chain.Authorize(from, a)
	if err != nil {
		m.t.Fatal(err)
	}
	s := standard{X402Version: 2, Accepted: accept, Extensions: map[string]any{
		"payment-identifier": map[string]any{"info": map[string]any{"required": false, "id": rand.Text()}},
	}}
	s.Payload.Signature = "0x" + hex.EncodeToString(signature[:])
	s.Payload.Authorization = map[string]string{
		"from": from.Address, "to": a.To, "value": fmt.Sprint(a.Value), "validAfter": fmt.Sprint(a.After), "validBefore": fmt.Sprint(a.Before),
		"nonce": "0x" + hex.EncodeToString(a.Nonce[:]),
	}
	return s
}

// signed sends a payment of standard x402.
func authorizing(s standard) change {
	text, _ := json.Marshal(s) // which has texts and numbers alone
	return with(api.HeaderSignature, base64.StdEncoding.EncodeToString(text))
}

// settled checks that path is answered to who sends s, as new or again, with a receipt.
func (m *market) settled(path string, s standard, again bool, changes ...change) answer {
	m.t.Helper()
	a := get(m.t, m.d.URL()+path, append(changes, authorizing(s))...)
	if a.Status != http.StatusOK || (a.Header.Get(api.HeaderReplayed) == "true") != again {
		m.t.Fatalf("%s: %d %s, replayed %q", path, a.Status, a.Body, a.Header.Get(api.HeaderReplayed))
	}
	r := unwrap[api.StandardReceipt](m.t, a, api.HeaderSettlement)
	if !r.Success || r.Payer != s.Payload.Authorization["from"] && !strings.EqualFold(r.Payer, s.Payload.Authorization["from"]) || len(r.Transaction) != 66 {
		m.t.Errorf("the receipt is %+v", r)
	}
	return a
}

// declined checks that path is refused for reason to who sends s, with that in PAYMENT-RESPONSE and, with 402, a new offer.
func (m *market) declined(name, path string, s standard, reason api.Reason) answer {
	m.t.Helper()
	a := get(m.t, m.d.URL()+path, authorizing(s))
	failure := refusal(m.t, a, http.MethodGet)
	_, status := reason.Answer()
	unread := reason == api.ReasonMalformedProof // though it is JSON
	if unread {
		status = http.StatusPaymentRequired
	}
	if a.Status != status || failure.Error.Reason != reason || (a.Header.Get(api.HeaderRequired) != "") != (status == http.StatusPaymentRequired) {
		m.t.Errorf("%s: %d %s, want %d %s", name, a.Status, a.Body, status, reason)
	}
	r := unwrap[api.StandardReceipt](m.t, a, api.HeaderSettlement)
	if r.Success || r.ErrorReason == "" || r.ErrorReason != reason.Standard() && !unread || r.Transaction != "" {
		m.t.Errorf("%s: the receipt is %+v", name, r)
	}
	return a
}

// malleate makes the other signature that a key has made with it, of the same authorization.
func malleate(s *standard) {
	raw, _ := hex.DecodeString(s.Payload.Signature[2:]) // made by sign
	high := new(big.Int).Sub(crypto.S256().Params().N, new(big.Int).SetBytes(raw[32:64]))
	high.FillBytes(raw[32:64])
	raw[64] = 27 + 28 - raw[64]
	s.Payload.Signature = "0x" + hex.EncodeToString(raw)
}

// kept counts what the database has of payments, calls and owners.
func (m *market) kept() map[string]int {
	m.t.Helper()
	n := map[string]int{}
	for _, table := range []string{"settlements", "settlement_txs", "paid_calls", "purchases", "deposits", "owners", "identities", "keys", "sessions",
		"challenges", "usage", "free_calls", "traces", "ledger"} {
		n[table] = rowsOf(m.t, m.d, table)
	}
	return n
}

// TestPayByStandardX402 is the whole way of a stock client: the offer, the payment, the receipt, the same again, another request, both
// dialects at once, a key beside it, caches.
func TestPayByStandardX402(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	const path = "/v1/search?q=bitcoin&k=3"
	offer := m.offer(path)
	want := api.StandardAccept{
		Scheme: "exact", Network: "eip155:46630", Amount: "2000", Asset: m.chain.Token(), PayTo: m.chain.Treasury(), MaxTimeoutSeconds: 120,
		Extra: api.StandardExtra{Name: "Global Dollar", Version: "1", AssetTransferMethod: "eip3009"},
	}
	if offer.X402Version != 2 || len(offer.Accepts) != 1 || offer.Accepts[0] != want || offer.Resource.URL != m.d.URL()+path {
		t.Errorf("the offer is %+v", offer)
	}
	before, err := m.chain.Balance(t.Context(), m.chain.Treasury())
	if err != nil {
		t.Fatal(err)
	}
	s := m.sign(m.chain.Wallet(), offer)
	key := m.d.Key(t, api.TierFree)
	if a := get(t, m.d.URL()+path, authorizing(s), bearer(key)); a.Status != http.StatusOK || a.Header.Get(api.HeaderSettlement) != "" {
		t.Errorf("with a key: %d, %v", a.Status, a.Header)
	}
	v1 := base64.StdEncoding.EncodeToString([]byte(`{"x402Version":1,"scheme":"exact"}`))
	first := m.settled(path, s, false, with(api.HeaderPaymentAlias, v1), with("Authorization", "Payment xyz")) // the key had paid before
	if first.Header.Get("Cache-Control") != "no-store" || decode[api.SearchResponse](t, first).Total == 0 {
		t.Errorf("the answer is %s, Cache-Control %q", first.Body, first.Header.Get("Cache-Control"))
	}
	for range 2 {
		if again := m.settled("/v1/search?k=3&q=bitcoin&unknown=1", s, true); !bytes.Equal(ageless(again.Body), ageless(first.Body)) {
			t.Error("asked again, the answer is another")
		}
	}
	m.declined("another request", "/v1/search?q=ether&k=3", s, api.ReasonAlreadyUsed)
	m.declined("another operation", "/v1/fresh", s, api.ReasonAlreadyUsed)
	snapshot := "/v1/snapshot?at=" + time.Now().Add(-2*time.Minute).UTC().Format("2006-01-02T15:04:00Z")
	if a := get(t, m.d.URL()+snapshot); a.Status == http.StatusPaymentRequired {
		a := m.settled(snapshot, m.sign(m.chain.Wallet(), unwrap[api.StandardRequired](t, a, api.HeaderRequired)), false)
		if a.Header.Get("Cache-Control") != api.CacheImmutableOwn || !strings.Contains(a.Header.Get("Vary"), api.HeaderSignature) {
			t.Errorf("of a snapshot: %v", a.Header)
		}
	}
	after, err := m.chain.Balance(t.Context(), m.chain.Treasury())
	if err != nil || after-before != 2_000 && after-before != 12_000 {
		t.Errorf("the treasury has %d more, %v", after-before, err)
	}
	if a := get(t, m.d.URL()+path, with(api.HeaderPaymentAlias, v1)); a.Status != http.StatusPaymentRequired {
		t.Errorf("version 1 of x402 alone is answered %d %s", a.Status, a.Body)
	}
	if text := m.log.String(); strings.Contains(text, m.chain.Gas().PrivateKey) || strings.Contains(text, s.Payload.Signature) {
		t.Error("the log has a secret")
	}
}

// TestStandardMutations changes each member of a payment, one by one, and checks that it is refused for its reason, nothing is settled and
// nothing kept; so it is of calls without credentials. Both sides of each bound of time are in daemon/x402's tests.
func TestStandardMutations(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	poor, err := m.chain.NewAccount(t.Context(), 999)
	if err != nil {
		t.Fatal(err)
	}
	frozen, err := m.chain.NewAccount(t.Context(), 5_000)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.chain.Freeze(t.Context(), frozen.Address, true); err != nil {
		t.Fatal(err)
	}
	const path = "/v1/fresh"
	offer, kept := m.offer(path), m.kept()
	for range 20 {
		for _, free := range []string{path, "/v1/brief", "/v1/search?q=bitcoin", "/v1/cite?ref=1"} {
			m.offer(free)
		}
		m.forSale(api.CreditStarter)
	}
	wallet := m.chain.Wallet()
	before, err := m.chain.Balance(t.Context(), m.chain.Treasury())
	if err != nil {
		t.Fatal(err)
	}
	member := func(name, value string) func(*standard) {
		return func(s *standard) { s.Payload.Authorization[name] = value }
	}
	now := time.Now().Unix()
	for name, one := range map[string]struct {
		change func(*standard)
		want   api.Reason
	}{
		"version":      {func(s *standard) { s.X402Version = 1 }, api.ReasonMalformedProof},
		"scheme":       {func(s *standard) { s.Accepted.Scheme = "upto" }, api.ReasonMalformedProof},
		"network":      {func(s *standard) { s.Accepted.Network = "eip155:1" }, api.ReasonWrongNetwork},
		"asset":        {func(s *standard) { s.Accepted.Asset = m.chain.Treasury() }, api.ReasonWrongToken},
		"from":         {member("from", poor.Address), api.ReasonBadSignature},
		"no from":      {member("from", ""), api.ReasonMalformedProof},
		"to":           {member("to", poor.Address), api.ReasonWrongRecipient},
		"value + 1":    {member("value", "1001"), api.ReasonAmountMismatch},
		"value - 1":    {member("value", "999"), api.ReasonAmountMismatch},
		"value":        {member("value", "0x3e8"), api.ReasonMalformedProof},
		"valid after":  {member("validAfter", fmt.Sprint(now+60)), api.ReasonNotYetValid},
		"after":        {member("validAfter", "1"), api.ReasonBadSignature},
		"valid before": {member("validBefore", fmt.Sprint(now)), api.ReasonExpired},
		"before":       {member("validBefore", fmt.Sprint(now+777)), api.ReasonBadSignature},
		"nonce":        {member("nonce", "0x"+strings.Repeat("17", 32)), api.ReasonBadSignature},
		"no nonce":     {member("nonce", "0x17"), api.ReasonMalformedProof},
		"signature":    {func(s *standard) { s.Payload.Signature = "0x" + strings.Repeat("17", 65) }, api.ReasonBadSignature},
		"no signature": {func(s *standard) { s.Payload.Signature = "" }, api.ReasonBadSignature},
		"malleated":    {malleate, api.ReasonBadSignature},
		// Wallets that are contracts: signatures of two owners (EIP-1271), none at all (by an act on chain), one with the code of a wallet that is
		// not there yet (EIP-6492), and one of an owner's key for the contract.
		"of a contract":         {func(s *standard) { s.Payload.Signature += strings.Repeat("17", 65) }, api.ReasonBadSignature},
		"of a contract, empty":  {func(s *standard) { s.Payload.Signature = "0x" }, api.ReasonBadSignature},
		"of a contract to be":   {func(s *standard) { s.Payload.Signature += strings.Repeat("17", 95) + strings.Repeat("6492", 16) }, api.ReasonBadSignature},
		"of a contract's owner": {member("from", m.chain.Token()), api.ReasonBadSignature},
	} {
		s := m.sign(wallet, offer)
		change := one.change
		change(&s)
		a := m.declined(name, path, s, one.want)
		if strings.Contains(name, "contract") && !bytes.Contains(a.Body, []byte("contract wallets")) {
			t.Errorf("%s: the reason is not told: %s", name, a.Body)
		}
	}
	for _, none := range []string{"/v1/cite?ref=9999", "/v1/snapshot?at=2020-01-01T00:00Z", "/v1/cite?ref=x"} { // what cannot be answered is not settled
		if a := get(t, m.d.URL()+none, authorizing(m.sign(wallet, offer))); a.Status != http.StatusNotFound && a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", none, a.Status, a.Body)
		}
	}
	m.declined("poor", path, m.sign(poor, offer), api.ReasonNoFunds)
	m.declined("frozen", path, m.sign(frozen, offer), api.ReasonUnsettled)
	other := m.sign(wallet, offer, func(a *devchain.Authorization) { a.Nonce = [32]byte{5} })
	if _, err := m.chain.Settle(t.Context(), poor, wallet, devchain.Authorization{To: m.chain.Treasury(), Value: 7, Before: now + 600, Nonce: [32]byte{5}}); err != nil {
		t.Fatal(err)
	}
	m.declined("used", path, other, api.ReasonAuthUsed)
	for _, header := range []string{"%%%", strings.Repeat("A", 17<<10), base64.StdEncoding.EncodeToString([]byte("[}"))} {
		if a := get(t, m.d.URL()+path, with(api.HeaderSignature, header)); a.Status != http.StatusBadRequest {
			t.Errorf("%.20q: %d %s", header, a.Status, a.Body)
		}
	}
	if after, err := m.chain.Balance(t.Context(), m.chain.Treasury()); err != nil || after-before != 7 {
		t.Errorf("the treasury has %d more, %v", after-before, err)
	}
	if now := m.kept(); !maps.Equal(now, kept) {
		t.Errorf("it has kept %v, of %v", now, kept)
	}
	m.settled(path, m.sign(wallet, offer), false)
	if now := m.kept(); now["settlements"] != kept["settlements"]+1 {
		t.Errorf("of a payment it has kept %v, of %v", now, kept)
	}
}

// TestMembersAreThereOnce: a payment that says a member twice, by names that the decoder of JSON takes for one, is refused before it moves
// anything.
func TestMembersAreThereOnce(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	text, err := json.Marshal(m.sign(m.chain.Wallet(), m.offer("/v1/fresh")))
	if err != nil {
		t.Fatal(err)
	}
	before, err := m.chain.Balance(t.Context(), m.chain.Treasury())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"signature", "Signature", "ſignature"} {
		twice := bytes.Replace(text, []byte(`"signature":`), []byte(`"`+name+`":"0x","signature":`), 1)
		a := get(t, m.d.URL()+"/v1/fresh", with(api.HeaderSignature, base64.StdEncoding.EncodeToString(twice)))
		if a.Status != http.StatusPaymentRequired || !strings.Contains(string(a.Body), "a member twice") {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if after, err := m.chain.Balance(t.Context(), m.chain.Treasury()); err != nil || after != before {
		t.Errorf("the treasury has %d more, %v", after-before, err)
	}
}

// TestStandardBesideDeposits settles payments of the very amount that a deposit waits for, while the scanner looks: none of them pays it.
func TestStandardBesideDeposits(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	offer := m.offer("/v1/fresh")
	accounts, err := m.chain.NewAccounts(t.Context(), 5, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	paths := []string{"/v1/fresh", "/v1/fresh?members=flags", "/v1/cite?ref=1", "/v1/cite?ref=2", "/v1/cite?ref=3"}
	for i, from := range accounts {
		s := m.sign(from, offer)
		all.Go(func() {
			if a := get(t, m.d.URL()+paths[i], authorizing(s)); a.Status != http.StatusOK {
				t.Errorf("%s: %d %s", paths[i], a.Status, a.Body)
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for scanning := true; scanning; {
		select {
		case <-done:
			scanning = false
		case <-time.After(10 * time.Millisecond):
			if err := m.d.Scan(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	if err := m.d.Scan(t.Context()); err != nil {
		t.Error(err)
	}
	o, err := admin.Open(t.Context(), admin.Config{DataDir: m.d.Config.DataDir, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	r, err := o.Reconcile(t.Context())
	if err != nil || len(r.Findings) > 0 || r.Calls != 5_000 || r.Unmatched != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestStandardOff has a daemon without a key that pays the gas say nothing of standard x402, and take none.
func TestStandardOff(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	a := get(t, m.d.URL()+"/v1/fresh", with(api.HeaderSignature, "e30="))
	if a.Status != http.StatusPaymentRequired || a.Header.Get(api.HeaderRequired) != "" || a.Header.Get(api.HeaderSettlement) != "" {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	if failure := refusal(t, a, http.MethodGet); strings.Contains(failure.Error.Hint, api.PathPurchase) {
		t.Errorf("credits that are not sold are named: %s", a.Body)
	}
	m.paid("/v1/fresh", m.pay(m.quote("/v1/fresh")), false)
}

// TestReaderOfTheChain: who has read all payments on the chain, and knows the requests, gets no answer, however they spell it. The
// payers do.
func TestReaderOfTheChain(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	offer := m.offer("/v1/fresh")
	paths := []string{"/v1/fresh", "/v1/cite?ref=1", "/v1/cite?ref=2"}
	named, bare := make([]standard, len(paths)), make([]standard, len(paths))
	for i, path := range paths {
		named[i], bare[i] = m.sign(m.chain.Wallet(), offer), m.sign(m.chain.Wallet(), offer)
		bare[i].Extensions = nil
		m.settled(path, named[i], false)
		m.settled(path, bare[i], false)
	}
	for n := range 45 { // of the 60 that a client may show in a minute
		i := n % len(paths)
		s := []standard{named[i], bare[i]}[n/3%2]
		s.Extensions = nil
		switch n / 6 % 5 {
		case 1:
			s = identified(s, rand.Text())
		case 2:
			s = identified(s, "")
		case 3:
			s.Accepted = api.StandardAccept{}
		case 4:
			s.Payload.Authorization = maps.Clone(s.Payload.Authorization)
			s.Payload.Authorization["from"] = strings.ToLower(s.Payload.Authorization["from"])
		}
		a := get(t, m.d.URL()+paths[i], authorizing(s))
		if a.Status != http.StatusPaymentRequired || refusal(t, a, http.MethodGet).Error.Reason != api.ReasonAlreadyUsed {
			t.Fatalf("try %d: %d %s", n, a.Status, a.Body)
		}
	}
	for i, path := range paths {
		m.settled(path, named[i], true)
	}
}

// TestDearGas names credits in the 402 of a call that is not worth its gas, beside the quote of our own dialect, and sells them.
func TestDearGas(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t, func(c *daemon.Config) {
		c.Gas.MaxPercent, c.Gas.EtherMicros = 100, 2_000_000_000 // the chain has a gwei for gas: 0.13 USDG
	})
	a := get(t, m.d.URL()+"/v1/fresh")
	failure := refusal(t, a, http.MethodGet)
	if a.Status != http.StatusPaymentRequired || a.Header.Get(api.HeaderRequired) != "" || failure.Payment == nil ||
		!strings.Contains(failure.Error.Hint, "POST /v1/credits?pack=starter, which costs 1 USDG") ||
		!strings.Contains(failure.Error.Hint, `spendControls: {"allowedAssets":[{"network":"eip155:46630","asset":"`+m.chain.Token()+`"}]}`) {
		t.Errorf("%d %s, %v", a.Status, a.Body, a.Header)
	}
	m.buy(api.CreditStarter, m.sign(m.chain.Wallet(), m.forSale(api.CreditStarter)), true)
}

// TestStandardPreflight lets scripts of other origins pay.
func TestStandardPreflight(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	a := call(t, http.MethodOptions, m.d.URL()+"/v1/fresh", with("Origin", "https://example.org"))
	allowed := strings.Split(strings.ToLower(a.Header.Get("Access-Control-Allow-Headers")), ", ")
	for _, name := range []string{"payment-signature", "access-control-expose-headers", "x-payment"} {
		if !slices.Contains(allowed, name) {
			t.Errorf("%s may not be sent: %v", name, allowed)
		}
	}
	exposed := strings.Split(get(t, m.d.URL()+"/v1/fresh").Header.Get("Access-Control-Expose-Headers"), ", ")
	for name := range maps.Keys(map[string]bool{api.HeaderRequired: true, api.HeaderSettlement: true}) {
		if !slices.Contains(exposed, name) {
			t.Errorf("%s may not be read: %v", name, exposed)
		}
	}
}

// TestStockClients has unmodified clients of x402 pay for operations, and buy credits. .ci/run names the directory of their npm packages where npm
// can install them.
func TestStockClients(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CONTEXTD_X402_CLIENTS")
	if dir == "" {
		t.Skip("CONTEXTD_X402_CLIENTS names no directory with the npm packages of x402 clients")
	}
	var back atomic.Int64 // by which the clock is behind, so that there is a past to read
	back.Store(int64(3 * time.Minute))
	m := newSettlingMarket(t, func(c *daemon.Config) {
		c.Now = func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }
	})
	back.Store(0)
	source, err := os.ReadFile("testdata/standard.mjs")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, fmt.Sprintf("standard-%d.mjs", time.Now().UnixNano())) // beside its packages
	if err := os.WriteFile(name, source, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(name)
	const credits = "POST " + api.PathPurchase + "?pack=" + string(api.CreditStarter)
	past := "/v1/snapshot?at=" + time.Now().Add(-2*time.Minute).UTC().Format("2006-01-02T15:04")
	for _, one := range []struct {
		client string
		price  int64
		calls  []string
	}{
		{"fetch", 1_000 + 5_000 + 2_000 + 1_000 + 1_000 + 1_000 + 10_000 + 1_000_000, []string{
			"/v1/fresh", "/v1/brief", "/v1/search?q=bitcoin&k=3", "/v1/lookup?q=bitcoin", "/v1/cite?ref=1", "POST /v1/cite?ref=2", past, credits,
		}},
		{"axios", 1_000 + 5_000 + 1_000_000, []string{"/v1/fresh?members=flags", "/v1/brief", credits}},
		{"mppx", 1_000 + 5_000 + 2_000 + 1_000 + 1_000 + 10_000 + 1_000_000, []string{
			"/v1/fresh?members=flags", "/v1/brief", "/v1/search?q=ether", "/v1/lookup?q=ether", "/v1/cite?ref=1", past, credits,
		}},
	} {
		before, err := m.chain.Balance(t.Context(), m.chain.Treasury())
		if err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), "node", append([]string{name, m.d.URL(), m.chain.Wallet().PrivateKey, m.chain.Token(), one.client}, one.calls...)...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), "ok\n") {
			t.Errorf("%s: %v\n%s", one.client, err, out)
			continue
		}
		t.Logf("%s", out)
		if after, err := m.chain.Balance(t.Context(), m.chain.Treasury()); err != nil || after-before != one.price {
			t.Errorf("%s: the treasury has %d more, not %d, %v", one.client, after-before, one.price, err)
		}
	}
}
