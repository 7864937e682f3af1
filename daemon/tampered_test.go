package daemon_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestTampered: whatever was changed in the data directory of a daemon that was stopped, contextd db verify names it, and who asks the daemon
// for what it said is not told that it is proven.
func TestTampered(t *testing.T) {
	t.Parallel()
	clock := daemontest.NewClock()
	whole := filepath.Join(t.TempDir(), "whole")
	config := func(dir string) func(*daemon.Config) {
		return func(c *daemon.Config) { c.DataDir, c.Now = dir, clock.Now }
	}
	one := daemontest.Start(t, config(whole))
	said, key := clock.Now().UTC().Format("2006-01-02T15:04"), one.Key(t, api.TierPro)
	one.Stop(t)
	_ = os.Remove(filepath.Join(whole, "admin.sock")) // no file
	clock.Advance(5 * time.Minute)
	other := rewritten(t, whole)
	const proven = "Proven"
	for name, tt := range map[string]struct {
		query string
		found string   // by contextd db verify, "" for nothing
		ask   []string // ctx
		code  int
		told  string
	}{
		"nothing": {"SELECT 1", "", []string{"snapshot", "--at", said, "--bundle", "said.json"}, 0, ""},
		"another state": {"ATTACH '" + other + "' AS other; UPDATE pulses SET (sum, body) = (SELECT sum, body FROM other.pulses)",
			"is not the one that leaf 0 proves", []string{"snapshot", "--at", said}, cli.ExitUnproven,
			"the state is not the one that leaf 0 of the log is of"},
		"another leaf": {`UPDATE log_leaves SET body = CAST(replace(body, '"code":"', '"code":"x') AS BLOB)`, "its leaves hash to",
			[]string{"verify", "--at", said}, cli.ExitUnproven, "leaf"},
		"a cut tile": {"UPDATE log_tiles SET hashes = substr(hashes, 1, 31)", "tile 0 of level 0 has 31 bytes, not 32: it was cut off",
			[]string{"verify", "--at", said}, cli.ExitNotFound, "has no state at that minute"}, // in the log that follows
		"another root": {"UPDATE logs SET root = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='", "not to the root AAAA",
			[]string{"verify", "--at", said}, cli.ExitNotFound, "has no state at that minute"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			db := testbed.SQL(t, dir, history.File)
			if _, err := db.ExecContext(t.Context(), "PRAGMA foreign_keys = 0; "+tt.query); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			report, err := backup.Verify(t.Context(), dir)
			var found []string
			for _, p := range report.Problems {
				found = append(found, p.String())
			}
			if all := strings.Join(found, "\n"); err != nil || tt.found == "" && all != "" || !strings.Contains(all, tt.found) {
				t.Errorf("db verify found %q, want %q, %v", all, tt.found, err)
			}
			d := daemontest.Start(t, config(dir))
			defer d.Stop(t)
			for i, arg := range tt.ask {
				if strings.HasSuffix(arg, ".json") {
					tt.ask[i] = filepath.Join(dir, arg)
				}
			}
			var out bytes.Buffer
			code, stderr := newPerson(t, clock, d.URL(), key).run(t.Context(), &out, tt.ask...)
			if code != tt.code || !strings.Contains(stderr, tt.told) || code != 0 && strings.Contains(out.String(), proven) {
				t.Errorf("ctx %v: exit %d, want %d with %q\n%.300s\n%s", tt.ask, code, tt.code, tt.told, out.String(), stderr)
			}
		})
	}
}

// rewritten is the path of a history that has the state of the one in dir with a figure changed, and its checksum.
func rewritten(t *testing.T, dir string) string {
	t.Helper()
	place := t.TempDir()
	from, err := history.OpenRead(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	p, err := from.PulseBefore(t.Context(), api.PackCrypto, time.Now().AddDate(100, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	to, err := history.Open(t.Context(), place, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if _, err := to.OpenPack(t.Context(), p.Pack, p.GeneratedAt); err != nil {
		t.Fatal(err)
	}
	i := bytes.IndexByte(p.State, '1')
	p.State = bytes.Clone(p.State)
	p.State[i] = '2'
	if _, err := to.SavePulse(t.Context(), p, state.Brief{}, nil); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(place, history.File)
}
