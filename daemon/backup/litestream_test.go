package backup_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/internal/long"
)

// copyFile copies a file of an open database by another process: closing it in this one would drop SQLite's locks.
func copyFile(t *testing.T, from, to string) []byte {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "cp", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// replay makes a database of a file and a write-ahead log, checks it and returns the reasons of its movements of credits, oldest first.
func replay(t *testing.T, base, log []byte) []string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string][]byte{store.File: base, store.File + "-wal": log} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := backup.Verify(t.Context(), dir); err != nil || len(r.Problems) > 0 {
		t.Fatalf("what was replicated: %+v, %v", r, err)
	}
	s, err := store.OpenRead(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	entries, err := s.Entries(t.Context(), "", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	reasons := make([]string, len(entries))
	for i, e := range entries {
		reasons[len(entries)-1-i] = e.Reason
	}
	return reasons
}

// countTo are the numbers from 0 to n as text.
func countTo(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = strconv.Itoa(i)
	}
	return list
}

// TestLitestream follows the books as Litestream does: a copy of the file, and then the write-ahead log as it grows. With the log left to it,
// the log is only ever appended to, and any beginning of it gives sound books that miss nothing that was committed before.
func TestLitestream(t *testing.T) {
	long.Test(t)
	t.Parallel()
	d := newData(t)
	if err := d.books.LeaveLog(t.Context()); err != nil {
		t.Fatal(err)
	}
	path, to := filepath.Join(d.dir, store.File), t.TempDir()
	follow := func(generation string, from int) (base, log []byte, n int) {
		base = copyFile(t, path, filepath.Join(to, generation))
		n = from
		for i := range 6 {
			for range 80 {
				if err := d.move(n); err != nil {
					t.Fatal(err)
				}
				n++
			}
			longer := copyFile(t, path+"-wal", filepath.Join(to, generation+"-wal"))
			if !bytes.HasPrefix(longer, log) || len(longer) == len(log) {
				t.Fatalf("the log was not appended to: %d bytes after %d", len(longer), len(log))
			}
			log = longer
			if got := replay(t, base, log); !slices.Equal(got, countTo(n)) {
				t.Fatalf("after %d rounds %d movements were replicated of %d", i+1, len(got), n)
			}
		}
		return base, log, n
	}
	base, log, n := follow("first", 0)
	const due = 4 << 20 // bytes
	if len(log) <= due {
		t.Fatalf("the log has %d bytes: no checkpoint was due, so none was left out", len(log))
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 20 { // it stops anywhere, also in the middle of a page
		got := replay(t, base, log[:len(log)/4+random.IntN(len(log)*3/4)])
		if !slices.Equal(got, countTo(len(got))) {
			t.Fatal("of what was replicated there is something missing in the middle")
		}
	}

	// Litestream checkpoints, from a connection of its own, and follows the next log.
	change(t, path, "PRAGMA busy_timeout = 5000; PRAGMA wal_checkpoint(TRUNCATE)")
	_, _, n = follow("second", n)

	// And it agrees with a backup.
	restored := openData(t, restore(t, backUp(t, d.dir)))
	if moved, _ := restored.newest(); moved != n-1 {
		t.Errorf("the backup has %d movements, the log %d", moved+1, n)
	}
}

// TestLogIsBounded writes more than the log may hold, with a backup on the way: without Litestream it is checkpointed and begun again.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	d := newData(t)
	d.writeAll(0, 150)
	backUp(t, d.dir)
	d.writeAll(150, 500)
	for name, f := range map[string]interface{ Log() (int64, int64) }{"books": d.books, "history": d.history} {
		const most = 6 << 20
		if size, busy := f.Log(); size > most || busy > 0 {
			t.Errorf("the log of the %s has %d bytes, and it was busy %d times", name, size, busy)
		}
	}
}
