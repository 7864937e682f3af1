package daemons_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/watch"
	"github.com/contextd/contextd/sdk/api"
)

// BenchmarkWatches evaluates a state for 10,000 watches of 40 conditions; then all of 1,000 webhooks are told of it.
func BenchmarkWatches(b *testing.B) {
	const watches, rules, hooks = 10_000, 40, 1_000
	d := daemontest.Start(b)
	key := d.Key(b, api.TierPro)[:api.KeyIDLength]
	for range 3 {
		d.Clock.Advance(5 * time.Minute)
		if err := d.Refresh(b.Context(), api.PackCrypto); err != nil {
			b.Fatal(err)
		}
	}
	dir := d.Config.DataDir
	service := d.Config
	d.Stop(b)
	s, err := store.Open(b.Context(), dir, service.Now())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	h, err := history.Open(b.Context(), dir, service.Now())
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	var taken atomic.Int64
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { taken.Add(1) }))
	defer hook.Close()
	head, err := h.LogHead(b.Context(), api.PackCrypto)
	if err != nil {
		b.Fatal(err)
	}
	before := event.Place{Log: head.Origin, Seq: head.Size - 2}
	put := func(id string, w event.Watch) {
		b.Helper()
		w.ID, w.OwnerID, w.KeyID, w.Pack, w.From, w.CreatedAt = id, account.OperatorID, key, api.PackCrypto, before, service.Now()
		w.ExpiresAt, w.PaidUntil, w.Rule = w.CreatedAt.Add(time.Hour), w.CreatedAt.Add(time.Hour), event.RuleOf(w.Type, w.Arguments)
		w.Delivery.Type, w.Host = api.DeliverWebhook, hook.Listener.Addr().String()
		if _, _, err := s.PutWatch(b.Context(), w, event.Bounds{Key: 20_000, Owner: 20_000}, nil); err != nil {
			b.Fatal(err)
		}
	}
	for i := range watches {
		value := float64(i % rules)
		a := api.WatchArguments{Member: "asset", Key: "BTC", Field: "priceUsd", Op: api.CompareLess, Value: &value, Pack: api.PackCrypto}
		if i%rules%4 == 0 {
			a = api.WatchArguments{Member: "asset", Key: "ETH", Field: "priceUsd", Percent: 50 + value, WindowMinutes: 10,
				Pack: api.PackCrypto}
		}
		t := api.WatchConditionMet
		if a.Percent > 0 {
			t = api.WatchChangeMoved
		}
		put(fmt.Sprintf("w%d", i), event.Watch{Type: t, Arguments: a.Canonical(), Delivery: api.WatchDelivery{URL: hook.URL}})
	}
	packs := func(string) (watch.Pack, bool) { return watch.Pack{Shown: pack.Crypto().Shown}, true }
	cfg := watch.Config{
		Store: s, History: h, Keys: known{}, Packs: packs, Now: time.Now, Loopback: true,
		Challenges: func(string) error { return nil },
	}
	used := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for b.Loop() {
		if err := s.SaveEvents(b.Context(), api.PackCrypto, before, nil, time.Now()); err != nil {
			b.Fatal(err)
		}
		var m, n runtime.MemStats
		runtime.ReadMemStats(&m)
		began := used()
		if err := watch.New(cfg).Look(b.Context(), api.PackCrypto); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64((used() - began).Milliseconds()), "cpu-ms")
		runtime.ReadMemStats(&n)
		b.ReportMetric(float64(n.TotalAlloc-m.TotalAlloc)/(1<<20), "MB-allocated")
	}
	for i := range hooks {
		put(fmt.Sprintf("h%d", i), event.Watch{Type: api.WatchStatePublished, Arguments: []byte(`{"pack":"crypto"}`),
			Delivery: api.WatchDelivery{URL: hook.URL}})
	}
	if err := s.SaveEvents(b.Context(), api.PackCrypto, before, nil, time.Now()); err != nil {
		b.Fatal(err)
	}
	service2 := watch.New(cfg)
	began := time.Now()
	go service2.Run(b.Context())
	if err := service2.Look(b.Context(), api.PackCrypto); err != nil {
		b.Fatal(err)
	}
	for taken.Load() < hooks && time.Since(began) < time.Minute {
		time.Sleep(time.Millisecond)
	}
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-to-1000-webhooks")
}

type known struct{}

// Lookup knows every key.
func (known) Lookup(id string) (account.Key, error) { return account.Key{ID: id}, nil }
