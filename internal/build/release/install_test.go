package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// shelf is a release of ctx, whose program is a script, on a file server of its own.
type shelf struct {
	dir, url string
	asked    chan string // the paths, as long as there is room
}

// newShelf makes the release 1.2.3 of a ctx that answers with text and ends with exit, for every system that install.sh knows.
func newShelf(t *testing.T, text string, exit int) *shelf {
	t.Helper()
	s := &shelf{dir: t.TempDir(), asked: make(chan string, 100)}
	r := &release{root: "../../..", out: s.dir, commit: commit{version: "v1.2.3", date: time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC)}, log: io.Discard}
	for _, system := range []string{"linux", "darwin"} {
		for _, arch := range []string{"amd64", "arm64"} {
			stage := t.TempDir()
			program := fmt.Sprintf("#!/bin/sh\necho %s for %s on %s\nexit %d\n", text, system, arch, exit)
			name := r.archiveName(target{"ctx", system, arch})
			if err := errors.Join(put(filepath.Join(stage, "ctx"), []byte(program), 0o755), r.archive(name, system, stage)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(r.installer(), r.formula(), writeSums(s.dir)); err != nil {
		t.Fatal(err)
	}
	served := http.FileServer(http.Dir(s.dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.asked <- r.URL.Path:
		default:
		}
		served.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// edit changes a file of the release.
func (s *shelf) edit(t *testing.T, name string, change func(string) string) {
	t.Helper()
	file := filepath.Join(s.dir, name)
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(change(string(text))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// machine is what install.sh runs on: tools in a directory that is all of PATH, and a home.
type machine struct{ bin, home, tmp string }

// newMachine has the named tools, and a uname that says system and arch.
func newMachine(t *testing.T, system, arch string, tools ...string) machine {
	t.Helper()
	m := machine{filepath.Join(t.TempDir(), "bin"), t.TempDir(), t.TempDir()}
	uname := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = -s ] && echo %s || echo %s\n", system, arch)
	if err := put(filepath.Join(m.bin, "uname"), []byte(uname), 0o755); err != nil {
		t.Fatal(err)
	}
	slices.Sort(tools)
	for _, name := range slices.Compact(tools) {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("no %s here", name)
		}
		if err := os.Symlink(path, filepath.Join(m.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// usual are the tools that install.sh needs, but for what it downloads with.
func usual() []string {
	return []string{"sh", "mktemp", "rm", "mkdir", "cp", "mv", "chmod", "tar", "gzip", "grep", "sha256sum"}
}

// install runs install.sh of the release on m by the shell, with more in its environment.
func (m machine) install(t *testing.T, s *shelf, shell []string, env ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), shell[0], append(slices.Clone(shell[1:]), filepath.Join(s.dir, "install.sh"))...)
	c.Dir = m.home
	c.Env = append([]string{"PATH=" + m.bin, "HOME=" + m.home, "TMPDIR=" + m.tmp, "CTX_INSTALL_URL=" + s.url}, env...)
	text, err := c.CombinedOutput()
	if left, readErr := os.ReadDir(m.tmp); readErr != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v, %v", left, readErr)
	}
	return string(text), err
}

// installed is what the ctx that m has says, "" for none, and checks that nothing else is there.
func (m machine) installed(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return ""
	}
	if err != nil || len(entries) != 1 || entries[0].Name() != "ctx" {
		t.Fatalf("installed are %v, %v", entries, err)
	}
	if info, err := entries[0].Info(); err != nil || info.Mode() != 0o755 {
		t.Errorf("ctx has mode %s, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ctx"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimPrefix(string(text), "#!/bin/sh\necho "), "\n")[0]
}

// TestInstall runs install.sh by every shell that is here, with every tool to download with, on every machine that there is a release for.
func TestInstall(t *testing.T) {
	t.Parallel()
	s := newShelf(t, "v1.2.3", 0)
	for _, c := range []struct {
		shell        []string
		system, arch string
		tools        []string
		want         string
	}{
		{[]string{"sh"}, "Linux", "x86_64", []string{"curl"}, "v1.2.3 for linux on amd64"},
		{[]string{"sh"}, "Linux", "aarch64", []string{"wget"}, "v1.2.3 for linux on arm64"},
		{[]string{"dash"}, "Darwin", "arm64", []string{"curl"}, "v1.2.3 for darwin on arm64"},
		{[]string{"bash", "--posix"}, "Darwin", "x86_64", []string{"curl"}, "v1.2.3 for darwin on amd64"},
		{[]string{"busybox", "sh"}, "Linux", "amd64", []string{"wget"}, "v1.2.3 for linux on amd64"},
	} {
		t.Run(strings.Join(append(c.shell, c.system, c.arch), " "), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, c.system, c.arch, append(append(usual(), c.tools...), c.shell[0])...)
			dir := filepath.Join(m.home, ".local", "bin")
			text, err := m.install(t, s, c.shell)
			if got := m.installed(t, dir); err != nil || got != c.want {
				t.Fatalf("installed %q: %v\n%s", got, err, text)
			}
			if want := "export PATH=\"" + dir + ":$PATH\""; !strings.Contains(text, want) {
				t.Errorf("it does not say %s:\n%s", want, text)
			}
			// Again, where it is on the PATH: over the one that is there.
			text, err = m.install(t, s, c.shell, "PATH="+m.bin+":"+dir)
			if got := m.installed(t, dir); err != nil || got != c.want || strings.Contains(text, "export PATH") {
				t.Errorf("again: installed %q: %v\n%s", got, err, text)
			}
		})
	}
}

// TestInstallUnderRosetta: a shell that is translated gets the program for the machine itself.
func TestInstallUnderRosetta(t *testing.T) {
	t.Parallel()
	s := newShelf(t, "v1.2.3", 0)
	m := newMachine(t, "Darwin", "x86_64", append(usual(), "curl")...)
	if err := put(filepath.Join(m.bin, "sysctl"), []byte("#!/bin/sh\n[ \"$*\" = '-n sysctl.proc_translated' ] && echo 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := m.install(t, s, []string{"sh"}, "CTX_INSTALL_DIR="+m.home+"/here")
	if got := m.installed(t, m.home+"/here"); err != nil || got != "v1.2.3 for darwin on arm64" {
		t.Errorf("installed %q: %v\n%s", got, err, text)
	}
}

// TestInstallRefuses: what is not right is said with what to do, and what was there before stays.
func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("0", 64)
	for what, c := range map[string]struct {
		system, arch string
		without      string
		env          []string
		spoil        func(t *testing.T, s *shelf, m machine)
		exit         int // of the program that is installed
		want, try    string
		asked        bool // the server, for anything
	}{
		"another archive": {spoil: func(t *testing.T, s *shelf, _ machine) {
			s.edit(t, "ctx_1.2.3_linux_amd64.tar.gz", func(text string) string { return text + "x" })
		}, want: "ctx_1.2.3_linux_amd64.tar.gz is not what the release holds: its SHA-256 is ", try: "again", asked: true},
		"another sum": {spoil: func(t *testing.T, s *shelf, _ machine) {
			s.edit(t, "SHA256SUMS", func(text string) string {
				return regexp.MustCompile(`[0-9a-f]{64}  ctx_1.2.3_linux_amd64.tar`).ReplaceAllString(text, other+"  ctx_1.2.3_linux_amd64.tar")
			})
		}, want: "not " + other + "; nothing was changed", asked: true},
		"no sum": {spoil: func(t *testing.T, s *shelf, _ machine) {
			s.edit(t, "SHA256SUMS", func(text string) string { return strings.ReplaceAll(text, "_linux_", "-linux-") })
		}, want: "does not name ctx_1.2.3_linux_amd64.tar.gz", try: "CTX_VERSION", asked: true},
		"no such version": {env: []string{"CTX_VERSION=v9.9.9"}, want: "cannot download ", try: "version 9.9.9", asked: true,
			spoil: func(t *testing.T, s *shelf, _ machine) {
				s.edit(t, "SHA256SUMS", func(text string) string { return strings.ReplaceAll(text, "1.2.3", "9.9.9") })
			}},
		"a version that is none":  {env: []string{"CTX_VERSION=../1"}, want: "CTX_VERSION is not a version", try: "CTX_VERSION=1.2.3"},
		"a program that fails":    {exit: 3, want: "does not run here", try: "uname -a", asked: true},
		"nothing to verify with":  {without: "sha256sum", want: "neither sha256sum nor shasum", try: "coreutils", asked: true},
		"nothing to ask with":     {without: "curl", want: "neither curl nor GNU wget", try: "curl"},
		"plain http":              {env: []string{"CTX_INSTALL_URL=http://example.org"}, want: "http://example.org, which is not https", try: "https://"},
		"a host that looks local": {env: []string{"CTX_INSTALL_URL=http://127.0.0.1.example.org/"}, want: "which is not https"},
		"a user at a host":        {env: []string{"CTX_INSTALL_URL=http://127.0.0.1:x@example.org/"}, want: "a user or a password"},
		"Windows":                 {system: "MINGW64_NT-10.0", want: "Windows has no install.sh", try: ".zip"},
		"another system":          {system: "OpenBSD", want: "no release of ctx for OpenBSD", try: "go install"},
		"another machine":         {arch: "riscv64", want: "no release of ctx for linux on riscv64", try: "go install"},
		"a directory that is a file": {env: []string{"CTX_INSTALL_DIR=/dev/null/bin"}, want: "cannot make the directory /dev/null/bin",
			try: "CTX_INSTALL_DIR", asked: true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newShelf(t, "v1.2.3", c.exit)
			tools := slices.DeleteFunc(append(usual(), "curl"), func(name string) bool { return name == c.without })
			m := newMachine(t, max(c.system, "Linux"), max(c.arch, "amd64"), tools...)
			dir := filepath.Join(m.home, ".local", "bin")
			if err := put(filepath.Join(dir, "ctx"), []byte("#!/bin/sh\necho old\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			if c.spoil != nil {
				c.spoil(t, s, m)
			}
			text, err := m.install(t, s, []string{"sh"}, c.env...)
			if err == nil || !strings.Contains(text, "install.sh: ") || !strings.Contains(text, c.want) {
				t.Errorf("%v\n%s", err, text)
			}
			if _, try, _ := strings.Cut(text, "\n  try: "); !strings.Contains(try, c.try) {
				t.Errorf("it does not say to try %s:\n%s", c.try, text)
			}
			if (len(s.asked) > 0) != c.asked {
				t.Errorf("the server was asked %d times", len(s.asked))
			}
			if got := m.installed(t, dir); got != "old" {
				t.Errorf("installed is %q", got)
			}
		})
	}
}

// TestInstallCut: an install.sh whose download was cut, after any line, does nothing.
func TestInstallCut(t *testing.T) {
	t.Parallel()
	s := newShelf(t, "v1.2.3", 0)
	m := newMachine(t, "Linux", "x86_64", append(usual(), "curl")...)
	script, err := os.ReadFile(filepath.Join(s.dir, "install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(script), "\n"), "\n")
	for n := range lines {
		s.edit(t, "install.sh", func(string) string { return strings.Join(lines[:n], "") })
		_, _ = m.install(t, s, []string{"sh"}) // some parts are no script
		if got := m.installed(t, filepath.Join(m.home, ".local", "bin")); got != "" || len(s.asked) > 0 {
			t.Fatalf("its first %d lines install %q", n, got)
		}
	}
	s.edit(t, "install.sh", func(string) string { return string(script) })
	if text, err := m.install(t, s, []string{"sh"}); err != nil || m.installed(t, filepath.Join(m.home, ".local", "bin")) == "" {
		t.Errorf("all of it: %v\n%s", err, text)
	}
}

// TestFormula: the formula has the version and, for each system, the archive with its sum, and nothing that was to be filled in.
func TestFormula(t *testing.T) {
	t.Parallel()
	s := newShelf(t, "v1.2.3", 0)
	text, err := os.ReadFile(filepath.Join(s.dir, "ctx.rb"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`on_(\w+) do\n      url "https://github\.com/contextd/contextd/releases/download/v1\.2\.3/(ctx_1\.2\.3_(\w+)\.tar\.gz)"\n      sha256 "(\w+)"`).
		FindAllStringSubmatch(string(text), -1)
	got := map[string]string{}
	for _, f := range found {
		got[f[1]+" "+f[3]] = f[4]
		archive, err := os.ReadFile(filepath.Join(s.dir, f[2]))
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(archive)) != f[4] {
			t.Errorf("%s is not of the sum %s: %v", f[2], f[4], err)
		}
	}
	for _, want := range []string{"arm darwin_arm64", "intel darwin_amd64", "arm linux_arm64", "intel linux_amd64"} {
		if got[want] == "" {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	desc := regexp.MustCompile(`desc "(.*)"`).FindSubmatch(text)
	if strings.Contains(string(text), "@") || !strings.Contains(string(text), "\n  version \"1.2.3\"\n") || len(found) != 4 ||
		desc == nil || len(desc[1]) >= 80 || regexp.MustCompile(`(?i)^(a|an|the|ctx) `).Match(desc[1]) {
		t.Errorf("the formula is\n%s", text)
	}
	if text, err := command(t, s.dir, "ruby", "-c", "ctx.rb"); err != nil && !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("ruby: %v\n%s", err, text)
	}
}
