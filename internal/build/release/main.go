// Command release builds what users install: archives of the static programs, deb and rpm packages with completions, manual pages
// and the systemd unit, for each program a list of what is in it (CycloneDX) and the licences of that, what else ctx is installed by
// (install.sh, a formula for Homebrew, bundles of MCP, a plugin for Claude Code, images of OCI, server.json), and
// SHA256SUMS.
//
//	go run ./internal/build/release                          all of it, into .dist
//	go run ./internal/build/release --only ctx/linux/amd64   one program for one platform
//
// ctx is built without C for Linux, macOS and Windows, contextd, whose SQLite is C, for the Linux this runs on and, where Debian's
// compiler and C library for it are here, such as gcc-aarch64-linux-gnu and libc6-dev-arm64-cross, for the other kind of machine. The
// compiler of C is $CC, gcc unless set; it needs the C library as libc.a, which Debian has in libc6-dev and Fedora in glibc-static.
// CC=musl-gcc works, but a batch of charges then takes 1.8 times the CPU. What the same commit, Go and C compiler build is the same,
// byte for byte, wherever the checkout lies. The version is the tag v… of the commit, or else the time and hash of the commit.
//
// It runs the Go tool and git and, for the packages, nfpm by way of the Go tool, which keeps that out of go.mod.
package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, ".", os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run makes the release of the checkout that dir is in, as args ask for it, and tells on w what it does.
func run(ctx context.Context, dir string, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(w)
	out := flags.String("out", ".dist", "directory to write to; what is in it is removed")
	only := flags.String("only", "", "of all programs and platforms these alone, as ctx/linux/amd64,contextd/linux/amd64")
	packages := flags.Bool("packages", true, "write deb and rpm packages too, for which nfpm is fetched and built")
	image := flags.Bool("image", false, "write the directory image too, of which .container/Containerfile makes a container")
	host := flags.String("host", "", "service that bundles and plugin are for, as https://HOST, not one on the user's machine")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := checkHost(*host); err != nil {
		return fmt.Errorf("--host: %w", err)
	}
	targets, err := choose(allTargets(runtime.GOOS, runtime.GOARCH), *only)
	if err != nil {
		return err
	}
	r, err := newRelease(ctx, dir, *out, w)
	if err != nil {
		return err
	}
	r.host = *host
	if last := len(targets) - 1; *only == "" && targets[last].program == "contextd" && targets[last].arch != runtime.GOARCH {
		if _, err := exec.LookPath(crossCompiler(targets[last].arch)); err != nil {
			fmt.Fprintf(w, "  no %s: %v\n", targets[last], err)
			targets = targets[:last]
		}
	}
	for _, t := range targets {
		if err := r.publish(ctx, t, *packages); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		if *image && t.program == "contextd" && t.arch == runtime.GOARCH {
			if err := r.image(t); err != nil {
				return fmt.Errorf("image of %s: %w", t, err)
			}
		}
	}
	if err := r.channels(targets); err != nil {
		return err
	}
	return writeSums(r.out)
}

// channels writes what else ctx is installed by, as far as the targets make it up.
func (r *release) channels(targets []target) error {
	own := []string{"ctx/linux/" + runtime.GOARCH}
	darwin, linux := []string{"ctx/darwin/amd64", "ctx/darwin/arm64"}, []string{"ctx/linux/amd64", "ctx/linux/arm64"}
	daemon := []string{"contextd/linux/" + runtime.GOARCH}
	oci := func(program string) func() error { return func() error { return r.oci(program, targets) } }
	for _, c := range []struct {
		name  string
		needs []string
		write func() error
	}{
		{"install.sh", own, r.installer},
		{"formula", slices.Concat(darwin, linux), r.formula},
		{"bundle for darwin", darwin, r.bundleDarwin},
		{"bundle for linux", linux, r.bundleLinux},
		{"bundle for windows", []string{"ctx/windows/amd64"}, r.bundleWindows},
		{"plugin", own, r.plugin},
		{"image of ctx", linux, oci("ctx")},
		{"image of contextd", daemon, oci("contextd")},
		{"server.json", own, r.registry}, // after what it names
	} {
		i := slices.IndexFunc(c.needs, func(name string) bool {
			return !slices.ContainsFunc(targets, func(t target) bool { return t.String() == name })
		})
		if i >= 0 {
			fmt.Fprintf(r.log, "  no %s without %s\n", c.name, c.needs[i])
		} else if err := c.write(); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// checkHost reports what is wrong with the address of a service that others are to call.
func checkHost(address string) error {
	u, err := url.Parse(address)
	if address == "" || err == nil && u.Scheme == "https" && u.Hostname() != "" && address == "https://"+u.Host {
		return nil
	}
	return fmt.Errorf("%q is not an address such as https://context.example.org, without a path", address)
}

type target struct{ program, os, arch string }

// String is t as --only names it.
func (t target) String() string { return t.program + "/" + t.os + "/" + t.arch }

// file is the name of the program's file.
func (t target) file() string {
	if t.os == "windows" {
		return t.program + ".exe"
	}
	return t.program
}

// allTargets is everything that a machine of hostOS and hostArch builds. The last is contextd for another kind of machine.
func allTargets(hostOS, hostArch string) []target {
	var all []target
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			all = append(all, target{"ctx", system, arch})
		}
	}
	if hostOS == "linux" {
		other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[hostArch]
		all = append(all, target{"contextd", hostOS, hostArch}, target{"contextd", hostOS, other})
	}
	return all
}

// choose returns those of all that only, a list with commas, names; all of them if it is empty.
func choose(all []target, only string) ([]target, error) {
	if only == "" {
		return all, nil
	}
	var chosen []target
	for _, name := range strings.Split(only, ",") {
		i := slices.IndexFunc(all, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("--only: %q is not one of %v", name, all)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// archiveName is the name of the archive of t, without its extension, and of the directory in it.
func (r *release) archiveName(t target) string {
	return fmt.Sprintf("%s_%s_%s_%s", t.program, r.number(), t.os, t.arch)
}

// publish writes everything that is made of t to the output directory, packages only where it is told to.
func (r *release) publish(ctx context.Context, t target, packages bool) error {
	binary, err := r.binary(ctx, t)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	parts, err := r.parts(ctx, info)
	if err != nil {
		return err
	}
	bom, err := r.sbom(t, binary, parts)
	if err != nil {
		return err
	}
	stage, err := r.stage(ctx, t, binary, parts)
	if err != nil {
		return err
	}
	name := r.archiveName(t)
	if err := errors.Join(put(filepath.Join(r.out, name+".cdx.json"), bom, 0o644), r.archive(name, t.os, stage)); err != nil {
		return err
	}
	if t.os != "linux" || !packages {
		return nil
	}
	return r.pack(ctx, t, stage)
}
