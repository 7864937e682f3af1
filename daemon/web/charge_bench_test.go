package web_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/sdk/api"
)

// flushed is books in which charges are nothing but as many bytes as two pages, on the disk: what any that are durable have to do.
type flushed struct {
	*store.Store
	file *os.File
}

func (f flushed) Charge(_ context.Context, batch func() billing.Batch) error {
	batch()
	if _, err := f.file.Write(make([]byte, 8<<10)); err != nil {
		return err
	}
	return syscall.Fdatasync(int(f.file.Fd()))
}

// unsaved is a Store of keys that remembers new ones and saves none.
type unsaved struct {
	*store.Store
	keys []account.Key
}

func (u *unsaved) CreateKey(_ context.Context, k account.Key) error {
	u.keys = append(u.keys, k)
	return nil
}

// issueMany makes n keys with credits in the books of dir at once, and returns their plaintexts.
func issueMany(b *testing.B, d *daemontest.Daemon, s *store.Store, dir string, n int) (keys *account.Keys, secrets []string) {
	b.Helper()
	u := &unsaved{Store: s}
	keys, err := account.OpenKeys(b.Context(), account.Config{Store: u, Now: d.Clock.Now})
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		issued, err := keys.Issue(b.Context(), account.NewKey{
			OwnerID: ownerOf(i), Name: "x", Tier: api.TierEnterprise, Consent: api.ConsentAggregated,
		})
		if err != nil {
			b.Fatal(err)
		}
		secrets = append(secrets, issued.Key)
	}
	db, err := sql.Open("sqlite3", filepath.Join(dir, store.File)+"?_txlock=immediate&_busy_timeout=5000")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, k := range u.keys {
		for _, act := range []struct {
			text string
			args []any
		}{
			{"INSERT INTO owners (id, tier, created_at) VALUES (?, ?, 1) ON CONFLICT DO NOTHING", []any{k.OwnerID, k.Tier}},
			{`INSERT INTO keys (id, hash, owner_id, name, tier, consent, created_at, credits) VALUES (?, ?, ?, 'x', ?, ?, 1, 1000000000)`,
				[]any{k.ID, k.Hash[:], k.OwnerID, k.Tier, k.Consent}},
			{"INSERT INTO ledger (key_id, amount, kind, reason, at) VALUES (?, 1000000000, 'grant', 'x', 1)", []any{k.ID}},
		} {
			if _, err := tx.ExecContext(b.Context(), act.text, act.args...); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	return keys, secrets
}

// remember charges a call of each key, so that nothing has to be read of any later.
func remember(b *testing.B, meter *billing.Meter, secrets []string) {
	b.Helper()
	const workers = 64
	failed := make(chan error, workers)
	for w := range workers {
		go func() {
			var err error
			for i := w; i < len(secrets) && err == nil; i += workers {
				_, err = meter.Charge(b.Context(), billing.Call{
					KeyID: secrets[i][:api.KeyIDLength], OwnerID: ownerOf(i), Tier: api.TierEnterprise, Op: api.OpFresh, Pack: api.PackCrypto,
				})
			}
			failed <- err
		}()
	}
	for range workers {
		if err := <-failed; err != nil {
			b.Fatal(err)
		}
	}
}

// ownerOf is the owner of the key with a number.
func ownerOf(i int) string { return fmt.Sprintf("owner-%d", i/api.MaxActiveKeys) }

// BenchmarkFreshToFlush calls GET /v1/fresh with many keys in turns, and in place of the bare handler the same with books that are nothing
// but a flush of the disk for each batch. ratio is what is reached of the limit of the disk; fold-ms is what it takes to move the charges into
// the tables at the end, and total what is reached in all the time with that. Then the keys call once more, and until that is moved, too:
// wait-ms is the longest that one of the calls beside the move has waited.
func BenchmarkFreshToFlush(b *testing.B) {
	d := daemontest.Start(b)
	key := d.Key(b, api.TierEnterprise)
	for _, n := range []int{1, 1000, 100_000} {
		dir := b.TempDir()
		s, err := store.Open(b.Context(), dir, d.Clock.Now())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		file, err := os.Create(filepath.Join(dir, "flushed"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = file.Close() })
		keys, secrets := issueMany(b, d, s, dir, n)
		requests := make([][]byte, n)
		for i, secret := range secrets {
			requests[i] = freshRequest(secret, "identity")
		}
		serve := func(books billing.Store) string {
			meter := billing.New(billing.Config{Store: books, Now: d.Clock.Now})
			remember(b, meter, secrets)
			return serveFresh(b, d, key, gate.Config{Keys: keys, Meter: meter})
		}
		whole, bare := serve(s), serve(flushed{s, file})
		for _, conns := range []int{16, 64} {
			b.Run(fmt.Sprintf("keys=%d/conns=%d", n, conns), func(b *testing.B) {
				if err := s.TouchKeys(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
				load := newLoad(b, whole, requests, conns)
				spent := compare(b, load, newLoad(b, bare, requests, conns))
				begin := time.Now()
				if err := s.TouchKeys(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
				fold := time.Since(begin)
				b.ReportMetric(fold.Seconds()*1e3, "fold-ms")
				b.ReportMetric(spent[1].Seconds()/(spent[0]+fold).Seconds(), "total")
				load.run(b, n)
				_ = load.sorted()
				moved := make(chan error, 1)
				go func() { moved <- s.TouchKeys(b.Context(), nil) }()
				for len(moved) == 0 {
					load.run(b, conns)
				}
				if err := <-moved; err != nil {
					b.Fatal(err)
				}
				times := load.sorted()
				b.ReportMetric(times[len(times)-1].Seconds()*1e3, "wait-ms")
			})
		}
	}
}
