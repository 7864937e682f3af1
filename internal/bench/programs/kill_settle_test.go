package programs_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// authorized is a payment of standard x402 for one path, which is sent until it is answered, and the answers to it. POST buys credits.
type authorized struct {
	method, path, header string
	answers              []json.RawMessage // without what changes with time
}

// authorizer pays by standard x402 at a demo that is killed again and again.
type authorizer struct {
	*buyer
	account devchain.Account   // that pays for calls
	wallets []devchain.Account // that buy credits, each with money for walletPacks packs

	mu     sync.Mutex
	signed int           // payments
	open   []*authorized // not answered yet
	done   []*authorized
}

// walletPacks is how many packs a wallet buys, fewer than an owner may have keys.
const walletPacks = 20

// next signs a payment, of calls and packs in turn. Each wallet buys two packs after each other, or at once, before the next one does.
func (a *authorizer) next(info demo.Info) (*authorized, error) {
	a.signed++
	if turn := a.signed / 2; a.signed%2 == 0 && turn < walletPacks*len(a.wallets) {
		p := &authorized{method: http.MethodPost, path: api.PathPurchase + "?pack=" + string(api.CreditStarter)}
		return p, p.sign(info, a.wallets[turn/2%len(a.wallets)], starterMicros)
	}
	p := &authorized{method: http.MethodGet, path: fmt.Sprintf("%s?ref=%d", api.PathCite, 1+mathrand.IntN(9))}
	return p, p.sign(info, a.account, uint64(api.OpCite.PriceMicros()))
}

// starterMicros is the price of the pack starter.
const starterMicros = 1_000_000

// sign signs a payment, as a wallet does, without asking first.
func (p *authorized) sign(info demo.Info, from devchain.Account, price uint64) error {
	allowed := devchain.Authorization{To: info.Chain.Treasury, Value: price, Before: time.Now().Unix() + 900}
	_, _ = rand.Read(allowed.Nonce[:])
	signature, err := devchain.Authorize(info.Chain.Token, from, allowed)
	if err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"x402Version": 2, "payload": map[string]any{
		"signature": "0x" + hex.EncodeToString(signature[:]), "authorization": map[string]string{
			"from": from.Address, "to": allowed.To, "value": fmt.Sprint(price), "validAfter": "0", "validBefore": fmt.Sprint(allowed.Before),
			"nonce": "0x" + hex.EncodeToString(allowed.Nonce[:]),
		},
	}, "extensions": map[string]any{"payment-identifier": map[string]any{"info": map[string]string{"id": rand.Text()}}}})
	p.header = base64.StdEncoding.EncodeToString(text)
	return err
}

// send sends a payment once and keeps the answer. A daemon that is gone is an error, one that is still settling is not.
func (a *authorizer) send(ctx context.Context, info demo.Info, p *authorized) (answered bool, err error) {
	req, err := http.NewRequestWithContext(ctx, p.method, info.BaseURL+p.path, nil)
	if err != nil {
		return false, err
	}
	req.Header.Set(api.HeaderSignature, p.header)
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return false, err
	}
	switch called := p.method == http.MethodGet; {
	case called && res.StatusCode == http.StatusOK:
		var answer struct{ Citation json.RawMessage }
		if err := json.Unmarshal(body, &answer); err != nil || answer.Citation == nil || res.Header.Get(api.HeaderSettlement) == "" {
			a.t.Errorf("%s is answered %.300s", p.path, body)
		}
		p.answers = append(p.answers, answer.Citation)
		return true, nil
	case !called && res.StatusCode == http.StatusCreated: // with the key
		p.answers = append(p.answers, body)
		return true, nil
	case res.StatusCode == http.StatusServiceUnavailable, res.StatusCode == http.StatusTooManyRequests:
		time.Sleep(300 * time.Millisecond)
		return false, nil
	}
	a.t.Errorf("%s %s is answered %d %s", p.method, p.path, res.StatusCode, body)
	return false, errors.New("refused")
}

// finish sends a payment until it is answered.
func (a *authorizer) finish(ctx context.Context, info demo.Info, p *authorized) error {
	for {
		if answered, err := a.send(ctx, info, p); err != nil || answered {
			return err
		}
	}
}

// live finishes what is open, then signs and pays more, until the demo is killed.
func (a *authorizer) live(ctx context.Context, info demo.Info) error {
	for {
		a.mu.Lock()
		if len(a.open) == 0 {
			p, err := a.next(info)
			if err != nil {
				a.mu.Unlock()
				return err
			}
			a.open = append(a.open, p)
		}
		p := a.open[0]
		a.open = a.open[1:]
		a.mu.Unlock()
		err := a.finish(ctx, info, p)
		a.mu.Lock()
		if err != nil {
			a.open = append(a.open, p)
			a.mu.Unlock()
			return err
		}
		a.done = append(a.done, p)
		a.mu.Unlock()
	}
}

// TestKillWhileSettling kills the program, and the chain within it, while payments of standard x402 are settled, for calls and for packs of
// credits. Afterwards each of them is answered, again and the same, each has moved its price once, each pack has its key and its credits
// once, and the books agree with each other and with the chain.
func TestKillWhileSettling(t *testing.T) {
	t.Parallel()
	dir := oldDemo(t)
	chain, err := devchain.Open(t.Context(), devchain.Config{Dir: filepath.Join(dir, "chain"), Listen: "127.0.0.1:0", Ahead: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	wallets, err := chain.NewAccounts(t.Context(), rounds(), walletPacks*starterMicros)
	if err := errors.Join(err, chain.Close()); err != nil {
		t.Fatal(err)
	}
	listen, err := testbed.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	a := &authorizer{buyer: &buyer{t: t, dir: dir, listen: listen}, wallets: wallets}
	random := mathrand.New(mathrand.NewPCG(18, uint64(rounds())))
	const payers = 4
	for range rounds() {
		c, info, said := a.start()
		a.account = *info.Wallet
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, payers)
		for range payers {
			go func() { ended <- a.live(ctx, info) }()
		}
		select {
		case err := <-ended:
			t.Fatalf("before it was killed: %v\n%s", err, said)
		case <-time.After(200*time.Millisecond + time.Duration(random.Int64N(int64(2*time.Second)))):
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		cancel()
		for range payers {
			<-ended
		}
	}
	c, info, said := a.start()
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	open := len(a.open)
	for _, p := range a.open {
		if err := a.finish(t.Context(), info, p); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		a.done = append(a.done, p)
	}
	keys := a.again(info)
	a.agree(len(keys))
	_ = c.Process.Kill()
	_ = c.Wait()
	a.check(keys)
	t.Logf("%d kills, %d payments answered, %d of them after the last kill, %d with a key", rounds(), len(a.done), open, len(keys))
}

// again sends the last payments for calls and all for packs once more, whose answers stay the same, and returns the keys that were told.
// Each of them is let in.
func (a *authorizer) again(info demo.Info) map[string]api.IssuedKey {
	a.t.Helper()
	keys := map[string]api.IssuedKey{}
	for i, p := range a.done {
		if p.method == http.MethodGet && i < len(a.done)-20 {
			continue
		}
		if err := a.finish(a.t.Context(), info, p); err != nil {
			a.t.Fatal(err)
		}
		first := p.answers[0]
		for _, next := range p.answers[1:] {
			if !bytes.Equal(first, next) {
				a.t.Errorf("%s %s is answered %s, and then %s", p.method, p.path, first, next)
			}
		}
		if p.method == http.MethodGet {
			continue
		}
		var key api.IssuedKey
		if err := json.Unmarshal(first, &key); err != nil || key.CreditBalance == nil || *key.CreditBalance != 1_000 {
			a.t.Errorf("a pack is answered %s", first)
		}
		if _, told := keys[key.KeyID]; told {
			a.t.Errorf("two payments have the key %s", key.KeyID)
		}
		keys[key.KeyID] = key
		client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(info.BaseURL), sdk.WithAPIKey(sdk.NewKey(key.Key)))
		if err == nil {
			_, err = client.Cite(a.t.Context(), "", 1)
		}
		if err != nil {
			a.t.Errorf("the key %s calls: %v", key.KeyID, err)
		}
	}
	return keys
}

// agree checks that the books of a running demo agree with each other and with the chain, where so many packs were bought.
func (a *authorizer) agree(packs int) {
	a.t.Helper()
	o, err := admin.Open(a.t.Context(), admin.Config{DataDir: a.dir})
	if err != nil {
		a.t.Fatal(err)
	}
	defer o.Close()
	calls := api.OpCite.PriceMicros() * int64(len(a.done)-packs)
	r, err := o.Reconcile(a.t.Context())
	if err != nil || len(r.Findings) > 0 || int64(r.Calls) != calls || r.Unmatched != 0 || int64(r.Treasury) != calls+starterMicros*int64(packs) ||
		r.Treasury != r.Calls+r.Deposits || r.Sold != 1_000*int64(packs) || r.Sold != r.Credited {
		a.t.Errorf("%d payments were answered, %d of them with a key: %+v, %v", len(a.done), packs, r, err)
	}
	for _, command := range [][]string{{"reconcile"}, {"admin", "audit"}} {
		if out, err := program(a.t, append(command, "--data-dir", a.dir)...).CombinedOutput(); err != nil {
			a.t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}

// check finds, in the data directory that nobody has open, the keys that were told and no other, each with the credits that it has not used.
func (a *authorizer) check(keys map[string]api.IssuedKey) {
	a.t.Helper()
	s, err := store.Open(a.t.Context(), a.dir, time.Now())
	if err != nil {
		a.t.Fatalf("the databases do not open: %v", err)
	}
	defer s.Close()
	if findings, err := s.Audit(a.t.Context()); err != nil || len(findings) > 0 {
		a.t.Errorf("the audit finds %v, %v", findings, err)
	}
	list, err := s.Keys(a.t.Context(), nil)
	if err != nil {
		a.t.Fatal(err)
	}
	bought := 0
	for _, k := range list {
		if k.OwnerID == account.OperatorID {
			continue
		}
		bought++
		credits, _, err := s.Balance(a.t.Context(), k.OwnerID, k.ID)
		if _, told := keys[k.ID]; !told || err != nil || credits != 999 {
			a.t.Errorf("key %s, told %t, has %d credits, %v", k.ID, told, credits, err)
		}
	}
	if bought != len(keys) {
		a.t.Errorf("there are %d keys, %d were told", bought, len(keys))
	}
}
