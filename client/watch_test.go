package client_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
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
				fakeNow().Add(time.Duration(at)*time.Second).Format(time.RFC3339), strings.Join(flags, ","))
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
	if testing.Short() {
		p.states = 20
	}
	srv := httptest.NewServer(p)
	defer srv.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for done := false; !done; {
		c := exec.Command(self)
		c.Args = []string{"ctx", "watch", "--severity", "warning", "--webhook", srv.URL + "/hook"}
		c.Env = append(os.Environ(), "CTX_BASE_URL="+srv.URL, "CTX_API_KEY="+goodKey, "CTX_CONFIG_DIR="+dir)
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

// TestWatchConditions: states that come one after the other, and what is told of them. The last of each has a flag that ends it.
func TestWatchConditions(t *testing.T) {
	t.Parallel()
	coin := func(fields string) string { return `{"top_movers":[` + fields + `]}` }
	at := func(price, more string) string {
		return coin(`{"group":"major","id":"bitcoin","symbol":"BTC","name":"Bitcoin","priceUsd":` + price + more + `}`)
	}
	for name, c := range map[string]struct {
		args   []string
		states []string
		want   string // messages
		told   string
	}{
		"below":            {[]string{"--price", "btc < 90,000"}, []string{at("90000", ""), at("89999", ""), at("1", "")}, "Bitcoin is at $89,999: btc < 90000", ""},
		"at most":          {[]string{"--price", "Bitcoin<=9e0"}, nil, "", "is not like"},
		"at least, by id":  {[]string{"--price", "bitcoin >= $90_000"}, []string{at("89999.9", ""), at("90000", "")}, "Bitcoin is at $90,000: bitcoin >= 90000", ""},
		"above, by name":   {[]string{"--price", "Bitcoin > 90000"}, []string{at("90000", ""), at("90001", ""), at("1", ""), at("90002", "")}, "Bitcoin is at $90,001: Bitcoin > 90000 | Bitcoin is at $90,002: Bitcoin > 90000", ""},
		"stale":            {[]string{"--price", "BTC < 2"}, []string{at("1", `,"stale":true`)}, "", "BTC < 2: the price of Bitcoin is stale"},
		"stale between":    {[]string{"--price", "BTC < 2"}, []string{at("1", ""), at("3", `,"stale":true`), at("1", "")}, "Bitcoin is at $1.00: BTC < 2", "is stale"},
		"unknown":          {[]string{"--price", "BTC < 2"}, []string{at("null", "")}, "", "the price of Bitcoin is not known now"},
		"not there":        {[]string{"--price", "ADA < 2"}, []string{at("1", "")}, "", "ADA is not among the coins of the state now"},
		"another pack":     {[]string{"--price", "BTC < 2"}, []string{`{"spot":[{"id":"b","symbol":"BTC","name":"Bitcoin","priceUsd":1,"ref":1}]}`}, "Bitcoin is at $1.00: BTC < 2", ""},
		"no prices":        {[]string{"--price", "BTC < 2"}, []string{`{"funding":[{"id":"b","symbol":"BTC","markUsd":1}],"note":"n"}`}, "", "no row of the state has a priceUsd; --when compares any field"},
		"in two groups":    {[]string{"--price", "A < 2"}, []string{coin(`{"group":"major","id":"a","symbol":"A","name":"Aa","priceUsd":1},{"group":"gainer","id":"a","symbol":"A","name":"Aa","priceUsd":1}`)}, "Aa is at $1.00: A < 2", ""},
		"two of a symbol":  {[]string{"--price", "A < 2"}, []string{coin(`{"id":"a","symbol":"A","priceUsd":1},{"id":"b","symbol":"A","priceUsd":1}`)}, "", "A is both a and b: use the id"},
		"true and false":   {[]string{"--when", ".n > 1"}, []string{`{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":1}`, `{"n":4}`}, "true | true", ""},
		"texts":            {[]string{"--when", ".n[]"}, []string{`{"n":["a"]}`, `{"n":["a","b"]}`, `{"n":["b"]}`, `{"n":["a"]}`}, "a | b | a", ""},
		"rows":             {[]string{"--when", ".n[]"}, []string{`{"n":[{"id":"a","p":1}]}`, `{"n":[{"id":"a","p":2},{"group":"g","id":"a","p":2}]}`}, "a | a", ""},
		"numbers":          {[]string{"--when", ".n"}, []string{`{"n":1}`, `{"n":2}`, `{"n":null}`, `{"n":3}`}, "1 | 3", ""},
		"fails":            {[]string{"--when", ".n | keys"}, []string{`{"n":{"a":1}}`, `{"n":1}`, `{"n":{"a":1}}`}, `["a"]`, "jq filter: keys cannot be applied to: number"},
		"without end":      {[]string{"--when", "repeat(.)"}, []string{`{}`}, "", "the filter gives more than 1000 results"},
		"hostile":          {[]string{"--when", ".n"}, []string{`{"n":"a\u001b[31mb\n\u202ec"}`}, "ab c", ""},
		"flags":            {[]string{"--flag", "k"}, []string{`{"flags":[{"id":"1","kind":"k","message":"m"},{"id":"2","kind":"l","message":"n"}]}`}, "m", ""},
		"no flags":         {[]string{"--flag", "any"}, []string{`{}`}, "", "flag: the state has no flags"},
		"ends":             {[]string{"--when", ".n", "--ended"}, []string{`{"n":"a"}`, `{}`}, "a | a", ""},
		"all that is told": {[]string{"--when", ".n", "--cooldown", "1s"}, []string{`{"n":"a"}`, `{"n":"a"}`}, "a | a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for i, s := range append(c.states, `{"flags":[{"id":"end","kind":"end","message":"end"}]}`) {
					fmt.Fprintf(w, "event: delta\ndata: {\"pack\":\"crypto\",\"ts\":%q,\"state\":%s}\n\n", fakeNow().Add(time.Duration(i)*time.Second).Format(time.RFC3339), s)
				}
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}))
			defer srv.Close()
			dir := t.TempDir()
			env := map[string]string{"CTX_BASE_URL": srv.URL, "CTX_API_KEY": goodKey, "CTX_CONFIG_DIR": dir}
			n := 1
			if c.want != "" {
				n += 1 + strings.Count(c.want, " | ")
			}
			args := append([]string{"watch", "--flag", "end", "--count", fmt.Sprint(n), "--jq", ".message"}, c.args...)
			if c.args[0] == "--flag" { // one rule has all kinds
				args = slices.Delete(args, 1, 3)
				args = append(args, "--flag", "end")
			}
			_, stdout, stderr := run(t.Context(), env, args...)
			got, _ := strings.CutSuffix(strings.ReplaceAll(stdout, "\n", " | "), "end | ")
			if got = strings.TrimSuffix(got, " | "); got != c.want || !strings.Contains(stderr, c.told) {
				t.Errorf("told %q, want %q\n%s", got, c.want, stderr)
			}
		})
	}
}
