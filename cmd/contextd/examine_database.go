package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/contextd/contextd/daemon/admin"
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
			e.ok(name, "does not exist yet")
			continue
		}
		trouble, err := database.Verify(ctx, path)
		switch {
		case err != nil:
			e.fail(name, "run this as the daemon's user, and check the disk", "%v", err)
		case trouble != "":
			e.fail(name, "stop the daemon and restore the newest good backup: contextd restore FILE", "damaged: %s", trouble)
		default:
			e.ok(name, "intact")
		}
	}
}

// server looks whether PostgreSQL can be used, and is as durable as it has to be.
func (e examiner) server(ctx context.Context) {
	const check = "store.url"
	version, durable, err := store.Server(ctx, e.StoreURL)
	switch {
	case errors.Is(err, database.ErrPooler):
		cause, fix, _ := strings.Cut(database.ErrPooler.Error(), "\n  try: ")
		e.fail(check, fix, "%s", cause)
	case err != nil:
		e.fail(check, "check the URL, that PostgreSQL runs, and that its pg_hba.conf admits this machine", "%v", err)
	case !durable:
		e.fail(check, "set fsync, full_page_writes and synchronous_commit to on in postgresql.conf",
			"PostgreSQL %s can lose committed data in a crash", version)
	default:
		e.ok(check, "PostgreSQL %s at %s", version, database.Host(e.StoreURL))
		e.cluster(ctx)
	}
}

// cluster looks how the daemons on PostgreSQL stand.
func (e examiner) cluster(ctx context.Context) {
	const check = "cluster"
	c, err := admin.ReadCluster(ctx, e.DataDir, e.StoreURL)
	if errors.Is(err, database.ErrOlder) {
		return // no daemon has run on it yet
	}
	if err != nil {
		e.warn(check, "run this as the daemon's user", "the state of the nodes is unknown: %v", err)
		return
	}
	for _, f := range clusterFindings(check, c) {
		e.tell(f)
	}
}

// clusterFindings are what is to be said of the nodes of a cluster.
func clusterFindings(check string, c admin.Cluster) []finding {
	role := finding{Check: check, Outcome: outcomeOK, Found: c.Summary()}
	var silent, versions []string
	live := map[string]bool{}
	for _, n := range c.Nodes {
		switch n.Role {
		case admin.RoleSilent:
			silent = append(silent, n.URL)
			continue
		case admin.RoleFollows:
			if n.ID == c.Self {
				role.Found += "; this one follows"
			}
		}
		live[n.Version] = true
		versions = append(versions, n.URL+" runs "+n.Version)
	}
	if c.Leader == "" && len(live) > 0 {
		role.Outcome, role.Fix = outcomeFailure, "wait ten seconds; if none leads then, see what the nodes log about the lease"
	}
	found := []finding{role}
	if len(live) > 1 {
		found = append(found, finding{check, outcomeWarning, "nodes run several versions: " + strings.Join(versions, ", "),
			"finish the upgrade: install the newest version on all nodes"})
	}
	if len(silent) > 0 {
		found = append(found, finding{check, outcomeWarning, "silent for ten seconds: " + strings.Join(silent, ", "),
			"if the node still runs, check its connection to the database; silent nodes are dropped after a minute"})
	}
	return found
}
