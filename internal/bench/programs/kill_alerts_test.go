package programs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// inbox is a webhook that counts what it takes, and is down now and then.
type inbox struct {
	mu    sync.Mutex // guards what follows
	down  int        // of the next posts, how many fail
	times map[string]int
	flags map[string]map[string]bool // ids of events by flag, change and state
	up    map[string]bool            // whether a flag stands, by the newest event of it that came
	at    map[string]time.Time       // of that event
	last  map[string]string          // by connection: id that was taken last; a kill ends one, and what is on it may be handled after
}

// ServeHTTP takes an event.
func (b *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var e alert.Event
	if json.NewDecoder(r.Body).Decode(&e) != nil || e.ID != r.Header.Get("Idempotency-Key") {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down--; b.down >= 0 {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	b.times[e.ID]++
	b.last[r.RemoteAddr] = e.ID
	of := e.Kind + " " + e.Subject + " " + string(e.Change) + " " + e.At.Format(time.RFC3339Nano)
	if b.flags[of] == nil {
		b.flags[of] = map[string]bool{}
	}
	b.flags[of][e.ID] = true
	flag := e.Kind + " " + e.Subject
	if !e.At.Before(b.at[flag]) { // one that failed comes after those behind it
		b.at[flag], b.up[flag] = e.At, e.Change != alert.Ended
	}
}

// TestKillAlerts kills the program with SIGKILL while it posts alerts to a webhook that is down now and then: no change of a flag has two events,
// and no event comes twice but those under way at a kill. What stands in the end was told.
func TestKillAlerts(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, uint64(rounds())))
	events, twice := 0, 0
	for range rounds() / 2 { // of no more flags anything happens so soon
		n, again := killTwice(t, random)
		events, twice = events+n, twice+again
	}
	t.Logf("%d kills, %d events, %d twice", rounds(), events, twice)
}

// killTwice kills it two times on a directory of which no alert has been told, and says how many events came, and how often one came again.
func killTwice(t *testing.T, random *rand.Rand) (events, twice int) {
	b := &inbox{times: map[string]int{}, last: map[string]string{}, flags: map[string]map[string]bool{}, up: map[string]bool{}, at: map[string]time.Time{}}
	srv := httptest.NewServer(b)
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := fmt.Sprintf("alerts:\n- {name: all, severity: notice, ended: true, url: %q}\n", srv.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	listen, err := testbed.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	count := func() int { b.mu.Lock(); defer b.mu.Unlock(); return len(b.times) }
	dir := oldDemo(t)
	const lives = 2
	for life := range lives {
		b.mu.Lock()
		b.down = random.IntN(3)
		b.mu.Unlock()
		c := program(t, "demo", "--packs", "crypto", "--config", file, "--listen", listen, "--chain-listen", "127.0.0.1:0", "--data-dir", dir, "--refresh", "100ms")
		var said bytes.Buffer
		c.Stdout, c.Stderr = &said, &said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if life < lives-1 {
			aim := 1 + random.IntN(3)
			soon(t, "events", func() bool { return count() >= aim })
			time.Sleep(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
		} else {
			soon(t, "all that stands", func() bool { return standing(t, dir, b) })
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err == nil || bytes.Contains(said.Bytes(), []byte("✗ ")) {
			t.Fatalf("the program ended by itself: %v\n%s", err, said.Bytes())
		}
	}
	underWay := map[string]int{} // kills that came after it and before all others
	srv.Close()                  // when all that came is handled
	for _, id := range b.last {
		underWay[id]++
	}
	for id, n := range b.times {
		if n > 1+underWay[id] {
			t.Errorf("event %s was delivered %d times", id, n)
		}
		twice += n - 1
	}
	for flag, ids := range b.flags {
		if len(ids) > 1 {
			t.Errorf("%s has the events %v", flag, ids)
		}
	}
	return len(b.times), twice
}

// standing reports whether all flags of the newest state were told.
func standing(t *testing.T, dir string, b *inbox) bool {
	t.Helper()
	info, err := readDemo(dir)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(info.BaseURL), sdk.WithAPIKey(sdk.NewKey(info.APIKey)),
		sdk.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Fresh(t.Context(), "")
	if err != nil { // it has just been started
		return false
	}
	var state api.CryptoState
	if err := json.Unmarshal(answer.State, &state); err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range state.Flags {
		if !b.up[f.Kind+" "+f.Subject] {
			return false
		}
	}
	return len(state.Flags) > 0
}
