package chain

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"

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

// maxNote bounds the calldata in which a nonce is looked for. Each deposit that is pending looks there.
const maxNote = 4 << 10

// Between returns the transfers to the treasury in the blocks from first to last, without those that are stored already.
func (c *Client) Between(ctx context.Context, first, last uint64, stored billing.Stored) ([]billing.Transfer, error) {
	var list []billing.Transfer
	for wide := uint64(span); first <= last; {
		end := min(last, first+wide-1)
		part, err := c.between(ctx, first, end, stored)
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

// arrivals are the logs of transfers to the treasury in the blocks from first to last, by one question.
func (c *Client) arrivals(ctx context.Context, first, last uint64) (logs []rawLog, err error) {
	err = c.call(ctx, &logs, "eth_getLogs", map[string]any{
		"fromBlock": hexutil.EncodeUint64(first), "toBlock": hexutil.EncodeUint64(last), "address": c.token,
		"topics": []any{transferTopic(), nil, common.BytesToHash(c.treasury[:])},
	})
	return slices.DeleteFunc(logs, func(l rawLog) bool {
		_, ok := transferOf(l, 0)
		return !ok || l.Address != c.token
	}), err
}

// Blocks returns which blocks from first to last the transactions are in that have moved something to the treasury, by one question.
func (c *Client) Blocks(ctx context.Context, first, last uint64) (map[[32]byte][32]byte, error) {
	logs, err := c.arrivals(ctx, first, last)
	in := map[[32]byte][32]byte{}
	for _, l := range logs {
		in[l.TxHash] = l.BlockHash
	}
	return in, err
}

func (c *Client) between(ctx context.Context, first, last uint64, stored billing.Stored) ([]billing.Transfer, error) {
	logs, err := c.arrivals(ctx, first, last)
	if err != nil {
		return nil, err
	}
	var list []billing.Transfer
	type place struct{ tx, block common.Hash }
	open, blocks := map[place]int{}, map[uint64]Head{} // transfers that were not asked for yet
	for _, l := range logs {
		open[place{l.TxHash, l.BlockHash}]++
	}
	for _, l := range logs {
		at := place{l.TxHash, l.BlockHash}
		if open[at] > 0 && stored != nil {
			n, err := stored(ctx, l.TxHash, l.BlockHash)
			if err != nil {
				return nil, err
			}
			open[at] -= n
		}
		if open[at] == 0 {
			continue
		}
		open[at] = 0
		part, err := c.arrived(c.mined(ctx, l.TxHash, blocks))
		if err != nil && !errors.Is(err, billing.ErrNotShown) {
			return nil, err
		}
		if len(part) == 0 || part[0].BlockHash != l.BlockHash { // the block was replaced since; the next scan sees what holds then
			return nil, errNoBlock
		}
		list = append(list, part...)
	}
	return list, nil
}

// transferSelector is how calldata of transfer(address,uint256) begins. Behind that of other functions nobody puts a nonce of ours.
func transferSelector() []byte { return []byte{0xa9, 0x05, 0x9c, 0xbb} }

func (c *Client) transfer(hash common.Hash, t x402.Transfer, at Head, to *common.Address, input []byte) billing.Transfer {
	a := billing.Transfer{
		Rail: c.cfg.ID, TxHash: hash, LogIndex: t.LogIndex, Sender: t.From, Amount: usdg.Amount(min(t.Amount, math.MaxInt64)),
		Block: at.Number, BlockHash: at.Hash, At: at.At, Authorized: t.Authorized, Authorization: t.Authorization,
	}
	if to != nil && *to == c.token && len(input) > paramsEnd && bytes.HasPrefix(input, transferSelector()) {
		a.Note = input[paramsEnd:min(len(input), paramsEnd+maxNote)]
	}
	return a
}

// In returns the transfers to the treasury in one transaction, none if it has failed, or billing.ErrNotShown if it is in no block.
func (c *Client) In(ctx context.Context, hash [32]byte) ([]billing.Transfer, error) {
	return c.arrived(c.mined(ctx, hash, nil))
}

// Claimed is In for a hash that somebody claims to have paid with, bounded as claimed is. It does not wait.
func (c *Client) Claimed(ctx context.Context, hash [32]byte) ([]billing.Transfer, error) {
	return c.arrived(c.claimed(ctx, hash, 0))
}

// arrived are the transfers to the treasury in a transaction that was asked for.
func (c *Client) arrived(found mined, err error) (list []billing.Transfer, _ error) {
	switch {
	case errors.Is(err, x402.ErrNotVisible):
		return nil, billing.ErrNotShown
	case err != nil:
		return nil, err
	}
	for _, t := range c.transfersOf(found.receipt) {
		if found.receipt.Status == 1 && common.HexToAddress(t.Contract) == c.token && common.HexToAddress(t.To) == c.treasury {
			list = append(list, c.transfer(found.hash, t, found.at, found.tx.To, found.tx.Input))
		}
	}
	return list, nil
}
