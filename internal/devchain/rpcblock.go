//go:build !nodevchain

package devchain

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

type object map[string]any

// with is v as an object, without what it does not have, and more in it.
func with(v any, more object) (object, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, err
	}
	maps.DeleteFunc(o, func(_ string, v any) bool { return v == nil })
	maps.Copy(o, more)
	return o, nil
}

// GetBlockByNumber is the block with a number or a tag, null where there is none.
func (a *ethAPI) GetBlockByNumber(ctx context.Context, number rpc.BlockNumber, full bool) (object, error) {
	block, err := a.ledger.BlockByNumber(ctx, number)
	if block == nil || err != nil {
		return nil, err
	}
	o, err := a.block(block, full)
	if err == nil && number == rpc.PendingBlockNumber {
		maps.Copy(o, object{"hash": nil, "nonce": nil, "miner": nil})
	}
	return o, err
}

// GetBlockByHash is the block with a hash, null where there is none.
func (a *ethAPI) GetBlockByHash(hash common.Hash, full bool) (object, error) {
	block := a.ledger.chain.GetBlockByHash(hash)
	if block == nil {
		return nil, nil
	}
	return a.block(block, full)
}

// GetTransactionByHash is a transaction, in a block or not yet, null where there is none.
func (a *ethAPI) GetTransactionByHash(hash common.Hash) (object, error) {
	found, tx := a.ledger.chain.GetCanonicalTransaction(hash)
	if tx != nil {
		return a.transaction(tx, a.ledger.chain.GetHeaderByHash(found.BlockHash), found.Index)
	}
	if tx = a.ledger.pool.Get(hash); tx != nil {
		return a.transaction(tx, nil, 0)
	}
	return nil, nil
}

// GetTransactionReceipt is the receipt of a transaction, null until it is in a block that head and pool have followed: who has seen the
// receipt may spend what it has brought.
func (a *ethAPI) GetTransactionReceipt(hash common.Hash) (object, error) {
	found, tx := a.ledger.chain.GetCanonicalTransaction(hash)
	if tx == nil || found.BlockIndex > a.ledger.sealed.Load() {
		return nil, nil
	}
	receipt, err := a.ledger.chain.GetCanonicalReceipt(tx, found.BlockHash, found.BlockIndex, found.Index)
	if err != nil {
		return nil, err
	}
	return a.receipt(receipt, tx)
}

// SendRawTransaction has a signed transaction wait for a block.
func (a *ethAPI) SendRawTransaction(raw hexutil.Bytes) (common.Hash, error) {
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return common.Hash{}, err
	}
	if !tx.Protected() {
		return common.Hash{}, errors.New("only replay-protected (EIP-155) transactions allowed over RPC")
	}
	if err := a.ledger.pool.Add([]*types.Transaction{tx}, false)[0]; err != nil {
		return common.Hash{}, err
	}
	return tx.Hash(), nil
}

// block is a block as JSON, with its transactions or their hashes.
func (a *ethAPI) block(b *types.Block, full bool) (object, error) {
	list := make([]any, len(b.Transactions()))
	for i, tx := range b.Transactions() {
		list[i] = tx.Hash()
		if !full {
			continue
		}
		o, err := a.transaction(tx, b.Header(), uint64(i))
		if err != nil {
			return nil, err
		}
		list[i] = o
	}
	return with(b.Header(), object{
		"size": hexutil.Uint64(b.Size()), "transactions": list, "uncles": []common.Hash{}, "withdrawals": b.Withdrawals(),
	})
}

// transaction is a transaction as JSON. header is that of its block, nil while it has none.
func (a *ethAPI) transaction(tx *types.Transaction, header *types.Header, index uint64) (object, error) {
	from, err := types.Sender(types.LatestSigner(a.ledger.ChainConfig()), tx)
	if err != nil {
		return nil, err
	}
	more := object{
		"from": from, "to": tx.To(), "gasPrice": (*hexutil.Big)(tx.GasPrice()),
		"blockHash": nil, "blockNumber": nil, "blockTimestamp": nil, "transactionIndex": nil,
	}
	if header != nil {
		maps.Copy(more, object{
			"blockHash": header.Hash(), "blockNumber": (*hexutil.Big)(header.Number), "blockTimestamp": hexutil.Uint64(header.Time),
			"transactionIndex": hexutil.Uint64(index), "gasPrice": (*hexutil.Big)(paid(tx.GasFeeCap(), tx.GasTipCap(), header.BaseFee)),
		})
	}
	return with(tx, more)
}

// paid is the price of a unit of gas for a maximum price and a tip.
func paid(feeCap, tip, base *big.Int) *big.Int {
	price := new(big.Int).Add(tip, base)
	if price.Cmp(feeCap) > 0 {
		return feeCap
	}
	return price
}

func (a *ethAPI) receipt(r *types.Receipt, tx *types.Transaction) (object, error) {
	from, err := types.Sender(types.LatestSigner(a.ledger.ChainConfig()), tx)
	if err != nil {
		return nil, err
	}
	more := object{"from": from, "to": tx.To(), "type": hexutil.Uint64(r.Type)}
	if r.ContractAddress == (common.Address{}) {
		more["contractAddress"] = nil
	}
	if r.Logs == nil {
		more["logs"] = []*types.Log{}
	}
	o, err := with(r, more)
	delete(o, "root") // of before there was a status
	return o, err
}

// anyOf is a list that JSON may have as its only element. An empty one is anything.
type anyOf[T comparable] []T

// UnmarshalJSON reads a list, an element or null.
func (a *anyOf[T]) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, (*[]T)(a))
	}
	var one *T
	err := json.Unmarshal(text, &one)
	if one != nil {
		*a = anyOf[T]{*one}
	}
	return err
}

// has says whether v is in the list.
func (a anyOf[T]) has(v T) bool { return len(a) == 0 || slices.Contains(a, v) }

// logQuery is what eth_getLogs looks for, by default in the newest block.
type logQuery struct {
	BlockHash          *common.Hash
	FromBlock, ToBlock *rpc.BlockNumber
	Address            anyOf[common.Address]
	Topics             []anyOf[common.Hash]
}

// has says whether a log is looked for.
func (q *logQuery) has(l *types.Log) bool {
	if !q.Address.has(l.Address) || len(q.Topics) > len(l.Topics) {
		return false
	}
	for i, topic := range q.Topics {
		if !topic.has(l.Topics[i]) {
			return false
		}
	}
	return true
}

// GetLogs is the logs of some blocks.
func (a *ethAPI) GetLogs(ctx context.Context, q logQuery) ([]*types.Log, error) {
	first, err := a.bound(ctx, q.BlockHash, q.FromBlock)
	if err != nil {
		return nil, err
	}
	last, err := a.bound(ctx, q.BlockHash, q.ToBlock)
	if err != nil {
		return nil, err
	}
	switch {
	case first > last:
		return nil, errors.New("invalid block range params")
	case last > uint64(a.BlockNumber()):
		return nil, errors.New("block range extends beyond current head block")
	}
	list := []*types.Log{}
	for ; first <= last && ctx.Err() == nil; first++ {
		for _, receipt := range a.ledger.chain.GetReceiptsByHash(a.ledger.chain.GetCanonicalHash(first)) {
			for _, l := range receipt.Logs {
				if q.has(l) {
					list = append(list, l)
				}
			}
		}
	}
	return list, ctx.Err()
}

// bound is the number of the block that a range begins or ends with.
func (a *ethAPI) bound(ctx context.Context, hash *common.Hash, number *rpc.BlockNumber) (uint64, error) {
	if hash == nil && number != nil && *number >= 0 {
		return uint64(*number), nil
	}
	header, err := a.header(ctx, &rpc.BlockNumberOrHash{BlockHash: hash, BlockNumber: number})
	if err != nil {
		return 0, err
	}
	return header.Number.Uint64(), nil
}
