package daemon_test

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// TestReadyMeansThatCallsAreCharged: a daemon that cannot write, or cannot charge what it answers, is not ready until it can again.
func TestReadyMeansThatCallsAreCharged(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.DataDir = testbed.Files(t) })
	key := d.Key(t, api.TierFree)
	ready := func(want int, what string) {
		t.Helper()
		d.Clock.Advance(5 * time.Second)
		resp, err := http.Get(d.URL() + api.PathReady)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", what, resp.StatusCode, want)
		}
	}
	call := func() int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+"/v1/cite?ref=1", nil)
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
	db, err := sql.Open("sqlite3", filepath.Join(d.Config.DataDir, store.File))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	do := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	ready(http.StatusOK, "at first")
	// A trigger fails writes as a full disk does: reads go on.
	do("CREATE TRIGGER full BEFORE UPDATE ON schema_migrations BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END")
	ready(http.StatusServiceUnavailable, "on a full disk")
	do("DROP TRIGGER full")
	ready(http.StatusOK, "with space again")
	do("ALTER TABLE usage RENAME TO lost")
	if status := call(); status != http.StatusInternalServerError {
		t.Fatalf("a call that cannot be charged: %d", status)
	}
	ready(http.StatusServiceUnavailable, "while calls are not charged")
	// An operator looks at the status on such a day: what does not need the books is told.
	if s, err := d.Status(t.Context()); err != nil || s.NotReady == "" || s.Use != nil || s.Money != nil || len(s.Packs) != 1 || s.Disk.FreeBytes == 0 {
		t.Errorf("the status is %+v, %v", s, err)
	}
	do("ALTER TABLE lost RENAME TO usage")
	if status := call(); status != http.StatusOK {
		t.Fatalf("a call that can be charged again: %d", status)
	}
	ready(http.StatusOK, "when a call was charged again")
	do("ALTER TABLE usage RENAME TO lost")
	call()
	ready(http.StatusServiceUnavailable, "while calls are not charged again")
	d.Clock.Advance(30 * time.Second)
	ready(http.StatusOK, "when nobody has tried for long") // somebody has to, to find out
	do("ALTER TABLE lost RENAME TO usage")                 // without which the daemon does not stop in peace
}
