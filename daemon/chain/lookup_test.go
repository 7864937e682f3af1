package chain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/x402"
)

// crowded opens a chain and a client whose calls of the node are counted and whose clock stands where it is put.
func crowded(t *testing.T) (client *chain.Client, pay func() [32]byte, calls *atomic.Int64, ahead *atomic.Int64) {
	t.Helper()
	calls, ahead = new(atomic.Int64), new(atomic.Int64)
	start := time.Now()
	c, _, client := open(t, func(cfg *chain.Config) {
		cfg.OnCall = func(string, error) { calls.Add(1) }
		cfg.Now = func() time.Time { return start.Add(time.Duration(ahead.Load())) }
	})
	return client, func() [32]byte {
		t.Helper()
		hash, err := c.Transfer(t.Context(), c.Wallet(), c.Treasury(), 1_000, nil)
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}, calls, ahead
}

// TestOneLookForAll: however many present a hash that names nothing, as a proof or for a deposit, the node is asked once, and again after
// five seconds.
func TestOneLookForAll(t *testing.T) {
	t.Parallel()
	client, _, calls, ahead := crowded(t)
	ask := func(what string, want int64) {
		t.Helper()
		calls.Store(0)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := client.Payment(t.Context(), [32]byte{1}); !errors.Is(err, x402.ErrNotVisible) {
					t.Errorf("%s: %v", what, err)
				}
			})
			all.Go(func() {
				if _, err := client.Claimed(t.Context(), [32]byte{1}); !errors.Is(err, billing.ErrNotShown) {
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		all.Wait()
		if got := calls.Load(); got != want {
			t.Errorf("%s the node was called %d times, want %d", what, got, want)
		}
	}
	const look = 2 // a transaction and its receipt
	ask("at first", look)
	ahead.Store(int64(5*time.Second - 1))
	ask("before five seconds are over", 0)
	ahead.Store(int64(5 * time.Second))
	ask("after five seconds", look)
}

// TestBogusHashesShareABucket: hashes that name nothing cost the node so much and no more, and those that pay cost none of it.
func TestBogusHashesShareABucket(t *testing.T) {
	t.Parallel()
	client, pay, calls, ahead := crowded(t)
	hash := pay()
	for range 150 { // more than the bucket holds
		if _, err := client.Payment(t.Context(), hash); err != nil {
			t.Fatalf("honest payers wait for each other: %v", err)
		}
	}
	calls.Store(0)
	var all sync.WaitGroup
	var refused atomic.Int64
	for n := range 400 {
		all.Go(func() {
			_, err := client.Payment(t.Context(), [32]byte{2, byte(n >> 8), byte(n)})
			if errors.Is(err, x402.ErrBusy) {
				refused.Add(1)
			} else if !errors.Is(err, x402.ErrNotVisible) {
				t.Error(err)
			}
		})
		if n%10 == 9 {
			all.Wait() // as many as that may ask before the first has come back
		}
	}
	all.Wait()
	if got := calls.Load(); got < 200 || got > 220 || refused.Load() < 290 {
		t.Errorf("the node was called %d times, %d were refused", got, refused.Load())
	}
	if _, err := client.Payment(t.Context(), hash); !errors.Is(err, x402.ErrBusy) {
		t.Errorf("while the bucket is empty: %v, want what says that nobody is to pay again", err)
	}
	if list, err := client.In(t.Context(), hash); err != nil || len(list) != 1 {
		t.Errorf("what the daemon knows itself: %+v, %v", list, err)
	}
	ahead.Store(int64(time.Second))
	if _, err := client.Payment(t.Context(), hash); err != nil {
		t.Errorf("a second later: %v", err)
	}
}

// TestLeavingDoesNotEndTheLook: who asked first goes away; who waits beside them gets the answer.
func TestLeavingDoesNotEndTheLook(t *testing.T) {
	t.Parallel()
	c, n, client := open(t, func(cfg *chain.Config) { cfg.Wait = 5 * time.Second })
	hash, err := c.Transfer(t.Context(), c.Wallet(), c.Treasury(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	begun, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	n.set(func(_, answer []byte) []byte {
		once.Do(func() { close(begun) })
		<-goOn
		return answer
	})
	first, leave := context.WithCancel(t.Context())
	left, got := make(chan error), make(chan error)
	go func() { _, err := client.Payment(first, hash); left <- err }()
	<-begun
	go func() { _, err := client.Payment(t.Context(), hash); got <- err }()
	leave()
	if err := <-left; err == nil {
		t.Error("who left has an answer")
	}
	close(goOn)
	if err := <-got; err != nil {
		t.Errorf("who stayed: %v", err)
	}
}

// TestTwoStories: what a node says in one answer and takes back in the next counts for nothing, and neither do logs that are not quite a
// transfer.
func TestTwoStories(t *testing.T) {
	t.Parallel()
	c, n, client := open(t)
	hash, err := c.Transfer(t.Context(), c.Wallet(), c.Treasury(), 5, nil)
	if err != nil {
		t.Fatal(err)
	}
	newest, _, err := client.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	edit := func(method, pattern, with string) func(request, answer []byte) []byte {
		form := regexp.MustCompile(pattern)
		return func(request, answer []byte) []byte {
			if !bytes.Contains(request, []byte(method)) {
				return answer
			}
			changed := form.ReplaceAll(answer, []byte(with))
			if bytes.Equal(changed, answer) || !json.Valid(changed) {
				t.Errorf("%s in %s was not changed", pattern, answer)
			}
			return changed
		}
	}
	other := `"0x` + strings.Repeat("ab", 32) + `"`
	for what, test := range map[string]struct {
		change      func(request, answer []byte) []byte
		in, between int // transfers; -1 where the transaction is not shown, or the blocks have to be looked at again
	}{
		"nothing changed":                {nil, 1, 1},
		"a log of a block that is gone":  {edit("eth_getLogs", `"blockHash":"[^"]*"`, `"blockHash":`+other), 1, -1},
		"a log that was taken back":      {edit("eth_getLogs", `"removed":false`, `"removed":true`), 1, 0},
		"another block of that number":   {edit("eth_getBlockByNumber", `"hash":"[^"]*"`, `"hash":`+other), -1, -1},
		"a receipt of another block":     {edit("eth_getTransactionReceipt", `("input":.*?)"blockHash":"[^"]*"`, `${1}"blockHash":`+other), -1, -1},
		"a transaction of another block": {edit("eth_getTransactionByHash", `^(\[\{.*?)"blockHash":"[^"]*"`, `${1}"blockHash":`+other), -1, -1},
		"a receipt whose log is no more": {edit("eth_getTransactionReceipt", `"removed":false`, `"removed":true`), 0, -1},
		"a fourth topic":                 {edit("eth_getTransactionReceipt", `"topics":\[([^]]*)\]`, `"topics":[$1,"0x`+strings.Repeat("0", 63)+`7"]`), 0, -1},
		"more than a payer's address":    {edit("eth_getTransactionReceipt", `"topics":\[("[^"]*"),"0x00`, `"topics":[$1,"0x01`), 0, -1},
		"more than a payee's address":    {edit("eth_getTransactionReceipt", `"topics":\[("[^"]*","[^"]*"),"0x00`, `"topics":[$1,"0x01`), 0, -1},
		"more than one number":           {edit("eth_getTransactionReceipt", `"data":"0x`, `"data":"0x00`), 0, -1},
		"another event":                  {edit("eth_getTransactionReceipt", `"topics":\["0xdd`, `"topics":["0xde`), 0, -1},
		"a transaction that has failed":  {edit("eth_getTransactionReceipt", `"status":"0x1"`, `"status":"0x0"`), 0, -1},
	} {
		t.Run(what, func(t *testing.T) {
			n.set(test.change)
			list, err := client.In(t.Context(), hash)
			if errors.Is(err, billing.ErrNotShown) != (test.in < 0) || len(list) != max(test.in, 0) {
				t.Errorf("%s: in the transaction is %+v, %v", what, list, err)
			}
			list, err = client.Between(t.Context(), newest, newest, nil)
			if (err != nil) != (test.between < 0) || len(list) != max(test.between, 0) {
				t.Errorf("%s: in the block is %+v, %v", what, list, err)
			}
		})
	}
}

// TestEmptyWalletsShareTheBucket: wallets without funds cost the node one call each, and none once it is known; so many together use up the
// bucket of what comes to nothing, and then customers alone are asked for.
func TestEmptyWalletsShareTheBucket(t *testing.T) {
	t.Parallel()
	client, pay, calls, ahead := crowded(t)
	pay()
	wallet := func(n int) string { return fmt.Sprintf("0x%040x", 0x5000+n) }
	calls.Store(0)
	for range 20 {
		if _, err := client.BalanceOf(t.Context(), wallet(0), 1_000, false); !errors.Is(err, x402.ErrPoor) {
			t.Fatal(err)
		}
	}
	if got := calls.Load(); got != 1 {
		t.Errorf("the node was called %d times about one wallet", got)
	}
	busy := 0
	for n := range 300 {
		if _, err := client.BalanceOf(t.Context(), wallet(n), 1_000, false); errors.Is(err, x402.ErrBusy) {
			busy++
		} else if !errors.Is(err, x402.ErrPoor) {
			t.Fatal(err)
		}
	}
	if got := calls.Load(); got > 110 || busy < 190 {
		t.Errorf("the node was called %d times, %d were refused", got, busy)
	}
	if _, err := client.BalanceOf(t.Context(), wallet(300), 0, true); err != nil {
		t.Errorf("a customer: %v", err)
	}
	ahead.Store(int64(6 * time.Second))
	if _, err := client.BalanceOf(t.Context(), wallet(0), 0, false); err != nil {
		t.Errorf("six seconds later: %v", err)
	}
}

// TestRefusedShareTheBucket: authorizations that the token would refuse use up the bucket of what comes to nothing, on both sides of its
// bound; customers go on.
func TestRefusedShareTheBucket(t *testing.T) {
	t.Parallel()
	start := time.Now()
	c, _, client := open(t, func(cfg *chain.Config) { cfg.Now = func() time.Time { return start } })
	s := sender(t, client, c.Gas())
	payer, err := c.NewAccount(t.Context(), 1_000)
	if err != nil {
		t.Fatal(err)
	}
	a := allow(t, c, payer, 1_001, 1)
	for n := 1; n <= 100; n++ {
		if _, err := s.Simulate(t.Context(), a); !errors.Is(err, x402.ErrReverts) {
			t.Fatal(err)
		}
		if n < 99 {
			continue
		}
		for customer, busy := range map[bool]bool{false: n == 100, true: false} {
			if _, err := client.BalanceOf(t.Context(), payer.Address, 1_000, customer); errors.Is(err, x402.ErrBusy) != busy || err != nil != busy {
				t.Errorf("after %d, as a customer %t: %v", n, customer, err)
			}
		}
	}
}
