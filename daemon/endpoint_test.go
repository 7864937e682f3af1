package daemon_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// TestRefusedBodies: who sends a body that is too large, or that nobody asked for, gets its answer however the connection goes on. The
// kernel holds little of what is sent, so the body is still under way when it is refused.
func TestRefusedBodies(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(c *daemon.Config) {
		c.JobsKey = []byte(strings.Repeat("k", 32))
		c.Limits = daemon.Limits{SignIns: 1_000_000, Mails: 1_000_000, Requests: 1_000_000}
	})
	key := d.Key(t, api.TierFree)
	for _, c := range []struct {
		path         string
		size, status int
		key          string
	}{
		{api.PathMCP, 320 << 10, http.StatusRequestEntityTooLarge, key},
		{api.PathCite, 64<<10 + 1, http.StatusRequestEntityTooLarge, key},
		{api.PathCite, 300 << 10, http.StatusRequestEntityTooLarge, ""},
		{api.PathKeys, 250 << 10, http.StatusUnauthorized, ""},
		{api.PathAuthEmail, 250 << 10, http.StatusRequestEntityTooLarge, ""},
		{api.PathAuthEmailLanding, 250 << 10, http.StatusRequestEntityTooLarge, ""},
		{api.PathInternalJobs + "/trim", 250 << 10, http.StatusRequestEntityTooLarge, ""},
		{api.PathFresh, 250 << 10, http.StatusMethodNotAllowed, ""},
		{"/nothing", 250 << 10, http.StatusNotFound, ""},
	} {
		for _, proto := range []string{"HTTP/1.1\r\nConnection: close", "HTTP/1.0", "HTTP/1.1"} {
			t.Run(fmt.Sprint(c.path, c.size, proto), func(t *testing.T) {
				t.Parallel()
				for range 5 {
					head := fmt.Sprintf("POST %s %s\r\nHost: %s\r\nContent-Length: %d\r\n", c.path, proto, strings.TrimPrefix(d.URL(), "http://"), c.size)
					if c.key != "" {
						head += "Authorization: Bearer " + c.key + "\r\n"
					}
					if c.path == api.PathAuthEmailLanding {
						head += "Content-Type: application/x-www-form-urlencoded\r\n"
					}
					if got := slowly(t, d.URL(), head+"\r\n"+strings.Repeat("x", c.size)); got != c.status {
						t.Fatalf("answered %d, want %d", got, c.status)
					}
				}
			})
		}
	}
}

// slowly sends a request over a connection that the kernel buffers little of, and then reads the answer's status.
func slowly(t *testing.T, url, request string) int {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetWriteBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatalf("the request is cut off: %v", err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer res.Body.Close()
	return res.StatusCode
}
