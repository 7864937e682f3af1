package cluster_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/cluster"
)

// TestTasks: what runs is waited for, what comes while they are stopped does not run, and they can be started again.
func TestTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tasks cluster.Tasks
		nothing := func(context.Context) error { return nil }
		tasks.Go(func(context.Context) { t.Error("it runs before the start") })
		if err := tasks.Do(t.Context(), nothing); !errors.Is(err, cluster.ErrStopped) {
			t.Errorf("before the start: %v", err)
		}
		for range 2 {
			tasks.Start(t.Context())
			began := time.Now()
			ended := 0
			tasks.Go(func(ctx context.Context) {
				<-ctx.Done()
				time.Sleep(time.Second)
				ended++
			})
			if err := tasks.Do(t.Context(), nothing); err != nil {
				t.Errorf("while they run: %v", err)
			}
			if err := tasks.Do(t.Context(), func(context.Context) error { return errBroken }); !errors.Is(err, errBroken) {
				t.Errorf("its own error: %v", err)
			}
			stopped := make(chan error, 1)
			go func() {
				stopped <- tasks.Do(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
			}()
			synctest.Wait()
			tasks.Stop()
			if time.Since(began) != time.Second || ended != 1 {
				t.Errorf("stopped after %s, %d have ended", time.Since(began), ended)
			}
			if err := <-stopped; !errors.Is(err, cluster.ErrStopped) {
				t.Errorf("stopped within: %v", err)
			}
			if err := tasks.Do(t.Context(), nothing); !errors.Is(err, cluster.ErrStopped) {
				t.Errorf("after the stop: %v", err)
			}
		}
		tasks.Start(t.Context())
		defer tasks.Stop()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := tasks.Do(ctx, func(ctx context.Context) error { return ctx.Err() }); !errors.Is(err, context.Canceled) {
			t.Errorf("the caller has left: %v", err)
		}
	})
}
