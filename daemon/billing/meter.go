package billing

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

const (
	maxBatch  = 512    // charges in one transaction
	maxQueue  = 4096   // charges that wait; more make their callers wait to be let in
	maxKept   = 50_000 // keys whose windows are kept in memory; with more, all are read anew as they call
	gatherFor = 2      // times that the clerk lets others run before it closes a batch
)

// Store keeps the books. Each method is one transaction, on disk when it returns.
type Store interface {
	// Records returns the keys of an owner that are not revoked, oldest first.
	Records(ctx context.Context, ownerID string) ([]Record, error)
	// Past returns what counts against a key: free calls and hours with paid calls after the given times.
	Past(ctx context.Context, keyID string, free, paid time.Time) (Past, error)
	// Charge books b whole, or nothing of it and ErrConflict where a record has not the credits that b takes from it.
	Charge(ctx context.Context, b Batch) error
}

// Config is what a Meter needs.
type Config struct {
	Store     Store
	Plans     Plans            // nil means DefaultPlans
	FreeCalls int              // per key and 24 hours; 0 means api.FreeCallsPerDay
	Now       func() time.Time // nil means time.Now
}

// Meter charges calls. Make one with New, Run it, and only then Charge. There is at most one for a set of books.
type Meter struct {
	cfg    Config
	orders chan *order
	closed chan struct{} // when Run has ended

	// What follows belongs to the goroutine of Run.
	books   map[string]*book    // by owner
	windows map[string]*windows // by key
}

// book is the credits of one owner.
type book struct {
	records []Record // as Store.Records
	pool    int64    // their sum
}

// windows are those of one key.
type windows struct{ free, volume *window }

// order is what a caller asks the clerk for: a charge, or an act that needs the books to itself.
type order struct {
	call  Call
	act   func() error
	state atomic.Int32
	err   error
	done  chan struct{}
}

// States of an order. A caller who leaves takes a waiting order back; one that was taken is carried out.
const (
	waiting int32 = iota
	taken
	left
)

// New makes a Meter.
func New(cfg Config) *Meter {
	if cfg.Plans == nil {
		cfg.Plans = DefaultPlans()
	}
	if cfg.FreeCalls == 0 {
		cfg.FreeCalls = api.FreeCallsPerDay
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Meter{
		cfg: cfg, orders: make(chan *order, maxQueue), closed: make(chan struct{}),
		books: map[string]*book{}, windows: map[string]*windows{},
	}
}

// errClosed is what is said when the Meter has ended.
var errClosed = errors.New("the meter has stopped")

// Charge charges c and returns nil once that is on disk, or the *api.Error that says why the call may not be answered. A caller
// who leaves before his turn is not charged.
func (m *Meter) Charge(ctx context.Context, c Call) error {
	return m.submit(ctx, &order{call: c, done: make(chan struct{})})
}

// Exclusively runs act, which moves credits or keys of an owner, while nothing is charged. What the Meter knew of the owner is
// read anew afterwards.
func (m *Meter) Exclusively(ctx context.Context, ownerID string, act func() error) error {
	return m.submit(ctx, &order{call: Call{OwnerID: ownerID}, act: act, done: make(chan struct{})})
}

// submit hands o to the clerk and waits for the outcome.
func (m *Meter) submit(ctx context.Context, o *order) error {
	select {
	case m.orders <- o:
	case <-ctx.Done():
		return ctx.Err()
	case <-m.closed:
		return errClosed
	}
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
		if o.state.CompareAndSwap(waiting, left) {
			return ctx.Err()
		}
	case <-m.closed:
		if o.state.CompareAndSwap(waiting, left) {
			return errClosed
		}
	}
	<-o.done // the clerk has it already: it takes no longer than a commit
	return o.err
}

// Run decides and books until ctx is done and what was taken is carried out.
func (m *Meter) Run(ctx context.Context) {
	defer close(m.closed)
	work := context.WithoutCancel(ctx) // what was taken is booked even at a stop
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-m.orders:
			m.serve(work, o)
		}
	}
}

// serve carries out first and what has come together behind it.
func (m *Meter) serve(ctx context.Context, first *order) {
	var batch []*order
	for o := first; o != nil; o = m.next(len(batch)) {
		if !o.state.CompareAndSwap(waiting, taken) {
			continue // its caller has left
		}
		if o.act == nil {
			batch = append(batch, o)
			continue
		}
		m.charge(ctx, batch) // in order of arrival
		batch = nil
		o.err = o.act()
		m.forget(o.call)
		close(o.done)
	}
	m.charge(ctx, batch)
}

// next is the next order of a batch that has n, nil when it is time to book. It gives callers that are about to come the
// processor for a moment: without that, batches of few connections are half empty.
func (m *Meter) next(n int) *order {
	if n >= maxBatch {
		return nil
	}
	for try := 0; ; try++ {
		select {
		case o := <-m.orders:
			return o
		default:
		}
		if try == gatherFor {
			return nil
		}
		runtime.Gosched()
	}
}

// charge decides and books a batch and tells its callers. Where the books turn out to be others than the clerk thought, he reads them
// and decides once more.
func (m *Meter) charge(ctx context.Context, batch []*order) {
	if len(batch) == 0 {
		return
	}
	err := m.book(ctx, batch)
	if errors.Is(err, ErrConflict) {
		err = m.book(ctx, batch)
	}
	for _, o := range batch {
		if err != nil && o.err == nil { // a refusal stays one
			o.err = fmt.Errorf("charge: %w", err)
		}
		close(o.done)
	}
}

// book decides each order of a batch and books what was decided in one transaction. If that fails, nothing was charged, and what the
// clerk knew of the owners and keys is forgotten.
func (m *Meter) book(ctx context.Context, batch []*order) error {
	if len(m.windows) > maxKept {
		clear(m.books)
		clear(m.windows)
	}
	now := m.cfg.Now()
	b := Batch{Debits: map[string]int64{}, Usage: map[UsageKey]Count{}, Free: map[string]Stamp{}}
	charged := false
	for _, o := range batch {
		o.err = m.decide(ctx, o.call, now, &b)
		charged = charged || o.err == nil
	}
	if !charged {
		return nil
	}
	err := m.cfg.Store.Charge(ctx, b)
	if err != nil {
		for _, o := range batch {
			m.forget(o.call)
		}
	}
	return err
}

// forget drops what is known of the owner and the key of c; it is read anew when it is needed.
func (m *Meter) forget(c Call) {
	delete(m.books, c.OwnerID)
	delete(m.windows, c.KeyID)
}
