//go:build !nodevchain

package devchain

import (
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
)

// miner seals blocks: soon after a transaction has come, but never two within the same second.
type miner struct {
	quit, done chan struct{}
	once       sync.Once
}

// startMiner starts the miner of a node.
func startMiner(e *eth.Ethereum, sim *catalyst.SimulatedBeacon, now func() time.Time) *miner {
	m := &miner{quit: make(chan struct{}), done: make(chan struct{})}
	arrived := make(chan core.NewTxsEvent, 64)
	subscription := e.TxPool().SubscribeTransactions(arrived, true)
	go func() {
		defer close(m.done)
		defer subscription.Unsubscribe()
		timer := time.NewTimer(0) // what was pending before
		defer timer.Stop()
		for {
			select {
			case <-m.quit:
				return
			case <-arrived:
				timer.Reset(untilNext(e, now()))
			case <-timer.C:
				if pending, _ := e.TxPool().Stats(); pending == 0 {
					continue
				}
				if wait := untilNext(e, now()); wait > time.Millisecond {
					timer.Reset(wait)
					continue
				}
				commit(e, sim)
				if pending, _ := e.TxPool().Stats(); pending > 0 {
					timer.Reset(untilNext(e, now()))
				}
			}
		}
	}()
	return m
}

// commit seals a block and puts it on disk.
func commit(e *eth.Ethereum, sim *catalyst.SimulatedBeacon) {
	sim.Commit()
	_ = e.ChainDb().SyncKeyValue() // what is wrong with the disk, the next block says too
}

// untilNext is how long it is until a block can have a time of its own.
func untilNext(e *eth.Ethereum, now time.Time) time.Duration {
	next := time.Unix(int64(e.BlockChain().CurrentBlock().Time)+1, 0)
	return max(time.Millisecond, next.Sub(now))
}

// stop ends the miner and waits for the block that it is at.
func (m *miner) stop() {
	m.once.Do(func() { close(m.quit) })
	<-m.done
}
