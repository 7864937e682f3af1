package wallet_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// greedy is a service that wants to be paid however often it was, and refuses every payment. It asks for amount.
func (m *market) greedy(amount string) *httptest.Server {
	m.t.Helper()
	var quotes atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPaymentRequired)
		e := api.Errorf(api.ReasonPaymentRequired, "more")
		_ = json.NewEncoder(w).Encode(api.ErrorBody{Error: e, Payment: &api.PaymentRequirements{
			Scheme: api.SchemeX402, Network: api.NetworkL2, Asset: api.AssetUSDG, Amount: amount, Recipient: m.chain.Treasury(),
			ValidUntil: time.Now().Add(time.Minute).Unix(), Nonce: fmt.Sprintf("0x%064x", quotes.Add(1)),
		}})
	}))
	m.t.Cleanup(server.Close)
	return server
}

// TestPublishedPrice has a call cost what is published, unless a bound says otherwise, on both sides of each.
func TestPublishedPrice(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	for _, c := range []struct {
		path, amount string
		bound        usdg.Amount // 0 for none
		pays         bool
	}{
		{"/v1/fresh?pack=crypto", "0.001", 0, true},
		{"/v1/fresh", "0.001001", 0, false},
		{"/v1/snapshot?at=2026-11-20T14:05", "0.01", 0, true},
		{"/v1/snapshot?at=2026-11-20T14:05", "0.010001", 0, false},
		{"/v1/subscribe", "0.001", 0, false}, // has no price
		{"/v2/fresh", "0.000001", 0, false},
		{"/v1/fresh/more", "0.001", 0, false},
		{"/v1/fresh", "0.05", 50_000, true},
		{"/v1/fresh", "0.050001", 50_000, false},
		{"/else", "0.05", 50_000, true},
		{"/v1/fresh", "0.001", 999, false},
	} {
		server := m.greedy(c.amount)
		p := m.payer(func(cfg *wallet.Config) { cfg.Policy.PerCall, cfg.Policy.PerDay = c.bound, 10_000_000 })
		client := &http.Client{Transport: &sdk.PayTransport{Payer: p, Service: server.URL + "/"}}
		before := m.balance()
		resp, err := client.Get(server.URL + c.path)
		if err == nil {
			_ = resp.Body.Close()
			t.Errorf("%s: answered", c.path)
		}
		if paid := m.balance() > before; paid != c.pays || !c.pays && !errors.Is(err, wallet.ErrPolicy) {
			t.Errorf("%s for %s, bound %s: paid %v, %v", c.path, c.amount, c.bound, paid, err)
		}
	}
}

// TestRefusedOnce has a service that always says 402 get one payment, from whichever process and however often it is asked, until it is
// allowed more by hand; other services are paid meanwhile.
func TestRefusedOnce(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	server := m.greedy("0.001")
	ask := func(ref int) error {
		c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(server.URL), sdk.WithPayer(m.payer()))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Cite(t.Context(), "", ref)
		return err
	}
	var paid *sdk.PaidError
	if err := ask(1); !errors.As(err, &paid) {
		t.Fatal(err)
	}
	var stopped *wallet.StoppedError
	for ref := range 5 {
		if err := ask(ref); !errors.As(err, &stopped) || stopped.Refused.TxHash != paid.Payment.ID {
			t.Errorf("%d: %v", ref, err)
		}
	}
	if m.balance() != 1_000 || m.states() != "refused" {
		t.Fatalf("the treasury has %d, payments are %s", m.balance(), m.states())
	}
	if _, err := m.client(m.payer()).Fresh(t.Context(), ""); err != nil || m.balance() != 2_000 {
		t.Errorf("another service: %v, the treasury has %d", err, m.balance())
	}
	v, err := m.payer().Preview(t.Context(), m.priced(server.URL))
	if err != nil || !strings.Contains(v.Refusal, "nothing more is paid to") {
		t.Errorf("%+v, %v", v, err)
	}
	if list, err := wallet.AllowService(t.Context(), m.dir, server.URL+"/"); err != nil || len(list) != 0 {
		t.Errorf("another service was allowed: %+v, %v", list, err)
	}
	if list, err := wallet.AllowService(t.Context(), m.dir, server.URL); err != nil || len(list) != 1 || list[0].Stops {
		t.Errorf("%+v, %v", list, err)
	}
	if err := ask(2); !errors.As(err, &paid) || m.balance() != 3_000 {
		t.Errorf("allowed: %v, the treasury has %d", err, m.balance())
	}
	if err := ask(2); !errors.As(err, &stopped) || m.balance() != 3_000 {
		t.Errorf("after the next refusal: %v, the treasury has %d", err, m.balance())
	}
}

// priced is a quote of a call of a service, as it should be.
func (m *market) priced(service string) sdk.Quote {
	return sdk.Quote{Service: service, Request: "GET /v1/fresh", Price: 1_000, PaymentRequirements: api.PaymentRequirements{
		Scheme: api.SchemeX402, Network: api.NetworkL2, Asset: api.AssetUSDG, Amount: "0.001", Recipient: m.chain.Treasury(),
		ValidUntil: time.Now().Add(time.Minute).Unix(), Nonce: "0x" + strings.Repeat("ab", 32),
	}}
}

// TestStoppedIsNotSent has a payment that was signed, and may not have been sent, stay where it is when its service has refused another;
// one that is on chain is shown, and by hand each is gone on with.
func TestStoppedIsNotSent(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	onChain, signed := m.priced("http://a"), m.priced("http://a")
	onChain.Request, signed.Request = "GET /v1/brief", "GET /v1/cite?ref=1"
	if _, err := m.payer().Pay(t.Context(), onChain); err != nil {
		t.Fatal(err)
	}
	m.node.fail("eth_sendRawTransaction")
	if _, err := m.payer().Pay(t.Context(), signed); err == nil {
		t.Fatal("sent")
	}
	m.node.fail("")
	file := filepath.Join(m.dir, "payments", "0.json")
	refused := `{"id":"0","service":"http://a","request":"GET /v1/fresh","state":"refused","stops":true,"txHash":"0x01"}`
	if err := os.WriteFile(file, []byte(refused), 0o600); err != nil {
		t.Fatal(err)
	}
	var stopped *wallet.StoppedError
	if _, err := m.payer().Pay(t.Context(), signed); !errors.As(err, &stopped) || m.balance() != 1_000 {
		t.Errorf("%v; the treasury has %d", err, m.balance())
	}
	if _, err := m.payer().Pay(t.Context(), onChain); err != nil {
		t.Error(err)
	}
	buy := m.purchase("1")
	buy.Service = "http://a"
	if _, err := m.payer().Pay(t.Context(), buy); !errors.As(err, &stopped) || m.balance() != 1_000 {
		t.Errorf("a purchase: %v; the treasury has %d", err, m.balance())
	}
	if _, err := m.payer().Resume(t.Context(), signed); err != nil || m.balance() != 2_000 {
		t.Errorf("by hand: %v; the treasury has %d", err, m.balance())
	}
}

// TestSpent sums what may have left the wallet for calls, on both sides of a day and of thirty.
func TestSpent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for _, c := range []struct {
		state    string
		age      time.Duration
		purchase bool
		day      usdg.Amount
		month    usdg.Amount
	}{
		{"signed", 0, false, 1_000, 1_000},
		{"mined", 0, false, 1_000, 1_000},
		{"answered", 0, false, 1_000, 1_000},
		{"reverted", 0, false, 1_000, 1_000},
		{"refused", 0, false, 1_000, 1_000}, // the money is gone
		{"refused", day - 1, false, 1_000, 1_000},
		{"refused", 2 * day, false, 0, 1_000},
		{"dropped", 0, false, 0, 0}, // was never sent
		{"answered", 0, true, 0, 0}, // somebody has consented to it
		{"answered", day - 1, false, 1_000, 1_000},
		{"answered", day, false, 0, 1_000},
		{"answered", 2 * day, false, 0, 1_000},
		{"answered", 30*day - 1, false, 0, 1_000},
		{"answered", 30 * day, false, 0, 0},
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "payments"), 0o700); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`{"id":"1","at":%q,"amount":1000,"state":%q,"purchase":%v}`, now.Add(-c.age).Format(time.RFC3339Nano), c.state, c.purchase)
		if err := os.WriteFile(filepath.Join(dir, "payments", "1.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := wallet.Spent(dir, now); err != nil || got != (wallet.Spending{Day: c.day, Month: c.month}) {
			t.Errorf("%s of %s ago, a purchase %v: %+v, %v", c.state, c.age, c.purchase, got, err)
		}
	}
}

// TestNotWrittenDownIsNotSent takes the journal away when the payment is about to be signed: what nobody would remember is not sent.
func TestNotWrittenDownIsNotSent(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	journal := filepath.Join(m.dir, "payments")
	var sent atomic.Int64
	before := func(says string) {
		switch {
		case strings.Contains(says, "eth_getTransactionCount"): // the last that is asked before
			if err := errors.Join(os.RemoveAll(journal), os.WriteFile(journal, nil, 0o600)); err != nil {
				t.Error(err)
			}
		case strings.Contains(says, "eth_sendRawTransaction"):
			sent.Add(1)
		}
	}
	m.node.before.Store(&before)
	if _, err := m.payer().Pay(t.Context(), m.priced("http://a")); err == nil || !strings.Contains(err.Error(), "journal") {
		t.Errorf("paid without a journal: %v", err)
	}
	if sent.Load() != 0 || m.balance() != 0 {
		t.Errorf("%d transactions were sent, the treasury has %d", sent.Load(), m.balance())
	}
}

// TestNodeThatTellsItsAddress has the secret in the URL of a node stay out of errors also where the node repeats it.
func TestNodeThatTellsItsAddress(t *testing.T) {
	t.Parallel()
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		http.Error(w, "nothing at http://"+r.Host+r.URL.Path, http.StatusNotFound)
	}))
	defer node.Close()
	key, err := wallet.ParseKey(strings.Repeat("17", 32))
	if err != nil {
		t.Fatal(err)
	}
	if err := payThrough(t.Context(), t, key, node.URL); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// TestUnansweredTwice has a service take payments and answer nothing that can be used: after two in a row it is paid nothing more, until it is
// allowed by hand. What was paid is sent again however often, an answer begins the count anew, and payments under way are not in it.
func TestUnansweredTwice(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"garbage": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/else", http.StatusTemporaryRedirect)
		},
		"failure": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"hang up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMarket(t)
			var honest atomic.Bool
			greedy := m.greedy("0.001")
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Header.Get(api.HeaderPayment) == "":
					greedy.Config.Handler.ServeHTTP(w, r)
				case honest.Load():
					fmt.Fprint(w, `{"citation":{"ref":1}}`)
				default:
					answer(w, r)
				}
			}))
			t.Cleanup(server.Close)
			ask := func(ref int) error {
				c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(server.URL), sdk.WithPayer(m.payer()), sdk.WithRetries(0))
				if err != nil {
					t.Fatal(err)
				}
				_, err = c.Cite(t.Context(), "", ref)
				return err
			}
			var paid *sdk.PaidError
			var stopped *wallet.StoppedError
			check := func(ref int, stops bool, treasury int64) {
				t.Helper()
				err := ask(ref)
				if errors.As(err, &stopped) != stops || !stops && !errors.As(err, &paid) || stops && !stopped.Empty || m.balance() != treasury {
					t.Errorf("%d: %v, the treasury has %d, not %d", ref, err, m.balance(), treasury)
				}
			}
			check(1, false, 1_000)
			check(1, false, 1_000) // the same payment
			check(2, false, 2_000)
			check(3, true, 2_000)
			if list, err := wallet.Stopped(m.dir); err != nil || len(list) != 1 || list[0] != server.URL {
				t.Errorf("stopped are %v, %v", list, err)
			}
			check(2, false, 2_000)
			honest.Store(true)
			if err := ask(2); err != nil || m.balance() != 2_000 {
				t.Errorf("the second again: %v", err)
			}
			if err := ask(4); err != nil || m.balance() != 3_000 {
				t.Errorf("one in a row is no reason: %v", err)
			}
			honest.Store(false)
			for ref, stops := range []bool{false, false, true} {
				check(10+ref, stops, 3_000+min(int64(ref+1), 2)*1_000)
			}
			if list, err := wallet.AllowService(t.Context(), m.dir, server.URL); err != nil || len(list) != 3 {
				t.Errorf("allowed are %+v, %v", list, err)
			}
			check(13, false, 6_000)
			for ref := 20; ref < 23; ref++ { // under way
				q := m.priced("http://b")
				q.Request = fmt.Sprint("GET /v1/cite?ref=", ref)
				if _, err := m.payer().Pay(t.Context(), q); err != nil {
					t.Errorf("while others are under way: %v", err)
				}
			}
		})
	}
}

// TestLapsedCounts: an authorization that is over and was not answered counts against the bounds, since it may have been settled; what was
// never on chain does not.
func TestLapsedCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "payments"), 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	for i, state := range []string{"lapsed", "dropped", "answered"} {
		text := fmt.Sprintf(`{"id":"%d","at":"2026-11-20T19:00:00Z","service":"http://a","request":"GET /","amount":%d,"state":%q}`, i, 1<<i, state)
		if err := os.WriteFile(filepath.Join(dir, "payments", fmt.Sprint(i, ".json")), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if spent, err := wallet.Spent(dir, now); err != nil || spent.Day != 1+4 || spent.Month != 1+4 {
		t.Errorf("%+v, %v", spent, err)
	}
}

// TestOneDialectAtATime: a request that one dialect has paid for, and that is unanswered, is not paid by the other.
func TestOneDialectAtATime(t *testing.T) {
	t.Parallel()
	for _, exactFirst := range []bool{false, true} {
		t.Run(fmt.Sprint("authorization first ", exactFirst), func(t *testing.T) {
			t.Parallel()
			m := newMarket(t)
			p := m.payer(func(cfg *wallet.Config) {
				cfg.Policy.PerCall = 10_000
				cfg.Assets = []wallet.Asset{{Symbol: "USDG", Name: devchain.TokenName, Version: devchain.TokenVersion, ChainID: devchain.ChainID,
					Token: m.chain.Token()}}
			})
			transfer, exact := m.priced("http://a"), m.priced("http://a")
			exact.PaymentRequirements = api.PaymentRequirements{}
			exact.Exact = &sdk.Required{Accepts: []sdk.Accept{{Scheme: api.SchemeExact, Network: fmt.Sprint("eip155:", devchain.ChainID),
				Amount: "1000", Asset: m.chain.Token(), PayTo: m.chain.Treasury(), MaxTimeoutSeconds: 60, Raw: json.RawMessage("{}")}}}
			first, second := transfer, exact
			if exactFirst {
				first, second = exact, transfer
			}
			if _, err := p.Pay(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			before := len(m.payments())
			if _, err := p.Pay(t.Context(), second); err == nil || len(m.payments()) != before {
				t.Errorf("it is paid twice: %v", err)
			}
			if _, err := p.Pay(t.Context(), first); err != nil || len(m.payments()) != before {
				t.Errorf("the first again: %v", err)
			}
		})
	}
}
