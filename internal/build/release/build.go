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

// module is what the checkout holds.
const module = "github.com/contextd/contextd"

// repository is where its users find it.
const repository = "https://" + module

// workDir is the directory, in that of the results, for what is needed on the way.
const workDir = ".work"

type commit struct {
	version string // with v
	hash    string
	date    time.Time // also of every file in the results
}

type release struct {
	root   string // of the checkout
	out    string // where the results go
	work   string // what is needed on the way, in out
	host   string // address of the service that bundles and plugin are for, "" for that of the user
	commit        // what is released
	log    io.Writer
}

// newRelease empties out and finds out what the checkout that dir is in releases.
func newRelease(ctx context.Context, dir, out string, log io.Writer) (*release, error) {
	out, err := filepath.Abs(out)
	if err != nil {
		return nil, err
	}
	r := &release{root: dir, out: out, work: filepath.Join(out, workDir), log: log}
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

// identify returns the commit of the checkout. Its version is its tag or, as Go names a commit without one, its time and hash. A checkout
// with changes is not what its commit says, so that its version tells.
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
	date := time.Unix(unix, 0).UTC()
	version, _, tagged := strings.Cut(tags, "\n")
	if !tagged {
		version = "v0.0.0-" + date.Format("20060102150405") + "-" + hash[:12]
	}
	changes, err := r.command(ctx, nil, "git", "status", "--porcelain")
	if changes != "" {
		version += "+dirty"
	}
	return commit{version, hash, date}, err
}

// number is the version without v, as files and packages have it.
func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

// epoch is the setting by which programs take the time of the commit for that of day.
func (r *release) epoch() string { return fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.date.Unix()) }

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
	file := filepath.Join(r.work, "bin", t.os+"_"+t.arch, t.file())
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	fmt.Fprintf(r.log, "  build %s\n", t)
	env, args := buildArgs(t, r.commit, file)
	if _, err := r.command(ctx, append(env, compilerFor(t.arch)...), "go", args...); err != nil {
		return "", err
	}
	if t.os != "linux" {
		return file, nil
	}
	return file, checkStatic(file)
}

// buildArgs is how the Go tool is called to build t into file. What the environment or go env -w says is overruled wherever it would
// show in the result.
func buildArgs(t target, c commit, file string) (env, args []string) {
	env = []string{
		"GOOS=" + t.os, "GOARCH=" + t.arch, "GOFLAGS=-trimpath",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off", "CGO_ENABLED=0",
	}
	// Without an identity, programs for macOS would have no LC_UUID, by which it remembers who may reach the local network.
	link := "-s -w -buildid=" + t.String() + "/" + c.version + "/" + c.hash
	for _, v := range [][2]string{{"version", c.version}, {"commit", c.hash}, {"date", c.date.Format(time.RFC3339)}} {
		link += " -X " + module + "/internal/build." + v[0] + "=" + v[1]
	}
	args = []string{"build", "-trimpath", "-buildvcs=false"}
	if t.program == "contextd" {
		env = append(env, "CGO_ENABLED=1", "CGO_CFLAGS=-O2 -g", "CGO_LDFLAGS=-O2 -g")
		link += " -linkmode=external -extldflags=-static"
		args = append(args, "-tags=sqlite_omit_load_extension,netgo,osusergo") // without them it would load libraries at run time
	}
	return env, append(args, "-ldflags="+link, "-o", file, "./cmd/"+t.program)
}

// crossCompiler is the compiler of C for Linux on arch, where this machine is another, by the name that Debian gives it.
func crossCompiler(arch string) string {
	return map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch] + "-linux-gnu-gcc"
}

// compilerFor is the environment that the compiler of C for arch is found by.
func compilerFor(arch string) []string {
	if arch == runtime.GOARCH {
		return nil
	}
	return []string{"CC=" + crossCompiler(arch)}
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

// manual has program write its manual pages and returns their directory. It builds the program for this machine to ask it.
func (r *release) manual(ctx context.Context, program string) (string, error) {
	binary, err := r.binary(ctx, target{program, runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return "", err
	}
	dir := filepath.Join(r.work, "man", program)
	_, err = r.command(ctx, []string{"TZ=UTC", r.epoch()}, binary, "man", dir)
	return dir, err
}
