package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/CycloneDX/cyclonedx-go"

	"github.com/contextd/contextd/internal/long"
)

// checkout makes a repository like this one around a ctx of a few lines, with one commit at a fixed time, and returns its directory.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module github.com/contextd/contextd\n\ngo 1.26.0\n", "LICENSE": "a licence\n", "README.md": "# ctx\n", ".gitignore": "/.dist/\n",
		"completions/ctx.bash": "complete ctx\n", files + "/install.sh": "# ctx @VERSION@\n", pluginDir + "/" + pluginManifest: "{}",
		"internal/build/build.go": "package build\n\nvar version, commit, date string\n\nfunc Version() string { return version + \" \" + commit[:7] + \" \" + date }\n",
		"cmd/ctx/main.go": `package main

import (
	"os"

	"github.com/contextd/contextd/internal/build"
)

func main() {
	if len(os.Args) < 3 {
		println(build.Version())
	} else if err := os.MkdirAll(os.Args[2], 0o755); err != nil {
		panic(err)
	} else if err := os.WriteFile(os.Args[2]+"/ctx.1", []byte(".TH CTX 1 "+os.Getenv("SOURCE_DATE_EPOCH")+"\n"), 0o600); err != nil {
		panic(err)
	}
}
`,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "first")
	return dir
}

// git runs git in dir, as nobody in particular and at a fixed time.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", append([]string{"-c", "commit.gpgsign=false"}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_AUTHOR_DATE=2026-11-20T20:05:00Z",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_COMMITTER_DATE=2026-11-20T20:05:00Z", "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// makeRelease releases ctx for this machine from dir and returns where the results are and the sums.
func makeRelease(t *testing.T, dir string) (out, sums string) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "out")
	var log bytes.Buffer
	args := []string{"--packages=false", "--only", "ctx/" + runtime.GOOS + "/" + runtime.GOARCH, "--out", out}
	if err := run(t.Context(), dir, args, &log); err != nil {
		t.Fatalf("%v\n%s", err, log.Bytes())
	}
	text, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	return out, string(text)
}

// TestRelease makes a release of one program, from two checkouts of different kinds, and checks that both are the same and what they hold.
func TestRelease(t *testing.T) {
	t.Parallel()
	long.Test(t)
	if runtime.GOOS != "linux" {
		t.Skip("the archive of other systems is another")
	}
	dir := checkout(t)
	git(t, dir, "tag", "v1.2.3")
	out, sums := makeRelease(t, dir)
	elsewhere := filepath.Join(t.TempDir(), "another")
	git(t, dir, "worktree", "add", "-q", elsewhere)
	if _, again := makeRelease(t, elsewhere); again != sums {
		t.Errorf("the same commit elsewhere is released otherwise:\n%s%s", sums, again)
	}

	name := "ctx_1.2.3_linux_" + runtime.GOARCH
	var summed []string
	for line := range strings.Lines(sums) {
		summed = append(summed, strings.Fields(line)[1])
	}
	if want := []string{"contextd-plugin_1.2.3.zip", name + ".cdx.json", name + ".tar.gz", "install.sh", "server.json"}; !slices.Equal(summed, want) {
		t.Errorf("SHA256SUMS:\n%s", sums)
	}
	if text, err := command(t, out, "sha256sum", "--check", "SHA256SUMS"); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, text)
	}
	list, err := command(t, out, "tar", "tzf", name+".tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, file := range []string{"LICENSE", "NOTICES", "README.md", "completions/ctx.bash", "ctx", "man/ctx.1"} {
		want += name + "/" + file + "\n"
	}
	if list != want {
		t.Errorf("the archive holds\n%snot\n%s", list, want)
	}
	if text, err := command(t, out, "tar", "xzf", name+".tar.gz"); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if text, err := command(t, filepath.Join(out, name), "./ctx"); err != nil || !regexp.MustCompile(`^v1\.2\.3 [0-9a-f]{7} 2026-11-20T20:05:00Z\n$`).MatchString(text) {
		t.Errorf("the program says %q, %v", text, err)
	}
	page, err := os.ReadFile(filepath.Join(out, name, "man", "ctx.1"))
	if want := fmt.Sprintf(".TH CTX 1 %d\n", time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC).Unix()); err != nil || string(page) != want {
		t.Errorf("the manual page is %q, %v", page, err)
	}
	notice, err := os.ReadFile(filepath.Join(out, name, "NOTICES"))
	if err != nil || !strings.Contains(string(notice), "Copyright 2009 The Go Authors") {
		t.Errorf("NOTICES lacks Go's licence: %v", err)
	}
}

// command runs a program in dir and returns what it prints.
func command(t *testing.T, dir, name string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	text, err := c.CombinedOutput()
	return string(text), err
}

// TestReleaseOfChanges checks that a checkout with changes says so, and that a directory with other things in it is left alone.
func TestReleaseOfChanges(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	r, err := newRelease(t.Context(), filepath.Join(dir, "cmd"), filepath.Join(dir, ".dist"), &log)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(r.version, "v0.0.0-20261120200500-") || !strings.HasSuffix(r.version, "+dirty") {
		t.Errorf("version %s of a commit without tag, with changes", r.version)
	}
	if _, err := newRelease(t.Context(), dir, filepath.Join(dir, ".dist"), &log); err != nil {
		t.Errorf("a second release in the same directory: %v", err)
	}
	if _, err := newRelease(t.Context(), dir, filepath.Join(dir, "completions"), &log); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("a release over other files: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "completions", "ctx.bash")); err != nil {
		t.Error(err)
	}
}

// TestChoose checks what is built where, and that a wrong name tells the right ones.
func TestChoose(t *testing.T) {
	t.Parallel()
	all := allTargets("linux", "arm64")
	if len(all) != 8 || all[6] != (target{"contextd", "linux", "arm64"}) || all[7] != (target{"contextd", "linux", "amd64"}) {
		t.Errorf("on linux/arm64: %v", all)
	}
	if all := allTargets("darwin", "arm64"); len(all) != 6 {
		t.Errorf("on darwin: %v", all)
	}
	chosen, err := choose(all, "contextd/linux/arm64,ctx/windows/amd64")
	if want := []target{{"contextd", "linux", "arm64"}, {"ctx", "windows", "amd64"}}; err != nil || !slices.Equal(chosen, want) {
		t.Errorf("chosen %v, %v", chosen, err)
	}
	if _, err := choose(all, "contextd/windows/amd64"); err == nil || !strings.Contains(err.Error(), "ctx/windows/amd64") {
		t.Errorf("a target that is none: %v", err)
	}
}

// TestCompilerFor: another kind of machine has a compiler of its own, and this one what $CC says.
func TestCompilerFor(t *testing.T) {
	t.Parallel()
	for arch, want := range map[string]string{"amd64": "CC=x86_64-linux-gnu-gcc", "arm64": "CC=aarch64-linux-gnu-gcc"} {
		if arch == runtime.GOARCH {
			want = ""
		}
		if got := strings.Join(compilerFor(arch), " "); got != want {
			t.Errorf("for %s: %q, want %q", arch, got, want)
		}
	}
}

// TestZip checks names, modes and times of the archive for Windows.
func TestZip(t *testing.T) {
	t.Parallel()
	date := time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC)
	r := &release{out: t.TempDir(), commit: commit{date: date}}
	stage := t.TempDir()
	for name, mode := range map[string]os.FileMode{"ctx.exe": 0o755, "LICENSE": 0o644} {
		if err := os.WriteFile(filepath.Join(stage, name), []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.archive("ctx_1.2.3_windows_amd64", "windows", stage); err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(filepath.Join(r.out, "ctx_1.2.3_windows_amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	got := ""
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil || !f.Modified.Equal(date) {
			t.Errorf("%s: %v, of %s", f.Name, err, f.Modified)
		}
		got += fmt.Sprintf("%s %s %s\n", f.Mode(), f.Name, text)
	}
	if want := "-rw-r--r-- ctx_1.2.3_windows_amd64/LICENSE LICENSE\n-rwxr-xr-x ctx_1.2.3_windows_amd64/ctx.exe ctx.exe\n"; got != want {
		t.Errorf("the archive holds\n%snot\n%s", got, want)
	}
}

// TestCheckStatic tells a program that needs libraries from one that needs none.
func TestCheckStatic(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only programs of Linux are checked")
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := command(t, ".", "ldd", sh); err != nil {
		t.Skipf("ldd finds no library of %s: %s", sh, text)
	}
	if err := checkStatic(sh); err == nil || !strings.Contains(err.Error(), "not static") {
		t.Errorf("%s: %v", sh, err)
	}
}

// TestBill checks the list of what is in a program, on this test: its modules, Go, and the parts in C where there is C.
func TestBill(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	r := &release{root: ".", commit: commit{version: "v1.2.3+dirty", date: time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC)}}
	info.Settings = nil // a test under the race detector is cgo, and yet has no SQLite
	parts, err := r.parts(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.sbom(target{"ctx", "linux", "amd64"}, self, append(parts, libcPart("2 . 36"), libcPart("__GLIBC__.__GLIBC_MINOR__")))
	if err != nil {
		t.Fatal(err)
	}
	var doc cyclonedx.BOM
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	main := doc.Metadata.Component
	if main.PackageURL != "pkg:golang/github.com/contextd/contextd@v1.2.3%2Bdirty#cmd/ctx" || (*main.Hashes)[0].Value != fmt.Sprintf("%x", sha256.Sum256(program)) || doc.Metadata.Timestamp != "2026-11-20T20:05:00Z" {
		t.Errorf("about %+v of %s", main, doc.Metadata.Timestamp)
	}
	refs := map[string]bool{main.BOMRef: true}
	for _, c := range *doc.Components {
		if refs[c.BOMRef] {
			t.Errorf("%s is there twice", c.BOMRef)
		}
		refs[c.BOMRef] = true
		if c.Licenses == nil || len(*c.Licenses) == 0 || (*c.Licenses)[0].License.ID == "" {
			t.Errorf("%s has no licence", c.Name)
		}
	}
	for _, want := range []string{"pkg:golang/std@" + strings.TrimPrefix(runtime.Version(), "go"), "pkg:generic/glibc@2.36", "pkg:generic/musl"} {
		if !refs[want] {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if len(info.Deps) < 2 || len(*doc.Components) != len(info.Deps)+3 {
		t.Errorf("%d components of %d modules", len(*doc.Components), len(info.Deps))
	}
	if notice, err := notices("ctx", parts); err != nil || !bytes.Contains(notice, []byte("github.com/google/uuid")) {
		t.Errorf("notices: %v", err)
	}
}

// TestLicence checks where the licence of a module is looked for, and that none is an error.
func TestLicence(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	code := file("// Copyright 2014 Ada\n// MIT license\n\npackage a\n\nvar license, copyright int\n")
	text, err := licence(fstest.MapFS{"LICENSE.md": file("first\n"), "COPYING": file("second\n"), "a.go": code})
	if want := "\n--- COPYING\n\nsecond\n\n--- LICENSE.md\n\nfirst\n"; err != nil || text != want {
		t.Errorf("of two files: %q, %v", text, err)
	}
	text, err = licence(fstest.MapFS{"_.go": file("package a\n\nvar license, copyright int\n"), "a.go": code})
	if want := "\n--- a.go begins\n\n// Copyright 2014 Ada\n// MIT license\n"; err != nil || text != want {
		t.Errorf("of a comment: %q, %v", text, err)
	}
	text, err = licence(fstest.MapFS{"README.md": file("# a\n\n## License\n\nMIT\n\n## Author\n\nAda\n")})
	if want := "\n--- README.md says\n\n## License\n\nMIT\n\n## Author\n\nAda\n"; err != nil || text != want {
		t.Errorf("of README: %q, %v", text, err)
	}
	_, err = notices("ctx", []part{{name: "x", dir: t.TempDir()}})
	if err == nil || !strings.Contains(err.Error(), "no licence") {
		t.Errorf("a module without a licence: %v", err)
	}
}

// TestSPDX checks that a licence is known by its text, and that no other is.
func TestSPDX(t *testing.T) {
	t.Parallel()
	const bsd = "Redistribution and use in source and binary forms, with or\n// without modification"
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004": "Apache-2.0", "Permission is hereby granted,\n free of charge": "MIT",
		"// Permission to use, copy, modify, and distribute\n// this software": "ISC", bsd: "BSD-2-Clause",
		bsd + " to endorse or promote": "BSD-3-Clause", "Mozilla Public License, version 2.0": "MPL-2.0",
		"GNU LESSER GENERAL PUBLIC LICENSE\n Version 3": "LGPL-3.0-or-later", "all rights reserved": "",
		"GNU GENERAL PUBLIC LICENSE\n Version 3 … GNU LESSER GENERAL PUBLIC LICENSE\n Version 3": "LGPL-3.0-or-later GPL-3.0-or-later",
	} {
		if got := strings.Join(spdx(text), " "); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestPartsInC checks that SQLite and the library of C are found where this repository keeps them.
func TestPartsInC(t *testing.T) {
	t.Parallel()
	r := &release{root: "."}
	dir, err := command(t, ".", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/mattn/go-sqlite3")
	if err != nil {
		t.Fatal(dir, err)
	}
	parts, err := r.partsInC(t.Context(), []part{{name: "github.com/mattn/go-sqlite3", dir: strings.TrimSpace(dir)}}, runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) != 2 || !strings.HasPrefix(parts[0].purl(), "pkg:generic/sqlite@3.") || parts[1].name != "glibc" && parts[1].name != "musl" {
		t.Errorf("parts in C: %+v", parts)
	}
	if _, err := r.partsInC(t.Context(), nil, runtime.GOARCH); err == nil {
		t.Error("C without SQLite is no error")
	}
}
