package main

import (
	"os"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
)

// TestHomeOfTheConfiguration: where root makes the directory, the daemon of a package reads what is in it; where there is none, nobody else.
func TestHomeOfTheConfiguration(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives directories away")
	}
	for _, c := range []struct {
		group     error
		dir, file os.FileMode
		gid       uint32
	}{{nil, 0o750, 0o640, 4711}, {user.UnknownGroupError(serviceGroup), 0o700, 0o600, 0}} {
		dir := filepath.Join(t.TempDir(), "etc", "contextd")
		if err := makeHome(dir, func(name string) (*user.Group, error) { return &user.Group{Name: name, Gid: "4711"}, c.group }); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "config.yaml")
		if err := create(file, []byte("a: b\n")); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]os.FileMode{dir: c.dir, file: c.file} {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if owner := info.Sys().(*syscall.Stat_t); info.Mode().Perm() != want || owner.Gid != c.gid || owner.Uid != 0 {
				t.Errorf("%s: %v of %d:%d, want %v of group %d", path, info.Mode(), owner.Uid, owner.Gid, want, c.gid)
			}
		}
	}
}

// TestRootsAreIncluded: where a system has no certificates, as in the container, the program has its own.
func TestRootsAreIncluded(t *testing.T) {
	t.Parallel()
	info, ok := debug.ReadBuildInfo()
	if !ok || !slices.ContainsFunc(info.Deps, func(m *debug.Module) bool { return m.Path == "golang.org/x/crypto/x509roots/fallback" }) {
		t.Error("the program has no certificates")
	}
}
