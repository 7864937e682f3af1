package daemon_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// TestDaemonOnPostgres: it serves and charges, goes on where it has ended, and is alone on its database.
func TestDaemonOnPostgres(t *testing.T) {
	t.Parallel()
	place := testbed.Postgres(t)
	d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.StoreURL = place })
	key := d.Key(t, api.TierPro)
	d.Grant(t, key, 10)
	fresh := func(d *daemontest.Daemon) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+"/v1/fresh", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("fresh: %d, %v", res.StatusCode, err)
		}
	}
	fresh(d)
	waitNodes(t, place, 1)
	if _, err := admin.Open(t.Context(), admin.Config{DataDir: t.TempDir(), StoreURL: place}); !errors.Is(err, database.ErrHeld) {
		t.Errorf("an operator beside the daemon: %v", err)
	}
	o, err := admin.Open(t.Context(), admin.Config{DataDir: d.Config.DataDir, StoreURL: place})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := o.VerifyDatabases(t.Context()); err != nil || len(r.Problems) > 0 || r.States == 0 {
		t.Errorf("verified: %+v, %v", r, err)
	}
	if err := o.Backup(t.Context(), new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "PostgreSQL") {
		t.Errorf("a backup of files: %v", err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	d.Stop(t)
	d = daemontest.Open(t, func(cfg *daemon.Config) { cfg.StoreURL, cfg.DataDir = place, d.Config.DataDir })
	d.Run(t)
	fresh(d) // the state, the key and the credits are there
	if have, err := d.Credits().Balance(t.Context(), account.OperatorID, key[:api.KeyIDLength]); err != nil || have.Balance != 8 {
		t.Errorf("balance: %+v, %v", have, err)
	}
}

// TestStoreURL: what cannot be together is said before anything is opened, and no secret with it.
func TestStoreURL(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*daemon.Config){
		"litestream":                func(cfg *daemon.Config) { cfg.Litestream = true },
		"backup.every":              func(cfg *daemon.Config) { cfg.Backup.Every = 1 },
		"the URL of the database":   func(cfg *daemon.Config) { cfg.StoreURL = "postgres://me:s3cret@db:port/x" },
		"db.invalid:5432/nothing: ": func(*daemon.Config) {},
	} {
		cfg := daemon.Config{DataDir: t.TempDir(), StoreURL: "postgres://me:s3cret@db.invalid/nothing", Logger: slog.New(slog.DiscardHandler)}
		change(&cfg)
		if _, err := daemon.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// waitNodes waits until so many nodes work on the database.
func waitNodes(t *testing.T, place string, want int) store.Cluster {
	t.Helper()
	s, err := store.OpenRead(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2_000 {
		c, err := s.Cluster(t.Context())
		if err == nil && len(c.Live()) == want && c.Leader != "" {
			return c
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("there are never %d nodes", want)
	return store.Cluster{}
}
