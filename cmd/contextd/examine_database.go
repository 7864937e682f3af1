package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
)

// databases reads the databases whole, beside a daemon that may use them.
func (e examiner) databases(ctx context.Context) {
	for _, name := range []string{store.File, history.File} {
		path := filepath.Join(e.DataDir, name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			e.ok(name, "not there yet")
			continue
		}
		trouble, err := database.Verify(ctx, path)
		switch {
		case err != nil:
			e.fail(name, "run it as the daemon's user, and see whether the disk is well", "%v", err)
		case trouble != "":
			e.fail(name, "stop the daemon and restore the newest good backup: contextd restore FILE", "it is damaged: %s", trouble)
		default:
			e.ok(name, "whole")
		}
	}
}
