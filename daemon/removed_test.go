package daemon_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/sdk/api"
)

// TestRemoved: a daemon whose books are removed sells nothing and says so, until they are back.
func TestRemoved(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.DataDir = testbed.Files(t) })
	key := d.Key(t, api.TierFree)
	get := func(path, key string) int {
		t.Helper()
		d.Clock.Advance(5 * time.Second)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	books := filepath.Join(d.Config.DataDir, store.File)
	for _, c := range []struct {
		from, to string
		want     int
	}{{books, books + ".away", http.StatusServiceUnavailable}, {books + ".away", books, http.StatusOK}} {
		if err := os.Rename(c.from, c.to); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/v1/cite?ref=1", api.PathReady} {
			if status := get(path, key); status != c.want {
				t.Errorf("%s with %s: %d, want %d", path, filepath.Base(c.to), status, c.want)
			}
		}
	}
}

// TestHalf: a daemon does not begin with empty books beside old states, nor with empty logs under a key that clients know.
func TestHalf(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.DataDir = testbed.Files(t) })
	cfg := d.Config
	d.Stop(t)
	for _, name := range []string{store.File, history.File} {
		path := filepath.Join(cfg.DataDir, name)
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if _, err := daemon.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "has no "+name) {
			t.Errorf("without %s: %v", name, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s was made", name)
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{history.File, translog.KeyFile} {
		if err := os.Remove(filepath.Join(cfg.DataDir, name)); err != nil {
			t.Fatal(err)
		}
	}
	again, err := daemon.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("with new logs and a new key: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
