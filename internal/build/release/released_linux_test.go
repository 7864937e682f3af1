package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"debug/macho"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// released is the directory that a release for this machine is in. Without one, which takes minutes to make, the tests of this file are skipped.
func released(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CONTEXTD_RELEASED")
	if dir == "" {
		t.Skip("CONTEXTD_RELEASED names no release")
	}
	return dir
}

// only is the one file of the release that pattern names.
func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(released(t), pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s is %v, %v", pattern, found, err)
	}
	return found[0]
}

// demo runs the contextd of the release as a demo of the user at home, until the test is over, and returns its address and key.
func demo(t *testing.T, home string) (base, key string) {
	t.Helper()
	if text, err := command(t, home, "tar", "xzf", only(t, "contextd_*_linux_"+runtime.GOARCH+".tar.gz"), "--strip-components=1"); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c := exec.CommandContext(t.Context(), filepath.Join(home, "contextd"), "demo", "--listen", "127.0.0.1:0", "--chain-listen", "127.0.0.1:0",
		"--data-dir", filepath.Join(home, "data"))
	c.Env = []string{"HOME=" + home}
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Wait() }) // the context ended it
	said := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		if strings.HasPrefix(lines.Text(), "A new state") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			var told struct{ BaseURL, APIKey string }
			text, err := fs.ReadFile(os.DirFS(filepath.Join(home, ".local", "state", "contextd")), fmt.Sprintf("running-%d.json", c.Process.Pid))
			if err := errors.Join(err, json.Unmarshal(text, &told)); err != nil {
				t.Fatal(err)
			}
			return told.BaseURL, told.APIKey
		}
	}
	t.Fatalf("no demo:\n%s", said)
	return "", ""
}

// emptyRoot is a root with a busybox and nothing else.
func emptyRoot(t *testing.T) string {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil || os.Getuid() != 0 {
		t.Skipf("LEFT OUT: no busybox, or not root: %v", err)
	}
	root := t.TempDir()
	applets, err := command(t, root, busybox, "--list")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"bin", "tmp", "dev", "home"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(busybox)
	if err := errors.Join(err, put(filepath.Join(root, "bin", "busybox"), text, 0o755)); err != nil {
		t.Fatal(err)
	}
	for applet := range strings.FieldsSeq(applets) {
		if err := os.Symlink("busybox", filepath.Join(root, "bin", applet)); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	return root
}

// in runs a command with root as its root directory and env as its environment.
func in(ctx context.Context, root string, env []string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir, c.Env, c.SysProcAttr = "/", env, &syscall.SysProcAttr{Chroot: root}
	c.Path, c.Err = args[0], nil // which is there, not here
	text, err := c.CombinedOutput()
	return string(text), err
}

// TestReleasedPrograms has what is packed for Linux used with a demo of the release.
func TestReleasedPrograms(t *testing.T) {
	home := t.TempDir()
	released(t)
	base, key := demo(t, home)
	t.Run("installer", func(t *testing.T) { useInstaller(t, base, key) })
	t.Run("bundle", func(t *testing.T) { useBundle(t, home) })
}

// useInstaller: where nothing is but a busybox, install.sh of the release, from a file server, leads a new user to an answered question and an
// answered call of MCP, by a command each.
func useInstaller(t *testing.T, base, key string) {
	t.Helper()
	files := httptest.NewServer(http.FileServer(http.Dir(released(t))))
	t.Cleanup(files.Close)
	root := emptyRoot(t)
	env := []string{"PATH=/bin:/home/.local/bin", "HOME=/home", "CTX_INSTALL_URL=" + files.URL, "CTX_BASE_URL=" + base, "CTX_API_KEY=" + key}
	text, err := in(t.Context(), root, env, "/bin/sh", "-c", "wget -q -O - "+files.URL+"/install.sh | sh")
	if err != nil || !strings.Contains(text, "Installed /home/.local/bin/ctx\n") {
		t.Fatalf("%v\n%s", err, text)
	}
	for run, want := range map[string]string{"ctx ask 'bitcoin price'": "Bitcoin", "ctx mcp call lookup 'q=bitcoin price'": "Bitcoin"} {
		if text, err := in(t.Context(), root, env, "/bin/sh", "-c", run); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %v\n%s", run, err, text)
		}
	}
}

// useBundle: the bundle for Linux, unpacked by a host that drops modes and passes on settings as they were left, finds the service of the
// user at home, lists its tools and answers a call.
func useBundle(t *testing.T, home string) {
	t.Helper()
	dir := t.TempDir()
	members := map[string][]byte{}
	for name, m := range unzipOf(t, only(t, "ctx_*_linux.mcpb"), time.Time{}) {
		members[name] = m.text
		if err := put(filepath.Join(dir, name), m.text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var m manifest
	if err := json.Unmarshal(members["manifest.json"], &m); err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, arg := range m.Server.Config.Args {
		args = append(args, strings.ReplaceAll(arg, "${__dirname}", dir))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, m.Server.Config.Command, args...)
	c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	for name, value := range m.Server.Config.Env {
		c.Env = append(c.Env, name+"="+value)
	}
	c.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n" + `{"jsonrpc":"2.0","id":3,"method":"tools/call",` +
		`"params":{"name":"context_lookup","arguments":{"q":"bitcoin price"}}}` + "\n")
	text, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(text), `"context_lookup"`) || !strings.Contains(string(text), "Bitcoin") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestReleasedBundles reads every bundle of the release back: what its manifest starts is in it and can be started.
func TestReleasedBundles(t *testing.T) {
	bundles, err := filepath.Glob(filepath.Join(released(t), "*.mcpb"))
	if err != nil || len(bundles) == 0 {
		t.Fatalf("no bundles: %v", err)
	}
	for _, file := range bundles {
		members := unzipOf(t, file, time.Time{})
		var m manifest
		if err := json.Unmarshal(members["manifest.json"].text, &m); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if entry := members[m.Server.EntryPoint]; err != nil || entry.mode != 0o755 || info.Size() > 40<<20 {
			t.Errorf("%s: %s has mode %s; %d bytes, %v", filepath.Base(file), m.Server.EntryPoint, entry.mode, info.Size(), err)
		}
		if universal := members["server/ctx"].text; universal != nil {
			f, err := macho.NewFatFile(bytes.NewReader(universal))
			if err != nil || len(f.Arches) != 2 || f.Arches[0].Cpu != macho.CpuAmd64 || f.Arches[1].Cpu != macho.CpuArm64 {
				t.Errorf("the program for macOS: %v", err)
			}
		}
	}
}

// TestReleasedImages unpacks the images of the release and starts what is in them, where nothing else is; for another kind of machine under
// qemu, where it is.
func TestReleasedImages(t *testing.T) {
	images, err := filepath.Glob(filepath.Join(released(t), "*_oci.tar"))
	if err != nil || len(images) == 0 {
		t.Fatalf("no images: %v", err)
	}
	for _, file := range images {
		_, all := readLayout(t, file)
		for on, i := range all {
			t.Run(filepath.Base(file)+" "+on, func(t *testing.T) { startImage(t, on, i) })
		}
		if text, err := command(t, ".", "skopeo", "inspect", "--raw", "oci-archive:"+file); err != nil && !errors.Is(err, exec.ErrNotFound) {
			t.Errorf("skopeo: %v\n%s", err, text)
		}
	}
}

// startImage has the program of an image say its version, in the image's root where this user may do that.
func startImage(t *testing.T, on string, i readImage) {
	t.Helper()
	root := t.TempDir()
	files, headers := untar(t, i.layer)
	for name, h := range headers {
		if h.Typeflag == tar.TypeReg {
			if err := put(filepath.Join(root, name), files[name], fs.FileMode(h.Mode)); err != nil {
				t.Fatal(err)
			}
		}
	}
	args, chroot := []string{i.config.Config.Entrypoint[0], "version"}, root
	if on != "linux/"+runtime.GOARCH {
		qemu, err := exec.LookPath("qemu-" + map[string]string{"linux/amd64": "x86_64", "linux/arm64": "aarch64"}[on] + "-static")
		if err != nil {
			t.Skipf("LEFT OUT: %v", err)
		}
		args, chroot = []string{qemu, root + args[0], "version"}, ""
	} else if os.Getuid() != 0 {
		args[0], chroot = root+args[0], ""
	}
	text, err := in(t.Context(), chroot, i.config.Config.Env, args...)
	if err != nil || !strings.Contains(text, i.config.Config.Labels["org.opencontainers.image.revision"][:12]) {
		t.Errorf("%v\n%s", err, text)
	}
}
