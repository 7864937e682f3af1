package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/sdk/api"
)

// Bounds of Changes. A key that another node revokes is refused here after a poll at the latest, and by a node that cannot poll once that
// is so for trustFor.
const (
	pollEvery    = 500 * time.Millisecond
	pollPause    = 20 * time.Millisecond // at least, between two polls
	trustFor     = 3 * time.Second
	changesWait  = 2 * time.Second
	reloadWait   = 30 * time.Second
	retryStorage = 2 * time.Second
)

// ChangeLog is where nodes write down whose keys, tier, standing or credits they have changed; *store.Store is one.
type ChangeLog interface {
	// LastChange is the number of the last change, 0 for none.
	LastChange(ctx context.Context) (last int64, err error)
	// Changes returns the owners that were changed after the change of a number, and the number of the last; all says that it can be any.
	Changes(ctx context.Context, after int64) (owners []string, last int64, all bool, err error)
}

var (
	_ ChangeLog      = (*store.Store)(nil)
	_ account.Others = (*Changes)(nil)
)

// Changes reads which owners other nodes have changed, and has what a node remembers of them loaded again. A nil *Changes is that of
// SQLite, which no other node changes. It is safe for concurrent use.
type Changes struct {
	log    ChangeLog
	outage *Outage
	reload func(ctx context.Context, owners []string) error
	ctx    context.Context  // of polls: who asks for one may leave before it is over
	clock  func() time.Time // that of the machine, which runs on whatever a daemon has for a clock
	notify chan struct{}    // has an item where something may have changed

	polling sync.Mutex // held by a poll; guards seen and began
	seen    int64      // the last change that is known
	began   time.Time  // of the last poll

	mu   sync.Mutex // guards next
	next *poll      // that has not begun; nil for none

	fresh atomic.Pointer[time.Time] // when the last poll began that succeeded
}

// poll is one reading of the log, which serves all who asked before it began.
type poll struct {
	done chan struct{}
	err  error // set before done is closed
}

// OpenChanges begins with what is in the log now. What a node remembers of owners is loaded after that, and then OnChange is called.
func OpenChanges(ctx context.Context, log ChangeLog, outage *Outage) (*Changes, error) {
	c := &Changes{log: log, outage: outage, ctx: context.WithoutCancel(ctx), clock: outage.clock, notify: make(chan struct{}, 1)}
	now := c.clock()
	c.fresh.Store(&now)
	var err error
	c.seen, err = log.LastChange(ctx)
	return c, err
}

// OnChange has reload called with owners that were changed, nil for any, which loads what this node remembers of them. It is called once,
// before any other method.
func (c *Changes) OnChange(reload func(ctx context.Context, owners []string) error) {
	c.reload = reload
}

// Lost says why keys are not believed: what other nodes have done to them is not known.
func (c *Changes) Lost() error {
	if c == nil || c.clock().Sub(*c.fresh.Load()) <= trustFor {
		return nil
	}
	return api.Errorf(api.ReasonStateUnavailable, "the database does not answer: keys cannot be checked").
		WithHint("try again after Retry-After").WithRetryAfter(retryStorage)
}

// CatchUp returns when what other nodes had done before it was called is known here.
func (c *Changes) CatchUp() error {
	c.mu.Lock()
	p := c.next
	if p == nil {
		p = &poll{done: make(chan struct{})}
		c.next = p
		go c.poll(p)
	}
	c.mu.Unlock()
	<-p.done
	return p.err
}

// poll does p once the one before has ended.
func (c *Changes) poll(p *poll) {
	c.polling.Lock()
	defer c.polling.Unlock()
	defer close(p.done)
	time.Sleep(c.began.Add(pollPause).Sub(c.clock()))
	c.mu.Lock()
	c.next = nil // who asks from now on may ask about what is too late for this one
	c.mu.Unlock()
	c.began = c.clock()
	err := c.read()
	c.outage.note(err, 0)
	if err != nil {
		p.err = api.Errorf(api.ReasonStateUnavailable, "the database does not answer").
			WithHint("try again after Retry-After").WithRetryAfter(retryStorage)
		return
	}
	began := c.began
	c.fresh.Store(&began)
}

// read reads what was changed, and has it loaded again. The caller holds polling.
func (c *Changes) read() error {
	ctx, cancel := context.WithTimeout(c.ctx, changesWait)
	owners, last, all, err := c.log.Changes(ctx, c.seen)
	cancel()
	if err != nil || len(owners) == 0 && !all {
		return err
	}
	if all {
		owners = nil
	}
	ctx, cancel = context.WithTimeout(c.ctx, reloadWait)
	defer cancel()
	if err := c.reload(ctx, owners); err != nil {
		return fmt.Errorf("read what other nodes have changed: %w", err)
	}
	c.seen = last
	return nil
}

// Notify says that something may have changed.
func (c *Changes) Notify() {
	select {
	case c.notify <- struct{}{}:
	default: // Run is about to poll
	}
}

// Run polls from time to time, and when Notify is called, until ctx is done.
func (c *Changes) Run(ctx context.Context) {
	if c == nil {
		return
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		_ = c.CatchUp() // Lost says so, and the log
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-c.notify:
		}
	}
}
