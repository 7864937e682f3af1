package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/store/sqlite"
)

// databases reads the databases whole, beside a daemon that may use them.
func (p patient) databases(ctx context.Context) {
	for _, name := range []string{store.File, history.File} {
		path := filepath.Join(p.DataDir, name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			p.ok(name, "not there yet")
			continue
		}
		trouble, err := sqlite.Verify(ctx, path)
		switch {
		case err != nil:
			p.fail(name, "run it as the daemon's user, and see whether the disk is well", "%v", err)
		case trouble != "":
			p.fail(name, "stop the daemon and restore the newest good backup: contextd restore FILE", "it is damaged: %s", trouble)
		default:
			p.ok(name, "whole")
		}
	}
}
