package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/translog"
)

// TestLogKeyIsTheirs: the key of the logs is made once, for the daemon's user alone, and a daemon does not start with another, or without
// it: it would sign another history under the same name. Before something was signed, a key may come and go.
func TestLogKeyIsTheirs(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	cfg := d.Config
	path := filepath.Join(cfg.DataDir, translog.KeyFile)
	d.Stop(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	start := func() error {
		again, err := daemon.Open(t.Context(), cfg)
		if err != nil {
			return err
		}
		return again.Close()
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{
		strings.Repeat("0a", 32): "is another key than the logs were signed with", "0a": "a key of logs has 1 bytes",
		string(text) + string(text): "has 2 lines with keys", "x": "not hexadecimal", "": "has 0 lines",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := start(); err == nil || !strings.Contains(err.Error(), want) || len(content) > 8 && strings.Contains(err.Error(), content[:8]) {
			t.Errorf("with %d bytes: %v, want %q", len(content), err, want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := start(); err == nil || !strings.Contains(err.Error(), "contextd db log key --renew") {
		t.Errorf("without the key: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a key was made in place of the one that is lost")
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := start(); err != nil {
		t.Error(err)
	}
}
