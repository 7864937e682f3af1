package main

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// workDir is the directory, in that of the results, for what is needed on the way.
const workDir = ".work"

// commit is what a release is built from.
type commit struct {
	version string // with v
	hash    string
	date    time.Time // also of every file in the results
}

// release is one run.
type release struct {
	root    string // of the checkout
	out     string // where the results go
	work    string // what is needed on the way, in out
	commit         // what is released
	log     io.Writer
	built   map[target]string // files of the programs
	manuals map[string]string // directories of the manual pages by program
}

// newRelease empties out and finds out what the checkout that dir is in releases.
func newRelease(ctx context.Context, dir, out string, log io.Writer) (*release, error) {
	out, err := filepath.Abs(out)
	if err != nil {
		return nil, err
	}
	r := &release{root: dir, out: out, work: filepath.Join(out, workDir), log: log, built: map[target]string{}, manuals: map[string]string{}}
	top, err := r.command(ctx, nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	r.root = strings.TrimSpace(top)
	if r.commit, err = r.identify(ctx); err != nil {
		return nil, err
	}
	if err := empty(out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.work, 0o755); err != nil {
		return nil, err
	}
	fmt.Fprintf(log, "release %s of %s in %s\n", r.version, r.date.Format(time.RFC3339), out)
	return r, nil
}

// empty removes the directory out if a release is in it. It refuses one that holds anything else.
func empty(out string) error {
	entries, err := os.ReadDir(out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == workDir }) {
		return fmt.Errorf("%s holds something else than a release; name another directory with --out", out)
	}
	return os.RemoveAll(out)
}

// identify returns the commit of the checkout.
func (r *release) identify(ctx context.Context) (commit, error) {
	head, err := r.command(ctx, nil, "git", "show", "--no-patch", "--format=%ct %H", "HEAD")
	if err != nil {
		return commit{}, err
	}
	seconds, hash, _ := strings.Cut(strings.TrimSpace(head), " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || len(hash) < 12 {
		return commit{}, fmt.Errorf("git show says %q, not time and hash of a commit", head)
	}
	tags, err := r.command(ctx, nil, "git", "tag", "--points-at", "HEAD", "--sort=-version:refname", "v[0-9]*")
	if err != nil {
		return commit{}, err
	}
	changes, err := r.command(ctx, nil, "git", "status", "--porcelain")
	date := time.Unix(unix, 0).UTC()
	return commit{name(strings.Fields(tags), hash, date, changes != ""), hash, date}, err
}

// name is the version of a commit: its first tag or, as Go names a commit without one, its time and hash. A checkout with changes
// is not what its commit says, so that its version tells.
func name(tags []string, hash string, date time.Time, changed bool) string {
	version := "v0.0.0-" + date.Format("20060102150405") + "-" + hash[:12]
	if len(tags) > 0 {
		version = tags[0]
	}
	if changed {
		version += "+dirty"
	}
	return version
}

// number is the version without v, as files and packages have it.
func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

// command runs a program in the checkout and returns its standard output. Its standard error is told when it fails.
func (r *release) command(ctx context.Context, env []string, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = r.root, append(os.Environ(), env...)
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, bytes.TrimSpace(errOut.Bytes()))
	}
	return out.String(), nil
}

// binary builds t, once, and returns its file.
func (r *release) binary(ctx context.Context, t target) (string, error) {
	if file := r.built[t]; file != "" {
		return file, nil
	}
	fmt.Fprintf(r.log, "  build %s\n", t)
	file := filepath.Join(r.work, "bin", t.os+"_"+t.arch, t.file())
	env, args := buildArgs(t, r.commit, file)
	if _, err := r.command(ctx, env, "go", args...); err != nil {
		return "", err
	}
	if t.os == "linux" {
		if err := checkStatic(file); err != nil {
			return "", err
		}
	}
	r.built[t] = file
	return file, nil
}

// buildArgs is how the Go tool is called to build t into file. What the environment or go env -w says is overruled wherever it would
// show in the result.
func buildArgs(t target, c commit, file string) (env, args []string) {
	env = []string{"GOOS=" + t.os, "GOARCH=" + t.arch, "GOFLAGS=-trimpath", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off", "CGO_ENABLED=0"}
	// Without an identity, programs for macOS would have no LC_UUID, by which it remembers who may reach the local network.
	link := "-s -w -buildid=" + t.String() + "/" + c.version + "/" + c.hash
	for _, v := range [][2]string{{"version", c.version}, {"commit", c.hash}, {"date", c.date.Format(time.RFC3339)}} {
		link += " -X github.com/contextd/contextd/internal/build." + v[0] + "=" + v[1]
	}
	args = []string{"build", "-trimpath", "-buildvcs=false"}
	if t.program == "contextd" {
		env = append(env, "CGO_ENABLED=1", "CGO_CFLAGS=-O2 -g", "CGO_LDFLAGS=-O2 -g")
		link += " -linkmode=external -extldflags=-static"
		args = append(args, "-tags=sqlite_omit_load_extension,netgo,osusergo") // without them it would load libraries at run time
	}
	return env, append(args, "-ldflags="+link, "-o", file, "./cmd/"+t.program)
}

// checkStatic reports an error for a program of Linux that needs a library at run time.
func checkStatic(file string) error {
	f, err := elf.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			return fmt.Errorf("%s is not static: it has a segment %s", filepath.Base(file), p.Type)
		}
	}
	return nil
}

// manual has program write its manual pages, once, and returns their directory. It builds the program for this machine to ask it.
func (r *release) manual(ctx context.Context, program string) (string, error) {
	if dir := r.manuals[program]; dir != "" {
		return dir, nil
	}
	binary, err := r.binary(ctx, target{program, runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return "", err
	}
	dir := filepath.Join(r.work, "man", program)
	if _, err := r.command(ctx, []string{"TZ=UTC", fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.date.Unix())}, binary, "man", dir); err != nil {
		return "", err
	}
	r.manuals[program] = dir
	return dir, nil
}
