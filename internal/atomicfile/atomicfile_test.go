package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/contextd/contextd/internal/atomicfile"
)

// text produces s.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// read is the file at path, "" where there is none.
func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

func TestWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode, want os.FileMode
	}{{0, 0o600}, {0o600, 0o600}, {0o644, 0o644}, {0o666, 0o666}} {
		path := filepath.Join(t.TempDir(), "file")
		for _, content := range []string{"first, and long", "second", ""} {
			if err := atomicfile.Write(path, []byte(content), c.mode); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); got != content || info.Mode().Perm() != c.want {
				t.Errorf("mode %o: there is %q with %v, want %q with %v", c.mode, got, info.Mode(), content, c.want)
			}
		}
	}
}

// TestOrder has the new file on the disk and looked at before it has its name, and its name on the disk before Write returns.
func TestOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	var did []string
	f := atomicfile.File{Path: path, Temporary: "half-*", Check: func(f *os.File) error {
		content, err := io.ReadAll(f)
		did = append(did, "check "+string(content))
		return err
	}}.Watched(func(what, at string) error {
		switch {
		case at == dir:
			what += " directory"
		case strings.HasPrefix(filepath.Base(at), "half-") && read(t, at) == "whole":
			what += " whole file"
		}
		did = append(did, what)
		return nil
	})
	if err := f.Write(text("whole")); err != nil {
		t.Fatal(err)
	}
	if want := []string{"sync whole file", "check whole", "rename whole file", "sync directory"}; !slices.Equal(did, want) {
		t.Errorf("did %q, want %q", did, want)
	}
}

// TestNew: a new file is brought to the disk as any other, and takes the place of none. What fails leaves nothing.
func TestNew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var did []string
	fresh := atomicfile.File{Path: filepath.Join(dir, "file"), New: true}.Watched(func(what, at string) error {
		did = append(did, what+" "+strings.TrimRight(filepath.Base(at), "0123456789"))
		return nil
	})
	no := errors.New("no")
	if err := fresh.Write(func(io.Writer) error { return no }); !errors.Is(err, no) {
		t.Errorf("err = %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if err := fresh.Write(text("first")); err != nil {
		t.Fatal(err)
	}
	if want := []string{"sync .new-", "rename .new-", "sync " + strings.TrimRight(filepath.Base(dir), "0123456789")}; !slices.Equal(did, want) {
		t.Errorf("did %q, want %q", did, want)
	}
	if err := fresh.Write(text("second")); !errors.Is(err, os.ErrExist) || read(t, fresh.Path) != "first" {
		t.Errorf("err = %v, there is %q", err, read(t, fresh.Path))
	}
}

// TestFailures has the file as it was, and nothing left beside it, whatever fails before the rename.
func TestFailures(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	for _, c := range []struct {
		name, fail string
		produce    func(io.Writer) error
		check      func(*os.File) error
		want       string
	}{
		{name: "produce", produce: func(w io.Writer) error { return errors.Join(text("new")(w), no) }, want: "old"},
		{name: "check", check: func(*os.File) error { return no }, want: "old"},
		{name: "sync of file", fail: "sync .new", want: "old"},
		{name: "rename", fail: "rename .new", want: "old"},
		{name: "sync of directory", fail: "sync dir", want: "new"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "dir")
			path := filepath.Join(dir, "file")
			if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(path, []byte("old"), 0o600)); err != nil {
				t.Fatal(err)
			}
			f := atomicfile.File{Path: path, Check: c.check}.Watched(func(what, at string) error {
				if c.fail != "" && strings.HasPrefix(what+" "+filepath.Base(at), c.fail) {
					return no
				}
				return nil
			})
			if c.produce == nil {
				c.produce = text("new")
			}
			if err := f.Write(c.produce); !errors.Is(err, no) {
				t.Errorf("err = %v", err)
			}
			left, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); got != c.want || len(left) != 1 {
				t.Errorf("there is %q among %v, want %q alone", got, left, c.want)
			}
		})
	}
}

// TestDirectoriesThatCannotBeFlushed are those of some file systems.
func TestDirectoriesThatCannotBeFlushed(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{syscall.EINVAL, syscall.ENOTSUP, syscall.ENOSYS} {
		dir := t.TempDir()
		f := atomicfile.File{Path: filepath.Join(dir, "file")}.Watched(func(_, at string) error {
			if at == dir {
				return &os.PathError{Op: "sync", Path: at, Err: refusal}
			}
			return nil
		})
		if err := f.Write(text("new")); err != nil || read(t, f.Path) != "new" {
			t.Errorf("%v: %v", refusal, err)
		}
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	func() {
		defer func() { _ = recover() }()
		_ = atomicfile.File{Path: filepath.Join(dir, "file")}.Write(func(io.Writer) error { panic("no") })
	}()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left: %v", left, err)
	}
}

func TestNoDirectory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none", "file")
	if err := atomicfile.Write(path, nil, 0o600); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("err = %v", err)
	}
}

// TestFlushIsOfTheDisk: without a hook a file is brought to the disk, which Linux refuses for one that is on none.
func TestFlushIsOfTheDisk(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("other systems flush what is on no disk")
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := (atomicfile.File{}).Flush(f); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("flushing %s ends with %v", os.DevNull, err)
	}
}
