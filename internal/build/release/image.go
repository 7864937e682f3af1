package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// imageDir is the directory, in that of the results, that a container is made of: root becomes its root, own is for the daemon's user.
const imageDir = "image"

// imageUser is the user and group that runs in containers, which has no name.
const imageUser = 65532

// entry is a file or directory of an image.
type entry struct {
	member
	own bool // by imageUser
}

// imageEntries are what the image of t holds, directories with a slash. Nothing but the program is in it that runs.
func (r *release) imageEntries(t target) ([]entry, error) {
	stage := filepath.Join(r.work, "stage", t.program+"_"+t.os+"_"+t.arch)
	dir := func(name string, mode fs.FileMode) entry {
		return entry{member: member{name + "/", nil, fs.ModeDir | mode}}
	}
	home := dir("var/lib/contextd", 0o700)
	above := []entry{dir("var", 0o755), dir("var/lib", 0o755)}
	if t.program == "ctx" {
		home, above = dir("home/ctx", 0o700), []entry{dir("home", 0o755)}
	}
	home.own = true
	doc := "usr/share/doc/" + t.program
	entries := append(above, home, dir("tmp", 0o777|fs.ModeSticky), dir("usr", 0o755), dir("usr/bin", 0o755))
	for _, f := range []struct {
		from, to string
		mode     fs.FileMode
	}{
		{filepath.Join(stage, t.program), "usr/bin/" + t.program, 0o755},
		{filepath.Join(stage, "LICENSE"), doc + "/LICENSE", 0o644},
		{filepath.Join(stage, "NOTICES"), doc + "/NOTICES", 0o644},
		{filepath.Join(stage, "README.md"), doc + "/README.md", 0o644},
		{filepath.Join(r.out, r.archiveName(t)+".cdx.json"), doc + "/" + r.archiveName(t) + ".cdx.json", 0o644},
	} {
		text, err := os.ReadFile(f.from)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(f.to, "/LICENSE") {
			entries = append(entries, dir("usr/share", 0o755), dir("usr/share/doc", 0o755), dir(doc, 0o755))
		}
		entries = append(entries, entry{member: member{f.to, text, f.mode}})
	}
	return entries, nil
}

// image writes imageDir, of which .container/Containerfile makes the image of t.
func (r *release) image(t target) error {
	entries, err := r.imageEntries(t)
	if err != nil {
		return err
	}
	for _, e := range entries {
		to := filepath.Join(r.out, imageDir, "root", filepath.FromSlash(e.name))
		if e.own {
			to = filepath.Join(r.out, imageDir, "own", path.Base(e.name))
		}
		if e.mode.IsDir() {
			err = errors.Join(os.MkdirAll(to, 0o755), os.Chmod(to, e.mode&^fs.ModeDir))
		} else {
			err = put(to, e.text, e.mode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
