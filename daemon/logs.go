package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/beacon"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

var (
	_ translog.Store = (*history.History)(nil)
	_ web.Logs       = (*translog.Logs)(nil)
)

// openLogs makes the key of the logs where there is none, and refuses one that is not theirs.
func (d *Daemon) openLogs(ctx context.Context) error {
	public, err := d.history.LogKey(ctx)
	if err != nil {
		return err
	}
	place := d.secrets.place(translog.KeyFile)
	gone := fmt.Errorf("%s is gone, and the logs were signed with it\n  try: put it back from a backup, or contextd db log key --renew, "+
		"which begins new logs that every client must accept", place)
	if _, err := os.Stat(place); d.cfg.StoreURL == "" && errors.Is(err, fs.ErrNotExist) && public != "" {
		return gone
	}
	seeds, err := d.secrets.keys(ctx, translog.KeyFile, "logs", func(text []byte) error {
		if key, err := translog.ParseKey(text); public != "" && (err != nil || key.Public() != public) {
			return gone
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(seeds) != 1 {
		return fmt.Errorf("%s has %d lines with keys, not one", place, len(seeds))
	}
	key, err := translog.NewKey(seeds[0])
	if err != nil {
		return fmt.Errorf("read %s: %w", place, err)
	}
	if public != "" && public != key.Public() {
		return fmt.Errorf("%s is another key than the logs were signed with\n  try: put the right one back from a backup, or "+
			"contextd db log key --renew, which begins new logs that every client must accept", place)
	}
	if err := errors.Join(d.history.SignLogs(ctx, key.Public()), d.history.ResumeLogs(ctx)); err != nil {
		return err
	}
	d.logs = translog.NewLogs(d.history, key, func(pack string) (*state.Tables, api.Proof) {
		edition, _ := d.feed.Latest(pack)
		if edition == nil {
			return nil, api.Proof{}
		}
		return edition.Rows, edition.Proof
	})
	return nil
}

// openEvidence opens where evidence of sources is kept.
func (d *Daemon) openEvidence(context.Context) (err error) {
	if d.cfg.Evidence != nil {
		d.evidence, err = evidence.Open(filepath.Join(d.cfg.DataDir, evidence.Dir), *d.cfg.Evidence, d.cfg.Logger)
	}
	if d.evidence != nil {
		d.evidence.Written = func(pack string) {
			if err := d.feed.PublishCitations(pack, provenFeed{d.feed, d.evidence}.proven); err != nil {
				d.cfg.Logger.Warn("provenance is not told", "pack", pack, "error", err)
			}
		}
	}
	return err
}

// Evidence is what is kept of the answers of sources, nil for nothing.
func (d *Daemon) Evidence() *evidence.Store { return d.evidence }

// askBeacon asks the beacon for its newest round, which a leaf has from then on; nil without a beacon. A state does without one that
// does not answer.
func (d *Daemon) askBeacon() func(context.Context) *api.LogNotBefore {
	if d.cfg.Beacon == "" {
		return nil
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &http.Client{CheckRedirect: stay}
	var failing atomic.Bool
	return func(ctx context.Context) *api.LogNotBefore {
		round, err := beacon.Ask(ctx, client, d.cfg.Beacon)
		if was := failing.Swap(err != nil); err == nil {
			return round.Value()
		} else if !was { // once for each outage
			d.cfg.Logger.Warn("beacon gives no round: leaves are without", "error", err)
		}
		return nil
	}
}
