package web_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// crowded is more subjects than a Limiter tells apart exactly.
const crowded = 21_000

// limited checks that err refuses and says to wait so long.
func limited(t *testing.T, what string, err error, wait time.Duration) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Reason != api.ReasonRateLimited || e.RetryAfter != wait {
		t.Errorf("%s: %v, want a refusal for %v", what, err, wait)
	}
}

// TestLimiter is both sides of each bound: the burst, the moment of the next, and what is whole again.
func TestLimiter(t *testing.T) {
	t.Parallel()
	clock := daemontest.NewClock()
	l := web.NewLimiter(3, time.Minute, clock.Now)
	for i, step := range []struct {
		later time.Duration
		wait  time.Duration // 0 is allowed
	}{
		{0, 0}, {0, 0}, {0, 0}, {0, time.Minute}, {59 * time.Second, time.Second}, {time.Second - 1, time.Second}, {1, 0},
		{0, time.Minute}, {3*time.Minute - 1, 0}, {0, 0}, {0, time.Second}, {1, 0}, {0, time.Minute},
	} {
		clock.Advance(step.later)
		if err := l.Allow("a"); step.wait > 0 {
			limited(t, fmt.Sprintf("step %d", i), err, step.wait)
		} else if err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
	if err := l.Allow("b"); err != nil {
		t.Errorf("another subject: %v", err)
	}
	l.Set(3, time.Minute)
	limited(t, "the same rate set again", l.Allow("a"), time.Minute)
	l.Set(1, time.Hour)
	if err := l.Allow("a"); err != nil {
		t.Errorf("after another rate was set: %v", err)
	}
	limited(t, "by the new rate", l.Allow("a"), time.Hour)
	clock.Advance(-20 * time.Hour)
	if err := l.Allow("a"); err != nil {
		t.Errorf("by a clock that is set back: %v", err)
	}
	limited(t, "by that clock, again", l.Allow("a"), time.Hour)
}

// TestLimiterOfSeveral: who is several subjects at once uses none of them up while one is refused.
func TestLimiterOfSeveral(t *testing.T) {
	t.Parallel()
	l := web.NewLimiter(1, time.Minute, daemontest.NewClock().Now)
	if err := l.AllowAll("a", "net"); err != nil {
		t.Error(err)
	}
	limited(t, "the second is used up", l.AllowAll("b", "net"), time.Minute)
	if err := l.AllowAll("b"); err != nil {
		t.Errorf("the first was used by a refusal: %v", err)
	}
}

// TestFullLimiter: while a crowd fills it, a newcomer is let in, who is blocked stays blocked, and nobody is in one bucket with the crowd.
func TestFullLimiter(t *testing.T) {
	t.Parallel()
	clock := daemontest.NewClock()
	l := web.NewLimiter(2, time.Minute, clock.Now)
	block := func(subject string) {
		t.Helper()
		for range 2 {
			if err := l.Allow(subject); err != nil {
				t.Fatalf("%s: %v", subject, err)
			}
		}
		limited(t, subject, l.Allow(subject), time.Minute)
	}
	block("early")
	for i := range crowded {
		if err := l.Allow(fmt.Sprint("crowd ", i)); err != nil {
			t.Fatalf("crowd %d: %v", i, err)
		}
	}
	for i := range 100 {
		block(fmt.Sprint("honest ", i))
	}
	limited(t, "who was blocked before it was full", l.Allow("early"), time.Minute)
	clock.Advance(30 * time.Second)
	for i := range 100 { // places may have become free, and yet they are blocked
		limited(t, "who was blocked when it was full", l.Allow(fmt.Sprint("honest ", i)), 30*time.Second)
	}
	clock.Advance(90 * time.Second) // all is whole again
	for i := range 100 {
		block(fmt.Sprint("honest ", i))
	}
	block("early")
}

// TestLimiterIsSmall however long the names of subjects are and however many come.
func TestLimiterIsSmall(t *testing.T) {
	l := web.NewLimiter(2, time.Minute, daemontest.NewClock().Now)
	name := strings.Repeat("x", 64<<10)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 5 * crowded {
		_ = l.Allow(fmt.Sprint(i, name[:len(name)/64]))
	}
	for i := range 100 {
		_ = l.Allow(fmt.Sprint(i, name))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the limiter grew to %d KiB", grown>>10)
	}
	runtime.KeepAlive(l)
}

// TestWhoseLimit: who is refused is told whether the limit is theirs or that of their network.
func TestWhoseLimit(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Unix(1, 0) }
	for _, c := range []struct{ used, whose string }{{"client", "from your address"}, {"site", "from your network"}} {
		l := web.NewLimiter(1, time.Minute, now)
		if err := l.Allow(c.used); err != nil {
			t.Fatal(err)
		}
		if err := l.AllowAll("client", "site"); err == nil || !strings.Contains(err.Error(), c.whose) {
			t.Errorf("%s: %v, want %q", c.used, err, c.whose)
		}
	}
}
