package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// manager is the socket on which systemd hears of a service.
func manager(t *testing.T) *net.UnixConn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return conn
}

// heard is the next message.
func heard(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1024)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

// TestSupervise: ready comes when the daemon is alive and not before, the watchdog is fed while it is, and the end is told.
func TestSupervise(t *testing.T) {
	conn := manager(t)
	t.Setenv("WATCHDOG_USEC", "30000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	var log bytes.Buffer
	n := newNotifier(slog.New(slog.NewTextHandler(&log, nil)))
	var looks, ill atomic.Int32
	alive := func(ctx context.Context) error {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("a look may take for ever")
		}
		switch i := looks.Add(1); {
		case i <= 3:
			return errors.New("not yet")
		case i > 6 && i <= 9:
			ill.Add(1)
			<-ctx.Done() // hangs
			return ctx.Err()
		}
		return nil
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { n.Supervise(ctx, alive); close(ended) }()
	if got := heard(t, conn); got != "READY=1\nSTATUS=answering" || looks.Load() < 4 {
		t.Errorf("after %d looks systemd heard %q", looks.Load(), got)
	}
	for i := range 5 { // after the fourth look one for each, but for three that hung
		if got := heard(t, conn); got != "WATCHDOG=1" {
			t.Errorf("message %d is %q", i, got)
		}
	}
	if looks.Load() < 12 || ill.Load() != 3 {
		t.Errorf("a daemon that hung was called alive: %d looks, %d of them hung", looks.Load(), ill.Load())
	}
	stop()
	<-ended
	for got := ""; got != "STOPPING=1\nSTATUS=stopping"; {
		if got = heard(t, conn); got != "WATCHDOG=1" && !strings.HasPrefix(got, "STOPPING=1") {
			t.Fatalf("at the end systemd heard %q", got)
		}
	}
	if got := strings.Count(log.String(), "the daemon does not respond"); got != 3 {
		t.Errorf("three looks that hung are logged %d times:\n%s", got, &log)
	}
}

func TestReloadIsTold(t *testing.T) {
	conn := manager(t)
	n := newNotifier(slog.Default())
	n.Reloading()
	n.Ready()
	var usec int64
	if _, err := fmt.Sscanf(heard(t, conn), "RELOADING=1\nMONOTONIC_USEC=%d\nSTATUS=reading settings", &usec); err != nil || usec <= 0 {
		t.Errorf("of the reload systemd heard the time %d, %v", usec, err)
	}
	if got := heard(t, conn); !strings.HasPrefix(got, "READY=1") {
		t.Errorf("after the reload systemd heard %q", got)
	}
}

// TestWithoutSystemd nothing is told and nothing asked; nor is a watchdog that is another process's fed.
func TestWithoutSystemd(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	n := newNotifier(slog.Default())
	n.Ready()
	n.Supervise(t.Context(), func(context.Context) error { t.Error("asked"); return nil })
	if l, err := handedOver(); l != nil || err != nil {
		t.Errorf("a socket came from nowhere: %v, %v", l, err)
	}
	conn := manager(t)
	t.Setenv("WATCHDOG_USEC", "1000")
	t.Setenv("WATCHDOG_PID", "1")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	n = newNotifier(slog.Default())
	go func() { n.Supervise(ctx, func(context.Context) error { return nil }); close(ended) }()
	if got := heard(t, conn); !strings.HasPrefix(got, "READY=1") {
		t.Errorf("systemd heard %q first", got)
	}
	stop()
	<-ended
	if got := heard(t, conn); !strings.HasPrefix(got, "STOPPING=1") {
		t.Errorf("systemd heard %q instead of the end", got)
	}
}

// unit is what systemd print prints.
func unit(t *testing.T, args ...string) string {
	t.Helper()
	c := newSystemd()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetArgs(append([]string{}, args...))
	if err := c.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestUnit has what the daemon relies on and what keeps it in its place.
func TestUnit(t *testing.T) {
	t.Parallel()
	text := unit(t)
	for _, line := range []string{
		"Type=notify", `ExecReload=/bin/sh -c "kill -HUP $MAINPID"`, "WatchdogSec=30", "TimeoutStopSec=20", "Restart=on-failure",
		"User=contextd", "StateDirectory=contextd", "StateDirectoryMode=0700", "UMask=0077", "ProtectSystem=strict", "NoNewPrivileges=yes",
		"MemoryDenyWriteExecute=yes", "SystemCallFilter=@system-service", "CapabilityBoundingSet=", "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the unit has no %s", line)
		}
	}
	if !regexp.MustCompile(`(?m)^ExecStart=/usr/bin/contextd serve --config \S+ --data-dir /var/lib/contextd$`).MatchString(text) {
		t.Error("the unit does not start the daemon")
	}
	for _, line := range []string{"ListenStream=127.0.0.1:8402", "SocketMode=0660", "SocketGroup=contextd"} {
		if !strings.Contains(unit(t, "socket"), "\n"+line+"\n") {
			t.Errorf("the socket unit has no %s", line)
		}
	}
	if !strings.Contains(unit(t, "port"), "\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n") {
		t.Error("the drop-in gives no right to ports below 1024")
	}
}

// TestUnitsAreAnalysed by systemd itself, where it is installed: they are well formed, and the daemon has few rights.
func TestUnitsAreAnalysed(t *testing.T) {
	t.Parallel()
	analyse, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	dir := t.TempDir()
	program, err := os.Executable() // the program has to be there
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"contextd.service":             strings.ReplaceAll(unit(t), "/usr/bin/contextd", program),
		"contextd.socket":              unit(t, "socket"),
		"contextd.service.d/port.conf": unit(t, "port"),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	service := filepath.Join(dir, "contextd.service")
	for _, args := range [][]string{
		{"verify", "--man=no", service, filepath.Join(dir, "contextd.socket")},
		{"security", "--offline=yes", "--no-pager", "--threshold=20", service}, // tenths of the exposure, which is from 0 to 10; with the drop-in
	} {
		c := exec.Command(analyse, args...)
		out, err := c.CombinedOutput()
		if err != nil || args[0] == "verify" && strings.Contains(string(out), dir) {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}
