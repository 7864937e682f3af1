package x402

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// MinedTx is a transaction with the block that it was seen in.
type MinedTx struct {
	Hash, BlockHash [32]byte
	Block           uint64
}

// Bounds of a Sweep.
const (
	sweepLimit = 500   // transactions that it looks at
	sweepSpan  = 2_000 // blocks that it asks for at once
)

// Sweep asks again for payments on a rail that were accepted before they were final. One whose block is still there when it is final is
// finalized. One whose transaction is in no block any more, or failed this time, has vanished: report is called for it, because what was
// bought with it is given. A node that does not answer leaves everything as it is.
func Sweep(ctx context.Context, rail string, chain Chain, store Store, report func(MinedTx)) error {
	open, err := store.NotFinal(ctx, rail, sweepLimit)
	if err != nil || len(open) == 0 {
		return err
	}
	final, err := chain.FinalBlock(ctx)
	if err != nil {
		return fmt.Errorf("sweep payments: %w", err)
	}
	open = slices.DeleteFunc(open, func(tx MinedTx) bool { return tx.Block > final })
	for len(open) > 0 {
		near := slices.IndexFunc(open, func(tx MinedTx) bool { return tx.Block >= open[0].Block+sweepSpan })
		if near < 0 {
			near = len(open)
		}
		var in map[[32]byte][32]byte
		if near > 1 { // else the block alone costs no more; nor is a node asked for the same again that does not answer this
			in, _ = chain.Blocks(ctx, open[0].Block, open[near-1].Block)
		}
		for _, tx := range open[:near] {
			if err := sweep(ctx, rail, chain, store, tx, in[tx.Hash] == tx.BlockHash, final, report); err != nil {
				return err
			}
		}
		open = open[near:]
	}
	return nil
}

// sweep looks again at one payment. stands says that it is known to be in its block still.
func sweep(
	ctx context.Context, rail string, chain Chain, store Store, tx MinedTx, stands bool, final uint64, report func(MinedTx),
) error {
	if stands {
		return store.Finalize(ctx, rail, tx.Hash, false)
	}
	hash, err := chain.BlockHash(ctx, tx.Block)
	if err != nil {
		return fmt.Errorf("sweep payments: %w", err)
	}
	vanished := false
	if hash != tx.BlockHash { // the chain was reorganised; the transaction may be in another block
		var open bool
		if open, vanished, err = moved(ctx, rail, chain, store, tx, final); err != nil || open {
			return err
		}
	}
	if err := store.Finalize(ctx, rail, tx.Hash, vanished); err != nil {
		return err
	}
	if vanished {
		report(tx)
	}
	return nil
}

// moved looks for a payment whose block is gone. It has vanished, or is in another block now, which may not be final: then it is open
// still.
func moved(
	ctx context.Context, rail string, chain Chain, store Store, tx MinedTx, final uint64,
) (open, vanished bool, err error) {
	now, err := chain.Payment(ctx, tx.Hash)
	if errors.Is(err, ErrNotVisible) || err == nil && !now.Succeeded {
		return false, true, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("sweep payments: %w", err)
	}
	return now.Block > final, false, store.Moved(ctx, rail, MinedTx{Hash: tx.Hash, Block: now.Block, BlockHash: now.BlockHash})
}
