package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/mail"
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
	Maintainer, Changelog            string
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
	if _, err := mail.ParseAddress(c.Maintainer); err != nil || c.Changelog != "changelog.yaml" {
		t.Errorf("maintainer %q, %v, changelog %q", c.Maintainer, err, c.Changelog)
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
	if err := r.stageService(t.Context(), stage, filepath.Join(stage, "contextd")); err != nil {
		t.Fatal(err)
	}
	for _, unit := range []string{"service", "socket"} {
		if text, err := os.ReadFile(filepath.Join(stage, "contextd."+unit)); err != nil || string(text) != "systemd print "+unit+"\n" {
			t.Errorf("the unit is %q, %v", text, err)
		}
	}

	if err := errors.Join(compressManual(stage), r.describe(target{"contextd", "linux", "amd64"}, stage)); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(stage, "changelog.yaml")); err != nil || !strings.HasPrefix(string(text), "- semver: 1.2.3\n  date: 2026-11-20T20:05:00Z\n") {
		t.Errorf("the changelog is %q, %v", text, err)
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
		"deb/usr/share/doc/contextd/copyright": 0o644, "rpm/usr/share/doc/contextd/LICENSE": 0o644, "/usr/share/doc/contextd/NOTICES": 0o644,
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
	if err := r.stageService(t.Context(), stage, filepath.Join(stage, "contextd")); err == nil {
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
	tools(t, dir, "systemctl", "systemd-sysusers", "systemd-tmpfiles", "getent >/dev/null")
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

// tools puts programs into dir that say how they are called.
func tools(t *testing.T, dir string, list ...string) {
	t.Helper()
	for _, tool := range list {
		name := tool
		if end := strings.IndexAny(tool, " ;"); end > 0 {
			name = tool[:end]
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho "+strings.Replace(tool, name, name+` "$@"`, 1)+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWithoutSystemd: where systemd's tools are not, or cannot work, user and directories are made all the same, or it is said what to do.
func TestWithoutSystemd(t *testing.T) { // not parallel: what another test starts would hold the files that are run here
	const user = "useradd --system --user-group --no-create-home --home-dir /var/lib/contextd --shell /usr/sbin/nologin contextd\n"
	const dirs = "install -d -o root -g contextd -m 0750 /etc/contextd\ninstall -d -o contextd -g contextd -m 0700 /var/lib/contextd\n"
	const unknown = "getent; [ -e \"$(dirname \"$0\")/made\" ]"
	for what, c := range map[string]struct {
		tools []string
		want  string
	}{
		"no systemd":       {[]string{"useradd; touch \"$(dirname \"$0\")/made\"", unknown, "install"}, user + dirs},
		"user is there":    {[]string{"useradd", "getent; true", "install"}, dirs},
		"tmpfiles cannot":  {[]string{"systemd-sysusers", "systemd-tmpfiles; false", "getent; true", "install"}, "systemd-sysusers /usr/lib/sysusers.d/contextd.conf\nsystemd-tmpfiles --create /usr/lib/tmpfiles.d/contextd.conf\n" + dirs},
		"nothing to do it": {[]string{unknown, "install"}, "Make a system user and group of that name"},
	} {
		dir := t.TempDir()
		for i, tool := range c.tools {
			c.tools[i] = strings.Replace(tool, "getent;", "getent >/dev/null;", 1)
		}
		tools(t, dir, c.tools...)
		for _, name := range []string{"dirname", "touch"} {
			path, err := exec.LookPath(name)
			if err == nil {
				err = os.Symlink(path, filepath.Join(dir, name))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		sh := exec.CommandContext(t.Context(), "/bin/sh", "files/postinstall.sh", "configure")
		sh.Env = []string{"PATH=" + dir}
		if got, err := sh.CombinedOutput(); err != nil || !strings.Contains(string(got), c.want) || strings.HasPrefix(c.want, "u") && string(got) != c.want {
			t.Errorf("%s: %v\n%s", what, err, got)
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

// TestImage: the container has the program and what its licences ask for, a directory for temporary files, and data that is for its user alone.
func TestImage(t *testing.T) {
	t.Parallel()
	r, stage := staged(t)
	r.work = filepath.Join(r.out, workDir)
	linux := target{"contextd", "linux", "amd64"}
	if err := os.MkdirAll(filepath.Join(r.work, "stage"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(stage, filepath.Join(r.work, "stage", "contextd_linux_amd64")),
		os.WriteFile(filepath.Join(r.out, "contextd_1.2.3_linux_amd64.cdx.json"), []byte("{}"), 0o600), r.image(linux)); err != nil {
		t.Fatal(err)
	}
	got, err := command(t, filepath.Join(r.out, imageDir), "sh", "-c", `find . | sort | xargs stat -c '%n %a'`)
	const doc = "./root/usr/share/doc/contextd"
	want := ". 755\n./own 755\n./own/contextd 700\n./root 755\n./root/tmp 1777\n./root/usr 755\n./root/usr/bin 755\n./root/usr/bin/contextd 755\n" +
		"./root/usr/share 755\n./root/usr/share/doc 755\n" + doc + " 755\n" + doc + "/LICENSE 644\n" + doc + "/NOTICES 644\n" + doc + "/README.md 644\n" +
		doc + "/contextd_1.2.3_linux_amd64.cdx.json 644\n./root/var 755\n./root/var/lib 755\n"
	if err != nil || got != want {
		t.Errorf("%v, the image is of\n%s", err, got)
	}
}
