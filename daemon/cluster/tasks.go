package cluster

import (
	"context"
	"errors"
	"sync"
)

// ErrStopped is the error of what was to run, or ran, in Tasks that were stopped.
var ErrStopped = errors.New("the tasks were stopped")

// Tasks are goroutines that are stopped together, and waited for. They can be started again. The zero Tasks are stopped. They are safe for
// concurrent use.
type Tasks struct {
	mu     sync.Mutex      // guards ctx and cancel, and adding to active
	ctx    context.Context // nil while they are stopped
	cancel context.CancelFunc
	active sync.WaitGroup
}

// Start lets tasks run, which have the values of ctx.
func (t *Tasks) Start(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
}

// Stop ends the tasks and waits until none runs any more.
func (t *Tasks) Stop() {
	t.mu.Lock()
	if t.ctx != nil {
		t.cancel()
		t.ctx = nil
	}
	t.mu.Unlock()
	t.active.Wait()
}

// enter notes that a task runs, until done is called; ctx is nil while none may.
func (t *Tasks) enter() (ctx context.Context, done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx != nil {
		t.active.Add(1)
	}
	return t.ctx, t.active.Done
}

// Go runs f in the background, with a context that ends when the tasks are stopped. It does nothing while they are.
func (t *Tasks) Go(f func(ctx context.Context)) {
	if ctx, done := t.enter(); ctx != nil {
		go func() {
			defer done()
			f(ctx)
		}()
	}
}

// Do runs f with a context that ends with ctx, and when the tasks are stopped. It fails with ErrStopped where they were stopped before f
// was done.
func (t *Tasks) Do(ctx context.Context, f func(ctx context.Context) error) error {
	own, done := t.enter()
	if own == nil {
		return ErrStopped
	}
	defer done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(own, cancel)()
	err := f(ctx)
	if err != nil && own.Err() != nil {
		return ErrStopped
	}
	return err
}
