package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// tape is a ResponseWriter that keeps what is written, with the time of each write.
type tape struct {
	begin time.Time
	turn  chan struct{} // holds one; who takes it holds up the writes

	mu     sync.Mutex // guards what follows
	header http.Header
	text   bytes.Buffer
	stale  bool // a write deadline passed
}

func (p *tape) Header() http.Header { return p.header }
func (p *tape) WriteHeader(int)     {}
func (p *tape) Flush()              {}

func (p *tape) Write(frame []byte) (int, error) {
	<-p.turn
	defer func() { p.turn <- struct{}{} }()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stale {
		return 0, os.ErrDeadlineExceeded
	}
	fmt.Fprintf(&p.text, "@%v\n%s", time.Since(p.begin).Round(time.Millisecond), frame)
	return len(frame), nil
}

func (p *tape) SetReadDeadline(time.Time) error { return nil }

func (p *tape) SetWriteDeadline(at time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stale = !at.IsZero()
	return nil
}

// studio is a stream under synthetic time.
type studio struct {
	feed   *feed.Feed
	server *web.Server
	tape   *tape
	leave  context.CancelFunc
	ended  chan struct{}
	n      int
}

// endable is a gate whose callers' keys can end.
type endable struct {
	script
	end chan struct{}
}

func (e endable) Ended(gate.Caller) <-chan struct{} { return e.end }

// newStudio opens a stream in the bubble of a synctest.
func newStudio(t *testing.T, g web.Gate) *studio {
	t.Helper()
	s := &studio{feed: feed.New(api.PackCrypto), ended: make(chan struct{})}
	s.publish(t)
	read := reader.New(reader.Config{Packs: []reader.Pack{{ID: api.PackCrypto}}, Feed: s.feed, History: noHistory{}, Now: time.Now})
	s.server = web.New(web.Config{Reader: read, Gate: g, Streams: s.feed, Now: time.Now})
	s.tape = &tape{begin: time.Now(), header: http.Header{}, turn: make(chan struct{}, 1)}
	s.tape.turn <- struct{}{}
	ctx, leave := context.WithCancel(t.Context())
	s.leave = leave
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "/v1/subscribe?token=cv_test_x", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		s.server.ServeHTTP(s.tape, req)
	}()
	synctest.Wait()
	return s
}

// publish publishes the next state.
func (s *studio) publish(t *testing.T) {
	t.Helper()
	s.n++
	err := s.feed.Publish(state.Pulse{
		Pack: api.PackCrypto, GeneratedAt: time.Date(2026, 11, 20, 20, 0, s.n, 5e8, time.UTC), State: fmt.Appendf(nil, `{"n":%d,"t":"<&>\n"}`, s.n),
	}, state.Narration{}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// text is the transcript so far.
func (s *studio) text() string {
	synctest.Wait()
	s.tape.mu.Lock()
	defer s.tape.mu.Unlock()
	return s.tape.text.String()
}

// TestStreamTranscript plays a stream second by second: what is sent when, to the byte.
func TestStreamTranscript(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStudio(t, script{})
		time.Sleep(4 * time.Second)
		s.publish(t)
		time.Sleep(16 * time.Second) // the pulse of 15 s has the newest state
		s.feed.Fail(api.PackCrypto, "refresh failed: every source failed")
		time.Sleep(11 * time.Second)
		s.leave()
		<-s.ended
		const want = `@0s
event: pulse
data: {"pack":"crypto","state":{"n":1,"t":"<&>\n"},"ts":"2026-11-20T20:00:01.5Z"}

@4s
event: delta
data: {"pack":"crypto","state":{"n":2,"t":"<&>\n"},"ts":"2026-11-20T20:00:02.5Z"}

@15s
event: pulse
data: {"pack":"crypto","state":{"n":2,"t":"<&>\n"},"ts":"2026-11-20T20:00:02.5Z"}

@20s
event: error
data: {"message":"refresh failed: every source failed"}

@25s
: keepalive 946684825000

@30s
event: pulse
data: {"pack":"crypto","state":{"n":2,"t":"<&>\n"},"ts":"2026-11-20T20:00:02.5Z"}

`
		if got := s.text(); got != want {
			t.Errorf("the stream is\n%s\nwant\n%s", got, want)
		}
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Cache-Control": "no-cache, no-transform", "Content-Encoding": "",
			"Access-Control-Allow-Origin": "*",
		} {
			if got := s.tape.header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	})
}

// TestSlowReaderGetsTheNewest holds a reader up while states come: it gets the last of them, the others are counted.
func TestSlowReaderGetsTheNewest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStudio(t, script{})
		<-s.tape.turn
		s.publish(t) // the write of this one waits
		synctest.Wait()
		for range 3 {
			s.publish(t)
		}
		s.tape.turn <- struct{}{}
		got := s.text()
		for n, want := range []int{0, 1, 1, 0, 0, 1} {
			if c := strings.Count(got, fmt.Sprintf(`{"n":%d,`, n)); c != want {
				t.Errorf("state %d was sent %d times, want %d", n, c, want)
			}
		}
		if dropped := s.server.Stats().Dropped.Load(); dropped != 2 {
			t.Errorf("%d states are counted as dropped, want 2", dropped)
		}
		s.leave()
		<-s.ended
		if open := s.server.Stats().Open.Load(); open != 0 {
			t.Errorf("%d streams are open", open)
		}
	})
}

// TestPulseSaysWhichSourcesFail: the next pulse of a state says beside it how its sources do, as do those after it, and a delta of a state
// whose sources are all well does not.
func TestPulseSaysWhichSourcesFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStudio(t, script{})
		edition, _ := s.feed.Latest(api.PackCrypto)
		status := []api.SourceStatus{{Ref: 1, ID: "one", Status: api.SourceError, Failures: 2}}
		if err := s.feed.PublishHealth(api.PackCrypto, nil, edition.Ages().Updated(status, nil)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(31 * time.Second)
		s.publish(t)
		s.leave()
		frames := strings.Split(s.text(), "\nevent: ")
		var got []string
		for _, frame := range frames {
			if name, _, data := strings.Cut(frame, "\ndata: "); data {
				got = append(got, fmt.Sprint(strings.TrimPrefix(name, "event: "), strings.Contains(frame, `"sources":[{"id":"one","status":"error","failures":2}]`) &&
					strings.Contains(frame, `"flags":[{"id":"source:one"`)))
			}
		}
		if text := strings.Join(got, " "); text != "pulsefalse pulsetrue pulsetrue deltafalse" {
			t.Errorf("frames: %s\n%s", text, s.text())
		}
	})
}

// TestNewsBeforePulse: a state that comes just as a pulse is due is told as a delta first, and once.
func TestNewsBeforePulse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStudio(t, script{})
		for range 20 {
			<-s.tape.turn
			s.publish(t) // the write of this one waits beyond the next pulse
			time.Sleep(api.PulseInterval)
			s.publish(t)
			s.tape.turn <- struct{}{}
			synctest.Wait()
		}
		s.leave()
		<-s.ended
		got := s.text()
		for n := 2; n <= s.n; n++ {
			told := regexp.MustCompile(fmt.Sprintf(`event: (\w+)\ndata: \{"pack":"crypto","state":\{"n":%d,`, n)).FindAllStringSubmatch(got, -1)
			for i, event := range told {
				if (event[1] == string(api.EventDelta)) != (i == 0) {
					t.Fatalf("state %d comes as %q", n, told)
				}
			}
			if len(told) == 0 {
				t.Fatalf("state %d does not come", n)
			}
		}
	})
}

func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *studio, g endable){
		"the key is revoked":   func(_ *studio, g endable) { close(g.end) },
		"the server stops":     func(s *studio, _ endable) { s.server.EndStreams(); s.server.EndStreams() },
		"the client leaves":    func(s *studio, _ endable) { s.leave() },
		"the reader is gone":   func(s *studio, _ endable) { _ = s.tape.SetWriteDeadline(time.Unix(1, 0)); time.Sleep(16 * time.Second) },
		"it takes nothing 60s": func(s *studio, _ endable) { <-s.tape.turn; time.Sleep(76 * time.Second); s.tape.turn <- struct{}{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := endable{end: make(chan struct{})}
				s := newStudio(t, g)
				defer s.leave()
				end(s, g)
				synctest.Wait()
				select {
				case <-s.ended:
				default:
					t.Error("the stream goes on")
				}
				if want := int64(strings.Count(name, "60s")); s.server.Stats().Stalled.Load() != want {
					t.Errorf("%d streams are counted as stalled, want %d", s.server.Stats().Stalled.Load(), want)
				}
			})
		})
	}
}

// frame is one event of a stream.
type frame struct{ event, data string }

// subscribe opens a stream at a daemon, compressed or not, and returns a function that reads the next event, or how the stream ended.
func subscribe(t *testing.T, d *daemontest.Daemon, key string, compressed bool) func() (frame, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+"/v1/subscribe?pack=crypto&token="+key, nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: !compressed}
	res, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.Uncompressed != compressed || res.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("the stream was compressed: %t; Vary %q", res.Uncompressed, res.Header.Get("Vary"))
	}
	t.Cleanup(func() { _ = res.Body.Close(); transport.CloseIdleConnections() })
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		t.Fatalf("subscribe answers %d %s", res.StatusCode, text)
	}
	lines := bufio.NewReader(res.Body)
	return func() (f frame, err error) {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return f, err
			}
			switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); name {
			case "event":
				f.event = value
			case "data":
				f.data = value
			case "":
				return f, nil
			}
		}
	}
}

// TestSubscribe is a stream of a whole daemon: charged once, new states as they come, the end of the key, the end of the daemon.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key, other := d.Key(t, api.TierFree), d.Key(t, api.TierFree)
	d.Grant(t, key, 10)
	next, stays := subscribe(t, d, key, true), subscribe(t, d, other, false)
	first := nextState(t, next, api.EventPulse)
	_ = nextState(t, stays, api.EventPulse)
	d.Clock.Advance(time.Minute)
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	second := nextState(t, next, api.EventDelta)
	if !second.TS.After(first.TS) || second.Pack != api.PackCrypto || !json.Valid(second.State) {
		t.Errorf("a delta of %v after a pulse of %v", second.TS, first.TS)
	}
	d.Recording.Break("", nil)
	if err := d.Refresh(t.Context(), api.PackCrypto); err == nil {
		t.Fatal("a refresh without sources succeeded")
	}
	if f, err := next(); err != nil || f.event != string(api.EventError) || !strings.Contains(f.data, "every source failed") {
		t.Errorf("after a failed refresh comes %+v, %v", f, err)
	}
	if _, err := d.Keys().Revoke(t.Context(), key[:api.KeyIDLength]); err != nil {
		t.Fatal(err)
	}
	if f, err := next(); err != io.EOF { // a gzip stream that is not whole ends otherwise
		t.Errorf("after the revocation comes %+v, %v", f, err)
	}
	if left, err := d.Credits().Balance(t.Context(), "00000000-0000-4000-8000-000000000001", ""); err != nil || left.Balance != 0 {
		t.Errorf("the pool has %d, %v", left.Balance, err)
	}
	if f, err := stays(); err != nil || f.event != string(api.EventDelta) {
		t.Errorf("the other stream has %+v, %v", f, err)
	}
	if f, err := stays(); err != nil || f.event != string(api.EventError) {
		t.Errorf("the other stream has %+v, %v", f, err)
	}
	d.Stop(t)
	if f, err := stays(); !errors.Is(err, io.EOF) {
		t.Errorf("after the stop comes %+v, %v", f, err)
	}
}

// nextState reads the next event, which must be of the given kind and carry a state.
func nextState(t *testing.T, next func() (frame, error), kind api.EventType) (s api.StreamState) {
	t.Helper()
	f, err := next()
	if err != nil || f.event != string(kind) {
		t.Fatalf("the next event is %+v, %v; want %s", f, err, kind)
	}
	if err := json.Unmarshal([]byte(f.data), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSubscribeRefusals(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key, spent := d.Key(t, api.TierFree), d.Key(t, api.TierFree)
	for range api.FreeCallsPerDay {
		if a := get(t, d.URL()+"/v1/cite?ref=1", bearer(spent)); a.Status != http.StatusOK {
			t.Fatalf("a free call answers %d", a.Status)
		}
	}
	for query, want := range map[string]string{
		"":                               "400 missing_token",
		"token=":                         "400 missing_token",
		"token=abc":                      "400 missing_token",
		"token=" + key + "&token=" + key: "400 invalid_request",
		"pack=none&token=" + key:         "404 pack_not_found",
		"pack=none":                      "400 missing_token",
		"token=cv_test_unknown":          "401 invalid_token",
		"token=" + spent:                 "429 quota_exhausted",
	} {
		a := get(t, d.URL()+"/v1/subscribe?"+query, bearer(key)) // the header is not looked at
		if e := refusal(t, a, http.MethodGet).Error; fmt.Sprint(a.Status, " ", e.Reason) != want {
			t.Errorf("?%s answers %d %s, want %s", query, a.Status, e.Reason, want)
		}
	}
	head := call(t, http.MethodHead, d.URL()+"/v1/subscribe?token="+key)
	if head.Status != http.StatusOK || head.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD answers %d %v", head.Status, head.Header)
	}
}
