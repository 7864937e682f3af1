package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

func TestSourcesAreAskedTogetherOnceEach(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(20)...), nil)
		slow := func(_ context.Context, n int) source.Outcome {
			time.Sleep(time.Second)
			return fee(float64(n))
		}
		for _, s := range r.cfg.Pack.Sources {
			r.fetcher.tell(slow, s.ID)
		}
		begin := time.Now()
		report := r.refresh()
		want(t, "asked and failed", []int{report.Asked, report.Failed}, []int{20, 0})
		want(t, "time for 20 sources, 8 at once, a second each", time.Since(begin), 3*time.Second)
		want(t, "at once", r.fetcher.most, 8)
		for _, s := range r.cfg.Pack.Sources {
			want(t, "attempts at "+s.ID, r.fetcher.asked(s.ID), 1)
		}
		for i, row := range r.served().Fees { // and no answer goes to another source
			want(t, "row", row.ID, r.cfg.Pack.Sources[i].ID)
		}
		want(t, "time of the first answer", r.record("s1").FetchedAt, begin.Add(time.Second).UTC())
		want(t, "time of the last answer", r.record("s20").FetchedAt, begin.Add(3*time.Second).UTC())
	})
}

// TestDeadlineCutsOff: sources that hang cost the others nothing, neither the state nor the next refresh.
func TestDeadlineCutsOff(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(12)...), nil)
		r.fetcher.tell(hanging, "s2", "s5")
		begin := time.Now()
		report := r.refresh()
		want(t, "failed", report.Failed, 2)
		want(t, "time until the state", time.Since(begin), time.Minute)
		want(t, "rows", len(r.served().Fees), 10)
		want(t, "status of one that hangs", r.status("s2").Status, api.SourceError)
		want(t, "time of a quick answer", r.record("s1").FetchedAt, begin.UTC())

		time.Sleep(4 * time.Minute)
		r.refresh()
		want(t, "attempts at a quick source in two slots", r.fetcher.asked("s1"), 2)
	})
}

func TestDeadlineWithoutPlaces(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(10)...), func(r *rig) { r.cfg.Deadline = 7 * time.Second })
		for _, s := range r.cfg.Pack.Sources[:8] { // as many as are asked at once
			r.fetcher.tell(hanging, s.ID)
		}
		begin := time.Now()
		report := r.refresh()
		want(t, "failed", report.Failed, 8)
		want(t, "time until the state", time.Since(begin), 7*time.Second)
	})
}

// TestDueAndForce: when a source is asked again, by how it answered, whether it is forced, and the time since.
func TestDueAndForce(t *testing.T) {
	minutes := func(m float64) time.Duration { return time.Duration(m * float64(time.Minute)) }
	for name, test := range map[string]struct {
		first      answer
		soon       time.Duration // asked again from here on
		forcedSoon time.Duration
	}{
		"good":                       {counting, 20*time.Minute - slack, 0},
		"network":                    {failing(source.ClassNetwork, 0), 0, 0},
		"network asking for a pause": {failing(source.ClassNetwork, minutes(2)), minutes(2), minutes(2)},
		"broken":                     {failing(source.ClassUpstream, 0), minutes(4.5), minutes(4.5)},
		"broken, short pause":        {failing(source.ClassUpstream, minutes(1)), minutes(4.5), minutes(4.5)},
		"rate limited, long pause":   {failing(source.ClassRateLimited, minutes(60)), minutes(60), minutes(60)},
		"empty":                      {failing(source.ClassEmpty, 0), minutes(4.5), minutes(4.5)},
		"without a reason":           {func(context.Context, int) source.Outcome { return source.Outcome{Class: source.ClassPartial} }, minutes(4.5), minutes(4.5)},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				for _, force := range []bool{false, true} {
					soon := test.soon
					if force {
						soon = test.forcedSoon
					}
					for _, restart := range []bool{false, true} {
						r := build(t, newPack(20*time.Minute), nil)
						r.fetcher.tell(test.first, "s1")
						_, _ = r.Refresh(t.Context(), false)
						if restart {
							r.reopen(nil)
						}
						if soon > 0 {
							time.Sleep(soon - time.Millisecond)
							if report, err := r.Refresh(t.Context(), force); err != nil || report != (pipeline.Report{}) {
								t.Errorf("force %t, restart %t: too soon: %+v, %v", force, restart, report, err)
							}
							time.Sleep(time.Millisecond)
						}
						_, _ = r.Refresh(t.Context(), force)
						if n := r.fetcher.asked("s1"); n != 2 {
							t.Errorf("force %t, restart %t: asked %d times, want twice", force, restart, n)
						}
					}
				}
			})
		})
	}
}

// TestBackoffGrows: 5, 10, 20, then 40 minutes while a source stays broken, and no trace of it once it is back.
func TestBackoffGrows(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(2)...), nil)
		r.fetcher.tell(failing(source.ClassUpstream, 0), "s2")
		begin := time.Now()
		for range 24 { // two hours of slots
			r.refresh()
			time.Sleep(5 * time.Minute)
		}
		want(t, "attempts", r.fetcher.asking("s2", begin), []time.Duration{
			0, 5 * time.Minute, 15 * time.Minute, 35 * time.Minute, 75 * time.Minute, 115 * time.Minute,
		})
		want(t, "attempts at the other", r.fetcher.asked("s1"), 24)
		r.fetcher.tell(counting, "s2")
		time.Sleep(35 * time.Minute)
		r.refresh()
		got := r.record("s2")
		want(t, "failures, reason and pause", []any{got.Failures, got.Err, got.NotBefore}, []any{0, "", time.Time{}})
		want(t, "log lines that it fails", r.log.Count("source failed", "source=s2"), 1)                   // not at every attempt
		want(t, "log lines with a time of its last answer", r.log.Count("source failed", "last_good="), 0) // it had none
		want(t, "log lines that it is back", r.log.Count("source recovered", "source=s2", "failures=6"), 1)
	})
}

func TestNetworkIsTriedInEverySlot(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(time.Hour, 5*time.Minute), nil)
		r.fetcher.tell(failing(source.ClassNetwork, 0), "s1")
		for range 12 {
			r.refresh()
			time.Sleep(5 * time.Minute)
		}
		want(t, "attempts at an hourly source without network", r.fetcher.asked("s1"), 12)
		r.fetcher.tell(counting, "s1")
		for range 12 {
			r.refresh()
			time.Sleep(5 * time.Minute)
		}
		want(t, "attempts once the network is back", r.fetcher.asked("s1"), 13)
	})
}

// TestIntervals: slots that are late or early by less than the slack make no source miss one.
func TestIntervals(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(5*time.Minute, 15*time.Minute, time.Hour), nil)
		for i := range 12 {
			r.refresh()
			late := time.Duration(i%3-1) * 9 * time.Second
			time.Sleep(5*time.Minute + late)
		}
		want(t, "attempts in an hour", []int{r.fetcher.asked("s1"), r.fetcher.asked("s2"), r.fetcher.asked("s3")}, []int{12, 4, 1})
	})
}

// TestSlowSourceKeepsItsInterval: it counts from the beginning of a refresh, however late the answer.
func TestSlowSourceKeepsItsInterval(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(10*time.Minute, 5*time.Minute), nil)
		r.fetcher.tell(func(_ context.Context, n int) source.Outcome {
			time.Sleep(45 * time.Second)
			return fee(float64(n))
		}, "s1")
		begin := time.Now()
		r.start()
		time.Sleep(34 * time.Minute)
		m := time.Minute
		want(t, "attempts", r.fetcher.asking("s1", begin), []time.Duration{0, 10 * m, 20 * m, 30 * m})
	})
}

// TestOnlyWhatWasAskedIsSaved: with a state, and without one.
func TestOnlyWhatWasAskedIsSaved(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := new(troubled)
		r := build(t, newPack(5*time.Minute, time.Hour), trouble(s))
		r.refresh()
		time.Sleep(5 * time.Minute)
		r.refresh()
		r.fetcher.tell(failing(source.ClassNetwork, 0), "s1")
		for range 2 {
			time.Sleep(5 * time.Minute)
			_, _ = r.Refresh(t.Context(), false)
		}
		want(t, "sources saved", s.saved, []string{"s1,s2", "s1", "s1", "s1"})
	})
}

// TestRemadePackIsAskedAtOnce: the pause of a failure that another manifest may have mended ends with it, one that upstream asked for not.
func TestRemadePackIsAskedAtOnce(t *testing.T) {
	virtual(t, func(t *testing.T) {
		for class, wanted := range map[source.Class][2]int{
			source.ClassBadContent: {1, 2}, source.ClassEmpty: {1, 2}, source.ClassUpstream: {1, 2}, source.ClassRateLimited: {1, 1},
		} {
			for i, remade := range []bool{false, true} {
				r := build(t, newPack(times(2)...), nil)
				r.fetcher.tell(failing(class, 0), "s2")
				r.refresh()
				r.reopen(func(r *rig) { r.cfg.Remade = remade })
				_, _ = r.Refresh(t.Context(), true)
				want(t, fmt.Sprintf("attempts, %s, remade %t", class, remade), r.fetcher.asked("s2"), wanted[i])
			}
		}
	})
}

// TestUnaskedSourceSaysWhy: what is not asked for a reason stands in its status with it, raises no flag, and is asked once that is gone.
func TestUnaskedSourceSaysWhy(t *testing.T) {
	virtual(t, func(t *testing.T) {
		const why = "not asked: www.example.org wants an e-mail address, see sources.contact"
		r := build(t, newPack(times(2)...), func(r *rig) {
			r.cfg.Unasked = func(c source.Connector) string { return map[string]string{"s2": why}[c.ID] }
		})
		for range 4 {
			r.refresh()
			time.Sleep(5 * time.Minute)
		}
		r.SetDisabled(nil)
		r.refresh()
		want(t, "attempts", r.fetcher.asked("s2"), 0)
		want(t, "status", []any{r.status("s2").Status, *r.status("s2").Error, r.status("s2").Failures}, []any{api.SourceError, why, 0})
		if flag := r.status("s2").Trouble("s2", r.clock.now()); flag != nil {
			t.Errorf("flag %+v", flag)
		}
		r.reopen(func(r *rig) { r.cfg.Unasked = nil })
		r.refresh()
		want(t, "attempts once it may be asked", r.fetcher.asked("s2"), 1)
	})
}

func TestDisabledSourceKeepsItsPlace(t *testing.T) {
	virtual(t, func(t *testing.T) {
		off := func(r *rig) { r.cfg.Disabled = []string{"s2"} }
		r := build(t, newPack(times(3)...), nil)
		r.refresh()
		time.Sleep(5 * time.Minute)
		r.reopen(off)
		if _, err := r.Refresh(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		want(t, "attempts", r.fetcher.asked("s2"), 1)
		want(t, "rows", r.served().Fees, []row{{"s1", 2, 1}, {"s3", 2, 3}})
		got := r.served().SourceStatus[1]
		want(t, "status", []any{got.Ref, got.ID, got.Status, *got.Error}, []any{2, "s2", api.SourceError, "disabled"})
		citations := r.edition().Citations
		want(t, "anchors", []string{citations[0].SourceID, citations[1].SourceID, citations[2].SourceID}, []string{"s1", "s2", "s3"})
		want(t, "time of its citation", citations[1].FetchedAt, r.saved().Start)

		r.reopen(func(r *rig) { r.cfg.Disabled = nil })
		want(t, "status when switched on again", r.status("s2").Status, api.SourceOK) // its answer was kept
	})
}

func TestNotModifiedConfirms(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(1)...), nil)
		begin := time.Now()
		r.refresh()
		r.fetcher.tell(failing(source.ClassNetwork, 0), "s1")
		time.Sleep(5 * time.Minute)
		if _, err := r.Refresh(t.Context(), false); !errors.Is(err, pipeline.ErrAllFailed) {
			t.Fatal(err)
		}
		r.fetcher.tell(func(context.Context, int) source.Outcome {
			return source.Outcome{Class: source.ClassOK, NotModified: true}
		}, "s1")
		time.Sleep(5 * time.Minute)
		report := r.refresh()
		want(t, "failed", report.Failed, 0)
		want(t, "rows", r.served().Fees, []row{{"s1", 1, 1}})
		got := r.record("s1")
		want(t, "record", []any{got.FetchedAt, got.Failures, got.Err, string(got.Doc)},
			[]any{begin.Add(10 * time.Minute).UTC(), 0, "", `{"Fastest":1,"HalfHour":null,"Hour":null,"Economy":null,"Minimum":null}`})
		want(t, "citation", r.edition().Citations[0].FetchedAt, begin.Add(10*time.Minute).UTC())
	})
}

// TestLastAnswerIsHandedOn: the fetcher is given the last good answer, also after a failure and a restart.
func TestLastAnswerIsHandedOn(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(1)...), nil)
		for _, how := range []answer{counting, failing(source.ClassNetwork, 0), counting, nil} {
			if how == nil {
				r.reopen(nil)
			}
			r.fetcher.tell(how, "s1")
			_, _ = r.Refresh(t.Context(), true)
		}
		var got []float64
		for _, a := range r.fetcher.attempts {
			doc, ok := a.last.(*source.FeesDoc)
			if !ok {
				got = append(got, 0)
				continue
			}
			got = append(got, *doc.Fastest)
		}
		want(t, "last answers", got, []float64{0, 1, 1, 3})
	})
}

// TestUnreadableAnswerIsForgotten: what an older program stored and this one cannot read is asked for again, but not before
// upstream wants to be asked.
func TestUnreadableAnswerIsForgotten(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(3)...), nil)
		r.refresh()
		now := r.clock.now()
		odd := state.SourceRecord{Doc: []byte(`{"Fastest":"many"}`), FetchedAt: now, AttemptedAt: now}
		asksForPause := odd
		odd.Source, asksForPause.Source, asksForPause.NotBefore = "s1", "s2", now.Add(10*time.Minute)
		if err := r.store.SaveSources(t.Context(), packID, []state.SourceRecord{odd, asksForPause}); err != nil {
			t.Fatal(err)
		}
		r.reopen(nil)
		want(t, "log lines", r.log.Count("WARN", "unreadable"), 2)
		want(t, "status", r.status("s1").Status, api.SourceError)
		time.Sleep(time.Second)
		r.refresh()
		want(t, "attempts", []int{r.fetcher.asked("s1"), r.fetcher.asked("s2"), r.fetcher.asked("s3")}, []int{2, 1, 1})
		want(t, "rows", r.served().Fees, []row{{"s1", 2, 1}, {"s3", 1, 3}})
		time.Sleep(10 * time.Minute)
		r.refresh()
		want(t, "attempts after the pause", r.fetcher.asked("s2"), 2)
	})
}

// TestClockThatWasAhead: times noted by a clock that is corrected later silence no source.
func TestClockThatWasAhead(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(2)...), nil)
		r.clock.move(365 * 24 * time.Hour)
		r.fetcher.tell(failing(source.ClassRateLimited, time.Hour), "s2")
		r.refresh()
		r.clock.move(-365 * 24 * time.Hour)
		r.reopen(nil)
		r.refresh()
		want(t, "attempts", []int{r.fetcher.asked("s1"), r.fetcher.asked("s2")}, []int{2, 2})
	})
}

func TestAlwaysDue(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var before int
		r := build(t, newPack(time.Hour, time.Hour), func(r *rig) {
			r.cfg.AlwaysDue = true
			r.cfg.Before = func() {
				want(t, "attempts before the refresh", r.fetcher.asked(""), 2*before)
				before++
			}
		})
		r.fetcher.tell(failing(source.ClassRateLimited, time.Hour), "s2")
		for range 3 {
			r.refresh()
			time.Sleep(time.Second)
		}
		want(t, "attempts", []int{r.fetcher.asked("s1"), r.fetcher.asked("s2")}, []int{3, 3})
		want(t, "calls of Before", before, 3)
	})
}

func TestStatusWhileNothingAnswered(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(2)...), func(r *rig) { r.cfg.Disabled = []string{"s2"} })
		want(t, "status", []any{r.status("s1").Status, *r.status("s1").Error, *r.status("s2").Error},
			[]any{api.SourceError, "no answer yet", "disabled"})
		r.fetcher.tell(hanging, "s1")
		go func() { _, _ = r.Refresh(t.Context(), false) }()
		synctest.Wait()
		want(t, "status during a refresh", *r.status("s1").Error, "no answer yet") // and it does not wait for it
		time.Sleep(time.Minute)
		synctest.Wait()
		want(t, "status after it", *r.status("s1").Error, "network: context deadline exceeded")
		want(t, "ids", slices.Sorted(maps.Keys(map[string]int{r.Status()[0].ID: 0, r.Status()[1].ID: 1})), []string{"s1", "s2"})
	})
}
