package programs_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/admin"
)

// TestIdleConnections has a client keep connections open, idle and with half a body, of a daemon with few descriptors: it goes on to answer
// others, to refresh and to obey its operator.
func TestIdleConnections(t *testing.T) {
	const descriptors, connections = 400, 600
	dir := oldDemo(t)
	demo := program(t, "demo", "--packs", "crypto", "--listen", "127.0.0.1:0", "--chain-listen", "127.0.0.1:0", "--data-dir", dir,
		"--refresh", "1s")
	c := exec.Command("sh", append([]string{"-c", "ulimit -n " + strconv.Itoa(descriptors) + `; exec "$@"`, "sh"}, demo.Args...)...)
	c.Env, c.SysProcAttr = demo.Env, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
		if bytes.Contains(said.Bytes(), []byte("too many open files")) {
			t.Errorf("descriptors have run out:\n%s", said.String())
		}
	}()
	url := ""
	soon(t, "the daemon answers", func() bool {
		info, err := readDemo(dir)
		if err != nil {
			return false
		}
		res, err := http.Get(info.BaseURL + "/readyz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		url = info.BaseURL
		return res.StatusCode == http.StatusOK
	})
	address := strings.TrimPrefix(url, "http://")
	for i := range connections {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 {
			_, err = io.WriteString(conn, "POST /api/mcp HTTP/1.1\r\nHost: "+address+"\r\nContent-Length: 250000\r\n\r\n"+strings.Repeat(" ", 200_000))
		}
		if err != nil {
			t.Logf("connection %d: %v", i, err)
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	began, answered := time.Now(), 0
	for time.Since(began) < 8*time.Second {
		res, err := client.Get(url + "/healthz")
		if err != nil {
			t.Fatalf("after %d answers: %v", answered, err)
		}
		_ = res.Body.Close()
		answered++
		if answered%100 == 0 {
			operator(t, dir)
		}
		time.Sleep(10 * time.Millisecond)
	}
	standing, err := admin.ConnectionsOf(t.Context(), dir)
	if err != nil || standing.Open > standing.Most || standing.Most >= descriptors {
		t.Errorf("%+v, %v", standing, err)
	}
	refreshed := false
	o, err := admin.Open(t.Context(), admin.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	jobs, err := o.Jobs(t.Context())
	for _, j := range jobs {
		refreshed = refreshed || j.Name == "refresh" && j.SucceededAt != nil && j.SucceededAt.After(began)
	}
	if err != nil || !refreshed {
		t.Errorf("no refresh since the connections are there: %+v, %v", jobs, err)
	}
	t.Logf("%d answers beside %d connections; %+v of %s", answered, connections, standing, filepath.Base(dir))
}

// operator asks what the operator may.
func operator(t *testing.T, dir string) {
	t.Helper()
	o, err := admin.Open(t.Context(), admin.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, err := o.Owners(t.Context()); err != nil {
		t.Errorf("the operator is not answered: %v", err)
	}
}
