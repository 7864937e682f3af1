package daemon

import (
	"context"
	"errors"
	"sync"
)

// errOver says that a life is over.
var errOver = errors.New("it is over")

// life is a time in which things run: all of them have ended when it is over. It can begin again.
type life struct {
	mu   sync.Mutex      // guards ctx and end, and adding to busy
	ctx  context.Context // nil while there is none
	end  context.CancelFunc
	busy sync.WaitGroup
}

// begin begins it. What runs in it has the values of ctx.
func (l *life) begin(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ctx, l.end = context.WithCancel(context.WithoutCancel(ctx))
}

// stop ends it and waits until nothing runs any more.
func (l *life) stop() {
	l.mu.Lock()
	if l.ctx != nil {
		l.end()
		l.ctx = nil
	}
	l.mu.Unlock()
	l.busy.Wait()
}

// enter notes that something runs, until leave is called; ctx is nil while it cannot.
func (l *life) enter() (ctx context.Context, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx != nil {
		l.busy.Add(1)
	}
	return l.ctx, l.busy.Done
}

// spend runs f in the background until the end, which ctx tells.
func (l *life) spend(f func(ctx context.Context)) {
	if ctx, leave := l.enter(); ctx != nil {
		go func() {
			defer leave()
			f(ctx)
		}()
	}
}

// join runs f with a context that ends with ctx and with l. It fails with errOver where l was over before f was done.
func (l *life) join(ctx context.Context, f func(ctx context.Context) error) error {
	mine, leave := l.enter()
	if mine == nil {
		return errOver
	}
	defer leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(mine, cancel)()
	err := f(ctx)
	if err != nil && mine.Err() != nil {
		return errOver
	}
	return err
}
