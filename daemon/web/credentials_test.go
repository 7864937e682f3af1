package web_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// market is a daemon that is paid on a chain, and somebody with money.
type market struct {
	t     testing.TB
	d     *daemontest.Daemon
	chain *devchain.Chain
	back  atomic.Int64 // nanoseconds by which the daemon's clock is behind
	log   testbed.Log
}

// newMarket opens a market that ends with the test. Its first state is of so long ago.
func newMarket(t *testing.T, back ...time.Duration) *market {
	t.Helper()
	m := &market{t: t, chain: daemontest.Chain(t)}
	for _, d := range back {
		m.back.Store(int64(d))
	}
	m.d = daemontest.Start(t, daemontest.On(m.chain), func(c *daemon.Config) {
		c.Now = func() time.Time { return time.Now().Add(-time.Duration(m.back.Load())) }
		c.Logger = m.log.Logger()
	})
	return m
}

// quote asks for path without credentials, which must be answered with a quote.
func (m *market) quote(path string) api.PaymentRequirements {
	m.t.Helper()
	a := get(m.t, m.d.URL()+path)
	failure := refusal(m.t, a, http.MethodGet)
	if a.Status != http.StatusPaymentRequired || failure.Error.Reason != api.ReasonPaymentRequired || failure.Payment == nil {
		m.t.Fatalf("%s: %d %s", path, a.Status, a.Body)
	}
	return *failure.Payment
}

// nonce is that of a quote, in bytes.
func (m *market) nonce(q api.PaymentRequirements) []byte {
	m.t.Helper()
	raw, err := hex.DecodeString(strings.TrimPrefix(q.Nonce, "0x"))
	if err != nil || len(raw) != 32 {
		m.t.Fatalf("the nonce is %q", q.Nonce)
	}
	return raw
}

// transfer pays amount to an address, with more behind the parameters, and returns the proof of it.
func (m *market) transfer(to string, amount int64, more []byte) api.PaymentProof {
	m.t.Helper()
	hash, err := m.chain.Transfer(m.t.Context(), m.chain.Wallet(), to, amount, more)
	if err != nil {
		m.t.Fatal(err)
	}
	return m.proof(hash)
}

// proof is the proof of a transaction by the wallet.
func (m *market) proof(hash [32]byte) api.PaymentProof {
	return api.PaymentProof{Scheme: api.SchemeX402, Network: api.NetworkL2, TxHash: "0x" + hex.EncodeToString(hash[:]), Payer: m.chain.Wallet().Address}
}

// pay pays a quote as it asks for.
func (m *market) pay(q api.PaymentRequirements) api.PaymentProof {
	m.t.Helper()
	amount, err := usdg.ParseAmount(q.Amount)
	if err != nil {
		m.t.Fatal(err)
	}
	return m.transfer(q.Recipient, int64(amount), m.nonce(q))
}

// proving sends a proof.
func proving(p api.PaymentProof) change {
	text, _ := json.Marshal(p) // which has texts alone
	return with(api.HeaderPayment, base64.StdEncoding.EncodeToString(text))
}

// refused checks that path is refused for reason to who sends p, with a new quote where the status is 402.
func (m *market) refused(path string, p api.PaymentProof, reason api.Reason) {
	m.t.Helper()
	a := get(m.t, m.d.URL()+path, proving(p))
	failure := refusal(m.t, a, http.MethodGet)
	_, status := reason.Answer()
	if a.Status != status || failure.Error.Reason != reason || (failure.Payment != nil) != (status == http.StatusPaymentRequired) {
		m.t.Errorf("%s: %d %s, want %d %s", path, a.Status, a.Body, status, reason)
	}
	if (a.Header.Get("Retry-After") != "") != (status == http.StatusServiceUnavailable) {
		m.t.Errorf("%s: %d with Retry-After %q", path, status, a.Header.Get("Retry-After"))
	}
}

// paid checks that path is answered to who sends p, as new or again.
func (m *market) paid(path string, p api.PaymentProof, again bool) answer {
	m.t.Helper()
	a := get(m.t, m.d.URL()+path, proving(p))
	if a.Status != http.StatusOK || (a.Header.Get(api.HeaderReplayed) == "true") != again {
		m.t.Fatalf("%s: %d %s, replayed %q", path, a.Status, a.Body, a.Header.Get(api.HeaderReplayed))
	}
	return a
}

// TestPayByCall is the whole way, and lines 1, 2, 5, 15, 23 and 24 of the list of traps: replay, spellings of the hash, theft of
// the proof, presenting it late, a key beside it, caches.
func TestPayByCall(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	const path = "/v1/search?q=bitcoin&k=3"
	q := m.quote(path)
	if q.Scheme != "x402" || q.Network != "l2chain" || q.Asset != "USDG" || q.Amount != "0.002" || q.Recipient != m.chain.Treasury() ||
		q.ValidUntil < time.Now().Add(4*time.Minute).Unix() || q.ValidUntil > time.Now().Add(6*time.Minute).Unix() {
		t.Errorf("the quote is %+v", q)
	}
	p := m.pay(q)
	key := m.d.Key(t, api.TierFree)
	if a := get(t, m.d.URL()+path, proving(p), bearer(key)); a.Status != http.StatusOK || a.Header.Get("Cache-Control") == "no-store" {
		t.Errorf("with a key: %d, Cache-Control %q", a.Status, a.Header.Get("Cache-Control"))
	}
	first := m.paid(path, p, false) // the key had paid for the call before
	if first.Header.Get("Cache-Control") != "no-store" || decode[api.SearchResponse](t, first).Total == 0 {
		t.Errorf("the answer is %s, Cache-Control %q", first.Body, first.Header.Get("Cache-Control"))
	}
	for _, spelled := range []string{strings.ToUpper(p.TxHash[2:]), "0X" + strings.ToUpper(p.TxHash[2:]), p.TxHash[2:], " " + p.TxHash + " "} {
		same := p
		same.TxHash = spelled
		if again := m.paid("/v1/search?k=3&q=bitcoin&unknown=1", same, true); !bytes.Equal(ageless(again.Body), ageless(first.Body)) {
			t.Errorf("asked again as %q, the answer is another", spelled)
		}
	}
	thief := p
	thief.Payer = "0x1111111111111111111111111111111111111111"
	m.refused(path, thief, api.ReasonPayerMismatch)
	m.refused("/v1/search?q=ethereum&k=3", p, api.ReasonAlreadyUsed)
	m.d.Stop(t) // what was paid for is answered by the next daemon too
	m.d = daemontest.Start(t, daemontest.On(m.chain), func(c *daemon.Config) {
		c.DataDir = m.d.Config.DataDir
		c.Now = func() time.Time { return time.Now().Add(-time.Duration(m.back.Load())) }
	})
	if again := m.paid(path, p, true); !bytes.Equal(ageless(again.Body), ageless(first.Body)) {
		t.Error("after a restart the answer is another")
	}
	late := m.pay(m.quote("/v1/cite?ref=1"))
	m.back.Store(int64(-23 * time.Hour))
	m.paid("/v1/cite?ref=1", late, false) // paid in time, presented a day later
}

// TestPayAtOnce presents one proof many times at once (line 3): one is new, all are the same.
func TestPayAtOnce(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	p := m.pay(m.quote("/v1/fresh"))
	var all sync.WaitGroup
	var mu sync.Mutex
	bodies, replayed := map[string]int{}, 0
	for range 20 {
		all.Go(func() {
			a := get(t, m.d.URL()+"/v1/fresh", proving(p))
			mu.Lock()
			defer mu.Unlock()
			bodies[fmt.Sprint(a.Status)+string(ageless(a.Body))]++
			if a.Header.Get(api.HeaderReplayed) == "true" {
				replayed++
			}
		})
	}
	all.Wait()
	if len(bodies) != 1 || replayed != 19 {
		t.Errorf("%d different answers, %d of 20 given again", len(bodies), replayed)
	}
}

// TestWhatIsNoPayment is lines 4 and 6 to 13: each transaction but the last pays for nothing.
func TestWhatIsNoPayment(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	const path = "/v1/cite?ref=2"
	q := m.quote(path)
	n, to := m.nonce(q), q.Recipient
	m.refused(path, m.transfer(to, 1_000, nil), api.ReasonNonceMismatch)                                // 4: any old transfer of the amount
	m.refused("/v1/cite?ref=3", m.transfer(to, 1_000, n), api.ReasonNonceMismatch)                      // 6: another request of the same price
	m.refused(path, m.transfer(to, 999, n), api.ReasonAmountMismatch)                                   // 7: less
	m.refused(path, m.transfer(to, 1_001, n), api.ReasonAmountMismatch)                                 // 7: more
	m.refused(path, m.transfer(to, 0, n), api.ReasonAmountMismatch)                                     // 7: nothing
	m.refused(path, m.transfer(m.chain.Wallet().Address, 1_000, n), api.ReasonWrongRecipient)           // 10: to the payer
	m.refused(path, m.transfer(to, 1_000, append([]byte{n[0] ^ 1}, n[1:]...)), api.ReasonNonceMismatch) // 12: forged
	m.refused(path, m.transfer(to, 1_000, n[:31]), api.ReasonNonceMismatch)                             // 12: cut off
	m.refused(path, m.transfer(to, 1_000, append(n[:31:31], n[31]^1)), api.ReasonNonceMismatch)         // 12: forged at its end
	elsewhere := m.calls(m.chain.Owner().Address, 1_000, n)                                             // 8: no contract at all
	m.refused(path, elsewhere, api.ReasonWrongToken)
	good := m.transfer(to, 1_000, slicesOf([]byte("a note of the wallet's 0x12"), n, []byte("and one behind"))) // 13: anywhere
	spoof := good
	spoof.Payer = m.chain.Owner().Address
	m.refused(path, spoof, api.ReasonPayerMismatch) // 11
	m.paid(path, good, false)
	spelled := m.quote(path)
	m.paid(path, m.transfer(to, 1_000, []byte("0xzz"+spelled.Nonce)), false) // 13: spelled out
}

// slicesOf is all parts, one behind the other.
func slicesOf(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// calls sends the calldata of a payment to another address than the token's.
func (m *market) calls(contract string, amount int64, nonce []byte) api.PaymentProof {
	m.t.Helper()
	data, err := hex.DecodeString("a9059cbb" + strings.Repeat("0", 24) + m.chain.Treasury()[2:] + fmt.Sprintf("%064x", amount) + hex.EncodeToString(nonce))
	if err != nil {
		m.t.Fatal(err)
	}
	hash, err := m.chain.Call(m.t.Context(), m.chain.Wallet(), contract, data)
	if err != nil {
		m.t.Fatal(err)
	}
	return m.proof(hash)
}

// TestFailedTransferIsNoPayment is line 9: the transaction is there, but has moved nothing.
func TestFailedTransferIsNoPayment(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	q := m.quote("/v1/fresh")
	if err := m.chain.Freeze(t.Context(), m.chain.Wallet().Address, true); err != nil {
		t.Fatal(err)
	}
	hash, err := m.chain.Transfer(t.Context(), m.chain.Wallet(), q.Recipient, 1_000, m.nonce(q))
	if err == nil {
		t.Fatal("a frozen wallet pays")
	}
	m.refused("/v1/fresh", m.proof(hash), api.ReasonTxFailed)
}

// TestLatePayment is line 15: the block came after the end of the quote.
func TestLatePayment(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.back.Store(int64(6 * time.Minute))
	p := m.pay(m.quote("/v1/fresh"))
	m.refused("/v1/fresh", p, api.ReasonQuoteExpired)
	m.back.Store(0)
	m.refused("/v1/fresh", p, api.ReasonQuoteExpired)
}

// TestNotVisibleYet is line 16: a transaction that nobody has seen asks for patience, never for another payment; nor does a chain
// that does not answer.
func TestNotVisibleYet(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.refused("/v1/fresh", m.proof([32]byte{1}), api.ReasonPaymentPending)
	p := m.pay(m.quote("/v1/fresh"))
	if err := m.chain.Close(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		m.refused("/v1/fresh", p, api.ReasonChainUnavailable)
	}
	if m.log.Count("payments cannot be checked") != 1 || m.log.Count("call failed") > 0 {
		t.Errorf("of five that fail for one reason the log says %s", m.log.String())
	}
	if log := m.log.String(); !strings.Contains(log, "ask chain") || strings.Contains(log, p.TxHash) {
		t.Errorf("the log says %s", log)
	}
	if a := get(t, m.d.URL()+"/v1/fresh", bearer(m.d.Key(t, api.TierFree))); a.Status != http.StatusOK {
		t.Errorf("without a chain a key is answered %d", a.Status)
	}
}

// TestNothingIsSoldThatCannotBeDelivered is the second half of line 18: what would be refused is not quoted.
func TestNothingIsSoldThatCannotBeDelivered(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	for path, reason := range map[string]api.Reason{
		"/v1/cite?ref=99": api.ReasonCitationNotFound, "/v1/snapshot?at=1999-01-01T00:00:00Z": api.ReasonSnapshotNotFound,
		"/v1/lookup?q=foo,bar": api.ReasonNothingFound, "/v1/search?q=": api.ReasonInvalidQ, "/v1/fresh?pack=none": api.ReasonPackNotFound,
	} {
		if failure := refusal(t, get(t, m.d.URL()+path), http.MethodGet); failure.Error.Reason != reason || failure.Payment != nil {
			t.Errorf("%s: %s, quoted %v; want %s", path, failure.Error.Reason, failure.Payment != nil, reason)
		}
	}
	// A key without credits where they are needed gets a quote too, and hears that it is about credits.
	a := get(t, m.d.URL()+api.PathSubscribe+"?token="+m.d.Key(t, api.TierFree)+"&pack=none")
	if a.Status != http.StatusNotFound {
		t.Errorf("subscribe: %d", a.Status)
	}
}

// TestBadProofs is lines 21 and 22: other networks and headers that hold no proof.
func TestBadProofs(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	good := m.proof([32]byte{7})
	for what, change := range map[string]func(*api.PaymentProof){
		"network": func(p *api.PaymentProof) { p.Network = "mainnet" },
		"case":    func(p *api.PaymentProof) { p.Network = "L2CHAIN" },
	} {
		p := good
		change(&p)
		a := get(t, m.d.URL()+"/v1/fresh", proving(p))
		if f := refusal(t, a, http.MethodGet); f.Error.Reason != api.ReasonWrongNetwork || a.Status != http.StatusPaymentRequired || f.Payment == nil {
			t.Errorf("%s: %d %s", what, a.Status, a.Body)
		}
	}
	text, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	encoded := base64.StdEncoding.EncodeToString(text)
	coded := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for what, changes := range map[string][]change{
		"no base64":       {with(api.HeaderPayment, "{}")},
		"empty":           {with(api.HeaderPayment, "")},
		"no JSON":         {with(api.HeaderPayment, coded("x"))},
		"an array":        {with(api.HeaderPayment, coded("[]"))},
		"no members":      {with(api.HeaderPayment, coded("{}"))},
		"scheme":          {with(api.HeaderPayment, coded(strings.Replace(string(text), "x402", "exact", 1)))},
		"short hash":      {with(api.HeaderPayment, coded(strings.Replace(string(text), "00\"", "\"", 1)))},
		"payer":           {with(api.HeaderPayment, coded(strings.Replace(string(text), good.Payer, "0x12", 1)))},
		"member twice":    {with(api.HeaderPayment, coded(strings.Replace(string(text), "{", `{"txHash":"0x00",`, 1)))},
		"too large":       {with(api.HeaderPayment, coded(`{"x":"`+strings.Repeat("x", 4_000)+`"}`))},
		"two that differ": {with(api.HeaderPayment, encoded), with(api.HeaderPaymentAlias, coded("{}"))},
	} {
		a := get(t, m.d.URL()+"/v1/fresh", changes...)
		if f := refusal(t, a, http.MethodGet); f.Error.Reason != api.ReasonMalformedProof || a.Status != http.StatusBadRequest || f.Payment != nil {
			t.Errorf("%s: %d %s", what, a.Status, a.Body)
		}
	}
	more := coded(strings.Replace(string(text), "{", `{"extra":1,`, 1))
	for what, changes := range map[string][]change{
		"alias": {with(api.HeaderPaymentAlias, encoded)}, "both the same": {with(api.HeaderPayment, encoded), with(api.HeaderPaymentAlias, encoded)},
		"of URLs": {with(api.HeaderPayment, base64.RawURLEncoding.EncodeToString(text))}, "unknown member": {with(api.HeaderPayment, more)},
	} {
		if f := refusal(t, get(t, m.d.URL()+"/v1/fresh", changes...), http.MethodGet); f.Error.Reason != api.ReasonPaymentPending {
			t.Errorf("%s: %s, want a proof that is looked for", what, f.Error.Reason)
		}
	}
}

// TestProofsAreBounded is line 20: quotes cost nothing to keep, and a client that presents proof after proof has to wait.
func TestProofsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Now() // which stands still, so that no proof is allowed again while others are sent
	m := &market{t: t, chain: daemontest.Chain(t)}
	m.d = daemontest.Start(t, daemontest.On(m.chain), func(c *daemon.Config) {
		c.Now = func() time.Time { return now }
		c.Logger = m.log.Logger()
	})
	nonces := map[string]bool{}
	for range 100 {
		nonces[m.quote("/v1/fresh").Nonce] = true
	}
	if len(nonces) != 100 {
		t.Errorf("%d different nonces of 100", len(nonces))
	}
	for n := 0; ; n++ {
		a := get(t, m.d.URL()+"/v1/fresh", with(api.HeaderPayment, "x"))
		if a.Status == http.StatusTooManyRequests {
			if a.Header.Get("Retry-After") == "" || n != 60 {
				t.Errorf("refused after %d proofs, Retry-After %q", n, a.Header.Get("Retry-After"))
			}
			break
		}
		if n > 100 {
			t.Fatal("no end to proofs")
		}
	}
	m.quote("/v1/fresh") // quotes go on
}

// TestPaidSnapshot: what was paid for by call is kept by its payer alone, also when it is given again; what a key gets, by any cache.
func TestPaidSnapshot(t *testing.T) {
	t.Parallel()
	const ago = 2 * time.Minute
	m := newMarket(t, ago)
	m.back.Store(0)
	path := "/v1/snapshot?at=" + url.QueryEscape(time.Now().Add(-ago/2).UTC().Truncate(time.Minute).Format(time.RFC3339))
	p := m.pay(m.quote(path))
	for _, again := range []bool{false, true} {
		a := m.paid(path, p, again)
		if a.Header.Get("Cache-Control") != api.CacheImmutableOwn || !strings.Contains(a.Header.Get("Vary"), api.HeaderPayment) {
			t.Errorf("again %v: headers %v", again, a.Header)
		}
	}
	a := get(t, m.d.URL()+path, bearer(m.d.Key(t, api.TierPro)))
	if a.Status != http.StatusOK || a.Header.Get("Cache-Control") != api.CacheImmutable {
		t.Errorf("with a key: %d, headers %v", a.Status, a.Header)
	}
}

// TestPrivateSnapshots: an operator has no shared cache keep them.
func TestPrivateSnapshots(t *testing.T) {
	t.Parallel()
	for cache, want := range map[web.SnapshotCache]string{
		"": api.CacheImmutable, web.SnapshotsPublic: api.CacheImmutable, web.SnapshotsPrivate: api.CacheImmutableOwn,
	} {
		server, _ := serve(t, web.Config{Reader: script{}, Gate: script{}, Snapshots: cache})
		a := get(t, server.URL+"/v1/snapshot?at=2026-11-22T10:00Z", bearer("key"))
		if a.Status != http.StatusOK || a.Header.Get("Cache-Control") != want {
			t.Errorf("%q: %d, headers %v", cache, a.Status, a.Header)
		}
	}
}
