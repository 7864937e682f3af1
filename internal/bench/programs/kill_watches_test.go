package programs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// keeper is a receiver of webhooks that keeps ids.
type keeper struct {
	mu    sync.Mutex // guards what follows
	down  int        // of the next posts, how many fail
	taken map[string][]time.Time
	text  map[string]string
	bad   []string
}

// ServeHTTP answers a challenge, or takes an event.
func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var said struct{ Type, Challenge, EventID string }
	if err != nil || json.Unmarshal(body, &said) != nil {
		w.WriteHeader(http.StatusBadRequest) // a kill has cut it off
		return
	}
	if said.Type == "verification" {
		_ = json.NewEncoder(w).Encode(map[string]string{"challenge": said.Challenge})
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	id := r.Header.Get("webhook-id")
	if was, known := k.text[id]; known && was != string(body) || said.EventID != id && said.Type == "" {
		k.bad = append(k.bad, id)
	}
	k.text[id] = string(body)
	if k.down--; k.down >= 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	k.taken[id] = append(k.taken[id], time.Now())
}

func (k *keeper) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.taken)
}

// TestKillWatches kills the program with SIGKILL while it posts every state to a receiver that is down now and then: each event of the log
// comes, always as the same text, and again only where a kill came between its answer and the record of that.
func TestKillWatches(t *testing.T) {
	t.Parallel()
	const near = 2 * time.Second // within which a kill has to be of what comes again
	random := rand.New(rand.NewPCG(5, uint64(rounds())))
	k := &keeper{taken: map[string][]time.Time{}, text: map[string]string{}}
	srv := httptest.NewServer(k)
	defer srv.Close()
	listen, err := testbed.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	dir := oldDemo(t)
	var client *sdk.Client
	var w *api.Watch
	var killed []time.Time
	for life := range rounds() + 1 {
		c := program(t, "demo", "--packs", "crypto", "--listen", listen, "--chain-listen", "127.0.0.1:0", "--data-dir", dir,
			"--refresh", "100ms")
		var said bytes.Buffer
		c.Stdout, c.Stderr = &said, &said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		soon(t, "an answer", func() bool { return reachable(listen) })
		if life == 0 {
			var info demo.Info
			soon(t, "its key", func() bool {
				info, err = readDemo(dir)
				return err == nil && info.BaseURL == "http://"+listen
			})
			client, err = sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(info.BaseURL), sdk.WithAPIKey(sdk.NewKey(info.APIKey)))
			if err != nil {
				t.Fatal(err)
			}
			w, err = client.CreateWatch(t.Context(), api.WatchRequest{Type: api.WatchStatePublished,
				Delivery: api.WatchDelivery{Type: api.DeliverWebhook, URL: srv.URL}})
			if err != nil {
				t.Fatal(err)
			}
		}
		if life < rounds() {
			aim := k.count() + 1 + random.IntN(3)
			k.mu.Lock()
			k.down = random.IntN(2)
			k.mu.Unlock()
			soon(t, "events", func() bool { return k.count() >= aim })
			time.Sleep(time.Duration(random.Int64N(int64(50 * time.Millisecond))))
		} else {
			soon(t, "all events", func() bool { return len(missing(t.Context(), t, client, w, k)) == 0 })
		}
		killed = append(killed, time.Now())
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err == nil || bytes.Contains(said.Bytes(), []byte("✗ ")) {
			t.Fatalf("the program ended by itself: %v\n%s", err, said.Bytes())
		}
	}
	srv.Close()
	twice := 0
	for id, times := range k.taken {
		for _, at := range times[:len(times)-1] {
			twice++
			if !nearOne(killed, at, near) {
				t.Errorf("event %s came again, and no kill was near %v", id, at)
			}
		}
	}
	if len(k.bad) > 0 {
		t.Errorf("other texts of %q", k.bad)
	}
	t.Logf("%d kills, %d events, %d came again", rounds(), len(k.taken), twice)
}

// nearOne reports whether one of times follows at within a span.
func nearOne(times []time.Time, at time.Time, span time.Duration) bool {
	for _, t := range times {
		if d := t.Sub(at); d >= 0 && d < span {
			return true
		}
	}
	return false
}

// missing are the events of a watch, but for the newest, that did not come yet.
func missing(ctx context.Context, t *testing.T, client *sdk.Client, w *api.Watch, k *keeper) (ids []string) {
	t.Helper()
	time.Sleep(2 * time.Second) // a key may not ask so often
	cursor := w.Cursor
	var all []string
	for {
		page, err := client.WatchEvents(ctx, w.ID, cursor)
		if err != nil {
			return []string{err.Error()}
		}
		for _, e := range page.Events {
			all = append(all, e.ID)
		}
		if cursor = page.Cursor; !page.HasMore {
			break
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range all[:max(len(all)-20, 0)] { // the newest are on their way
		if k.taken[id] == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
