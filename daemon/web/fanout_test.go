package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// crowd is many subscribers over loopback connections.
type crowd struct {
	conns   []net.Conn
	frames  sync.WaitGroup // done by each reader at the end of each frame
	stalled int            // the first of conns, who read nothing
	gzip    bool           // they ask for it
	bytes   atomic.Int64   // that came
}

// newCrowd opens n subscriptions at a server. Those that are to stall are the first.
func newCrowd(b *testing.B, s station, n, stalled int) *crowd {
	b.Helper()
	c := &crowd{stalled: stalled, gzip: s.gzip}
	request := "GET /v1/subscribe?token=cv_test_x HTTP/1.1\r\nHost: x\r\n\r\n"
	if c.gzip {
		request = strings.TrimSuffix(request, "\r\n") + "Accept-Encoding: gzip\r\n\r\n"
	}
	for range n {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close() })
		if _, err := conn.Write([]byte(request)); err != nil {
			b.Fatal(err)
		}
		c.conns = append(c.conns, conn)
	}
	return c
}

// listen lets all read that do not stall. The first frame of each and every delta is one Done of frames; pulses come when they come. Of
// compressed frames only the ends can be told, so all of them count: there may be no time for pulses.
func (c *crowd) listen() {
	end := []byte("\n\n\r\n")
	if c.gzip {
		end = []byte("\x00\x00\xff\xff\r\n")
	}
	for _, conn := range c.conns[c.stalled:] {
		go func() {
			const kept = 16 // bytes of the read before, which may have cut what is looked for
			buf := make([]byte, kept+64<<10)
			counts := true
			for {
				n, err := conn.Read(buf[kept:])
				if err != nil {
					return
				}
				c.bytes.Add(int64(n))
				seen := buf[:kept+n]
				counts = counts || c.gzip || bytes.Contains(seen, []byte("event: delta\n"))
				if counts && bytes.HasSuffix(seen, end) {
					c.frames.Done()
					counts = false
				}
				copy(buf, seen[n:])
			}
		}()
	}
}

// expect makes ready for a frame to every reader.
func (c *crowd) expect() { c.frames.Add(len(c.conns) - c.stalled) }

// station is a server that can be subscribed to.
type station struct {
	url     string
	publish func(n int)
	gzip    bool
}

// admitsAll is a gate that everybody passes, each with a key of their own.
type admitsAll struct {
	script
	n *atomic.Int64
}

func (a admitsAll) Admit(context.Context, gate.Credentials, api.Op, string) (gate.Caller, error) {
	key := strconv.FormatInt(a.n.Add(1), 10)
	return gate.Caller{Call: billing.Call{KeyID: key, OwnerID: key}}, nil
}

// realStation is the server of this package without admission.
func realStation(b *testing.B, stateOf func(n int) []byte) station {
	b.Helper()
	f := feed.New(api.PackCrypto)
	publish := func(n int) {
		at := time.Date(2026, 11, 20, 20, 0, n, 0, time.UTC)
		if err := f.Publish(state.Pulse{Pack: api.PackCrypto, GeneratedAt: at, State: stateOf(n)}, state.Narration{}, nil); err != nil {
			b.Error(err)
		}
	}
	publish(0)
	read := reader.New(reader.Config{Packs: []reader.Pack{{ID: api.PackCrypto}}, Feed: f, History: noHistory{}})
	server := httptest.NewServer(web.New(web.Config{Reader: read, Gate: admitsAll{n: new(atomic.Int64)}, Streams: f}))
	b.Cleanup(server.Close)
	b.Cleanup(server.CloseClientConnections)
	return station{url: server.URL, publish: publish}
}

// bareStation is the least that does the same: one frame for all, a slot and a wake for each reader.
func bareStation(b *testing.B, stateOf func(n int) []byte) station {
	b.Helper()
	var mu sync.Mutex
	wakes := map[chan struct{}]bool{}
	var frame []byte
	publish := func(n int) {
		next := feed.NewFrame(api.EventDelta, fmt.Appendf(nil, `{"pack":"crypto","state":%s,"ts":"2026-11-20T20:00:00Z"}`, stateOf(n))).Text()
		mu.Lock()
		defer mu.Unlock()
		frame = next
		for w := range wakes {
			select {
			case w <- struct{}{}:
			default:
			}
		}
	}
	publish(0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wake := make(chan struct{}, 1)
		wake <- struct{}{}
		mu.Lock()
		wakes[wake] = true
		mu.Unlock()
		rc := http.NewResponseController(w)
		for {
			select {
			case <-r.Context().Done():
				return
			case <-wake:
			}
			mu.Lock()
			now := frame
			mu.Unlock()
			if _, err := w.Write(now); err != nil {
				return
			}
			_ = rc.Flush()
		}
	}))
	b.Cleanup(server.Close)
	b.Cleanup(server.CloseClientConnections)
	return station{url: server.URL, publish: publish}
}

// BenchmarkFanOut measures the time from publishing a recorded state to its arrival at the last of many subscribers, beside that of a
// bare loop, and the memory of each subscriber on the server. Readers and server share the processors.
//
//	go test ./daemon/web -run XXX -bench FanOut -benchtime 8x
func BenchmarkFanOut(b *testing.B) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		b.Fatal(err)
	}
	recorded, err := os.ReadFile("../pack/testdata/tick1.golden.json")
	if err != nil {
		b.Fatal(err)
	}
	var tidy bytes.Buffer
	if err := json.Compact(&tidy, recorded); err != nil {
		b.Fatal(err)
	}
	state := func(n int) []byte { return fmt.Appendf(nil, `{"n":%d,"recorded":%s}`, n, tidy.Bytes()) }
	for _, n := range []int{1000, 5000} {
		for _, stalled := range []int{0, n / 100} {
			if limit.Cur < uint64(2*n+100) {
				b.Logf("%d subscribers need more than %d open files", n, limit.Cur)
				continue
			}
			last := map[string]time.Duration{}
			for _, kind := range []string{"bare", "web", "gzip"} {
				b.Run(fmt.Sprintf("%d/stalled=%d/%s", n, stalled, kind), func(b *testing.B) {
					at := realStation
					if kind == "bare" {
						at = bareStation
					}
					s := at(b, state)
					s.gzip = kind == "gzip"
					last[kind] = measure(b, s, n, stalled)
					if kind != "bare" {
						b.ReportMetric(float64(last[kind])/float64(last["bare"]), "ratio")
					}
				})
			}
		}
	}
}

// measure publishes b.N states to n subscribers and returns the median time to the last of them.
func measure(b *testing.B, s station, n, stalled int) time.Duration {
	b.Helper()
	before := memory()
	c := newCrowd(b, s, n, stalled)
	time.Sleep(500 * time.Millisecond) // the first frames are in the kernel's buffers
	each := (memory() - before) / n
	c.expect()
	c.listen()
	c.frames.Wait()
	times := make([]time.Duration, b.N)
	c.bytes.Store(0)
	used := processor()
	b.ResetTimer()
	for i := range times {
		c.expect()
		begin := time.Now()
		s.publish(i + 1)
		c.frames.Wait()
		times[i] = time.Since(begin)
	}
	used = processor() - used
	slices.Sort(times)
	b.ReportMetric(float64(c.bytes.Load())/float64(n*b.N)/1024, "KiB/frame")
	b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "cpu-ms/state")
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-to-last")
	b.ReportMetric(float64(each)/1024, "KiB/subscriber")
	b.ReportMetric(0, "ns/op")
	return times[len(times)/2]
}

// processor is the processor time that the process has used, readers and system calls included.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // of this process it always can
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memory is what the process has taken for heap and stacks.
func memory() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}
