package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/cluster"
	"github.com/contextd/contextd/daemon/cluster/clustertest"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
)

// countedLog is a ChangeLog that notes when it was read.
type countedLog struct {
	*clustertest.Connection
	reads func()
}

// Changes notes that it is read.
func (l countedLog) Changes(ctx context.Context, after int64) (owners []string, last int64, all bool, err error) {
	l.reads()
	return l.Connection.Changes(ctx, after)
}

// TestPolls: what other nodes did is read each half second, at once when a notification comes, and not twice within 20 ms. Keys are
// believed for three seconds after the beginning of the last poll that succeeded, and no longer. An outage is logged as one.
func TestPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var log testbed.Log
		began := time.Now()
		var mu sync.Mutex // guards reads
		var reads []time.Duration
		conn := clustertest.New(time.Now).Connect("a")
		outage := cluster.NewOutage(log.Logger())
		changes, err := cluster.OpenChanges(ctx, countedLog{conn, func() {
			mu.Lock()
			defer mu.Unlock()
			reads = append(reads, time.Since(began))
		}}, outage)
		if err != nil {
			t.Fatal(err)
		}
		changes.OnChange(func(context.Context, []string) error { t.Error("nothing has changed"); return nil })
		go changes.Run(ctx)
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
		changes.Notify()
		at(1019 * ms)
		seen()
		at(1020 * ms)
		seen(1020 * ms)
		at(1100 * ms)
		changes.Notify()
		at(1100 * ms)
		seen(1100 * ms)

		at(1400 * ms)
		conn.Cut()
		cut := clustertest.Gone{}
		at(4100 * ms) // three seconds after the last poll that succeeded
		if err := changes.Lost(); err != nil {
			t.Errorf("lost after three seconds: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if err := changes.Lost(); err == nil {
			t.Error("keys are believed for more than three seconds")
		}
		if err := changes.CatchUp(); err == nil {
			t.Error("a poll that fails is none")
		}
		for range 3 {
			if !outage.Covers(fmt.Errorf("charge: %w", cut)) {
				t.Error("a call that fails for want of the database is logged by itself")
			}
		}
		if outage.Covers(errors.New("a defect")) {
			t.Error("a defect is taken for an outage")
		}
		conn.Mend()
		at(4600 * ms)
		if err := changes.Lost(); err != nil {
			t.Errorf("lost when the database is back: %v", err)
		}
		at(6000 * ms) // two seconds less one poll after the last call that failed
		if log.Count("level=ERROR") != 1 || log.Count("answers again") != 0 {
			t.Errorf("an outage that may go on is logged so: %s", log.String())
		}
		at(6500 * ms)
		if log.Count("level=ERROR") != 1 || log.Count("answers again", "refused_calls=3") != 1 {
			t.Errorf("an outage is logged so: %s", log.String())
		}
		outage.Covers(cut)
		if log.Count("level=ERROR") != 2 {
			t.Errorf("the next outage is logged so: %s", log.String())
		}
	})
}

// TestChanges: what other nodes have changed is loaded again before CatchUp returns, once, and again where that failed.
func TestChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log testbed.Log
		db := clustertest.New(time.Now)
		db.Change("before")
		changes, err := cluster.OpenChanges(t.Context(), db.Connect("a"), cluster.NewOutage(log.Logger()))
		if err != nil {
			t.Fatal(err)
		}
		var loaded [][]string
		var fails error
		changes.OnChange(func(_ context.Context, owners []string) error {
			loaded = append(loaded, owners)
			return fails
		})
		check := func(want ...[]string) {
			t.Helper()
			if !slices.EqualFunc(loaded, want, slices.Equal) {
				t.Errorf("loaded %v, want %v", loaded, want)
			}
			loaded = nil
		}
		if err := changes.CatchUp(); err != nil {
			t.Error(err)
		}
		check()
		for _, owner := range []string{"x", "y", "x"} {
			db.Change(owner)
		}
		fails = errBroken
		if err := changes.CatchUp(); err == nil || errors.Is(err, errBroken) {
			t.Errorf("the caller is told %v", err)
		}
		fails = nil
		if err := changes.CatchUp(); err != nil {
			t.Error(err)
		}
		check([]string{"x", "y"}, []string{"x", "y"})
		if err := changes.CatchUp(); err != nil {
			t.Error(err)
		}
		check()
		if log.Count("read what other nodes have changed: broken") != 1 {
			t.Errorf("logged: %s", log.String())
		}
		all := allLog{db.Connect("b")}
		changes, err = cluster.OpenChanges(t.Context(), all, cluster.NewOutage(log.Logger()))
		if err != nil {
			t.Fatal(err)
		}
		changes.OnChange(func(_ context.Context, owners []string) error {
			loaded = append(loaded, owners)
			return nil
		})
		if err := changes.CatchUp(); err != nil {
			t.Error(err)
		}
		check(nil)
	})
}

// allLog is a ChangeLog that cannot tell who was changed.
type allLog struct{ *clustertest.Connection }

func (allLog) Changes(context.Context, int64) (owners []string, last int64, all bool, err error) {
	return []string{"x"}, 1, true, nil
}

// TestNoChanges: on SQLite there are none, and no outage.
func TestNoChanges(t *testing.T) {
	t.Parallel()
	var changes *cluster.Changes
	var outage *cluster.Outage
	changes.Run(t.Context())
	if err := changes.Lost(); err != nil || outage.Covers(clustertest.Gone{}) {
		t.Errorf("lost: %v", err)
	}
}

// TestListener: a notification reaches those that it is about.
func TestListener(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		var log testbed.Log
		var heard book
		db := clustertest.New(time.Now)
		l := cluster.Listener{
			Listen: db.Connect("a").Listen, Owners: func() { heard.note("owners") }, States: func() { heard.note("states") },
			Logger: log.Logger(),
		}
		ended := make(chan struct{})
		go func() { l.Run(ctx); close(ended) }()
		synctest.Wait()
		db.Notify(history.NotifyState)
		db.Change("x")
		synctest.Wait()
		if got := heard.take(); !slices.Equal(got, []string{"states", "owners"}) {
			t.Errorf("heard %v", got)
		}
		end()
		<-ended
		l.Listen = func(context.Context, func(string)) error { return errBroken }
		l.Run(t.Context())
		if log.Count("notifications of other nodes are late", "broken") != 1 {
			t.Errorf("logged: %s", log.String())
		}
	})
}

// TestSlowPoll: what a poll has read was so when it began, however long it took: keys are believed for three seconds from then on.
func TestSlowPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log testbed.Log
		conn := clustertest.New(time.Now).Connect("a")
		changes, err := cluster.OpenChanges(t.Context(), countedLog{conn, func() { time.Sleep(1500 * time.Millisecond) }},
			cluster.NewOutage(log.Logger()))
		if err != nil {
			t.Fatal(err)
		}
		changes.OnChange(func(context.Context, []string) error { return nil })
		time.Sleep(time.Minute)
		began := time.Now()
		if err := changes.CatchUp(); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			after time.Duration
			lost  bool
		}{{1500 * time.Millisecond, false}, {3 * time.Second, false}, {3*time.Second + time.Nanosecond, true}} {
			time.Sleep(time.Until(began.Add(c.after)))
			if err := changes.Lost(); (err != nil) != c.lost {
				t.Errorf("%s after the poll began: %v", c.after, err)
			}
		}
	})
}
