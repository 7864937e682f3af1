package daemons_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// inbox is a receiver of webhooks that keeps what comes, by id.
type inbox struct {
	mu    sync.Mutex // guards what follows
	came  map[string]int
	texts map[string]string
	other []string // ids that came with another text
}

// ServeHTTP answers a challenge, or takes an event.
func (b *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	var asked struct{ Type, Challenge string }
	if _ = json.Unmarshal(text, &asked); asked.Type == "verification" {
		_ = json.NewEncoder(w).Encode(map[string]string{"challenge": asked.Challenge})
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	id := r.Header.Get("webhook-id")
	if was, known := b.texts[id]; known && was != string(text) {
		b.other = append(b.other, id)
	}
	b.came[id]++
	b.texts[id] = string(text)
}

func (b *inbox) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.came)
}

// TestThreeNodesWatch: a webhook that a node made which does not lead is told of every state, through a leader that hears nothing of the
// database any more, and does again. What comes twice has the same text.
func TestThreeNodesWatch(t *testing.T) {
	t.Parallel()
	c := newThree(t, testbed.NewServer(t))
	first := c.nodes[0]
	key := first.Key(t, api.TierPro)
	first.Grant(t, key, 1000)
	b := &inbox{came: map[string]int{}, texts: map[string]string{}}
	srv := httptest.NewServer(b)
	defer srv.Close()
	client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(c.nodes[2].url), sdk.WithAPIKey(sdk.NewKey(key)))
	if err != nil {
		t.Fatal(err)
	}
	var w *api.Watch
	c.await("the watch is made", func() bool {
		w, err = client.CreateWatch(t.Context(), api.WatchRequest{Type: api.WatchStatePublished,
			Delivery: api.WatchDelivery{Type: api.DeliverWebhook, URL: srv.URL}})
		return err == nil
	})
	more := func() {
		had := b.count()
		c.await("three more events", func() bool { return b.count() >= had+3 })
	}
	more()
	first.wire.Silence()
	took := c.await("another leads", func() bool { m := c.leader(); return m != nil && m != first })
	t.Logf("another leads %v after the leader was cut off", took)
	more()
	first.wire.Mend()
	more()
	cursor, read := w.Cursor, 0
	for again := true; again; {
		page, err := client.WatchEvents(t.Context(), w.ID, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			read++
			c.await(fmt.Sprintf("event %d, %s, comes", read, e.ID), func() bool {
				b.mu.Lock()
				defer b.mu.Unlock()
				return b.came[e.ID] > 0
			})
		}
		cursor, again = page.Cursor, page.HasMore
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	twice := 0
	for _, n := range b.came {
		twice += n - 1
	}
	t.Logf("%d events were read and came, %d came again", read, twice)
	if read < 9 || len(b.other) > 0 {
		t.Errorf("%d events, with another text came %q", read, b.other)
	}
}
