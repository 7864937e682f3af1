package daemontest

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/daemon/pack"
)

// PastDemo is the data directory of a demo that began and ended. A new one costs a second of processor time, most of it for its day of
// history; tests that are not about the start of a demo go on with a copy of one that all tests of their package share.
type PastDemo struct {
	files []pastFile
}

// pastFile is a file or a directory of a data directory.
type pastFile struct {
	name string
	mode fs.FileMode
	text []byte
}

// NewPastDemo begins a demo of the crypto pack and ends it.
func NewPastDemo(ctx context.Context) (p PastDemo, err error) {
	dir, err := os.MkdirTemp("", "contextd-past-")
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d, _, err := daemon.OpenDemo(ctx, daemon.Config{
		DataDir: dir, Serve: daemon.Serve{Listen: "127.0.0.1:0"}, Data: daemon.Data{Every: time.Hour},
		Logger: slog.New(slog.DiscardHandler), Reloadable: daemon.Reloadable{Packs: []daemon.Pack{{Pack: pack.Crypto()}}},
	}, demo.Play{ChainListen: "127.0.0.1:0"})
	if err != nil {
		return p, err
	}
	if err := d.Close(); err != nil {
		return p, err
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
		p.files = append(p.files, f)
		return err
	})
	return p, err
}

// CopyTo makes dir the data directory of the demo. Its DemoFile names the address at which that demo answered.
func (p PastDemo) CopyTo(dir string) error {
	for _, f := range p.files {
		path := filepath.Join(dir, f.name)
		var err error
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
