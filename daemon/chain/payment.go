package chain

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/contextd/contextd/daemon/x402"
)

var _ x402.Chain = (*Client)(nil)

// transaction and receipt are what is read of those. A payment on a rollup may be of a type that go-ethereum does not know.
type transaction struct {
	Hash      common.Hash     `json:"hash"`
	ChainID   *hexutil.Big    `json:"chainId"`
	From      common.Address  `json:"from"`
	To        *common.Address `json:"to"`
	Input     hexutil.Bytes   `json:"input"`
	BlockHash *common.Hash    `json:"blockHash"`
}

type receipt struct {
	Status    hexutil.Uint64  `json:"status"`
	From      common.Address  `json:"from"`
	To        *common.Address `json:"to"`
	Block     *hexutil.Big    `json:"blockNumber"`
	BlockHash common.Hash     `json:"blockHash"`
	Logs      []rawLog        `json:"logs"`
	GasUsed   hexutil.Uint64  `json:"gasUsed"`
	GasPrice  *hexutil.Big    `json:"effectiveGasPrice"`
	L1Fee     *hexutil.Big    `json:"l1Fee"` // that some rollups take for the data, beside the gas
}

// fee is what the transaction has cost, in wei; nil where the node does not say.
func (r *receipt) fee() *big.Int {
	if r.GasPrice == nil {
		return nil
	}
	fee := new(big.Int).Mul((*big.Int)(r.GasPrice), new(big.Int).SetUint64(uint64(r.GasUsed)))
	if r.L1Fee != nil {
		fee.Add(fee, (*big.Int)(r.L1Fee))
	}
	return fee
}

func transferTopic() common.Hash {
	return crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))
}

// mined is a transaction that is in a block.
type mined struct {
	hash    common.Hash
	tx      *transaction
	receipt *receipt
	at      Head
}

// mined asks for a transaction and its block, unless that is among blocks, which may be nil. It fails with x402.ErrNotVisible.
func (c *Client) mined(ctx context.Context, hash common.Hash, blocks map[uint64]Head) (mined, error) {
	tx, r, err := c.fetch(ctx, hash)
	if err != nil {
		return mined{}, err
	}
	number := (*big.Int)(r.Block).Uint64()
	at, known := blocks[number]
	if !known {
		at, err = c.block(ctx, hexutil.EncodeUint64(number))
	}
	switch {
	case errors.Is(err, errNoBlock) || err == nil && at.Hash != r.BlockHash: // another node, or a block that was replaced
		return mined{}, x402.ErrNotVisible
	case err != nil:
		return mined{}, err
	case blocks != nil:
		blocks[number] = at
	}
	return mined{hash, tx, r, at}, c.counts(ctx, number)
}

// Payment returns what the chain shows of a transaction. It waits a bounded time for it to be in a block, and fails with
// x402.ErrNotVisible if it is not by then.
func (c *Client) Payment(ctx context.Context, hash [32]byte) (x402.Payment, error) {
	found, err := c.claimed(ctx, hash, c.cfg.Wait)
	if err != nil {
		return x402.Payment{}, err
	}
	return c.payment(found), nil
}

// payment is what a transaction in a block shows.
func (c *Client) payment(found mined) x402.Payment {
	tx, r, at := found.tx, found.receipt, found.at
	p := x402.Payment{
		From: tx.From.Hex(), Input: tx.Input, Succeeded: r.Status == 1, Block: at.Number, BlockHash: at.Hash, At: at.At,
		GasUsed: uint64(r.GasUsed), Fee: r.fee(),
	}
	if tx.To != nil {
		p.To = tx.To.Hex()
	}
	if id := (*big.Int)(tx.ChainID); id != nil && id.IsInt64() {
		p.ChainID = id.Int64()
	}
	p.Transfers = c.transfersOf(r)
	return p
}

// transfersOf are the Transfer logs of a transaction. One of the token right behind an AuthorizationUsed of the same account was made by
// that.
func (c *Client) transfersOf(r *receipt) (list []x402.Transfer) {
	var used *rawLog // by which the next log of the token is a transfer
	for i, l := range r.Logs {
		t, ok := transferOf(l, i)
		if ok {
			if used != nil && l.Address == c.token && used.Topics[1] == l.Topics[1] {
				t.Authorized, t.Authorization = true, used.Topics[2]
			}
			list = append(list, t)
		}
		if l.Address == c.token {
			used = nil
			if isUse(l) {
				used = &r.Logs[i]
			}
		}
	}
	return list
}

// fetch asks for a transaction and its receipt, in one batch, so that a node that moves on meanwhile does not tell two stories. Both are of
// one block, or it is x402.ErrNotVisible.
func (c *Client) fetch(ctx context.Context, hash [32]byte) (tx *transaction, r *receipt, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	batch := []rpc.BatchElem{
		{Method: "eth_getTransactionByHash", Args: []any{common.Hash(hash)}, Result: &tx},
		{Method: "eth_getTransactionReceipt", Args: []any{common.Hash(hash)}, Result: &r},
	}
	err = c.rpc.BatchCallContext(ctx, batch)
	for _, e := range batch {
		c.observe(e.Method, cmp.Or(err, e.Error))
	}
	if err != nil {
		return nil, nil, c.redact(err)
	}
	for _, e := range batch {
		if indexing(e.Error) {
			return nil, nil, x402.ErrNotVisible
		}
		if e.Error != nil {
			return nil, nil, c.redact(e.Error)
		}
	}
	if tx == nil || tx.BlockHash == nil || r == nil || r.Block == nil || *tx.BlockHash != r.BlockHash {
		return nil, nil, x402.ErrNotVisible
	}
	return tx, r, nil
}

// indexing reports whether a node says that it has not yet come to know of all transactions.
func indexing(err error) bool {
	return err != nil && strings.Contains(err.Error(), "indexing is in progress")
}

// transferOf is the Transfer that a log is of, if it is one of an ERC-20 token. i is its place among those of its transaction.
func transferOf(l rawLog, i int) (x402.Transfer, bool) {
	const topics = 3
	if l.Removed || len(l.Topics) != topics || l.Topics[0] != transferTopic() || len(l.Data) != common.HashLength {
		return x402.Transfer{}, false
	}
	for _, t := range l.Topics[1:] {
		if !bytes.Equal(t[:common.HashLength-common.AddressLength], make([]byte, common.HashLength-common.AddressLength)) {
			return x402.Transfer{}, false
		}
	}
	amount := new(big.Int).SetBytes(l.Data)
	t := x402.Transfer{
		Contract: l.Address.Hex(), From: common.BytesToAddress(l.Topics[1][:]).Hex(), To: common.BytesToAddress(l.Topics[2][:]).Hex(),
		Amount: math.MaxUint64, LogIndex: uint64(i),
	}
	if amount.IsUint64() {
		t.Amount = amount.Uint64()
	}
	return t, true
}
