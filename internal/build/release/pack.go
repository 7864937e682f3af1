package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// nfpm writes the packages. Versions after this one want modules from servers of their own.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4"

// serviceFiles are what the package of contextd holds beside the program: its user, its directories, and what is done on installation.
//
//go:embed files
var serviceFiles embed.FS

// pkgConfig is the configuration of nfpm.
type pkgConfig struct {
	Name        string    `yaml:"name"`
	Arch        string    `yaml:"arch"`
	Platform    string    `yaml:"platform"`
	Version     string    `yaml:"version"`
	Release     string    `yaml:"release"`
	Section     string    `yaml:"section"`
	Priority    string    `yaml:"priority"`
	Maintainer  string    `yaml:"maintainer"`
	Description string    `yaml:"description"`
	Homepage    string    `yaml:"homepage"`
	License     string    `yaml:"license"`
	MTime       time.Time `yaml:"mtime"`
	Recommends  []string  `yaml:"recommends,omitempty"`
	Contents    []content `yaml:"contents"`
	Scripts     scripts   `yaml:"scripts,omitempty"`
	RPM         rpmConfig `yaml:"rpm"`
}

// content is one file of a package, or several where Src is a pattern.
type content struct {
	Src      string   `yaml:"src"`
	Dst      string   `yaml:"dst"`
	Packager string   `yaml:"packager,omitempty"` // the only kind of package that has it
	FileInfo fileInfo `yaml:"file_info"`
}

// fileInfo is how a file of a package lies on the disk.
type fileInfo struct {
	Mode  fs.FileMode `yaml:"mode"`
	MTime time.Time   `yaml:"mtime"`
}

// scripts are the files of what a package does on installation and removal.
type scripts struct {
	PostInstall string `yaml:"postinstall,omitempty"`
	PreRemove   string `yaml:"preremove,omitempty"`
	PostRemove  string `yaml:"postremove,omitempty"`
}

// rpmConfig is what only rpm has: a summary, and the name of the machine that built it, which shows.
type rpmConfig struct {
	Summary   string `yaml:"summary"`
	BuildHost string `yaml:"buildhost"`
}

// pack writes the deb and rpm packages of t, of which stage holds the files.
func (r *release) pack(ctx context.Context, t target, stage string) error {
	if t.program == "contextd" {
		if err := r.stageService(ctx, stage); err != nil {
			return err
		}
	}
	if err := compressManual(stage); err != nil {
		return err
	}
	config, err := yaml.Marshal(r.config(t, stage))
	if err != nil {
		return err
	}
	file := stage + ".yaml"
	if err := os.WriteFile(file, config, 0o644); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		fmt.Fprintf(r.log, "  package %s %s\n", t, kind)
		env := []string{"GOFLAGS=", fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.date.Unix())}
		if _, err := r.command(ctx, env, "go", "run", nfpm, "package", "--config", file, "--packager", kind, "--target", r.out); err != nil {
			return err
		}
	}
	return nil
}

// units are the units of systemd that the package of contextd holds, by what contextd systemd print calls them.
func units() []string { return []string{"service", "socket"} }

// stageService adds to stage the units, as the program itself prints them, and the files of the package's own.
func (r *release) stageService(ctx context.Context, stage string) error {
	for _, unit := range units() {
		text, err := r.command(ctx, nil, filepath.Join(stage, "contextd"), "systemd", "print", unit)
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 3 {
			fmt.Fprintf(r.log, "  no unit: this contextd does not know systemd print %s\n", unit)
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(stage, "contextd."+unit), []byte(text), 0o644); err != nil {
			return err
		}
	}
	own, err := fs.Sub(serviceFiles, "files")
	if err != nil {
		return err
	}
	return os.CopyFS(stage, own)
}

// compressManual compresses the manual pages of stage, as packages have them.
func compressManual(stage string) error {
	pages, err := filepath.Glob(filepath.Join(stage, "man", "*.1"))
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
		if err := errors.Join(err, z.Close(), os.WriteFile(page+".gz", b.Bytes(), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// config is the package of t.
func (r *release) config(t target, stage string) pkgConfig {
	c := pkgConfig{
		Name: t.program, Arch: t.arch, Platform: "linux", Version: r.number(), Release: "1", Section: "net", Priority: "optional",
		Maintainer: "The authors of contextd <https://github.com/contextd/contextd/issues>", Homepage: "https://github.com/contextd/contextd", License: "Apache-2.0",
		Description: "client of contextd, the context service for AI agents\nAsks a context service for the state of a data pack, its brief, history and sources.",
		MTime:       r.date, RPM: rpmConfig{BuildHost: "reproducible"},
	}
	places := [][2]string{
		{t.program, "/usr/bin/"}, {"man/*.gz", "/usr/share/man/man1/"},
		{"LICENSE", "/usr/share/doc/" + t.program + "/copyright"}, {"NOTICES", "/usr/share/doc/" + t.program + "/"}, {"README.md", "/usr/share/doc/" + t.program + "/"},
		{"completions/" + t.program + ".bash", "/usr/share/bash-completion/completions/" + t.program},
		{"completions/" + t.program + ".fish", "/usr/share/fish/vendor_completions.d/" + t.program + ".fish"},
	}
	if t.program == "contextd" {
		c.Description = "continuous context for AI agents, self-hosted\nKeeps data packs fresh, writes their briefs with sources and serves both to AI agents over HTTP."
		c.Recommends = []string{"ctx"}
		c.Scripts = scripts{filepath.Join(stage, "postinstall.sh"), filepath.Join(stage, "preremove.sh"), filepath.Join(stage, "postremove.sh")}
		places = append(places, [2]string{"contextd.sysusers", "/usr/lib/sysusers.d/contextd.conf"}, [2]string{"contextd.tmpfiles", "/usr/lib/tmpfiles.d/contextd.conf"})
		for _, unit := range units() {
			if _, err := os.Stat(filepath.Join(stage, "contextd."+unit)); err == nil {
				places = append(places, [2]string{"contextd." + unit, "/usr/lib/systemd/system/"})
			}
		}
	}
	c.RPM.Summary, _, _ = strings.Cut(c.Description, "\n")
	for _, p := range places {
		c.Contents = append(c.Contents, r.content(stage, p[0], p[1], ""))
	}
	zsh := "completions/" + t.program + ".zsh"
	c.Contents = append(c.Contents, r.content(stage, zsh, "/usr/share/zsh/vendor-completions/_"+t.program, "deb"),
		r.content(stage, zsh, "/usr/share/zsh/site-functions/_"+t.program, "rpm"))
	return c
}

// content is the file src of stage at dst, or in dst if that ends in a slash.
func (r *release) content(stage, src, dst, packager string) content {
	mode := fs.FileMode(0o644)
	if strings.HasPrefix(dst, "/usr/bin/") {
		mode = 0o755
	}
	if strings.HasSuffix(dst, "/") && !strings.Contains(src, "*") {
		dst += path.Base(src)
	}
	return content{filepath.Join(stage, filepath.FromSlash(src)), dst, packager, fileInfo{mode, r.date}}
}
