package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/brief/llm"
	"github.com/contextd/contextd/sdk/api"
)

// line is a transport that leads to a script, without a network: what is waited for in a synctest bubble takes no time.
type line struct {
	script script
	err    error // instead of an answer
	after  func()
	times  []time.Time // of the requests
	bodies []string
	open   int // answers that are not closed
}

// RoundTrip implements http.RoundTripper.
func (l *line) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	l.times, l.bodies = append(l.times, time.Now()), append(l.bodies, string(body))
	if l.after != nil {
		l.after()
	}
	if l.err != nil {
		return nil, l.err
	}
	answer := httptest.NewRecorder()
	l.script(answer, req)
	res := answer.Result()
	l.open++
	res.Body = &closing{res.Body, l}
	return res, nil
}

// closing tells its line when it is closed.
type closing struct {
	io.Reader
	line *line
}

func (c *closing) Close() error {
	c.line.open--
	return nil
}

// write has a brief written over l.
func (l *line) write(ctx context.Context, t *testing.T, d dialect) (brief.Draft, error) {
	t.Helper()
	cfg := llm.Config{
		Provider: d.provider, Model: "m-1", BaseURL: "http://model.test" + d.base, Key: secret, Retries: 2, Transport: l, Now: time.Now,
	}
	draft, err := writer(t, cfg).Write(ctx, input(t))
	if l.open != 0 {
		t.Errorf("%d answers are left open", l.open)
	}
	return draft, err
}

// TestWaits: which failures are tried again, how often and after how long.
func TestWaits(t *testing.T) {
	second, half := [2]time.Duration{750 * time.Millisecond, time.Second}, [2]time.Duration{375 * time.Millisecond, 500 * time.Millisecond}
	backoff := [][2]time.Duration{half, second}
	exactly := func(d time.Duration) [][2]time.Duration { return [][2]time.Duration{{d, d}, {d, d}} }
	type test struct {
		line  line
		waits [][2]time.Duration // least and most
	}
	tests := map[string]test{
		"connection":           {line{err: errors.New("no route to " + secret)}, backoff},
		"garbage":              {line{script: fails(503, `{}`, "Retry-After", "soon")}, backoff},
		"not a number":         {line{script: fails(503, `{}`, "Retry-After", "NaN")}, backoff},
		"negative":             {line{script: fails(503, `{}`, "Retry-After", "-5")}, backoff},
		"seconds":              {line{script: fails(429, `{}`, "Retry-After", "7")}, exactly(7 * time.Second)},
		"parts of seconds":     {line{script: fails(429, `{}`, "Retry-After", "0.25")}, exactly(250 * time.Millisecond)},
		"milliseconds":         {line{script: fails(429, `{}`, "Retry-After-Ms", "1500", "Retry-After", "7")}, exactly(1500 * time.Millisecond)},
		"garbage, seconds":     {line{script: fails(429, `{}`, "Retry-After-Ms", "x", "Retry-After", "7")}, exactly(7 * time.Second)},
		"at once":              {line{script: fails(429, `{}`, "Retry-After", "0")}, exactly(0)},
		"a time that is past":  {line{script: fails(429, `{}`, "Retry-After", "Sat, 01 Jan 2000 00:00:00 GMT")}, exactly(0)},
		"two minutes":          {line{script: fails(429, `{}`, "Retry-After", "120")}, exactly(2 * time.Minute)},
		"more than that":       {line{script: fails(429, `{}`, "Retry-After", "120.1")}, nil},
		"much more":            {line{script: fails(429, `{}`, "Retry-After", "1e300")}, nil},
		"a time that is far":   {line{script: fails(429, `{}`, "Retry-After", "Sat, 01 Jan 2050 00:00:00 GMT")}, nil},
		"told to try":          {line{script: fails(400, `{}`, "X-Should-Retry", "true")}, backoff},
		"told not to try":      {line{script: fails(500, `{}`, "X-Should-Retry", "false")}, nil},
		"told to try, but far": {line{script: fails(500, `{}`, "X-Should-Retry", "true", "Retry-After", "999")}, nil},
	}
	for _, status := range []int{408, 409, 429, 500, 501, 502, 503, 504, 529} {
		tests[strconv.Itoa(status)] = test{line{script: fails(status, `{}`)}, backoff}
	}
	for _, status := range []int{300, 301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 405, 410, 413, 418, 422, 425, 451} {
		tests[strconv.Itoa(status)] = test{line{script: fails(status, `{}`, "Location", "/other")}, nil}
	}
	each(t, func(t *testing.T, d dialect) {
		for name, c := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					_, err := c.line.write(t.Context(), t, d)
					if err == nil {
						t.Fatal("no error")
					}
					lacks(t, "error", err.Error(), secret)
					if len(c.line.times) != 1+len(c.waits) {
						t.Fatalf("%d requests, want %d: %v", len(c.line.times), 1+len(c.waits), err)
					}
					for i, want := range c.waits {
						if waited := c.line.times[i+1].Sub(c.line.times[i]); waited < want[0] || waited > want[1] {
							t.Errorf("waits %v, want %v", waited, want)
						}
						if c.line.bodies[i+1] != c.line.bodies[0] {
							t.Error("another body the next time")
						}
					}
				})
			})
		}
	})
}

// TestWaitsGrowToABound: a patient client comes back every eight seconds at most.
func TestWaitsGrowToABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := line{script: fails(503, `{}`)}
		cfg := llm.Config{Provider: llm.OpenAI, Model: "m", Retries: 100, Transport: &l}
		if _, err := writer(t, cfg).Write(t.Context(), input(t)); err == nil || len(l.times) != 101 {
			t.Errorf("%d requests, %v", len(l.times), err)
		}
		for i := range l.times[5:] {
			if waited := l.times[i+5].Sub(l.times[i+4]); waited < 6*time.Second || waited > 8*time.Second {
				t.Errorf("wait %d is %v", i+5, waited)
			}
		}
	})
}

// TestEndOfTheContext: what ends while the client waits, or would before it comes back, is not waited for.
func TestEndOfTheContext(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		later := fails(429, `{"error":{"message":"later"}}`, "Retry-After", "60")
		t.Run("cancelled while it waits", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				l, began := line{script: later}, time.Now()
				l.after = func() { time.AfterFunc(5*time.Second, cancel) }
				if _, err := l.write(ctx, t, d); !errors.Is(err, context.Canceled) || len(l.times) != 1 || time.Since(began) != 5*time.Second {
					t.Errorf("%d requests, %v after %v", len(l.times), err, time.Since(began))
				}
			})
		})
		t.Run("cancelled while it asks", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				l := line{err: errors.New("broken"), after: cancel}
				if _, err := l.write(ctx, t, d); !errors.Is(err, context.Canceled) || len(l.times) != 1 {
					t.Errorf("%d requests, %v", len(l.times), err)
				}
			})
		})
		for within, requests := range map[time.Duration]int{59 * time.Second: 1, 61 * time.Second: 2, 121 * time.Second: 3} {
			t.Run(within.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), within)
					defer cancel()
					l := line{script: later}
					if _, err := l.write(ctx, t, d); err == nil || !strings.Contains(err.Error(), "429: later") || len(l.times) != requests {
						t.Errorf("%d requests, %v", len(l.times), err)
					}
					if ctx.Err() != nil {
						t.Error("it waited for the end")
					}
				})
			})
		}
	})
}

// TestHangingError: an error whose text never ends is no reason not to ask again.
func TestHangingError(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		s := serve(t, hangs(func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			_ = http.NewResponseController(w).Flush()
		}), d.says(d.end, holds))
		if got, err := writer(t, config(d, s)).Write(t.Context(), input(t)); err != nil || got.Text != holds {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// TestRequest: exactly this is sent, by which an operator knows what leaves the machine.
func TestRequest(t *testing.T) {
	for provider, want := range map[llm.Provider]struct {
		header http.Header
		body   string
	}{
		llm.Anthropic: {
			http.Header{
				"Accept": {"application/json"}, "Anthropic-Version": {"2023-06-01"}, "Content-Type": {"application/json"},
				"User-Agent": {"contextd"}, "X-Api-Key": {"KEY"},
			},
			`{"model":"m","max_tokens":7,"temperature":0,"stream":true,"system":[{"type":"text","text":"RULES"}],"messages":[
				{"role":"user","content":[{"type":"text","text":"ASK"}]},
				{"role":"assistant","content":[{"type":"text","text":"<wrong> & \u2028"}]},
				{"role":"user","content":[{"type":"text","text":"AGAIN"}]}]}`,
		},
		llm.OpenAI: {
			http.Header{
				"Accept": {"application/json"}, "Authorization": {"Bearer KEY"}, "Content-Type": {"application/json"},
				"User-Agent": {"contextd"},
			},
			`{"model":"m","max_tokens":7,"temperature":0,"stream":true,"stream_options":{"include_usage":true},"messages":[
				{"role":"system","content":"RULES"},{"role":"user","content":"ASK"},
				{"role":"assistant","content":"<wrong> & \u2028"},{"role":"user","content":"AGAIN"}]}`,
		},
	} {
		t.Run(string(provider), func(t *testing.T) {
			t.Parallel()
			var header http.Header
			l := line{}
			l.script = func(w http.ResponseWriter, r *http.Request) { header = r.Header; fails(400, `{}`)(w, r) }
			w := writer(t, llm.Config{Provider: provider, Model: "m", Key: "KEY", MaxTokens: 7, Transport: &l})
			in := brief.Input{Pack: api.PackCrypto, State: read([]byte(`{"a":1}`))}
			if _, err := w.Repair(t.Context(), in, &brief.Refusal{Text: "<wrong> & \u2028"}); err == nil {
				t.Error("no error")
			}
			if !reflect.DeepEqual(header, want.header) {
				t.Errorf("header %v", header)
			}
			body := l.bodies[0]
			for name, part := range map[string]string{
				"RULES": "You write the brief", "ASK": `\u003csources`, "AGAIN": "A check refused",
			} {
				from := strings.Index(body, `"`+part)
				if from < 0 {
					t.Fatalf("no %q in %s", part, body)
				}
				var text string
				dec := json.NewDecoder(strings.NewReader(body[from:]))
				if err := dec.Decode(&text); err != nil {
					t.Fatal(err)
				}
				body = body[:from] + `"` + name + body[from+int(dec.InputOffset())-1:]
			}
			same(t, body, want.body)
		})
	}
}

// same fails where got is not the JSON value of want.
func same(t *testing.T, got, want string) {
	t.Helper()
	var a, b any
	if err := errors.Join(json.Unmarshal([]byte(got), &a), json.Unmarshal([]byte(want), &b)); err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
}

// TestEvents: how servers may write the same events.
func TestEvents(t *testing.T) {
	const (
		start = `{"type":"message_start","message":{"usage":` +
			`{"input_tokens":5,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":1}}}`
		text  = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ok"}}`
		think = `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`
		delta = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`
		more  = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` +
			`{"input_tokens":6,"cache_read_input_tokens":null,"output_tokens":9}}`
		stop  = `{"type":"message_stop"}`
		full  = `{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"},"usage":{"output_tokens":9}}`
		fault = `{"type":"error","error":{"type":"api_error","message":"m"}}`

		word  = `{"choices":[{"delta":{"content":"ok","refusal":null},"finish_reason":null}],"usage":null,"error":null}`
		end   = `{"choices":[{"delta":{},"finish_reason":"stop"}]}`
		both  = `{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":125,"completion_tokens":9}}`
		no    = `{"choices":[{"delta":{"refusal":"no"},"finish_reason":"stop"}]}`
		spent = `{"choices":[],"usage":{"prompt_tokens":125,"completion_tokens":9}}`
	)
	lines := func(end string, list ...string) string {
		return "data: " + strings.Join(list, end+end+"data: ") + end + end
	}
	for name, c := range map[string]struct {
		dialect int
		stream  string
		input   int64
		want    string // of an error
	}{
		"messages":                {0, lines("\n", start, think, text, delta, stop), 125, ""},
		"with CRLF":               {0, lines("\r\n", start, text, delta, stop), 125, ""},
		"the last count":          {0, lines("\n", start, text, more, stop), 126, ""},
		"comments and names":      {0, ":\n\n: hi\nid: 7\nretry: 5\nevent: message_start\n" + lines("\n", start, text, delta, stop), 125, ""},
		"without a space":         {0, strings.ReplaceAll(lines("\n", start, text, delta, stop), "data: ", "data:"), 125, ""},
		"in two lines":            {0, strings.ReplaceAll(lines("\n", start, text, delta, stop), `,"delta"`, ",\ndata: \"delta\""), 125, ""},
		"empty data":              {0, "data:\n\ndata\n\n" + lines("\n", start, text, delta, stop), 125, ""},
		"more than the end":       {0, lines("\n", start, text, delta, stop, "{nonsense"), 125, ""},
		"no end":                  {0, lines("\n", start, text, delta), 125, "broke off"},
		"half an end":             {0, strings.TrimSuffix(lines("\n", start, text, delta, stop), "\n"), 125, "broke off"},
		"an error":                {0, lines("\n", start, fault), 125, "broke off: the server reports an error (api_error): m"},
		"chat":                    {1, lines("\n", word, end, spent, "[DONE]"), 125, ""},
		"all at once":             {1, lines("\n", both, "[DONE]"), 125, ""},
		"counted before the end":  {1, lines("\n", spent, word, end, "[DONE]"), 125, ""},
		"counted, then nothing":   {1, lines("\n", both, `{"choices":[],"usage":{"prompt_tokens":0}}`, "[DONE]"), 125, ""},
		"a text without end":      {1, lines("\n", strings.Replace(both, "ok", strings.Repeat("o", 65<<10), 1), "[DONE]"), 125, "has no end"},
		"no room":                 {0, lines("\n", start, text, full, stop), 125, "raise max_tokens"},
		"not done":                {1, lines("\n", both), 125, ""},
		"done with more":          {1, lines("\n", both, "[DONE]", "{nonsense"), 125, ""},
		"done without a reason":   {1, lines("\n", word, spent, "[DONE]"), 125, "broke off"},
		"an error in the chat":    {1, lines("\n", word, `{"error":{"message":"m","code":5}}`, "[DONE]"), 0, "the server reports an error: m"},
		"an error that is a text": {1, lines("\n", word, `{"error":"m"}`, "[DONE]"), 0, "broke off: the server reports an error: m"},
		"a refusal":               {1, lines("\n", no, spent, "[DONE]"), 125, "refused to write"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := line{script: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.stream) }}
			got, err := l.write(t.Context(), t, dialects()[c.dialect])
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %+v, %v; want %q", got, err, c.want)
				}
			} else if err != nil || got.Text != "ok" || got.Usage.OutputTokens != 9 {
				t.Errorf("got %+v, %v", got, err)
			}
			if c.input > 0 && got.Usage.InputTokens != c.input {
				t.Errorf("usage %+v", got.Usage)
			}
			if len(l.times) != 1 {
				t.Errorf("%d requests: what began is not tried again", len(l.times))
			}
		})
	}
}

// TestNoRedirectIsFollowed: neither to another host nor on the same one, and wherever it leads, only the host is told.
func TestNoRedirectIsFollowed(t *testing.T) {
	places := map[string]string{
		"http://thief.test:81/v1?key=" + secret: "thief.test:81", "//thief.test/": "thief.test", "/v2/messages": "elsewhere", "": "elsewhere",
		"http://model.test/v2": "model.test", "http://u:" + secret + "@thief.test/": "thief.test", "%zz": "elsewhere",
	}
	each(t, func(t *testing.T, d dialect) {
		for _, status := range []int{301, 302, 303, 307, 308} {
			for _, to := range slices.Sorted(maps.Keys(places)) {
				l := line{script: fails(status, "", "Location", to)}
				_, err := l.write(t.Context(), t, d)
				if err == nil || !strings.Contains(err.Error(), "redirects to "+places[to]+", which is not followed") || len(l.times) != 1 {
					t.Errorf("%d to %q: %d requests, %v", status, to, len(l.times), err)
				} else {
					lacks(t, "error", err.Error(), secret)
				}
			}
		}
	})
}
