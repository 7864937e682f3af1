package daemon

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/sdk/api"
)

// Status says how the daemon stands, for an operator.
func (d *Daemon) Status(ctx context.Context) (s admin.Status, err error) {
	now := d.cfg.Now()
	s = admin.Status{
		Version: build.Release(), URL: d.URL(), DataDir: d.cfg.DataDir, Demo: d.cfg.Recording != nil, Now: now, StartedAt: d.started,
		Packs: []admin.PackStatus{}, Jobs: []admin.Job{},
	}
	if d.evidence != nil {
		standing := d.evidence.Standing()
		s.Evidence = &standing
	}
	if dir, err := filepath.Abs(d.cfg.DataDir); err == nil {
		s.DataDir = dir // who asks may be elsewhere
	}
	if err := d.health.Ready(ctx); err != nil {
		s.NotReady = err.Error()
	}
	for _, p := range d.served.packs() {
		s.Packs = append(s.Packs, d.packStatus(p.ID, now))
	}
	for _, j := range d.Jobs() {
		if j.Error != "" && !j.Running {
			s.Jobs = append(s.Jobs, j)
		}
	}
	if s.Disk.FreeBytes, err = datadir.Free(d.cfg.DataDir); err != nil {
		return s, err
	}
	if s.Disk.DatabaseBytes, err = backup.Sizes(d.cfg.DataDir); err != nil {
		return s, err
	}
	if s.Backup, err = d.backupStatus(now); err != nil {
		return s, err
	}
	if d.agents != nil {
		standing := admin.AgentStatus(d.agents.Standing())
		s.Agents = &standing
	}
	if watches, failed := d.watchStanding(ctx); failed == nil {
		s.Watches = &watches
	}
	if s.Use, err = d.useStatus(ctx, now); err == nil && len(d.cfg.Rails()) > 0 {
		s.Money, err = d.moneyStatus(ctx, now)
	}
	if err != nil && s.NotReady != "" { // which says why
		return s, nil
	}
	return s, err
}

func (d *Daemon) packStatus(id string, now time.Time) admin.PackStatus {
	p := admin.PackStatus{ID: id, Failing: []api.SourceStatus{}}
	if e, ok := d.feed.Latest(id); ok && e != nil {
		p.GeneratedAt = &e.GeneratedAt
		p.AgeSeconds = int64(now.Sub(e.GeneratedAt) / time.Second)
	}
	for _, s := range d.served.trouble(id) {
		p.Sources++
		if s.Status != api.SourceOK || s.Failures > 0 {
			p.Failing = append(p.Failing, s)
		}
	}
	return p
}

func (d *Daemon) backupStatus(now time.Time) (s admin.BackupStatus, err error) {
	made, err := d.backups.Made()
	s = admin.BackupStatus{
		EverySeconds: int64(d.backups.Every / time.Second), Dir: d.backups.Place(), Count: made.Count, Bytes: made.Bytes,
		Late: made.Late(d.backups.Every, now),
	}
	if !made.Newest.IsZero() {
		s.NewestAt = &made.Newest
	}
	switch {
	case d.cfg.StoreURL != "":
		s.Else = "postgresql"
	case d.cfg.Litestream:
		s.Else = "litestream"
	}
	return s, err
}

// today is when the UTC day of now began.
func today(now time.Time) time.Time { return now.UTC().Truncate(24 * time.Hour) }

func (d *Daemon) useStatus(ctx context.Context, now time.Time) (*admin.UseStatus, error) {
	calls, err := d.store.Calls(ctx, today(now))
	if err != nil {
		return nil, err
	}
	c := d.Connections()
	u := &admin.UseStatus{CallsToday: calls, Connections: c.Open, Most: c.Most, Streams: int(d.streams().Open)}
	var owners []string
	for _, k := range d.keys.List("") {
		if k.RevokedAt.IsZero() {
			u.ActiveKeys++
			owners = append(owners, k.OwnerID)
		}
	}
	slices.Sort(owners)
	u.Owners = len(slices.Compact(owners))
	return u, nil
}

func (d *Daemon) moneyStatus(ctx context.Context, now time.Time) (*admin.MoneyStatus, error) {
	m := &admin.MoneyStatus{Lags: map[string]admin.Lag{}}
	counts, err := d.store.CountDeposits(ctx)
	if err != nil {
		return nil, err
	}
	m.PendingDeposits = counts[string(api.DepositPending)]
	if m.ReceivedToday, m.ReceivedMicros, err = d.store.Received(ctx, today(now)); err != nil {
		return nil, err
	}
	for rail, c := range d.chainReadings() {
		m.Lags[rail] = admin.Lag(c)
	}
	if m.Rails, err = d.Settling(ctx); err != nil {
		return nil, err
	}
	return m, nil
}
