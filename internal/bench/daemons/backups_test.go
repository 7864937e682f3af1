package daemons_test

import (
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// openDatabases opens dir as contextd backup does.
func openDatabases(t *testing.T, dir string) *admin.Operator {
	t.Helper()
	o, err := admin.OpenDatabases(t.Context(), dir, "", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// busy is a daemon with all kinds of work.
type busy struct {
	t     *testing.T
	d     *daemontest.Daemon
	chain *devchain.Chain

	answered atomic.Int64 // calls
	bought   atomic.Int64 // deposits that are verified
}

// call calls until ctx is done.
func (b *busy) call(ctx context.Context, c *sdk.Client) {
	for ctx.Err() == nil {
		if _, err := c.Cite(ctx, "", 1); err == nil {
			b.answered.Add(1)
		} else if ctx.Err() == nil {
			b.t.Errorf("a call: %v", err)
			return
		}
	}
}

// console is that of a new owner with a key.
func (b *busy) console(email string) *sdk.Console {
	b.t.Helper()
	console := caller(b.t, b.d, b.d.Key(b.t, api.TierFree)).Console("")
	if _, err := console.SendLink(b.t.Context(), email); err != nil {
		b.t.Fatal(err)
	}
	if _, err := console.ByLink(b.t.Context(), b.d.MailedLink(b.t, email)); err != nil {
		b.t.Fatal(err)
	}
	if _, err := console.CreateKey(b.t.Context(), "a", ""); err != nil {
		b.t.Fatal(err)
	}
	return console
}

// onFiles has a daemon work on SQLite, of which alone it makes backups, also where the tests are on PostgreSQL.
func onFiles(c *daemon.Config) { c.StoreURL = "" }

// buy buys credits and refreshes until ctx is done.
func (b *busy) buy(ctx context.Context, console *sdk.Console) {
	for ctx.Err() == nil {
		err := b.buyOne(ctx, console)
		if err == nil {
			err = b.d.Refresh(ctx, api.PackCrypto)
		}
		if err != nil && ctx.Err() == nil {
			b.t.Errorf("a purchase: %v", err)
			return
		}
	}
}

// buyOne buys credits once.
func (b *busy) buyOne(ctx context.Context, console *sdk.Console) error {
	intent, err := console.Buy(ctx, api.CreditStarter, "")
	if err != nil {
		return err
	}
	amount, err := usdg.ParseAmount(intent.AmountUSDC)
	if err != nil {
		return err
	}
	if _, err := b.chain.Transfer(ctx, b.chain.Wallet(), intent.Recipient, int64(amount), nil); err != nil {
		return err
	}
	if err := b.d.Scan(ctx); err != nil {
		return err
	}
	b.bought.Add(1)
	return nil
}

// copied is a backup with what had happened, for certain, before it was begun, and at most when it had ended.
type copied struct {
	archive               []byte
	least, most           int64 // calls
	bought, boughtAtLeast int64
}

// TestBackupsUnderLoad backs up while many connections call, credits are bought and states are made. Each copy, restored, passes the
// audit, has every call that was answered before the backup was begun, and agrees with the chain.
func TestBackupsUnderLoad(t *testing.T) {
	t.Parallel()
	const connections, backups = 24, 5
	b := &busy{t: t, chain: daemontest.Chain(t)}
	b.d = daemontest.Start(t, daemontest.On(b.chain), onFiles)
	key := b.d.Key(t, api.TierEnterprise)
	b.d.Grant(t, key, 1_000_000)
	console := b.console("ada@example.org")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	for range connections {
		c := caller(t, b.d, key)
		all.Go(func() { b.call(ctx, c) })
	}
	all.Go(func() { b.buy(ctx, console) })
	o := openDatabases(t, b.d.Config.DataDir)
	var copies []copied
	for range backups {
		calls, bought := b.answered.Load(), b.bought.Load()
		for b.answered.Load() < calls+100 || b.bought.Load() <= bought {
			if t.Failed() {
				t.FailNow()
			}
			time.Sleep(10 * time.Millisecond)
		}
		c := copied{least: b.answered.Load(), boughtAtLeast: b.bought.Load()}
		var archive bytes.Buffer
		if err := o.Backup(t.Context(), &archive); err != nil {
			t.Fatal(err)
		}
		c.archive, c.most, c.bought = archive.Bytes(), b.answered.Load()+connections, b.bought.Load()+1
		copies = append(copies, c)
	}
	stop()
	all.Wait()
	b.d.Stop(t)
	for i, c := range copies {
		b.check(i, c)
	}
}

// check restores a copy and looks at it.
func (b *busy) check(i int, c copied) {
	b.t.Helper()
	dir := restored(b.t, c.archive)
	calls := counted(b.t, dir)
	if calls < c.least || calls > c.most {
		b.t.Errorf("copy %d has %d calls; %d were answered before it, %d could be after", i, calls, c.least, c.most)
	}
	d := daemontest.Open(b.t, func(c *daemon.Config) { c.DataDir = dir }, daemontest.On(b.chain), onFiles)
	d.Run(b.t)
	defer d.Stop(b.t)
	o, err := admin.Open(b.t.Context(), admin.Config{DataDir: dir})
	if err != nil {
		b.t.Fatal(err)
	}
	defer o.Close()
	if findings, err := o.Audit(b.t.Context()); err != nil || len(findings) > 0 {
		b.t.Errorf("copy %d: the audit finds %v, %v", i, findings, err)
	}
	r, err := o.Reconcile(b.t.Context())
	if err != nil || len(r.Findings) > 0 || r.Sold < 1000*c.boughtAtLeast || r.Sold > 1000*c.bought {
		b.t.Errorf("copy %d, with %d to %d purchases: %+v, %v", i, c.boughtAtLeast, c.bought, r, err)
	}
	if err := d.Ready(b.t.Context()); err != nil { // the newest state is there
		b.t.Errorf("copy %d: %v", i, err)
	}
	b.t.Logf("copy %d: %d KB, %d calls, %d credits sold, %s arrived after it and pay for nothing yet", i, len(c.archive)/1000, calls, r.Sold, r.Unmatched)
}

// restored restores a backup in a directory of its own.
func restored(t *testing.T, archive []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "restored")
	lock, err := datadir.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := backup.Restore(t.Context(), bytes.NewReader(archive), dir, time.Now(), func(u backup.Unpacked) error {
		if len(u.Problems) > 0 || u.States == 0 {
			t.Errorf("%d states, %v", u.States, u.Problems)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// counted is how many calls of the operator's keys the books in dir have.
func counted(t *testing.T, dir string) (calls int64) {
	t.Helper()
	s, err := store.Open(t.Context(), dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows, err := s.Usage(t.Context(), account.OperatorID, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		calls += r.Calls
	}
	return calls
}

// caller is a client of a daemon, with connections of its own.
func caller(t *testing.T, d *daemontest.Daemon, key string) *sdk.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(d.URL()), sdk.WithAPIKey(sdk.NewKey(key)), sdk.WithRetries(0),
		sdk.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
