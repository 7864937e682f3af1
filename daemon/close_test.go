package daemon_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/contextd/contextd/daemon/daemontest"
)

// TestStopLeavesNoLog checks that a stop brings everything into the databases: no write-ahead log is left.
func TestStopLeavesNoLog(t *testing.T) {
	t.Parallel()
	for range 3 {
		d := daemontest.Start(t)
		dir := d.Config.DataDir
		d.Stop(t)
		left, err := filepath.Glob(filepath.Join(dir, "*-wal"))
		if err != nil {
			t.Fatal(err)
		}
		for _, log := range left {
			if info, err := os.Stat(log); err == nil {
				t.Errorf("%s has %d bytes", filepath.Base(log), info.Size())
			}
		}
	}
}
