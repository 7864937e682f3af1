package daemons_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/watch"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// crowd is the store and the history of a daemon that has stopped, in which many watch for what the last state brought.
type crowd struct {
	*store.Store
	history *readings
	hook    *httptest.Server
	taken   atomic.Int64 // of webhooks
	before  event.Place  // the last state
	cfg     watch.Config
	key     string
	now     time.Time
	looked  atomic.Int64 // how often a condition was read, which is once each time that it is evaluated
}

// readings counts the states that are read.
type readings struct {
	*history.History
	pulses atomic.Int64
}

// PulseBefore reads a state.
func (r *readings) PulseBefore(ctx context.Context, pack string, t time.Time) (state.Pulse, error) {
	r.pulses.Add(1)
	return r.History.PulseBefore(ctx, pack, t)
}

func newCrowd(tb testing.TB) *crowd {
	tb.Helper()
	d := daemontest.Start(tb, func(cfg *daemon.Config) { cfg.StoreURL = "" }) // its file is opened below
	c := &crowd{key: d.Key(tb, api.TierPro)[:api.KeyIDLength]}
	for range 3 {
		d.Clock.Advance(5 * time.Minute)
		if err := d.Refresh(tb.Context(), api.PackCrypto); err != nil {
			tb.Fatal(err)
		}
	}
	dir := d.Config.DataDir
	c.now = d.Clock.Now()
	d.Stop(tb)
	var err error
	if c.Store, err = store.Open(tb.Context(), dir, c.now); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	h, err := history.Open(tb.Context(), dir, c.now)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = h.Close() })
	c.history = &readings{History: h}
	c.hook = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { c.taken.Add(1) }))
	tb.Cleanup(c.hook.Close)
	head, err := h.LogHead(tb.Context(), api.PackCrypto)
	if err != nil {
		tb.Fatal(err)
	}
	c.before = event.Place{Log: head.Origin, Seq: head.Size - 2}
	// The daemon may have looked at the last state.
	if err := c.SaveEvents(tb.Context(), api.PackCrypto, c.before, nil, nil, c.now); err != nil {
		tb.Fatal(err)
	}
	c.cfg = watch.Config{
		Store: c, History: c.history, Keys: known{}, Now: time.Now, Loopback: true, Challenges: func(string) error { return nil },
		Packs: func(string) (watch.Pack, bool) {
			c.looked.Add(1)
			return watch.Pack{Shown: pack.Crypto().Shown}, true
		},
	}
	return c
}

// put keeps a watch.
func (c *crowd) put(tb testing.TB, id string, of api.WatchType, arguments []byte) {
	tb.Helper()
	w := event.Watch{
		ID: id, OwnerID: account.OperatorID, KeyID: c.key, Type: of, Pack: api.PackCrypto, Arguments: arguments, From: c.before,
		Rule: event.RuleOf(of, arguments), Delivery: api.WatchDelivery{Type: api.DeliverWebhook, URL: c.hook.URL},
		Host: c.hook.Listener.Addr().String(), CreatedAt: c.now, ExpiresAt: c.now.Add(time.Hour), PaidUntil: c.now.Add(time.Hour),
	}
	if _, _, err := c.PutWatch(tb.Context(), w, event.Bounds{Key: 20_000, Owner: 20_000}, nil); err != nil {
		tb.Fatal(err)
	}
}

// fill keeps watches of as many conditions as rules says, which nothing meets.
func (c *crowd) fill(tb testing.TB, watches, rules int) {
	tb.Helper()
	for i := range watches {
		value := float64(i % rules)
		of, a := api.WatchConditionMet, api.WatchArguments{Member: "asset", Key: "BTC", Field: "priceUsd", Op: api.CompareLess, Value: &value,
			Pack: api.PackCrypto}
		if i%rules%4 == 0 {
			of, a = api.WatchChangeMoved, api.WatchArguments{Member: "asset", Key: "ETH", Field: "priceUsd", Percent: 50 + value,
				WindowMinutes: 10, Pack: api.PackCrypto}
		}
		c.put(tb, fmt.Sprintf("w%d", i), of, a.Canonical())
	}
}

// look has the last state looked at, as if it were new, and returns what that took.
func (c *crowd) look(tb testing.TB) (processor time.Duration, allocated uint64) {
	tb.Helper()
	if err := c.SaveEvents(tb.Context(), api.PackCrypto, c.before, nil, nil, time.Now()); err != nil {
		tb.Fatal(err)
	}
	c.history.pulses.Store(0)
	c.looked.Store(0)
	used := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	var m, n runtime.MemStats
	runtime.ReadMemStats(&m)
	began := used()
	if err := watch.New(c.cfg).Look(tb.Context(), api.PackCrypto); err != nil {
		tb.Fatal(err)
	}
	processor = used() - began
	runtime.ReadMemStats(&n)
	return processor, n.TotalAlloc - m.TotalAlloc
}

// TestWatchBounds: what a state costs with 10,000 watches of 40 conditions is what it costs with 40 of them: each condition is evaluated
// once, no state is read twice, and no more is allocated. Each watch whose condition was met has one delivery of one event.
func TestWatchBounds(t *testing.T) {
	const rules, most = 40, 40 << 20
	var reads, looks int64
	var bytes uint64
	for _, watches := range []int{rules, 10_000} {
		c := newCrowd(t)
		c.fill(t, watches/rules*(rules-1), rules-1)
		const published = `{"pack":"crypto"}`
		for i := range watches / rules {
			c.put(t, fmt.Sprintf("s%d", i), api.WatchStatePublished, []byte(published))
		}
		processor, allocated := c.look(t)
		t.Logf("%d watches: %v of processor, %d KiB allocated, %d states read, %d evaluations", watches, processor, allocated>>10,
			c.history.pulses.Load(), c.looked.Load())
		told, err := c.WatchMessages(t.Context(), event.RuleOf(api.WatchStatePublished, []byte(published)), time.Time{}, 10)
		if err != nil || len(told) != 1 {
			t.Errorf("%d watches are told %d events, %v", watches, len(told), err)
		}
		stands, err := c.WatchStanding(t.Context(), time.Now())
		if err != nil || stands.Waiting != watches/rules || stands.Gaps != 0 {
			t.Errorf("%d watches stand as %+v, %v", watches, stands, err)
		}
		if reads == 0 {
			reads, looks, bytes = c.history.pulses.Load(), c.looked.Load(), allocated
			if looks != rules+1 { // the states of the pack are walked once, for all
				t.Errorf("%d conditions are evaluated %d times", rules, looks)
			}
			if reads >= rules {
				t.Errorf("%d states are read for %d conditions", reads, rules)
			}
			continue
		}
		if n := c.history.pulses.Load(); n != reads {
			t.Errorf("%d states are read for %d watches, %d for %d", n, watches, reads, rules)
		}
		if n := c.looked.Load(); n != looks {
			t.Errorf("conditions are evaluated %d times for %d watches, %d times for %d", n, watches, looks, rules)
		}
		if allocated > 2*bytes || allocated > most {
			t.Errorf("%d bytes are allocated for %d watches, %d for %d", allocated, watches, bytes, rules)
		}
	}
}

// BenchmarkWatches evaluates a state for 10,000 watches of 40 conditions; then all of 1,000 webhooks are told of it.
func BenchmarkWatches(b *testing.B) {
	const watches, rules, hooks = 10_000, 40, 1_000
	c := newCrowd(b)
	c.fill(b, watches, rules)
	for b.Loop() {
		processor, allocated := c.look(b)
		b.ReportMetric(float64(processor.Milliseconds()), "cpu-ms")
		b.ReportMetric(float64(allocated)/(1<<20), "MB-allocated")
	}
	for i := range hooks {
		c.put(b, fmt.Sprintf("h%d", i), api.WatchStatePublished, []byte(`{"pack":"crypto"}`))
	}
	if err := c.SaveEvents(b.Context(), api.PackCrypto, c.before, nil, nil, time.Now()); err != nil {
		b.Fatal(err)
	}
	service := watch.New(c.cfg)
	began := time.Now()
	go service.Run(b.Context())
	if err := service.Look(b.Context(), api.PackCrypto); err != nil {
		b.Fatal(err)
	}
	for c.taken.Load() < hooks && time.Since(began) < time.Minute {
		time.Sleep(time.Millisecond)
	}
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-to-1000-webhooks")
}

type known struct{}

// Lookup knows every key.
func (known) Lookup(id string) (account.Key, error) { return account.Key{ID: id}, nil }
