package daemon_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// TestNetworkCut starts a daemon whose sources cannot be reached, as serve would, and lets the network come back.
func TestNetworkCut(t *testing.T) {
	t.Parallel()
	var log testbed.Log
	clock := daemontest.NewClock()
	network := replay.New(clock.Now)
	network.Break("", nil)
	d := daemontest.Open(t, func(c *daemon.Config) {
		c.Recording, c.Transport, c.Now = nil, network, clock.Now
		c.Every = time.Second // so that the next attempt comes soon
		c.Logger = log.Logger()
	})
	key := d.Key(t, api.TierFree)
	d.Run(t)
	c := client(t, d, key)
	var down *api.Error
	until(t, "every source has failed", func() bool { // the schedule tries at once, but the first call may come before that
		_, err := c.Fresh(t.Context(), "")
		if !errors.As(err, &down) || down.Reason != api.ReasonStateUnavailable || down.Status != http.StatusServiceUnavailable ||
			down.RetryAfter != api.StateUnavailableRetry*time.Second {
			t.Fatalf("without a network fresh answers %v", err)
		}
		return failing(down.SourceStatus) == len(down.SourceStatus)
	})
	if len(down.SourceStatus) != 18 || !strings.Contains(*down.SourceStatus[0].Error, "refused") {
		text, _ := json.Marshal(down.SourceStatus)
		t.Errorf("the answer does not say why sources fail: %s", text)
	}
	until(t, "the failure is logged", func() bool { return strings.Contains(log.String(), "every source failed") })
	for _, want := range []string{"source=coingecko-markets", "source=mempool-fees", "connection refused"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q", want)
		}
	}
	network.Mend()
	until(t, "there is a state", func() bool {
		answer, err := c.Fresh(t.Context(), "")
		if err == nil && answer.Freshness.GeneratedAt.IsZero() {
			t.Errorf("fresh answers %+v", answer.Freshness)
		}
		return err == nil
	})
	until(t, "a source is back", func() bool { return strings.Contains(log.String(), "source recovered") })
}

// failing counts the sources that say why they failed.
func failing(list []api.SourceStatus) int {
	n := 0
	for _, s := range list {
		if s.Status == api.SourceError && s.Error != nil && s.Failures > 0 {
			n++
		}
	}
	return n
}

// TestRowsAreStaleWhenAllSourcesFail: there is no newer state to say it, so the rows have to, until a source answers again.
func TestRowsAreStaleWhenAllSourcesFail(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	c := client(t, d, d.Key(t, api.TierPro))
	ask := func() []api.LookupRow {
		t.Helper()
		found, err := c.Lookup(t.Context(), sdk.LookupRequest{Questions: []string{"cardano price", "tether supply"}})
		if err != nil || len(found.Results) != 2 || len(found.Results[0].Rows)*len(found.Results[1].Rows) == 0 {
			t.Fatalf("lookup: %+v, %v", found, err)
		}
		return []api.LookupRow{found.Results[0].Rows[0], found.Results[1].Rows[0]}
	}
	stale := func(want bool, ages ...int64) {
		t.Helper()
		for i, row := range ask() {
			if row.Stale != want || row.AgeSeconds != ages[i] {
				t.Errorf("%s: stale %v, %d s old; want %v, %d", row.Name, row.Stale, row.AgeSeconds, want, ages[i])
			}
		}
	}
	stale(false, 0, 0)
	d.Clock.Advance(2 * time.Minute)
	d.Recording.Break("", nil)
	if err := d.Refresh(t.Context(), api.PackCrypto); err == nil {
		t.Fatal("a refresh without a source does not fail")
	}
	stale(true, 120, 120)
	d.Recording.Mend()
	d.Recording.Break("api.coingecko.com", nil)
	d.Clock.Advance(time.Minute)
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	rows := ask()
	if !rows[0].Stale || rows[0].AgeSeconds != 180 || rows[1].Stale || rows[1].AgeSeconds != 0 {
		t.Errorf("with CoinGecko dead: %+v", rows)
	}
}
