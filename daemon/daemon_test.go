package daemon_test

import (
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
	"go.uber.org/goleak"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

func TestMain(m *testing.M) {
	daemontest.Overlap(8)
	goleak.VerifyTestMain(m,
		// go-ethereum leaves these behind: the first for the life of the process, the second for a moment.
		goleak.IgnoreAnyFunction("github.com/ethereum/go-ethereum/core.(*txSenderCacher).cache"),
		goleak.IgnoreAnyFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"))
}

// client calls d with key, once and without retries.
func client(t *testing.T, d *daemontest.Daemon, key string) *sdk.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(d.URL()), sdk.WithAPIKey(sdk.NewKey(key)), sdk.WithRetries(0),
		sdk.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// at returns the change that puts a daemon into dir.
func at(dir string) func(*daemon.Config) {
	return func(c *daemon.Config) { c.DataDir = dir }
}

func TestDirectoryIsPrivateAndLocked(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "data")
	d := daemontest.Start(t, at(dir))
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if open := info.Mode().Perm() & 0o077; open != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	_, err = daemon.Open(t.Context(), d.Config)
	if !errors.Is(err, datadir.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second Open: %v, want ErrLocked with the directory", err)
	}
	d.Stop(t)
	daemontest.Open(t, at(dir)) // the lock went with the daemon
}

func TestDirectoryOfSomebodyElseIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "holiday.jpg"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.Open(t.Context(), daemon.Config{DataDir: dir, Serve: daemon.Serve{Listen: "127.0.0.1:0"}}); err == nil {
		t.Fatal("a directory with other files was taken")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v now, %v", entries, err)
	}
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	for _, file := range []string{store.File, history.File} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := daemontest.Open(t, at(dir))
			d.Stop(t)
			db, err := sql.Open("sqlite3", filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), "INSERT INTO schema_migrations VALUES (99, 'future', 0)"); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time shows that the first freed the lock
				if _, err := daemon.Open(t.Context(), d.Config); !errors.Is(err, database.ErrNewer) {
					t.Errorf("Open: %v, want ErrNewer", err)
				}
			}
		})
	}
}

func TestBadConfigurationFreesEverything(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	for name, change := range map[string]func(*daemon.Config){
		"address":       func(c *daemon.Config) { c.Listen = taken.Addr().String() },
		"source":        func(c *daemon.Config) { c.Disabled = []string{"no-such-source"} },
		"no address":    func(c *daemon.Config) { c.Listen = "nowhere" },
		"no directory":  func(c *daemon.Config) { c.DataDir = "/dev/null/x" },
		"broken schema": func(c *daemon.Config) { c.DataDir = brokenDir(t) },
	} {
		cfg := daemon.Config{DataDir: dir, Serve: daemon.Serve{Listen: "127.0.0.1:0"}}
		change(&cfg)
		if _, err := daemon.Open(t.Context(), cfg); err == nil {
			t.Errorf("%s: Open succeeded", name)
		}
	}
	daemontest.Open(t, at(dir))
}

// brokenDir is a data directory whose database is none.
func brokenDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, store.File), []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRestartAnswersAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := daemontest.Start(t, at(dir))
	key := d.Key(t, api.TierPro)
	before, err := client(t, d, key).Fresh(t.Context(), api.PackCrypto)
	if err != nil {
		t.Fatal(err)
	}
	d.Stop(t)
	d = daemontest.Open(t, at(dir))
	d.Recording.Break("", nil) // and no source answers any more
	d.Run(t)
	after, err := client(t, d, key).Fresh(t.Context(), api.PackCrypto)
	if err != nil {
		t.Fatal(err)
	}
	if string(after.State) != string(before.State) || after.Brief != before.Brief || after.Brief == "" ||
		!after.Freshness.GeneratedAt.Equal(before.Freshness.GeneratedAt) {
		t.Errorf("after the restart fresh answers %+v, before it was %+v", after.Freshness, before.Freshness)
	}
}

// TestStopCutsOffWhatDoesNotEnd stops a daemon to which a client has sent half a request. Without a stop the daemon would wait for
// the rest of it for headerTimeout, which is longer than the client waits here.
func TestStopCutsOffWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	half, err := net.Dial("tcp", strings.TrimPrefix(d.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	if _, err := io.WriteString(half, "GET /v1/fresh HTTP/1.1\r\nHost: x\r\n"); err != nil {
		t.Fatal(err)
	}
	d.Stop(t)
	if err := half.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := half.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the stop the connection is open: %v", err)
	}
	if again, err := net.Dial("tcp", half.RemoteAddr().String()); err == nil {
		_ = again.Close()
		t.Error("the address is still listened on")
	}
}

func TestDisabledSourceKeepsItsNumber(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(c *daemon.Config) { c.Disabled = []string{"coingecko-trending"} })
	answer, err := client(t, d, d.Key(t, api.TierFree)).Fresh(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var state api.CryptoState
	if err := sdk.DecodeState(answer.State, &state); err != nil {
		t.Fatal(err)
	}
	s := state.SourceStatus[1]
	if s.ID != "coingecko-trending" || s.Ref != 2 || s.Status != api.SourceError || s.Error == nil || *s.Error != "disabled" || s.FetchedAt != nil {
		t.Errorf("status of the disabled source is %+v", s)
	}
	if c := answer.Citations[1]; c.SourceID != s.ID || c.Ref != 2 || c.FetchedAt.IsZero() {
		t.Errorf("its citation is %+v", c)
	}
}

func TestURLOfEveryAddress(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{"127.0.0.1:0": "127.0.0.1", "0.0.0.0:0": "127.0.0.1", "localhost:0": "127.0.0.1"} {
		d := daemontest.Open(t, func(c *daemon.Config) { c.Listen = listen })
		if host, _, err := net.SplitHostPort(strings.TrimPrefix(d.URL(), "http://")); err != nil || host != want {
			t.Errorf("listening on %s the URL is %s", listen, d.URL())
		}
	}
}
