package backup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/internal/atomicfile"
)

// BackupDir is the name, in the data directory, of the directory for backups where no other is named.
const BackupDir = "backups"

// The names of backups in a directory: those that are made one after another, of which the newest are kept, and those before migrations,
// which all are.
const (
	prefix        = "contextd-"
	upgradePrefix = "before-upgrade-"
	suffix        = ".tar.zst"
	unfinished    = ".contextd-backup-*.partial"
)

// ours matches the names of backups made by SaveTo.
var ours = regexp.MustCompile(`^contextd-\d{8}T\d{6}\.\d{3}Z\.tar\.zst$`)

// Name is the name of a backup of the given moment.
func Name(at time.Time) string { return prefix + datadir.Stamp(at) + suffix }

// Save writes what produce writes to a file at path: beside it first, read back and compared with its manifest, brought to the disk,
// then renamed. Whatever is killed when, path is a whole backup or as it was.
func Save(path string, produce func(io.Writer) error) (m Manifest, err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a device would be replaced, too
		return m, fmt.Errorf("save backup: %s is there and is no file", path)
	}
	file := atomicfile.File{Path: path, Temporary: unfinished, Check: func(f *os.File) (err error) {
		if m, err = Check(f); err != nil {
			return fmt.Errorf("read backup back: %w", err)
		}
		return nil
	}}
	return m, file.Write(produce)
}

// SaveTo is Save into a directory, under the name of the moment; the directory is made where it is missing. Of the backups there that were
// made so, the newest keep stay, all for 0. One whose books do not agree removes no other.
func SaveTo(dir string, at time.Time, keep int, produce func(io.Writer) error) (path string, m Manifest, err error) {
	if err := makeDir(dir); err != nil {
		return "", m, err
	}
	path = filepath.Join(dir, Name(at))
	if m, err = Save(path, produce); err != nil || len(m.Findings) > 0 || keep == 0 {
		return path, m, err
	}
	return path, m, rotate(dir, path, at, keep)
}

// makeDir makes a directory for backups where it is missing, for the owner of the one that it is in.
func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory for backups: %w", err)
	}
	return datadir.GiveTo(dir, parent)
}

// rotate removes all but the newest keep backups in dir, never fresh, and what killed processes left.
func rotate(dir, fresh string, at time.Time, keep int) error {
	names, err := list(dir)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == filepath.Base(fresh) }) // even if the clock went back
	var errs []error
	for i, name := range names {
		if i >= keep-1 {
			errs = append(errs, os.Remove(filepath.Join(dir, name)))
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, unfinished))
	if err != nil {
		return err
	}
	const abandoned = 24 * time.Hour
	for _, path := range left {
		if info, err := os.Stat(path); err == nil && at.Sub(info.ModTime()) > abandoned {
			errs = append(errs, os.Remove(path))
		}
	}
	return errors.Join(errs...)
}

// list are the names of the backups in dir that SaveTo made, newest first.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	var names []string
	for _, e := range entries {
		if ours.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	slices.Reverse(names)
	return names, nil
}

// Newest is when the newest backup in dir was made by SaveTo, zero for never.
func Newest(dir string) (time.Time, error) {
	names, err := list(dir)
	if err != nil || len(names) == 0 {
		return time.Time{}, err
	}
	return datadir.ParseStamp(strings.TrimSuffix(strings.TrimPrefix(names[0], prefix), suffix))
}
