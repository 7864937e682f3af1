package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// staged makes a directory of files as pack finds it for contextd, and the release it is part of.
func staged(t *testing.T) (*release, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"LICENSE": "l\n", "NOTICES": "n\n", "README.md": "r\n", "man/contextd.1": ".TH CONTEXTD 1\n", "man/contextd-run.7": ".TH CONTEXTD-RUN 7\n",
		"contextd":                  "#!/bin/sh\nexit 3\n",
		"completions/contextd.bash": "b\n", "completions/contextd.fish": "f\n", "completions/contextd.zsh": "z\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &release{root: "../../..", out: t.TempDir(), commit: commit{version: "v1.2.3", date: time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC)}, log: io.Discard}, dir
}

// packaged is what this test looks at in a configuration of nfpm.
type packaged struct {
	Name, Arch, Version, Description string
	Contents                         []struct {
		Src, Dst, Packager string
		FileInfo           struct{ Mode os.FileMode } `yaml:"file_info"`
	}
	Scripts map[string]string
	RPM     struct{ Summary, BuildHost string }
}

// configuration reads that of program.
func configuration(t *testing.T, program string) packaged {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("files", program+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var c packaged
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	if summary, _, _ := strings.Cut(c.Description, "\n"); c.Name != program || c.Arch != "${ARCH}" || c.Version != "${VERSION}" ||
		c.RPM.Summary != summary || c.RPM.BuildHost != "reproducible" {
		t.Errorf("package %s %s for %s, %+v", c.Name, c.Version, c.Arch, c.RPM)
	}
	return c
}

// TestPackage checks the configuration of nfpm: that every file it names is there, and where the program and its parts go.
func TestPackage(t *testing.T) {
	t.Parallel()
	r, stage := staged(t)
	if err := os.WriteFile(filepath.Join(stage, "contextd"), []byte("#!/bin/sh\necho \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.stageService(t.Context(), stage); err != nil {
		t.Fatal(err)
	}
	for _, unit := range []string{"service", "socket"} {
		if text, err := os.ReadFile(filepath.Join(stage, "contextd."+unit)); err != nil || string(text) != "systemd print "+unit+"\n" {
			t.Errorf("the unit is %q, %v", text, err)
		}
	}

	if err := compressManual(stage); err != nil {
		t.Fatal(err)
	}
	c := configuration(t, "contextd")
	modes := map[string]os.FileMode{}
	for _, f := range c.Contents {
		modes[f.Packager+f.Dst] = f.FileInfo.Mode
		if found, err := filepath.Glob(filepath.Join(stage, f.Src)); err != nil || len(found) == 0 {
			t.Errorf("%+v: %v", f, err)
		}
	}
	for dst, mode := range map[string]os.FileMode{
		"/usr/bin/contextd": 0o755, "/usr/share/man/man1/": 0o644, "/usr/share/man/man7/": 0o644,
		"/usr/share/doc/contextd/copyright": 0o644, "/usr/share/doc/contextd/NOTICES": 0o644,
		"/usr/lib/systemd/system/contextd.service": 0o644, "/usr/lib/systemd/system/contextd.socket": 0o644, "/usr/lib/sysusers.d/contextd.conf": 0o644, "/usr/lib/tmpfiles.d/contextd.conf": 0o644,
		"/usr/share/bash-completion/completions/contextd": 0o644, "/usr/share/fish/vendor_completions.d/contextd.fish": 0o644,
		"deb/usr/share/zsh/vendor-completions/_contextd": 0o644, "rpm/usr/share/zsh/site-functions/_contextd": 0o644,
	} {
		if modes[dst] != mode {
			t.Errorf("%s has mode %s", dst, modes[dst])
		}
	}
	for _, script := range []string{"postinstall", "preremove", "postremove"} {
		if _, err := os.Stat(filepath.Join(stage, c.Scripts[script])); err != nil || c.Scripts[script] == "" {
			t.Errorf("%s: %v", script, err)
		}
	}
	if c := configuration(t, "ctx"); len(c.Scripts) > 0 {
		t.Errorf("ctx does something on installation: %+v", c.Scripts)
	}
}

// TestNoPackageWithoutUnit checks that a contextd that prints no unit is not packed.
func TestNoPackageWithoutUnit(t *testing.T) {
	t.Parallel()
	r, stage := staged(t)
	if err := r.stageService(t.Context(), stage); err == nil {
		t.Error("a package without a unit")
	}
}

// TestManualInPackage checks that a page is compressed the same each time, without the time of day.
func TestManualInPackage(t *testing.T) {
	t.Parallel()
	_, stage := staged(t)
	read := func() []byte {
		if err := compressManual(stage); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(filepath.Join(stage, "man", "contextd.1.gz"))
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	first := read()
	if !bytes.Equal(first, read()) || !bytes.Equal(first[4:8], make([]byte, 4)) {
		t.Errorf("the header of the compressed page is % x", first[:10])
	}
	if text, err := command(t, stage, "gzip", "-dc", "man/contextd.1.gz"); err != nil || text != ".TH CONTEXTD 1\n" {
		t.Errorf("the page is %q, %v", text, err)
	}
}

// TestScripts runs what packages do on installation and removal, with tools in place of systemd's that write down how they are called.
func TestScripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tool := range []string{"systemctl", "systemd-sysusers", "systemd-tmpfiles"} {
		if err := os.WriteFile(filepath.Join(dir, tool), []byte("#!/bin/sh\necho "+tool+" \"$@\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const made = "systemd-sysusers /usr/lib/sysusers.d/contextd.conf\nsystemd-tmpfiles --create /usr/lib/tmpfiles.d/contextd.conf\n"
	const restarted = "systemctl daemon-reload\nsystemctl try-restart contextd.service\n"
	const stopped = "systemctl disable --now contextd.socket contextd.service\n"
	for _, c := range []struct{ script, arg, booted, idle string }{
		{"postinstall", "configure", made + restarted, made}, // deb
		{"postinstall", "1", made + restarted, made},         // rpm, the first
		{"postinstall", "2", made + restarted, made},         // rpm, an upgrade
		{"postinstall", "abort-upgrade", "", ""},
		{"preremove", "remove", stopped, ""},
		{"preremove", "0", stopped, ""},
		{"preremove", "upgrade", "", ""},
		{"preremove", "1", "", ""},
		{"postremove", "remove", "systemctl daemon-reload\n", ""},
		{"postremove", "purge", "systemctl daemon-reload\n", ""},
	} {
		text, err := os.ReadFile("files/" + c.script + ".sh")
		if err != nil {
			t.Fatal(err)
		}
		for booted, want := range map[string]string{dir: c.booted, filepath.Join(dir, "none"): c.idle} {
			sh := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(string(text), "/run/systemd/system", booted), c.script, c.arg)
			sh.Env = []string{"PATH=" + dir + ":/usr/bin:/bin"}
			if got, err := sh.CombinedOutput(); err != nil || string(got) != want {
				t.Errorf("%s %s: %v\n%s", c.script, c.arg, err, got)
			}
		}
	}
}

// TestUserAndDirectories has systemd's own tools, where there are, make the user and, as root alone can, the directories below
// another root.
func TestUserAndDirectories(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	made := func(tool, conf string, args ...string) {
		t.Helper()
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s here", tool)
		}
		conf, err := filepath.Abs(conf)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := command(t, ".", tool, append(args, "--root="+root, conf)...); err != nil {
			t.Fatalf("%s: %v\n%s", tool, err, text)
		}
	}
	made("systemd-sysusers", "files/contextd.sysusers")
	users, err := os.ReadFile(filepath.Join(root, "etc", "passwd"))
	user := regexp.MustCompile(`(?m)^contextd:[^:]*:([0-9]+):[0-9]+:contextd:/var/lib/contextd:/usr/sbin/nologin$`).FindSubmatch(users)
	if err != nil || user == nil {
		t.Fatalf("users: %v\n%s", err, users)
	}
	if os.Getuid() != 0 {
		t.Skip("only root gives directories away")
	}
	made("systemd-tmpfiles", "files/contextd.tmpfiles", "--create")
	got, err := command(t, root, "stat", "-c", "%n %a %u", "etc/contextd", "var/lib/contextd")
	if want := fmt.Sprintf("etc/contextd 750 0\nvar/lib/contextd 700 %s\n", user[1]); err != nil || got != want {
		t.Errorf("directories: %v\n%s", err, got)
	}
}
