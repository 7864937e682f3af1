package billing

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

const (
	maxBatch  = 512     // charges in one transaction
	maxWindow = 200_000 // windows of keys and owners in memory; with more, all are read again as they call
	maxClient = 100_000 // addresses whose free calls are counted; with more, new ones are not, until others have left their window
	gatherFor = 2       // times that a leader lets others run before closing its batch
)

// Store keeps the books. Each method is one transaction, on disk when it returns.
type Store interface {
	// Records returns the keys of an owner that are not revoked, oldest first.
	Records(ctx context.Context, ownerID string) ([]Record, error)
	// FreeCalls returns the free calls after the given time of an owner, or of one key, whichever has the id: oldest first.
	FreeCalls(ctx context.Context, id string, after time.Time) ([]Stamp, error)
	// PaidHours returns the calls with credits of a key by the hours after the given time: oldest first.
	PaidHours(ctx context.Context, keyID string, after time.Time) ([]Stamp, error)
	// Charge books a batch whole, or nothing of it and ErrConflict where a record has not the credits that it takes from it. It asks for
	// the batch when it can write: calls come into it until then.
	Charge(ctx context.Context, batch func() Batch) error
}

// Config configures a Meter.
type Config struct {
	Store     Store
	Plans     Plans                          // nil means DefaultPlans
	Sells     bool                           // credits are sold, and calls one by one
	Operator  string                         // owner of the keys for which nobody can buy credits
	FreeCalls int                            // per owner and 24 hours; 0 means api.FreeCallsPerDay
	PerClient int                            // free calls per address and 24 hours; 0 means api.FreePerClient
	Booked    func(calls int, credits int64) // is called after calls were charged in one transaction; nil means nobody
	CatchUp   func() error                   // learns what other Meters, and acts on other nodes, have done; nil means there are none
	Now       func() time.Time               // nil means time.Now
}

// Meter charges calls. Make one with New; it is safe for concurrent use, and there is at most one for a set of books, unless with CatchUp.
//
// Calls are decided in memory, one after another. What is decided while the disk is busy gathers in a batch, which the first
// caller in it, its leader, books in one transaction when it has the disk; all callers of a batch wait for that.
type Meter struct {
	cfg     Config
	most    int                  // windows in memory
	booking sync.Mutex           // held by who books; taken before mu
	lost    atomic.Pointer[loss] // nil where the last charge was taken or refused

	mu      sync.Mutex // guards what follows, and the plans and free calls of cfg
	open    *batch     // takes what is decided now, nil if nothing was since the last one was closed
	waiting []*batch   // decided and not booked, the open one among them
	books   map[string]*book
	free    map[string]*window // by owner or key
	volumes map[string]*window // by key
	days    map[Day]int64      // credits that keys with a bound have spent, of the days that were asked for
	clients map[string]*window // free calls by address; on no disk, so they are never read again
	swept   time.Time          // when there was last looked for addresses that have left their window
}

type book struct {
	records []Record       // as Store.Records
	places  map[string]int // in records, by key
	pool    int64          // the sum of their credits
	spent   int            // records before this place are empty
}

// loss is a failure to charge that no success has followed.
type loss struct {
	at  time.Time
	err error
}

// lossLasts is for how long a failure to charge counts where nobody has tried again since.
const lossLasts = 30 * time.Second

// Check says why calls cannot be charged: why the last one was not. Where nobody calls any more, it says nothing for long, so that
// somebody tries again.
func (m *Meter) Check() error {
	if l := m.lost.Load(); l != nil && m.cfg.Now().Sub(l.at) < lossLasts {
		return fmt.Errorf("calls are not charged: %w", l.err)
	}
	return nil
}

// batch is a Batch with the callers who wait for it.
type batch struct {
	Batch
	clients map[string]int64 // free calls by address

	size   int
	booked bool
	err    error         // set before done is closed
	done   chan struct{} // closed when the batch is on disk, or is not going to be
}

// complete puts defaults where cfg has nothing.
func (cfg *Config) complete() {
	if cfg.Plans == nil {
		cfg.Plans = DefaultPlans()
	}
	if cfg.FreeCalls == 0 {
		cfg.FreeCalls = api.FreeCallsPerDay
	}
	if cfg.PerClient == 0 {
		cfg.PerClient = api.FreePerClient
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
}

// New makes a Meter.
func New(cfg Config) *Meter {
	cfg.complete()
	return &Meter{cfg: cfg, most: maxWindow, books: map[string]*book{}, free: map[string]*window{}, volumes: map[string]*window{},
		days: map[Day]int64{}, clients: map[string]*window{}}
}

// SetPlans changes plans and free calls, from the next call on. nil and 0 are as in Config.
func (m *Meter) SetPlans(plans Plans, freeCalls, perClient int) {
	next := Config{Plans: plans, FreeCalls: freeCalls, PerClient: perClient}
	next.complete()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cfg.Plans, m.cfg.FreeCalls, m.cfg.PerClient = next.Plans, next.FreeCalls, next.PerClient
}

// FreeCalls is how many calls an owner without credits has in 24 hours.
func (m *Meter) FreeCalls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cfg.FreeCalls
}

// Charge charges c and returns the remaining calls once the charge is on disk, or the *api.Error that refuses the call. A caller who leaves
// before they are booked is not charged; one who leaves later is.
func (m *Meter) Charge(ctx context.Context, c Call) (Left, error) {
	left, err := m.charge(ctx, c)
	if m.poor(err) {
		if err = m.cfg.CatchUp(); err == nil {
			left, err = m.charge(ctx, c)
		}
	}
	switch refused := new(api.Error); {
	case err == nil:
		if m.lost.Load() != nil {
			m.lost.Store(nil)
		}
	case !errors.As(err, &refused) && ctx.Err() == nil:
		m.lost.Store(&loss{m.cfg.Now(), err})
	}
	return left, err
}

// poor reports whether err refuses a call whose owner may have credits by now that another node has given them.
func (m *Meter) poor(err error) bool {
	refused := new(api.Error)
	if m.cfg.CatchUp == nil || !errors.As(err, &refused) {
		return false
	}
	return refused.Reason == api.ReasonInsufficient || refused.Reason == api.ReasonPackAccessDenied ||
		refused.Reason == api.ReasonQuotaExhausted || refused.Reason == api.ReasonDailySpent
}

func (m *Meter) charge(ctx context.Context, c Call) (left Left, err error) {
	const alone, among = 2, 10 // attempts: each that fails among others is one of theirs that did not
	for attempt := 1; ; attempt++ {
		b, left, leads, err := m.join(ctx, c)
		if err != nil {
			return Left{}, err
		}
		if leads {
			m.lead(context.WithoutCancel(ctx), b)
		}
		<-b.done
		switch last := m.cfg.CatchUp == nil && attempt == alone || attempt == among; {
		case b.err == nil:
			return left, nil
		case !errors.Is(b.err, ErrConflict), last && m.cfg.CatchUp == nil:
			return Left{}, fmt.Errorf("charge: %w", b.err)
		case last:
			return Left{}, api.Errorf(api.ReasonStateUnavailable, "other calls are charged to the same credits").
				WithHint("try again after Retry-After").WithRetryAfter(time.Second)
		}
		// The books are not what was remembered of them. They are read again now, which decides.
	}
}

// join decides c. What has to be booked is in the batch it returns, which the caller leads if it is the first in it.
func (m *Meter) join(ctx context.Context, c Call) (b *batch, left Left, leads bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, left, false, err
	}
	b, leads = m.open, false
	if b == nil || b.size >= maxBatch {
		b, leads = &batch{done: make(chan struct{})}, true
		b.Debits, b.Usage, b.Free, b.clients = map[string]int64{}, map[UsageKey]Count{}, map[string]Stamp{}, map[string]int64{}
		b.Windows, b.Daily = map[string]string{}, map[Day]Spent{}
	}
	if left, err = m.decide(ctx, c, m.cfg.Now(), b); err != nil {
		return nil, left, false, err
	}
	b.size++
	if leads {
		m.open, m.waiting = b, append(m.waiting, b)
	}
	return b, left, leads, nil
}

// lead books b once the batches before it are booked.
func (m *Meter) lead(ctx context.Context, b *batch) {
	m.booking.Lock()
	defer m.booking.Unlock()
	full := false
	closed := sync.OnceValue(func() Batch {
		for range gatherFor {
			runtime.Gosched() // callers that are about to come; without this, batches of few connections are half empty
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.open == b {
			m.open = nil
		}
		m.waiting = slices.DeleteFunc(m.waiting, func(w *batch) bool { return w == b })
		full = len(m.free)+len(m.volumes)+len(m.days) > m.most
		return b.Batch
	})
	if err := m.book(ctx, b, closed); err != nil || full {
		m.mu.Lock()
		defer m.mu.Unlock()
		if err != nil {
			m.undo(b)
		}
		m.bookAll(ctx)
		m.forget()
	}
}

// book books b, unless that was done already, and lets its callers go on. No calls come into b once it is closed. The caller holds booking.
func (m *Meter) book(ctx context.Context, b *batch, closed func() Batch) error {
	if b.booked {
		return b.err
	}
	b.booked = true
	defer close(b.done)
	defer closed()       // which a store that fails has not asked for
	b.err = errNotBooked // which is the error of the others if the store panics
	b.err = m.cfg.Store.Charge(ctx, closed)
	if b.err == nil && m.cfg.Booked != nil {
		m.cfg.Booked(b.size, b.credits())
	}
	return b.err
}

func (b *batch) credits() (sum int64) {
	for _, n := range b.Debits {
		sum += n
	}
	return sum
}

// errNotBooked is what a batch failed with that nobody finished.
var errNotBooked = errors.New("the batch was not booked")

// bookAll books all that was decided, so that the books on disk are those that were remembered. The caller holds booking and mu.
func (m *Meter) bookAll(ctx context.Context) {
	waiting, failed := m.waiting, false
	m.open, m.waiting = nil, nil
	for _, b := range waiting {
		if m.book(ctx, b, b.Whole) != nil {
			m.undo(b)
			failed = true
		}
	}
	if failed {
		m.forget()
	}
}

// undo takes back what b has counted by address: it was not booked. The caller holds booking and mu.
func (m *Meter) undo(b *batch) {
	for client, n := range b.clients {
		if w := m.clients[client]; w != nil {
			w.take(n)
		}
	}
	clear(b.clients)
}

// forget forgets what was remembered; it is read again when it is needed. That may only be done when all that was decided is booked:
// what is not on disk would be forgotten with it. The caller holds booking and mu.
func (m *Meter) forget() {
	clear(m.books)
	clear(m.free)
	clear(m.volumes)
	clear(m.days)
}

// WithLock runs act, which moves credits or keys of an owner, while nothing is charged. What was remembered of the owner is
// read again afterwards.
func (m *Meter) WithLock(ctx context.Context, ownerID string, act func() error) error {
	return m.WithLockOnAll(ctx, func() ([]string, error) { return []string{ownerID}, act() })
}

// WithLockOnAll runs act, which moves credits or keys of the owners that it returns, while nothing is charged. What was remembered of
// them is read again afterwards.
func (m *Meter) WithLockOnAll(ctx context.Context, act func() (owners []string, err error)) error {
	if err := m.lock(ctx); err != nil {
		return err
	}
	var owners []string
	defer func() { m.unlock(owners) }()
	var err error
	owners, err = act()
	return err
}

// lock books all calls that were decided, and has nothing charged until unlock. It fails where ctx has ended.
func (m *Meter) lock(ctx context.Context) error {
	m.booking.Lock()
	m.mu.Lock()
	locked := false
	defer func() {
		if !locked { // also where the store has panicked
			m.unlock(nil)
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	m.bookAll(context.WithoutCancel(ctx))
	locked = true
	return nil
}

// unlock has calls charged again. The books of owners are read again.
func (m *Meter) unlock(owners []string) {
	for _, owner := range owners {
		delete(m.books, owner)
	}
	if len(owners) > 0 {
		clear(m.days) // a key may have had no bound for a while
	}
	m.mu.Unlock()
	m.booking.Unlock()
}
