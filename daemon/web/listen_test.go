package web_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/contextd/contextd/daemon/web"
)

func TestListenOnSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := web.Listen("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("the socket is %v, %v; want mode 0660", info, err)
	}
	if _, err := web.Listen("unix:" + path); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second Listen: %v, want address in use", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // as a kill leaves it
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = web.Listen("unix:" + path); err != nil {
		t.Fatalf("on a socket that was left behind: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket stays after its end: %v", err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := web.Listen("unix:" + path); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("on a file: %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("the file holds %q now, %v", text, err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for addr, good := range map[string]bool{
		"127.0.0.1:0": true, ":8402": true, "[::1]:1": true, "unix:/run/x": true,
		"": false, "8402": false, "unix:": false, "unix:x": false, "unix:///x": true, "nowhere": false,
	} {
		if err := web.CheckListen(addr); (err == nil) != good {
			t.Errorf("%q: %v", addr, err)
		}
	}
}
