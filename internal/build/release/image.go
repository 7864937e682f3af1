package main

import (
	"errors"
	"os"
	"path/filepath"
)

// imageDir is the directory, in that of the results, that a container is made of: root becomes its root, own is for the daemon's user.
const imageDir = "image"

// image writes imageDir from what is staged of t. Nothing but the program is in it that runs.
func (r *release) image(t target) error {
	stage := filepath.Join(r.work, "stage", t.program+"_"+t.os+"_"+t.arch)
	top := filepath.Join(r.out, imageDir)
	if err := errors.Join(
		copyTo(filepath.Join(top, "root", "usr", "bin"), filepath.Join(stage, t.program)),
		copyTo(filepath.Join(top, "root", "usr", "share", "doc", t.program), filepath.Join(stage, "[LNR]*")),
		copyTo(filepath.Join(top, "root", "usr", "share", "doc", t.program), filepath.Join(r.out, "*.cdx.json")),
	); err != nil {
		return err
	}
	for dir, mode := range map[string]os.FileMode{"root/tmp": 0o777 | os.ModeSticky, "own/" + t.program: 0o700} {
		path := filepath.Join(top, filepath.FromSlash(dir))
		if err := errors.Join(os.MkdirAll(path, 0o755), os.Chmod(path, mode)); err != nil {
			return err
		}
	}
	return nil
}
