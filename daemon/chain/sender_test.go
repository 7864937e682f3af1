package chain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/long"
)

// sender makes one that pays the gas with the key of an account.
func sender(t *testing.T, client *chain.Client, gas devchain.Account) *chain.Sender {
	t.Helper()
	s, err := chain.NewSender(client, gas.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// allow is what an account allows the treasury to be given for an hour, signed.
func allow(t *testing.T, c *devchain.Chain, from devchain.Account, value uint64, nonce byte) x402.Authorization {
	t.Helper()
	now := time.Now().Unix()
	a := devchain.Authorization{To: c.Treasury(), Value: value, After: now - 3_600, Before: now + 3_600, Nonce: [32]byte{nonce}}
	signature, err := c.Authorize(from, a)
	if err != nil {
		t.Fatal(err)
	}
	return x402.Authorization{From: from.Address, To: a.To, Value: value, ValidAfter: a.After, ValidBefore: a.Before, Nonce: a.Nonce, Signature: signature}
}

func domain(c *devchain.Chain) chain.Domain {
	return chain.Domain{Name: devchain.TokenName, Version: devchain.TokenVersion, ChainID: devchain.ChainID, Token: c.Token()}
}

// TestSignerOf compares who has signed with who was asked to: any member and any part of the domain that differs is another signer's, and
// the signature's twin with the high s is nobody's.
func TestSignerOf(t *testing.T) {
	t.Parallel()
	c, _, client := open(t)
	good, d := allow(t, c, c.Wallet(), 1_000, 1), domain(c)
	same := good
	same.Signature[64] -= 27
	if signer, err := client.SignerOf(good); err != nil || signer != c.Wallet().Address {
		t.Errorf("by its configuration, the client says %s, %v", signer, err)
	}
	for _, a := range []x402.Authorization{good, same} {
		if signer, err := d.SignerOf(a); err != nil || signer != c.Wallet().Address {
			t.Errorf("%s, %v", signer, err)
		}
	}
	for name, change := range map[string]func(*x402.Authorization, *chain.Domain){
		"from":         func(a *x402.Authorization, _ *chain.Domain) { a.From = c.Treasury() },
		"to":           func(a *x402.Authorization, _ *chain.Domain) { a.To = c.Wallet().Address },
		"value":        func(a *x402.Authorization, _ *chain.Domain) { a.Value++ },
		"valid after":  func(a *x402.Authorization, _ *chain.Domain) { a.ValidAfter++ },
		"valid before": func(a *x402.Authorization, _ *chain.Domain) { a.ValidBefore++ },
		"nonce":        func(a *x402.Authorization, _ *chain.Domain) { a.Nonce[31]++ },
		"name":         func(_ *x402.Authorization, d *chain.Domain) { d.Name = "USD Coin" },
		"version":      func(_ *x402.Authorization, d *chain.Domain) { d.Version = "2" },
		"chain":        func(_ *x402.Authorization, d *chain.Domain) { d.ChainID++ },
		"token":        func(_ *x402.Authorization, d *chain.Domain) { d.Token = c.Treasury() },
	} {
		t.Run(name, func(t *testing.T) {
			a, other := good, d
			change(&a, &other)
			if signer, err := other.SignerOf(a); err == nil && signer == c.Wallet().Address {
				t.Errorf("with another %s it is signed all the same", name)
			}
		})
	}
	twin := good
	s := new(big.Int).Sub(crypto.S256().Params().N, new(big.Int).SetBytes(twin.Signature[32:64]))
	s.FillBytes(twin.Signature[32:64])
	twin.Signature[64] = 27 + 28 - twin.Signature[64]
	if signer, err := d.SignerOf(twin); err == nil {
		t.Errorf("the twin of the signature is %s's", signer)
	}
}

// TestSettle settles an authorization and looks it up as the transfer that it is, by its transaction and by a scan.
func TestSettle(t *testing.T) {
	t.Parallel()
	c, _, client := open(t)
	s, a := sender(t, client, c.Gas()), allow(t, c, c.Wallet(), 1_000, 2)
	gas, err := s.Simulate(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fate(t.Context(), a.Key(), 0, 0); !errors.Is(err, x402.ErrUnused) {
		t.Errorf("before it is used: %v", err)
	}
	tx, err := s.Prepare(t.Context(), a, gas, 0, nil)
	if err != nil || tx.AccountNonce != 0 || tx.Sender != c.Gas().Address {
		t.Fatalf("%+v, %v", tx, err)
	}
	if _, err := s.Settled(t.Context(), tx.Hash, 0); !errors.Is(err, x402.ErrNotVisible) {
		t.Errorf("before it is sent: %v", err)
	}
	for range 2 {
		if err := s.Send(t.Context(), tx.Raw); err != nil {
			t.Fatal(err)
		}
	}
	p, err := s.Settled(t.Context(), tx.Hash, 20*time.Second)
	if err != nil || !p.Succeeded || len(p.Transfers) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if p.GasUsed == 0 || p.GasUsed > gas || p.Fee == nil || new(big.Int).Mod(p.Fee, new(big.Int).SetUint64(p.GasUsed)).Sign() != 0 || p.Fee.Sign() <= 0 {
		t.Errorf("it took %d gas of %d and cost %v", p.GasUsed, gas, p.Fee)
	}
	if got := p.Transfers[0]; !got.Authorized || got.Authorization != a.Nonce || got.From != c.Wallet().Address || got.To != c.Treasury() || got.Amount != 1_000 {
		t.Errorf("the transfer is %+v", got)
	}
	if err := s.Send(t.Context(), tx.Raw); err != nil {
		t.Errorf("sent once it is in a block: %v", err)
	}
	if hash, err := s.Fate(t.Context(), a.Key(), 0, 0); err != nil || hash != tx.Hash {
		t.Errorf("it was used by %x, %v", hash, err)
	}
	if _, err := s.Fate(t.Context(), a.Key(), 0, p.Block+1); !errors.Is(err, x402.ErrNotVisible) {
		t.Errorf("at a node that is behind: %v", err)
	}
	list, err := client.Between(t.Context(), 0, p.Block, nil)
	if err != nil || len(list) != 1 || !list[0].Authorized || list[0].Authorization != a.Nonce || list[0].Note != nil {
		t.Errorf("the scan finds %+v, %v", list, err)
	}
	t.Logf("%d gas", gas)
}

// TestSimulate names why an authorization would not settle.
func TestSimulate(t *testing.T) {
	t.Parallel()
	c, n, client := open(t)
	s := sender(t, client, c.Gas())
	if _, err := c.Settle(t.Context(), c.Wallet(), c.Wallet(), devchain.Authorization{To: c.Treasury(), Value: 1, Before: time.Now().Unix() + 60, Nonce: [32]byte{3}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Cancel(t.Context(), c.Wallet(), [32]byte{4}); err != nil {
		t.Fatal(err)
	}
	poor, err := c.NewAccount(t.Context(), 999)
	if err != nil {
		t.Fatal(err)
	}
	frozen, err := c.NewAccount(t.Context(), 1_000)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Freeze(t.Context(), frozen.Address, true); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		name string
		a    x402.Authorization
		want error
	}{
		{"used", allow(t, c, c.Wallet(), 1_000, 3), x402.ErrUsed},
		{"cancelled", allow(t, c, c.Wallet(), 1_000, 4), x402.ErrUsed},
		{"poor", allow(t, c, poor, 1_000, 5), x402.ErrReverts},
		{"frozen", allow(t, c, frozen, 1_000, 5), x402.ErrReverts},
	} {
		if _, err := s.Simulate(t.Context(), one.a); !errors.Is(err, one.want) {
			t.Errorf("%s: %v, want %v", one.name, err, one.want)
		}
	}
	if _, err := s.Fate(t.Context(), x402.Key{Payer: c.Wallet().Address, Nonce: [32]byte{4}}, 0, 0); !errors.Is(err, x402.ErrCanceled) {
		t.Errorf("what became of the cancelled one: %v", err)
	}
	n.set(func([]byte, []byte) []byte { return nil })
	_, err = s.Simulate(t.Context(), allow(t, c, c.Wallet(), 1_000, 6))
	if !errors.Is(err, chain.ErrNoAnswer) || strings.Contains(err.Error(), secret) {
		t.Errorf("without a node: %v", err)
	}
}

// TestSettledElsewhere looks at what settles through a node that shows it in a block which was replaced, or as a transfer of somebody else
// right behind the use of the authorization: neither is taken for its settlement.
func TestSettledElsewhere(t *testing.T) {
	t.Parallel()
	c, n, client := open(t)
	a := allow(t, c, c.Wallet(), 1_000, 9)
	authorization := devchain.Authorization{To: a.To, Value: a.Value, After: a.ValidAfter, Before: a.ValidBefore, Nonce: a.Nonce}
	hash, err := c.Settle(t.Context(), c.Gas(), c.Wallet(), authorization)
	if err != nil {
		t.Fatal(err)
	}
	payment := func() (x402.Payment, error) { return client.Settled(t.Context(), hash, 0) }
	p, err := payment()
	if err != nil || len(p.Transfers) != 1 || !p.Transfers[0].Authorized || p.Transfers[0].Authorization != a.Nonce {
		t.Fatalf("%+v, %v", p, err)
	}
	receipts := func(pattern, with string) {
		form := regexp.MustCompile(pattern)
		n.set(func(request, answer []byte) []byte {
			if !bytes.Contains(request, []byte("eth_getTransactionReceipt")) {
				return answer
			}
			changed := form.ReplaceAll(answer, []byte(with))
			if bytes.Equal(changed, answer) {
				t.Errorf("%s in %s was not changed", pattern, answer)
			}
			return changed
		})
	}
	receipts(`"blockHash":"[^"]*"`, `"blockHash":"0x`+strings.Repeat("ab", 32)+`"`)
	if p, err := payment(); !errors.Is(err, x402.ErrNotVisible) {
		t.Errorf("in a block that was replaced: %+v, %v", p, err)
	}
	payer := strings.ToLower(strings.TrimPrefix(c.Wallet().Address, "0x"))
	transfer := "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
	receipts(`(`+transfer+`","0x0{24})`+payer, `${1}`+strings.Repeat("ab", 20))
	if p, err := payment(); err != nil || len(p.Transfers) != 1 || p.Transfers[0].Authorized {
		t.Errorf("a transfer of somebody else: %+v, %v", p, err)
	}
}

// TestPrepare signs with the nonce that comes next, replaces at a higher price what waits and takes another place where that is taken.
func TestPrepare(t *testing.T) {
	t.Parallel()
	c, _, client := open(t)
	s, a := sender(t, client, c.Gas()), allow(t, c, c.Wallet(), 1_000, 7)
	const gas = 100_000
	first, err := s.Prepare(t.Context(), a, gas, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	later, err := s.Prepare(t.Context(), a, gas, 5, nil)
	if err != nil || later.AccountNonce != 5 {
		t.Errorf("with five signed for: %+v, %v", later, err)
	}
	instead, err := s.Prepare(t.Context(), a, gas, 9, first.Raw)
	if err != nil || instead.AccountNonce != 0 || instead.Hash == first.Hash {
		t.Errorf("the replacement: %+v, %v", instead, err)
	}
	for _, raw := range [][]byte{first.Raw, instead.Raw} { // the pool takes the second for the first
		if err := s.Send(t.Context(), raw); err != nil {
			t.Fatal(err)
		}
	}
	var mined [32]byte
	for _, tx := range []x402.SignedTx{instead, first} {
		if p, err := s.Settled(t.Context(), tx.Hash, 3*time.Second); err == nil && p.Succeeded {
			mined = tx.Hash
		}
	}
	if mined == ([32]byte{}) {
		t.Fatal("neither is in a block")
	}
	after, err := s.Prepare(t.Context(), a, gas, 1, first.Raw)
	if err != nil || after.AccountNonce != 1 {
		t.Errorf("once its place is taken: %+v, %v", after, err)
	}
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(after.Raw); err != nil || tx.Gas() != gas+gas/5 || tx.ChainId().Int64() != devchain.ChainID {
		t.Errorf("%+v, %v", tx, err)
	}
	secret, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	nobody := sender(t, client, devchain.Account{PrivateKey: hexutil.Encode(crypto.FromECDSA(secret))})
	if _, err := nobody.Prepare(t.Context(), a, gas, 0, nil); !errors.Is(err, x402.ErrDry) {
		t.Errorf("without ether: %v", err)
	}
}

// TestSenderKey refuses what is no key of its own, and never says it.
func TestSenderKey(t *testing.T) {
	t.Parallel()
	c, n, client := open(t)
	own := dial(t, c, n, func(cfg *chain.Config) { cfg.Treasury = c.Gas().Address })
	if _, err := chain.NewSender(own, c.Gas().PrivateKey); err == nil || !strings.Contains(err.Error(), "is the treasury's") {
		t.Errorf("the treasury's own: %v", err)
	}
	for _, key := range []string{"", "0x12", strings.Repeat("0", 64), strings.Repeat("z", 64)} {
		if _, err := chain.NewSender(client, key); err == nil || key != "" && strings.Contains(err.Error(), key) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// TestSettledWaits has a node that shows the transaction only when it is asked again. The next is looked for when this one was seen, so that
// one look does; with each such, a little earlier.
func TestSettledWaits(t *testing.T) {
	t.Parallel()
	c, n, client := open(t)
	s := sender(t, client, c.Gas())
	hash, err := c.Transfer(t.Context(), c.Wallet(), c.Treasury(), 5, nil)
	if err != nil {
		t.Fatal(err)
	}
	asked, late := 0, 0
	n.set(func(request, answer []byte) []byte {
		if bytes.Contains(request, []byte("eth_getTransactionReceipt")) {
			if asked++; asked <= late {
				return none(request)
			}
		}
		return answer
	})
	first := 150 * time.Millisecond
	tries := []struct{ late, looks int }{{0, 1}, {2, 3}, {0, 1}, {0, 1}, {1, 2}, {9, 10}, {0, 1}}
	if !long.On() { // without those that wait for long
		tries = tries[:4]
	}
	for _, one := range tries {
		asked, late = 0, one.late
		began := time.Now()
		p, err := s.Settled(t.Context(), hash, time.Minute)
		if err != nil || p.Transfers[0].Authorized || asked != one.looks {
			t.Errorf("with %d misses: %+v, %v, %d looks", one.late, p, err, asked)
		}
		waits, pause := first, 75*time.Millisecond
		for range one.late {
			pause = min(time.Second, 2*pause)
			waits += pause
		}
		if took := time.Since(began); took < waits {
			t.Errorf("with %d misses it was seen after %s, before %s", one.late, took, waits)
		}
		if first = min(waits, time.Second); one.late == 0 {
			first = max(150*time.Millisecond, waits-waits/16)
		}
	}
}

// none says that there is no such thing.
func none(request []byte) []byte {
	var call struct{ ID json.RawMessage }
	if json.Unmarshal(request, &call) != nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":null}`, call.ID)
}

// TestSettlementCalls counts what a settlement asks of the node, which its operator may have to pay for, and how old what it goes by may be.
func TestSettlementCalls(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	calls, ahead := map[string]int{}, time.Duration(0)
	start := time.Now()
	c, n, client := open(t, func(cfg *chain.Config) {
		cfg.OnCall = func(method string, _ error) { mu.Lock(); calls[method]++; mu.Unlock() }
		cfg.Now = func() time.Time { return start.Add(ahead) }
	})
	s, other := sender(t, client, c.Gas()), sender(t, dial(t, c, n), c.Gas()) // which waits
	if _, err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	clear(calls)
	for i := range byte(2) {
		a := allow(t, c, c.Wallet(), 1_000, i)
		gas, err := s.Simulate(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		tx, err := s.Prepare(t.Context(), a, gas, uint64(i), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(t.Context(), tx.Raw); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Settled(t.Context(), tx.Hash, 20*time.Second); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Settled(t.Context(), tx.Hash, 0); err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, n := range calls {
			sum += n
		}
		if sum > 5 {
			t.Errorf("a settlement has asked %d things: %v", sum, calls)
		}
		clear(calls)
	}
	for _, one := range []struct {
		ahead    time.Duration
		replaces bool
		asked    bool
	}{
		{20*time.Second - 1, false, false}, {20 * time.Second, false, true}, {10 * time.Second, false, true}, {10*time.Second + 1, false, false},
		{10*time.Second + 2, true, true},
	} {
		ahead = one.ahead
		clear(calls)
		var old []byte
		if one.replaces {
			tx, err := s.Prepare(t.Context(), allow(t, c, c.Wallet(), 1_000, 9), 70_000, 2, nil)
			if err != nil {
				t.Fatal(err)
			}
			old = tx.Raw
		}
		if _, err := s.Prepare(t.Context(), allow(t, c, c.Wallet(), 1_000, 9), 70_000, 2, old); err != nil {
			t.Fatal(err)
		}
		if got := calls["eth_getBalance"] > 0; got != one.asked {
			t.Errorf("%s later, replacing %v, the node is asked again: %v", one.ahead, one.replaces, got)
		}
	}
}

// TestSenderSpends signs for more than the key has, between two looks at what that is: the last is refused.
func TestSenderSpends(t *testing.T) {
	t.Parallel()
	c, n, client := open(t)
	s := sender(t, client, c.Gas())
	a := allow(t, c, c.Wallet(), 1_000, 1)
	tx, err := s.Prepare(t.Context(), a, 100_000, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed := new(types.Transaction)
	if err := signed.UnmarshalBinary(tx.Raw); err != nil {
		t.Fatal(err)
	}
	has := new(big.Int).Mul(signed.Cost(), big.NewInt(5))
	has.Div(has, big.NewInt(2))
	n.set(func(request, answer []byte) []byte { // it has enough for two and a half
		var calls []struct {
			ID     json.RawMessage
			Method string
		}
		var list []map[string]json.RawMessage
		if json.Unmarshal(request, &calls) != nil || json.Unmarshal(answer, &list) != nil {
			return answer
		}
		for i, one := range calls {
			if one.Method == "eth_getBalance" {
				list[i]["result"] = json.RawMessage(`"` + hexutil.EncodeBig(has) + `"`)
			}
		}
		text, _ := json.Marshal(list)
		return text
	})
	if _, err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Prepare(t.Context(), a, 100_000, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	has.Div(has, big.NewInt(5)) // both are in a block by now, as the node says when it is asked again
	if _, err := s.Prepare(t.Context(), a, 100_000, 0, nil); !errors.Is(err, x402.ErrDry) {
		t.Errorf("the third: %v", err)
	}
}
