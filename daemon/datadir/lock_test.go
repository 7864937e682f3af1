package datadir_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/contextd/contextd/daemon/datadir"
)

// TestLockOfAnother: the lock that root makes is for the owner of the data directory, whose daemon has to open it.
func TestLockOfAnother(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make files for others")
	}
	const user, group = 54321, 54322
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o700), os.Chown(dir, user, group)); err != nil {
		t.Fatal(err)
	}
	lock(t, dir)
	info, err := os.Stat(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); s.Uid != user || s.Gid != group || info.Mode().Perm() != 0o600 {
		t.Errorf("the lock is of %d:%d with mode %04o", s.Uid, s.Gid, info.Mode().Perm())
	}
}

// TestLockSaysWhy: only a directory that is in use is called so, and other errors keep their cause.
func TestLockSaysWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	held, err := datadir.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if _, err := datadir.Lock(dir); !errors.Is(err, datadir.ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	other := t.TempDir()
	if err := errors.Join(os.Chmod(other, 0o700), unix.Mkfifo(filepath.Join(other, "lock"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := datadir.Lock(other); !errors.Is(err, unix.EINVAL) || errors.Is(err, datadir.ErrLocked) {
		t.Errorf("a lock that cannot be written: %v", err)
	}
}

// TestLockEndsWithClose: a program that is being started beside it has the file open for a moment, and does not hold the lock.
func TestLockEndsWithClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	held, err := datadir.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := unix.Dup(held.FD())
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := datadir.Lock(dir)
	if err != nil {
		t.Fatalf("after it was closed: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
