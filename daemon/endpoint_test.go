package daemon_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/handbook"
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

// TestTwoLengths: what comes on a connection after a request that has Content-Length beside Transfer-Encoding is not answered, as a proxy may
// take it for the body of that request.
func TestTwoLengths(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	for _, c := range []struct {
		fields string
		closed bool
	}{
		{"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", true},
		{"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", true},
		{"Content-Length: 5\r\n\r\nabcde", false},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(d.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		const next = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
		if _, err := conn.Write([]byte("POST /v1/cite HTTP/1.1\r\nHost: localhost\r\n" + c.fields + next)); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(conn)
		conn.Close()
		if answers := strings.Count(string(text), "HTTP/1.1 "); err != nil || answers == 2 == c.closed {
			t.Errorf("%q: %d answers, %v\n%s", c.fields, answers, err, text)
		}
	}
}

// TestHeadersAsTheHandbookSays: as many bytes of headers are taken as it says, and hardly more.
func TestHeadersAsTheHandbookSays(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	var kib int
	for _, topic := range handbook.Topics() {
		if _, row, ok := strings.Cut(topic.Text, "(256 KiB for MCP), "); ok {
			if _, err := fmt.Sscanf(row, "%d KiB of headers", &kib); err != nil {
				t.Fatal(err)
			}
		}
	}
	for size, status := range map[int]int{kib<<10 - 512: http.StatusOK, kib<<10 + 8<<10: http.StatusRequestHeaderFieldsTooLarge} {
		head := "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", size) + "\r\n\r\n"
		if got := slowly(t, d.URL(), head); got != status {
			t.Errorf("%d bytes of headers, of %d KiB: %d", size, kib, got)
		}
	}
}

// TestMostConnections: descriptors are left for the rest, however few there are, and memory is.
func TestMostConnections(t *testing.T) {
	t.Parallel()
	for descriptors, want := range map[uint64]int{
		20: 12, 48: 12, 60: 12, 61: 13, 64: 16, 192: 144, 400: 300, 1_024: 768, 2_048: 1_536, 2_049: 1_537, 33_280: 32_768, 65_536: 32_768,
		math.MaxUint64: 32_768,
	} {
		if got := daemon.MostConnections(descriptors); got != want {
			t.Errorf("of %d descriptors: %d, want %d", descriptors, got, want)
		}
	}
}

// TestConnectionsAreBounded: of a daemon's connections of one address, the one that has been idle for longest gives way.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(c *daemon.Config) { c.Limits.ConnectionsPerClient = 2 })
	var conns []net.Conn
	for range 3 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(d.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: "+strings.TrimPrefix(d.URL(), "http://")+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res, err)
		}
		conns = append(conns, conn)
	}
	if n, err := conns[0].Read(make([]byte, 1)); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
		t.Errorf("the first is still open: %v", err)
	}
	if got := d.Connections(); got.Open != 2 || got.Client != 1 {
		t.Errorf("%+v", got)
	}
}
