//go:build !nodevchain

package devchain

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/core"
)

// sealer seals blocks: soon after a transaction has come, but never two within the same second.
type sealer struct{ quit, done chan struct{} }

func startSealer(ctx context.Context, l *ledger, now func() time.Time, ahead time.Duration) *sealer {
	untilNext := func() time.Duration { // how long it is until a block can have a time of its own
		return max(time.Millisecond, l.next().Sub(now().Add(ahead)))
	}
	s := &sealer{quit: make(chan struct{}), done: make(chan struct{})}
	arrived := make(chan core.NewTxsEvent, 64)
	subscription := l.pool.SubscribeTransactions(arrived, true)
	go func() {
		defer close(s.done)
		defer subscription.Unsubscribe()
		timer := time.NewTimer(0) // what was pending before
		defer timer.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-arrived:
				timer.Reset(untilNext())
			case <-timer.C:
				if pending, _ := l.pool.Stats(); pending == 0 {
					continue
				}
				if wait := untilNext(); wait > time.Millisecond {
					timer.Reset(wait)
					continue
				}
				_ = l.seal(ctx, uint64(max(now().Unix(), l.next().Unix()))) // what is wrong with the disk, the next block says too
				if pending, _ := l.pool.Stats(); pending > 0 {
					timer.Reset(untilNext())
				}
			}
		}
	}()
	return s
}

// next is the least time of the next block.
func (l *ledger) next() time.Time { return time.Unix(int64(l.chain.CurrentBlock().Time)+1, 0) }

// stop ends the sealer and waits for the block that it is at.
func (s *sealer) stop() {
	close(s.quit)
	<-s.done
}
