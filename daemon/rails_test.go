package daemon_test

import (
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

const base = 8453

// twoRails is a daemon that is paid on two chains.
type twoRails struct {
	*upgraded
	chains [2]*devchain.Chain // the first one first
	fronts [2]*node           // what is before them
	down   [2]atomic.Bool     // their nodes
	dir    string
	on     func(*daemon.Config)
}

func onTwoRails(t *testing.T, changes ...func(*daemon.Config)) *twoRails {
	t.Helper()
	r := &twoRails{dir: filepath.Join(t.TempDir(), "data")}
	var urls [2]string
	for i, id := range []int64{devchain.ChainID, base} {
		c, err := devchain.Open(t.Context(), devchain.Config{Listen: "127.0.0.1:0", ChainID: id, Ahead: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		front := inFront(t, c)
		node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if r.down[i].Load() {
				http.Error(w, "down", http.StatusBadGateway)
				return
			}
			front.Config.Handler.ServeHTTP(w, q)
		}))
		t.Cleanup(node.Close)
		r.chains[i], r.fronts[i], urls[i] = c, front, node.URL
	}
	r.on = func(cfg *daemon.Config) {
		cfg.DataDir, cfg.Now = r.dir, time.Now
		var list []daemon.Chain
		for i, c := range r.chains {
			list = append(list, daemon.Chain{
				Rail: x402.Rail{ID: []string{api.NetworkL2, "base"}[i], ChainID: c.ID(), RPCURL: urls[i], Token: c.Token(), Treasury: c.Treasury(),
					Domain: x402.Domain{Name: devchain.TokenName, Version: devchain.TokenVersion}},
				SettleKey: c.Gas().PrivateKey, Wait: 10 * time.Second,
			})
		}
		cfg.Chain, cfg.More = &list[0], list[1:]
	}
	r.upgraded = &upgraded{t: t, Daemon: daemontest.Start(t, append([]func(*daemon.Config){r.on}, changes...)...)}
	return r
}

// offered are the networks that standard x402 is offered on for path.
func (r *twoRails) offered(path string) (networks []string) {
	r.t.Helper()
	res, body := r.get(path, "Accept", "application/json")
	text, err := base64.StdEncoding.DecodeString(res.Header.Get(api.HeaderRequired))
	var offer api.StandardRequired
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, &offer)
	}
	if err != nil || res.StatusCode != http.StatusPaymentRequired || len(res.Header.Get(api.HeaderRequired)) > 3<<10 {
		r.t.Fatalf("%d %s, %v", res.StatusCode, body, err)
	}
	for i, a := range offer.Accepts {
		networks = append(networks, a.Network)
		if i < len(r.chains) && len(offer.Accepts) == len(r.chains) && (a.Asset != r.chains[i].Token() || a.PayTo != r.chains[i].Treasury()) {
			r.t.Errorf("%+v is offered", a)
		}
	}
	return networks
}

// exact is a payment on a rail, which says so as clients do that accept what is offered.
func (r *twoRails) exact(i int, network, asset, identifier string) string {
	r.t.Helper()
	header, _ := exactly(r.t, r.chains[i], r.chains[i].Treasury(), api.OpFresh.PriceMicros())
	text, err := base64.StdEncoding.DecodeString(header)
	var payment map[string]any
	if err == nil {
		err = json.Unmarshal(text, &payment)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	payment["accepted"] = map[string]string{"scheme": "exact", "network": network, "asset": asset}
	if identifier != "" {
		payment["extensions"] = map[string]any{"payment-identifier": map[string]any{"info": map[string]string{"id": identifier}}}
	}
	if text, err = json.Marshal(payment); err != nil {
		r.t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(text)
}

// pays sends a payment of standard x402 and returns the reason of its refusal, "" if it is answered.
func (u *upgraded) pays(header string) (reason api.Reason, receipt api.StandardReceipt) {
	u.t.Helper()
	res, body := u.get(api.PathFresh, api.HeaderSignature, header)
	text, _ := base64.StdEncoding.DecodeString(res.Header.Get(api.HeaderSettlement))
	_ = json.Unmarshal(text, &receipt)
	if res.StatusCode == http.StatusOK {
		return "", receipt
	}
	var failure api.ErrorBody
	if err := json.Unmarshal(body, &failure); err != nil {
		u.t.Fatalf("%d %s: %v", res.StatusCode, body, err)
	}
	return failure.Error.Reason, receipt
}

// transfer pays the treasury of a rail by hand.
func (r *twoRails) transfer(i int, amount string) [32]byte {
	r.t.Helper()
	micros, err := usdg.ParseAmount(amount)
	if err != nil {
		r.t.Fatal(err)
	}
	c := r.chains[i]
	hash, err := c.Transfer(r.t.Context(), c.Wallet(), c.Treasury(), int64(micros), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return hash
}

// TestTwoRails pays on two chains of one service: purchases and standard x402 on both, proofs of our own on the first alone. The books agree
// with both chains, in sum and each.
func TestTwoRails(t *testing.T) {
	t.Parallel()
	r := onTwoRails(t, daemontest.WithPages)
	networks := []string{"eip155:46630", "eip155:8453"}
	if got := r.offered(api.PathFresh); !slices.Equal(got, networks) {
		t.Errorf("standard x402 is offered on %v", got)
	}
	for i, network := range networks {
		if reason, receipt := r.pays(r.exact(i, network, r.chains[i].Token(), "")); reason != "" || receipt.Network != network {
			t.Errorf("paid on %s: %s, %+v", network, reason, receipt)
		}
	}
	for name, one := range map[string]struct {
		header string
		want   api.Reason
	}{
		"no network: the first":        {r.exact(0, "", "", ""), ""},
		"the token alone":              {r.exact(1, "", r.chains[1].Token(), ""), ""},
		"a chain that is none of ours": {r.exact(0, "eip155:1", r.chains[0].Token(), ""), api.ReasonWrongNetwork},
		"the token of the other":       {r.exact(1, networks[1], r.chains[0].Token(), ""), api.ReasonWrongToken},
		"signed for the other":         {r.exact(1, networks[0], r.chains[0].Token(), ""), api.ReasonWrongRecipient},
	} {
		if reason, _ := r.pays(one.header); reason != one.want {
			t.Errorf("%s: %q, want %q", name, reason, one.want)
		}
	}
	const id = "one-payment-of-mine"
	if reason, _ := r.pays(r.exact(0, networks[0], "", id)); reason != "" {
		t.Errorf("with an identifier: %s", reason)
	}
	if reason, _ := r.pays(r.exact(1, networks[1], "", id)); reason != "" { // of another payer: each chain has its own wallet
		t.Errorf("with the identifier of somebody else: %s", reason)
	}
	proof := api.PaymentProof{Scheme: api.SchemeX402, Network: "base", TxHash: "0x" + strings.Repeat("ab", 32), Payer: r.chains[1].Wallet().Address}
	text, err := json.Marshal(proof)
	if err != nil {
		t.Fatal(err)
	}
	res, body := r.get(api.PathFresh, api.HeaderPayment, base64.StdEncoding.EncodeToString(text))
	if res.StatusCode != http.StatusPaymentRequired || !strings.Contains(string(body), string(api.ReasonWrongNetwork)) {
		t.Errorf("a proof of the second rail: %d %s", res.StatusCode, body)
	}
	if res, body := r.get(api.PathFresh, api.HeaderPayment, daemontest.Pay(t, r.chains[0], r.URL()+api.PathFresh)); res.StatusCode != http.StatusOK {
		t.Errorf("a proof of the first rail: %d %s", res.StatusCode, body)
	}
	r.purchases()
	o := r.operator()
	got, err := o.Reconcile(t.Context())
	if err != nil || len(got.Findings) > 0 || len(got.Rails) != 2 || got.Rails[0].Rail != api.NetworkL2 || got.Rails[1].Rail != "base" {
		t.Fatalf("%+v, %v", got, err)
	}
	price := usdg.Amount(api.OpFresh.PriceMicros())
	for i, want := range []struct{ calls, unmatched, deposits usdg.Amount }{{4 * price, 0, 1_000_000}, {3 * price, 7_000, 2_000_000}} {
		one := got.Rails[i]
		if one.Calls != want.calls || one.Unmatched != want.unmatched || one.Deposits != want.deposits || one.Treasury != one.Arrived ||
			one.Sold != one.Credited || one.Sold != int64(want.deposits)/1_000 {
			t.Errorf("%+v, want %+v", one, want)
		}
	}
	if got.Treasury != got.Rails[0].Treasury+got.Rails[1].Treasury || got.Arrived != got.Treasury || got.Sold != 3_000 {
		t.Errorf("in sum %+v", got)
	}
	if findings, err := r.Credits().Audit(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("the audit finds %v, %v", findings, err)
	}
}

func (r *twoRails) operator() *admin.Operator {
	r.t.Helper()
	o, err := admin.Open(r.t.Context(), admin.Config{DataDir: r.dir})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = o.Close() })
	return o
}

// page is the account's page.
func (r *twoRails) page() string {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.URL()+"/account", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// purchases buys credits on both rails, with the same amounts, pays one on the wrong one and has the operator look after that.
func (r *twoRails) purchases() {
	t := r.t
	t.Helper()
	console, _ := owner(t, r.Daemon, client(t, r.Daemon, r.Key(t, api.TierFree)))
	buy := func(i int, rail string) *api.DepositIntent {
		t.Helper()
		intent, err := console.BuyOn(t.Context(), rail, api.CreditStarter, "")
		if err != nil {
			t.Fatal(err)
		}
		c := r.chains[i]
		if intent.Rail != []string{api.NetworkL2, "base"}[i] || intent.ChainID != c.ID() || intent.Token != c.Token() || intent.Recipient != c.Treasury() ||
			!strings.Contains(intent.PaymentURI, c.Token()) || intent.AmountUSDC != "1.000000" {
			t.Errorf("a purchase on %q is %+v", rail, intent)
		}
		return intent
	}
	if page := r.page(); !strings.Contains(page, `<select id="rail"><option value="l2chain">`) || !strings.Contains(page, `<option value="base">base, chain 8453<`) {
		t.Errorf("the account's page offers no choice of chains: %s", page)
	}
	first, second := buy(0, ""), buy(1, "base")
	if _, err := console.BuyOn(t.Context(), "none", api.CreditStarter, ""); !errors.Is(err, &sdk.Error{Reason: api.ReasonInvalidRequest}) {
		t.Errorf("a purchase on no rail: %v", err)
	}
	is := func(id string, want api.DepositStatus, rail string) {
		t.Helper()
		if d, err := console.Deposit(t.Context(), id, ""); err != nil || d.Status != want || d.Rail != rail {
			t.Errorf("%+v, %v, want %s on %s", d, err, want, rail)
		}
	}
	scan := func() {
		t.Helper()
		if err := r.Scan(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.transfer(1, second.AmountUSDC)
	scan()
	is(first.ID, api.DepositPending, api.NetworkL2)
	is(second.ID, api.DepositVerified, "base")
	hash := r.transfer(1, "1.000000") // of the first, which is to be paid on the other rail
	r.transfer(1, "0.007000")
	scan()
	is(first.ID, api.DepositPending, api.NetworkL2)
	o := r.operator()
	list, err := o.Unmatched(t.Context())
	if err != nil || len(list) != 2 || list[0].Rail != "base" || list[1].Rail != "base" {
		t.Fatalf("unmatched is %+v, %v", list, err)
	}
	ask := admin.UnmatchedRequest{TxHash: "0x" + hex.EncodeToString(hash[:]), DepositID: first.ID}
	if _, err := o.Assign(t.Context(), ask); err == nil {
		t.Error("a transfer of the other rail is assigned without saying so")
	}
	ask.Rail = "base"
	if _, err := o.Assign(t.Context(), ask); err != nil {
		t.Error(err)
	}
	is(first.ID, api.DepositVerified, "base")
	third := buy(0, api.NetworkL2)
	r.transfer(0, third.AmountUSDC)
	scan()
	is(third.ID, api.DepositVerified, api.NetworkL2)
}

// TestOneRailIsDead: the other sells, and what was paid on the first meanwhile is found when it is back.
func TestOneRailIsDead(t *testing.T) {
	t.Parallel()
	for i := range 2 {
		r := onTwoRails(t, func(cfg *daemon.Config) {
			cfg.Chain.Wait, cfg.More[0].Wait = time.Second, time.Second
		})
		console, _ := owner(t, r.Daemon, client(t, r.Daemon, r.Key(t, api.TierFree)))
		rails := []string{api.NetworkL2, "base"}
		var intents [2]*api.DepositIntent
		var err error
		for j := range intents {
			if intents[j], err = console.BuyOn(t.Context(), rails[j], api.CreditStarter, ""); err != nil {
				t.Fatal(err)
			}
		}
		r.down[i].Store(true)
		for j, intent := range intents {
			r.transfer(j, intent.AmountUSDC)
		}
		if err := r.Scan(t.Context()); err == nil || !strings.Contains(err.Error(), "rail "+rails[i]) || strings.Contains(err.Error(), "rail "+rails[1-i]) {
			t.Errorf("without %s the scan says %v", rails[i], err)
		}
		for j, intent := range intents {
			want := api.DepositVerified
			if i == j {
				want = api.DepositPending
			}
			if d, err := console.Deposit(t.Context(), intent.ID, ""); err != nil || d.Status != want {
				t.Errorf("without %s, that on %s is %+v, %v", rails[i], rails[j], d, err)
			}
		}
		header := r.exact(1-i, "eip155:"+[]string{"46630", "8453"}[1-i], "", "")
		for range 50 { // each waits for the block
			reason, _ := r.pays(header)
			if reason == "" {
				break
			}
			if reason != api.ReasonSettling {
				t.Fatalf("without %s, a payment on the other: %s", rails[i], reason)
			}
		}
		if reason, _ := r.pays(r.exact(i, "eip155:"+[]string{"46630", "8453"}[i], "", "")); reason != api.ReasonChainUnavailable {
			t.Errorf("without %s, a payment there: %s", rails[i], reason)
		}
		got, err := r.operator().Reconcile(t.Context())
		if err != nil || !slices.Equal(got.Missing, rails[i:i+1]) || len(got.Rails) != 2 || got.Rails[i].Missing == "" || got.Rails[1-i].Missing != "" ||
			got.Rails[i].Treasury != 0 || got.Treasury != got.Rails[1-i].Treasury || len(got.Findings) > 0 || got.Rails[1-i].Treasury == 0 {
			t.Errorf("without %s it is reconciled as %+v, %v", rails[i], got, err)
		}
		r.down[1-i].Store(true)
		if _, err := r.operator().Reconcile(t.Context()); err == nil {
			t.Error("it is reconciled without a node")
		}
		r.down[1-i].Store(false)
		r.down[i].Store(false)
		if err := r.Scan(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d, err := console.Deposit(t.Context(), intents[i].ID, ""); err != nil || d.Status != api.DepositVerified {
			t.Errorf("once it is back: %+v, %v", d, err)
		}
		if got, err := r.operator().Reconcile(t.Context()); err != nil || len(got.Findings)+len(got.Missing) > 0 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestRailIsTakenAway: what waits on a rail is named as long as nothing sees to it, at the start, to the operator and in the list of
// settlements, and comes to its end when the rail is back.
func TestRailIsTakenAway(t *testing.T) {
	t.Parallel()
	var log testbed.Log
	r := onTwoRails(t, func(cfg *daemon.Config) { cfg.More[0].Wait = time.Second })
	console, _ := owner(t, r.Daemon, client(t, r.Daemon, r.Key(t, api.TierFree)))
	intent, err := console.BuyOn(t.Context(), "base", api.CreditStarter, "")
	if err != nil {
		t.Fatal(err)
	}
	r.fronts[1].loses.Store(true)
	header := r.exact(1, "eip155:8453", "", "")
	if reason, _ := r.pays(header); reason != api.ReasonSettling {
		t.Fatalf("a payment that is not broadcast: %s", reason)
	}
	for _, one := range []struct {
		name      string
		change    func(*daemon.Config)
		left      bool
		purchases int
		why       string
	}{
		{"as it was", func(*daemon.Config) {}, false, 0, ""},
		{"no rail", func(c *daemon.Config) { c.More = nil }, true, 1, "the rail is not in the configuration"},
		{"no chain at all", func(c *daemon.Config) { c.Chain, c.More = nil, nil }, true, 1, "the rail is not in the configuration"},
		{"no key", func(c *daemon.Config) { c.More[0].SettleKey = "" }, true, 0, "the rail has neither a key nor a facilitator to settle with"},
	} {
		r.Stop(t)
		before := log.Count("removed rail", "rail=base", "settlements=1", fmt.Sprintf("purchases=%d", one.purchases))
		r.upgraded = &upgraded{t: t, Daemon: daemontest.Start(t, r.on, one.change, func(c *daemon.Config) { c.Logger = log.Logger() })}
		told := log.Count("removed rail", "rail=base", "settlements=1", fmt.Sprintf("purchases=%d", one.purchases)) - before
		standing, err := admin.Settling(t.Context(), r.dir)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(standing, func(s x402.Standing) bool { return s.Rail == "base" })
		if i < 0 || standing[i].Left != one.left || standing[i].Pending != 1 || standing[i].OldestAt == nil || standing[i].Purchases != one.purchases ||
			one.left && standing[i].Off != one.why || (told == 1) != one.left {
			t.Errorf("%s: told %d times, %+v", one.name, told, standing)
		}
		list, err := r.operator().Settlements(t.Context(), string(x402.SettlementPending), 9)
		if err != nil || len(list) != 1 || list[0].Rail != "base" || list[0].Why != one.why {
			t.Fatalf("%s: the list is %+v, %v", one.name, list, err)
		}
		if row, err := r.operator().Settlement(t.Context(), list[0].ID); err != nil || row.Why != one.why {
			t.Errorf("%s: it is %+v, %v", one.name, row, err)
		}
	}
	r.Stop(t)
	r.fronts[1].loses.Store(false)
	r.upgraded = &upgraded{t: t, Daemon: daemontest.Start(t, r.on)}
	r.transfer(1, intent.AmountUSDC)
	if err := r.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if reason, _ := r.pays(header); reason != "" {
		t.Errorf("the payment, once the rail is back: %s", reason)
	}
	if left, err := admin.Settling(t.Context(), r.dir); err != nil || slices.ContainsFunc(left, func(s x402.Standing) bool { return s.Left || s.Pending > 0 }) {
		t.Errorf("%+v, %v", left, err)
	}
	if got, err := r.operator().Reconcile(t.Context()); err != nil || len(got.Findings) > 0 || got.Sold != 1_000 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestRailsAreKept: a rail has the name that the books know it by, on the chain that they know, and stands beside others that are others.
func TestRailsAreKept(t *testing.T) {
	t.Parallel()
	r := onTwoRails(t)
	r.Stop(t)
	for name, one := range map[string]struct {
		change func(*daemon.Config)
		want   string
	}{
		"as it was":           {func(*daemon.Config) {}, ""},
		"without the second":  {func(c *daemon.Config) { c.More = nil }, ""},
		"another name":        {func(c *daemon.Config) { c.More[0].ID = "usdc" }, "know the chain of rail usdc as base"},
		"another chain":       {func(c *daemon.Config) { c.More[0].ID, c.Chain.ID = api.NetworkL2, "base" }, "are of the chain that begins"},
		"two of one name":     {func(c *daemon.Config) { c.More[0].ID = api.NetworkL2 }, "two rails"},
		"the same place":      {func(c *daemon.Config) { c.More[0] = *c.Chain; c.More[0].ID = "again" }, "the same token"},
		"the same key":        {func(c *daemon.Config) { c.More[0].ChainID, c.More[0].SettleKey = c.Chain.ChainID, c.Chain.SettleKey }, "the same key"},
		"the id of the other": {func(c *daemon.Config) { c.More[0].ChainID = 1 }, "serves chain 8453, the configuration says 1"},
	} {
		cfg := r.Config
		r.on(&cfg)
		one.change(&cfg)
		d, err := daemon.Open(t.Context(), cfg)
		if err == nil {
			err = d.Close()
		}
		if one.want == "" && err != nil || one.want != "" && (err == nil || !strings.Contains(err.Error(), one.want)) {
			t.Errorf("%s: %v, want %q", name, err, one.want)
		}
	}
}

// TestSameNamesOnTwoRails: what two chains call the same is two things.
func TestSameNamesOnTwoRails(t *testing.T) {
	t.Parallel()
	r := onTwoRails(t)
	hash := r.transfer(0, "0.003000")
	if err := r.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", filepath.Join(r.dir, store.File))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// As the second chain would show one with the same hash.
	if _, err := db.ExecContext(t.Context(), `INSERT INTO transfers (rail, tx_hash, log_index, sender, amount, block, block_hash, at, spent_on, seen_at)
		SELECT 'base', tx_hash, log_index, sender, amount + 1, block, block_hash, at, spent_on, seen_at FROM transfers`); err != nil {
		t.Fatal(err)
	}
	o := r.operator()
	ask := admin.UnmatchedRequest{Rail: "base", TxHash: "0x" + hex.EncodeToString(hash[:]), Reason: "sent back"}
	if err := o.WriteOff(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	if list, err := o.Unmatched(t.Context()); err != nil || len(list) != 1 || list[0].Rail != api.NetworkL2 || list[0].Amount != 3_000 {
		t.Errorf("unmatched is %+v, %v", list, err)
	}
	if err := o.WriteOff(t.Context(), ask); err == nil {
		t.Error("it is written off twice")
	}
}
