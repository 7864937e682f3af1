package web_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// load is a client that costs next to nothing: connections that stay open, a request made once, and answers of which only the
// first twelve bytes are looked at.
type load struct {
	requests [][]byte // sent in turns
	size     int      // of a whole answer; all are of one size
	conns    []net.Conn
	made     int // calls of each connection until now: it goes on where it stopped
	taken
}

// taken is how long single calls took.
type taken struct {
	mu    sync.Mutex // guards times
	times []time.Duration
}

func (t *taken) add(times []time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.times = append(t.times, times...)
}

// sorted returns the times since it was asked last, in order.
func (t *taken) sorted() []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	times := t.times
	t.times = nil
	slices.Sort(times)
	return times
}

// runner makes calls, and notes how long they take.
type runner interface {
	run(b *testing.B, calls int) time.Duration
	sorted() []time.Duration
}

// newLoad opens n connections to the server at url and learns the size of its answers.
func newLoad(b *testing.B, url string, requests [][]byte, n int) *load {
	b.Helper()
	return newLoads(b, []string{url}, requests, n)
}

// newLoads is newLoad for several servers, in turns.
func newLoads(b *testing.B, urls []string, requests [][]byte, n int) *load {
	b.Helper()
	l := &load{requests: requests}
	for i := range n {
		conn, err := net.Dial("tcp", strings.TrimPrefix(urls[i%len(urls)], "http://"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		l.conns = append(l.conns, conn)
	}
	res, head := first(b, l.conns[0], l.requests[0])
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
	each := max(1, calls/len(l.conns))
	begin := time.Now()
	for i, conn := range l.conns {
		go func() { done <- l.runOn(conn, i*len(l.requests)/len(l.conns)+l.made, each) }()
	}
	defer func() { l.made += each }()
	for range l.conns {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(begin)
}

// good is how an answer begins.
const good = "HTTP/1.1 200"

// runOn makes calls on one connection, beginning with the request at from.
func (l *load) runOn(conn net.Conn, from, calls int) error {
	answer := make([]byte, l.size)
	times := make([]time.Duration, 0, calls)
	defer func() { l.add(times) }()
	for i := range calls {
		begin := time.Now()
		if _, err := conn.Write(l.requests[(from+i)%len(l.requests)]); err != nil {
			return err
		}
		n, err := io.ReadAtLeast(conn, answer, len(good))
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(answer, []byte(good)) { // before waiting for the size of a good one
			return fmt.Errorf("answered %q", answer[:n])
		}
		if _, err := io.ReadFull(conn, answer[n:]); err != nil {
			return err
		}
		times = append(times, time.Since(begin))
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

// unmetered is a Meter that takes nothing.
type unmetered struct{}

func (unmetered) Access(context.Context, billing.Call) error             { return nil }
func (unmetered) HasCredits(context.Context, billing.Call) (bool, error) { return true, nil }
func (unmetered) Charge(context.Context, billing.Call) (left billing.Left, err error) {
	return left, nil
}

// serveUnmetered serves what d answers to fresh, by the same keys, reader and handler, but charges nothing.
func serveUnmetered(b *testing.B, d *daemontest.Daemon, key string) string {
	b.Helper()
	return serveFresh(b, d, key, gate.Config{Keys: d.Keys(), Meter: unmetered{}})
}

// serveFresh serves what d answers to fresh behind another gate.
func serveFresh(b *testing.B, d *daemontest.Daemon, key string, cfg gate.Config) string {
	b.Helper()
	fresh := decode[api.StateResponse](b, get(b, d.URL()+"/v1/fresh", bearer(key)))
	f := feed.New(api.PackCrypto)
	err := f.Publish(state.Pulse{
		Pack: api.PackCrypto, GeneratedAt: fresh.Freshness.GeneratedAt, State: fresh.State, Citations: fresh.Citations,
	}, state.Narration{Brief: state.Brief{Text: fresh.Brief, At: *fresh.BriefAt, Of: *fresh.BriefOf}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	server, _ := serve(b, web.Config{
		Reader: reader.New(reader.Config{Packs: []reader.Pack{{ID: api.PackCrypto}}, Feed: f, History: noHistory{}, Now: d.Clock.Now}),
		Gate:   gate.New(cfg), Demo: true, Now: d.Clock.Now,
	})
	return server.URL
}

// BenchmarkFreshToBare calls GET /v1/fresh with a key, and a bare net/http handler that sends the same bytes under as many headers,
// in turns of which each is short. ratio is what is reached of the calls per second of the bare handler: the median of the turns.
// The handler is measured on its own, and within a whole daemon, which also bounds how long a call may take and has each charge on
// disk before it answers.
func BenchmarkFreshToBare(b *testing.B) {
	d := daemontest.Start(b)
	key := d.Key(b, api.TierEnterprise) // no window, and credits for every call
	d.Grant(b, key, 1_000_000_000)
	urls := map[string]string{"handler": serveUnmetered(b, d, key), "daemon": d.URL()}
	for _, server := range []string{"handler", "daemon"} {
		for _, coding := range []string{"identity", "gzip"} {
			requests := [][]byte{freshRequest(key, coding)}
			for _, conns := range []int{2, 16, 64} {
				b.Run(fmt.Sprintf("%s/%s/conns=%d", server, coding, conns), func(b *testing.B) {
					whole := newLoad(b, urls[server], requests, conns)
					res, _ := first(b, whole.conns[0], requests[0])
					compare(b, whole, newLoad(b, bare(b, res).URL, requests, conns))
				})
			}
		}
	}
}

// freshRequest is a call of fresh with a key.
func freshRequest(key, coding string) []byte { return request("/v1/fresh", key, coding) }

// request is a GET of path with a key.
func request(path, key, coding string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\nAccept-Encoding: " + coding + "\r\n\r\n")
}

// BenchmarkLookupToFresh calls lookup with one and with three questions, and fresh in place of the bare handler, both charged.
func BenchmarkLookupToFresh(b *testing.B) {
	d := daemontest.Start(b)
	key := d.Key(b, api.TierEnterprise)
	d.Grant(b, key, 1_000_000_000)
	for name, query := range map[string]string{"one": "ADA+price", "three": "ADA+price,tether+supply,solana+news"} {
		b.Run(name+"/conns=64", func(b *testing.B) {
			lookup := newLoad(b, d.URL(), [][]byte{request("/v1/lookup?q="+query, key, "identity")}, 64)
			compare(b, lookup, newLoad(b, d.URL(), [][]byte{freshRequest(key, "identity")}, 64))
		})
	}
}

// keys is how many keys BenchmarkFreshOfManyKeys has.
var keys = flag.Int("keys", 1000, "number of keys in BenchmarkFreshOfManyKeys")

// BenchmarkFreshOfManyKeys is the daemon's part of BenchmarkFreshToBare with many keys in turns, of owners with as many as one may have.
func BenchmarkFreshOfManyKeys(b *testing.B) {
	d := daemontest.Start(b)
	requests := make([][]byte, *keys)
	for i := range requests {
		owner := fmt.Sprintf("owner-%d", i/api.MaxActiveKeys)
		issued, err := d.Keys().Issue(b.Context(), account.NewKey{OwnerID: owner, Name: "x", Tier: api.TierEnterprise})
		if err == nil {
			_, err = d.Credits().Move(b.Context(), owner, billing.Entry{KeyID: issued.KeyID, Amount: 1_000_000, Kind: billing.KindGrant, Reason: "x"})
		}
		if err != nil {
			b.Fatal(err)
		}
		requests[i] = freshRequest(issued.Key, "identity")
	}
	for _, conns := range []int{2, 16, 64} {
		b.Run(fmt.Sprintf("conns=%d", conns), func(b *testing.B) {
			whole := newLoad(b, d.URL(), requests, conns)
			res, _ := first(b, whole.conns[0], requests[0])
			compare(b, whole, newLoad(b, bare(b, res).URL, requests, conns))
		})
	}
}

// compare runs both loads in turns and reports their rates. It returns how long each took.
func compare(b *testing.B, whole, bare runner) (spent [2]time.Duration) {
	b.Helper()
	const turn = 1000
	whole.run(b, turn)
	bare.run(b, turn)
	_, _ = whole.sorted(), bare.sorted()
	var ratios []float64
	calls := 0
	b.ResetTimer()
	for calls < b.N {
		n := max(1, min(turn, b.N-calls))
		calls += n
		var took [2]time.Duration
		loads := []runner{whole, bare}
		for i := range loads {
			i = (i + len(ratios)) % 2 // who begins changes
			took[i] = loads[i].run(b, n)
			spent[i] += took[i]
		}
		ratios = append(ratios, float64(took[1])/float64(took[0]))
	}
	slices.Sort(ratios)
	for name, l := range map[string]runner{"": whole, "bare-": bare} {
		times := l.sorted()
		b.ReportMetric(times[len(times)/2].Seconds()*1e3, name+"p50-ms")
		b.ReportMetric(times[len(times)*99/100].Seconds()*1e3, name+"p99-ms")
	}
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(float64(calls)/spent[0].Seconds(), "fresh/s")
	b.ReportMetric(float64(calls)/spent[1].Seconds(), "bare/s")
	b.ReportMetric(0, "ns/op") // of both together, which says nothing
	return spent
}
