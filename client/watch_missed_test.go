package client_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// spikes is a service that makes a state every five minutes. In each third one is a flag that is in no other, in each fourth one BTC is
// below 60.
type spikes struct {
	refuse bool // to tell of the past

	mu    sync.Mutex // guards what follows
	at    int        // the newest state
	calls map[string]int
}

// lookedAt is what the service says behind each state: who reports it has looked at the state.
const lookedAt = "the state before this was looked at"

// newSpikes starts one.
func newSpikes(t *testing.T) (*spikes, *httptest.Server) {
	s := &spikes{calls: map[string]int{}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, srv
}

// spikeTime is when a state is made: a little later each time, as it is.
func spikeTime(state int) time.Time {
	return fakeNow().Add(time.Duration(state) * (5*time.Minute + 140*time.Millisecond))
}

// member is what a state has.
func (s *spikes) member(name string, state int) string {
	switch {
	case name == "flags" && state%3 == 0:
		return fmt.Sprintf(`[{"id":"f%d","kind":"price_move","severity":"warning","subject":"S","since":%q,"message":"m"}]`,
			state, spikeTime(state).Format(time.RFC3339Nano))
	case name == "flags":
		return "[]"
	case state%4 == 0:
		return `[{"group":"major","id":"bitcoin","symbol":"BTC","name":"Bitcoin","priceUsd":50}]`
	}
	return `[{"group":"major","id":"bitcoin","symbol":"BTC","name":"Bitcoin","priceUsd":100}]`
}

// ServeHTTP is stream and history.
func (s *spikes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.calls[r.URL.Path]++
	at := s.at
	s.mu.Unlock()
	if r.URL.Path == api.PathHistory {
		s.history(w, r, at)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: delta\ndata: {\"pack\":\"crypto\",\"ts\":%q,\"state\":{\"flags\":%s,\"top_movers\":%s}}\n\n",
		spikeTime(at).Format(time.RFC3339Nano), s.member("flags", at), s.member("top_movers", at))
	fmt.Fprintf(w, "event: error\ndata: {\"message\":%q}\n\n", lookedAt)
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// history answers as the service does: the newest state of each step, each once.
func (s *spikes) history(w http.ResponseWriter, r *http.Request, newest int) {
	q := r.URL.Query()
	from, _ := time.Parse(time.RFC3339Nano, q.Get("from"))
	to, _ := time.Parse(time.RFC3339Nano, q.Get("to"))
	if s.refuse || to.Sub(from) > 24*time.Hour || q.Get("every") != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPaymentRequired)
		fmt.Fprint(w, `{"error":{"code":"PAYMENT_REQUIRED","reason":"insufficient_credits","message":"no credits left","requestId":"r"}}`)
		return
	}
	state := 0
	for last := -1; !from.After(to); from = from.Add(api.HistoryEveryMin) {
		for state < newest && !spikeTime(state+1).After(from) {
			state++
		}
		if state != last {
			last = state
			fmt.Fprintf(w, "{\"generatedAt\":%q,\"value\":%s}\n", spikeTime(state).Format(time.RFC3339Nano), s.member(q.Get("member"), state))
		}
	}
}

// stopAt keeps what is written to it, and calls stop when text is part of it.
type stopAt struct {
	bytes.Buffer
	text string
	stop func()
}

// Write implements io.Writer.
func (s *stopAt) Write(b []byte) (int, error) {
	n, err := s.Buffer.Write(b)
	if strings.Contains(s.String(), s.text) {
		s.stop()
	}
	return n, err
}

// TestWatchMissed: what is asked for at a start, what that costs, and what a refusal changes.
func TestWatchMissed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args    []string
		state   int // the newest at the second start; at the first it is 1
		refuse  bool
		history int // calls
		want    string
		told    string
	}{
		"flags and a price": {[]string{"--severity", "notice", "--price", "BTC < 60"}, 6, false, 2, "price_move true|price true|price_move false", "4 states, a credit"},
		"only flags":        {[]string{"--flag", "any"}, 6, false, 1, "price_move true|price_move false", "looked at flags since 2026-11-20 20:11:00"},
		"ends too":          {[]string{"--flag", "any", "--ended"}, 6, false, 1, "price_move true|price_move true|price_move false", ""},
		"the next state":    {[]string{"--flag", "any"}, 2, false, 0, "", ""},
		"a filter":          {[]string{"--when", ".flags[].id"}, 6, false, 0, "when false", ""},
		"it is refused":     {[]string{"--flag", "any"}, 6, true, 1, "price_move false", "what was in flags from 2026-11-20 20:11:00 on while nobody watched is not known: insufficient_credits: no credits left"},
		"longer than a day": {[]string{"--price", "BTC < 60", "--cooldown", "30h"}, 401, false, 1, "price true", "ctx looks back a day at the most"},
		"it stood":          {[]string{"--price", "BTC < 200", "--cooldown", "10m"}, 7, false, 1, "price false", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, srv := newSpikes(t)
			s.refuse = c.refuse
			env := map[string]string{"CTX_BASE_URL": srv.URL, "CTX_API_KEY": goodKey, "CTX_CONFIG_DIR": t.TempDir()}
			watch := func(state int) (told, stderr string) {
				s.mu.Lock()
				s.at = state
				s.mu.Unlock()
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				var stdout bytes.Buffer
				errOut := stopAt{text: lookedAt, stop: stop}
				code := client.Main(ctx, append([]string{"watch", "--jq", `"\(.kind) \(.late // false)"`}, c.args...), cli.System{
					In: strings.NewReader(""), Out: &stdout, Err: &errOut, Now: fakeNow,
					LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok },
				})
				if code != 0 || !strings.Contains(errOut.String(), lookedAt) {
					t.Errorf("exit %d\n%s", code, &errOut)
				}
				return strings.ReplaceAll(strings.TrimSpace(stdout.String()), "\n", "|"), errOut.String()
			}
			watch(1)
			told, stderr := watch(c.state)
			s.mu.Lock()
			defer s.mu.Unlock()
			if calls := s.calls[api.PathHistory]; told != c.want || calls != c.history || !strings.Contains(stderr, c.told) {
				t.Errorf("told %q, %d calls, want %q and %d\n%s", told, calls, c.want, c.history, stderr)
			}
		})
	}
}
