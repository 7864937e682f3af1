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

// Ledger knows what was paid and may still vanish. Each method is one transaction.
type Ledger interface {
	// Unsettled returns transactions that may still vanish from the chain, lowest block first, at most limit.
	Unsettled(ctx context.Context, limit int) ([]MinedTx, error)
	// Moved notes that a transaction is in another block now.
	Moved(ctx context.Context, p MinedTx) error
	// Settle notes that a transaction is final, or has vanished.
	Settle(ctx context.Context, hash [32]byte, vanished bool) error
}

// Blocks shows which blocks are there.
type Blocks interface {
	// FinalBlock is the number of the newest block that cannot vanish.
	FinalBlock(ctx context.Context) (uint64, error)
	// BlockHash is the hash of the block with the given number.
	BlockHash(ctx context.Context, number uint64) ([32]byte, error)
}

// sweepLimit bounds what one Sweep looks at.
const sweepLimit = 500

// Sweep looks again at payments that were accepted before they were final. One whose block is still there when it is final is settled.
// One whose transaction is in no block any more, or failed this time, has vanished: report is told of it, because what was bought with
// it is given. A node that does not answer leaves everything as it is.
func Sweep(ctx context.Context, ledger Ledger, blocks Blocks, chain Chain, report func(MinedTx)) error {
	open, err := ledger.Unsettled(ctx, sweepLimit)
	if err != nil || len(open) == 0 {
		return err
	}
	final, err := blocks.FinalBlock(ctx)
	if err != nil {
		return fmt.Errorf("sweep payments: %w", err)
	}
	for _, p := range open {
		if p.Block > final {
			return nil // nor are those behind it
		}
		hash, err := blocks.BlockHash(ctx, p.Block)
		if err != nil {
			return fmt.Errorf("sweep payments: %w", err)
		}
		vanished := false
		if hash != p.BlockHash { // the chain has changed its mind; the transaction may be in another block
			var open bool
			if open, vanished, err = moved(ctx, ledger, chain, p, final); err != nil {
				return err
			}
			if open {
				continue
			}
		}
		if err := ledger.Settle(ctx, p.Hash, vanished); err != nil {
			return err
		}
		if vanished {
			report(p)
		}
	}
	return nil
}

// moved looks for a payment whose block is gone. It has vanished, or is in another block now, which may not be final: then it is open still.
func moved(ctx context.Context, ledger Ledger, chain Chain, p MinedTx, final uint64) (open, vanished bool, err error) {
	now, err := chain.Payment(ctx, p.Hash)
	if errors.Is(err, ErrNotVisible) || err == nil && !now.Succeeded {
		return false, true, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("sweep payments: %w", err)
	}
	return now.Block > final, false, ledger.Moved(ctx, MinedTx{Hash: p.Hash, Block: now.Block, BlockHash: now.BlockHash})
}
