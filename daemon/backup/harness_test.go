package backup_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/fstest"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

const keyID = "cv_test_abcdefgh"

// epoch is the time of the first pulse.
func epoch() time.Time { return time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC) }

// data is a data directory whose databases are open.
type data struct {
	t       testing.TB
	dir     string
	books   *store.Store
	history *history.History
}

// newData makes a data directory with a key.
func newData(t testing.TB) *data {
	t.Helper()
	d := openData(t, filepath.Join(t.TempDir(), "data"))
	if err := d.books.CreateKey(t.Context(), account.Key{
		ID: keyID, Hash: sha256.Sum256([]byte(keyID)), OwnerID: account.OperatorID, Tier: api.TierFree, CreatedAt: epoch(),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.history.OpenPack(t.Context(), "crypto", epoch()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "quote.keys"), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}

// openData opens the databases in dir, with the lock on it, until the end of the test.
func openData(t testing.TB, dir string) *data {
	t.Helper()
	lock, err := datadir.Lock(dir)
	for end := time.Now().Add(2 * time.Minute); errors.Is(err, datadir.ErrLocked) && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // a program that another test starts has not closed yet what it inherits
		lock, err = datadir.Lock(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := &data{t: t, dir: dir}
	if d.books, err = store.Open(t.Context(), dir, epoch()); err != nil {
		t.Fatal(err)
	}
	if d.history, err = history.Open(t.Context(), dir, epoch()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = d.history.Close(), d.books.Close(), lock.Close() })
	return d
}

// write saves the n-th state and then moves a credit for it, as a call does that is answered with it.
func (d *data) write(n int) error {
	at := epoch().Add(time.Duration(n) * time.Second)
	doc, err := json.Marshal(map[string]any{"n": n, "text": fmt.Sprintf("%x", sha256.Sum256([]byte{byte(n)}))})
	if err != nil {
		return err
	}
	if _, err := d.history.SavePulse(d.t.Context(), state.Pulse{Pack: "crypto", Version: 1, GeneratedAt: at, State: doc}, state.Brief{}, nil); err != nil {
		return err
	}
	return d.move(n)
}

// move moves a credit for the n-th state.
func (d *data) move(n int) error {
	_, err := d.books.Move(d.t.Context(), billing.Entry{KeyID: keyID, Amount: 1, Kind: billing.KindGrant, Reason: strconv.Itoa(n), At: epoch()})
	return err
}

// writeAll writes the states of a range.
func (d *data) writeAll(from, to int) {
	d.t.Helper()
	for n := from; n < to; n++ {
		if err := d.write(n); err != nil {
			d.t.Fatal(err)
		}
	}
}

// newest is the number of the newest movement of credits and of the newest state, -1 for none.
func (d *data) newest() (moved, saved int) {
	d.t.Helper()
	entries, err := d.books.Entries(d.t.Context(), "", 1)
	if err != nil {
		d.t.Fatal(err)
	}
	moved, saved = -1, -1
	if len(entries) > 0 {
		if moved, err = strconv.Atoi(entries[0].Reason); err != nil {
			d.t.Fatal(err)
		}
	}
	pack, err := d.history.OpenPack(d.t.Context(), "crypto", epoch())
	if err != nil {
		d.t.Fatal(err)
	}
	if pack.Pulse != nil {
		saved = int(pack.Pulse.GeneratedAt.Sub(epoch()) / time.Second)
	}
	return moved, saved
}

// backUp makes a backup of dir.
func backUp(t testing.TB, dir string) []byte {
	t.Helper()
	var archive bytes.Buffer
	if _, err := backup.BackUp(t.Context(), dir, epoch(), &archive); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// restore restores an archive in a directory of its own, which it returns.
func restore(t testing.TB, archive []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "restored")
	lock, err := datadir.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	_, err = backup.Restore(t.Context(), bytes.NewReader(archive), dir, epoch(), func(u backup.Unpacked) error {
		if len(u.Problems) > 0 {
			t.Errorf("the restored copy does not agree: %v", u.Problems)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// older lays out the books as a program did that had the first n migrations.
func older(t *testing.T, dir string, n int) {
	t.Helper()
	layout, err := store.Layout()
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(layout.Scripts, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	scripts := fstest.MapFS{}
	for _, name := range names[:min(n, len(names))] {
		text, err := fs.ReadFile(layout.Scripts, name)
		if err != nil {
			t.Fatal(err)
		}
		scripts[name] = &fstest.MapFile{Data: text}
	}
	for i := len(names); i < n; i++ {
		scripts[fmt.Sprintf("%04d_future.sql", i+1)] = &fstest.MapFile{Data: fmt.Appendf(nil, "CREATE TABLE future%d (n INTEGER)", i)}
	}
	f, err := database.Open(t.Context(), filepath.Join(dir, store.File), database.Layout{Scripts: scripts, PageSize: layout.PageSize}, epoch())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
