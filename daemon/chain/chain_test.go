package chain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
)

// node stands before a chain and changes what it says.
type node struct {
	url    string
	change atomic.Pointer[func(request, answer []byte) []byte] // nil changes nothing; nil bytes mean no answer
}

func (n *node) set(change func(request, answer []byte) []byte) { n.change.Store(&change) }

// secret is what the URL of the node holds.
const secret = "rpc-secret-key"

// open opens a chain behind a node, and a client of it.
func open(t *testing.T, changes ...func(*chain.Config)) (*devchain.Chain, *node, *chain.Client) {
	t.Helper()
	c, err := devchain.Open(t.Context(), devchain.Config{Listen: "127.0.0.1:0", Ahead: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	n := &node{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		res, err := http.Post(c.URL(), "application/json", bytes.NewReader(request))
		if err != nil {
			http.Error(w, "no chain", http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if change := n.change.Load(); err == nil && change != nil && *change != nil {
			answer = (*change)(request, answer)
		}
		if answer == nil {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	n.url = server.URL + "/v2/" + secret + "?key=" + secret
	return c, n, dial(t, c, n, changes...)
}

// dial makes a client.
func dial(t *testing.T, c *devchain.Chain, n *node, changes ...func(*chain.Config)) *chain.Client {
	t.Helper()
	cfg := chain.Config{
		Rail: x402.Rail{RPCURL: n.url, ChainID: devchain.ChainID, Token: c.Token(), Treasury: c.Treasury(),
			Domain: x402.Domain{Name: devchain.TokenName, Version: devchain.TokenVersion}},
		Wait: 200 * time.Millisecond,
	}
	for _, change := range changes {
		change(&cfg)
	}
	client, err := chain.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// reply answers a batch of two calls.
func reply(request []byte, first, second string) []byte {
	var calls []struct{ ID json.RawMessage }
	if json.Unmarshal(request, &calls) != nil || len(calls) != 2 {
		return nil
	}
	return fmt.Appendf(nil, `[{"jsonrpc":"2.0","id":%s,%s},{"jsonrpc":"2.0","id":%s,%s}]`, calls[0].ID, first, calls[1].ID, second)
}

// TestCheck is what a daemon looks at when it starts: each thing that is wrong is named with the setting to mend.
func TestCheck(t *testing.T) {
	t.Parallel()
	c, n, good := open(t)
	if err := good.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*chain.Config){
		"correct chain.id":                            func(cfg *chain.Config) { cfg.ChainID = 4663 },
		"there is no contract":                        func(cfg *chain.Config) { cfg.Token = c.Wallet().Address },
		"the treasury is the zero address or the tok": func(cfg *chain.Config) { cfg.Treasury = c.Token() },
		"treasury is the zero address":                func(cfg *chain.Config) { cfg.Treasury = "0x0000000000000000000000000000000000000000" },
		"clock is":                                    func(cfg *chain.Config) { cfg.Now = func() time.Time { return time.Now().Add(-time.Hour) } },
	} {
		if err := dial(t, c, n, change).Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	n.set(func(request, answer []byte) []byte {
		if bytes.Contains(request, []byte("0x313ce567")) {
			return bytes.Replace(answer, []byte("06\"}"), []byte("12\"}"), 1)
		}
		return answer
	})
	if err := good.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "has 18 decimals") {
		t.Errorf("a token with other decimals: %v", err)
	}
	for name, bad := range map[string]x402.Rail{
		"no URL": {Token: c.Token(), Treasury: c.Treasury()}, "socket": {RPCURL: "ws://x", Token: c.Token(), Treasury: c.Treasury()},
		"token": {RPCURL: "http://x", Token: "0x12", Treasury: c.Treasury()}, "treasury": {RPCURL: "http://x", Token: c.Token(), Treasury: "me"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := chain.New(t.Context(), chain.Config{Rail: bad}); err == nil {
				t.Errorf("%s is taken", name)
			}
		})
	}
}

// TestTroubleTellsNoSecret: whatever is wrong with the node, the error says that the chain does not answer, and never its URL.
func TestTroubleTellsNoSecret(t *testing.T) {
	t.Parallel()
	c, n, client := open(t)
	for what, change := range map[string]func(request, answer []byte) []byte{
		"connection cut": func([]byte, []byte) []byte { return nil },
		"no JSON":        func([]byte, []byte) []byte { return []byte("<html>" + secret) },
		"error": func(request, _ []byte) []byte {
			return reply(request, `"error":{"code":-32005,"message":"limit of `+secret+`"}`, `"result":null`)
		},
	} {
		t.Run(what, func(t *testing.T) {
			n.set(change)
			_, err := client.Payment(t.Context(), [32]byte{1})
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", what, err)
			}
			if !errors.Is(err, chain.ErrNoAnswer) {
				t.Errorf("%s: %v, want ErrNoAnswer", what, err)
			}
		})
	}
	gone := dial(t, c, &node{url: "http://127.0.0.1:1/" + secret})
	if err := gone.Check(t.Context()); !errors.Is(err, chain.ErrNoAnswer) || strings.Contains(err.Error(), secret) {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestPayment reads a payment, and waits for one that is not there yet, whatever way the node has to say so.
func TestPayment(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards asked
	asked := map[string]int{}
	c, n, client := open(t, func(cfg *chain.Config) {
		cfg.OnCall = func(method string, err error) {
			mu.Lock()
			defer mu.Unlock()
			asked[method+" "+strconv.FormatBool(err == nil)]++
		}
	})
	hash, err := c.Transfer(t.Context(), c.Wallet(), c.Treasury(), 1_000, []byte{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	p, err := client.Payment(t.Context(), hash)
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	if asked["eth_getTransactionByHash true"] == 0 || asked["eth_getTransactionReceipt true"] == 0 {
		t.Errorf("told of %v", asked)
	}
	mu.Unlock()
	if p.ChainID != devchain.ChainID || p.From != c.Wallet().Address || p.To != c.Token() || !p.Succeeded || len(p.Input) != 71 || p.Block == 0 ||
		p.BlockHash == [32]byte{} || time.Since(p.At) > time.Minute {
		t.Errorf("the payment is %+v", p)
	}
	if want := (x402.Transfer{Contract: c.Token(), From: c.Wallet().Address, To: c.Treasury(), Amount: 1_000}); len(p.Transfers) != 1 || p.Transfers[0] != want {
		t.Errorf("its transfers are %+v, want %+v", p.Transfers, want)
	}
	if have, err := client.Balance(t.Context()); err != nil || have != 1_000 {
		t.Errorf("the treasury has %d, %v", have, err)
	}
	final, err := client.FinalBlock(t.Context())
	if err != nil || final > p.Block {
		t.Errorf("final is %d, %v", final, err)
	}
	if at, err := client.BlockHash(t.Context(), p.Block); err != nil || at != p.BlockHash {
		t.Errorf("the block is %x, %v", at, err)
	}
	for what, change := range map[string]func(request, answer []byte) []byte{
		"unknown": nil,
		"indexing": func(request, _ []byte) []byte {
			return reply(request, `"result":null`, `"error":{"code":-32000,"message":"transaction indexing is in progress"}`)
		},
	} {
		t.Run(what, func(t *testing.T) {
			n.set(change)
			asked := hash
			if what == "unknown" {
				asked = [32]byte{1}
			}
			if _, err := client.Payment(t.Context(), asked); !errors.Is(err, x402.ErrNotVisible) {
				t.Errorf("%s: %v, want ErrNotVisible", what, err)
			}
		})
	}
	n.set(func(request, answer []byte) []byte { // the block of that number is another by now
		if bytes.Contains(request, []byte("eth_getBlockByNumber")) {
			i := bytes.Index(answer, []byte(`"hash":"0x`)) + len(`"hash":"0x`)
			copy(answer[i:], strings.Repeat("ab", 32))
		}
		return answer
	})
	if _, err := dial(t, c, n).Payment(t.Context(), hash); !errors.Is(err, x402.ErrNotVisible) {
		t.Errorf("of a block that has gone: %v", err)
	}
	var slow atomic.Int64
	n.set(func(request, answer []byte) []byte { // seen only at the second look
		if bytes.Contains(request, []byte("eth_getTransactionReceipt")) && slow.Add(1) == 1 {
			return reply(request, `"result":null`, `"result":null`)
		}
		return answer
	})
	patient := dial(t, c, n, func(cfg *chain.Config) { cfg.Wait = 5 * time.Second })
	if _, err := patient.Payment(t.Context(), hash); err != nil {
		t.Errorf("with patience: %v", err)
	}
}

// TestBetween is D4 and D5: every transfer to the treasury is found, whatever range a node refuses, and nothing else is.
func TestBetween(t *testing.T) {
	t.Parallel()
	c, n, client := open(t)
	for amount := int64(1); amount <= 3; amount++ {
		if _, err := c.Transfer(t.Context(), c.Wallet(), c.Treasury(), amount, []byte("note")); err != nil {
			t.Fatal(err)
		}
	}
	hash, err := c.Transfer(t.Context(), c.Wallet(), c.Owner().Address, 9, nil) // to somebody else
	if err != nil {
		t.Fatal(err)
	}
	newest, at, err := client.Newest(t.Context())
	if err != nil || time.Since(at) > time.Minute {
		t.Fatal(newest, at, err)
	}
	asked := atomic.Int64{}
	for what, change := range map[string]func(request, answer []byte) []byte{
		"whole": nil,
		"one block at a time": func(request, answer []byte) []byte {
			var call struct {
				ID     json.RawMessage
				Method string
				Params []struct{ FromBlock, ToBlock string }
			}
			if bytes.Contains(request, []byte("eth_getLogs")) {
				asked.Add(1)
				if json.Unmarshal(request, &call) == nil && call.Params[0].FromBlock != call.Params[0].ToBlock {
					return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32005,"message":"block range too large"}}`, call.ID)
				}
			}
			return answer
		},
	} {
		t.Run(what, func(t *testing.T) {
			n.set(change)
			list, err := client.Between(t.Context(), 0, newest, nil)
			if err != nil || len(list) != 3 {
				t.Fatalf("%s: %d transfers, %v", what, len(list), err)
			}
			for i, a := range list {
				if int(a.Amount) != i+1 || a.Sender != c.Wallet().Address || string(a.Note) != "note" || a.Block == 0 || a.At.IsZero() {
					t.Errorf("%s: %+v", what, a)
				}
			}
		})
	}
	if asked.Load() <= int64(newest) {
		t.Errorf("the node was asked %d times for %d blocks", asked.Load(), newest+1)
	}
	n.set(nil)
	if in, err := client.Blocks(t.Context(), 0, newest); err != nil || len(in) != 3 {
		t.Errorf("they are in %x, %v", in, err)
	}
	if list, err := client.In(t.Context(), hash); err != nil || len(list) != 0 {
		t.Errorf("of a transfer to somebody else: %+v, %v", list, err)
	}
	if list, err := client.In(t.Context(), [32]byte{1}); !errors.Is(err, billing.ErrNotShown) || len(list) != 0 {
		t.Errorf("of no transaction: %+v, %v", list, err)
	}
	n.set(func([]byte, []byte) []byte { return nil })
	if _, err := client.Between(t.Context(), 0, newest, nil); !errors.Is(err, chain.ErrNoAnswer) {
		t.Errorf("without an answer: %v", err)
	}
}

// TestBetweenStored: transactions are asked for only while not all of their transfers are stored as the chain shows them.
func TestBetweenStored(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	calls := map[string]int{}
	c, _, client := open(t, func(cfg *chain.Config) {
		cfg.OnCall = func(method string, _ error) { mu.Lock(); calls[method]++; mu.Unlock() }
	})
	keep := map[[32]byte]billing.Transfer{}
	for amount := int64(1); amount <= 3; amount++ {
		hash, err := c.Transfer(t.Context(), c.Wallet(), c.Treasury(), amount, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := client.In(t.Context(), hash)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		keep[hash] = list[0]
	}
	newest, _, err := client.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	for _, one := range []struct {
		name   string
		stored billing.Stored
		want   int
	}{
		{"none", func(context.Context, [32]byte, [32]byte) (int, error) { return 0, nil }, 3},
		{"all", func(context.Context, [32]byte, [32]byte) (int, error) { return 1, nil }, 0},
		{"one of two", func(context.Context, [32]byte, [32]byte) (int, error) { return 2, nil }, 3}, // as the node shows one
		{"as they are in their blocks", func(_ context.Context, tx, block [32]byte) (int, error) {
			if a, ok := keep[tx]; ok && a.Amount != 2 && a.BlockHash == block {
				return 1, nil
			}
			return 0, nil
		}, 1},
		{"nobody knows", func(context.Context, [32]byte, [32]byte) (int, error) { return 0, failed }, 0},
	} {
		if one.name == "nobody knows" {
			failed = errors.New("the books are closed")
		}
		clear(calls)
		list, err := client.Between(t.Context(), 0, newest, one.stored)
		if len(list) != one.want || !errors.Is(err, failed) {
			t.Errorf("%s: %+v, %v", one.name, list, err)
		}
		if calls["eth_getTransactionByHash"] != one.want || calls["eth_getTransactionReceipt"] != one.want || calls["eth_getLogs"] != 1 && failed == nil {
			t.Errorf("%s: the node was asked %v", one.name, calls)
		}
	}
}

// TestConfirmations: a payment counts once its block and so many others are there, on both sides of the bound, also for the scan, for what is
// safe and for what the treasury has.
func TestConfirmations(t *testing.T) {
	t.Parallel()
	c, _, _ := open(t)
	for _, depth := range []int64{0, 1, 2, 4} {
		client, err := chain.New(t.Context(), chain.Config{
			Rail: x402.Rail{RPCURL: c.URL(), ChainID: devchain.ChainID, Token: c.Token(), Treasury: c.Treasury(), Confirmations: depth},
			Wait: time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		sender, err := chain.NewSender(client, c.Gas().PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		for range depth { // what came before counts
			if err := c.Mint(t.Context(), c.Wallet().Address, 1); err != nil {
				t.Fatal(err)
			}
		}
		before, err := c.Balance(t.Context(), c.Treasury())
		if err != nil {
			t.Fatal(err)
		}
		hash, err := c.Transfer(t.Context(), c.Wallet(), c.Treasury(), 5, nil)
		if err != nil {
			t.Fatal(err)
		}
		for blocks := int64(1); blocks <= max(depth, 1); blocks++ {
			if blocks > 1 {
				if err := c.Mint(t.Context(), c.Wallet().Address, 1); err != nil { // a further block
					t.Fatal(err)
				}
			}
			counts := blocks >= depth
			list, err := client.In(t.Context(), hash)
			if counts && (err != nil || len(list) != 1) || !counts && !errors.Is(err, billing.ErrNotShown) {
				t.Errorf("with %d of %d blocks in the transaction is %+v, %v", blocks, depth, list, err)
			}
			p, err := sender.Settled(t.Context(), hash, 0)
			if counts && (err != nil || !p.Succeeded) || !counts && !errors.Is(err, x402.ErrNotVisible) {
				t.Errorf("with %d of %d blocks the receipt is %+v, %v", blocks, depth, p, err)
			}
			head, err := client.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			newest, _, err := client.Newest(t.Context())
			if want := head.Number + 1 - uint64(max(depth, 1)); err != nil || newest != want {
				t.Errorf("the newest block that counts is %d, %v, want %d", newest, err, want)
			}
			if safe, err := client.Safe(t.Context()); err != nil || depth > 0 && safe != newest {
				t.Errorf("the safe block is %d, %v, want %d", safe, err, newest)
			}
			want := before
			if counts {
				want += 5
			}
			if have, err := client.Balance(t.Context()); err != nil || have != want {
				t.Errorf("with %d of %d blocks the treasury has %d, %v, want %d", blocks, depth, have, err, want)
			}
		}
	}
}
