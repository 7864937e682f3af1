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
	if e.StoreURL != "" {
		e.server(ctx)
		return
	}
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

// server looks whether PostgreSQL can be used, and is as durable as it has to be.
func (e examiner) server(ctx context.Context) {
	const check = "store.url"
	version, durable, err := store.Server(ctx, e.StoreURL)
	switch {
	case err != nil:
		e.fail(check, "is the URL right, does PostgreSQL run, and may the user log in from here?", "%v", err)
	case !durable:
		e.fail(check, "set fsync, full_page_writes and synchronous_commit to on in postgresql.conf",
			"PostgreSQL %s loses in a crash what it has promised", version)
	default:
		e.ok(check, "PostgreSQL %s at %s", version, database.Host(e.StoreURL))
	}
}
