package chain

import (
	"context"
	"errors"
	"math"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/usdg"
)

var _ billing.Chain = (*Client)(nil)

// span is how many blocks are asked for at once; a node that refuses is asked for half, down to one.
const span = 2_000

// paramsEnd is where the parameters of a transfer end in its calldata.
const paramsEnd = 4 + 2*common.HashLength

// Newest returns the number and the time of the newest block.
func (c *Client) Newest(ctx context.Context) (uint64, time.Time, error) {
	head, err := c.Head(ctx)
	return head.Number, head.At, err
}

// Between returns the transfers to the treasury in the blocks from first to last.
func (c *Client) Between(ctx context.Context, first, last uint64) ([]billing.Transfer, error) {
	var list []billing.Transfer
	for wide := uint64(span); first <= last; {
		end := min(last, first+wide-1)
		part, err := c.between(ctx, first, end)
		if err != nil && ctx.Err() == nil && end > first {
			wide = max(1, (end-first+1)/2) // too many for this node, it may be
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, part...)
		first, wide = end+1, min(span, 2*wide)
	}
	return list, nil
}

// between is Between with one question.
func (c *Client) between(ctx context.Context, first, last uint64) ([]billing.Transfer, error) {
	var logs []rawLog
	if err := c.call(ctx, &logs, "eth_getLogs", map[string]any{
		"fromBlock": hexutil.EncodeUint64(first), "toBlock": hexutil.EncodeUint64(last), "address": c.token,
		"topics": []any{transferTopic(), nil, common.BytesToHash(c.treasury[:])},
	}); err != nil {
		return nil, err
	}
	var list []billing.Transfer
	seen, blocks := map[common.Hash]bool{}, map[uint64]Head{}
	for _, l := range logs {
		if _, ok := transferOf(l, 0); !ok || l.Address != c.token || seen[l.TxHash] {
			continue
		}
		seen[l.TxHash] = true
		part, err := c.in(ctx, l.TxHash, blocks)
		if err != nil {
			return nil, err
		}
		if len(part) == 0 || part[0].BlockHash != l.BlockHash { // the block was replaced since; the next scan sees what holds then
			return nil, errNoBlock
		}
		list = append(list, part...)
	}
	return list, nil
}

func (c *Client) transfer(hash common.Hash, t x402.Transfer, at Head, to *common.Address, input []byte) billing.Transfer {
	a := billing.Transfer{
		TxHash: hash, LogIndex: t.LogIndex, Sender: t.From, Amount: usdg.Amount(min(t.Amount, math.MaxInt64)),
		Block: at.Number, BlockHash: at.Hash, At: at.At,
	}
	if to != nil && *to == c.token && len(input) > paramsEnd {
		a.Note = input[paramsEnd:]
	}
	return a
}

// In returns the transfers to the treasury in one transaction, none if it is in no block yet or has failed.
func (c *Client) In(ctx context.Context, hash [32]byte) ([]billing.Transfer, error) {
	return c.in(ctx, hash, map[uint64]Head{})
}

// in is In with the blocks that were read already.
func (c *Client) in(ctx context.Context, hash [32]byte, blocks map[uint64]Head) ([]billing.Transfer, error) {
	tx, r, err := c.fetch(ctx, hash)
	if errors.Is(err, x402.ErrNotVisible) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	number := (*big.Int)(r.Block).Uint64()
	at, known := blocks[number]
	if !known {
		if at, err = c.block(ctx, hexutil.EncodeUint64(number)); err != nil && !errors.Is(err, errNoBlock) {
			return nil, err
		}
	}
	if err != nil || at.Hash != r.BlockHash { // another node, or a block that was replaced
		return nil, nil
	}
	blocks[number] = at
	var list []billing.Transfer
	for i, l := range r.Logs {
		if t, ok := transferOf(l, i); ok && r.Status == 1 && l.Address == c.token && common.HexToAddress(t.To) == c.treasury {
			list = append(list, c.transfer(hash, t, at, tx.To, tx.Input))
		}
	}
	return list, nil
}
