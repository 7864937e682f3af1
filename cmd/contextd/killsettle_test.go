//go:build !nodevchain

package main

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

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk/api"
)

// authorized is a payment of standard x402 for one path, which is sent until it is answered, and the answers to it.
type authorized struct {
	path, header string
	nonce        [32]byte
	answers      []json.RawMessage // without what changes with time
}

// authorizer pays by standard x402 at a demo that is killed again and again.
type authorizer struct {
	*buyer
	account devchain.Account

	mu   sync.Mutex
	open []*authorized // not answered yet
	done []*authorized
}

// sign signs a payment for a path, as a wallet does, without asking first.
func (a *authorizer) sign(info daemon.Demo, path string, price uint64) (*authorized, error) {
	p := &authorized{path: path}
	_, _ = rand.Read(p.nonce[:])
	now := time.Now().Unix()
	allowed := devchain.Authorization{To: info.Chain.Treasury, Value: price, Before: now + 900, Nonce: p.nonce}
	signature, err := devchain.Authorize(info.Chain.Token, a.account, allowed)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]any{"x402Version": 2, "payload": map[string]any{
		"signature": "0x" + hex.EncodeToString(signature[:]), "authorization": map[string]string{
			"from": a.account.Address, "to": allowed.To, "value": fmt.Sprint(price), "validAfter": "0", "validBefore": fmt.Sprint(allowed.Before),
			"nonce": "0x" + hex.EncodeToString(p.nonce[:]),
		},
	}})
	p.header = base64.StdEncoding.EncodeToString(text)
	return p, err
}

// send sends a payment once and keeps the answer. A daemon that is gone is an error, one that is still settling is not.
func (a *authorizer) send(ctx context.Context, info daemon.Demo, p *authorized) (answered bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, info.BaseURL+p.path, nil)
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
	switch res.StatusCode {
	case http.StatusOK:
		var answer struct{ Citation json.RawMessage }
		if err := json.Unmarshal(body, &answer); err != nil || answer.Citation == nil || res.Header.Get(api.HeaderSettlement) == "" {
			a.t.Errorf("%s is answered %.300s", p.path, body)
		}
		p.answers = append(p.answers, answer.Citation)
		return true, nil
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		time.Sleep(300 * time.Millisecond)
		return false, nil
	}
	a.t.Errorf("%s is answered %d %s", p.path, res.StatusCode, body)
	return false, errors.New("refused")
}

// finish sends a payment until it is answered.
func (a *authorizer) finish(ctx context.Context, info daemon.Demo, p *authorized) error {
	for {
		if answered, err := a.send(ctx, info, p); err != nil || answered {
			return err
		}
	}
}

// live finishes what is open, then signs and pays more, until the demo is killed.
func (a *authorizer) live(ctx context.Context, info daemon.Demo) error {
	for {
		a.mu.Lock()
		if len(a.open) == 0 {
			p, err := a.sign(info, fmt.Sprintf("%s?ref=%d", api.PathCite, 1+mathrand.IntN(9)), uint64(api.OpCite.PriceMicros()))
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

// TestKillWhileSettling kills the program, and the chain within it, while payments of standard x402 are settled. Afterwards each of them is
// answered, again and the same, each has moved its price once, and the books agree with each other and with the chain.
func TestKillWhileSettling(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	listen, err := deadAddress()
	if err != nil {
		t.Fatal(err)
	}
	a := &authorizer{buyer: &buyer{t: t, dir: dir, listen: listen}}
	random := mathrand.New(mathrand.NewPCG(18, uint64(rounds())))
	const payers = 3
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
	for _, p := range a.done[max(0, len(a.done)-20):] {
		if err := a.finish(t.Context(), info, p); err != nil {
			t.Fatal(err)
		}
		if first, last := p.answers[0], p.answers[len(p.answers)-1]; !bytes.Equal(first, last) {
			t.Errorf("%s is answered %s, and then %s", p.path, first, last)
		}
	}
	o, err := admin.Open(t.Context(), admin.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	price := api.OpCite.PriceMicros()
	r, err := o.Reconcile(t.Context())
	if err != nil || len(r.Findings) > 0 || int64(r.Calls) != price*int64(len(a.done)) || r.Unmatched != 0 || int64(r.Treasury) != int64(r.Calls) {
		t.Errorf("%d payments were answered: %+v, %v\n%s", len(a.done), r, err, said)
	}
	t.Logf("%d kills, %d payments answered, %d of them after the last kill", rounds(), len(a.done), open)
}
