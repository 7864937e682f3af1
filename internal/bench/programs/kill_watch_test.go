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
)

// planted is a service in whose states flags go up and stay, ten with each state, and a webhook that takes them and is down now and then.
type planted struct {
	states int

	mu      sync.Mutex // guards what follows
	at      int        // the newest state
	next    chan struct{}
	posts   int
	down    int               // of these posts, how many more fail
	took    map[string]int    // by id
	subject map[string]int    // by what was planted
	last    map[string]string // by connection: id that was taken last; a kill ends one, and what is on it may be handled after
}

// ServeHTTP is the service and the webhook.
func (p *planted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/hook" {
		p.take(w, r)
		return
	}
	first := time.Date(2026, 11, 20, 20, 6, 0, 0, time.UTC)
	w.Header().Set("Content-Type", "text/event-stream")
	for sent := 0; ; {
		p.mu.Lock()
		at, next := p.at, p.next
		p.mu.Unlock()
		if at > sent {
			sent = at
			var flags []string
			for i := range at * 10 {
				flags = append(flags, fmt.Sprintf(`{"id":"f%d","kind":"price_move","severity":"warning","subject":"S%[1]d",`+
					`"since":"2026-11-20T20:00:00Z","message":"m"}`, i))
			}
			fmt.Fprintf(w, "event: delta\ndata: {\"pack\":\"crypto\",\"ts\":%q,\"state\":{\"flags\":[%s]}}\n\n",
				first.Add(time.Duration(at)*time.Second).Format(time.RFC3339), strings.Join(flags, ","))
			w.(http.Flusher).Flush()
		}
		select {
		case <-next:
		case <-r.Context().Done():
			return
		}
	}
}

// take takes an event, unless the webhook is down.
func (p *planted) take(w http.ResponseWriter, r *http.Request) {
	var e alert.Event
	err := json.NewDecoder(r.Body).Decode(&e)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.posts++
	if p.down > 0 || err != nil || e.ID != r.Header.Get("Idempotency-Key") {
		p.down--
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	p.took[e.ID]++
	if p.took[e.ID] == 1 {
		p.subject[e.Subject]++
	}
	p.last[r.RemoteAddr] = e.ID
}

// TestWatchKill kills ctx watch with SIGKILL again and again, while its webhook is down now and then: each of 1,000 planted events is
// delivered, by one id, and only what was under way at a kill comes twice.
func TestWatchKill(t *testing.T) {
	t.Parallel()
	p := &planted{states: 100, next: make(chan struct{}), took: map[string]int{}, last: map[string]string{}, subject: map[string]int{}}
	srv := httptest.NewServer(p)
	defer srv.Close()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for done := false; !done; {
		c := programOf(t, "ctx", "watch", "--severity", "warning", "--webhook", srv.URL+"/hook")
		c.Env = append(c.Env, "CTX_BASE_URL="+srv.URL, "CTX_API_KEY=cv_test_ab12cd34ab12cd34ab12cd34ab12cd34", "CTX_CONFIG_DIR="+dir)
		var said bytes.Buffer
		c.Stdout, c.Stderr = nil, &said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// It lives for some more events; in some lives the webhook is down for the first of them.
		p.mu.Lock()
		aim := len(p.took) + 20 + random.IntN(100)
		p.down = max(0, random.IntN(4)-1)
		p.mu.Unlock()
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			p.mu.Lock()
			if len(p.took) >= p.at*10 && p.at < p.states { // all of the newest state is taken
				p.at++
				close(p.next)
				p.next = make(chan struct{})
			}
			n := len(p.took)
			done = n == p.states*10
			p.mu.Unlock()
			if n >= aim || done {
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
		if err := c.Wait(); err == nil || strings.Contains(said.String(), "✗ ") {
			t.Fatalf("it ended by itself: %v\n%s", err, &said)
		}
		kills++
	}
	underWay := map[string]int{} // kills that came after it and before all others
	srv.Close()                  // when all that came is handled
	for _, id := range p.last {
		underWay[id]++
	}
	twice := 0
	for id, n := range p.took {
		if n > 1+underWay[id] {
			t.Errorf("event %s was delivered %d times", id, n)
		}
		twice += n - 1
	}
	for i := range p.states * 10 {
		if n := p.subject[fmt.Sprintf("S%d", i)]; n != 1 {
			t.Errorf("what was planted as %d has %d ids", i, n)
		}
	}
	t.Logf("%d kills, %d events in %d posts, %d twice", kills, len(p.took), p.posts, twice)
}
