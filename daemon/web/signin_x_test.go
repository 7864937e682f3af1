package web_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	sdkwallet "github.com/contextd/contextd/sdk/wallet"
)

// signInURL is where users reach the services of these tests. Nobody asks it: what requests say of the host counts for nothing.
const signInURL = "https://context.example.org:8443"

func newSigningMarket(t *testing.T, changes ...func(*daemon.Config)) *market {
	t.Helper()
	return newSettlingMarket(t, append([]func(*daemon.Config){func(c *daemon.Config) {
		c.PublicURL, c.SignIn = signInURL, x402.SignInRecover
	}}, changes...)...)
}

// signIn is what a wallet sends for the extension of a 402 of path, changed before it is signed, and after.
func (m *market) signIn(path string, from devchain.Account, before, after func(map[string]any)) change {
	m.t.Helper()
	offer := unwrap[api.StandardRequired](m.t, get(m.t, m.d.URL()+path), api.HeaderRequired)
	sent := daemontest.SignIn(m.t, from, offer, before, after)
	return with(api.HeaderSignIn, base64.StdEncoding.EncodeToString(sent))
}

// TestSignInRecovers: a wallet that signs in is given what it has paid for again, for a day, with the receipt and for nothing; for another
// request, and another wallet, it is a 402 as ever. Once the payer was told, nobody is by what is on the chain.
func TestSignInRecovers(t *testing.T) {
	t.Parallel()
	m := newSigningMarket(t)
	const path = "/v1/cite?ref=1"
	wallet := m.chain.Wallet()
	other, err := m.chain.NewAccount(t.Context(), 5_000)
	if err != nil {
		t.Fatal(err)
	}
	if a := get(t, m.d.URL()+path, m.signIn(path, wallet, nil, nil)); a.Status != http.StatusPaymentRequired ||
		!strings.Contains(string(a.Body), "has not paid") || a.Header.Get(api.HeaderRequired) == "" {
		t.Fatalf("before it has paid: %d %s", a.Status, a.Body)
	}
	s := m.sign(wallet, m.offer(path))
	s.Extensions = nil
	first := m.settled(path, s, false)
	receipt := unwrap[api.StandardReceipt](t, first, api.HeaderSettlement)
	before, err := m.chain.Balance(t.Context(), m.chain.Treasury())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a := get(t, m.d.URL()+path, m.signIn(path, wallet, nil, nil))
		again := unwrap[api.StandardReceipt](t, a, api.HeaderSettlement)
		if a.Status != http.StatusOK || a.Header.Get(api.HeaderReplayed) != "true" || !bytes.Equal(ageless(a.Body), ageless(first.Body)) ||
			again.Transaction != receipt.Transaction || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
		}
	}
	for name, a := range map[string]answer{
		"another request": get(t, m.d.URL()+"/v1/cite?ref=2", m.signIn(path, wallet, nil, nil)),
		"another wallet":  get(t, m.d.URL()+path, m.signIn(path, other, nil, nil)),
		"its payment":     get(t, m.d.URL()+path, authorizing(s)),
	} {
		if a.Status != http.StatusPaymentRequired || a.Header.Get(api.HeaderRequired) == "" {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if after, err := m.chain.Balance(t.Context(), m.chain.Treasury()); err != nil || after != before {
		t.Errorf("the treasury has %d more, %v", after-before, err)
	}
	allowed := call(t, http.MethodOptions, m.d.URL()+path, with("Origin", "https://example.org")).Header.Get("Access-Control-Allow-Headers")
	if !strings.Contains(allowed, api.HeaderSignIn) {
		t.Errorf("scripts may send %s", allowed)
	}
}

// TestSignInsAreRefused: a sign-in that is not to the letter one that this service handed out, signed by its wallet, now and once, is a
// 402 that offers another. The host that a request names changes nothing.
func TestSignInsAreRefused(t *testing.T) {
	t.Parallel()
	m := newSigningMarket(t)
	const path = "/v1/cite?ref=1"
	wallet := m.chain.Wallet()
	m.settled(path, m.sign(wallet, m.offer(path)), false)
	other, err := m.chain.NewAccount(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	set := func(name string, value any) func(map[string]any) { return func(v map[string]any) { v[name] = value } }
	stamp := func(d time.Duration) string { return time.Now().Add(d).UTC().Format("2006-01-02T15:04:05.000Z") }
	for name, one := range map[string]struct{ before, after func(map[string]any) }{
		"domain": {set("domain", "evil.example"), nil}, "domain without port": {set("domain", "context.example.org"), nil},
		"uri": {set("uri", "https://evil.example"), nil}, "scheme": {set("uri", "http://context.example.org:8443"), nil},
		"version": {set("version", "2"), nil}, "nonce": {set("nonce", strings.Repeat("ab", 16)), nil}, "no nonce": {set("nonce", ""), nil},
		"issued before": {set("issuedAt", stamp(-6*time.Minute)), nil}, "another time": {set("issuedAt", stamp(-time.Second)), nil},
		"ahead": {set("issuedAt", stamp(2*time.Minute)), nil}, "expired": {set("expirationTime", stamp(-time.Second)), nil},
		"not yet": {nil, set("notBefore", stamp(time.Minute))}, "chain": {set("chainId", "eip155:1"), nil},
		"type": {set("type", "eip1271"), nil}, "statement": {set("statement", "Give all"), nil},
		"of another": {set("address", other.Address), nil}, "address after": {nil, set("address", other.Address)},
		"signature": {nil, set("signature", "0x17")}, "long": {nil, set("requestId", strings.Repeat("x", 16<<10))},
	} {
		a := get(t, m.d.URL()+path, m.signIn(path, wallet, one.before, one.after))
		if a.Status != http.StatusPaymentRequired || a.Header.Get(api.HeaderRequired) == "" ||
			!strings.Contains(string(a.Body), "sign-in is refused") {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	once := m.signIn(path, wallet, nil, nil)
	for i, status := range []int{http.StatusOK, http.StatusPaymentRequired} {
		host := func(r *http.Request) { r.Host = "127.0.0.1" }
		if a := get(t, m.d.URL()+path, once, host); a.Status != status {
			t.Errorf("time %d: %d %s", i+1, a.Status, a.Body)
		}
	}
	if a := get(t, m.d.URL()+path, with(api.HeaderSignIn, "%%")); a.Status != http.StatusPaymentRequired {
		t.Errorf("no base64: %d %s", a.Status, a.Body)
	}
}

// TestSignInSpends: a wallet whose owner has credits signs in and is answered now, by credits, with what is left in the header; a sign-in is
// good once, also at another daemon on the same books. Without credits, and for a disabled owner, it is a 402 as ever, and nothing is spent.
func TestSignInSpends(t *testing.T) {
	t.Parallel()
	spend := func(c *daemon.Config) { c.SignIn = x402.SignInSpend }
	m := newSigningMarket(t, spend)
	const path = "/v1/cite?ref=1"
	wallet := m.chain.Wallet()
	if a := get(t, m.d.URL()+path, m.signIn(path, wallet, nil, nil)); a.Status != http.StatusPaymentRequired {
		t.Fatalf("of nobody: %d %s", a.Status, a.Body)
	}
	m.settled(path, m.sign(wallet, m.offer(path)), false)
	bought := m.buy(api.CreditStarter, m.sign(wallet, m.forSale(api.CreditStarter)), true)
	once := m.signIn(path, wallet, nil, nil)
	a := get(t, m.d.URL()+path, once)
	if a.Status != http.StatusOK || a.Header.Get(api.HeaderReplayed) != "" || a.Header.Get(api.HeaderCreditsLeft) != "999" ||
		a.Header.Get(api.HeaderSettlement) != "" {
		t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
	}
	if a := get(t, m.d.URL()+path, once); a.Status != http.StatusPaymentRequired || !strings.Contains(string(a.Body), "used before") {
		t.Errorf("again: %d %s", a.Status, a.Body)
	}
	first := decode[api.CiteResponse](t, a).Freshness.GeneratedAt // of this second, maybe
	past := "/v1/snapshot?at=" + first.UTC().Format("2006-01-02T15:04:05.000Z")
	if a := get(t, m.d.URL()+past, m.signIn(past, wallet, nil, nil)); a.Status != http.StatusOK ||
		a.Header.Get("Cache-Control") != api.CacheImmutableOwn {
		t.Errorf("a snapshot: %d %v", a.Status, a.Header)
	}
	if a := get(t, m.d.URL()+path, bearer(bought.Key)); a.Header.Get(api.HeaderCreditsLeft) != "997" {
		t.Errorf("with the key: %v", a.Header)
	}
	used := billing.Entry{KeyID: bought.KeyID, Amount: -997, Kind: billing.KindAdjust, Reason: "test"}
	if _, err := m.d.Credits().Move(t.Context(), m.d.Keys().List("")[0].OwnerID, used); err != nil {
		t.Fatal(err)
	}
	if a := get(t, m.d.URL()+"/v1/cite?ref=2", m.signIn("/v1/cite?ref=2", wallet, nil, nil)); a.Status != http.StatusPaymentRequired ||
		!strings.Contains(string(a.Body), "has not paid") {
		t.Errorf("without credits: %d %s", a.Status, a.Body)
	}
	later := m.signIn(path, wallet, nil, nil)
	if _, err := m.d.Keys().Revoke(t.Context(), bought.KeyID); err != nil {
		t.Fatal(err)
	}
	if a := get(t, m.d.URL()+path, later); a.Status != http.StatusOK || a.Header.Get(api.HeaderReplayed) != "true" {
		t.Errorf("without a key, what was paid for: %d %s", a.Status, a.Body)
	}
}

// TestSDKSignsIn: the SDK signs for the host that it asks, and for no other, and not what reads otherwise than it is.
func TestSDKSignsIn(t *testing.T) {
	t.Parallel()
	const public = "http://context.example.org"
	m := newSigningMarket(t, func(c *daemon.Config) { c.PublicURL = public })
	const path = "/v1/cite?ref=1"
	wallet := m.chain.Wallet()
	key, err := sdkwallet.ParseKey(wallet.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	m.settled(path, m.sign(wallet, m.offer(path)), false)
	signed := func(at string, spoil func(info map[string]any)) (string, error) {
		required := m.offer(path)
		if spoil != nil {
			spoil(required.Extensions[api.ExtensionSignIn].Info)
		}
		text, err := json.Marshal(required)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, at+path, nil)
		resp := &http.Response{StatusCode: http.StatusPaymentRequired, Header: http.Header{}, Body: http.NoBody, Request: r}
		resp.Header.Set(api.HeaderRequired, base64.StdEncoding.EncodeToString(text))
		return sdk.SignIn(r, resp, key.Address(), key.SignMessage)
	}
	header, err := signed(public, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := get(t, m.d.URL()+path, with(api.HeaderSignIn, header)); a.Status != http.StatusOK || a.Header.Get(api.HeaderReplayed) != "true" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	set := func(name string, value any) func(map[string]any) {
		return func(info map[string]any) { info[name] = value }
	}
	for name, one := range map[string]struct {
		at    string
		spoil func(map[string]any)
	}{
		"another host": {"http://evil.example", nil}, "another port": {public + ":81", nil}, "another scheme": {"https://context.example.org", nil},
		"domain": {public, set("domain", "evil.example")}, "uri": {public, set("uri", "http://evil.example/")},
		"lines": {public, set("statement", "Sign in\nURI: http://evil.example")}, "nonce": {public, set("nonce", 7)},
	} {
		if header, err := signed(one.at, one.spoil); header != "" || !errors.Is(err, sdk.ErrSignIn) {
			t.Errorf("%s: %q, %v", name, header, err)
		}
	}
}

// TestSignInBesidePayment: a payment that was sent before is answered again to its payer, who signs in beside it, and to nobody else.
func TestSignInBesidePayment(t *testing.T) {
	t.Parallel()
	m := newSigningMarket(t)
	const path = "/v1/cite?ref=1"
	wallet := m.chain.Wallet()
	other, err := m.chain.NewAccount(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	s := m.sign(wallet, m.offer(path))
	s.Extensions = nil
	first := get(t, m.d.URL()+path, authorizing(s), with(api.HeaderSignIn, "%%"))
	if first.Status != http.StatusOK {
		t.Fatalf("%d %s", first.Status, first.Body)
	}
	for name, one := range map[string]struct {
		beside change
		status int
	}{
		"nobody": {func(*http.Request) {}, http.StatusPaymentRequired}, "another": {m.signIn(path, other, nil, nil), http.StatusPaymentRequired},
		"unreadable": {with(api.HeaderSignIn, "%%"), http.StatusPaymentRequired}, "its payer": {m.signIn(path, wallet, nil, nil), http.StatusOK},
	} {
		a := get(t, m.d.URL()+path, authorizing(s), one.beside)
		if a.Status != one.status || a.Status == http.StatusOK && !bytes.Equal(ageless(a.Body), ageless(first.Body)) {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
}

// TestSignInIsOff: it is a switch, and without public_url there is nothing to sign.
func TestSignInIsOff(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*daemon.Config){
		"off": func(c *daemon.Config) { c.SignIn = "" }, "no public URL": func(c *daemon.Config) { c.PublicURL = "" },
	} {
		m := newSigningMarket(t, change)
		if offer := m.offer("/v1/cite?ref=1"); offer.Extensions[api.ExtensionSignIn].Info != nil {
			t.Errorf("%s: it offers %+v", name, offer)
		}
	}
	if m := newSigningMarket(t); m.forSale(api.CreditStarter).Extensions[api.ExtensionSignIn].Info != nil {
		t.Error("it offers to sign in for a purchase")
	}
}
