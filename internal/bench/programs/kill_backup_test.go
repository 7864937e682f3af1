package programs_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// A data directory tells by each of its files which of these it is.
const (
	sideBefore = "before"
	sideAfter  = "after"
)

// lockSoon takes the lock on dir. One that was just given back may be held a moment longer, by a program that is being started by another
// test and has not closed yet what it inherits.
func lockSoon(t *testing.T, dir string) *datadir.Held {
	t.Helper()
	var lock *datadir.Held
	soon(t, "the lock", func() bool {
		var err error
		if lock, err = datadir.Lock(dir); err != nil && !errors.Is(err, datadir.ErrLocked) {
			t.Fatal(err)
		}
		return err == nil
	})
	return lock
}

// makeSide makes dir one of the two.
func makeSide(t *testing.T, dir, side string) {
	t.Helper()
	defer lockSoon(t, dir).Close()
	s, err := store.Open(t.Context(), dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CreateKey(t.Context(), account.Key{ID: side, Hash: sha256.Sum256([]byte(side)), OwnerID: account.OperatorID, Tier: api.TierFree}); err != nil {
		t.Fatal(err)
	}
	h, err := history.Open(t.Context(), dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.OpenPack(t.Context(), side, time.Now()); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		p := state.Pulse{Pack: side, Version: 1, GeneratedAt: time.UnixMilli(int64(n)), State: fmt.Appendf(nil, `{"n":%d}`, n)}
		if _, err := h.SavePulse(t.Context(), p, state.Brief{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "quote.keys"), []byte(side), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sideOf tells which of the two dir is, after its next opener has finished what was begun. It must be one of them in all its files.
func sideOf(t *testing.T, dir string) string {
	t.Helper()
	defer lockSoon(t, dir).Close()
	if r, err := backup.Verify(t.Context(), dir); err != nil || len(r.Problems) > 0 || r.States != 20 {
		t.Fatalf("after a kill: %+v, %v", r, err)
	}
	s, err := store.OpenRead(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	keys, err := s.Keys(t.Context(), nil)
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys %v, %v", keys, err)
	}
	side := keys[0].ID
	h, err := history.OpenRead(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.PulseBefore(t.Context(), side, time.UnixMilli(20)); err != nil {
		t.Errorf("the keys are of %s, history is not: %v", side, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "quote.keys")); err != nil || string(text) != side {
		t.Errorf("the keys of owners are of %s, those of quotes of %s, %v", side, text, err)
	}
	return side
}

// underWay are the entries of dir that mean that a restore goes on.
func underWay(dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "restore") {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestKillRestore kills restores at all moments. Afterwards the data is what it was or what was restored, whole.
func TestKillRestore(t *testing.T) {
	t.Parallel()
	dir, other := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "other")
	makeSide(t, dir, sideBefore)
	makeSide(t, other, sideAfter)
	archives := map[string]string{}
	for side, from := range map[string]string{sideBefore: dir, sideAfter: other} {
		archives[side] = filepath.Join(t.TempDir(), "backup")
		if text, err := program(t, "backup", archives[side], "--data-dir", from).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	random := rand.New(rand.NewPCG(3, uint64(rounds())))
	stages := map[string]int{}
	for life := range rounds() * 2 {
		was, becomes := sideOf(t, dir), sideAfter
		if was == sideAfter {
			becomes = sideBefore
		}
		c := program(t, "restore", archives[becomes], "--yes", "--data-dir", dir)
		ended := make(chan struct{})
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { _ = c.Wait(); close(ended) }()
		stage := []string{"unpacking", ".tmp", ".commit", ".apply"}[life%4]
		for going := true; going && !slices.ContainsFunc(underWay(dir), func(n string) bool { return strings.HasSuffix(n, stage) }); {
			select {
			case <-ended:
				going = false
			case <-time.After(time.Duration(random.IntN(50)) * time.Microsecond):
				going = stage != "unpacking" || random.IntN(2000) > 0
			}
		}
		_ = c.Process.Kill() // it may have ended
		<-ended
		seen := "none"
		for _, name := range underWay(dir) {
			seen = filepath.Ext(name)
		}
		is := sideOf(t, dir)
		stages[fmt.Sprintf("%s, then as %v", seen, map[bool]string{true: "before", false: "restored"}[is == was])]++
		if seen == ".commit" || seen == ".apply" {
			if is != becomes {
				t.Errorf("a restore that was committed (%s) was undone", seen)
			}
		}
		if left := underWay(dir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	t.Logf("%d kills; what was under way: %v", rounds()*2, stages)
}

// TestKillWhileBackingUp kills the program while calls are charged and backups are made of it. Each backup that has its name is whole and
// agrees, each that was cut off has left nothing.
func TestKillWhileBackingUp(t *testing.T) {
	t.Parallel()
	dir, to := oldDemo(t), filepath.Join(t.TempDir(), "backups")
	listen, err := testbed.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	key := issueWithCredits(t, dir, "load", 1_000_000)
	random := rand.New(rand.NewPCG(4, uint64(rounds())))
	lives := max(rounds()/2, 2)
	var cut, made int
	for range lives {
		c := program(t, "demo", "--packs", "crypto", "--listen", listen, "--chain-listen", "127.0.0.1:0", "--data-dir", dir, "--refresh", "100ms")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		one := make(chan struct{}, 1<<10) // for each backup
		all.Go(func() {
			defer close(one)
			if !comes(func() bool { return reachable(listen) }) { // from then on it has the lock
				t.Error("the demo does not start")
				return
			}
			for {
				o, err := admin.OpenDatabases(t.Context(), dir, "", time.Now)
				if err != nil {
					t.Error(err)
					return
				}
				if o.Direct { // it was killed
					_ = o.Close()
					return
				}
				_, _, err = backup.SaveTo(to, time.Now(), backup.Bounds{}, func(w io.Writer) error { return o.Backup(t.Context(), w) })
				_ = o.Close()
				if err != nil {
					cut++
					return
				}
				made++
				one <- struct{}{}
			}
		})
		load(t, dir, listen, key, 4, 0, func() error {
			<-one
			time.Sleep(time.Duration(random.Int64N(int64(200 * time.Millisecond))))
			return c.Process.Kill()
		})
		_ = c.Wait()
		all.Wait()
	}
	names, err := os.ReadDir(to)
	if err != nil || len(names) != made {
		t.Errorf("%d backups were made, there are %v, %v", made, names, err)
	}
	for _, name := range names {
		if text, err := program(t, "restore", "--dry-run", filepath.Join(to, name.Name())).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name.Name(), err, text)
		}
	}
	t.Logf("%d kills, %d backups made and %d cut off", lives, made, cut)
	if made < lives {
		t.Error("too few backups to tell")
	}
}
