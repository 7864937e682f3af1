package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/store/history"
)

// TestDemoDataStaysApart: what a demo has made is marked for good, serve refuses it, and a demo refuses what is real; neither leaves
// anything in a directory that it refuses.
func TestDemoDataStaysApart(t *testing.T) {
	t.Parallel()
	demo := func(dir string) error {
		d, _, err := daemon.OpenDemo(t.Context(), daemon.Config{DataDir: dir, Serve: daemon.Serve{Listen: "127.0.0.1:0"}}, "127.0.0.1:0")
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
		if err := demo(made); err != nil {
			t.Fatal(err)
		}
		refused("serve on a demo's data", serve(made))
	}
	if err := os.Remove(filepath.Join(made, daemon.DemoFile)); err != nil {
		t.Fatal(err)
	}
	refused("serve on a demo's data without its file", serve(made))
	if err := demo(made); err != nil {
		t.Errorf("a demo on its own data: %v", err)
	}

	// States that no demo has marked: a daemon of recorded sources makes them as serve does of real ones.
	d := daemontest.Start(t)
	d.Stop(t)
	real := d.Config.DataDir
	refused("a demo on real data", demo(real))
	if _, err := os.Stat(filepath.Join(real, "chain")); err == nil {
		t.Error("the demo has begun a chain in a directory that it refuses")
	}
	if err := serve(real); err != nil {
		t.Errorf("serve on real data: %v", err)
	}
	if err := os.WriteFile(filepath.Join(real, daemon.DemoFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := serve(real); err != nil {
		t.Errorf("serve on data that is not marked yet: %v", err)
	}
	if err := demo(real); err != nil { // of a demo of before there were marks
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
	if err := demo(empty); err != nil {
		t.Errorf("a demo where serve has made no state: %v", err)
	}
}
