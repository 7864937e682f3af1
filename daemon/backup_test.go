package daemon_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	console := client(b.t, b.d, b.d.Key(b.t, api.TierFree)).Console("")
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
	if testing.Short() {
		t.Skip("five backups of a busy daemon take their time")
	}
	t.Parallel()
	const connections, backups = 24, 5
	b := &busy{t: t, chain: daemontest.Chain(t)}
	b.d = daemontest.Start(t, daemontest.On(b.chain))
	key := b.d.Key(t, api.TierEnterprise)
	b.d.Grant(t, key, 1_000_000)
	console := b.console("ada@example.org")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	for range connections {
		c := client(t, b.d, key)
		all.Go(func() { b.call(ctx, c) })
	}
	all.Go(func() { b.buy(ctx, console) })
	o := openDatabases(t, b.d.Config.DataDir)
	var copies []copied
	for range backups {
		calls, bought := b.answered.Load(), b.bought.Load()
		until(t, "calls are answered and credits bought", func() bool {
			if t.Failed() {
				t.FailNow()
			}
			return b.answered.Load() >= calls+100 && b.bought.Load() > bought
		})
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
	d := daemontest.Open(b.t, at(dir), daemontest.On(b.chain))
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

// TestScheduledBackups lets a daemon back itself up: at once where there is no backup, not again at the next start, and by hand.
func TestScheduledBackups(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")
	scheduled := func(c *daemon.Config) { c.Backup = daemon.Backup{Dir: to, Every: 24 * time.Hour, Keep: 2} }
	d := daemontest.Start(t, at(dir), scheduled)
	names := func() []string {
		list, err := filepath.Glob(filepath.Join(to, "contextd-*.tar.zst"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	until(t, "there is a backup", func() bool { return len(names()) > 0 })
	first := names()
	d.Stop(t)
	d = daemontest.Start(t, at(dir), scheduled)
	for range 3 {
		d.Clock.Advance(time.Minute)
		if err := d.RunJob(t.Context(), "backup"); err != nil {
			t.Fatal(err)
		}
	}
	for _, job := range d.Jobs() {
		if job.Name == "backup" && job.Runs != 3 {
			t.Errorf("since the second start there were %d backups, 3 of them by hand", job.Runs)
		}
	}
	d.Stop(t)
	if got := names(); len(got) != 2 || slices.Contains(got, first[0]) {
		t.Errorf("there are %v", got)
	}
	for _, name := range names() {
		archive, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		restored(t, archive)
	}
}

// TestFailedBackups: the job fails where the books in a backup do not agree or an older backup cannot be removed. The new one is there
// all the same.
func TestFailedBackups(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	dir, to := t.TempDir(), t.TempDir()
	d := daemontest.Start(t, at(dir), func(c *daemon.Config) { c.Backup = daemon.Backup{Dir: to, Keep: 1} })
	key := d.Key(t, api.TierFree)[:api.KeyIDLength]
	fails := func(with string) {
		t.Helper()
		d.Clock.Advance(time.Hour)
		if err := d.RunJob(t.Context(), "backup"); err == nil || !strings.Contains(err.Error(), with) {
			t.Errorf("the job: %v, want %q", err, with)
		}
		if job := jobOf(t, d, "backup"); job.Failures != job.Runs || !strings.Contains(job.Error, with) {
			t.Errorf("the job stands at %+v", job)
		}
		newest, err := backup.Newest(to)
		if err != nil || !newest.Equal(d.Clock.Now()) {
			t.Errorf("the newest backup is of %v, %v", newest, err)
		}
	}
	stuck := filepath.Join(to, backup.Name(d.Clock.Now().Add(-day)))
	if err := errors.Join(os.Mkdir(stuck, 0o700), os.WriteFile(filepath.Join(stuck, "x"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	fails(filepath.Base(stuck))
	db, err := sql.Open("sqlite3", filepath.Join(dir, store.File))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "UPDATE keys SET credits = credits + 1"); err != nil {
		t.Fatal(err)
	}
	fails(key)
}

// TestUpgradeIsBackedUp opens books as an older program left them: by the daemon and by the operator, each after a backup.
func TestUpgradeIsBackedUp(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(dir string){
		"daemon": func(dir string) { daemontest.Open(t, at(dir)).Stop(t) },
		"operator": func(dir string) {
			o, err := admin.Open(t.Context(), admin.Config{DataDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			db, err := sql.Open("sqlite3", filepath.Join(dir, store.File))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			first, err := os.ReadFile("store/migrations/0001_owners_and_keys.sql")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), string(first)+`;
				CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
				INSERT INTO schema_migrations VALUES (1, '0001_owners_and_keys.sql', 0);
				INSERT INTO owners VALUES ('o', 'free', 0)`); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Close(), os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600)); err != nil { // it is contextd's
				t.Fatal(err)
			}
			for range 2 { // the second time there is nothing to upgrade
				open(dir)
			}
			made, err := os.ReadDir(filepath.Join(dir, backup.BackupDir))
			if err != nil || len(made) != 1 || !strings.HasPrefix(made[0].Name(), "before-upgrade-") {
				t.Errorf("there are %v, %v", made, err)
			}
		})
	}
}
