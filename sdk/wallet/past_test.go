package wallet_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// pastJournal is a copy of a journal that the wallet of 30f57cb has written, with a payment in each state that a kill or a refusal leaves.
// Its transfers are of the address and token that it names, on a development chain that is gone.
func pastJournal(t *testing.T) (dir string, at time.Time) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "30f57cb"))); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "payments", "*"))
	for _, file := range files {
		err = errors.Join(err, os.Chmod(file, 0o600)) // as it was
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, time.Unix(1795466702, 0)
}

const (
	pastPayer = "0xA5bC68d5c09e63EcE5C7f9a9BCc58e87c706d4bE"
	pastToken = "0xe6f735b2FA8E86A5E9FE2b9E6B32E365f02a8866"
)

// TestPastIsRead: what the wallet of 30f57cb has written is listed, counts against the bounds, and stops and pins as it did.
func TestPastIsRead(t *testing.T) {
	t.Parallel()
	dir, at := pastJournal(t)
	list, err := wallet.Payments(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range list {
		by, _, _ := strings.Cut(p.By(), " ")
		got[p.Service+" "+strings.TrimSpace(p.Request)] = fmt.Sprintf("%s %s live=%t stops=%t %s", p.State, p.Amount, p.Live, p.Stops, by)
	}
	for request, want := range map[string]string{
		"http://a.test GET /v1/brief":      "answered 0.001 live=false stops=false transaction",
		"http://a.test GET /v1/search?q=x": "mined 0.001 live=true stops=false transaction",
		"http://a.test GET /v1/fresh":      "signed 0.001 live=true stops=false transaction",
		"http://s.test POST /answered":     "answered 0.000005 live=false stops=false transaction",
		"http://s.test POST /settled":      "mined 0.000005 live=true stops=false transaction",
		"http://s.test POST /signed":       "signed 0.000005 live=true stops=false authorization",
		"http://r.test POST /refused":      "refused 0.000007 live=false stops=true authorization",
	} {
		if got[request] != want {
			t.Errorf("%s is %q, not %q", request, got[request], want)
		}
	}
	if spent, err := wallet.Spent(dir, at.Add(time.Minute)); err != nil || spent.Day != 3_022 || len(list) != 7 {
		t.Errorf("%d payments, spent %+v, %v", len(list), spent, err)
	}
	if pins, err := wallet.Pins(dir); err != nil || len(pins) != 3 {
		t.Errorf("%v, %v", pins, err)
	}
	if refused, err := wallet.AllowService(t.Context(), dir, "http://r.test"); err != nil || len(refused) != 1 {
		t.Errorf("%v, %v", refused, err)
	}
}

// TestPastGoesOn: what was begun by the wallet of 30f57cb is gone on with, and not paid twice. An authorization is sent as it was signed. A
// transfer whose quote has ended is dropped where its place on the chain is free; one that was mined is not, although the node forgot it.
func TestPastGoesOn(t *testing.T) {
	t.Parallel()
	dir, at := pastJournal(t)
	p := newSpender(t)
	p.dir, p.now = dir, at.Add(time.Second)
	quote := func(service, request string) sdk.Quote {
		return sdk.Quote{Service: service, Request: request, Exact: &sdk.Required{}}
	}
	for _, request := range []string{"POST /signed ", "POST /settled "} {
		paid, err := p.authorizer().Pay(t.Context(), quote("http://s.test", request))
		if err != nil {
			t.Fatal(err)
		}
		file, err := filepath.Glob(filepath.Join(dir, "payments", "*-"+paid.ID[2:10]+".json"))
		if err != nil || len(file) != 1 {
			t.Fatalf("%v, %v", file, err)
		}
		var kept struct{ Exact struct{ Payload []byte } }
		text, err := os.ReadFile(file[0])
		if err != nil || json.Unmarshal(text, &kept) != nil || string(kept.Exact.Payload) != string(paid.Payload) {
			t.Errorf("%s: another payload is sent, %v", request, err)
		}
		if err := p.authorizer().Conclude(t.Context(), paid, sdk.Outcome{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.authorizer().Pay(t.Context(), quote("http://r.test", "POST /other ")); err == nil {
		t.Error("a service that has refused is paid")
	}

	m := newMarket(t)
	m.dir = dir
	payer := m.payer(func(c *wallet.Config) { c.Key, c.Address, c.Token = nil, pastPayer, pastToken })
	again := sdk.Quote{Service: "http://a.test", Request: "GET /v1/search?k=10&q=x", Canonical: "search?q=x"} // as another version spells it
	again.Amount, again.Asset = "0.001", api.AssetUSDG
	if _, err := payer.Pay(t.Context(), again); err == nil || !strings.Contains(err.Error(), "the node does not know") {
		t.Errorf("a request that is spelled otherwise: %v", err)
	}
	for request, want := range map[string]string{"GET /v1/fresh": "ask again", "GET /v1/search?q=x": "the node does not know"} {
		_, err := payer.Resume(t.Context(), sdk.Quote{Service: "http://a.test", Request: request})
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, wallet.ErrNotBegun) != (request == "GET /v1/fresh") {
			t.Errorf("%s: %v", request, err)
		}
	}
	if got := m.states(); got != "answered refused answered answered answered mined dropped" {
		t.Errorf("the journal has %s", got)
	}
	_, err := p.authorizer().Pay(t.Context(), quote("http://a.test", "GET /v1/search?q=x"))
	if err == nil || !strings.Contains(err.Error(), "pays for the same request") {
		t.Errorf("paid by the other scheme too: %v", err)
	}
}
