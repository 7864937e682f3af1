package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// TestDemoDataStaysApart: what a demo has made is marked for good, serve refuses it, and a demo refuses what is real; neither leaves
// anything in a directory that it refuses.
func TestDemoDataStaysApart(t *testing.T) {
	long.Test(t)
	t.Parallel()
	play := func(dir string) error {
		d, _, err := daemon.OpenDemo(t.Context(), daemon.Config{DataDir: dir, Serve: daemon.Serve{Listen: "127.0.0.1:0"}},
			demo.Play{ChainListen: "127.0.0.1:0"})
		if err != nil {
			return err
		}
		return d.Close()
	}
	serve := func(dir string) error {
		d, err := daemon.Open(t.Context(), daemon.Config{DataDir: dir, Serve: daemon.Serve{Listen: "127.0.0.1:0"}})
		if err != nil {
			return err
		}
		return d.Close()
	}
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "--data-dir") {
			t.Errorf("%s: %v", what, err)
		}
	}
	made := t.TempDir()
	for range 2 {
		if err := play(made); err != nil {
			t.Fatal(err)
		}
		refused("serve on a demo's data", serve(made))
	}
	if err := os.Remove(filepath.Join(made, demo.File)); err != nil {
		t.Fatal(err)
	}
	refused("serve on a demo's data without its file", serve(made))
	if err := play(made); err != nil {
		t.Errorf("a demo on its own data: %v", err)
	}

	// States that no demo has marked: a daemon of recorded sources makes them as serve does of real ones.
	d := daemontest.Start(t)
	d.Stop(t)
	real := d.Config.DataDir
	refused("a demo on real data", play(real))
	if _, err := os.Stat(filepath.Join(real, "chain")); err == nil {
		t.Error("the demo has begun a chain in a directory that it refuses")
	}
	if err := serve(real); err != nil {
		t.Errorf("serve on real data: %v", err)
	}
	if err := os.WriteFile(filepath.Join(real, demo.File), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := serve(real); err != nil {
		t.Errorf("serve on data that is not marked yet: %v", err)
	}
	if err := play(real); err != nil { // of a demo of before there were marks
		t.Fatal(err)
	}
	refused("serve after the next start of demo", serve(real))
	if o, err := history.OriginOf(t.Context(), real); err != nil || !o.Demo || !o.States {
		t.Errorf("%+v, %v", o, err)
	}
	empty := t.TempDir()
	if err := serve(empty); err != nil {
		t.Fatal(err)
	}
	if err := play(empty); err != nil {
		t.Errorf("a demo where serve has made no state: %v", err)
	}
}

// TestDemoLives: a demo begins with a day of history; then its prices move with every state, and an incident becomes a critical flag step by
// step and passes.
func TestDemoLives(t *testing.T) {
	long.Test(t)
	t.Parallel()
	var passed atomic.Int64
	began := time.Now()
	const every = 15 * time.Second
	d, info, err := daemon.OpenDemo(t.Context(), daemon.Config{
		DataDir: t.TempDir(), Serve: daemon.Serve{Listen: "127.0.0.1:0"}, Data: daemon.Data{Every: every},
		Now: func() time.Time { return began.Add(time.Duration(passed.Load())) },
	}, demo.Play{ChainListen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, d.Close()); err != nil {
			t.Error(err)
		}
	})
	client, err := sdk.New(sdk.WithBaseURL(info.BaseURL), sdk.WithAPIKey(sdk.NewKey(info.APIKey)))
	if err != nil {
		t.Fatal(err)
	}
	past, err := client.Series(ctx, sdk.SeriesRequest{Pack: api.PackCrypto, Path: "asset/bitcoin", Span: 24 * time.Hour, Points: 24})
	if err != nil {
		t.Fatal(err)
	}
	hours, prices := map[float64]bool{}, map[float64]bool{}
	for _, price := range past.Rows[0].Values {
		if price != nil {
			hours[*price] = true
		}
	}
	if len(hours) < 8 {
		t.Errorf("%d prices of Bitcoin in the day before", len(hours))
	}
	var course []string
	for range int(8 * time.Minute / every) {
		passed.Add(int64(every))
		if err := d.Refresh(ctx, api.PackCrypto); err != nil {
			t.Fatal(err)
		}
		fresh, err := client.Fresh(ctx, api.PackCrypto)
		if err != nil {
			t.Fatal(err)
		}
		state, ok := api.ReadCrypto(api.PackCrypto, fresh.State)
		if !ok {
			t.Fatalf("the state is %s", fresh.State)
		}
		prices[*state.TopMovers[0].PriceUSD] = true
		severity := "none"
		for _, f := range state.Flags {
			if f.Kind == api.FlagDepeg && f.Subject == "USD0" {
				severity = string(f.Severity)
			}
		}
		course = append(course, severity)
	}
	// The schedule makes states too: one of the steps may be passed between two looks.
	got := strings.Join(slices.Compact(course), " ")
	if !regexp.MustCompile(`^none (notice warning|notice|warning) critical\b.* none$`).MatchString(got) {
		t.Errorf("the incident goes %s", got)
	}
	if len(prices) < len(course)-2 {
		t.Errorf("%d prices of Bitcoin in %d states", len(prices), len(course))
	}
}

// TestDemo: a demo has history, a brief and a key, which it keeps, and says so in its file.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, info, err := daemon.OpenDemo(t.Context(), daemon.Config{
		DataDir: dir, Serve: daemon.Serve{Listen: "127.0.0.1:0"}, Data: daemon.Data{Every: time.Hour},
	}, demo.Play{ChainListen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(d.URL()), sdk.WithAPIKey(sdk.NewKey(info.APIKey)), sdk.WithRetries(0),
		sdk.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	var written demo.Info
	text, err := os.ReadFile(filepath.Join(dir, demo.File))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &written); err != nil || !reflect.DeepEqual(written, info) || info.BaseURL != d.URL() {
		t.Errorf("%s holds %+v, want %+v (%v)", demo.File, written, info, err)
	}
	for _, back := range []time.Duration{5 * time.Minute, 30 * time.Minute, 55 * time.Minute} {
		if _, err := c.Snapshot(t.Context(), "", time.Now().Add(-back)); err != nil {
			t.Errorf("snapshot of %v ago: %v", back, err)
		}
	}
	brief, err := c.Brief(t.Context(), "")
	if err != nil || len(strings.Fields(brief.Brief)) < 100 {
		t.Errorf("brief %q, %v", brief.Brief, err)
	}
	stop()
	if err := errors.Join(<-ended, d.Close()); err != nil {
		t.Fatal(err)
	}
	_, again, err := reopenDemo(t, dir)
	if err != nil || again.APIKey != info.APIKey {
		t.Errorf("a demo on the same directory has key %q, %v; want the key it had", again.APIKey, err)
	}
}

// reopenDemo opens a demo in dir that ends with the test.
func reopenDemo(t *testing.T, dir string) (*daemon.Daemon, demo.Info, error) {
	t.Helper()
	d, info, err := daemon.OpenDemo(t.Context(), daemon.Config{DataDir: dir, Serve: daemon.Serve{Listen: "127.0.0.1:0"}},
		demo.Play{ChainListen: "127.0.0.1:0"})
	if err == nil {
		t.Cleanup(func() { _ = d.Close() })
	}
	return d, info, err
}
