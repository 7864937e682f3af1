package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/sdk/api"
)

// pastFile is a file or a directory of a data directory.
type pastFile struct {
	name string
	mode fs.FileMode
	text []byte
}

// past is the data directory of a demo that began and ended. A new one costs a second of processor time, most of it for its day of
// history; tests that are not about the start of a demo go on with a copy of this one.
var past = sync.OnceValues(func() (files []pastFile, err error) {
	dir, err := os.MkdirTemp("", "contextd-past-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	packs, err := packSettings{Enabled: []string{api.PackCrypto}}.load()
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	d, _, err := daemon.OpenDemo(ctx, daemon.Config{
		DataDir: dir, Serve: daemon.Serve{Listen: "127.0.0.1:0"}, Data: daemon.Data{Every: time.Hour},
		Logger: slog.New(slog.DiscardHandler), Reloadable: daemon.Reloadable{Packs: packs},
	}, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if err := d.Close(); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		f := pastFile{mode: info.Mode()}
		if f.name, err = filepath.Rel(dir, path); err == nil && f.mode.IsRegular() {
			f.text, err = os.ReadFile(path)
		}
		files = append(files, f)
		return err
	})
	return files, err
})

// copyPast makes dir the data directory of a demo that began and ended before. Its DemoFile tells where that one answered.
func copyPast(dir string) error {
	files, err := past()
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if f.mode.IsDir() {
			err = os.Mkdir(path, f.mode.Perm())
		} else {
			err = os.WriteFile(path, f.text, f.mode.Perm())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// oldDemo is the data directory of a demo that began and ended before.
func oldDemo(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := copyPast(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// demoBefore is copyPast as a command: demobefore DIR.
func demoBefore(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(copyPast(ts.MkAbs(args[0])))
}
