package chain

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/usdg"
)

var _ x402.Sender = (*Sender)(nil)

// Sender settles authorizations with a key that pays the gas and has no other money. Make one with NewSender; it is safe for concurrent
// use.
type Sender struct {
	*Client
	key  *ecdsa.PrivateKey
	from common.Address

	mu    sync.Mutex // guards known
	known terms      // as the node said last
}

// NewSender makes a Sender of the chain of c. key is 0x and 64 hexadecimal digits; it is in no error.
func NewSender(c *Client, key string) (*Sender, error) {
	secret, err := crypto.HexToECDSA(strings.TrimPrefix(strings.TrimSpace(key), "0x"))
	if err != nil {
		return nil, errors.New("chain: the key that pays the gas is not 0x and 64 hexadecimal digits")
	}
	s := &Sender{Client: c, key: secret, from: crypto.PubkeyToAddress(secret.PublicKey)}
	if s.from == c.treasury {
		return nil, errors.New("chain: the key that pays the gas is the treasury's: " +
			"make a separate one, with a little ether and nothing else")
	}
	return s, nil
}

// Address is that of the key.
func (s *Sender) Address() string { return s.from.Hex() }

// BalanceOf is what an address has of the token, or x402.ErrPoor where that is less than least. Who was too poor is not asked for again for
// some time, and nobody but customers while too many payments come to nothing: x402.ErrBusy.
func (c *Client) BalanceOf(ctx context.Context, of string, least uint64, customer bool) (*big.Int, error) {
	asked := [32]byte(crypto.Keccak256(address(of), number(least)))
	switch now := c.cfg.Now(); {
	case c.lookups.isMissing(asked, now):
		return nil, x402.ErrPoor
	case !customer && c.lookups.busy(now):
		return nil, x402.ErrBusy
	}
	balance, err := c.read(ctx, hexutil.Encode(append(selector("balanceOf(address)"), address(of)...)), latest)
	if err == nil && balance.Cmp(new(big.Int).SetUint64(least)) < 0 {
		err = x402.ErrPoor
		c.lookups.miss(asked, c.cfg.Now())
		c.lookups.failed(c.cfg.Now())
	}
	return balance, err
}

// Simulate says how much gas the settlement of a takes, as if it were in the next block. It fails with x402.ErrUsed, or with
// x402.ErrReverts and why the token refuses; any other error says that the chain does not answer.
func (s *Sender) Simulate(ctx context.Context, a x402.Authorization) (gas uint64, err error) {
	return s.simulate(ctx, s.from, a)
}

func (c *Client) simulate(ctx context.Context, from common.Address, a x402.Authorization) (gas uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	const method = "eth_estimateGas"
	var n hexutil.Uint64
	err = c.rpc.CallContext(ctx, &n, method, map[string]any{"from": from, "to": c.token, "data": hexutil.Bytes(settlement(a))}, "pending")
	if err == nil || !reverted(err) {
		err = c.redact(err)
		c.observe(method, err)
		return uint64(n), err
	}
	c.observe(method, nil)
	c.lookups.failed(c.cfg.Now())
	_, used, failed := c.state(ctx, a.Key())
	if failed != nil {
		return 0, failed
	}
	if used {
		return 0, x402.ErrUsed
	}
	const most = 200 // bytes of what a contract says
	why := usdg.RedactRPC(err, c.cfg.RPCURL)
	return 0, fmt.Errorf("%w: %.*q", x402.ErrReverts, most, why)
}

// reverted reports whether a node has tried a transaction, and the contract refuses it.
func reverted(err error) bool {
	const code = 3
	var refused rpc.Error
	return errors.As(err, &refused) && (refused.ErrorCode() == code || strings.Contains(refused.Error(), "revert"))
}

// state reports whether an authorization was used or cancelled, and how far the node that says so has come.
func (c *Client) state(ctx context.Context, k x402.Key) (head uint64, used bool, err error) {
	var number hexutil.Uint64
	var word hexutil.Bytes
	data := append(append(selector("authorizationState(address,bytes32)"), address(k.Payer)...), k.Nonce[:]...)
	err = c.batch(ctx, []rpc.BatchElem{
		{Method: "eth_blockNumber", Result: &number},
		{Method: "eth_call", Args: []any{map[string]any{"to": c.token, "data": hexutil.Bytes(data)}, "latest"}, Result: &word},
	})
	if err == nil && len(word) != common.HashLength {
		err = fmt.Errorf("the contract at %s knows no authorizations", c.token)
	}
	return uint64(number), new(big.Int).SetBytes(word).Sign() != 0, err
}

// batch asks several things at once, of one node. It fails where one of them does.
func (c *Client) batch(ctx context.Context, list []rpc.BatchElem) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	failed := c.rpc.BatchCallContext(ctx, list)
	first := failed
	for _, e := range list {
		c.observe(e.Method, cmp.Or(failed, e.Error))
		first = cmp.Or(first, e.Error)
	}
	return c.redact(first)
}

// terms are what the node says about a transaction that is to be signed.
type terms struct {
	at         time.Time // when it said so
	count, tip hexutil.Big
	head       struct {
		Number  hexutil.Uint64 `json:"number"`
		BaseFee *hexutil.Big   `json:"baseFeePerGas"`
	}
	balance hexutil.Big
}

// termsLast is for how long terms are taken to be as they were. A block raises the base fee by an eighth at most, on rollups by far less,
// and twice of it is offered.
const termsLast = 20 * time.Second

// lately are the terms as the node said them a moment ago; Ready asks for them all the time.
func (s *Sender) lately() (t terms, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.cfg.Now().Sub(s.known.at)
	return s.known, !s.known.at.IsZero() && since >= 0 && since < termsLast
}

// spent takes what a transaction may cost from what the key is known to have.
func (s *Sender) spent(tx *types.DynamicFeeTx) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cost := new(big.Int).Mul(tx.GasFeeCap, new(big.Int).SetUint64(tx.Gas))
	s.known.balance = hexutil.Big(*new(big.Int).Sub((*big.Int)(&s.known.balance), cost))
}

func (s *Sender) ask(ctx context.Context) (t terms, err error) {
	t.at = s.cfg.Now()
	err = s.batch(ctx, []rpc.BatchElem{
		{Method: "eth_getTransactionCount", Args: []any{s.from, "latest"}, Result: &t.count},
		{Method: "eth_getBlockByNumber", Args: []any{"latest", false}, Result: &t.head},
		{Method: "eth_maxPriorityFeePerGas", Result: &t.tip},
		{Method: "eth_getBalance", Args: []any{s.from, "latest"}, Result: &t.balance},
	})
	if err == nil && t.head.BaseFee == nil {
		err = fmt.Errorf("%w: blocks have no base fee", ErrNoAnswer)
	}
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.known = t
	}
	return t, err
}

// price is what a unit of gas may cost.
func (t terms) price() *big.Int {
	return new(big.Int).Add((*big.Int)(&t.tip), new(big.Int).Lsh((*big.Int)(t.head.BaseFee), 1))
}

// affords reports whether the key has the ether for so much gas.
func (t terms) affords(gas uint64, price *big.Int) bool {
	return new(big.Int).Mul(price, new(big.Int).SetUint64(gas)).Cmp((*big.Int)(&t.balance)) <= 0
}

// Ready says what the key has, and reports x402.ErrDry where that is too little for a settlement.
func (s *Sender) Ready(ctx context.Context) (x402.Funds, error) {
	const gas = 100_000 // that a settlement takes at most, on a chain without data to pay for
	t, err := s.ask(ctx)
	if err != nil {
		return x402.Funds{}, err
	}
	if !t.affords(gas, t.price()) {
		err = x402.ErrDry
	}
	has := new(big.Int).Set((*big.Int)(&t.balance))
	return x402.Funds{Balance: has, GasPrice: new(big.Int).Add((*big.Int)(&t.tip), (*big.Int)(t.head.BaseFee))}, err
}

// Prepare signs the settlement of a, to be sent by Send. Its account nonce is that which the chain has next, and not below floor: those
// below are signed for. With a transaction to replace, it takes that one's place at a higher price, or, where the place is taken by now,
// the next. It fails with x402.ErrDry where the key has not the ether for it.
func (s *Sender) Prepare(
	ctx context.Context, a x402.Authorization, gas, floor uint64, replaces []byte,
) (signed x402.SignedTx, err error) {
	const reserve = 5 // of gas, a fraction: how dear the data is changes
	t, ok := s.lately()
	if !ok || len(replaces) > 0 || !t.affords(gas+gas/reserve, t.price()) {
		if t, err = s.ask(ctx); err != nil {
			return signed, err
		}
	}
	count := (*big.Int)(&t.count).Uint64()
	tx := &types.DynamicFeeTx{
		ChainID: big.NewInt(s.cfg.ChainID), Nonce: max(count, floor), To: &s.token, Value: new(big.Int), Data: settlement(a),
		Gas: gas + gas/reserve, GasTipCap: (*big.Int)(&t.tip), GasFeeCap: t.price(),
	}
	if old := new(types.Transaction); len(replaces) > 0 {
		if err := old.UnmarshalBinary(replaces); err != nil {
			return signed, fmt.Errorf("read transaction: %w", err)
		}
		outbid(tx, old, count)
	}
	if !t.affords(tx.Gas, tx.GasFeeCap) {
		return signed, x402.ErrDry
	}
	whole, err := types.SignNewTx(s.key, types.LatestSignerForChainID(tx.ChainID), tx)
	if err != nil {
		return signed, fmt.Errorf("sign settlement: %w", err)
	}
	raw, err := whole.MarshalBinary()
	if err != nil {
		return signed, fmt.Errorf("sign settlement: %w", err)
	}
	s.spent(tx)
	return x402.SignedTx{
		Raw: raw, Hash: whole.Hash(), Sender: s.Address(),
		AccountNonce: tx.Nonce, Block: uint64(t.head.Number), At: s.cfg.Now(),
	}, nil
}

// outbid has tx take the place of old, if the chain, which has count transactions of the account, has not given it away.
func outbid(tx *types.DynamicFeeTx, old *types.Transaction, count uint64) {
	tx.Gas = max(tx.Gas, old.Gas())
	if old.Nonce() < count {
		return
	}
	tx.Nonce = old.Nonce()
	dearer := func(n, than *big.Int) *big.Int { // by a quarter and one, or a pool keeps what it has
		least := new(big.Int).Add(than, new(big.Int).Rsh(than, 2))
		least.Add(least, big.NewInt(1))
		if n.Cmp(least) > 0 {
			return n
		}
		return least
	}
	tx.GasTipCap, tx.GasFeeCap = dearer(tx.GasTipCap, old.GasTipCap()), dearer(tx.GasFeeCap, old.GasFeeCap())
}

// Send broadcasts what Prepare has signed, however often. A node that has it already, or has it in a block, is content.
func (s *Sender) Send(ctx context.Context, raw []byte) error {
	var hash common.Hash
	err := s.call(ctx, &hash, "eth_sendRawTransaction", hexutil.Bytes(raw))
	for _, known := range []string{"already known", "known transaction", "already imported", "nonce too low"} {
		if err != nil && strings.Contains(strings.ToLower(err.Error()), known) {
			return nil
		}
	}
	return err
}

// Pauses between two looks for a transaction that was sent.
const (
	leastPause = 150 * time.Millisecond
	mostPause  = time.Second
)

// Settled returns what the chain shows of a transaction that was sent, after waiting so long for it to be in a block, else
// x402.ErrNotVisible. It asks as little as it can: nobody else names the transaction, what it says was signed here, and the first look is
// when one before was seen.
func (c *Client) Settled(ctx context.Context, hash [32]byte, wait time.Duration) (x402.Payment, error) {
	first := max(leastPause, time.Duration(c.usual.Load()))
	for pause, waited := max(0, min(first, wait)), time.Duration(0); ; {
		if pause > 0 {
			select {
			case <-ctx.Done():
				return x402.Payment{}, ctx.Err()
			case <-c.lookups.closed:
				return x402.Payment{}, ErrNoAnswer
			case <-time.After(pause):
			}
		}
		waited += pause
		found, err := c.received(ctx, hash)
		if err == nil {
			if waited > 0 {
				c.usual.Store(int64(usual(first, waited)))
			}
			return c.payment(found), nil
		}
		if !errors.Is(err, x402.ErrNotVisible) || waited >= wait {
			return x402.Payment{}, err
		}
		if pause = min(mostPause, 2*pause); waited == first {
			pause = leastPause
		}
		pause = min(pause, wait-waited)
	}
}

// usual is when to look first for the next transaction, after one that was looked for first after first, and seen after waited. It goes
// down by steps that seldom cost a second look, and up to where it was seen.
func usual(first, waited time.Duration) time.Duration {
	const step = 16
	if waited <= first {
		return first - first/step
	}
	return min(mostPause, waited)
}

// received asks for a transaction by its receipt alone, which the block that it names has to confirm.
func (c *Client) received(ctx context.Context, hash common.Hash) (mined, error) {
	var r *receipt
	switch err := c.call(ctx, &r, "eth_getTransactionReceipt", hash); {
	case indexing(err), err == nil && (r == nil || r.Block == nil):
		return mined{}, x402.ErrNotVisible
	case err != nil:
		return mined{}, err
	}
	at, err := c.block(ctx, hexutil.EncodeBig((*big.Int)(r.Block)))
	if errors.Is(err, errNoBlock) || err == nil && at.Hash != r.BlockHash {
		err = x402.ErrNotVisible
	}
	if err == nil {
		err = c.counts(ctx, at.Number)
	}
	return mined{hash, &transaction{From: r.From, To: r.To}, r, at}, err
}

// Fate returns the transaction by which an authorization was used, from the block first on, whoever sent it. It fails with x402.ErrUnused,
// x402.ErrCanceled, or x402.ErrNotVisible where it was used or cancelled and the node does not show by what, or has not come to the block
// seen.
func (c *Client) Fate(ctx context.Context, k x402.Key, first, seen uint64) (hash [32]byte, err error) {
	head, used, err := c.state(ctx, k)
	switch {
	case err != nil:
		return hash, err
	case head < seen:
		return hash, x402.ErrNotVisible
	case !used:
		return hash, x402.ErrUnused
	}
	for ; first <= head; first += span {
		var logs []rawLog
		if err := c.call(ctx, &logs, "eth_getLogs", map[string]any{
			"fromBlock": hexutil.EncodeUint64(first), "toBlock": hexutil.EncodeUint64(min(head, first+span-1)), "address": c.token,
			"topics": []any{[]common.Hash{useTopic(), cancelTopic()}, common.BytesToHash(address(k.Payer)), common.Hash(k.Nonce)},
		}); err != nil {
			return hash, err
		}
		for _, l := range logs {
			switch {
			case l.Removed || l.Address != c.token || len(l.Topics) == 0:
			case l.Topics[0] == cancelTopic():
				return hash, x402.ErrCanceled
			case isUse(l) && bytes.Equal(l.Topics[2][:], k.Nonce[:]):
				return l.TxHash, nil
			}
		}
	}
	return hash, x402.ErrNotVisible
}
