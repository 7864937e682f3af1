package web_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// crowdEnv has this program read streams for another, and names where: an address, a path and how many.
const crowdEnv = "CONTEXTD_TEST_CROWD"

// follower opens streams as many clients and prints a line whenever each of them has got an event, for as long as there are no pulses.
func follower(order string) error {
	var address, path string
	var n int
	if _, err := fmt.Sscan(order, &address, &path, &n); err != nil {
		return err
	}
	time.AfterFunc(api.PulseInterval, func() {
		fmt.Fprintln(os.Stderr, "it takes too long: give fewer states as -benchtime, or let the machine rest")
		os.Exit(1)
	})
	var events sync.WaitGroup
	events.Add(n)
	each := make(chan int, n)
	for i := range n {
		each <- i
	}
	close(each)
	for range 32 {
		go func() {
			for i := range each {
				if err := followOne(address, path, i, events.Done); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
			}
		}()
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0) // who asked has gone
	}()
	for {
		events.Wait()
		events.Add(n) // before any can come
		fmt.Println("all")
	}
}

// followOne opens stream i, four of which are of one client, and has each event told.
func followOne(address, path string, i int, told func()) error {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(i>>10), byte(i>>2))}}
	conn, err := dialer.Dial("tcp", address)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n", path); err != nil {
		return err
	}
	go func() {
		for r := bufio.NewReaderSize(conn, 4<<10); ; told() {
			if err := event(r); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}()
	return nil
}

// event reads up to the end of an event. What it reads of is compressed, and flushed after each; comments are too small to be any.
func event(r *bufio.Reader) error {
	const comment = 64 // bytes at most
	for all := int64(0); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		if status, ok := strings.CutPrefix(line, "HTTP/1.1 "); ok && !strings.HasPrefix(status, "200") {
			return fmt.Errorf("a stream is refused: %s", status)
		}
		size, err := strconv.ParseInt(strings.TrimSpace(line), 16, 64)
		if err != nil {
			continue // a line of the head, or the end of a chunk
		}
		chunk := make([]byte, size)
		if _, err := io.ReadFull(r, chunk); err != nil {
			return err
		}
		switch all += size; {
		case !bytes.HasSuffix(chunk, []byte("\x00\x00\xff\xff")):
		case all > comment:
			return nil
		default:
			all = 0
		}
	}
}

// crowdAt has another process open n streams at a server. What it returns waits until each of them has got one frame more.
func crowdAt(b *testing.B, address, path string, n int) (all func()) {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	c := exec.CommandContext(b.Context(), self)
	c.Env, c.Stderr = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", crowdEnv, address, path, n)), os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	lines := bufio.NewScanner(out)
	wait := func() {
		if !lines.Scan() {
			b.Fatal("the crowd has gone")
		}
	}
	wait()
	return wait
}

// rich is a gate that everybody passes, with credits: they may have all the streams that there are.
type rich struct{ admitsAll }

func (rich) HasCredits(context.Context, gate.Caller) (bool, error) { return true, nil }

// BenchmarkVisitors measures what a visitor of a page costs the daemon beside a subscriber, in one run: the memory of each and the processor
// time of a state. They are of another process, so that nothing of theirs is counted.
//
//	go test ./daemon/web -run XXX -bench Visitors -benchtime 20x
func BenchmarkVisitors(b *testing.B) {
	const n = 10_000
	p := newPages(b, web.PagePublic)
	publish := func(i int) { p.tell(b, 1+i%3, p.now.Add(time.Duration(i)*time.Second)) } // so that most figures change
	publish(0)
	read := reader.New(reader.Config{Packs: []reader.Pack{{ID: api.PackCrypto}}, Feed: p.feed, History: noHistory{}})
	server := httptest.NewServer(web.New(web.Config{
		Reader: read, Gate: rich{admitsAll{n: new(atomic.Int64)}}, Streams: p.feed, More: p.Routes(nil),
	}))
	b.Cleanup(server.Close)
	b.Cleanup(server.CloseClientConnections)
	following, unfollow := context.WithCancel(b.Context())
	var done sync.WaitGroup
	done.Go(func() { p.Follow(following, api.PackCrypto) })
	b.Cleanup(func() { unfollow(); done.Wait() })
	next := 0
	each, used := map[string]float64{}, map[string]float64{}
	for _, kind := range []string{"subscriber", "visitor"} {
		path := "/v1/subscribe?token=cv_test_x"
		if kind == "visitor" {
			path = eventsOf(api.PackCrypto) + "?v=1"
		}
		b.Run(kind, func(b *testing.B) {
			before := memory()
			all := crowdAt(b, server.Listener.Addr().String(), path, n)
			each[kind] = float64(memory()-before) / n / 1024
			cpu := processor()
			for b.Loop() {
				next++
				publish(next)
				all()
			}
			used[kind] = float64((processor() - cpu).Milliseconds()) / float64(b.N)
			b.ReportMetric(each[kind], "KiB/each")
			b.ReportMetric(used[kind], "cpu-ms/state")
			b.ReportMetric(each[kind]/each["subscriber"], "memory-ratio")
			b.ReportMetric(used[kind]/used["subscriber"], "cpu-ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkPage measures the time to the first byte of a page beside refreshes, every other of which reads the trends of a day again, and
// that of a file from the same daemon at the same time.
//
//	go test ./daemon/web -run XXX -bench Page -benchtime 1000x
func BenchmarkPage(b *testing.B) {
	d := daemontest.Start(b, func(cfg *daemon.Config) { cfg.Page = web.PagePublic })
	refreshing, stop := context.WithCancel(b.Context())
	var done sync.WaitGroup
	refreshes := 0
	done.Go(func() {
		for ; refreshing.Err() == nil; time.Sleep(20 * time.Millisecond) {
			d.Recording.Advance()
			d.Clock.Advance(5 * time.Minute)
			if err := d.Refresh(refreshing, api.PackCrypto); err == nil {
				refreshes++
			}
		}
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.URL(), "http://"))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	from := bufio.NewReaderSize(conn, 64<<10)
	times := map[string][]time.Duration{}
	for b.Loop() {
		for name, path := range map[string]string{"page": "/", "file": "/page.js"} {
			begin := time.Now()
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nAccept-Encoding: gzip\r\n\r\n", path)
			if _, err := from.Peek(1); err != nil {
				b.Fatal(err)
			}
			times[name] = append(times[name], time.Since(begin))
			res, err := http.ReadResponse(from, nil)
			if err != nil || res.StatusCode != http.StatusOK {
				b.Fatal(res, err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
		}
		time.Sleep(time.Millisecond)
	}
	stop()
	done.Wait()
	for name, list := range times {
		slices.Sort(list)
		for what, at := range map[string]int{"median": len(list) / 2, "p99": len(list) * 99 / 100, "max": len(list) - 1} {
			b.ReportMetric(float64(list[at].Microseconds())/1000, name+"-ms-"+what)
		}
	}
	b.ReportMetric(float64(refreshes), "refreshes")
	b.ReportMetric(0, "ns/op")
}

// kept is an answer that stays open. What is written of it is forgotten.
type kept struct {
	header http.Header
	status chan int // told once
	once   sync.Once
}

func (k *kept) Header() http.Header { return k.header }

func (k *kept) Write(p []byte) (int, error) { return len(p), nil }

func (k *kept) WriteHeader(status int) { k.once.Do(func() { k.status <- status }) }

func (k *kept) Flush() { k.WriteHeader(http.StatusOK) }

// TestPageRoom: 10,000 pages are followed at a time and not one more; five of one client, and not one more. Who
// leaves makes room.
func TestPageRoom(t *testing.T) {
	t.Parallel()
	p := newPages(t, web.PagePublic)
	p.publish(t, p.now)
	server := web.NewAt(web.Config{Reader: script{}, Gate: script{}, More: p.Routes(nil)},
		func(*web.Server) web.Routes { return web.Routes{"/": {}} })
	var all sync.WaitGroup
	defer all.Wait()
	open := func(client string) (status int, leave func()) {
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, eventsOf(api.PackCrypto), nil)
		r.RemoteAddr, r.Host = client+":5000", "context.example.org"
		k := &kept{header: http.Header{}, status: make(chan int, 1)}
		left := make(chan struct{})
		all.Go(func() { defer close(left); server.ServeHTTP(k, r) })
		t.Cleanup(cancel)
		return <-k.status, func() { cancel(); <-left }
	}
	const each, most = 5, 10_000
	var leave func()
	for i := range most {
		client := fmt.Sprintf("10.0.%d.%d", i/each>>8, i/each&255)
		var status int
		if status, leave = open(client); status != http.StatusOK {
			t.Fatalf("stream %d of %s: %d", i+1, client, status)
		}
		if i == each-1 {
			if status, _ := open(client); status != http.StatusTooManyRequests {
				t.Errorf("a client's sixth: %d", status)
			}
		}
	}
	if status, _ := open("192.0.2.1"); status != http.StatusTooManyRequests {
		t.Errorf("one above %d: %d", most, status)
	}
	leave()
	if status, _ := open("192.0.2.1"); status != http.StatusOK {
		t.Errorf("after one has left: %d", status)
	}
	if status, _ := open("192.0.2.2"); status != http.StatusTooManyRequests {
		t.Errorf("one above %d again: %d", most, status)
	}
	p.End()
}
