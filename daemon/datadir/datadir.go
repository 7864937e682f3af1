// Package datadir is the data directory as processes share it: the lock that one of them has, and the socket on which that one answers
// the operator. What is in the databases is the matter of packages store and history.
package datadir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrLocked is in the chain of the error for a data directory that another process uses.
var ErrLocked = errors.New("the data directory is in use")

// lockFile is the name of the lock in the data directory. It holds the process id of who has it.
const lockFile = "lock"

// Lock takes the exclusive lock on dir, which is made where it is missing. The kernel frees it with the process, however that
// ends. A restore that was interrupted is finished first, so that nobody sees half of one.
func Lock(dir string) (*Held, error) {
	if err := private(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := hold(f, dir); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Held{f}, nil
}

// Held is the lock on a directory, until Close.
type Held struct{ file *os.File }

// Close frees the lock. A program that is being started has the file open until it runs, and would hold the lock for that long.
func (h *Held) Close() error {
	return errors.Join(unix.Flock(int(h.file.Fd()), unix.LOCK_UN), h.file.Close())
}

// hold takes the lock of dir, which is the file f, and writes into it who has it.
func hold(f *os.File, dir string) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder, _ := os.ReadFile(f.Name())
		return fmt.Errorf("%w: %s (process %s)", ErrLocked, dir, strings.TrimSpace(string(holder)))
	}
	if err != nil {
		return fmt.Errorf("lock data directory: %w", err)
	}
	if err := GiveTo(f.Name(), dir); err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	return resume(dir)
}

// GiveTo gives what root makes at path to the owner of dir: the daemon's user has to open it. For other users it does nothing.
func GiveTo(path, dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look whose %s is: %w", dir, err)
	}
	have, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("look whose %s is: %w", path, err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	now, known := have.Sys().(*syscall.Stat_t)
	if !ok || known && now.Uid == owner.Uid && now.Gid == owner.Gid {
		return nil
	}
	if err := os.Lchown(path, int(owner.Uid), int(owner.Gid)); err != nil { // never what a link in a user's directory leads to
		return fmt.Errorf("give %s to the owner of %s: %w", path, dir, err)
	}
	return nil
}

// private makes dir, or closes it to other users where it is there. A directory that holds other things is left alone.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at data directory: %w", err)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look at data directory: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s is open to other users and holds other files: give contextd a separate directory", dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("close data directory to others: %w", err)
	}
	return nil
}

// adminSocket is the name of the admin socket in the data directory.
const adminSocket = "admin.sock"

// maxSocketPath is what the kernel takes as the path of a socket on every system we run on.
const maxSocketPath = 100

// Listen listens on the admin socket of dir, which only the daemon's user can open. The caller holds the lock on dir, so a
// socket that is there was left behind.
func Listen(dir string) (net.Listener, error) {
	if err := os.Remove(filepath.Join(dir, adminSocket)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove old admin socket: %w", err)
	}
	var l net.Listener
	err := atSocket(dir, func(path string) (err error) {
		if l, err = net.Listen("unix", path); err == nil {
			l.(*net.UnixListener).SetUnlinkOnClose(false) // the path may hold no longer; the next start removes it
			err = os.Chmod(path, 0o600)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen on admin socket: %w", err)
	}
	return l, nil
}

// Dial connects to the admin socket of dir.
func Dial(ctx context.Context, dir string) (net.Conn, error) {
	var conn net.Conn
	err := atSocket(dir, func(path string) (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, "unix", path)
		return err
	})
	return conn, err
}

// Runs reports whether a daemon answers on the admin socket of dir.
func Runs(ctx context.Context, dir string) (bool, error) {
	conn, err := Dial(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) { // one that was killed leaves its socket
		return false, nil
	}
	if err == nil {
		_ = conn.Close() // nothing was said
	}
	return err == nil, err
}

// atSocket calls use with a path of the admin socket of dir that the kernel takes: where the true one is too long, one through
// an open descriptor of dir, which Linux offers.
func atSocket(dir string, use func(path string) error) error {
	path := filepath.Join(dir, adminSocket)
	if len(path) <= maxSocketPath {
		return use(path)
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the path %s is too long for a socket: use a shorter data directory", path)
	}
	open, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer open.Close()
	return use(fmt.Sprintf("/proc/self/fd/%d/%s", open.Fd(), adminSocket))
}
