package daemons_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk/api"
)

// twoOnOne are two daemons that settle, on one database and one chain.
type twoOnOne struct {
	*siege // of the first
	urls   []string
}

func newTwoOnOne(t *testing.T) *twoOnOne {
	server := testbed.NewServer(t)
	s := &siege{t: t, chain: daemontest.Chain(t), http: &http.Client{}}
	all := &twoOnOne{siege: s}
	for i := range 2 {
		d := daemontest.Open(t, daemontest.On(s.chain), func(c *daemon.Config) {
			c.StoreURL = server.URL(fmt.Sprintf("127.0.0.1:%d", server.Port))
			c.Chain.SettleKey, c.Chain.Wait = s.chain.Gas().PrivateKey, 20*time.Second
			c.Chain.Domain = x402.Domain{Name: devchain.TokenName, Version: devchain.TokenVersion}
			c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			c.PublicURL, c.SignIn = "https://context.example.org", x402.SignInSpend
		})
		d.Run(t)
		if all.urls = append(all.urls, d.URL()); i == 0 {
			s.d = d
		}
	}
	return all
}

// heard is what a daemon has answered.
type heard struct {
	status   int
	replayed bool
	header   http.Header
	body     string
}

// ask sends a request to one daemon.
func (a *twoOnOne) ask(node int, method, path, name, value string) (h heard) {
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.urls[node]+path, nil)
	if err != nil {
		a.t.Error(err)
		return h
	}
	req.Header.Set("X-Forwarded-For", a.network())
	if name != "" {
		req.Header.Set(name, value)
	}
	res, err := a.http.Do(req)
	if err != nil {
		a.t.Error(err)
		return h
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Error(err)
	}
	return heard{res.StatusCode, res.Header.Get(api.HeaderReplayed) != "", res.Header, string(body)}
}

// both sends a request to both at once, each three times.
func (a *twoOnOne) both(method, path, name, value string) (list []heard) {
	list = make([]heard, 6)
	var all sync.WaitGroup
	for i := range list {
		all.Go(func() { list[i] = a.ask(i%2, method, path, name, value) })
	}
	all.Wait()
	return list
}

// TestSamePaymentAtTwoDaemons: what is paid is presented to two daemons on one database at once, three times each: it moves the money once,
// buys one answer or one key, and both tell the same in the end. A wallet's sign-in spends one credit.
func TestSamePaymentAtTwoDaemons(t *testing.T) {
	t.Parallel()
	a := newTwoOnOne(t)
	buyer := a.account(100_000_000)
	const calls = 20
	var moved int64
	balance := func() int64 {
		n, err := a.chain.Balance(t.Context(), a.chain.Treasury())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := balance()
	statuses := map[int]int{}
	same := func(what, method, path string, micros uint64, member string) string {
		payment := a.payment(buyer, micros, time.Minute, strings.ReplaceAll(fmt.Sprintf("%-20s", what), " ", "x"))
		fresh := 0
		for _, h := range a.both(method, path, api.HeaderSignature, payment) {
			statuses[h.status]++
			if h.status/100 == 2 && !h.replayed {
				fresh++
			}
			if h.status/100 != 2 && h.status != http.StatusServiceUnavailable {
				t.Errorf("%s: %d %s", what, h.status, h.body)
			}
		}
		if moved += int64(micros); balance()-before != moved || fresh > 1 && method == http.MethodGet {
			t.Errorf("%s: %d micros were moved, not %d; %d answers were new", what, balance()-before, moved, fresh)
		}
		var told []string
		for node := range a.urls {
			h := a.ask(node, method, path, api.HeaderSignature, payment)
			var body map[string]json.RawMessage
			if err := json.Unmarshal([]byte(h.body), &body); err != nil || h.status/100 != 2 || body[member] == nil {
				t.Errorf("%s, in the end: %d %s", what, h.status, h.body)
			}
			told = append(told, string(body[member]))
		}
		if len(slices.Compact(told)) != 1 {
			t.Errorf("%s: they tell %q", what, told)
		}
		return told[0]
	}
	for i := range calls {
		same(fmt.Sprint("call", i), http.MethodGet, "/v1/cite?ref=1", 1_000, "citation")
	}
	same("purchase", http.MethodPost, api.PathPurchase+"?pack=starter", 1_000_000, "keyId")

	var offer api.StandardRequired
	text, err := base64.StdEncoding.DecodeString(a.ask(1, http.MethodGet, "/v1/cite?ref=2", "", "").header.Get(api.HeaderRequired))
	if err == nil {
		err = json.Unmarshal(text, &offer)
	}
	if err != nil {
		t.Fatal(err)
	}
	signed := base64.StdEncoding.EncodeToString(daemontest.SignIn(t, buyer, offer, nil, nil))
	spent := 0
	for _, h := range a.both(http.MethodGet, "/v1/cite?ref=2", api.HeaderSignIn, signed) {
		if h.status == http.StatusOK {
			spent++
		}
	}
	if spent != 1 {
		t.Errorf("a sign-in has got %d answers", spent)
	}
	keys := a.d.Keys().List("")
	credits, _, err := a.d.Credits().Ledger.Balance(t.Context(), keys[0].OwnerID, "")
	if err != nil || len(keys) != 1 || credits != 999 {
		t.Errorf("%d keys with %d credits, %v", len(keys), credits, err)
	}
	o, err := admin.Open(t.Context(), admin.Config{DataDir: a.d.Config.DataDir, StoreURL: a.d.Config.StoreURL})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if findings, err := o.Audit(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("the audit finds %v, %v", findings, err)
	}
	list, err := o.Settlements(t.Context(), "", 1_000)
	if err != nil || len(list) != calls+1 {
		t.Errorf("%d settlements, %v", len(list), err)
	}
	t.Logf("%d payments, each six times at once: %v; the treasury has %d micros more", calls+1, statuses, balance()-before)
}
