// Package atomicfile writes files of which nobody ever sees a part: whatever is killed or loses its power when, a file is as it was
// or wholly the new one, and what was reported as written is on the disk.
//
// It imports the standard library alone, as the sdk's wallet is built on it. Logs that grow by appending are none of its business.
package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// File is a file to be written, in a directory that exists.
type File struct {
	Path      string                      // what is there is replaced
	Mode      os.FileMode                 // its permissions, whatever the umask; 0 means 0600
	Temporary string                      // pattern, as of os.CreateTemp, of its name until it is whole; "" means .new-*
	New       bool                        // nothing may be at Path yet; where something is, os.ErrExist is in the chain of the error
	Check     func(f *os.File) error      // looks at the new file, from its start, before it takes its place; nil means that all are good
	sync      func(f *os.File) error      // brings a file or directory to the disk; nil means f.Sync
	rename    func(from, to string) error // nil means os.Rename
}

// Write writes text to the file at path, for the user alone if mode is 0600.
func Write(path string, text []byte, mode os.FileMode) error {
	return File{Path: path, Mode: mode}.Write(func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Write has produce write the new file, which takes its place when it is on the disk and was checked. The errors of produce and Check
// are returned as they are. An error may also mean that the new file is there, but could be lost with the power.
func (f File) Write(produce func(io.Writer) error) error {
	if !f.New {
		return f.write(produce)
	}
	place, err := os.OpenFile(f.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // to be replaced, so that nobody else takes the name
	if err != nil {
		return f.failed(err)
	}
	if err := errors.Join(place.Close(), f.write(produce)); err != nil {
		return errors.Join(err, os.Remove(f.Path))
	}
	return nil
}

func (f File) write(produce func(io.Writer) error) error {
	dir := filepath.Dir(f.Path)
	fresh, err := os.CreateTemp(dir, cmp.Or(f.Temporary, ".new-*")) // with mode 0600
	if err != nil {
		return f.failed(err)
	}
	placed := false
	defer func() {
		if !placed { // also when produce panics
			_ = fresh.Close()
			_ = os.Remove(fresh.Name())
		}
	}()
	if err := f.fill(fresh, produce); err != nil {
		return err
	}
	if err := fresh.Close(); err != nil {
		return f.failed(err)
	}
	if err := f.move(fresh.Name(), f.Path); err != nil {
		return f.failed(err)
	}
	placed = true
	if err := f.flushDir(dir); err != nil {
		return f.failed(err)
	}
	return nil
}

// fill writes, flushes and checks the new file.
func (f File) fill(fresh *os.File, produce func(io.Writer) error) error {
	if err := produce(fresh); err != nil {
		return err
	}
	if mode := cmp.Or(f.Mode, 0o600); mode != 0o600 {
		if err := fresh.Chmod(mode); err != nil {
			return f.failed(err)
		}
	}
	if err := f.flush(fresh); err != nil {
		return f.failed(err)
	}
	if f.Check == nil {
		return nil
	}
	if _, err := fresh.Seek(0, io.SeekStart); err != nil {
		return f.failed(err)
	}
	return f.Check(fresh)
}

// flushDir brings the names in dir to the disk. Where directories cannot be flushed, as on Windows, the rename has to do.
func (f File) flushDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := f.flush(d); !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

func (f File) flush(of *os.File) error {
	if f.sync != nil {
		return f.sync(of)
	}
	return of.Sync()
}

func (f File) move(from, to string) error {
	if f.rename != nil {
		return f.rename(from, to)
	}
	return os.Rename(from, to)
}

// failed says what could not be written, and of which path that is true: nobody knows the temporary one.
func (f File) failed(err error) error {
	cause, at := err, filepath.Dir(f.Path)
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		cause = path.Err
	} else if link, ok := errors.AsType[*os.LinkError](err); ok {
		cause = link.Err
	} else {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	if errors.Is(cause, fs.ErrExist) {
		return &fs.PathError{Op: "write", Path: f.Path, Err: cause}
	}
	return fmt.Errorf("write %s: %w", f.Path, &fs.PathError{Op: "write", Path: at, Err: cause})
}
