package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/sdk/api"
)

// pen is a writer that writes as told and counts.
type pen struct {
	mu      sync.Mutex // guards what follows
	err     error
	takes   time.Duration
	written []time.Time // when it was asked
}

func (p *pen) Name() string { return "pen" }

func (p *pen) Write(ctx context.Context, in brief.Input) (brief.Draft, error) {
	p.mu.Lock()
	p.written = append(p.written, time.Now())
	n, takes, err := len(p.written), p.takes, p.err
	p.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return brief.Draft{}, ctx.Err()
	}
	if err != nil {
		return brief.Draft{}, err
	}
	return brief.Draft{Text: fmt.Sprintf("All is %s [1].", []string{"well", "quiet", "calm"}[n%3])}, nil
}

// set says how the pen writes from now on.
func (p *pen) set(err error, takes time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.takes = err, takes
}

// times lists when the pen was asked, since begin.
func (p *pen) times(begin time.Time) (list []time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range p.written {
		list = append(list, at.Sub(begin))
	}
	return list
}

// writing makes p the only writer of a rig.
func writing(p *pen) func(*rig) {
	return func(r *rig) { r.cfg.Writers = []brief.Writer{p} }
}

// TestFirstBriefThenDaily: as soon as there is a state, then with the first state after the time of day.
func TestFirstBriefThenDaily(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := new(pen)
		r := build(t, newPack(times(1)...), func(r *rig) {
			writing(w)(r)
			r.cfg.Every, r.cfg.BriefAt = 30*time.Minute, 6*time.Hour+2*time.Minute
		})
		r.desk.tell(failing(source.ClassNetwork, 0), "s1")
		midnight := time.Now()
		time.Sleep(time.Hour)
		r.start()
		time.Sleep(11 * time.Second)
		want(t, "briefs without a state", len(w.times(midnight)), 0)
		r.desk.tell(counting, "s1")
		time.Sleep(48*time.Hour - 11*time.Second)
		first := w.times(midnight)[0]
		want(t, "first brief", first, time.Hour+15*time.Second)
		m := time.Minute
		want(t, "briefs", w.times(midnight)[1:], []time.Duration{6*time.Hour + 30*m, 30*time.Hour + 30*m})
		got := r.edition().Brief
		want(t, "brief that is served", got, r.saved().Brief)
		want(t, "brief", []any{got.At, got.Writer}, []any{midnight.Add(30*time.Hour + 30*m).UTC(), "pen"})
	})
}

// TestRestartKeepsTheDailyBrief: what was written today is not written again, what was missed is.
func TestRestartKeepsTheDailyBrief(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := new(pen)
		r := build(t, newPack(times(1)...), writing(w))
		begin := time.Now()
		run := func(d time.Duration) {
			stop := r.start()
			time.Sleep(d)
			stop()
			r.reopen(nil)
		}
		run(time.Hour)
		run(time.Hour)
		want(t, "briefs of the day", w.times(begin), []time.Duration{0})
		time.Sleep(23 * time.Hour) // over midnight, when a brief is due
		run(time.Hour)
		want(t, "briefs", w.times(begin), []time.Duration{0, 25 * time.Hour})
	})
}

func TestEveryState(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := new(pen)
		r := build(t, newPack(times(1)...), func(r *rig) {
			writing(w)(r)
			r.cfg.EveryState = true
		})
		begin := time.Now()
		stop := r.start()
		time.Sleep(12 * time.Minute)
		stop()
		r.reopen(nil) // which has its brief already
		r.start()
		time.Sleep(2 * time.Minute)
		m := time.Minute
		want(t, "briefs", w.times(begin), []time.Duration{0, 5 * m, 10 * m})
		r.desk.tell(failing(source.ClassNetwork, 0), "s1")
		time.Sleep(10 * time.Minute)
		want(t, "briefs without a new state", len(w.times(begin)), 3)
	})
}

// TestSlowWriterHoldsNothingUp: states come in their slots while a brief is written, and the brief is bounded.
func TestSlowWriterHoldsNothingUp(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := &pen{takes: time.Hour}
		r := build(t, newPack(time.Nanosecond), func(r *rig) {
			writing(w)(r)
			r.cfg.Every = 30 * time.Second
		})
		begin := time.Now()
		stop := r.start()
		time.Sleep(5*time.Minute + time.Second)
		want(t, "states", len(r.desk.asking("s1", begin)), 11)
		want(t, "attempts at a brief", w.times(begin), []time.Duration{0, 2 * time.Minute, 4 * time.Minute})
		want(t, "error lines", r.log.Count("level=ERROR", "no brief was written", "deadline"), 2)
		w.set(nil, 0)
		time.Sleep(time.Minute)
		want(t, "brief after all", r.edition().Brief.Writer, "pen")
		w.set(nil, time.Hour)
		go func() { _ = r.Narrate(t.Context()) }()
		synctest.Wait()
		now := time.Now()
		stop()
		want(t, "time to stop", time.Since(now), time.Duration(0))
		time.Sleep(2 * time.Minute) // the brief that was forced
	})
}

// TestFailingWriterIsLogged: once for every state.
func TestFailingWriterIsLogged(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := &pen{err: errors.New("out of ink")}
		r := build(t, newPack(times(1)...), writing(w))
		begin := time.Now()
		r.refresh()
		r.start()
		time.Sleep(11 * time.Minute)
		want(t, "states", len(r.desk.asking("s1", begin)), 3)
		want(t, "error lines", r.log.Count("level=ERROR", "no brief was written", "out of ink"), 3)
		if e := r.edition(); e.Brief.Text != "" || r.saved().Brief.Text != "" {
			t.Errorf("brief %q", e.Brief.Text)
		}
		w.set(nil, 0)
		time.Sleep(10 * time.Minute)
		want(t, "attempts once it writes", len(w.times(begin)), 4)
	})
}

// TestNextWriterStepsIn: a text that does not hold against the state is as bad as none.
func TestNextWriterStepsIn(t *testing.T) {
	virtual(t, func(t *testing.T) {
		liar := liar{}
		r := build(t, newPack(times(1)...), func(r *rig) {
			r.cfg.Writers = []brief.Writer{&pen{err: errors.New("out of ink")}, liar, brief.BuiltIn()}
		})
		r.refresh()
		if err := r.Narrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, "writer", r.edition().Brief.Writer, brief.BuiltIn().Name())
	})
}

// TestHangingWriterDelaysNothing: states are made while it hangs, the next writer has its turn after the time for one text, and the
// next day's brief is on time.
func TestHangingWriterDelaysNothing(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := new(pen)
		w.set(nil, 100*24*time.Hour)
		r := build(t, newPack(times(1)...), func(r *rig) {
			r.cfg.Writers = []brief.Writer{w, brief.BuiltIn()}
			r.cfg.Every, r.cfg.BriefAt, r.cfg.TextWithin = 5*time.Minute, 12*time.Hour, 7*time.Minute
		})
		begin := time.Now()
		r.start()
		time.Sleep(6 * time.Minute)
		want(t, "states while the writer hangs", len(r.desk.asking("s1", begin)), 2)
		want(t, "brief while the writer hangs", r.edition().Brief.Text, "")
		time.Sleep(time.Minute + time.Second)
		b := r.edition().Brief
		want(t, "writer", b.Writer, brief.BuiltIn().Name())
		want(t, "brief after", b.At.Sub(begin), 7*time.Minute)
		want(t, "why", b.Refused, "pen: context deadline exceeded")
		want(t, "log lines", r.log.Count("level=WARN", "a text was not taken", "pen: context deadline exceeded"), 1)
		want(t, "kept", r.saved().Brief, b)
		time.Sleep(12 * time.Hour)
		want(t, "attempts", w.times(begin), []time.Duration{0, 12 * time.Hour})
		want(t, "brief of the next day after", r.edition().Brief.At.Sub(begin), 12*time.Hour+7*time.Minute)
	})
}

// liar writes a figure that no source has.
type liar struct{}

func (liar) Name() string { return "liar" }
func (liar) Write(context.Context, brief.Input) (brief.Draft, error) {
	return brief.Draft{Text: "The fee is 987 [1]."}, nil
}

func TestForcedBriefDoesNotDisturbTheSchedule(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := new(pen)
		r := build(t, newPack(times(1)...), func(r *rig) {
			writing(w)(r)
			r.cfg.Every, r.cfg.BriefAt = time.Hour, 12*time.Hour
		})
		begin := time.Now()
		r.start()
		time.Sleep(11*time.Hour + 59*time.Minute)
		before := r.edition()
		if err := r.Narrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := r.edition()
		if after.Brief == before.Brief || !after.GeneratedAt.Equal(before.GeneratedAt) {
			t.Errorf("after the forced brief: %+v of %v", after.Brief, after.GeneratedAt)
		}
		time.Sleep(12 * time.Hour)
		h := time.Hour
		want(t, "briefs", w.times(begin), []time.Duration{0, 12*h - time.Minute, 12 * h})
	})
}

func TestNarrateWithoutState(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(1)...), nil)
		var e *api.Error
		if err := r.Narrate(t.Context()); !errors.As(err, &e) || e.Reason != api.ReasonStateUnavailable {
			t.Errorf("Narrate: %v, want %s", err, api.ReasonStateUnavailable)
		}
	})
}

func TestBriefThatCannotBeSavedIsNotPublished(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := new(troubled)
		r := build(t, newPack(times(1)...), trouble(s))
		r.refresh()
		full := errors.New("disk full")
		s.fail(full)
		if err := r.Narrate(t.Context()); !errors.Is(err, full) {
			t.Errorf("Narrate: %v", err)
		}
		if b := r.edition().Brief; b.Text != "" {
			t.Errorf("published %+v", b)
		}
		s.fail(nil)
		r.start() // it is still due
		time.Sleep(time.Second)
		if b := r.edition().Brief; b.Text == "" {
			t.Error("no brief once the store works")
		}
	})
}

// TestBriefOfAClockThatWasAhead: a brief of next year does not keep today's from being written.
func TestBriefOfAClockThatWasAhead(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := new(pen)
		r := build(t, newPack(times(1)...), writing(w))
		r.clock.move(365 * 24 * time.Hour)
		r.refresh()
		if err := r.Narrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.clock.move(-365 * 24 * time.Hour)
		begin := time.Now()
		r.start()
		time.Sleep(time.Hour)
		want(t, "briefs", w.times(begin), []time.Duration{0, 0})
	})
}
