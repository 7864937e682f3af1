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

// writing makes p the only writer of a rig, and a model.
func writing(p *pen) func(*rig) {
	return func(r *rig) { r.cfg.Models, r.cfg.Writer = []brief.Writer{p}, mute{} }
}

// mute writes nothing.
type mute struct{}

func (mute) Name() string { return "mute" }
func (mute) Write(context.Context, brief.Input) (brief.Draft, error) {
	return brief.Draft{}, errors.New("nothing to say")
}

// TestFirstBriefThenDaily: as soon as there is a state, then with the first state after the time of day.
func TestFirstBriefThenDaily(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := new(pen)
		r := build(t, newPack(times(1)...), func(r *rig) {
			writing(w)(r)
			r.cfg.Every, r.cfg.BriefAt = 30*time.Minute, 6*time.Hour+2*time.Minute
		})
		r.fetcher.tell(failing(source.ClassNetwork, 0), "s1")
		midnight := time.Now()
		time.Sleep(time.Hour)
		r.start()
		time.Sleep(11 * time.Second)
		want(t, "briefs without a state", len(w.times(midnight)), 0)
		r.fetcher.tell(counting, "s1")
		time.Sleep(48*time.Hour - 11*time.Second)
		first := w.times(midnight)[0]
		want(t, "first brief", first, time.Hour+15*time.Second)
		m := time.Minute
		want(t, "briefs", w.times(midnight)[1:], []time.Duration{6*time.Hour + 30*m, 30*time.Hour + 30*m})
		got := r.edition().Brief.Brief
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

// TestEveryState: each has a brief by rules from its first moment on, and a restart has both.
func TestEveryState(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := new(pen)
		r := build(t, newPack(times(1)...), func(r *rig) { r.cfg.Writer, r.cfg.Feed = w, witness{r.feed, r} })
		watch := r.feed.Watch(packID)
		defer watch.Close()
		begin := time.Now()
		stop := r.start()
		for n := range 3 {
			<-watch.Wake()
			e := r.edition()
			want(t, "published", []any{e.Serial, e.Brief.Of, e.Brief.At, e.Brief.Citations == nil, e.Brief.Since == nil},
				[]any{n + 1, e.GeneratedAt, begin.Add(time.Duration(n) * 5 * time.Minute).UTC(), true, true})
		}
		synctest.Wait()
		stop()
		select {
		case <-watch.Wake():
			t.Error("something is published behind the state")
		default:
		}
		served := r.edition().Brief.Brief
		r.reopen(func(r *rig) { r.cfg.Feed = r.feed })
		want(t, "brief after a restart", r.edition().Brief.Brief, served)
		r.start()
		time.Sleep(2 * time.Minute)
		m := time.Minute
		want(t, "briefs", w.times(begin), []time.Duration{0, 5 * m, 10 * m})
		r.fetcher.tell(failing(source.ClassNetwork, 0), "s1")
		time.Sleep(10 * time.Minute)
		want(t, "briefs without a new state", len(w.times(begin)), 3)
		list, err := r.store.Briefs(t.Context(), packID, 10)
		want(t, "briefs kept of the day", []any{len(list), err}, []any{1, nil})
	})
}

// TestModelsBriefIsToldAllDay: with what came since, from the current state, and with the citations of its own.
func TestModelsBriefIsToldAllDay(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := new(pen)
		models := func(r *rig) { r.cfg.Models = []brief.Writer{w} }
		r := build(t, newPack(times(1)...), models)
		r.refresh()
		want(t, "writer before any model", r.edition().Brief.Writer, brief.BuiltIn().Name())
		if err := r.Narrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		first := r.edition()
		want(t, "model's brief", []any{first.Brief.Writer, first.Brief.Of, first.Brief.Since == nil}, []any{"pen", first.GeneratedAt, true})
		told := func(what string) {
			t.Helper()
			e := r.edition()
			want(t, what, []any{e.Brief.Brief, e.Brief.Citations[0].FetchedAt, e.Brief.Since != nil && e.Brief.Since.Text != ""},
				[]any{first.Brief.Brief, first.Citations[0].FetchedAt, true})
		}
		time.Sleep(5 * time.Minute)
		r.refresh()
		told("told with the next state")
		r.reopen(nil)
		told("told after a restart")
		r.reopen(func(r *rig) { r.cfg.Models = nil }) // the operator has no model any more
		time.Sleep(5 * time.Minute)
		r.refresh()
		want(t, "writer without models", r.edition().Brief.Writer, brief.BuiltIn().Name())
		r.reopen(models)
		w.set(errors.New("out of ink"), 0)
		if err := r.Narrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		r.refresh()
		e := r.edition()
		want(t, "writer where the model failed", []any{e.Brief.Writer, e.Brief.Of}, []any{brief.BuiltIn().Name(), e.GeneratedAt})
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
		want(t, "states", len(r.fetcher.asking("s1", begin)), 11)
		want(t, "attempts at a brief", w.times(begin), []time.Duration{0, 2 * time.Minute, 4 * time.Minute})
		want(t, "error lines", r.log.Count("level=ERROR", "brief not written", "deadline"), 2)
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
		want(t, "states", len(r.fetcher.asking("s1", begin)), 3)
		want(t, "error lines", r.log.Count("level=ERROR", "brief not written", "out of ink"), 3)
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
			r.cfg.Models = []brief.Writer{&pen{err: errors.New("out of ink")}, liar}
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
			r.cfg.Models = []brief.Writer{w}
			r.cfg.Every, r.cfg.BriefAt, r.cfg.TextWithin = 5*time.Minute, 12*time.Hour, 7*time.Minute
		})
		begin := time.Now()
		r.start()
		time.Sleep(6 * time.Minute)
		want(t, "states while the writer hangs", len(r.fetcher.asking("s1", begin)), 2)
		b := r.edition().Brief
		want(t, "brief while the writer hangs", []any{b.Writer, b.At.Sub(begin), b.Of}, []any{brief.BuiltIn().Name(), 5 * time.Minute, r.edition().GeneratedAt})
		time.Sleep(time.Minute + time.Second)
		want(t, "brief after", r.edition().Brief.Brief, b.Brief) // by rules too, and of a newer state
		kept := r.saved().Brief
		want(t, "kept", []any{kept.At.Sub(begin), kept.Writer, kept.Refused}, []any{7 * time.Minute, brief.BuiltIn().Name(), "pen: context deadline exceeded"})
		want(t, "log lines", r.log.Count("level=WARN", "brief text refused", "pen: context deadline exceeded"), 1)
		time.Sleep(12 * time.Hour)
		want(t, "attempts", w.times(begin), []time.Duration{0, 12 * time.Hour})
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
		if after.Brief.Brief == before.Brief.Brief || !after.GeneratedAt.Equal(before.GeneratedAt) {
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
		r := build(t, newPack(times(1)...), func(r *rig) {
			trouble(s)(r)
			r.cfg.Models = []brief.Writer{new(pen)}
		})
		r.refresh()
		full := errors.New("disk full")
		s.fail(full)
		if err := r.Narrate(t.Context()); !errors.Is(err, full) {
			t.Errorf("Narrate: %v", err)
		}
		want(t, "writer", r.edition().Brief.Writer, brief.BuiltIn().Name())
		s.fail(nil)
		r.start() // it is still due
		time.Sleep(time.Second)
		want(t, "writer once the store works", r.edition().Brief.Writer, "pen")
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
