package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrLocked is in the chain of the error for a data directory that another process uses.
var ErrLocked = errors.New("the data directory is in use")

// lockFile is the name of the lock in the data directory. It holds the process id of who has it.
const lockFile = "lock"

// lock takes the exclusive lock on dir, which is made where it is missing. The kernel frees it with the process, however that
// ends.
func lock(dir string) (*os.File, error) {
	if err := private(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(path)
		err = fmt.Errorf("%w: %s (process %s)", ErrLocked, dir, strings.TrimSpace(string(holder)))
		return nil, errors.Join(err, f.Close())
	}
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
		if err == nil {
			return f, nil
		}
	}
	return nil, errors.Join(errors.New("write lock"), f.Close())
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
		return fmt.Errorf("%s is open to other users and holds other files: give contextd a directory of its own", dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("close data directory to others: %w", err)
	}
	return nil
}
