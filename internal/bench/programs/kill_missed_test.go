package programs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/sdk/api"
)

// spikes is a service that makes a state every five minutes. In each third one is a flag that is in no other, in each fourth one BTC is
// below 60. It has a webhook too.
type spikes struct {
	mu     sync.Mutex // guards what follows
	at     int        // the newest state
	calls  map[string]int
	posts  int
	down   int // of these posts, how many more fail
	took   map[string]int
	events map[string][]alert.Event // by kind and state, each with an id of its own
	last   map[string]string        // by connection: id that was taken last
}

// lookedAt is what the service says behind each state: who reports it has looked at the state.
const lookedAt = "the state before this was looked at"

// newSpikes starts one.
func newSpikes(t *testing.T) (*spikes, *httptest.Server) {
	s := &spikes{calls: map[string]int{}, took: map[string]int{}, events: map[string][]alert.Event{}, last: map[string]string{}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, srv
}

// spikesBegan is when the first state is made; the others are made in what is the future for ctx.
var spikesBegan = time.Now().Truncate(time.Second)

// spikeTime is when a state is made: a little later each time, as it is.
func spikeTime(state int) time.Time {
	return spikesBegan.Add(time.Duration(state) * (5*time.Minute + 140*time.Millisecond))
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

// ServeHTTP is stream, history and webhook.
func (s *spikes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/hook" {
		s.take(w, r)
		return
	}
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
	if to.Sub(from) > 24*time.Hour || q.Get("every") != "" {
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

// take takes an event, unless the webhook is down.
func (s *spikes) take(w http.ResponseWriter, r *http.Request) {
	var e alert.Event
	err := json.NewDecoder(r.Body).Decode(&e)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts++
	if s.down > 0 || err != nil || e.ID != r.Header.Get("Idempotency-Key") {
		s.down--
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if s.took[e.ID]++; s.took[e.ID] == 1 {
		state := int(e.At.Sub(spikeTime(0)) / (5 * time.Minute))
		key := fmt.Sprint(e.Kind, " ", state)
		s.events[key] = append(s.events[key], e)
	}
	s.last[r.RemoteAddr] = e.ID
}

// plantedSpikes is how many events there are up to a state.
func plantedSpikes(state int) int { return state/3 + 1 + state/4 + 1 }

// TestWatchMissedKill kills ctx watch with SIGKILL again and again, also while it looks at what it has missed and while its webhook is down,
// and lets hours pass before it starts again: each flag that came and went and each price that passed its bound and came back is delivered,
// by one id and late, and only what was under way at a kill comes twice.
func TestWatchMissedKill(t *testing.T) {
	t.Parallel()
	s, srv := newSpikes(t)
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(3, 4))
	const lives = 20
	shown := map[int]bool{}
	for life := range lives {
		c := programOf(t, "ctx", "watch", "--severity", "warning", "--price", "BTC < 60", "--webhook", srv.URL+"/hook")
		c.Env = append(c.Env, "CTX_BASE_URL="+srv.URL, "CTX_API_KEY=cv_test_ab12cd34ab12cd34ab12cd34ab12cd34", "CTX_CONFIG_DIR="+dir)
		var said bytes.Buffer
		c.Stderr = &said
		s.mu.Lock()
		if life > 0 && life < lives-1 {
			s.at += 2 + random.IntN(40)
		}
		shown[s.at] = true
		all := plantedSpikes(s.at)
		aim := len(s.took) + random.IntN(all-len(s.took)+1) // in some lives nothing is taken
		if life == 0 || life == lives-1 {
			aim = all
		}
		s.down = max(0, random.IntN(3)-1)
		s.mu.Unlock()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			s.mu.Lock()
			n := len(s.took)
			s.mu.Unlock()
			if n >= aim {
				break
			}
			if time.Now().After(end) {
				_ = c.Process.Kill()
				t.Fatalf("%d of %d events after a minute\n%s", n, aim, &said)
			}
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err == nil || strings.Contains(said.String(), "✗ ") || strings.Contains(said.String(), "not known") {
			t.Fatalf("it ended by itself, or was refused: %v\n%s", err, &said)
		}
	}
	srv.Close() // when all that came is handled
	underWay := map[string]int{}
	for _, id := range s.last {
		underWay[id]++
	}
	twice := 0
	for id, n := range s.took {
		if n > 1+underWay[id] {
			t.Errorf("event %s was delivered %d times", id, n)
		}
		twice += n - 1
	}
	late := 0
	for state := range s.at + 1 {
		for kind, every := range map[string]int{"price_move": 3, "price": 4} {
			took := s.events[fmt.Sprint(kind, " ", state)]
			switch {
			case state%every == 0 && len(took) != 1 || state%every != 0 && len(took) != 0:
				t.Errorf("of %s in state %d there are %d events", kind, state, len(took))
			case len(took) == 1 && !took[0].Late && !shown[state]:
				t.Errorf("that %s in state %d is late is not said", kind, state)
			case len(took) == 1 && took[0].Late:
				late++
			}
		}
	}
	t.Logf("%d lives, %d states, %d events in %d posts, %d late, %d twice, calls %v", lives, s.at, len(s.took), s.posts, late, twice, s.calls)
}
