package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk/api"
)

// facilitator settles on a chain what it is sent, with a key of its own, while it is not dead.
type facilitator struct {
	*httptest.Server
	sender *chain.Sender
	sent   atomic.Uint64 // transactions
	dead   atomic.Bool
}

// facilitatorPath is a secret in the URL of a facilitator.
const facilitatorPath = "/v2/b3d1f0c7"

func newFacilitator(t *testing.T, c *devchain.Chain) *facilitator {
	t.Helper()
	client, err := chain.New(t.Context(), chain.Config{
		Rail: x402.Rail{
			ID: api.NetworkL2, RPCURL: c.URL(), ChainID: c.ID(), Token: c.Token(), Treasury: c.Treasury(), Confirmations: 1,
		},
		Wait: 10 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	f := &facilitator{}
	if f.sender, err = chain.NewSender(client, c.Gas().PrivateKey); err != nil {
		t.Fatal(err)
	}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.dead.Load() {
			panic(http.ErrAbortHandler)
		}
		switch strings.TrimPrefix(r.URL.Path, facilitatorPath) {
		case "/supported":
			fmt.Fprintf(w, `{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:%d"}]}`, c.ID())
		case "/verify":
			_, _ = w.Write([]byte(`{"isValid":true}`))
		case "/settle":
			hash, err := f.settle(r)
			fmt.Fprintf(w, `{"success":%t,"transaction":"0x%x","errorReason":%q}`, err == nil, hash, fmt.Sprint(err))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

// settle broadcasts what it is sent, by what that says alone.
func (f *facilitator) settle(r *http.Request) (hash [32]byte, err error) {
	var sent struct{ PaymentPayload json.RawMessage }
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		return hash, err
	}
	e, err := x402.ParseExact(sent.PaymentPayload)
	if err != nil {
		return hash, err
	}
	ctx := context.WithoutCancel(r.Context())
	gas, err := f.sender.Simulate(ctx, e.Authorization)
	if err != nil {
		return hash, err
	}
	tx, err := f.sender.Prepare(ctx, e.Authorization, gas, f.sent.Add(1)-1, nil)
	if err != nil {
		return hash, err
	}
	return tx.Hash, f.sender.Send(ctx, tx.Raw)
}

// TestFacilitatorInPlaceOfAKey is a daemon without ether: a facilitator settles, from when it first answers. While it is dead nothing is
// offered by standard x402 nor taken, our own dialect sells, and what was refused then is paid by the same authorization later.
func TestFacilitatorInPlaceOfAKey(t *testing.T) {
	t.Parallel()
	c := daemontest.Chain(t)
	f := newFacilitator(t, c)
	f.dead.Store(true)
	u := &upgraded{t: t, Daemon: daemontest.Start(t, daemontest.On(c), func(cfg *daemon.Config) {
		cfg.Chain.Settle.FacilitatorURL, cfg.Chain.Wait = f.URL+facilitatorPath, 10*time.Second
	})}
	offers := func(when string, want bool) {
		t.Helper()
		err := u.RunJob(t.Context(), "settle")
		if (err == nil) != want || err != nil && strings.Contains(err.Error(), facilitatorPath) {
			t.Errorf("%s the job says %v", when, err)
		}
		res, body := u.get(api.PathFresh, "Accept", "application/json")
		if offered := res.Header.Get(api.HeaderRequired) != ""; offered != want || res.StatusCode != http.StatusPaymentRequired {
			t.Errorf("%s: %d %s, offered %t", when, res.StatusCode, body, offered)
		}
		if res, body := u.get(api.PathFresh, api.HeaderPayment, daemontest.Pay(t, c, u.URL()+api.PathFresh)); res.StatusCode != http.StatusOK {
			t.Errorf("%s a proof of our own dialect: %d %s", when, res.StatusCode, body)
		}
	}
	offers("dead at the start", false)
	f.dead.Store(false)
	offers("alive", true)

	first, _ := exactly(t, c, c.Treasury(), api.OpFresh.PriceMicros())
	reason, paid := u.pays(first)
	if reason != "" || !paid.Success || len(paid.Transaction) != 66 {
		t.Fatalf("%s, %+v", reason, paid)
	}
	if reason, again := u.pays(first); reason != "" || again.Transaction != paid.Transaction {
		t.Errorf("again: %s, %+v", reason, again)
	}

	f.dead.Store(true)
	second, _ := exactly(t, c, c.Treasury(), api.OpFresh.PriceMicros())
	if reason, r := u.pays(second); reason != api.ReasonChainUnavailable || r.Success {
		t.Errorf("while it is dead: %s, %+v", reason, r)
	}
	offers("dead", false)
	if reason, r := u.pays(first); reason != "" || r.Transaction != paid.Transaction {
		t.Errorf("what was paid before: %s, %+v", reason, r)
	}
	f.dead.Store(false)
	offers("alive again", true)
	if reason, r := u.pays(second); reason != "" || r.Transaction == paid.Transaction {
		t.Errorf("alive again: %s, %+v", reason, r)
	}
	u.settledBy(strings.TrimPrefix(f.URL, "http://"), 2, 4)
}

// settledBy checks that a facilitator has settled so many calls, beside those that were paid by transfer, and that the books agree.
func (u *upgraded) settledBy(host string, settled, transfers int64) {
	u.t.Helper()
	if err := u.Scan(u.t.Context()); err != nil {
		u.t.Error(err)
	}
	o, err := admin.Open(u.t.Context(), admin.Config{DataDir: u.Config.DataDir})
	if err != nil {
		u.t.Fatal(err)
	}
	defer o.Close()
	list, err := o.Settlements(u.t.Context(), "", 10)
	if err != nil || int64(len(list)) != settled {
		u.t.Fatalf("there are %+v, %v", list, err)
	}
	for _, one := range list {
		if one.State != x402.SettlementSettled || one.By != host || len(one.Tries) != 1 {
			u.t.Errorf("%+v", one)
		}
	}
	want := api.OpFresh.PriceMicros() * (settled + transfers)
	r, err := o.Reconcile(u.t.Context())
	if err != nil || len(r.Findings) > 0 || int64(r.Calls) != want || r.Treasury != r.Calls || r.Unmatched != 0 {
		u.t.Errorf("%+v, %v", r, err)
	}
}
