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
	"github.com/contextd/contextd/internal/human"
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

// Bounds say how much of what SaveTo made stays.
type Bounds struct {
	Keep  int   // how many, the newest; 0 means all
	Bytes int64 // as many of these as fit together, but always the one just made; 0 means all
}

// SaveTo is Save into a directory, under the name of the moment; the directory is made where it is missing. Of the backups there that were
// made so, those within bounds stay. One whose books do not agree removes no other.
func SaveTo(dir string, at time.Time, within Bounds, produce func(io.Writer) error) (path string, m Manifest, err error) {
	if err := makeDir(dir); err != nil {
		return "", m, err
	}
	path = filepath.Join(dir, Name(at))
	if m, err = Save(path, produce); err != nil || len(m.Findings) > 0 || within == (Bounds{}) {
		return path, m, err
	}
	return path, m, rotate(dir, path, at, within)
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

// rotate removes the backups in dir that are out of bounds, never fresh, and what killed processes left.
func rotate(dir, fresh string, at time.Time, within Bounds) error {
	names, err := list(dir)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == filepath.Base(fresh) }) // even if the clock went back
	taken, err := sizeOf(fresh)
	if err != nil {
		return err
	}
	var errs []error
	for i, name := range names {
		path := filepath.Join(dir, name)
		size, err := sizeOf(path)
		taken += size
		if within.Keep > 0 && i >= within.Keep-1 || within.Bytes > 0 && taken > within.Bytes {
			err = os.Remove(path)
		}
		errs = append(errs, err)
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

// sizeOf is the size of a file.
func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Made is what SaveTo has made in a directory.
type Made struct {
	Newest time.Time // zero for never
	Count  int
	Bytes  int64
}

// Late reports whether m is less than there should be at a time where one is made as often as every says, 0 for never.
func (m Made) Late(every time.Duration, now time.Time) bool {
	return every > 0 && now.Sub(m.Newest) > 2*every
}

// Saved returns what SaveTo has made in dir.
func Saved(dir string) (m Made, err error) {
	names, err := list(dir)
	if err != nil || len(names) == 0 {
		return m, err
	}
	m.Count = len(names)
	for _, name := range names {
		size, err := sizeOf(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) { // rotated away meanwhile
			return m, fmt.Errorf("look at backups: %w", err)
		}
		m.Bytes += size
	}
	m.Newest, err = datadir.ParseStamp(strings.TrimSuffix(strings.TrimPrefix(names[0], prefix), suffix))
	return m, err
}

// Spare is what a backup made on a schedule leaves free on a disk: a full one stops paid calls.
const Spare = 512 << 20

// Fits says why a backup of the data directory into dir would leave less than Spare, nil where it would not. While it is made, there is a
// copy of the databases beside them, and then an archive that is no larger in dir, which may be on the same disk.
func Fits(dataDir, dir string) error {
	sizes, err := Sizes(dataDir)
	if err != nil {
		return err
	}
	var size int64
	for _, n := range sizes {
		size += n
	}
	if err := leaves(dataDir, size); err != nil {
		return err
	}
	return leaves(dir, 2*size)
}

// Sizes returns how many bytes each database of a data directory takes, with its write-ahead log.
func Sizes(dataDir string) (map[string]int64, error) {
	sizes := map[string]int64{}
	for _, name := range Files() {
		for _, path := range []string{name, name + "-wal"} {
			n, err := sizeOf(filepath.Join(dataDir, path))
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("look at the databases: %w", err)
			}
			sizes[name] += n
		}
	}
	return sizes, nil
}

// leaves says why need in dir would leave less than Spare.
func leaves(dir string, need int64) error {
	free, err := datadir.Free(dir)
	if err == nil && free-need < Spare {
		err = fmt.Errorf("%w: it can take %s in %s, where %s are free and %s are to stay free; free some, or set backup.dir to another "+
			"disk", ErrRoom, human.Bytes(need), dir, human.Bytes(free), human.Bytes(Spare))
	}
	return err
}
