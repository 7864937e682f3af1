package wallet_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// TestAuthorizer pays a service of somebody else: what it signs is good for what it is asked for, in the domain that is known here, and the
// journal says so.
func TestAuthorizer(t *testing.T) {
	t.Parallel()
	p := newSpender(t)
	dear := usdc("9000")
	s := newSeller(t, dear, usdc("2000", "network", "eip155:1"), usdc("3000", "extra", map[string]any{}), usdc("1", "scheme", "upto"), usdc("3000"))
	answer, err := p.post(s, "/x?b=1&a=2", "body")
	if err != nil || answer != "sold" {
		t.Fatalf("%q, %v", answer, err)
	}
	if got := s.paid(); len(got) != 1 || s.bodies[0] != "body" {
		t.Fatalf("%d payments, with %q", len(got), s.bodies)
	}
	key, _ := wallet.ParseKey(sellerKey)
	signer, sold := s.check(s.paid()[0], wallet.Assets()["usdc-base"])
	a := sold.Payload.Authorization
	if signer != key.Address() || a["from"] != signer || a["to"] != payTo || a["value"] != "3000" || a["validAfter"] != "0" ||
		a["validBefore"] != fmt.Sprint(p.now.Unix()+60) {
		t.Errorf("%s has signed %v", signer, a)
	}
	want, err := json.Marshal(s.accepts[2])
	if err != nil || !bytes.Equal(sold.Accepted, want) || sold.X402Version != 2 {
		t.Errorf("it repeats %s, %v", sold.Accepted, err)
	}
	id, _ := sold.Extensions["payment-identifier"].Info["id"].(string)
	if other := sold.Extensions["other"]; len(id) < 16 || len(sold.Extensions) != 2 || fmt.Sprint(other.Info) != "map[n:1.5 nonce:<x>]" {
		t.Errorf("the extensions are %v", sold.Extensions)
	}
	if len(sold.Extensions["payment-identifier"].Schema) != 1 || sold.Extensions["payment-identifier"].Info["required"] != true {
		t.Errorf("of payment-identifier it repeats %v", sold.Extensions["payment-identifier"])
	}
	all, err := wallet.Payments(p.dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	if one := all[0]; one.State != "answered" || one.Service != s.URL || one.Request != "POST /x?b=1&a=2 body" || one.Amount != 3000 ||
		one.Asset != "USDC" || one.Network != "eip155:8453" || one.TxHash != fmt.Sprintf("0x%064d", 7) || one.Authorization != a["nonce"] || one.Live {
		t.Errorf("the journal has %+v", one)
	}
	if spent, err := wallet.Spent(p.dir, p.now); err != nil || spent.Day != 3000 {
		t.Errorf("spent %v, %v", spent, err)
	}
	if _, err := p.post(s, "/x?b=1&a=2", "body"); err != nil || len(s.paid()) != 2 || s.paid()[0] == s.paid()[1] {
		t.Errorf("the second call: %v, %d payments", err, len(s.paid()))
	}
}

// TestAuthorizerRefuses is what is not signed, and both sides of each bound.
func TestAuthorizerRefuses(t *testing.T) {
	t.Parallel()
	base := wallet.Assets()["usdc-base"]
	domain := func(name, version string) map[string]any { return map[string]any{"name": name, "version": version} }
	flow := func(name any) accepted { return usdc("1", "extra", map[string]any{"paymentFlow": name}) }
	key, _ := wallet.ParseKey(sellerKey)
	for name, c := range map[string]struct {
		accept accepted
		want   string // in the error; "" is paid
	}{
		"plain":             {usdc("1"), ""},
		"the cap":           {usdc("10000"), ""},
		"over the cap":      {usdc("10001"), "the bound per call is 0.01"},
		"zero":              {usdc("0"), "amount"},
		"leading zero":      {usdc("01"), "amount"},
		"negative":          {usdc("-1"), "amount"},
		"signed":            {usdc("+1"), "amount"},
		"exponent":          {usdc("1e3"), "amount"},
		"decimal":           {usdc("0.001"), "amount"},
		"no amount":         {usdc(""), "amount"},
		"number":            {usdc("1", "amount", 1), "unreadable"},
		"wraps":             {usdc("18446744073709551617"), "amount"},
		"of 18 digits":      {usdc("100000000000000000"), "the bound per call"},
		"other scheme":      {usdc("1", "scheme", "upto"), `scheme is "upto"`},
		"other network":     {usdc("1", "network", "eip155:1"), "not among the assets"},
		"test network":      {usdc("1", "network", "eip155:84532"), "not among the assets"},
		"solana":            {usdc("1", "network", "solana:x"), "EVM"},
		"spelled network":   {usdc("1", "network", "eip155:08453"), "EVM"},
		"other asset":       {usdc("1", "asset", payTo), "not among the assets"},
		"no asset":          {usdc("1", "asset", "USDC"), "EVM"},
		"checksummed asset": {usdc("1", "asset", base.Token), ""},
		"permit2":           {usdc("1", "extra", map[string]any{"assetTransferMethod": "permit2"}), "permit2"},
		"eip3009":           {usdc("1", "extra", map[string]any{"assetTransferMethod": "eip3009"}), ""},
		"flow":              {flow("authorization"), ""},
		"no flow":           {flow(nil), ""},
		"upfront":           {flow("upfront"), `the flow "upfront"`},
		"escrow":            {flow("escrow"), `the flow "escrow"`},
		"empty flow":        {flow(""), "the flow"},
		"numbered flow":     {flow(1), `the flow "1"`},
		"spelled flow":      {usdc("1", "extra", map[string]any{"paymentFlow": "authorization", "PaymentFlow": "upfront"}), "the flow"},
		"domain":            {usdc("1", "extra", domain("USDC", "2")), "signing domain"},
		"version":           {usdc("1", "extra", domain("USD Coin", "1")), "signing domain"},
		"no extra":          {usdc("1", "extra", nil), ""},
		"nowhere":           {usdc("1", "payTo", "0x"+strings.Repeat("0", 40)), "zero address"},
		"to the token":      {usdc("1", "payTo", base.Token), "the token"},
		"to itself":         {usdc("1", "payTo", key.Address()), "wallet itself"},
		"to a name":         {usdc("1", "payTo", "shop.eth"), "not an address"},
		"negative time":     {usdc("1", "maxTimeoutSeconds", -1), "-1 seconds"},
		"no time":           {usdc("1", "maxTimeoutSeconds", nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s := newSpender(t), newSeller(t, c.accept)
			_, err := p.post(s, "/", "")
			if c.want == "" && (err != nil || len(s.paid()) != 1) {
				t.Errorf("%v, %d payments", err, len(s.paid()))
			}
			if c.want != "" && (!errors.Is(err, wallet.ErrPolicy) || !strings.Contains(fmt.Sprint(err), c.want) || len(p.states()) != 0 || len(s.paid()) != 0) {
				t.Errorf("%v, %d payments, journal %v", err, len(s.paid()), p.states())
			}
		})
	}
}

// TestAuthorizationHolds: an authorization holds as long as the service asks for, within bounds.
func TestAuthorizationHolds(t *testing.T) {
	t.Parallel()
	for asked, want := range map[int64]int64{0: 30, 29: 30, 30: 30, 31: 31, 900: 900, 901: 900, 1 << 62: 900} {
		p, s := newSpender(t), newSeller(t, usdc("1", "maxTimeoutSeconds", asked))
		if _, err := p.post(s, "/", ""); err != nil {
			t.Fatal(err)
		}
		_, sold := s.check(s.paid()[0], wallet.Assets()["usdc-base"])
		if got := sold.Payload.Authorization["validBefore"]; got != fmt.Sprint(p.now.Unix()+want) {
			t.Errorf("asked for %d seconds it holds until %s, at %d", asked, got, p.now.Unix())
		}
	}
}

// TestAuthorizationKept: until an authorization is over, the same request sends the same one, whatever comes of it; when it is over it is
// shown once more, and another is signed only then.
func TestAuthorizationKept(t *testing.T) {
	t.Parallel()
	fails := func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }
	again := func(s *seller) func(http.ResponseWriter) { return func(w http.ResponseWriter) { s.ask(w) } }
	for name, c := range map[string]struct {
		later time.Duration
		same  bool // the second run is answered by the first payment
		shown int  // payments that came in the second run
		want  string
	}{
		"at once":             {0, true, 1, "[answered]"},
		"at its end":          {60 * time.Second, true, 1, "[answered]"},
		"with the clocks off": {120 * time.Second, true, 1, "[answered]"},
		"over":                {121 * time.Second, false, 2, "[lapsed answered]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s := newSpender(t), newSeller(t, usdc("5"))
			s.replies = []func(http.ResponseWriter){fails}
			if !c.same {
				s.replies = append(s.replies, again(s))
			}
			_, err := p.post(s, "/", "")
			if not, ok := errors.AsType[*sdk.PaidError](err); !ok || not.Refused || strings.Contains(err.Error(), s.paid()[0][:60]) {
				t.Fatalf("the first: %v", err)
			}
			if got := fmt.Sprint(p.states()); got != "[signed]" {
				t.Errorf("then the journal has %s", got)
			}
			p.now = p.now.Add(c.later)
			if answer, err := p.post(s, "/", ""); err != nil || answer != "sold" {
				t.Fatalf("the second: %q, %v", answer, err)
			}
			got := s.paid()
			if len(got) != 1+c.shown || got[0] != got[1] || (got[len(got)-1] == got[0]) != c.same || fmt.Sprint(p.states()) != c.want {
				t.Errorf("%d payments, journal %v", len(got), p.states())
			}
		})
	}
}

// TestAuthorizationOfOthers: another request, body or service has an authorization of its own.
func TestAuthorizationOfOthers(t *testing.T) {
	t.Parallel()
	p, s, other := newSpender(t), newSeller(t, usdc("5")), newSeller(t, usdc("5"))
	fails := func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }
	s.replies = []func(http.ResponseWriter){fails}
	if _, err := p.post(s, "/", "a"); err == nil {
		t.Fatal("it is answered")
	}
	for _, call := range []struct {
		s          *seller
		path, body string
	}{{s, "/", "b"}, {s, "/?x", "a"}, {other, "/", "a"}} {
		p.now = p.now.Add(time.Millisecond) // by which the journal is in order
		if _, err := p.post(call.s, call.path, call.body); err != nil {
			t.Error(err)
		}
	}
	for i, header := range append(s.paid()[1:], other.paid()...) {
		if header == s.paid()[0] {
			t.Errorf("%d is the same", i)
		}
	}
	if got := fmt.Sprint(p.states()); got != "[signed answered answered answered]" {
		t.Errorf("the journal has %s", got)
	}
}

// TestAuthorizationRefused: a service that refuses is paid nothing more until it is allowed, and then gets the same as long as that holds.
func TestAuthorizationRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuse func(*seller, http.ResponseWriter)
		says   string
		later  time.Duration
		same   bool
	}{
		"always 402":     {func(s *seller, w http.ResponseWriter) { s.ask(w) }, ": pay", 0, true},
		"by facilitator": {func(s *seller, w http.ResponseWriter) { tell(w, false, "insufficient_funds"); s.ask(w) }, "insufficient_funds", 0, true},
		"asks more":      {func(s *seller, w http.ResponseWriter) { s.accepts = []accepted{usdc("6")}; s.ask(w) }, "it now wants 6", 120 * time.Second, true},
		"elsewhere": {func(s *seller, w http.ResponseWriter) {
			s.accepts = []accepted{usdc("5", "payTo", "0x"+strings.Repeat("ab", 20))}
			s.ask(w)
		}, "it now wants 5 at 0xabab", 0, true},
		"over by then": {func(s *seller, w http.ResponseWriter) { s.ask(w) }, ": pay", 121 * time.Second, false},
		"no reason":    {func(_ *seller, w http.ResponseWriter) { w.WriteHeader(402) }, "402", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s := newSpender(t), newSeller(t, usdc("5"))
			s.replies = []func(http.ResponseWriter){func(w http.ResponseWriter) { c.refuse(s, w) }}
			_, err := p.post(s, "/", "")
			if not, ok := errors.AsType[*sdk.PaidError](err); !ok || !not.Refused || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("the first: %v", err)
			}
			for _, path := range []string{"/", "/other"} {
				if _, err := p.post(s, path, ""); !stopped(err) || len(s.paid()) != 1 {
					t.Errorf("%s: %v, %d payments", path, err, len(s.paid()))
				}
			}
			if refused, err := wallet.AllowService(t.Context(), p.dir, s.URL); err != nil || len(refused) != 1 {
				t.Fatalf("%v, %v", refused, err)
			}
			s.mu.Lock()
			s.accepts = []accepted{usdc("5")}
			s.mu.Unlock()
			p.now = p.now.Add(c.later)
			if answer, err := p.post(s, "/", ""); err != nil || answer != "sold" {
				t.Fatalf("the second: %q, %v", answer, err)
			}
			if got := s.paid(); len(got) != 2 || (got[0] == got[1]) != c.same {
				t.Errorf("%d payments", len(got))
			}
		})
	}
}

// TestExtensionsBounded: what a service wants repeated is, up to a bound, and what is over it is not paid.
func TestExtensionsBounded(t *testing.T) {
	t.Parallel()
	for n, payments := range map[int]int{0: 1, 11_000: 1, 12 << 10: 0} {
		p, s := newSpender(t), newSeller(t, usdc("5"))
		s.pad = strings.Repeat("x", n)
		_, err := p.post(s, "/", "")
		if len(s.paid()) != payments || (err == nil) != (payments == 1) || err != nil && !errors.Is(err, wallet.ErrPolicy) {
			t.Errorf("%d bytes: %v, %d payments", n, err, len(s.paid()))
		}
	}
}

func stopped(err error) bool {
	_, ok := errors.AsType[*wallet.StoppedError](err)
	return ok
}

// TestAuthorizationAnswers: what a service answers to a payment, and what the journal makes of it.
func TestAuthorizationAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply func(http.ResponseWriter)
		want  string // of the journal
		times int    // that the payment was sent
	}{
		"pending":          {func(w http.ResponseWriter) { w.Header().Set("Retry-After", "0"); w.WriteHeader(503) }, "[answered]", 2},
		"too many":         {func(w http.ResponseWriter) { w.Header().Set("Retry-After", "0"); w.WriteHeader(429) }, "[answered]", 2},
		"pending for long": {func(w http.ResponseWriter) { w.Header().Set("Retry-After", "3600"); w.WriteHeader(503) }, "[signed]", 1},
		"lost":             {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "[signed]", 1},
		"half": {func(w http.ResponseWriter) {
			tell(w, true, "")
			w.Header().Set("Content-Length", "9")
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "[mined]", 1},
		"failed, settled": {func(w http.ResponseWriter) { tell(w, true, ""); w.WriteHeader(500) }, "[mined]", 1},
		"failed":          {func(w http.ResponseWriter) { tell(w, false, "x"); w.WriteHeader(500) }, "[signed]", 1},
		"not found":       {func(w http.ResponseWriter) { w.WriteHeader(404) }, "[signed]", 1},
		"redirect":        {func(w http.ResponseWriter) { w.Header().Set("Location", "http://elsewhere.test/"); w.WriteHeader(307) }, "[signed]", 1},
		"broken receipt":  {func(w http.ResponseWriter) { w.Header().Set(api.HeaderSettlement, "%"); w.WriteHeader(200) }, "[answered]", 1},
		"no receipt":      {func(w http.ResponseWriter) { w.WriteHeader(200) }, "[answered]", 1},
		"hostile receipt": {func(w http.ResponseWriter) {
			w.Header().Set(api.HeaderSettlement, base64.StdEncoding.EncodeToString([]byte(`{"success":true,"transaction":"\u001b[31mred"}`)))
		}, "[answered]", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s := newSpender(t), newSeller(t, usdc("5"))
			s.replies = []func(http.ResponseWriter){c.reply}
			_, err := p.post(s, "/", "")
			if _, not := errors.AsType[*sdk.PaidError](err); not == (c.want == "[answered]") {
				t.Errorf("%v", err)
			}
			if got := fmt.Sprint(p.states()); got != c.want || len(s.paid()) != c.times {
				t.Errorf("the journal has %s, %d times", got, len(s.paid()))
			}
			all, _ := wallet.Payments(p.dir)
			if strings.Contains(all[0].TxHash, "red") {
				t.Errorf("the hash is %q", all[0].TxHash)
			}
		})
	}
}

// TestAuthorizationElsewhere: nothing is paid after a redirect to another host, to two at once, or with headers that cannot be read.
func TestAuthorizationElsewhere(t *testing.T) {
	t.Parallel()
	p, other := newSpender(t), newSeller(t, usdc("5"))
	required := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for name, c := range map[string]struct {
		header []string
		body   string
		want   string
	}{
		"not base64":  {[]string{"%%"}, "", "not base64"},
		"not JSON":    {[]string{required("[]")}, "", "not the JSON of x402"},
		"version 1":   {[]string{required(`{"x402Version":1,"accepts":[{}]}`)}, "", "version 1"},
		"in the body": {nil, `{"x402Version":1,"accepts":[{}]}`, "version 1 of x402 in the body"},
		"twice":       {[]string{required(`{}`), required(`{}`)}, "", "2 times"},
		"no ways":     {[]string{required(`{"x402Version":2,"accepts":[]}`)}, "", "0 ways"},
		"many ways":   {[]string{required(`{"x402Version":2,"accepts":[` + strings.Repeat("{},", 32) + `{}]}`)}, "", "33 ways"},
		"huge":        {[]string{required(`{"x402Version":2,"error":"` + strings.Repeat("x", 64<<10) + `"}`)}, "", "bytes"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()[http.CanonicalHeaderKey(api.HeaderRequired)] = c.header
			w.WriteHeader(402)
			_, _ = io.WriteString(w, c.body)
		}))
		t.Cleanup(s.Close)
		_, err := p.post(&seller{Server: s}, "/", "")
		if !errors.Is(err, sdk.ErrRequired) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	to := httptest.NewServer(http.RedirectHandler(other.URL+"/", http.StatusTemporaryRedirect))
	t.Cleanup(to.Close)
	if _, err := p.post(&seller{Server: to}, "/", ""); err != nil || len(p.states()) != 0 || len(other.paid()) != 0 { // followed, and a 402 there
		t.Errorf("%v, %v", err, p.states())
	}
}

// TestAuthorizerBounds: what was authorized counts against the bounds of a day, also beside what is paid by transactions, and the recipient
// of a service is pinned.
func TestAuthorizerBounds(t *testing.T) {
	t.Parallel()
	p, s := newSpender(t), newSeller(t, usdc("5"))
	p.cfg = func(c *wallet.Config) { c.Policy.PerDay = 14 }
	for i, want := range []string{"", "", "within 24 hours"} {
		if _, err := p.post(s, fmt.Sprintf("/%d", i), ""); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", i, err)
		}
	}
	p.now = p.now.Add(24 * time.Hour)
	s.accepts = []accepted{usdc("5", "payTo", "0x"+strings.Repeat("ab", 20))}
	if _, err := p.post(s, "/", ""); !errors.Is(err, wallet.ErrRecipient) || len(s.paid()) != 2 {
		t.Errorf("to another: %v", err)
	}
	p.cfg = func(c *wallet.Config) { c.Policy.PerCall = 0 }
	s.accepts = []accepted{usdc("5")}
	if _, err := p.post(s, "/", ""); !errors.Is(err, wallet.ErrPolicy) || !strings.Contains(err.Error(), "--max-amount 0.000005") {
		t.Errorf("without a bound per call: %v", err)
	}
}

// TestParseAsset reads the tokens that the settings name.
func TestParseAsset(t *testing.T) {
	t.Parallel()
	const address = "0x5fc5360D0400a0Fd4f2af552ADD042D716F1d168"
	got, err := wallet.ParseAsset("eip155:10/" + strings.ToLower(address) + "/Some Dollar/3")
	if want := (wallet.Asset{Symbol: "Some Dollar", ChainID: 10, Token: address, Name: "Some Dollar", Version: "3"}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "usd", "USDG", "eip155:10", "eip155:0/" + address + "/X/1", "eip155:010/" + address + "/X/1", "10/" + address + "/X/1",
		"eip155:10/0x1/X/1", "eip155:10/" + address + "//1", "eip155:10/" + address + "/X/", "eip155:10/" + address + "/X/1/2"} {
		if a, err := wallet.ParseAsset(bad); err == nil {
			t.Errorf("%q is %+v", bad, a)
		}
	}
	for name, a := range wallet.Assets() {
		if common.HexToAddress(a.Token).Hex() != a.Token || wallet.AssetAt(a.ChainID, strings.ToLower(a.Token)) != a {
			t.Errorf("%s is %+v", name, a)
		}
	}
	if a := wallet.AssetAt(1, payTo); a.Name != "Global Dollar" || a.Version != "1" || a.Token != payTo {
		t.Errorf("another is %+v", a)
	}
}

// TestAuthorizerAsksTheChain: where there is a node for the token's chain, a wallet that has too little signs nothing, and what became of an
// authorization that lapsed is known: one that was not settled counts no more, one that was is shown on. A node that fails stops nobody.
func TestAuthorizerAsksTheChain(t *testing.T) {
	t.Parallel()
	chain := daemontest.Chain(t)
	asset := wallet.AssetAt(devchain.ChainID, chain.Token())
	way := usdc("5", "network", asset.Network(), "asset", asset.Token, "extra", nil)
	fails := func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }
	open := func(key string) (*spender, *seller) {
		p, s := newSpender(t), newSeller(t, way)
		p.cfg = func(c *wallet.Config) {
			c.Key, _ = wallet.ParseKey(key)
			c.RPCURL, c.ChainID, c.Token, c.Assets = chain.URL(), devchain.ChainID, chain.Token(), []wallet.Asset{asset}
		}
		s.replies = []func(http.ResponseWriter){fails}
		return p, s
	}
	poor, err := chain.NewAccount(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	p, s := open(poor.PrivateKey)
	if _, err := p.post(s, "/", ""); !errors.Is(err, wallet.ErrNoFunds) || len(p.states()) != 0 {
		t.Errorf("a poor wallet: %v, %v", err, p.states())
	}
	p.cfg = func(c *wallet.Config) {
		c.RPCURL, c.ChainID, c.Token, c.Assets = "http://127.0.0.1:1", devchain.ChainID, chain.Token(), []wallet.Asset{asset}
	}
	if _, err := p.post(newSeller(t, way), "/", ""); err != nil {
		t.Errorf("without a node: %v", err)
	}

	p, s = open(chain.Wallet().PrivateKey)
	p.now = p.now.Add(-10 * time.Minute) // its end is behind the newest block
	if _, err := p.post(s, "/", ""); err == nil || fmt.Sprint(p.states()) != "[signed]" {
		t.Fatalf("%v, %v", err, p.states())
	}
	p.now = p.now.Add(10 * time.Minute)
	if _, err := p.post(s, "/", ""); err != nil || fmt.Sprint(p.states()) != "[dropped answered]" || len(s.paid()) != 2 {
		t.Errorf("not settled: %v, %v, %d payments", err, p.states(), len(s.paid()))
	}
	if spent, err := wallet.Spent(p.dir, p.now); err != nil || spent.Day != 5 {
		t.Errorf("spent %v, %v", spent, err)
	}

	p, s = open(chain.Wallet().PrivateKey)
	if _, err := p.post(s, "/", ""); err == nil {
		t.Fatal("it is answered")
	}
	signer, sold := s.check(s.paid()[0], asset)
	if signer != chain.Wallet().Address {
		t.Errorf("signed by %s", signer)
	}
	a := devchain.Authorization{To: payTo, Value: 5, Before: p.now.Unix() + 60}
	copy(a.Nonce[:], hexutil.MustDecode(sold.Payload.Authorization["nonce"]))
	if _, err := chain.Settle(t.Context(), poor, chain.Wallet(), a); err != nil {
		t.Fatal(err)
	}
	s.replies = append(s.replies, fails)
	p.now = p.now.Add(time.Hour)
	for _, want := range []string{"[mined]", "[answered]"} {
		if _, err := p.post(s, "/", ""); (err == nil) != (want == "[answered]") || fmt.Sprint(p.states()) != want {
			t.Errorf("settled: %v, %v", err, p.states())
		}
	}
	if got := s.paid(); len(got) != 3 || got[0] != got[2] {
		t.Errorf("%d payments", len(got))
	}
}
