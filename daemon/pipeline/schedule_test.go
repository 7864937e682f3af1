package pipeline_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestSlots: at once, then in slots that are aligned to the clock, shifted by one phase for the life of the process.
func TestSlots(t *testing.T) {
	virtual(t, func(t *testing.T) {
		phases := map[time.Duration]bool{}
		for range 8 {
			r := build(t, newPack(times(1)...), func(r *rig) { r.cfg.Jitter = 20 * time.Second })
			time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + 123*time.Second)))
			begin := time.Now()
			stop := r.start()
			time.Sleep(4 * 5 * time.Minute)
			stop()
			got := r.fetcher.asking("s1", begin)
			if len(got) != 5 || got[0] != 0 {
				t.Fatalf("asked after %v, want at once and in four slots", got)
			}
			phase := begin.Add(got[1]).Sub(begin.Truncate(5*time.Minute)) - 5*time.Minute
			if phase < 0 || phase > 20*time.Second {
				t.Errorf("phase %v is not within the jitter", phase)
			}
			for i := 2; i < len(got); i++ {
				want(t, "from slot to slot", got[i]-got[i-1], 5*time.Minute)
			}
			phases[phase] = true
		}
		if len(phases) < 2 {
			t.Errorf("all processes refresh at the same time, with phase %v", phases)
		}
	})
}

// TestDefaultJitterIsSmall: a twentieth of the interval, at most 15 s.
func TestDefaultJitterIsSmall(t *testing.T) {
	virtual(t, func(t *testing.T) {
		for every, most := range map[time.Duration]time.Duration{0: 15 * time.Second, 15 * time.Second: 750 * time.Millisecond} {
			for range 8 {
				r := build(t, newPack(time.Nanosecond), func(r *rig) { r.cfg.Jitter, r.cfg.Every = 0, every })
				time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + most + 1))) // in a slot, whatever the phase
				step := every
				if step == 0 {
					step = api.RefreshInterval
				}
				begin := time.Now()
				stop := r.start()
				time.Sleep(step)
				stop()
				got := r.fetcher.asking("s1", begin)
				if len(got) != 2 || got[1] > step || got[1] < step-most-1 {
					t.Errorf("every %v: asked after %v", every, got)
				}
			}
		}
	})
}

// TestFirstRetry: while there is no state, a failed refresh is tried again after 5 s, 10 s, and so on, then in every slot, for
// however long it takes.
func TestFirstRetry(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(1)...), nil)
		r.fetcher.tell(func(_ context.Context, n int) source.Outcome {
			if n > 10_000 { // ends what would never end
				return fee(1)
			}
			return failing(source.ClassNetwork, 0)(t.Context(), n)
		}, "s1")
		begin := time.Now()
		r.start()
		time.Sleep(48*time.Hour - time.Second)
		got := r.fetcher.asking("s1", begin)
		s := time.Second
		want(t, "first attempts", got[:9], []time.Duration{0, 5 * s, 15 * s, 35 * s, 75 * s, 155 * s, 300 * s, 600 * s, 900 * s})
		want(t, "attempts in two days", len(got), 6+48*12-1)
		want(t, "error lines", r.log.Count("level=ERROR", "every source failed"), len(got))
		r.fetcher.tell(counting, "s1")
		time.Sleep(2 * s)
		if r.edition() == nil {
			t.Error("no state in the first slot after the network is back")
		}
	})
}

// TestFailureWithStateWaitsForTheSlot: once there is a state, there is no hurry.
func TestFailureWithStateWaitsForTheSlot(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(1)...), nil)
		begin := time.Now()
		r.start()
		time.Sleep(time.Second)
		r.fetcher.tell(failing(source.ClassNetwork, 0), "s1")
		time.Sleep(15 * time.Minute)
		m := time.Minute
		want(t, "attempts", r.fetcher.asking("s1", begin), []time.Duration{0, 5 * m, 10 * m, 15 * m})
	})
}

// TestEverySlotHasAState: also the slot after a refresh out of turn, unless that was a moment ago. Longer intervals are kept.
func TestEverySlotHasAState(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(5*time.Minute, 10*time.Minute), nil)
		begin := time.Now()
		time.Sleep(2 * time.Minute)
		r.start()
		time.Sleep(5 * time.Minute) // 7
		if _, err := r.Refresh(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(12*time.Minute + 45*time.Second) // 19:45
		if _, err := r.Refresh(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(12 * time.Minute)
		m := time.Minute
		forced := 19*m + 45*time.Second
		want(t, "attempts every 5 minutes", r.fetcher.asking("s1", begin), []time.Duration{2 * m, 5 * m, 7 * m, 10 * m, 15 * m, forced, 25 * m, 30 * m})
		want(t, "attempts every 10 minutes", r.fetcher.asking("s2", begin), []time.Duration{2 * m, 7 * m, 20*m - 15*time.Second, 30 * m})
	})
}

// TestNoStateGetsOld: however long sources take, up to a bound, no state is older than an interval when the next one is there, and no source
// is asked more often than its interval but for the slack. Before anything is known of them, Early counts.
func TestNoStateGetsOld(t *testing.T) {
	for name, c := range map[string]struct {
		took  func(n int) time.Duration
		early time.Duration
		old   bool // once a state is
	}{
		"at once":          {func(int) time.Duration { return 0 }, 0, false},
		"nine seconds":     {func(int) time.Duration { return 9 * time.Second }, 0, false},
		"now and then":     {func(n int) time.Duration { return time.Duration(n%3) * 4 * time.Second }, 0, false},
		"once, within":     {func(n int) time.Duration { return map[bool]time.Duration{n == 4: 10 * time.Second}[true] }, 10 * time.Second, false},
		"once, beyond":     {func(n int) time.Duration { return map[bool]time.Duration{n == 4: 12 * time.Second}[true] }, 10 * time.Second, true},
		"beyond the bound": {func(n int) time.Duration { return 20*time.Second + time.Duration(n%2)*8*time.Second }, 0, true},
		"within it":        {func(n int) time.Duration { return 20*time.Second + time.Duration(n%2)*5*time.Second }, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				r := build(t, newPack(5*time.Minute, 15*time.Minute), func(r *rig) { r.cfg.Early = c.early })
				slow := func(ctx context.Context, n int) source.Outcome {
					time.Sleep(c.took(n))
					return fee(float64(n))
				}
				r.fetcher.tell(slow, "s1")
				begin := time.Now()
				r.start()
				time.Sleep(10 * time.Minute) // it is known by then how long they take
				oldest := time.Duration(0)
				for time.Since(begin) < 2*time.Hour {
					oldest = max(oldest, time.Since(r.edition().GeneratedAt))
					time.Sleep(500 * time.Millisecond)
				}
				if old := oldest >= 301*time.Second; old != c.old {
					t.Errorf("a state got %v old", oldest)
				}
				for id, every := range map[string]time.Duration{"s1": 5 * time.Minute, "s2": 15 * time.Minute} {
					asked := r.fetcher.asking(id, begin)
					for i := 1; i < len(asked); i++ {
						if gap := asked[i] - asked[i-1]; gap < every-slack {
							t.Errorf("%s was asked again after %v", id, gap)
						}
					}
					if most := int(2*time.Hour/every) + 1; len(asked) > most {
						t.Errorf("%s was asked %d times in two hours, more than %d", id, len(asked), most)
					}
				}
			})
		})
	}
}

// TestStopDuringRefresh: Run ends as soon as it is told, and nothing half done is kept.
func TestStopDuringRefresh(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(12)...), nil)
		r.fetcher.tell(hanging, "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9")
		stop := r.start()
		synctest.Wait()
		want(t, "sources that hang", r.fetcher.busy, 8)
		begin := time.Now()
		stop()
		want(t, "time to stop", time.Since(begin), time.Duration(0))
		want(t, "calls under way", r.fetcher.busy, 0)
		if saved := r.saved(); saved.Pulse != nil || len(saved.Sources) > 0 {
			t.Errorf("saved %+v", saved)
		}
		want(t, "error lines", r.log.Count("level=ERROR"), 0)
	})
}

func TestStopBetweenRefreshes(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(2)...), nil)
		stop := r.start()
		time.Sleep(time.Minute)
		begin := time.Now()
		stop()
		want(t, "time to stop", time.Since(begin), time.Duration(0))
		want(t, "error lines", r.log.Count("level=ERROR"), 0)
	})
}

// TestPrune: at once, then daily, and a failure is logged and not the end.
func TestPrune(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := new(troubled)
		r := build(t, newPack(times(1)...), trouble(s))
		r.fetcher.tell(failing(source.ClassNetwork, 0), "s1")
		left := func() (n int) {
			for at := r.clock.now().Add(time.Hour); ; n++ {
				p, err := r.store.PulseBefore(t.Context(), packID, at)
				if errors.Is(err, state.ErrNoPulse) {
					return n
				}
				if err != nil {
					t.Fatal(err)
				}
				at = p.GeneratedAt
			}
		}
		begin := r.clock.now().UTC()
		for _, age := range []time.Duration{time.Hour, time.Minute, -12 * time.Hour, -36 * time.Hour, -60 * time.Hour} { // past the retention
			p := state.Pulse{Pack: packID, Version: 1, GeneratedAt: begin.Add(-api.HistoryRetention - age), State: []byte(`{}`)}
			if _, err := r.store.SavePulse(t.Context(), p, state.Brief{}, nil); err != nil {
				t.Fatal(err)
			}
		}
		r.start()
		synctest.Wait()
		want(t, "states at once, the keyframe of all among them", left(), 4)
		s.fail(errors.New("disk full"))
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		want(t, "states after a prune that failed", left(), 4)
		want(t, "error lines", r.log.Count("level=ERROR", "history not pruned", "disk full"), 1)
		s.fail(nil)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		want(t, "states after two days", left(), 2)
		want(t, "log lines", r.log.Count("history pruned"), 2)
	})
}
