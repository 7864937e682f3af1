package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The names under which files are replaced. A directory of incoming files is made as temporary; renaming it to committed is the moment
// from which the replacement will happen, whatever is killed when; as applied, the old files are out of the way.
const (
	incomingDir     = "restore.tmp"
	replacePrefix   = "restore-"
	committedSuffix = ".commit"
	appliedSuffix   = ".apply"
	keptSuffix      = ".pre-restore"

	scratchPattern = "backup-*.tmp"
)

// stampLayout names a moment, in UTC, so that names sort by time.
const stampLayout = "20060102T150405.000Z"

// Stamp is t as it stands in the names of files.
func Stamp(t time.Time) string { return t.UTC().Format(stampLayout) }

// ParseStamp is the moment of a Stamp.
func ParseStamp(text string) (time.Time, error) { return time.Parse(stampLayout, text) }

// Free is how many bytes may still be written in dir, or where it would be made.
func Free(dir string) (int64, error) {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("ask for the free space of %s: %w", dir, err)
	}
	return int64(min(s.Bavail*uint64(s.Bsize), math.MaxInt64)), nil
}

// Incoming makes an empty directory in dir for files that are to replace those there. The caller holds the lock on dir.
func Incoming(dir string) (string, error) {
	path := filepath.Join(dir, incomingDir)
	if err := os.RemoveAll(path); err != nil {
		return "", fmt.Errorf("remove what an earlier restore left: %w", err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", fmt.Errorf("make directory for what is restored: %w", err)
	}
	return path, nil
}

// Scratch makes an empty directory in dir for copies. What a killed process left of such is removed with the next Lock.
func Scratch(dir string) (string, error) {
	path, err := os.MkdirTemp(dir, scratchPattern)
	if err != nil {
		return "", fmt.Errorf("make directory for a copy: %w", err)
	}
	return path, nil
}

// Replace puts the files that are in the directory made by Incoming in the place of those in dir: all of them or none, whenever the
// process is killed. Every database that was in dir goes, with its companions, and every file that there is a new one of; they are kept
// in the directory that is returned, "" where there were none. The caller holds the lock on dir.
func Replace(dir string, now time.Time) (kept string, err error) {
	return flusher(flush).replace(dir, now)
}

// flusher brings a file, or the names in a directory, to the disk.
type flusher func(path string) error

func (flush flusher) replace(dir string, now time.Time) (kept string, err error) {
	incoming := filepath.Join(dir, incomingDir)
	if err := flush.persist(dir, incoming); err != nil {
		return "", err
	}
	stamp := Stamp(now)
	for n := 2; exists(filepath.Join(dir, stamp+keptSuffix)); n++ {
		stamp = fmt.Sprintf("%s-%d", Stamp(now), n)
	}
	if err := os.Rename(incoming, filepath.Join(dir, replacePrefix+stamp+committedSuffix)); err != nil {
		return "", fmt.Errorf("commit what is restored: %w", err)
	}
	for _, step := range flush.replacement(dir, stamp) {
		if err := step(); err != nil {
			return "", fmt.Errorf("%w; the restore continues once this is fixed and any contextd command opens %s", err, dir)
		}
	}
	if kept = filepath.Join(dir, stamp+keptSuffix); exists(kept) {
		return kept, nil
	}
	return "", nil
}

// persist brings the incoming files and their names to the disk, with the modes and the owner that files of dir have.
func (flush flusher) persist(dir, incoming string) error {
	names, err := entries(incoming)
	if err != nil {
		return err
	}
	for _, name := range append(names, "") {
		path := filepath.Join(incoming, name)
		if err := GiveTo(path, dir); err != nil {
			return err
		}
		if name != "" {
			if err := os.Chmod(path, 0o600); err != nil {
				return fmt.Errorf("close what is restored to others: %w", err)
			}
		}
		if err := flush(path); err != nil {
			return err
		}
	}
	return nil
}

// replacement are the steps that follow a commit. Each can be begun again after it was interrupted anywhere; done is nothing twice.
func (flush flusher) replacement(dir, stamp string) []func() error {
	committed := filepath.Join(dir, replacePrefix+stamp+committedSuffix)
	applied := filepath.Join(dir, replacePrefix+stamp+appliedSuffix)
	kept := filepath.Join(dir, stamp+keptSuffix)
	return []func() error{
		func() error { return flush(dir) },
		func() error { return flush.setAside(dir, committed, kept) },
		func() error { return flush(dir) },
		func() error { return os.Rename(committed, applied) },
		func() error { return flush(dir) },
		func() error { return putInPlace(applied, dir) },
		func() error { return flush(dir) },
		func() error { return os.Remove(applied) },
		func() error { return flush(dir) },
	}
}

// resume finishes what a process that was killed has begun in dir: a replacement that was committed goes on, anything else is undone. The
// caller holds the lock on dir.
func resume(dir string) error {
	names, err := entries(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		scratch, err := filepath.Match(scratchPattern, name)
		if err != nil {
			return err
		}
		if scratch || name == incomingDir {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				return fmt.Errorf("remove what was left behind: %w", err)
			}
		}
		rest, ours := strings.CutPrefix(name, replacePrefix)
		steps := flusher(flush).replacement(dir, strings.TrimSuffix(strings.TrimSuffix(rest, committedSuffix), appliedSuffix))
		const applied = 5 // of the steps
		switch {
		case ours && strings.HasSuffix(rest, appliedSuffix):
			steps = steps[applied:]
		case !ours || !strings.HasSuffix(rest, committedSuffix):
			continue
		}
		for _, step := range steps {
			if err := step(); err != nil {
				return fmt.Errorf("finish the restore that was interrupted: %w", err)
			}
		}
	}
	return nil
}

// setAside moves the old files of dir that the new ones in incoming take the place of into kept.
func (flush flusher) setAside(dir, incoming, kept string) error {
	fresh, err := entries(incoming)
	if err != nil {
		return err
	}
	names, err := entries(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains(fresh, name) && !ofDatabase(name) {
			continue
		}
		if err := os.Mkdir(kept, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make directory for what was there: %w", err)
		}
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(kept, name)); err != nil {
			return fmt.Errorf("keep what was there: %w", err)
		}
	}
	if !exists(kept) {
		return nil
	}
	return flush(kept)
}

// ofDatabase reports whether a file of that name is a database or belongs to one. A log that stayed would be played into the new one.
func ofDatabase(name string) bool {
	for _, companion := range []string{"-wal", "-shm", "-journal"} {
		name = strings.TrimSuffix(name, companion)
	}
	return strings.HasSuffix(name, ".db")
}

func putInPlace(incoming, dir string) error {
	names, err := entries(incoming)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(incoming, name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("put what is restored in place: %w", err)
		}
	}
	return nil
}

func entries(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list directory: %w", err)
	}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name()
	}
	return names, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// flush is the flusher of everybody but tests.
func flush(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("flush %s: %w", path, err)
	}
	return nil
}
