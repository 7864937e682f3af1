package daemon_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// clientOf is a client with a key.
func clientOf(t *testing.T, d *daemontest.Daemon, key string) *sdk.Client {
	t.Helper()
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(d.URL()), sdk.WithAPIKey(sdk.NewKey(key)), sdk.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// refresh makes n states, minutes apart.
func refresh(t *testing.T, d *daemontest.Daemon, n int) {
	t.Helper()
	for range n {
		d.Clock.Advance(5 * time.Minute)
		if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
			t.Fatal(err)
		}
	}
}

// tidy has the days of watches paid, and deliveries looked at.
func tidy(t *testing.T, d *daemontest.Daemon) {
	t.Helper()
	if err := d.RunJob(t.Context(), "watches"); err != nil {
		t.Fatal(err)
	}
}

// again opens a daemon where d, which is stopped, was.
func again(t *testing.T, d *daemontest.Daemon, change func(*daemon.Config)) *daemontest.Daemon {
	t.Helper()
	next := daemontest.Open(t, change, func(c *daemon.Config) { c.StoreURL = d.Config.StoreURL })
	next.Clock = d.Clock
	next.Run(t)
	return next
}

// eventsAfter are all events of a watch behind a cursor.
func eventsAfter(t *testing.T, c *sdk.Client, id, cursor string) (ids []string, end string, truncated bool) {
	t.Helper()
	for {
		page, err := c.WatchEvents(t.Context(), id, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			ids = append(ids, e.ID)
		}
		truncated = truncated || page.Truncated
		if cursor = page.Cursor; !page.HasMore {
			return ids, cursor, truncated
		}
	}
}

// TestWatches: a watch is read by cursor, the same events with the same ids whoever reads, across a restart and page by page; a cursor of a
// day ago resumes without loss, an older one says that it does not.
func TestWatches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := daemontest.NewClock()
	change := func(c *daemon.Config) { c.DataDir, c.Now = dir, clock.Now }
	d := daemontest.Start(t, change)
	d.Clock = clock
	key := d.Key(t, api.TierFree)
	c := clientOf(t, d, key)
	w, err := c.CreateWatch(t.Context(), api.WatchRequest{Type: api.WatchStatePublished})
	if err != nil {
		t.Fatal(err)
	}
	refresh(t, d, 60)
	ids, end, truncated := eventsAfter(t, c, w.ID, w.Cursor)
	if len(ids) != 60 || truncated || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 60 {
		t.Fatalf("%d events, truncated %t: %q", len(ids), truncated, ids)
	}
	d.Stop(t)
	d = again(t, d, change)
	c = clientOf(t, d, key)
	if same, at, _ := eventsAfter(t, c, w.ID, w.Cursor); !slices.Equal(same, ids) || at != end {
		t.Errorf("after a restart: %q, want %q", same, ids)
	}
	if more, _, _ := eventsAfter(t, c, w.ID, end); len(more) != 0 {
		t.Errorf("behind the end: %q", more)
	}
	page, err := c.WatchEvents(t.Context(), w.ID, w.Cursor)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 19, 39} {
		if rest, _, _ := eventsAfter(t, c, w.ID, *page.Events[i].Cursor); !slices.Equal(rest, ids[i+1:]) {
			t.Errorf("behind event %d are %d, want %d", i, len(rest), len(ids)-i-1)
		}
	}
	clock.Advance(api.WatchReplay - 5*time.Hour)
	if again, _, truncated := eventsAfter(t, c, w.ID, w.Cursor); truncated || !slices.Equal(again, ids) {
		t.Errorf("after a day: %d, truncated %t", len(again), truncated)
	}
	clock.Advance(5 * time.Hour / 2)
	if again, _, truncated := eventsAfter(t, c, w.ID, w.Cursor); !truncated || len(again) >= len(ids) ||
		!slices.Equal(again, ids[len(ids)-len(again):]) {
		t.Errorf("after more than a day: %d, truncated %t", len(again), truncated)
	}
	if other, _, truncated := eventsAfter(t, c, w.ID, "djF8b3RoZXJ8MXww"); !truncated || len(other) == 0 {
		t.Errorf("with the cursor of another log: %d, truncated %t", len(other), truncated)
	}
}

// TestWatchDays: each started day of a watch costs a call, once; one that is not paid is paused until there are credits; a key that ends
// ends its watches; of several equal ones there is one.
func TestWatchDays(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(c *daemon.Config) { c.Limits.FreeCalls = 1 })
	ctx := t.Context()
	issued, err := d.Keys().Issue(ctx, account.NewKey{OwnerID: account.OperatorID, Name: "watches", Tier: api.TierPro})
	if err != nil {
		t.Fatal(err)
	}
	d.Grant(t, issued.Key, 3)
	c := clientOf(t, d, issued.Key)
	left := func() int64 {
		t.Helper()
		b, err := d.Credits().Balance(ctx, account.OperatorID, issued.KeyID)
		if err != nil {
			t.Fatal(err)
		}
		return b.Balance
	}
	tidied := func(after time.Duration) api.Watch {
		t.Helper()
		d.Clock.Advance(after)
		tidy(t, d)
		list, err := c.Watches(ctx)
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0]
	}
	ask := api.WatchRequest{Type: api.WatchFlagChanged, Arguments: []byte(`{"severity":"critical"}`)}
	for range 2 {
		if _, err := c.CreateWatch(ctx, ask); err != nil || left() != 2 {
			t.Fatalf("%v, %d credits are left", err, left())
		}
	}
	if w := tidied(api.WatchDay - time.Second); left() != 2 || w.Status != api.WatchActive {
		t.Errorf("within the day: %+v, %d credits", w, left())
	}
	for range 2 {
		if w := tidied(time.Second); left() != 1 || w.Status != api.WatchActive ||
			w.PaidUntil.Sub(d.Clock.Now()) < api.WatchDay-2*time.Second {
			t.Errorf("on the second day: %+v, %d credits", w, left())
		}
	}
	_ = tidied(api.WatchDay)
	if left() != 0 {
		t.Errorf("on the third day %d credits are left", left())
	}
	d.Clock.Advance(time.Hour)
	if _, err := c.Fresh(ctx, ""); err != nil { // the one free call, which would pay
		t.Fatal(err)
	}
	if w := tidied(api.WatchDay - time.Hour); w.Status != api.WatchPaused {
		t.Errorf("unpaid: %+v", w)
	}
	if _, err := c.WatchEvents(ctx, tidied(0).ID, ""); !errors.Is(err, &api.Error{Reason: api.ReasonInsufficient}) {
		t.Errorf("reading what is not paid: %v", err)
	}
	d.Grant(t, issued.Key, 1)
	if w := tidied(0); w.Status != api.WatchActive || left() != 0 {
		t.Errorf("paid again: %+v, %d credits", w, left())
	}
	other := clientOf(t, d, d.Key(t, api.TierPro))
	if list, err := other.Watches(ctx); err != nil || len(list) != 0 {
		t.Errorf("another holder of the operator's keys sees %+v, %v", list, err)
	}
	if _, err := d.Keys().Revoke(ctx, issued.KeyID); err != nil {
		t.Fatal(err)
	}
	tidy(t, d)
}

// TestWatchBounds: a key without credits has three watches, and what is refused costs nothing.
func TestWatchBounds(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	c := clientOf(t, d, d.Key(t, api.TierFree))
	for i, severity := range []string{"notice", "warning", "critical", `notice","changes":["ended"],"pack":"crypto`} {
		arguments := `{"severity":"` + severity + `"}`
		_, err := c.CreateWatch(t.Context(), api.WatchRequest{Type: api.WatchFlagChanged, Arguments: []byte(arguments)})
		full := errors.Is(err, &api.Error{Reason: api.ReasonTooManyWatches})
		if full != (i == api.WatchesPerFreeKey) || !full && err != nil {
			t.Errorf("watch %d: %v", i, err)
		}
	}
	list, err := c.Watches(t.Context())
	if err != nil || len(list) != api.WatchesPerFreeKey {
		t.Fatalf("%+v, %v", list, err)
	}
	if err := c.RemoveWatch(t.Context(), list[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := c.RemoveWatch(t.Context(), list[0].ID); !errors.Is(err, &api.Error{Reason: api.ReasonWatchNotFound}) {
		t.Errorf("removed twice: %v", err)
	}
}

// TestCreditsLow: an owner is told once for each fall below the number.
func TestCreditsLow(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	ctx, key := t.Context(), d.Key(t, api.TierPro)
	d.Grant(t, key, 5)
	c := clientOf(t, d, key)
	w, err := c.CreateWatch(ctx, api.WatchRequest{Type: api.WatchCreditsLow, Arguments: []byte(`{"below":4}`)})
	if err != nil {
		t.Fatal(err)
	}
	count := func() int {
		t.Helper()
		d.Clock.Advance(time.Minute)
		for range 2 {
			tidy(t, d)
		}
		ids, _, _ := eventsAfter(t, c, w.ID, w.Cursor)
		return len(ids)
	}
	if n := count(); n != 0 { // 4 are left
		t.Errorf("at the number: %d", n)
	}
	if _, err := c.Fresh(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 1 {
		t.Errorf("below it: %d", n)
	}
	d.Grant(t, key, 5)
	if n := count(); n != 1 {
		t.Errorf("above it again: %d", n)
	}
	for range 5 {
		if _, err := c.Fresh(ctx, ""); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(); n != 2 {
		t.Errorf("below it once more: %d", n)
	}
	_, end, _ := eventsAfter(t, c, w.ID, w.Cursor)
	d.Clock.Advance(-time.Hour)
	d.Grant(t, key, 10)
	_ = count()
	for range 10 {
		if _, err := c.Fresh(ctx, ""); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(); n != 3 {
		t.Errorf("below it with the clock set back: %d", n)
	}
	if more, _, _ := eventsAfter(t, c, w.ID, end); len(more) != 1 {
		t.Errorf("behind the event before that: %q", more)
	}
	late, err := c.CreateWatch(ctx, api.WatchRequest{Type: api.WatchCreditsLow, Arguments: []byte(`{"below":100}`)})
	if err != nil {
		t.Fatal(err)
	}
	d.Clock.Advance(-time.Hour)
	tidy(t, d)
	if ids, _, _ := eventsAfter(t, c, late.ID, late.Cursor); len(ids) != 1 {
		t.Errorf("of a watch that was made before the clock was set back: %q", ids)
	}
}
