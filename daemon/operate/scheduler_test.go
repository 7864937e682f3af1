package operate_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/sdk/api"
)

var errFollower = errors.New("this node is a follower")

// newScheduler makes a Scheduler of a node that leads, or not.
func newScheduler(leads bool) *operate.Scheduler {
	return &operate.Scheduler{
		Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		AsLeader: func(ctx context.Context, act func(context.Context) error) error {
			if !leads {
				return errFollower
			}
			return act(ctx)
		},
	}
}

// TestSchedule: each job runs at once and in each of its intervals, those of the leader and those of any node each by their own Schedule.
func TestSchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(true)
		var prunes, flushes, backups atomic.Int32
		count := func(n *atomic.Int32) func(context.Context) error {
			return func(context.Context) error { n.Add(1); return nil }
		}
		s.Add("prune", "", "", time.Minute, count(&prunes))
		s.Add("flush", "", "", time.Minute, count(&flushes))
		s.Add("backup", "", "", 0, count(&backups))
		s.OnAnyNode("flush")
		check := func(prune, flush int32) {
			t.Helper()
			synctest.Wait()
			if prunes.Load() != prune || flushes.Load() != flush || backups.Load() != 0 {
				t.Errorf("prune %d, flush %d, backup %d; want %d, %d, 0", prunes.Load(), flushes.Load(), backups.Load(), prune, flush)
			}
		}
		var all sync.WaitGroup
		ctx, end := context.WithCancel(t.Context())
		s.Schedule(ctx, &all, true)
		check(0, 1)
		leads, resign := context.WithCancel(t.Context())
		s.Schedule(leads, &all, false)
		check(1, 1)
		time.Sleep(2 * time.Minute)
		check(3, 3)
		resign()
		time.Sleep(time.Minute)
		check(3, 4)
		end()
		all.Wait()
	})
}

// TestNeverTwice: a job that is under way is not run by any other way, and can run again when it has ended.
func TestNeverTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(true)
		release := make(chan error)
		s.Add("refresh", "crypto", "", 0, func(context.Context) error { return <-release })
		s.Schedule(t.Context(), &sync.WaitGroup{}, true)
		first := make(chan error, 1)
		go func() { first <- s.Run(t.Context(), "refresh") }()
		synctest.Wait()
		if err := s.Run(t.Context(), "refresh"); err == nil || !strings.Contains(err.Error(), "job refresh is running already") {
			t.Errorf("by name: %v", err)
		}
		if err := s.RunFor(t.Context(), "refresh", "crypto"); err == nil {
			t.Error("for a pack: it runs")
		}
		if _, ok := s.Track("crypto", "refresh"); ok {
			t.Error("by its own schedule: it runs")
		}
		if err := s.Start("refresh"); err != nil { // it is left alone
			t.Errorf("in the background: %v", err)
		}
		s.Wait()
		release <- errors.New("no source")
		if err := <-first; err == nil {
			t.Error("its failure is lost")
		}
		j := s.List()[0]
		if j.Running || j.Runs != 1 || j.Failures != 1 || j.Error != "no source" || j.SucceededAt != nil {
			t.Errorf("failed: %+v", j)
		}
		done, ok := s.Track("crypto", "refresh")
		if !ok {
			t.Fatal("it does not run again")
		}
		time.Sleep(time.Second)
		done(nil)
		j = s.List()[0]
		if j.Runs != 2 || j.Failures != 1 || j.Error != "" || j.SucceededAt == nil || j.TookMillis != 1000 {
			t.Errorf("well again: %+v", j)
		}
		if r := s.Readings()["refresh/crypto"]; r.Failures != 1 || !r.Succeeded.Equal(*j.SucceededAt) {
			t.Errorf("read as %+v", r)
		}
	})
}

// TestFollowersJobs: a node that does not lead runs the jobs of any node alone, and says so of the others.
func TestFollowersJobs(t *testing.T) {
	t.Parallel()
	s := newScheduler(false)
	nothing := func(context.Context) error { return nil }
	s.Add("prune", "", "", 0, nothing)
	s.Add("flush", "", "", 0, nothing)
	s.OnAnyNode("flush")
	s.Schedule(t.Context(), &sync.WaitGroup{}, true)
	if err := s.Run(t.Context(), "prune"); !errors.Is(err, errFollower) {
		t.Errorf("prune: %v", err)
	}
	if err := s.Start("prune"); !errors.Is(err, errFollower) {
		t.Errorf("prune in the background: %v", err)
	}
	if err := errors.Join(s.Run(t.Context(), "flush"), s.Start("flush")); err != nil {
		t.Errorf("flush: %v", err)
	}
	s.Wait()
}

// TestJobsOfPacks: those of packs come first, go with the pack, and run for all packs by their name.
func TestJobsOfPacks(t *testing.T) {
	t.Parallel()
	s := newScheduler(true)
	var ran []string
	add := func(name, pack string) {
		s.Add(name, pack, "", 0, func(context.Context) error { ran = append(ran, name+"/"+pack); return nil })
	}
	add("refresh", "a")
	add("prune", "")
	add("refresh", "b")
	names := func() (list []string) {
		for _, j := range s.List() {
			list = append(list, j.Name+"/"+j.Pack)
		}
		return list
	}
	if got := names(); !slices.Equal(got, []string{"refresh/a", "refresh/b", "prune/"}) {
		t.Errorf("jobs %v", got)
	}
	if err := s.Run(t.Context(), "refresh"); err != nil || !slices.Equal(ran, []string{"refresh/a", "refresh/b"}) {
		t.Errorf("ran %v, %v", ran, err)
	}
	s.Remove("a")
	if got := names(); !slices.Equal(got, []string{"refresh/b", "prune/"}) {
		t.Errorf("jobs %v", got)
	}
	unknown := &api.Error{Reason: api.ReasonNotFound}
	for what, err := range map[string]error{
		"by name": s.Run(t.Context(), "dust"), "for a pack": s.RunFor(t.Context(), "refresh", "a"), "in the background": s.Start("dust"),
	} {
		if !errors.Is(err, unknown) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if done, ok := s.Track("a", "refresh"); !ok {
		t.Error("a pipeline without a job must go on")
	} else {
		done(nil)
	}
}
