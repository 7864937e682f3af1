package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// troubled is a store that can be made to fail.
type troubled struct {
	pipeline.Store
	held <-chan struct{} // SavePulse waits for it, if it is not nil

	mu    sync.Mutex // guards what follows
	err   error      // of every act, if it is not nil
	saved []string   // ids of the sources of each act that saved some
}

// note notes which sources are saved.
func (s *troubled) note(changed []state.SourceRecord) {
	var ids []string
	for _, c := range changed {
		ids = append(ids, c.Source)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = append(s.saved, strings.Join(ids, ","))
}

// fail makes every act fail with err, or none if it is nil.
func (s *troubled) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *troubled) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *troubled) SavePulse(ctx context.Context, p state.Pulse, b state.Brief, changed []state.SourceRecord) (api.Proof, error) {
	if s.held != nil {
		<-s.held
	}
	if err := s.failure(); err != nil {
		return api.Proof{}, err
	}
	s.note(changed)
	return s.Store.SavePulse(ctx, p, b, changed)
}

func (s *troubled) SaveSources(ctx context.Context, pack string, changed []state.SourceRecord) error {
	if err := s.failure(); err != nil {
		return err
	}
	s.note(changed)
	return s.Store.SaveSources(ctx, pack, changed)
}

func (s *troubled) SaveBrief(ctx context.Context, pack string, b state.Brief) (api.Proof, error) {
	if err := s.failure(); err != nil {
		return api.Proof{}, err
	}
	return s.Store.SaveBrief(ctx, pack, b)
}

func (s *troubled) Prune(ctx context.Context, pack string, before time.Time) (int64, error) {
	if err := s.failure(); err != nil {
		return 0, err
	}
	return s.Store.Prune(ctx, pack, before)
}

// trouble makes the store of a rig one that can fail.
func trouble(s *troubled) func(*rig) {
	return func(r *rig) { s.Store, r.cfg.Store = r.store, s }
}

func TestRefreshMakesOneStateEverywhere(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(2)...), nil)
		time.Sleep(1234567 * time.Microsecond)
		report := r.refresh()
		now := r.clock.now().UTC().Truncate(time.Millisecond)
		want(t, "generatedAt", report.GeneratedAt, now)
		e, kept := r.edition(), r.saved().Pulse
		for what, p := range map[string]state.Pulse{"published": e.Pulse, "saved": *kept} {
			if !p.GeneratedAt.Equal(now) || p.Pack != packID || p.Version != 1 || !bytes.Equal(p.State, e.State) {
				t.Errorf("%s: %s of %v, version %d: %s", what, p.Pack, p.GeneratedAt, p.Version, p.State)
			}
			want(t, what+" citations", p.Citations, []api.Citation{
				{Ref: 1, SourceID: "s1", URL: "https://s1.example/", FetchedAt: now}, {Ref: 2, SourceID: "s2", URL: "https://s2.example/", FetchedAt: now},
			})
		}
	})
}

func TestSecondRefreshWaitsForTheFirst(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(time.Hour), nil)
		r.fetcher.tell(func(context.Context, int) source.Outcome {
			time.Sleep(10 * time.Second)
			return fee(1)
		}, "s1")
		reports := make(chan pipeline.Report, 2)
		for range 2 {
			go func() {
				report, err := r.Refresh(t.Context(), true)
				if err != nil {
					t.Error(err)
				}
				reports <- report
			}()
		}
		begin := time.Now()
		first, second := <-reports, <-reports
		want(t, "time of both", time.Since(begin), 20*time.Second)
		want(t, "between the states", second.GeneratedAt.Sub(first.GeneratedAt), 10*time.Second)
		want(t, "at once", r.fetcher.most, 1)

		go func() { _, _ = r.Refresh(t.Context(), true) }()
		synctest.Wait()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		if _, err := r.Refresh(impatient, true); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("a refresh that may wait a second: %v after %v", err, time.Since(begin))
		}
		time.Sleep(10 * time.Second) // the one under way
	})
}

func TestAllFailed(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(2)...), nil)
		first := r.refresh()
		body := r.edition()
		r.fetcher.tell(failing(source.ClassUpstream, 0), "s1")
		r.fetcher.tell(failing(source.ClassNetwork, 0), "s2")
		time.Sleep(5 * time.Minute)
		report, err := r.Refresh(t.Context(), false)
		if !errors.Is(err, pipeline.ErrAllFailed) || report != (pipeline.Report{Asked: 2, Failed: 2, Unreachable: 1}) {
			t.Fatalf("Refresh = %+v, %v; want ErrAllFailed", report, err)
		}
		if e := r.edition(); !bytes.Equal(e.State, body.State) || e.Serial != body.Serial || !r.saved().Pulse.GeneratedAt.Equal(first.GeneratedAt) {
			t.Error("the state moved although every source failed")
		}
		told := func() (text string) {
			f := r.edition().Freshness(r.clock.now())
			for _, s := range f.Sources {
				text += fmt.Sprintf("%s %s %d since %s; ", s.ID, s.Status, s.Failures, s.Since.Sub(first.GeneratedAt.Truncate(time.Second)))
			}
			for _, f := range f.Flags {
				text += f.Message + "; "
			}
			return text
		}
		want(t, "beside the state", told(), "s1 stale 1 since 5m0s; s2 stale 1 since 5m0s; ")
		got := r.record("s1")
		want(t, "record", []any{got.Failures, got.Err, got.AttemptedAt, got.FetchedAt, got.NotBefore, len(got.Doc) > 0},
			[]any{1, "upstream_5xx: out of order", r.clock.now().UTC(), first.GeneratedAt.Truncate(time.Second), r.clock.now().Add(5*time.Minute - slack).UTC(), true})

		time.Sleep(time.Minute)
		r.reopen(nil)
		_, _ = r.Refresh(t.Context(), false)
		want(t, "attempts after a restart", []int{r.fetcher.asked("s1"), r.fetcher.asked("s2")}, []int{2, 3})
		want(t, "failures", []int{r.record("s1").Failures, r.record("s2").Failures}, []int{1, 2})
		after := "s1 stale 1 since 5m0s; s2 stale 2 since 5m0s; s2 is stale: 2 attempts failed in a row; "
		want(t, "beside the state", told(), after)
		r.reopen(nil)
		want(t, "beside the state after another restart", told(), after)
		r.fetcher.tell(nil, "s1", "s2")
		time.Sleep(5 * time.Minute)
		r.refresh()
		want(t, "beside the state once they answer", told(), "")
	})
}

// TestSomeFailed: the others make a state, in which the last good answer of what failed is carried as stale.
func TestSomeFailed(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(3)...), nil)
		first := r.refresh()
		r.fetcher.tell(failing(source.ClassForbidden, 0), "s2")
		time.Sleep(5 * time.Minute)
		report := r.refresh()
		want(t, "report", report, pipeline.Report{GeneratedAt: first.GeneratedAt.Add(5 * time.Minute), Asked: 3, Failed: 1})
		s := r.served()
		want(t, "rows", s.Fees, []row{{"s1", 2, 1}, {"s2", 1, 2}, {"s3", 2, 3}})
		want(t, "status", []any{s.SourceStatus[1].Status, s.SourceStatus[1].FetchedAt, *s.SourceStatus[1].Error, s.SourceStatus[1].Failures},
			[]any{api.SourceStale, first.GeneratedAt.Truncate(time.Second), "forbidden: out of order", 1})
		want(t, "status of another", s.SourceStatus[0].Status, api.SourceOK)
		want(t, "citation", r.edition().Citations[1].FetchedAt, first.GeneratedAt.Truncate(time.Second))
	})
}

func TestGeneratedAtRisesWhateverTheClockDoes(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(time.Nanosecond), nil)
		last := r.refresh().GeneratedAt
		for _, by := range []time.Duration{0, -time.Hour, time.Microsecond, -24 * time.Hour, 0} {
			r.clock.move(by)
			at := r.refresh().GeneratedAt
			want(t, "generatedAt after the one before", at.Sub(last), time.Millisecond)
			last = at
			r.reopen(nil)
		}
		r.clock.move(48 * time.Hour)
		want(t, "generatedAt on a whole minute", r.refresh().GeneratedAt, r.clock.now().UTC().Truncate(time.Millisecond).Add(time.Millisecond))
		r.clock.move(time.Second)
		want(t, "generatedAt of a right clock", r.refresh().GeneratedAt, r.clock.now().UTC().Truncate(time.Millisecond))
	})
}

// witness publishes only what the store has.
type witness struct {
	*feed.Feed
	r *rig
}

func (w witness) Publish(p state.Pulse, b state.Narration, rows *state.Tables) error {
	w.r.t.Helper()
	kept, err := w.r.store.PulseBefore(w.r.t.Context(), p.Pack, p.GeneratedAt.Add(time.Millisecond))
	if err != nil || !kept.GeneratedAt.Equal(p.GeneratedAt) || !bytes.Equal(kept.State, p.State) {
		w.r.t.Errorf("published %v while the store has %v, %v", p.GeneratedAt, kept.GeneratedAt, err)
	}
	if kept := w.r.saved().Brief; kept != b.Brief {
		w.r.t.Errorf("published a state with the brief %+v while the store has %+v", b.Brief, kept)
	}
	return w.Feed.Publish(p, b, rows)
}

func (w witness) PublishBrief(pack string, b state.Narration) error {
	w.r.t.Helper()
	if kept := w.r.saved().Brief; kept != b.Brief {
		w.r.t.Errorf("published the brief %+v while the store has %+v", b, kept)
	}
	return w.Feed.PublishBrief(pack, b)
}

func TestSavedBeforePublished(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(2)...), func(r *rig) { r.cfg.Feed = witness{r.feed, r} })
		for range 3 {
			r.refresh()
			if err := r.Narrate(t.Context()); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Minute)
		}
		if r.edition().Brief.Text == "" {
			t.Error("nothing was published")
		}
	})
}

// TestWhatCannotBeSavedIsNotPublished: and it is not lost either, though its sources are not asked again.
func TestWhatCannotBeSavedIsNotPublished(t *testing.T) {
	virtual(t, func(t *testing.T) {
		full := errors.New("disk full")
		s := &troubled{err: full}
		r := build(t, newPack(time.Hour, time.Hour), trouble(s))
		r.fetcher.tell(failing(source.ClassUpstream, 0), "s2")
		for range 2 {
			report, err := r.Refresh(t.Context(), false)
			if !errors.Is(err, full) || !report.GeneratedAt.IsZero() {
				t.Fatalf("Refresh = %+v, %v; want the store's error", report, err)
			}
			if e, _ := r.feed.Latest(packID); e != nil || len(r.saved().Sources) > 0 {
				t.Fatal("something of the refresh is published or saved")
			}
			time.Sleep(time.Second)
		}
		s.fail(nil)
		report := r.refresh()
		want(t, "sources asked", report.Asked, 0)
		want(t, "rows", r.served().Fees, []row{{"s1", 1, 1}})
		want(t, "failures kept", []int{r.record("s1").Failures, r.record("s2").Failures}, []int{0, 1})
		if again, err := r.Refresh(t.Context(), false); err != nil || !again.GeneratedAt.IsZero() {
			t.Errorf("a refresh without anything new: %+v, %v", again, err)
		}

		s.fail(full) // and the same for a refresh in which all fail
		r.fetcher.tell(failing(source.ClassUpstream, 0), "s1")
		time.Sleep(time.Hour)
		if _, err := r.Refresh(t.Context(), false); !errors.Is(err, full) {
			t.Errorf("Refresh: %v, want the store's error", err)
		}
		s.fail(nil)
		if _, err := r.Refresh(t.Context(), false); err != nil {
			t.Error(err)
		}
		want(t, "failures kept", []int{r.record("s1").Failures, r.record("s2").Failures}, []int{1, 2})
	})
}

func TestStateThatCannotBeMade(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newPack(times(1)...)
		good, odd := p.Compact, errors.New("odd")
		for what, compact := range map[string]func(pack.Input) ([]byte, error){
			"compact: odd":                   func(pack.Input) ([]byte, error) { return nil, odd },
			"compact: the state is not JSON": func(pack.Input) ([]byte, error) { return []byte(`{"a":`), nil },
		} {
			p.Compact = compact
			r := build(t, p, nil)
			if _, err := r.Refresh(t.Context(), false); err == nil || err.Error() != what {
				t.Errorf("Refresh: %v, want %s", err, what)
			}
			if e, _ := r.feed.Latest(packID); e != nil || r.saved().Pulse != nil {
				t.Error("a state that is none is published or saved")
			}
			p.Compact = good
			want(t, "sources asked again", r.refresh().Asked, 0)
		}
	})
}

func TestPreviousStateIsCompactedToo(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newPack(times(1)...)
		good := p.Compact
		var prev [][]byte
		p.Compact = func(in pack.Input) ([]byte, error) {
			prev = append(prev, in.Prev.Text())
			return good(in)
		}
		r := build(t, p, nil)
		r.refresh()
		first := r.edition().State
		time.Sleep(5 * time.Minute)
		r.refresh()
		second := r.edition().State
		r.reopen(nil)
		time.Sleep(5 * time.Minute)
		r.refresh()
		if len(prev) != 3 || prev[0] != nil || !bytes.Equal(prev[1], first) || !bytes.Equal(prev[2], second) {
			t.Errorf("previous states %q, want none, %q and %q", prev, first, second)
		}
	})
}

// TestCancelledRefreshLeavesNothing: what was cut off counts neither as a state nor as a failure of the sources.
func TestCancelledRefreshLeavesNothing(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(3)...), nil)
		r.fetcher.tell(hanging, "s3")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, cancel)
		begin := time.Now()
		report, err := r.Refresh(ctx, false)
		if !errors.Is(err, context.Canceled) || report != (pipeline.Report{}) {
			t.Errorf("Refresh = %+v, %v", report, err)
		}
		want(t, "time until it gave up", time.Since(begin), 2*time.Second)
		if saved := r.saved(); saved.Pulse != nil || len(saved.Sources) > 0 {
			t.Errorf("saved %+v", saved)
		}
		want(t, "failures", r.status("s3").Failures, 0)
		r.fetcher.tell(counting, "s3")
		want(t, "failed afterwards", r.refresh().Failed, 0)
	})
}

// TestCancelledSaveIsWholeOrNothing cancels before the store begins its transaction.
func TestCancelledSaveIsWholeOrNothing(t *testing.T) {
	virtual(t, func(t *testing.T) {
		held := make(chan struct{})
		s := &troubled{held: held}
		r := build(t, newPack(times(2)...), trouble(s))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := r.Refresh(ctx, false)
			done <- err
		}()
		synctest.Wait()
		cancel()
		close(held)
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Refresh: %v", err)
		}
		if saved := r.saved(); saved.Pulse != nil || len(saved.Sources) > 0 {
			t.Errorf("saved %+v", saved)
		}
		want(t, "sources asked again", r.refresh().Asked, 0)
	})
}
