package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// nfpm writes the packages. Versions after this one want modules from servers of their own. As a library it would bring 42 modules into
// go.mod.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4"

// files is the directory, in the checkout, of the packages' descriptions and of what that of contextd holds beside the program: its user,
// its directories, and what is done on installation.
const files = "internal/build/release/files"

// pack writes the deb and rpm packages of t, of which stage holds the files, as the descriptions in files say.
func (r *release) pack(ctx context.Context, t target, stage string) error {
	if t.program == "contextd" {
		own, err := r.binary(ctx, target{t.program, runtime.GOOS, runtime.GOARCH})
		if err != nil {
			return err
		}
		if err := r.stageService(ctx, stage, own); err != nil {
			return err
		}
	}
	if err := errors.Join(compressManual(stage), r.describe(t, stage)); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		fmt.Fprintf(r.log, "  package %s %s\n", t, kind)
		env := []string{"GOFLAGS=", r.epoch(), "ARCH=" + t.arch, "VERSION=" + r.number()}
		args := []string{"package", "--config", filepath.Join(r.root, files, t.program+".yaml"), "--packager", kind, "--target", r.out}
		if _, err := r.command(ctx, env, "go", append([]string{"-C", stage, "run", nfpm}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// stageService adds to stage the units of systemd, as program, which is contextd for this machine, prints them, and what the package
// of contextd has beside it.
func (r *release) stageService(ctx context.Context, stage, program string) error {
	for _, unit := range []string{"service", "socket"} {
		text, err := r.command(ctx, nil, program, "systemd", "print", unit)
		if err != nil {
			return err
		}
		if err := put(filepath.Join(stage, "contextd."+unit), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return copyTo(stage, filepath.Join(r.root, files, "*"))
}

// describe adds to stage the license as Debian has it and the changelog, which every package needs and which leads to the real one.
func (r *release) describe(t target, stage string) error {
	text := fmt.Sprintf("- semver: %s\n  date: %s\n  deb: {urgency: low, distributions: [stable]}\n"+
		"  packager: The authors of contextd <contextd@users.noreply.github.com>\n"+
		"  changes:\n    - note: What changed is told at https://github.com/contextd/contextd/releases\n",
		r.number(), r.date.Format(time.RFC3339))
	return errors.Join(
		copyTo(stage, filepath.Join(r.root, files, "copyright")), copyTo(stage, filepath.Join(r.root, files, t.program+".overrides")),
		put(filepath.Join(stage, "changelog.yaml"), []byte(text), 0o644))
}

// compressManual compresses the manual pages of stage, as packages have them.
func compressManual(stage string) error {
	pages, err := filepath.Glob(filepath.Join(stage, "man", "*.[17]"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // fails only for a level that is none
		_, err = z.Write(text)
		if err := errors.Join(err, z.Close(), put(page+".gz", b.Bytes(), 0o644)); err != nil {
			return err
		}
	}
	return nil
}
