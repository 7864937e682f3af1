package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// served is a process of this program that runs serve.
type served struct {
	*exec.Cmd
	url string
	log *bufio.Reader
}

// serve runs serve in dir with args, and change made to the command before. It ends with the test.
func serve(t *testing.T, dir string, change func(*exec.Cmd), args ...string) *served {
	t.Helper()
	c := program(t, append([]string{"serve", "--log-format", "json", "--data-dir", dir}, args...)...)
	c.Env = append(c.Env, "HTTPS_PROXY=http://127.0.0.1:1") // no source is reached
	change(c)
	r, w := io.Pipe()
	c.Stderr = w
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s := &served{Cmd: c, log: bufio.NewReader(r)}
	t.Cleanup(func() { _ = r.Close(); _ = c.Process.Kill(); _ = c.Wait() })
	s.url = s.await(t, "listening")
	go func() { _, _ = io.Copy(io.Discard, s.log) }()
	return s
}

// await reads the log up to the message and returns the url in it.
func (s *served) await(t *testing.T, message string) string {
	t.Helper()
	for {
		line, err := s.log.ReadString('\n')
		if err != nil {
			t.Fatalf("the log ends before %q: %v", message, err)
		}
		var entry struct{ Msg, URL string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == message {
			return entry.URL
		}
	}
}

// status is that of a path, asked with key unless that is "".
func (s *served) status(t *testing.T, path, key string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// signal sends a signal.
func (s *served) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := s.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// stopped waits for the end of the process, which has to be a good one.
func (s *served) stopped(t *testing.T) {
	t.Helper()
	if err := s.Wait(); err != nil {
		t.Errorf("the daemon ends with %v", err)
	}
}

// TestDrain: a daemon that is told to stop says that it is not ready, and answers all the same for as long as drain_delay. A second signal
// ends it at once.
func TestDrain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := daemontest.Start(t, func(c *daemon.Config) { c.DataDir = dir }) // to have a state
	key := d.Key(t, api.TierPro)
	d.Stop(t)
	s := serve(t, dir, func(c *exec.Cmd) { c.Env = append(c.Env, "CONTEXTD_DRAIN_DELAY=1h") }, "--listen", "127.0.0.1:0")
	if got := s.status(t, "/readyz", ""); got != http.StatusOK {
		t.Fatalf("/readyz answers %d", got)
	}
	s.signal(t, syscall.SIGTERM)
	soon(t, "it is not ready", func() bool { return s.status(t, "/readyz", "") != http.StatusOK })
	if ready, fresh := s.status(t, "/readyz", ""), s.status(t, "/v1/fresh", key); ready != http.StatusServiceUnavailable || fresh != http.StatusOK {
		t.Errorf("while it drains, /readyz answers %d and a call %d", ready, fresh)
	}
	if res, err := http.Get(s.url + "/healthz"); err != nil || !res.Close || res.Body.Close() != nil {
		t.Errorf("while it drains, it keeps connections: %+v, %v", res, err)
	}
	s.signal(t, syscall.SIGTERM)
	failed, ok := errors.AsType[*exec.ExitError](s.Wait())
	if !ok {
		t.Fatal("the second signal did not end it")
	}
	if status, _ := failed.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("the second signal ends it with %v", failed)
	}
}

// TestSocketActivation: a socket that systemd hands over is served on, and stays open for who comes after.
func TestSocketActivation(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	dir := t.TempDir()
	for range 2 {
		s := serve(t, dir, func(c *exec.Cmd) {
			c.Args = append([]string{"sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"`, c.Path}, c.Args[1:]...)
			c.Path, c.ExtraFiles = "/bin/sh", []*os.File{file}
		})
		if want := "http://" + l.Addr().String(); s.url != want {
			t.Errorf("the daemon listens on %s, not %s", s.url, want)
		}
		if got := s.status(t, "/healthz", ""); got != http.StatusOK {
			t.Errorf("/healthz answers %d", got)
		}
		s.signal(t, syscall.SIGTERM)
		s.stopped(t)
	}
}

// TestSystemdIsTold of the start, a reload and the stop.
func TestSystemdIsTold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	hears := func(want string) {
		t.Helper()
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1024)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				t.Fatalf("instead of %s systemd hears %v", want, err)
			}
			if got := string(buf[:n]); got != "WATCHDOG=1" {
				if !strings.HasPrefix(got, want) {
					t.Errorf("systemd hears %q, want %s", got, want)
				}
				return
			}
			if want == "WATCHDOG=1" {
				return
			}
		}
	}
	s := serve(t, t.TempDir(), func(c *exec.Cmd) { c.Env = append(c.Env, "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=3000000") }, "--listen", "127.0.0.1:0")
	hears("READY=1")
	hears("WATCHDOG=1")
	s.signal(t, syscall.SIGHUP)
	hears("RELOADING=1\nMONOTONIC_USEC=")
	hears("READY=1")
	s.signal(t, syscall.SIGTERM)
	hears("STOPPING=1")
	s.stopped(t)
}
