package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/sdk/api"
)

// Bounds of a share. A key that another node revokes is refused here after a poll at the latest, and by who cannot poll once that is so for
// trustFor.
const (
	sharePoll    = 500 * time.Millisecond
	sharePause   = 20 * time.Millisecond // at least, between two looks
	trustFor     = 3 * time.Second
	changesWait  = 2 * time.Second
	reloadWait   = 30 * time.Second
	retryStorage = 2 * time.Second
	calmFor      = 2 * time.Second // without a call that fails, an outage is over
)

var _ account.Others = (*share)(nil)

// share keeps what a node remembers of owners as other nodes on the same database have changed it.
type share struct {
	store *store.Store
	keys  *account.Keys
	meter *billing.Meter
	log   *slog.Logger
	ctx   context.Context  // of what looks: who asks for a look may leave before it is over
	clock func() time.Time // that of the machine, which runs on whatever a daemon is told of the time
	hint  chan struct{}    // has an item where something may have changed
	read  func() error     // reads what was changed, and what has become of it

	turn  sync.Mutex // held by who looks; guards seen and began
	seen  int64      // the last change that is known
	began time.Time  // of the last look

	mu   sync.Mutex // guards next
	next *look      // that has not begun; nil for none

	fresh atomic.Pointer[time.Time] // when the last look began that succeeded

	out sync.Mutex // guards outage
	outage
}

// outage is a time without the database. It is logged as one, however many calls fail in it.
type outage struct {
	lasts bool
	calls int       // that failed
	last  time.Time // that one did
}

// look is one look at the changes, which serves all who asked before it began.
type look struct {
	done chan struct{}
	err  error // set before done is closed
}

// openShare makes the share of a node before it loads what others may change.
func openShare(ctx context.Context, s *store.Store, log *slog.Logger) (*share, error) {
	shared := &share{store: s, log: log, ctx: context.WithoutCancel(ctx), clock: time.Now, hint: make(chan struct{}, 1)}
	shared.read = shared.readChanges
	now := shared.clock()
	seen, err := s.LastChange(ctx)
	shared.seen = seen
	shared.fresh.Store(&now)
	return shared, err
}

// Lost says why keys are not believed: what was done to them elsewhere is not known.
func (s *share) Lost() error {
	if s == nil || s.clock().Sub(*s.fresh.Load()) <= trustFor {
		return nil
	}
	return api.Errorf(api.ReasonStateUnavailable, "the database does not answer: keys cannot be checked").
		WithHint("try again after Retry-After").WithRetryAfter(retryStorage)
}

// CatchUp returns when what other nodes had done before it was called is known here.
func (s *share) CatchUp() error {
	s.mu.Lock()
	l := s.next
	if l == nil {
		l = &look{done: make(chan struct{})}
		s.next = l
		go s.look(l)
	}
	s.mu.Unlock()
	<-l.done
	return l.err
}

// look is one look, when its turn has come.
func (s *share) look(l *look) {
	s.turn.Lock()
	defer s.turn.Unlock()
	defer close(l.done)
	time.Sleep(s.began.Add(sharePause).Sub(s.clock()))
	s.mu.Lock()
	s.next = nil // who asks from now on may ask about what is too late for this one
	s.mu.Unlock()
	s.began = s.clock()
	err := s.read()
	s.note(err, 0)
	if err != nil {
		l.err = api.Errorf(api.ReasonStateUnavailable, "the database does not answer").
			WithHint("try again after Retry-After").WithRetryAfter(retryStorage)
		return
	}
	began := s.began
	s.fresh.Store(&began)
}

// Away notes that a call failed with err, if the database does not answer; else it reports false. Such are logged together.
func (s *share) Away(err error) bool {
	var away interface{ Unavailable() bool }
	if s == nil || !errors.As(err, &away) || !away.Unavailable() {
		return false
	}
	s.note(err, 1)
	return true
}

// note notes what has become of a look, or of calls that failed with err.
func (s *share) note(err error, calls int) {
	s.out.Lock()
	defer s.out.Unlock()
	now := s.clock()
	if s.calls += calls; calls > 0 {
		s.last = now
	}
	switch {
	case err != nil && !s.lasts:
		s.lasts = true
		s.log.Error("database does not answer; calls that need it are refused until it does", "error", err)
	case err == nil && s.lasts && now.Sub(s.last) >= calmFor:
		s.log.Info("database answers again", "refused_calls", s.calls)
		s.outage = outage{}
	}
}

// readChanges is read.
func (s *share) readChanges() error {
	ctx, cancel := context.WithTimeout(s.ctx, changesWait)
	owners, last, all, err := s.store.Changes(ctx, s.seen)
	cancel()
	if err != nil || len(owners) == 0 && !all {
		return err
	}
	if all {
		owners = nil
	}
	ctx, cancel = context.WithTimeout(s.ctx, reloadWait)
	defer cancel()
	err = s.meter.WithLockOnAll(ctx, func() ([]string, error) { return s.keys.Reload(ctx, owners) })
	if err != nil {
		return fmt.Errorf("read what other nodes have changed: %w", err)
	}
	s.seen = last
	return nil
}

// Hint says that something may have changed.
func (s *share) Hint() {
	select {
	case s.hint <- struct{}{}:
	default:
	}
}

// run looks from time to time, and when something may have changed, until ctx is done.
func (s *share) run(ctx context.Context) {
	if s == nil {
		return
	}
	tick := time.NewTicker(sharePoll)
	defer tick.Stop()
	for {
		_ = s.CatchUp() // Lost tells, and the log
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.hint:
		}
	}
}
