package web_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// load is a client that costs next to nothing: connections that stay open, a request made once, and answers of which only the
// first twelve bytes are looked at.
type load struct {
	request []byte
	size    int // of a whole answer; all are of one size
	conns   []net.Conn
}

// newLoad opens n connections to the server at url and learns the size of its answers.
func newLoad(b *testing.B, url, request string, n int) *load {
	b.Helper()
	l := &load{request: []byte(request)}
	for range n {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		l.conns = append(l.conns, conn)
	}
	res, head := first(b, l.conns[0], l.request)
	l.size = head + int(res.ContentLength)
	return l
}

// first sends a request and reads the answer whole. It returns it with the size of its head.
func first(b *testing.B, conn net.Conn, request []byte) (res *http.Response, head int) {
	b.Helper()
	if _, err := conn.Write(request); err != nil {
		b.Fatal(err)
	}
	var seen bytes.Buffer
	res, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &seen)), nil)
	if err != nil {
		b.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || int64(len(text)) != res.ContentLength {
		b.Fatalf("status %d, %d of %d bytes, %v", res.StatusCode, len(text), res.ContentLength, err)
	}
	res.Body = io.NopCloser(bytes.NewReader(text))
	return res, seen.Len() - len(text)
}

// run makes calls, shared out to the connections, and returns how long that took.
func (l *load) run(b *testing.B, calls int) time.Duration {
	b.Helper()
	done := make(chan error, len(l.conns))
	begin := time.Now()
	for _, conn := range l.conns {
		go func() { done <- l.runOn(conn, max(1, calls/len(l.conns))) }()
	}
	for range l.conns {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(begin)
}

// runOn makes calls on one connection.
func (l *load) runOn(conn net.Conn, calls int) error {
	answer := make([]byte, l.size)
	for range calls {
		if _, err := conn.Write(l.request); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, answer); err != nil {
			return err
		}
		if !bytes.HasPrefix(answer, []byte("HTTP/1.1 200")) {
			return fmt.Errorf("answered %.200q", answer)
		}
	}
	return nil
}

// bare serves the body of res under the headers of res, and does nothing else.
func bare(b *testing.B, res *http.Response) *httptest.Server {
	b.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	var headers [][2]string
	for name := range res.Header {
		if name != "Date" { // net/http's own
			headers = append(headers, [2]string{name, res.Header.Get(name)})
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		for _, line := range headers {
			h.Set(line[0], line[1])
		}
		_, _ = w.Write(body)
	}))
	b.Cleanup(server.Close)
	return server
}

// BenchmarkFreshToBare calls GET /v1/fresh of a whole daemon with a key, and a bare net/http handler that sends the same bytes, in
// turns of which each is short. ratio is what the daemon reaches of the calls per second of the bare handler: the median of the
// turns.
func BenchmarkFreshToBare(b *testing.B) {
	d := daemontest.Start(b)
	key := d.Key(b, api.TierFree)
	for _, coding := range []string{"identity", "gzip"} {
		request := "GET /v1/fresh HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\nAccept-Encoding: " + coding + "\r\n\r\n"
		for _, conns := range []int{2, 16, 64} {
			b.Run(fmt.Sprintf("%s/conns=%d", coding, conns), func(b *testing.B) {
				whole := newLoad(b, d.URL(), request, conns)
				res, _ := first(b, whole.conns[0], whole.request)
				b.SetBytes(int64(whole.size))
				compare(b, whole, newLoad(b, bare(b, res).URL, request, conns))
			})
		}
	}
}

// compare runs both loads in turns and reports their rates.
func compare(b *testing.B, whole, bare *load) {
	b.Helper()
	const turn = 1000
	whole.run(b, turn)
	bare.run(b, turn)
	var ratios []float64
	var spent [2]time.Duration
	calls := 0
	b.ResetTimer()
	for calls < b.N {
		n := max(1, min(turn, b.N-calls))
		calls += n
		var took [2]time.Duration
		loads := []*load{whole, bare}
		for i := range loads {
			i = (i + len(ratios)) % 2 // who begins changes
			took[i] = loads[i].run(b, n)
			spent[i] += took[i]
		}
		ratios = append(ratios, float64(took[1])/float64(took[0]))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(float64(calls)/spent[0].Seconds(), "fresh/s")
	b.ReportMetric(float64(calls)/spent[1].Seconds(), "bare/s")
	b.ReportMetric(0, "ns/op") // of both together, which says nothing
}
