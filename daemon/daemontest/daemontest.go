// Package daemontest boots a real daemon for tests: port 0, a temporary data directory, recorded sources and a clock that moves
// only when it is told to.
//
// Nothing in it is a stand-in but the outside world: databases are files, calls go over HTTP and the admin socket, and sources
// are read by the real connectors from recorded answers. Only tests import it.
package daemontest

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// Clock stands still until it is moved. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

// NewClock returns a Clock that stands at the moment of the first recording.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)} }

// Now is the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Daemon is a running daemon with what a test moves it by.
type Daemon struct {
	*daemon.Daemon
	Config    daemon.Config
	Clock     *Clock
	Recording *replay.Recording

	stop  context.CancelFunc
	ended chan error
}

// Overlap has the tests of a package go n at a time, since most wait for others most of the time, and has their garbage collected less
// often. -parallel and GOGC win over it.
func Overlap(n int) {
	_ = flag.Set("test.parallel", strconv.Itoa(n))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// Start boots a daemon with one state and its brief, which ends with the test. Each change is made to its Config before; the
// schedule does not refresh in the first hours unless a change says so. Pages are off without
// WithPages.
func Start(t testing.TB, changes ...func(*daemon.Config)) *Daemon {
	t.Helper()
	d := Open(t, changes...)
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatalf("first state: %v", err)
	}
	if d.Config.Briefs.Model != nil { // else the refresh has written it
		if err := d.Narrate(t.Context(), api.PackCrypto); err != nil {
			t.Fatalf("first brief: %v", err)
		}
	}
	d.Run(t)
	return d
}

// Open opens a daemon that does not run yet, which is closed with the test.
func Open(t testing.TB, changes ...func(*daemon.Config)) *Daemon {
	t.Helper()
	clock := NewClock()
	var cfg daemon.Config
	rec := replay.New(func() time.Time { return cfg.Now() }) // whichever clock a change has put there
	cfg = daemon.Config{
		DataDir: t.TempDir(), Serve: daemon.Serve{Listen: "127.0.0.1:0", Page: "off"},
		Data: daemon.Data{Every: 24 * time.Hour, Recording: rec},
		Now:  clock.Now, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if os.Getenv(testbed.OnPostgres) != "" {
		cfg.StoreURL = testbed.Postgres(t)
	}
	for _, change := range changes {
		change(&cfg)
	}
	opened, err := daemon.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open daemon: %v", err)
	}
	d := &Daemon{Daemon: opened, Config: cfg, Clock: clock, Recording: rec}
	t.Cleanup(func() { d.Stop(t) })
	return d
}

// WithPages has the daemon serve pages, as it does by default: to make them of every state takes as long as to make the state.
func WithPages(cfg *daemon.Config) { cfg.Page = "on" }

// Run runs the daemon in the background.
func (d *Daemon) Run(t testing.TB) {
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	d.stop, d.ended = stop, make(chan error, 1)
	go func() { d.ended <- d.Daemon.Run(ctx) }()
}

// Stop stops and closes the daemon. Stopping again does nothing.
func (d *Daemon) Stop(t testing.TB) {
	t.Helper()
	if d.Daemon == nil {
		return
	}
	if d.stop != nil {
		d.stop()
		if err := <-d.ended; err != nil {
			t.Errorf("run daemon: %v", err)
		}
	}
	if err := d.Close(); err != nil {
		t.Errorf("close daemon: %v", err)
	}
	d.Daemon = nil
}

// RunJob runs a job once more. Where the daemon is running it, that run is waited for first.
func (d *Daemon) RunJob(ctx context.Context, name string) error {
	const most = 12000 // two minutes
	for tries := 1; ; tries++ {
		err := d.Daemon.RunJob(ctx, name)
		if err == nil || !strings.Contains(err.Error(), "is running already") || ctx.Err() != nil || tries == most {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Grant gives credits to a key.
func (d *Daemon) Grant(t testing.TB, key string, credits int64) {
	t.Helper()
	e := billing.Entry{KeyID: key[:api.KeyIDLength], Amount: credits, Kind: billing.KindGrant, Reason: "test"}
	if _, err := d.Credits().Move(t.Context(), account.OperatorID, e); err != nil {
		t.Fatalf("grant credits: %v", err)
	}
}

// Key issues a key of the given tier and returns its plaintext.
func (d *Daemon) Key(t testing.TB, tier api.Tier) string {
	t.Helper()
	issued, err := d.Keys().Issue(t.Context(), account.NewKey{OwnerID: account.OperatorID, Name: "test", Tier: tier})
	if err != nil {
		t.Fatalf("issue key: %v", err)
	}
	return issued.Key
}
