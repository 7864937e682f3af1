package main

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/human"
)

// unsignedLong is how long a witness may not sign before the doctor warns.
const unsignedLong = 10 * time.Minute

// logs looks at the transparency logs, at the key that signs them, and at the witnesses while a daemon asks them.
func (e examiner) logs(ctx context.Context) {
	list, err := backup.Logs(ctx, cmp.Or(e.StoreURL, e.DataDir))
	if err != nil { // what is wrong with the database is found there
		return
	}
	standing := map[string][]translog.Cosigner{}
	if asked, err := admin.Logs(ctx, e.DataDir); err == nil {
		for _, l := range asked {
			standing[l.Origin] = l.Witnesses
		}
	}
	public := ""
	for _, l := range list {
		if l.Ended {
			continue
		}
		public = cmp.Or(public, l.Public)
		e.ok("log "+l.Pack, "%d leaves, the last from %s", l.Size, l.AppendedAt.UTC().Format("2006-01-02 15:04:05 MST"))
		e.witnesses("witnesses "+l.Pack, standing[l.Origin])
	}
	if public == "" {
		return
	}
	path := filepath.Join(e.DataDir, translog.KeyFile)
	switch wrong, err := backup.LogKey(ctx, cmp.Or(e.StoreURL, e.DataDir), public); {
	case err != nil:
		e.fail("log key", "run this as the daemon's user", "%v", err)
	case wrong != "":
		e.fail("log key", "restore "+path+" from a backup; if it is lost, contextd log key --renew begins new logs that every "+
			"client must accept", "%s", wrong)
	default:
		e.ok("log key", "matches the logs")
	}
}

// witnesses looks at those of one log.
func (e examiner) witnesses(check string, list []translog.Cosigner) {
	const fix = "ask its operator whether it runs and trusts this log (ctx witness add); checkpoints lack its signature until then"
	signed := 0
	for _, w := range list {
		switch {
		case w.Since == nil:
			signed++
		case e.Now().Sub(*w.Since) < unsignedLong:
			e.ok(check, "%s is signing", w.Name)
		default:
			e.warn(check, fix, "%s has not signed for %s: %s", w.Name, human.Age(e.Now().Sub(*w.Since)),
				cmp.Or(w.Error, "not asked yet"))
		}
	}
	if signed > 0 {
		e.ok(check, "%d of %d signed the newest checkpoint", signed, len(list))
	}
}
