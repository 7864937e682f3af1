package sdk_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// streamScript is a service whose streams go as written: each connection takes the next answer, and the last one for ever.
type streamScript struct {
	answers []func(*http.Request) (*http.Response, error)
	begin   time.Time
	asked   []string // when each connection was asked for
}

func (s *streamScript) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Query().Get("token") != streamKey || req.URL.Path != "/v1/subscribe" {
		return nil, fmt.Errorf("asked %s", req.URL.Path)
	}
	s.asked = append(s.asked, fmt.Sprint(time.Since(s.begin).Truncate(time.Second)))
	answer := s.answers[min(len(s.asked), len(s.answers))-1]
	return answer(req)
}

const streamKey = "cv_test_SECRETSECRETSECRETSECRETSECRETSE"

// frames answers with the given text, piece by piece, and then with end: io.EOF for a clean end, nil for silence.
func frames(end error, pieces ...string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		r, w := io.Pipe()
		go func() {
			for _, p := range pieces {
				if _, err := io.WriteString(w, p); err != nil {
					return
				}
			}
			if end == nil {
				<-req.Context().Done()
				end = req.Context().Err()
			}
			_ = w.CloseWithError(end)
		}()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: r, Request: req}, nil
	}
}

// pulse is a frame of the state of second n.
func pulse(kind string, n int) string {
	return fmt.Sprintf("event: %s\ndata: {\"pack\":\"crypto\",\"state\":{\"n\":%d},\"ts\":\"2026-11-20T20:00:%02dZ\"}\n\n", kind, n, n)
}

// status answers with an error.
func status(code int, retryAfter string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{"Retry-After": {retryAfter}}, Request: req,
			Body: io.NopCloser(strings.NewReader(`{"error":{"code":"AUTH_INVALID","reason":"key_revoked","message":"m","requestId":"r"}}`))}, nil
	}
}

// refuse is a network that is down.
func refuse(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
}

// listen reads events until there are n, and writes down each and each change of the connection.
func listen(t *testing.T, s *streamScript, n int, repeats bool) (log []string, err error) {
	t.Helper()
	s.begin = time.Now()
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithAPIKey(sdk.NewKey(streamKey)), sdk.WithHTTPClient(&http.Client{Transport: s, Timeout: time.Minute}))
	if err != nil {
		t.Fatal(err)
	}
	stream := c.Subscribe(sdk.SubscribeRequest{Repeats: repeats, OnChange: func(c sdk.Connection) {
		if !c.Connected {
			log = append(log, fmt.Sprintf("lost: %v", c.Err))
		}
	}})
	for event, err := range stream.Events(t.Context()) {
		if err != nil {
			return log, err
		}
		switch event.Type {
		case api.EventError:
			log = append(log, "error: "+event.Message)
		default:
			log = append(log, fmt.Sprintf("%s %s", event.Type, event.State.State))
		}
		if n--; n == 0 {
			break
		}
	}
	return log, nil
}

// TestStreamOfBriefs: it asks for briefs, says what time it is for the service, and yields a state again when its brief is newer.
func TestStreamOfBriefs(t *testing.T) {
	t.Parallel()
	frame := func(at string) string {
		return `event: pulse` + "\n" + `data: {"pack":"crypto","state":{},"ts":"2026-11-20T20:05:00Z","brief":"Up [1].","briefAt":"2026-11-20T20:0` + at + `:00Z"}` + "\n\n"
	}
	var asked string
	s := &streamScript{answers: []func(*http.Request) (*http.Response, error){func(req *http.Request) (*http.Response, error) {
		asked = req.URL.Query().Get("brief")
		res, err := frames(nil, frame("5"), frame("5"), frame("6"))(req)
		res.Header.Set("Date", "Fri, 20 Nov 2026 20:07:00 GMT")
		return res, err
	}}}
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithAPIKey(sdk.NewKey(streamKey)), sdk.WithHTTPClient(&http.Client{Transport: s}))
	if err != nil {
		t.Fatal(err)
	}
	var at time.Time
	var briefs []string
	for event, err := range c.Subscribe(sdk.SubscribeRequest{Brief: true, OnChange: func(c sdk.Connection) { at = c.At }}).Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if briefs = append(briefs, event.State.BriefAt.Format("15:04 ")+event.State.Brief); len(briefs) == 2 {
			break
		}
	}
	if asked != "true" || fmt.Sprint(briefs) != "[20:05 Up [1]. 20:06 Up [1].]" || at.Format(time.TimeOnly) != "20:07:00" {
		t.Errorf("asked for %q, got %q at %v", asked, briefs, at)
	}
}

func TestStreamEvents(t *testing.T) {
	t.Parallel()
	long := ": keepalive 1\n\n" + pulse("pulse", 1) + pulse("pulse", 1) + pulse("delta", 2) + "event: news\ndata: {}\n\n" +
		"event: error\ndata: {\"message\":\"refresh failed\"}\n\n" + pulse("pulse", 2) + pulse("delta", 3)
	for name, test := range map[string]struct {
		answers []func(*http.Request) (*http.Response, error)
		repeats bool
		n       int
		want    string
	}{
		"in order, each state once": {answers: []func(*http.Request) (*http.Response, error){frames(nil, long)}, n: 4,
			want: `pulse {"n":1}, delta {"n":2}, error: refresh failed, delta {"n":3}`},
		"with the pulses that repeat": {answers: []func(*http.Request) (*http.Response, error){frames(nil, long)}, repeats: true, n: 6,
			want: `pulse {"n":1}, pulse {"n":1}, delta {"n":2}, error: refresh failed, pulse {"n":2}, delta {"n":3}`},
		"byte by byte": {answers: []func(*http.Request) (*http.Response, error){frames(nil, strings.Split(long, "")...)}, n: 4,
			want: `pulse {"n":1}, delta {"n":2}, error: refresh failed, delta {"n":3}`},
		"over a clean end": {answers: []func(*http.Request) (*http.Response, error){frames(io.EOF, pulse("pulse", 1)),
			frames(nil, pulse("pulse", 1), pulse("delta", 2))}, n: 2,
			want: `pulse {"n":1}, lost: get http://127.0.0.1:8402/v1/subscribe?token=redacted: the service ended the stream, delta {"n":2}`},
		"over a node that is behind": {answers: []func(*http.Request) (*http.Response, error){frames(io.EOF, pulse("pulse", 2)),
			frames(nil, pulse("pulse", 1), pulse("delta", 2), pulse("delta", 3))}, n: 2,
			want: `pulse {"n":2}, lost: get http://127.0.0.1:8402/v1/subscribe?token=redacted: the service ended the stream, delta {"n":3}`},
		"over a cut frame": {answers: []func(*http.Request) (*http.Response, error){frames(io.EOF, pulse("pulse", 1), pulse("delta", 2)[:60]),
			frames(nil, pulse("pulse", 2))}, n: 2,
			want: `pulse {"n":1}, lost: get http://127.0.0.1:8402/v1/subscribe?token=redacted: event delta cannot be read: not valid JSON at byte 41, pulse {"n":2}`},
		"over a broken connection": {answers: []func(*http.Request) (*http.Response, error){frames(iotest.ErrTimeout, pulse("pulse", 1)), refuse,
			frames(nil, pulse("pulse", 2))}, n: 2,
			want: `pulse {"n":1}, lost: get http://127.0.0.1:8402/v1/subscribe?token=redacted: timeout, ` +
				`lost: get http://127.0.0.1:8402/v1/subscribe?token=redacted: nothing listens there (connection refused), pulse {"n":2}`},
		"over a frame that never ends": {answers: []func(*http.Request) (*http.Response, error){frames(nil, "data: "+strings.Repeat("x", 9<<20)),
			frames(nil, pulse("pulse", 2))}, n: 1,
			want: `lost: get http://127.0.0.1:8402/v1/subscribe?token=redacted: the answer is larger than this program takes, pulse {"n":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log, err := listen(t, &streamScript{answers: test.answers}, test.n, test.repeats)
				got := strings.ReplaceAll(strings.Join(log, ", "), " after 1 attempt", "")
				if err != nil || got != test.want {
					t.Errorf("got  %s, %v\nwant %s", got, err, test.want)
				}
			})
		})
	}
}

// TestStreamWaits pins when connections are asked for: after silence, growing waits, and what the service says.
func TestStreamWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &streamScript{answers: []func(*http.Request) (*http.Response, error){
			frames(nil, pulse("pulse", 1), ": keepalive 1\n\n"), status(503, "7"), status(429, "300"), refuse, refuse, refuse, refuse, refuse,
			frames(nil, pulse("pulse", 2)),
		}}
		log, err := listen(t, s, 2, false)
		if err != nil || !strings.Contains(strings.Join(log, " "), "no state for 60 seconds") {
			t.Errorf("%v, %v", log, err)
		}
		begin := 0 * time.Second
		// The shortest and the longest wait before each connection but the first, in seconds.
		bounds := [][2]float64{{60.4, 61.1}, {7, 7}, {300, 300}, {4, 8}, {8, 16}, {15, 30}, {15, 30}, {15, 30}}
		for i, asked := range s.asked[1:] {
			at, err := time.ParseDuration(asked)
			if err != nil {
				t.Fatal(err)
			}
			if waited := (at - begin).Seconds(); waited < bounds[i][0]-1 || waited > bounds[i][1]+1 {
				t.Errorf("connection %d was asked for after %v s, want %v", i+2, waited, bounds[i])
			}
			begin = at
		}
		if len(s.asked) != len(bounds)+1 {
			t.Errorf("connections at %v", s.asked)
		}
	})
}

func TestStreamEndsForGood(t *testing.T) {
	t.Parallel()
	for _, refusal := range []struct {
		code  int
		after string // seconds to be left alone for
	}{{400, ""}, {401, ""}, {402, ""}, {403, ""}, {404, ""}, {429, "301"}, {503, "301"}} {
		code := refusal.code
		synctest.Test(t, func(t *testing.T) {
			s := &streamScript{answers: []func(*http.Request) (*http.Response, error){status(code, refusal.after)}}
			_, err := listen(t, s, 1, false)
			if !errors.Is(err, sdk.ErrKeyRevoked) || len(s.asked) != 1 || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("status %d: %v after %d connections", code, err, len(s.asked))
			}
		})
	}
}

func TestStreamIsEndedByItsReader(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *sdk.Stream, cancel func()){
		"close":  func(s *sdk.Stream, _ func()) { s.Close(); s.Close() },
		"cancel": func(_ *sdk.Stream, cancel func()) { cancel() },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &streamScript{answers: []func(*http.Request) (*http.Response, error){frames(nil, pulse("pulse", 1))}}
			c, err := sdk.New(sdk.WithoutEnv(), sdk.WithAPIKey(sdk.NewKey(streamKey)), sdk.WithHTTPClient(&http.Client{Transport: s}))
			if err != nil {
				t.Fatal(err)
			}
			stream := c.Subscribe(sdk.SubscribeRequest{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(10*time.Second, func() { end(stream, cancel) })
			var last error
			for _, err := range stream.Events(ctx) {
				last = err
				if !stream.Connection().Connected {
					t.Errorf("%s: not connected while events come", name)
				}
			}
			if want := map[string]error{"cancel": context.Canceled}[name]; !errors.Is(last, want) {
				t.Errorf("after %s the events end with %v, want %v", name, last, want)
			}
		})
	}
}

// TestCompressedStream asks for gzip, and yields each event before there is more to read.
func TestCompressedStream(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Errorf("Accept-Encoding is %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		for n := 1; n <= 3; n++ {
			_, _ = io.WriteString(z, pulse("delta", n))
			_ = z.Flush()
			_ = http.NewResponseController(w).Flush()
			select {
			case got := <-seen:
				if want := fmt.Sprintf(`{"n":%d}`, n); got != want {
					t.Errorf("event %d is %s", n, got)
				}
			case <-r.Context().Done():
				return
			case <-time.After(2 * time.Minute):
				t.Errorf("event %d is not seen before there are more", n)
				return
			}
		}
	})
	n := 0
	for e, err := range c.Subscribe(sdk.SubscribeRequest{}).Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		seen <- string(e.State.State)
		if n++; n == 3 {
			break
		}
	}
}

// paced is frames with so much time before each piece.
func paced(every time.Duration, end error, pieces ...string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		r, w := io.Pipe()
		go func() {
			for _, p := range pieces {
				select {
				case <-time.After(every):
				case <-req.Context().Done():
					_ = w.CloseWithError(req.Context().Err())
					return
				}
				if _, err := io.WriteString(w, p); err != nil {
					return
				}
			}
			_ = w.CloseWithError(end)
		}()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: r, Request: req}, nil
	}
}

// TestStreamHolds while a state comes within a minute of the one before, new or not; a second too late, or with comments in its place, the
// connection is given up.
func TestStreamHolds(t *testing.T) {
	t.Parallel()
	states := []string{pulse("pulse", 1), pulse("pulse", 1), pulse("pulse", 1), pulse("delta", 2), pulse("delta", 3)}
	for name, c := range map[string]struct {
		pieces []string
		every  time.Duration
		want   string // before the last state
		asked  int
	}{
		"in time":        {states, 59 * time.Second, `pulse {"n":1}, delta {"n":2}, delta {"n":3}, `, 2}, // the second after its end
		"too late":       {states, 61 * time.Second, "", 2},
		"comments alone": {[]string{pulse("pulse", 1), ": keepalive\n\n", pulse("delta", 3)}, 40 * time.Second, `pulse {"n":1}, `, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &streamScript{answers: []func(*http.Request) (*http.Response, error){paced(c.every, io.EOF, c.pieces...),
				frames(io.EOF, pulse("delta", 9)), status(http.StatusUnauthorized, "")}}
			log, err := listen(t, s, strings.Count(c.want, "{")+1, false)
			got := regexp.MustCompile("lost: [^,]*, ").ReplaceAllString(strings.Join(log, ", "), "")
			if err != nil || got != c.want+`delta {"n":9}` || len(s.asked) != c.asked {
				t.Errorf("%s: %s after %d connections, %v", name, got, len(s.asked), err)
			}
		})
	}
}

// TestStreamForgetsFailures has a connection that brought a state be followed by the next as soon as the first one was.
func TestStreamForgetsFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &streamScript{answers: []func(*http.Request) (*http.Response, error){refuse, refuse, refuse, refuse, refuse,
			frames(io.EOF, pulse("pulse", 1)), frames(nil, pulse("delta", 2))}}
		if log, err := listen(t, s, 2, false); err != nil || len(s.asked) != 7 {
			t.Fatalf("%v, %v", log, err)
		}
		last, errLast := time.ParseDuration(s.asked[6])
		before, err := time.ParseDuration(s.asked[5])
		if err := errors.Join(err, errLast); err != nil || last-before > 2*time.Second {
			t.Errorf("connections at %v, %v", s.asked, err)
		}
	})
}

// TestStreamOfMembers: a stream asks for the members of the state that are wanted, in one parameter, and for none where all are.
func TestStreamOfMembers(t *testing.T) {
	t.Parallel()
	for want, members := range map[string][]string{"": nil, "flags,sentiment": {"flags", "sentiment"}} {
		var asked []string
		c, err := sdk.New(sdk.WithoutEnv(), sdk.WithAPIKey(sdk.NewKey(streamKey)), sdk.WithHTTPClient(&http.Client{Transport: ask(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.URL.Query().Get("members"))
			return status(http.StatusUnauthorized, "")(r)
		})}))
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range c.Subscribe(sdk.SubscribeRequest{Members: members}).Events(t.Context()) {
			if err == nil {
				t.Error("a refused stream has events")
			}
		}
		if !slices.Equal(asked, []string{want}) {
			t.Errorf("it asks for %q, want %q", asked, want)
		}
	}
}

// ask is a network of a function.
type ask func(*http.Request) (*http.Response, error)

func (f ask) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
