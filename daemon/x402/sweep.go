package x402

import (
	"context"
	"errors"
	"fmt"
)

// MinedTx is a transaction with the block that it was seen in.
type MinedTx struct {
	Hash, BlockHash [32]byte
	Block           uint64
}

// sweepLimit bounds what one Sweep looks at.
const sweepLimit = 500

// Sweep looks again at payments on a rail that were accepted before they were final. One whose block is still there when it is final is
// settled. One whose transaction is in no block any more, or failed this time, has vanished: report is told of it, because what was bought
// with it is given. A node that does not answer leaves everything as it is.
func Sweep(ctx context.Context, rail string, chain Chain, store Store, report func(MinedTx)) error {
	open, err := store.Unsettled(ctx, rail, sweepLimit)
	if err != nil || len(open) == 0 {
		return err
	}
	final, err := chain.FinalBlock(ctx)
	if err != nil {
		return fmt.Errorf("sweep payments: %w", err)
	}
	for _, tx := range open {
		if tx.Block > final {
			return nil // nor are those behind it
		}
		hash, err := chain.BlockHash(ctx, tx.Block)
		if err != nil {
			return fmt.Errorf("sweep payments: %w", err)
		}
		vanished := false
		if hash != tx.BlockHash { // the chain was reorganised; the transaction may be in another block
			var open bool
			if open, vanished, err = moved(ctx, rail, chain, store, tx, final); err != nil {
				return err
			}
			if open {
				continue
			}
		}
		if err := store.Settle(ctx, rail, tx.Hash, vanished); err != nil {
			return err
		}
		if vanished {
			report(tx)
		}
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
