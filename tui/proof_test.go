package tui_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/tui"
)

// TestProven shows that a state is proven, looks once at each, and warns, for good, of a log that is not the one that was known.
func TestProven(t *testing.T) {
	t.Parallel()
	var looks atomic.Int64
	var forked atomic.Bool
	d := live(t, 120, 40, func(c *tui.Config) {
		c.Prove = func(_ context.Context, pack string, made time.Time, state []byte) (bool, error) {
			looks.Add(1)
			if pack != "crypto" || made.IsZero() || len(state) == 0 {
				return false, errors.New("what is asked for is no state")
			}
			if forked.Load() {
				return false, errors.New("the log has two histories")
			}
			return true, nil
		}
	})
	d.until("proven", func(string) bool { return strings.Contains(d.top(), " proven") })
	if n := looks.Load(); n != 1 || strings.Contains(d.view(), "do not rely") {
		t.Errorf("looked %d times at one state\n%s", n, d.view())
	}
	forked.Store(true)
	d.fake.events <- delta(moved(t), time.Second)
	d.until("the warning", func(v string) bool {
		return strings.Contains(v, "do not rely on this service: the log has two histories") && !strings.Contains(d.top(), " proven")
	})
	forked.Store(false)
	d.fake.events <- delta(state(t), 0)
	d.until("the next look", func(string) bool { return looks.Load() == 3 })
	if v := d.view(); !strings.Contains(v, "do not rely on this service") || strings.Contains(d.top(), " proven") {
		t.Errorf("the warning is gone\n%s", v)
	}
}
