package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
)

// away is the failure of a database that does not answer.
type away struct{ error }

func (away) Unavailable() bool { return true }

// TestShareBounds: what other nodes did is read each half second, at once when a hint comes, and not twice within 20 ms. Keys are believed
// for three seconds after the beginning of the last look that succeeded, and no longer. An outage is logged as one.
func TestShareBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var log daemontest.Log
		began := time.Now()
		var mu sync.Mutex // guards what follows
		var reads []time.Duration
		var gone error
		lost, catchUp, failed, hint := daemon.NewShare(ctx, func() error {
			mu.Lock()
			defer mu.Unlock()
			reads = append(reads, time.Since(began))
			return gone
		}, log.Logger())
		fails := func(err error) {
			mu.Lock()
			defer mu.Unlock()
			gone = err
		}
		at := func(d time.Duration) {
			time.Sleep(time.Until(began.Add(d)))
			synctest.Wait()
		}
		seen := func(want ...time.Duration) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(reads, want) {
				t.Errorf("read at %v, want %v", reads, want)
			}
			reads = nil
		}
		const ms = time.Millisecond
		at(499 * ms)
		seen(0)
		at(1000 * ms)
		seen(500*ms, 1000*ms)
		at(1005 * ms)
		hint()
		at(1019 * ms)
		seen()
		at(1020 * ms)
		seen(1020 * ms)
		at(1100 * ms)
		hint()
		at(1100 * ms)
		seen(1100 * ms)

		at(1400 * ms)
		cut := away{errors.New("cut")}
		fails(cut)
		at(4100 * ms) // three seconds after the last look that succeeded
		if err := lost(); err != nil {
			t.Errorf("lost after three seconds: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if err := lost(); err == nil {
			t.Error("keys are believed for more than three seconds")
		}
		if err := catchUp(); err == nil {
			t.Error("a look that fails is none")
		}
		for range 3 {
			if !failed(fmt.Errorf("charge: %w", cut)) {
				t.Error("a call that fails for want of the database is told of by itself")
			}
		}
		if failed(errors.New("a defect")) {
			t.Error("a defect is taken for an outage")
		}
		fails(nil)
		at(4600 * ms)
		if err := lost(); err != nil {
			t.Errorf("lost when the database is back: %v", err)
		}
		at(6000 * ms) // two seconds less one look after the last call that failed
		if log.Count("level=ERROR") != 1 || log.Count("answers again") != 0 {
			t.Errorf("an outage that may go on is logged so: %s", log.String())
		}
		at(6500 * ms)
		if log.Count("level=ERROR") != 1 || log.Count("answers again", "refused_calls=3") != 1 {
			t.Errorf("an outage is logged so: %s", log.String())
		}
		failed(cut)
		if log.Count("level=ERROR") != 2 {
			t.Errorf("the next outage is logged so: %s", log.String())
		}
	})
}
