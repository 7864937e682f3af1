package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/cli"
)

// TestBundle: doctor writes what helps, for its user alone, and no secret of the settings, the data directory or the metrics is in it.
func TestBundle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	metrics := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "contextd_up 1\nleak{key=\"cv_test_abcd1234SECRETSECRET\",url=\"http://user:SECRET-pass@h\"} 1\nfrom_file SECRET-jobs-key-of-the-file-that-is-long-enough")
	}))
	defer metrics.Close()
	for name, text := range map[string]string{
		"jobs.key": "SECRET-jobs-key-of-the-file-that-is-long-enough\n", "model.key": "sk-SECRET-of-a-model-0123456789\n",
		"config.yaml": "data_dir: " + data + "\njobs: {key_file: " + dir + "/jobs.key}\nadmin: {listen: " + strings.TrimPrefix(metrics.URL, "http://") + "}\n" +
			"chain: {id: 46630, rpc_url: 'http://127.0.0.1:1/SECRET-in-the-path', token: '0x" + strings.Repeat("1", 40) + "', treasury: '0x" +
			strings.Repeat("2", 40) + "'}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		var out, told bytes.Buffer
		s := cli.System{In: strings.NewReader(""), Out: &out, Err: &told, Now: time.Now}
		if code := start(t.Context(), append(args, "--config", filepath.Join(dir, "config.yaml")), s); code > 1 {
			t.Fatalf("%v: exit %d\n%s", args, code, told.String())
		}
		return out.String()
	}
	key := strings.TrimSpace(run("keys", "create", "agent", "-q", ".key"))
	for name, text := range map[string]string{"quote.keys": "ab", translog.KeyFile: "cd", "purchase.keys": "ef"} {
		if err := os.WriteFile(filepath.Join(data, name), []byte(strings.Repeat(text, 32)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "bundle.tar.gz")
	found := run("doctor", "--offline", "--bundle", file)
	for _, want := range []string{"1 owner, 1 key, 0 sessions, 0 deposits, 0 changes of credits, 0 calls paid for singly", "100 free calls a day for an owner"} {
		if !strings.Contains(found, want) {
			t.Errorf("doctor says no %q:\n%s", want, found)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	all := ""
	for name, want := range map[string]string{
		"findings.json": `"check": "counts"`, "version.json": `"api"`, "settings.json": `"limits.free_calls"`, "databases.json": `"rows"`,
		"metrics.txt": "contextd_up 1",
	} {
		text := unpacked(t, file)["contextd-doctor/"+name]
		if !strings.Contains(text, want) {
			t.Errorf("%s has no %s:\n%.300s", name, want, text)
		}
		all += text
	}
	for _, secret := range []string{"SECRET", key, strings.Repeat("ab", 32), strings.Repeat("cd", 32), strings.Repeat("ef", 32)} {
		if strings.Contains(all, secret) {
			t.Errorf("the bundle has %q", secret)
		}
	}
}

// unpacked are the files of a bundle.
func unpacked(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for archive := tar.NewReader(packed); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		texts[header.Name] = string(text)
	}
}
