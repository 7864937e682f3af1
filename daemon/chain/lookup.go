package chain

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/contextd/contextd/daemon/x402"
)

// Bounds of the cost of payments that come to nothing: unknown hashes, and authorizations of empty wallets. Presenting one is free, and the
// node may be another party's, with a rate limit.
const (
	notFor      = 5 * time.Second // what was not there is not asked for again
	missRate    = 50              // payments a second that may come to nothing, and at once
	missBurst   = 100
	mostFirst   = 32 // first lookups at once; others wait
	repeatRate  = 5  // repeated lookups a second for such a hash, and at once
	repeatBurst = 20
	mostMissing = 1_000 // hashes that are remembered before old ones are dropped
)

// lookups bound how often the node is asked for what strangers claim to have paid with, or want to.
type lookups struct {
	flight          singleflight.Group // one for each hash
	misses, repeats *rate.Limiter
	first           chan struct{} // has an item for each first lookup that is under way
	closed          chan struct{}

	mu      sync.Mutex // guards missing
	missing map[[32]byte]time.Time
}

func newLookups() *lookups {
	return &lookups{
		misses: rate.NewLimiter(missRate, missBurst), repeats: rate.NewLimiter(repeatRate, repeatBurst),
		first: make(chan struct{}, mostFirst), closed: make(chan struct{}), missing: map[[32]byte]time.Time{},
	}
}

// busy reports whether too many payments have come to nothing of late.
func (l *lookups) busy(now time.Time) bool { return l.misses.TokensAt(now) < 1 }

// failed counts one that has.
func (l *lookups) failed(now time.Time) { l.misses.ReserveN(now, 1) } // below zero, where many are under way

// isMissing reports whether hash was in no block a moment ago, or the wallet that it stands for too poor.
func (l *lookups) isMissing(hash [32]byte, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(l.missing[hash])
}

// miss notes that hash is in no block.
func (l *lookups) miss(hash [32]byte, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.missing) >= mostMissing {
		for h, until := range l.missing {
			if !now.Before(until) {
				delete(l.missing, h)
			}
		}
	}
	l.missing[hash] = now.Add(notFor)
}

// claimed finds a transaction that somebody claims to have paid with, waiting so long for it to be in a block, else x402.ErrNotVisible. All
// who ask for a hash at once share one answer, and for some time a bad one.
func (c *Client) claimed(ctx context.Context, hash [32]byte, wait time.Duration) (mined, error) {
	if c.lookups.isMissing(hash, c.cfg.Now()) {
		return mined{}, x402.ErrNotVisible
	}
	answer := c.lookups.flight.DoChan(string(hash[:]), func() (any, error) {
		if c.lookups.isMissing(hash, c.cfg.Now()) { // another lookup has ended since
			return mined{}, x402.ErrNotVisible
		}
		// Who asked first may leave; others wait for the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait+2*callTimeout)
		defer cancel()
		found, err := c.poll(ctx, hash, wait)
		if errors.Is(err, x402.ErrNotVisible) {
			c.lookups.miss(hash, c.cfg.Now())
		}
		return found, err
	})
	select {
	case got := <-answer:
		found, _ := got.Val.(mined)
		return found, got.Err
	case <-ctx.Done():
		return mined{}, ctx.Err()
	}
}

// poll asks for a transaction until it is in a block or wait is over.
func (c *Client) poll(ctx context.Context, hash [32]byte, wait time.Duration) (mined, error) {
	deadline := c.cfg.Now().Add(wait)
	found, err := c.lookup(ctx, hash)
	for pause := firstPoll; errors.Is(err, x402.ErrNotVisible); pause *= 2 {
		now := c.cfg.Now()
		if now.Add(pause).After(deadline) {
			break
		}
		select {
		case <-ctx.Done():
			return found, ctx.Err()
		case <-c.lookups.closed:
			return found, ErrNoAnswer
		case <-time.After(pause):
		}
		if !c.lookups.repeats.AllowN(c.cfg.Now(), 1) {
			continue
		}
		var r *receipt
		if failed := c.call(ctx, &r, "eth_getTransactionReceipt", common.Hash(hash)); failed != nil && !indexing(failed) {
			return found, failed
		}
		if r != nil {
			found, err = c.mined(ctx, hash, nil)
		}
	}
	return found, err
}

// lookup asks for a transaction once. One that is there costs nothing of what misses may: honest payers do not wait for each other.
func (c *Client) lookup(ctx context.Context, hash [32]byte) (mined, error) {
	select {
	case c.lookups.first <- struct{}{}:
		defer func() { <-c.lookups.first }()
	case <-ctx.Done():
		return mined{}, ctx.Err()
	}
	if c.lookups.busy(c.cfg.Now()) {
		return mined{}, x402.ErrBusy
	}
	found, err := c.mined(ctx, hash, nil)
	if errors.Is(err, x402.ErrNotVisible) {
		c.lookups.failed(c.cfg.Now())
	}
	return found, err
}
