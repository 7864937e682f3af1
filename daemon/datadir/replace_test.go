package datadir_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/datadir"
)

// before is a data directory after a kill: databases with their logs, and what is none of a restore's business.
func before() map[string]string {
	return map[string]string{
		"a.db": "old a", "a.db-wal": "old log", "a.db-shm": "old index", "b.db": "old b", "b.db-wal": "old log of b",
		"quote.keys": "old key", "jobs.key": "a key of which there is no new one", "demo.json": "a demo",
	}
}

// fresh is what replaces it.
func fresh() map[string]string {
	return map[string]string{"a.db": "new a", "b.db": "new b", "quote.keys": "new key"}
}

// after is what is there then, but for what was kept.
func after() map[string]string {
	m := fresh()
	m["jobs.key"], m["demo.json"] = before()["jobs.key"], before()["demo.json"]
	return m
}

// put writes files into dir.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// files are those in dir with their content, but for the lock; dirs are the directories there.
func files(t *testing.T, dir string) (files map[string]string, dirs []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for _, e := range entries {
		switch {
		case e.IsDir():
			dirs = append(dirs, e.Name())
		case e.Name() != "lock":
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files[e.Name()] = string(text)
		}
	}
	return files, dirs
}

// lock takes the lock on dir and gives it back.
func lock(t *testing.T, dir string) {
	t.Helper()
	held, err := datadir.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
}

// prepared is a data directory with what is to replace its files beside them.
func prepared(t *testing.T) (dir, incoming string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	lock(t, dir)
	put(t, dir, before())
	incoming, err := datadir.Incoming(dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, incoming, fresh())
	return dir, incoming
}

// checkReplaced checks that dir holds what is new, and what was old in the one directory for that.
func checkReplaced(t *testing.T, dir string) {
	t.Helper()
	have, dirs := files(t, dir)
	if !maps.Equal(have, after()) || len(dirs) != 1 || !strings.HasSuffix(dirs[0], ".pre-restore") {
		t.Fatalf("there are %v and %v", have, dirs)
	}
	kept, _ := files(t, filepath.Join(dir, dirs[0]))
	for name, text := range before() {
		if _, stays := after()[name]; (!stays || fresh()[name] != "") && kept[name] != text {
			t.Errorf("%s of before is %q", name, kept[name])
		}
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	dir, _ := prepared(t)
	now := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	kept, err := datadir.Replace(dir, now)
	if err != nil || kept != filepath.Join(dir, "20261120T200000.000Z.pre-restore") {
		t.Fatalf("%q, %v", kept, err)
	}
	checkReplaced(t, dir)

	// Once more at the same moment: what was kept first stays as it is.
	incoming, err := datadir.Incoming(dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, incoming, map[string]string{"a.db": "newer a"})
	if kept, err = datadir.Replace(dir, now); err != nil || kept != filepath.Join(dir, "20261120T200000.000Z-2.pre-restore") {
		t.Fatalf("%q, %v", kept, err)
	}
	have, _ := files(t, dir)
	if have["a.db"] != "newer a" || have["b.db"] != "" || have["quote.keys"] != "new key" {
		t.Errorf("there are %v", have)
	}
}

func TestReplaceNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	lock(t, dir)
	incoming, err := datadir.Incoming(dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, incoming, fresh())
	if kept, err := datadir.Replace(dir, time.Unix(1, 0)); err != nil || kept != "" {
		t.Errorf("%q, %v", kept, err)
	}
	if have, dirs := files(t, dir); !maps.Equal(have, fresh()) || len(dirs) > 0 {
		t.Errorf("there are %v and %v", have, dirs)
	}
}

// TestReplaceIsInterrupted ends a replacement after each of its steps, and in the middle of those that move files.
func TestReplaceIsInterrupted(t *testing.T) {
	t.Parallel()
	const stamp = "20261120T200000.000Z"
	steps := 0
	for n := 0; ; n++ {
		dir, _ := prepared(t)
		more, err := datadir.Interrupted(dir, stamp, n)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		steps++
		committed := filepath.Join(dir, "restore-"+stamp+datadir.CommittedSuffix)
		applied := filepath.Join(dir, "restore-"+stamp+datadir.AppliedSuffix)
		if _, err := os.Stat(committed); err == nil { // some of the old files are set aside
			kept := filepath.Join(dir, stamp+".pre-restore")
			if err := os.MkdirAll(kept, 0o700); err != nil {
				t.Fatal(err)
			}
			for i, name := range slices.Sorted(maps.Keys(before())) {
				if _, err := os.Stat(filepath.Join(dir, name)); err == nil && i%2 == n%2 && strings.Contains(name, ".db") {
					move(t, dir, kept, name)
				}
			}
		} else if _, err := os.Stat(filepath.Join(applied, "b.db")); err == nil { // some of the new ones are in place
			move(t, applied, dir, "b.db")
		}
		lock(t, dir)
		checkReplaced(t, dir)
		lock(t, dir)
		checkReplaced(t, dir)
	}
	if steps < 8 {
		t.Errorf("%d steps", steps)
	}
}

// move moves a file to another directory.
func move(t *testing.T, from, to, name string) {
	t.Helper()
	if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
		t.Fatal(err)
	}
}

// TestLeftBehind leaves what was killed before it was committed.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	dir, _ := prepared(t)
	scratch, err := datadir.Scratch(dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, scratch, map[string]string{"a.db": "half a copy"})
	lock(t, dir)
	if have, dirs := files(t, dir); !maps.Equal(have, before()) || len(dirs) > 0 {
		t.Errorf("there are %v and %v", have, dirs)
	}
}

// TestFlushes: whatever the power takes, a restore has happened or has not. Every new file is on the disk before the name that commits it,
// and every change of names before the next; what was there goes only once the new files cannot be lost.
func TestFlushes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, before())
	incoming, err := datadir.Incoming(dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, incoming, fresh())
	var did []string
	kept, err := datadir.ReplaceWatched(dir, time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC), func(path string) error {
		now, dirs := files(t, dir)
		place := "old"
		for name, text := range fresh() {
			switch now[name] {
			case text:
				place = "new"
			case "":
				place = "none"
			}
		}
		var suffixes []string
		for _, d := range dirs {
			suffixes = append(suffixes, filepath.Ext(d))
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		did = append(did, strings.ReplaceAll(name, kept20, "kept")+": "+place+" "+strings.Join(suffixes, " "))
		return nil
	})
	if err != nil || filepath.Base(kept) != kept20 {
		t.Fatal(kept, err)
	}
	want := []string{
		"restore.tmp/a.db: old .tmp", "restore.tmp/b.db: old .tmp", "restore.tmp/quote.keys: old .tmp", "restore.tmp: old .tmp",
		".: old .commit", "kept: none .pre-restore .commit", ".: none .pre-restore .commit", ".: none .pre-restore .apply",
		".: new .pre-restore .apply", ".: new .pre-restore",
	}
	if !slices.Equal(did, want) {
		t.Errorf("flushed %q\nwant %q", did, want)
	}
}

const kept20 = "20261120T200000.000Z.pre-restore"

// TestFlushIsOfTheDisk: what is flushed is brought to the disk, which Linux refuses for a file that is on none.
func TestFlushIsOfTheDisk(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("other systems flush what is on no disk")
	}
	if err := datadir.Flush(os.DevNull); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("flushing %s ends with %v", os.DevNull, err)
	}
	if err := datadir.Flush(t.TempDir()); err != nil {
		t.Error(err)
	}
}
