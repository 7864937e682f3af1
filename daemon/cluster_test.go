package daemon_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// TestWatchAtTwoNodes: a watch that is asked for at two nodes at once, several times, is one, paid once, with one secret. The node that does
// not lead takes it, tells its owner of it, and reads its events.
func TestWatchAtTwoNodes(t *testing.T) {
	t.Parallel()
	place, r := testbed.Postgres(t), newReceiver(t)
	on := func(cfg *daemon.Config) { cfg.StoreURL = place; onLoopback(cfg) }
	first := daemontest.Start(t, on)
	second := daemontest.Open(t, on)
	second.Clock = first.Clock
	second.Run(t)
	waitNodes(t, place, 2)
	key := first.Key(t, api.TierPro)
	first.Grant(t, key, 5)
	until(t, "both nodes know the key", func() bool {
		_, err := clientOf(t, second, key).Watches(t.Context())
		return err == nil
	})
	asked := api.WatchRequest{Type: api.WatchStatePublished, Delivery: api.WatchDelivery{Type: api.DeliverWebhook, URL: r.URL}}
	var mu sync.Mutex
	made := map[string]int{}
	secrets := map[string]bool{}
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range 8 {
		c := clientOf(t, []*daemontest.Daemon{first, second}[i%2], key)
		all.Go(func() {
			<-start
			w, err := c.CreateWatch(t.Context(), asked)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			made[w.ID]++
			if w.Secret != "" { // who comes late is shown none
				secrets[w.Secret] = true
			}
		})
	}
	close(start)
	all.Wait()
	list, err := clientOf(t, second, key).Watches(t.Context())
	if err != nil || len(list) != 1 || len(made) != 1 || len(secrets) != 1 {
		t.Fatalf("%d watches, made as %v with %d secrets, %v", len(list), made, len(secrets), err)
	}
	if b, err := first.Credits().Balance(t.Context(), account.OperatorID, key[:api.KeyIDLength]); err != nil || b.Balance != 4 {
		t.Errorf("%+v, %v", b, err)
	}
	for secret := range secrets {
		r.set(secret, 0)
	}
	refresh(t, first, 1)
	until(t, "the event", func() bool { return len(r.got()) == 1 })
	if len(r.bad) > 0 {
		t.Errorf("%q", r.bad)
	}
}

// TestWatchTakeover: what a leader has not delivered when it ends, and what happens after it, the next delivers: nothing is lost, and a
// repetition has the same text.
func TestWatchTakeover(t *testing.T) {
	t.Parallel()
	place, r := testbed.Postgres(t), newReceiver(t)
	on := func(cfg *daemon.Config) { cfg.StoreURL = place; onLoopback(cfg) }
	first := daemontest.Start(t, on)
	second := daemontest.Open(t, on)
	key := first.Key(t, api.TierPro)
	first.Grant(t, key, 5)
	w := hooked(t, first, key, r)
	second.Clock.Advance(first.Clock.Now().Sub(second.Clock.Now()))
	second.Run(t)
	waitNodes(t, place, 2)
	refresh(t, first, 1)
	until(t, "the first event", func() bool { return len(r.got()) == 1 })
	r.set("", http.StatusServiceUnavailable)
	refresh(t, first, 2)
	failed(t, first, key, 2)
	first.Stop(t)
	waitNodes(t, place, 1)
	r.set("", 0)
	second.Clock.Advance(20 * time.Minute)
	until(t, "the second leads", func() bool { return second.Refresh(t.Context(), api.PackCrypto) == nil })
	taken := map[string]int{}
	later(t, second, 0, "all events", func() bool {
		clear(taken)
		for _, p := range r.got() {
			if p.status == http.StatusOK {
				taken[p.id]++
			}
		}
		return len(taken) == 4
	})
	ids, _, truncated := eventsAfter(t, clientOf(t, second, key), w.ID, w.Cursor)
	if told := slices.Sorted(maps.Keys(taken)); truncated || !slices.Equal(told, slices.Sorted(slices.Values(ids))) {
		t.Errorf("told %q, read %q", told, ids)
	}
	texts := map[string]string{}
	for _, p := range r.got() {
		if was, known := texts[p.id]; known && was != p.body || taken[p.id] != 1 {
			t.Errorf("%s came %d times, as %s and %s", p.id, taken[p.id], was, p.body)
		}
		texts[p.id] = p.body
	}
	if len(r.bad) > 0 {
		t.Errorf("%q", r.bad)
	}
}

// TestHandOver: of two daemons on a database one leads, the other refuses what only the leader does, and leads once that has ended.
func TestHandOver(t *testing.T) {
	t.Parallel()
	place := testbed.Postgres(t)
	first := daemontest.Start(t, func(cfg *daemon.Config) { cfg.StoreURL = place })
	second := daemontest.Open(t, func(cfg *daemon.Config) { cfg.StoreURL = place })
	second.Run(t)
	before := waitNodes(t, place, 2)
	if err := second.Refresh(t.Context(), api.PackCrypto); err == nil || !strings.Contains(err.Error(), "only the leader") {
		t.Errorf("a follower refreshes: %v", err)
	}
	if err := second.RunJob(t.Context(), "prune"); err == nil || !strings.Contains(err.Error(), "only the leader") {
		t.Errorf("a follower prunes: %v", err)
	}
	if err := second.RunJob(t.Context(), "flush"); err != nil {
		t.Errorf("every node writes down last uses: %v", err)
	}
	first.Stop(t)
	after := waitNodes(t, place, 1)
	if after.Epoch <= before.Epoch || after.Leader == before.Leader {
		t.Errorf("%+v after %+v", after, before)
	}
	if err := second.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Errorf("the new leader refreshes: %v", err)
	}
}
